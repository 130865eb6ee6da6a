//! Runs that go back and on again.

use super::*;
use crate::body::BodyRef;
use crate::cancel::CancelToken;
use crate::material::Material;
use crate::math::Vec3;
use crate::model::{Friction, NamedMaterial, State};
use crate::scene::BackendChoice;
use crate::sim::report::state_hash;
use crate::sim::{Command, Field, SessionTree, Setting, Simulation, TravelError, tests as scenes};

/// Over the landing scene.
const ROLLER: &str = r#"
[[body]]
name = "roller"
kind = "driven"
shape = { type = "cylinder", radius = 0.05, height = 0.3 }
position = [0.0, 0.5, 0.0]
motion = { velocity = [0.0, -0.1, 0.0] }
"#;

fn simulation() -> Simulation {
    scenes::simulation(BackendChoice::Cpu, &[scenes::LANDING, ROLLER].concat(), &[])
}

fn recorded(budget: usize) -> Recorded {
    Recorded::new(simulation(), budget).unwrap()
}

/// What tests do with a recorded simulation.
impl Recorded {
    /// Steps up to `end`; before the steps of `commands` they are given.
    fn run(&mut self, end: u64, commands: &[(u64, Command)]) {
        while self.simulation().step_index() < end {
            let step = self.simulation().step_index();
            for (_, command) in commands.iter().filter(|(at, _)| *at == step) {
                self.apply(command).unwrap();
            }
            self.step_unless(&CancelToken::default()).unwrap();
        }
    }

    fn live(&self) -> BranchId {
        locked(self.past()).live().unwrap()
    }

    /// From the nearest exact state to `from`, and from there to `to` by the log of the live branch.
    fn go_to(&mut self, from: u64, to: u64) {
        let live = self.live();
        let way = locked(self.past()).way_to(live, from).unwrap();
        for to in [from, to] {
            self.simulation().travel(&Way { to, ..way.clone() }, &CancelToken::default(), |_| ()).unwrap();
            assert_eq!(self.simulation().step_index(), to);
        }
    }

    fn hash(&mut self) -> String {
        state_hash(self.simulation().state().unwrap())
    }

    fn state(&mut self) -> State {
        plain(self.simulation().state().unwrap())
    }
}

/// The state without what is only drawn.
fn plain(state: &State) -> State {
    let mut state = state.clone();
    state.contacts.entries.iter_mut().for_each(|contact| contact.place = None);
    state
}

fn softer() -> Command {
    Command::SetMaterial(NamedMaterial { name: "soft".into(), material: Material { young_modulus: 2e4, ..Material::default() } })
}

/// A pull, with changes of a material, of friction and of settings in it.
fn commands() -> Vec<(u64, Command)> {
    let target = Vec3::new(0.1, 0.3, 0.05);
    vec![
        (12, Command::Grab { id: 1, triangle: 3, barycentric: [0.2, 0.5, 0.3], target }),
        (14, Command::MoveGrab { id: 1, target: target * 1.5 }),
        (17, softer()),
        (23, Command::SetGravity(Vec3::new(0.0, -5.0, 0.0))),
        (25, Command::SetFriction(Friction { default: 0.05, pairs: vec![] })),
        (27, Command::Set(Setting::Tolerance(1e-5))),
        (31, Command::ReleaseGrab { id: 1 }),
    ]
}

/// From before the grab, from within it, across the change of the material, from before a checkpoint and after one.
#[test]
fn going_back_and_on_gives_the_bits_of_a_run_that_never_did() {
    let mut straight = simulation();
    let mut states = vec![plain(straight.state().unwrap())];
    for step in 0..40 {
        for (_, command) in commands().iter().filter(|(at, _)| *at == step) {
            straight.apply(command).unwrap();
        }
        straight.step().unwrap();
        states.push(plain(straight.state().unwrap()));
    }
    let mut run = recorded(DEFAULT_BUDGET);
    run.run(40, &commands());
    assert_eq!(run.state(), states[40]);
    for back in [40, 36, 33, 25, 18, 17, 13, 10, 3, 0, 29] {
        run.go_to(back, back);
        assert_eq!(run.state(), states[back as usize], "at step {back}");
        run.go_to(back, 40);
        assert_eq!(run.state(), states[40], "from step {back}");
        assert_eq!(run.simulation().log(), straight.log());
    }
    // The commands matter: without them it is another run.
    run.go_to(10, 10);
    (10..40).for_each(|_| drop(run.simulation().step().unwrap()));
    assert_ne!(run.state(), states[40]);
}

