use pliant::scene::{self, BackendChoice, Scene};
use pliant::sim::{Options, Simulation};

fn open(name: &str) -> Simulation {
    let mut sc = Scene::builtin(name).unwrap();
    for s in std::env::var("SET").unwrap_or_default().split_whitespace() {
        sc.set(s).unwrap();
    }
    let built = scene::build(&sc).unwrap();
    Simulation::new(built, &Options { backend: Some(BackendChoice::Cpu), ..Default::default() }).unwrap()
}

#[test]
fn look() {
    let name = std::env::var("SCENE").unwrap_or("bunny".into());
    let mut sim = open(&name);
    println!("R nodes {} tets {} verts {}", sim.model().n_nodes(), sim.model().tets.len(), sim.model().n_vertices());
    for k in 0..std::env::var("STEPS").map_or(100, |s| s.parse().unwrap()) {
        let r = sim.step().unwrap();
        let x = sim.surface_on_host().unwrap();
        let low = x.iter().map(|p| p[1]).fold(f32::INFINITY, f32::min);
        if k % 10 == 0 || !r.converged || r.iterations > 900 {
            println!(
                "R {k}: it {} rst {} relin {} res {:.1e} conv {} contacts {}/{} low {:.2e} fb {:.1e} cone {:.1e} N {:.2} F {:.2} {:?}",
                r.iterations,
                r.restarts,
                r.relinearisations,
                r.residual,
                r.converged,
                r.contact.active,
                r.contact.contacts,
                low,
                r.contact.max_complementarity_error,
                r.contact.max_cone_violation,
                r.contact.normal_force_total,
                r.contact.friction_force_total,
                r.stages.0.iter().map(|(n, t)| format!("{n} {t:.1}")).collect::<Vec<_>>()
            );
        }
    }
    let t = sim.tally();
    println!(
        "R its {} restarts {} hard {} cone {:.1e} fb {:.1e}",
        t.records.iter().map(|r| r.iterations).sum::<u32>(),
        t.records.iter().map(|r| r.restarts).sum::<u32>(),
        t.records.iter().filter(|r| r.iterations >= 1000).count(),
        t.max_cone_violation,
        t.max_complementarity_error
    );
    println!("R {:?}", sim.tally().records.iter().map(|r| r.ms).sum::<f64>() / sim.tally().steps as f64);
}
