//! The session in progress, written beside the settings while it goes on: what is left of a program that ended
//! unforeseen.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::output::create_folder;
use crate::sim::{GrowingSession, SessionTree};

/// The session is written at most this often.
const EVERY: Duration = Duration::from_secs(2);
/// How often it is seen to that the disk has it, too.
const SYNCED_EVERY: Duration = Duration::from_secs(8);

/// Writes the session that the window shows.
pub struct Autosave {
    /// None switches it off.
    folder: Option<PathBuf>,
    growing: Option<GrowingSession>,
    written: Option<Instant>,
    synced: Option<Instant>,
}

impl Autosave {
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, growing: None, written: None, synced: None }
    }

    pub fn is_on(&self) -> bool {
        self.folder.is_some()
    }

    pub fn is_due(&self) -> bool {
        self.written.is_none_or(|written| written.elapsed() >= EVERY)
    }

    /// Writes what is new. After a failure nothing more is written; the error is a sentence.
    pub fn write(&mut self, session: &SessionTree) -> Result<(), String> {
        self.written = Some(Instant::now());
        self.write_to_file(session).map_err(|error| {
            self.folder = None;
            format!("This session is no longer saved by itself: {error}")
        })
    }

    fn write_to_file(&mut self, session: &SessionTree) -> Result<(), String> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let goes_on = self.growing.as_mut().is_some_and(|growing| matches!(growing.grow(session), Ok(true)));
        if !goes_on {
            create_folder(folder).map_err(|error| error.to_string())?;
            let new = GrowingSession::create(&unused(folder), session.clone()).map_err(|error| error.to_string())?;
            if let Some(old) = self.growing.replace(new) {
                old.remove();
            }
        }
        if self.synced.is_none_or(|synced| synced.elapsed() >= SYNCED_EVERY)
            && let Some(file) = self.growing.as_ref().and_then(GrowingSession::handle)
        {
            self.synced = Some(Instant::now());
            // A slow disk must not hold up the simulation. What fails here is tried again.
            drop(std::thread::Builder::new().name("autosave".into()).spawn(move || file.sync_data()));
        }
        Ok(())
    }

    /// The session has ended as it should, or another one begins.
    pub fn end(&mut self) {
        if let Some(growing) = self.growing.take() {
            growing.remove();
        }
        self.written = None;
    }
}

/// Where the sessions in progress are.
pub fn autosave_folder(config: Option<&Path>) -> Option<PathBuf> {
    config.map(|config| config.join("autosave"))
}

fn unused(folder: &Path) -> PathBuf {
    let process = std::process::id();
    (1..).map(|n: u64| folder.join(format!("{process}-{n}.session"))).find(|path| !path.exists()).unwrap_or_default()
}

/// A session that was left behind by a program that ended unforeseen.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftBehind {
    pub path: PathBuf,
    /// Name or file of its scene.
    pub scene: String,
    /// Of all its branches.
    pub steps: u64,
}

/// The sessions in a folder, of programs that run and of others.
pub fn sessions_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "session")).collect()
}

/// The newest of these sessions that was left behind and holds a step. Those of programs that run are locked; what
/// cannot be read, and sessions without a step, are removed.
pub fn left_behind(sessions: Vec<PathBuf>) -> Option<LeftBehind> {
    let mut found: Vec<(std::time::SystemTime, LeftBehind)> = vec![];
    for path in sessions {
        let Ok(file) = File::open(&path) else { continue };
        if file.try_lock().is_err() {
            continue;
        }
        let time = file.metadata().and_then(|data| data.modified()).unwrap_or(std::time::UNIX_EPOCH);
        match SessionTree::read(&path) {
            Ok(session) if session.n_steps() > 0 => {
                let scene = session.current().session.header.scene.clone();
                found.push((time, LeftBehind { path, scene, steps: session.n_steps() }));
            }
            // Nothing is lost with it.
            _ => drop(std::fs::remove_file(&path)),
        }
    }
    found.into_iter().max_by(|(a, _), (b, _)| a.cmp(b)).map(|(_, left)| left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::CancelToken;
    use crate::scene::{BackendChoice, Scene, build};
    use crate::sim::{Options, Simulation};

    #[test]
    fn what_a_crash_leaves_is_found_and_what_ends_well_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("pliant-autosave-{}", std::process::id()));
        let scene = Scene::builtin("spin").unwrap();
        let options = Options { backend: Some(BackendChoice::Cpu), threads: Some(1), ..Options::default() };
        let mut simulation = Simulation::new(build(&scene).unwrap(), &options).unwrap();
        let mut session = |steps: usize| {
            (0..steps).for_each(|_| drop(simulation.step_unless(&CancelToken::default()).unwrap()));
            SessionTree::from(simulation.session("spin".into(), vec![]).unwrap())
        };
        let mut autosave = Autosave::new(Some(folder.clone()));
        assert!(autosave.is_on() && autosave.is_due() && left_behind(sessions_in(&folder)).is_none());
        autosave.write(&session(0)).unwrap();
        autosave.write(&session(3)).unwrap();
        assert!(!autosave.is_due(), "not twice in a moment");
        assert!(left_behind(sessions_in(&folder)).is_none(), "it is in use");
        // The program is gone. Here the thread that waits for the disk is not yet, and holds the file for a while.
        drop(autosave);
        let look = |_| {
            left_behind(sessions_in(&folder)).or_else(|| {
                std::thread::sleep(Duration::from_millis(50));
                None
            })
        };
        let left = (0..600).find_map(look).unwrap();
        assert_eq!((left.scene.as_str(), left.steps), ("spin", 3));
        assert_eq!(SessionTree::read(&left.path).unwrap(), session(0));
        std::fs::remove_file(&left.path).unwrap();
        // One that ends well.
        let mut autosave = Autosave::new(Some(folder.clone()));
        autosave.write(&session(2)).unwrap();
        autosave.end();
        assert!(std::fs::read_dir(&folder).unwrap().next().is_none());
        std::fs::write(folder.join("1-1.session"), "rubbish").unwrap();
        assert!(left_behind(sessions_in(&folder)).is_none() && std::fs::read_dir(&folder).unwrap().next().is_none());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