#[test]
fn a_branch_keeps_the_old_future_and_can_be_left_and_taken_up_again() {
    let mut run = recorded(DEFAULT_BUDGET);
    run.run(40, &commands());
    let (first, first_hash) = (run.live(), run.hash());

    // Back into the grab, and on from there without it, in another material.
    let second = run.branch(20, &CancelToken::default(), |_| ()).unwrap();
    run.apply(&Command::SetGravity(Vec3::new(1.0, -9.81, 0.0))).unwrap();
    run.run(35, &[]);
    let second_hash = run.hash();
    assert!(run.live() == second && first_hash != second_hash);
    let logged: Vec<u64> = run.simulation().log().entries.iter().map(|logged| logged.step).collect();
    assert_eq!(logged, [12, 14, 17, 20, 20]);

    // Both have the pictures up to the fork in common, and others from there.
    {
        let past = locked(run.past());
        assert!(past.end_of(first).unwrap().0 == 40 && past.end_of(second).unwrap().0 == 35);
        let middle = |branch: BranchId, step: u64| past.picture(branch, step).unwrap().positions[7];
        for step in [0, 11, 20] {
            assert_eq!(middle(first, step), middle(second, step));
        }
        for step in [21, 30, 35] {
            assert_ne!(middle(first, step), middle(second, step));
        }
    }

    // The first one is taken up where it ended, and the bits are those of a run that was never left.
    run.switch(first).unwrap();
    assert!(run.hash() == first_hash && run.live() == first);
    run.run(45, &[]);
    let mut straight = recorded(DEFAULT_BUDGET);
    straight.run(45, &commands());
    assert_eq!(run.hash(), straight.hash());
    let only = straight.live();
    assert_eq!(locked(run.past()).places(first), locked(straight.past()).places(only));

    // Each branch is a session: its commands give its state again.
    let (_, log) = locked(run.past()).end(second).unwrap();
    let mut replayed = recorded(DEFAULT_BUDGET);
    let again: Vec<(u64, Command)> = log.entries.into_iter().map(|logged| (logged.step, logged.command)).collect();
    replayed.run(35, &again);
    assert_eq!(replayed.hash(), second_hash);

    let lanes = locked(run.past()).lanes();
    let events = |branch| -> Vec<(u64, EventKind)> {
        let lane = lanes.iter().find(|lane| lane.id == branch).unwrap();
        assert!(lane.events.iter().all(|event| (event.time - 0.01 * event.step as f64).abs() < 1e-9));
        let is_told = |kind: &EventKind| !matches!(kind, EventKind::NotConverged | EventKind::Limited(_));
        lane.events.iter().filter(|event| is_told(&event.kind)).map(|event| (event.step, event.kind.clone())).collect()
    };
    let edited = |what: &str| EventKind::Edited(what.to_owned());
    let of_second = [(12, EventKind::Grabbed), (17, edited("material \"soft\"")), (20, EventKind::Released), (20, edited("gravity"))];
    assert_eq!(events(second), of_second);
    assert_eq!(events(first).last(), Some(&(31, EventKind::Released)));
    assert_eq!(lanes.iter().map(|lane| lane.is_live).collect::<Vec<_>>(), [true, false]);
    assert_eq!((lanes[0].last_common_step(&lanes[1]), lanes[1].last_common_step(&lanes[0])), (20, 20));

    // What is forgotten is on no timeline until it is called back; it is the first to go, and what is shared stays.
    let mut past = locked(run.past());
    assert!(!past.set_forgotten(first, true) && past.lanes().len() == 2, "the live one is not forgotten");
    assert!(past.end_of(first).is_some());
    assert!(past.set_forgotten(second, true) && past.lanes().len() == 1 && past.end_of(second).is_some());
    assert!(past.set_forgotten(second, false) && past.lanes() == lanes);
    past.set_forgotten(second, true);
    assert!(past.forget_oldest() && past.end_of(second).is_none() && past.segments.len() == 1);
    assert!(!past.set_forgotten(second, false) && !past.forget_oldest());
}

