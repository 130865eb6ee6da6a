//! Recordings of runs whose materials were changed meanwhile.

use super::*;
use crate::material::{Material, Plasticity};
use crate::sim::Command;

/// A material that is changed while it is recorded is in all files that are made of the recording later; here it gets
/// numbers of its own, then flows, then is again what it was.
#[test]
fn a_recording_has_the_materials_of_each_time() {
    let folder = folder("materials");
    let built = build(&Scene::from_text("tiny", "tiny.toml", SCENE, None, &[]).unwrap()).unwrap();
    let subject = Subject { name: "tiny".into(), frames_per_second: 100.0, n_frames: 10, size: [64, 48], ..Subject::of(&built) };
    let mut simulation = Simulation::new(built, &Options::default()).unwrap();
    let frames = Frames::new(&subject.model).unwrap();
    let soft = subject.model.named_materials.iter().find(|named| named.name == "soft").unwrap().clone();
    let changed = |change: fn(&mut Material)| {
        let mut named = soft.clone();
        change(&mut named.material);
        Command::SetMaterial(named)
    };
    let clay = |m: &mut Material| {
        m.young_modulus = 1e4;
        m.plasticity = Some(Plasticity { yield_strain: 0.01, creep: 80.0, max_strain: 1.0 });
    };
    let commands = [(2, changed(|m| m.young_modulus = 5e4)), (4, changed(clay)), (7, changed(|_| ()))];
    let mut taken = vec![];
    for k in 0..9 {
        for (_, command) in commands.iter().filter(|(at, _)| *at == k) {
            simulation.apply(command).unwrap();
        }
        simulation.step().unwrap();
        taken.push(frames.take(&mut simulation).unwrap());
    }
    let path = folder.join("tiny.pliant");
    export(&path, &subject, &taken);
    let mut recording = Recording::open(&path).unwrap();
    assert!(recording.len() == 9 && !recording.is_cut_off());
    // From the back, as each has the materials of its own time.
    let mut back: Vec<Frame> = (0..9).rev().map(|k| recording.frame(k).unwrap()).collect();
    back.reverse();
    let young = |frame: &Frame| frame.materials.as_ref().map(|all| all[0].young_modulus);
    assert_eq!(back.iter().map(young).collect::<Vec<_>>()[1..5], [None, Some(5e4), Some(5e4), Some(1e4)]);
    assert!(back[5].states.len() == 2 * subject.model.bodies[0].tets.len() && back[8].states.is_empty());
    let again = Subject { n_frames: subject.n_frames, ..recording.subject.clone() };
    let stresses =
        |name: &str| -> Vec<Vec<u8>> { (0..9).map(|k| std::fs::read(folder.join(format!("{name}/tets_{k:05}.vtu"))).unwrap()).collect() };
    export(&folder.join("run.pvd"), &subject, &taken);
    export(&folder.join("again.pvd"), &again, &back);
    assert!(stresses("run") == stresses("again"));
    let start = Frame { materials: None, ..back[3].clone() };
    export(&folder.join("start.pvd"), &again, &[start]);
    assert!(std::fs::read(folder.join("start/tets_00000.vtu")).unwrap() != stresses("run")[3], "it matters");
    // Recorded again, they are the same.
    export(&folder.join("twice.pliant"), &again, &back);
    let mut twice = Recording::open(&folder.join("twice.pliant")).unwrap();
    assert!((0..9).all(|k| twice.frame(k).unwrap() == back[k]));
    std::fs::remove_dir_all(&folder).unwrap();
}
