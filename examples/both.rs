use pliant::scene::{self, Scene};
use pliant::sim::{Options, Simulation};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let steps: usize = args[3].parse().unwrap();
    let scene = Scene::builtin(&args[1]).unwrap();
    let built = scene::build(&scene).unwrap();
    let choice = if args[2] == "gpu" { scene::BackendChoice::Gpu } else { scene::BackendChoice::Cpu };
    let mut sim = Simulation::new(built, &Options { backend: Some(choice), ..Default::default() }).unwrap();
    let m = sim.model().clone();
    println!("{} nodes {} tets {} points {} blocks {}", args[2], m.n_nodes(), m.tets.len(), m.n_vertices(), m.pattern.n_blocks());
    let start = std::time::Instant::now();
    let (mut its, mut un) = (0, 0);
    for k in 0..steps {
        let t = std::time::Instant::now();
        let r = sim.step().unwrap();
        its += r.iterations;
        un += u32::from(!r.converged);
        if k % 10 == 9 || !r.converged {
            println!(
                "{k}: it {} rst {} rel {} conv {} act {}/{} N {:.3} F {:.3} gap {:.1e} fb {:.1e} cone {:.1e} pen {:.1e} wall {:.1} stages {:?}",
                r.iterations,
                r.restarts,
                r.relinearisations,
                r.converged,
                r.contact.active,
                r.contact.contacts,
                r.contact.normal_force_total,
                r.contact.friction_force_total,
                r.contact.max_gap_of_active,
                r.contact.max_complementarity_error,
                r.contact.max_cone_violation,
                sim.penetration().unwrap(),
                t.elapsed().as_secs_f64() * 1e3,
                r.stages.0.iter().map(|(n, t)| format!("{n} {t:.1}")).collect::<Vec<_>>()
            );
        }
    }
    println!("{}: its {its} unconverged {un} {:.1} ms/step", args[2], start.elapsed().as_secs_f64() * 1e3 / steps as f64);
    let x = sim.node_positions().unwrap();
    for b in &m.bodies {
        let c: pliant::math::Vec3 = b.nodes.clone().map(|i| x[i] * m.node_masses[i]).sum::<pliant::math::Vec3>() / b.mass;
        println!("{} {:?}", b.name, c);
    }
}