/// A command is taken back where it was given, with what was commanded before it there: in its place while no step has
/// seen it, else in a branch of its own.
#[test]
fn a_command_is_taken_back_to_the_bit() {
    let body = |run: &mut Recorded| run.simulation().model().body_name(BodyRef::Deformable(0)).to_owned();
    let mut run = recorded(DEFAULT_BUDGET);
    run.run(12, &[]);
    let moved =
        |name: String, y: f64| Command::MoveBodies { bodies: vec![name], translation: Vec3::new(0.0, y, 0.0), rotation: Vec3::zeros() };
    let [first, second] = [1.0, 2.0].map(|y| moved(body(&mut run), y));
    run.apply(&Command::SetGravity(Vec3::new(1.0, -9.81, 0.0))).unwrap();
    let (before, branch) = (run.state(), run.live());
    run.apply(&first).unwrap();
    let between = run.state();
    run.apply(&second).unwrap();
    let cancel = CancelToken::default();

    // Nothing was computed since: no branch.
    assert!(run.take_back(&second, &cancel, |_| ()).unwrap());
    assert!(run.state() == between && run.live() == branch && run.simulation().log().entries.len() == 2);
    assert!(run.take_back(&first, &cancel, |_| ()).unwrap() && run.state() == before);
    assert!(!run.take_back(&first, &cancel, |_| ()).unwrap(), "it is not there any more");
    run.run(20, &[]);
    let straight = run.hash();

    // Given again at the same place in a run that went on: a branch, and what came after stays as the other one.
    let mut run = recorded(DEFAULT_BUDGET);
    run.run(12, &[]);
    run.apply(&Command::SetGravity(Vec3::new(1.0, -9.81, 0.0))).unwrap();
    run.apply(&first).unwrap();
    run.run(20, &[]);
    let (with, end) = (run.live(), run.hash());
    assert!(run.take_back(&first, &cancel, |_| ()).unwrap() && run.state() == before && run.live() != with);
    run.run(20, &[]);
    assert_eq!(run.hash(), straight);
    run.switch(with).unwrap();
    assert_eq!(run.hash(), end);
    // What was before a reset is of another branch.
    run.apply(&Command::Reset).unwrap();
    assert!(!run.take_back(&first, &cancel, |_| ()).unwrap());
}

#[test]
fn a_way_back_that_is_stopped_leaves_everything_as_it_was() {
    let mut run = recorded(DEFAULT_BUDGET);
    run.run(30, &commands());
    let (live, hash) = (run.live(), run.hash());
    let (cancel, mut passed) = (CancelToken::default(), vec![]);
    let stopped = run.branch(19, &cancel, |step| {
        passed.push(step);
        if step == 13 {
            cancel.cancel();
        }
    });
    assert!(matches!(stopped, Err(TravelError::Cancelled { step: 19 })), "{stopped:?}");
    assert_eq!(passed, [11, 12, 13], "it begins at the tenth step");
    assert!(run.hash() == hash && run.live() == live && locked(run.past()).lanes().len() == 1);
    run.run(40, &commands());
    let mut straight = recorded(DEFAULT_BUDGET);
    straight.run(40, &commands());
    assert_eq!(run.hash(), straight.hash());
}

