//! The program on the command line: sessions that are repeated, runs that are interrupted.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use pliant::scene::{BackendChoice, Scene, build};
use pliant::sim::report::state_hash;
use pliant::sim::{Options, Session, Simulation};

/// A folder of one test that goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pliant-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap_or_default();
    }
}

fn pliant(arguments: &[&str], files: &[(&str, &Path)]) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_pliant"));
    program.args(arguments).args(["--backend", "cpu", "--threads", "1"]);
    for (option, file) in files {
        program.arg(option).arg(file);
    }
    program
}

fn said(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat()
}

fn report(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_session_names_its_scene_and_its_length() {
    let folder = Folder::new("replay");
    let (session, first, second) = (folder.file("a.jsonl"), folder.file("1.json"), folder.file("2.json"));
    let header = |hash: &str| {
        format!(
            r#"{{"format":"pliant session 1","version":"0.1.0","scene":"cantilever","set":["simulation.time_step=0.005"],"first_step":0,"last_step":4,"backend":"cpu","state_hash":"{hash}"}}"#
        )
    };
    let commands = r#"{"step":1,"command":{"set_gravity":[0.0,9.81,0.0]}}
{"step":3,"command":{"set_time_step":0.002}}
"#;
    std::fs::write(&session, format!("{}\n{commands}", header("0"))).unwrap();
    let ran = pliant(&["run"], &[("--replay", &session), ("--report", &first)]).output().unwrap();
    assert!(ran.status.success() && said(&ran).contains("the session was saved with the state 0"), "{}", said(&ran));
    let (found, hash) = (report(&first), report(&first)["state_hash"].as_str().unwrap().to_owned());
    assert!(found["steps"] == 4 && (found["time"].as_f64().unwrap() - 0.017).abs() < 1e-12, "{found}");
    std::fs::write(&session, format!("{}\n{commands}", header(&hash))).unwrap();
    let ran = pliant(&["run"], &[("--replay", &session), ("--report", &second)]).output().unwrap();
    assert!(ran.status.success() && said(&ran).contains("the same state, bit for bit"), "{}", said(&ran));
    std::fs::write(&session, format!("{}\n{}", header(&hash), commands.replace("set_gravity", "set_gravitation"))).unwrap();
    let refused = pliant(&["run"], &[("--replay", &session)]).output().unwrap();
    assert!(refused.status.code() == Some(2) && said(&refused).contains("a.jsonl, line 2: unknown variant"), "{}", said(&refused));
}

/// The second branch leaves the first one after two steps, with a command of its own there.
#[test]
fn a_branch_of_a_session_is_repeated_by_its_number() {
    let folder = Folder::new("branch");
    let (session, figures) = (folder.file("a.session"), folder.file("a.json"));
    let text = r#"{"format":"pliant session 2","branch":2,"version":"0.1.0","scene":"cantilever","set":["simulation.time_step=0.005"],"first_step":0,"last_step":4,"backend":"cpu","state_hash":"0"}
{"branch":1,"last_step":3,"state_hash":"1"}
{"step":1,"command":{"set_time_step":0.002}}
{"step":2,"command":{"set_time_step":0.003}}
{"branch":2,"from":1,"at":2}
{"step":2,"command":{"set_time_step":0.001}}
"#;
    std::fs::write(&session, text).unwrap();
    for (branch, steps, time) in [(&[][..], 4, 0.009), (&["--branch", "2"][..], 4, 0.009), (&["--branch", "1"][..], 3, 0.01)] {
        let ran = pliant(&[&["run"][..], branch].concat(), &[("--replay", &session), ("--report", &figures)]).output().unwrap();
        assert!(ran.status.success() && said(&ran).contains("of the session, which has 1, 2"), "{}", said(&ran));
        let found = report(&figures);
        assert!(found["steps"] == steps && (found["time"].as_f64().unwrap() - time).abs() < 1e-12, "{branch:?}: {found}");
    }
    let refused = pliant(&["run", "--branch", "7"], &[("--replay", &session)]).output().unwrap();
    assert!(refused.status.code() == Some(2) && said(&refused).contains("has no branch 7; it has 1, 2"), "{}", said(&refused));
    let alone = pliant(&["run", "cantilever", "--branch", "1"], &[]).output().unwrap();
    assert!(alone.status.code() == Some(2) && said(&alone).contains("--replay"), "{}", said(&alone));
}

/// Ctrl+C, and `kill`.
#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_what_it_has() {
    ["-INT", "-TERM"].into_iter().for_each(interrupted_run);
}

#[cfg(unix)]
fn interrupted_run(signal: &str) {
    use std::io::{BufRead, BufReader};
    let folder = Folder::new(&format!("interrupted{signal}"));
    let [state, first, trace, film] = ["a.state", "1.json", "a.csv", "a.pliant"].map(|name| folder.file(name));
    let files = [("--save", &*state), ("--report", &*first), ("--trace", &*trace), ("--out", &*film)];
    let mut program = pliant(&["run", "cantilever", "--steps", "1000000"], &files);
    let mut running = program.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(running.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("backend")), "it has not begun");
    let sent = Command::new("kill").args([signal, &running.id().to_string()]).status().unwrap();
    let told: Vec<String> = lines.collect();
    assert!(sent.success() && running.wait().unwrap().code() == Some(1), "{told:?}");
    assert!(told.iter().any(|line| line.starts_with("error: interrupted after ") && line.contains("of 1000000 steps")), "{told:?}");
    let done = report(&first)["steps"].as_u64().unwrap();
    assert!(done < 1_000_000);
    assert_eq!(std::fs::read_to_string(&trace).unwrap().lines().count() as u64, 1 + done);
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 4, "something half written is there");
    let (second, whole) = (folder.file("2.json"), folder.file("3.json"));
    let resumed = pliant(&["run", "cantilever", "--steps", "3"], &[("--resume", &state), ("--report", &second)]).output().unwrap();
    assert!(resumed.status.success(), "{}", said(&resumed));
    let steps = (done + 3).to_string();
    assert!(pliant(&["run", "cantilever", "--steps", &steps], &[("--report", &whole)]).output().unwrap().status.success());
    assert_eq!(report(&second)["state_hash"], report(&whole)["state_hash"], "after {done} steps and three more");
}