#[test]
fn pictures_show_the_states() {
    let mut run = recorded(DEFAULT_BUDGET);
    run.run(20, &commands());
    let (live, quantum) = (run.live(), locked(run.past()).rounding.quantum());
    let error = |a: &Vec3, b: &Vec3| (a - b).amax();
    for step in [20, 15, 1, 0] {
        run.go_to(step, step);
        let picture = locked(run.past()).picture(live, step).unwrap();
        let now = run.simulation().picture(None).unwrap();
        assert_eq!((picture.step, picture.time), (now.step, now.time));
        assert!(picture.positions.iter().zip(&now.positions).all(|(a, b)| error(a, b) <= 0.5001 * quantum));
        assert!(picture.rigid_poses.len() == 1 && picture.obstacle_poses.len() == 2);
        let poses = [(&picture.rigid_poses, &now.rigid_poses), (&picture.obstacle_poses, &now.obstacle_poses)];
        for (a, b) in poses.into_iter().flat_map(|(a, b)| a.iter().zip(b)) {
            assert!(error(&a.translation.vector, &b.translation.vector) <= 0.5001 * quantum && a.rotation.angle_to(&b.rotation) < 1e-6);
        }
        assert_eq!((&picture.details.grabs, &picture.details.settings), (&now.details.grabs, &now.details.settings));
        assert_eq!(picture.details.contacts.len(), now.details.contacts.len());
    }
    assert!(locked(run.past()).picture(live, 5).unwrap().details.report.is_some());
}

/// Stresses of what flows and of what was made softer meanwhile are in the past as they were, by the law and the numbers
/// of then.
#[test]
fn stresses_of_the_past_are_those_that_were() {
    let clay = scenes::simulation(BackendChoice::Cpu, scenes::plastic::CLAY, &[]);
    let soft = clay.model().named_materials[0].clone();
    let mut run = Recorded::new(clay, DEFAULT_BUDGET).unwrap();
    let material = |change: fn(&mut Material)| {
        let mut named = soft.clone();
        change(&mut named.material);
        Command::SetMaterial(named)
    };
    // Softer from step 20 on; from 30 on it keeps no dents.
    let commands = [(20, material(|soft| soft.young_modulus = 2e4)), (30, material(|soft| soft.plasticity = None))];
    let mut were = vec![];
    for step in 1..=40 {
        run.run(step, &commands);
        let model = run.simulation().model().clone();
        were.push((step, model, run.simulation().field(Field::VonMises).unwrap()));
    }
    let (live, last) = (run.live(), run.simulation().model().clone());
    for (step, model, were) in were.iter().filter(|(step, ..)| step % 3 == 1) {
        let picture = locked(run.past()).picture(live, *step).unwrap();
        let shown = picture.field(Field::VonMises, model, None).unwrap();
        let most = were.tets.iter().fold(0.0, |most: f32, s| most.max(*s));
        let off = shown.tets.iter().zip(&were.tets).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(most > 50.0 && off < 2e-3 * most, "step {step}: {off} Pa of {most} Pa");
        // Not those of another law.
        let by_last = picture.field(Field::VonMises, &last, None);
        assert_eq!(by_last.is_some(), *step > 30, "step {step}");
    }
    let [at_20, at_22] = [20, 22].map(|step| locked(run.past()).picture(live, step).unwrap());
    let half = at_20.between(&at_22, 0.5 * (at_20.time + at_22.time));
    assert!(half.rows.iter().zip(&at_20.rows).zip(&at_22.rows).all(|((half, a), b)| (half[0] - 0.5 * (a[0] + b[0])).abs() < 1e-12));
}

#[test]
fn a_reset_begins_a_branch_of_its_own() {
    let mut run = recorded(DEFAULT_BUDGET);
    run.run(15, &commands());
    run.apply(&Command::Reset).unwrap();
    run.run(5, &[]);
    let lanes = locked(run.past()).lanes();
    assert_eq!(lanes.iter().map(|lane| lane.places.last().unwrap().0).collect::<Vec<_>>(), [15, 5]);
    assert_eq!(lanes[0].last_common_step(&lanes[1]), 0, "not even the start");
    let told = |lane: &Lane| lane.events.iter().any(|event| matches!(event.kind, EventKind::Grabbed | EventKind::Edited(_)));
    assert!(lanes[1].is_live && told(&lanes[0]) && !told(&lanes[1]), "what a reset repeats was done by nobody");
    let hash = run.hash();
    run.go_to(2, 5);
    assert_eq!(run.hash(), hash);
    run.switch(lanes[0].id).unwrap();
    assert_eq!(run.simulation().step_index(), 15);
}

#[test]
fn everything_stays_within_the_memory_and_old_things_are_fewer() {
    let budget = 800_000;
    let mut run = recorded(budget);
    for step in 1..250 {
        run.run(step, &[]);
        let past = locked(run.past());
        assert!(past.film_bytes() <= budget / 2 && past.checkpoint_bytes() <= budget / 2, "at step {step}");
    }
    let live = run.live();
    let steps: Vec<u64> = locked(run.past()).places(live).iter().map(|(step, _)| *step).collect();
    assert!(steps[0] == 0 && steps.ends_with(&[246, 247, 248, 249]), "{steps:?}");
    assert!((40..240).contains(&steps.len()), "{} of 250 pictures are kept", steps.len());
    // The exact states that are left are still good.
    let kept = locked(run.past()).segments.values().next().unwrap().checkpoints.steps();
    assert!(kept[0] == 0 && kept.last() >= Some(&240) && kept.len() >= 3, "{kept:?}");
    let hash = run.hash();
    run.go_to(kept[1] + 3, 249);
    assert_eq!(run.hash(), hash);
    // Forks beyond the most branches push out the oldest ones.
    for k in 0..MAX_BRANCHES as u64 + 3 {
        run.branch(240 - k, &CancelToken::default(), |_| ()).unwrap();
        run.run(243, &[]);
        let past = locked(run.past());
        assert!(past.branches.len() <= MAX_BRANCHES && past.bytes() <= budget, "fork {k}");
        assert_eq!(past.end_of(past.live().unwrap()).unwrap().0, 243);
    }
}

#[test]
fn ages_decide_which_exact_states_are_kept() {
    // Without the roller, which would come to press the cube flat.
    let mut run = Recorded::new(scenes::simulation(BackendChoice::Cpu, scenes::LANDING, &[]), DEFAULT_BUDGET).unwrap();
    run.run(345, &[]);
    let kept = locked(run.past()).segments.values().next().unwrap().checkpoints.steps();
    let wanted: Vec<u64> = [0, 100, 200].into_iter().chain((250..=330).step_by(10)).chain(336..=345).collect();
    assert_eq!(kept, wanted);
}

#[test]
fn between_two_pictures_everything_moves_evenly() {
    let mut run = simulation();
    let first = run.picture(None).unwrap();
    run.step().unwrap();
    let next = run.picture(None).unwrap();
    let quarter = first.between(&next, first.time + 0.25 * (next.time - first.time));
    for (place, (a, b)) in quarter.positions.iter().zip(first.positions.iter().zip(&next.positions)) {
        assert!((place - (a * 0.75 + b * 0.25)).norm() < 1e-12);
    }
    let heights = [&first, &quarter, &next].map(|picture| picture.rigid_poses.last().unwrap().translation.y);
    assert!((heights[1] - (0.75 * heights[0] + 0.25 * heights[2])).abs() < 1e-12 && heights[0] > heights[2]);
    assert_eq!((quarter.step, first.between(&next, next.time).positions), (first.step, next.positions.clone()));
    assert_eq!(first.between(&first, first.time).positions, first.positions);
}

/// Rows for plots belong to steps: a branch has those up to where it begins, and its own.
#[test]
fn the_numbers_of_steps_follow_the_branches() {
    let mut run = recorded(DEFAULT_BUDGET);
    run.run(12, &[]);
    let first = run.live();
    run.branch(7, &CancelToken::default(), |_| ()).unwrap();
    run.run(9, &[(7, softer())]);
    let second = run.live();
    let past = locked(run.past());
    let steps = |id| past.figures(id).iter().map(|row| row.step).collect::<Vec<_>>();
    assert_eq!(steps(first), (1..=12).collect::<Vec<_>>());
    assert_eq!(steps(second), (1..=9).collect::<Vec<_>>());
    let rows = past.figures(second);
    assert_eq!(rows[..7], past.figures(first)[..7]);
    let row = &rows[8];
    assert!(row.residual != past.figures(first)[8].residual, "it is softer there");
    assert!(rows[0].energy.is_some_and(|energy| energy.kinetic > 0.0), "the first one costs nothing known");
    assert!(row.ms > 0.0 && row.time > 8.0 * row.duration);
}