#[cfg(unix)]
#[test]
fn a_run_that_is_killed_leaves_its_figures_up_to_a_whole_step() {
    let folder = Folder::new("killed");
    let [figures, trace, whole] = ["a.json", "a.csv", "b.json"].map(|name| folder.file(name));
    // Those of another run, which must not pass for its own.
    std::fs::write(&figures, "{}").unwrap();
    for wanted in [0, 3, 20] {
        let mut program = pliant(&["run", "cantilever", "--steps", "1000000"], &[("--report", &figures), ("--trace", &trace)]);
        let mut running = program.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        let has_begun = |found: &serde_json::Value| found["steps"].as_u64().is_some_and(|steps| steps >= wanted);
        // At any time what stands there is whole.
        while !has_begun(&report(&figures)) {
            assert!(running.try_wait().unwrap().is_none(), "it has ended");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        running.kill().unwrap();
        running.wait().unwrap();
        let found = report(&figures);
        let done = found["steps"].as_u64().unwrap();
        assert!(found["finished"] == false && (wanted..1_000_000).contains(&done), "{found}");
        let rows = std::fs::read_to_string(&trace).unwrap();
        assert!(rows.ends_with('\n'), "the last row is cut off: {rows}");
        let rows: Vec<Vec<&str>> = rows.lines().map(|row| row.split(',').collect()).collect();
        let steps: Vec<u64> = rows[1..].iter().map(|row| row[0].parse().unwrap()).collect();
        assert!(rows.iter().all(|row| row.len() == rows[0].len()) && steps.iter().copied().eq(1..=steps.len() as u64), "{rows:?}");
        assert!(steps.len() as u64 >= done, "the trace has {} steps, the report {done}", steps.len());
        // They are the figures of that step.
        let ran = pliant(&["run", "cantilever", "--steps", &done.to_string()], &[("--report", &whole)]).output().unwrap();
        assert!(ran.status.success(), "{}", said(&ran));
        let other = report(&whole);
        assert!(other["finished"] == true && other["state_hash"] == found["state_hash"] && other["time"] == found["time"], "{other}");
        std::fs::write(&figures, "{}").unwrap();
    }
}

/// The steps of a session in its scene, and the hash at the end.
fn repeated(session: &Session, is_wanted: impl Fn(&pliant::sim::Command) -> bool) -> String {
    let scene = Scene::load(&session.header.scene, &session.header.set).unwrap();
    let options = Options { backend: Some(BackendChoice::Cpu), ..Options::default() };
    let mut simulation = Simulation::new(build(&scene).unwrap(), &options).unwrap();
    for step in 0..session.n_steps() {
        session.commands_at(step).filter(|command| is_wanted(command)).for_each(|command| simulation.apply(command).unwrap());
        simulation.step().unwrap();
    }
    state_hash(simulation.state().unwrap())
}

/// The session that ships comes to the state that it holds, on machines with the instructions with which it was
/// recorded: others round otherwise. There it must come to one state of its own, each time, and to another one without
/// its change of a material. `UPDATE=1` writes what it comes to here.
#[test]
fn the_session_of_the_gallery_comes_to_its_state() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/gallery.session");
    let mut session = Session::read(&path).unwrap();
    let is_material = |command: &pliant::sim::Command| matches!(command, pliant::sim::Command::SetMaterial(_));
    let is_grab = |command: &pliant::sim::Command| matches!(command, pliant::sim::Command::Grab { .. });
    assert!(
        session.commands.iter().any(|logged| is_material(&logged.command))
            && session.commands.iter().any(|logged| is_grab(&logged.command))
    );
    assert!((150..=250).contains(&session.n_steps()) && session.header.scene == "gallery" && session.header.backend == "cpu");
    let hash = repeated(&session, |_| true);
    if std::env::var_os("UPDATE").is_some() {
        session.header.state_hash.clone_from(&hash);
        session.header.instructions = Some(pliant::sim::instructions());
        session.write(&path).unwrap();
    }
    if session.header.instructions == Some(pliant::sim::instructions()) {
        assert_eq!(hash, session.header.state_hash, "did the numbers of a step change? Then renew it with UPDATE=1");
    } else {
        assert_eq!(hash, repeated(&session, |_| true));
        assert_ne!(hash, repeated(&session, |command| !is_material(command)));
    }
    // As it is inside the program, and by its command line.
    let folder = Folder::new("gallery-session");
    let figures = folder.file("a.json");
    let mut program = pliant(&["run", "gallery", "--replay", "gallery.session", "--steps", "3"], &[("--report", &figures)]);
    let ran = program.current_dir(&folder.0).output().unwrap();
    assert!(ran.status.success() && report(&figures)["steps"] == 3, "{}", said(&ran));
}