/// One branch leaves another within a grab, one leaves that at its end, one begins anew by a reset, and one of them is
/// gone on with after the others.
#[test]
fn all_branches_of_a_session_come_back_to_the_bit() {
    let never = CancelToken::never();
    let mut run = recorded(DEFAULT_BUDGET);
    run.run(18, &commands());
    let second = run.branch(15, never, |_| ()).unwrap();
    run.run(20, &[(16, Command::SetGravity(Vec3::new(1.0, -9.81, 0.0)))]);
    run.branch(20, never, |_| ()).unwrap();
    run.run(22, &[]);
    run.apply(&Command::Reset).unwrap();
    run.run(4, &[(2, softer())]);
    run.switch(second).unwrap();
    run.run(23, &[(20, commands()[0].1.clone())]);

    let session = |run: &mut Recorded| run.session("landing".into(), vec![]).unwrap();
    let tree = session(&mut run);
    let left: Vec<_> = tree.branches().iter().map(|branch| (branch.id, branch.left)).collect();
    assert_eq!(left, [(1, None), (2, Some((1, 15))), (3, Some((2, 20))), (4, None)]);
    assert_eq!((tree.current().id, tree.n_steps()), (2, 18 + 8 + 2 + 4));
    let file = scenes::TestFile::new("branches.session");
    tree.write(&file.0).unwrap();
    let read = SessionTree::read(&file.0).unwrap();
    assert_eq!(read, tree);

    // Each alone, as `pliant run --replay` does, and all together.
    for branch in read.branches() {
        let mut alone = simulation();
        for step in 0..=branch.session.header.last_step {
            branch.session.commands_at(step).for_each(|command| alone.apply(command).unwrap());
            if step < branch.session.header.last_step {
                alone.step().unwrap();
            }
        }
        assert_eq!(state_hash(alone.state().unwrap()), branch.session.header.state_hash, "branch {}", branch.id);
    }
    let mut again = recorded(DEFAULT_BUDGET);
    again.repeat(&read, never).unwrap();
    assert!(again.live() == 2 && session(&mut again) == tree, "numbers, ends, hashes and commands are those of before");
    let lanes = |run: &Recorded| locked(run.past()).lanes();
    let places = |run: &Recorded| lanes(run).into_iter().map(|lane| lane.places).collect::<Vec<_>>();
    assert_eq!(places(&again), places(&run));
    assert_eq!(lanes(&again)[1].last_common_step(&lanes(&again)[0]), 15);
    // They go on as they would have.
    for run in [&mut run, &mut again] {
        run.switch(3).unwrap();
        run.run(25, &[]);
    }
    assert!(run.state() == again.state());
    assert!(recorded(DEFAULT_BUDGET).repeat(&read, &CancelToken::after(5)).is_err(), "it was cancelled");

    // A branch that is forgotten is not saved: what left it is whole by itself.
    assert!(locked(run.past()).set_forgotten(1, true));
    let without = session(&mut run);
    assert_eq!(
        without.branches().iter().map(|branch| (branch.id, branch.left)).collect::<Vec<_>>(),
        [(2, None), (3, Some((2, 20))), (4, None)]
    );
    assert_eq!(without.branch(2).unwrap().session, tree.branch(2).unwrap().session);
    without.write(&file.0).unwrap();
    let mut again = recorded(DEFAULT_BUDGET);
    again.repeat(&SessionTree::read(&file.0).unwrap(), never).unwrap();
    assert!(session(&mut again) == without && again.live() == 3);
}
