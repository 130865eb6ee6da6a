//! The files that a scene was read from: they change while they are edited elsewhere.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

/// How often the files are looked at.
const INTERVAL: Duration = Duration::from_millis(500);

/// When a file was written, and how long it is; none while it is not there.
type Stamp = Option<(SystemTime, u64)>;

/// Looks at files now and then. Editors write a file in pieces, or put another one in its place: what has changed
/// counts once two looks in a row see the same.
pub struct Watch {
    files: Vec<PathBuf>,
    /// As they were read, and as they were seen last.
    read: Vec<Stamp>,
    seen: Vec<Stamp>,
    next: Instant,
}

impl Watch {
    pub fn new(files: Vec<PathBuf>) -> Self {
        let read = stamps(&files);
        Self { files, seen: read.clone(), read, next: Instant::now() + INTERVAL }
    }

    /// How long until the next look; none where there is nothing to look at.
    pub fn until_due(&self) -> Option<Duration> {
        (!self.files.is_empty()).then(|| self.next.saturating_duration_since(Instant::now()))
    }

    /// Looks if it is time. True once for each change.
    pub fn look(&mut self) -> bool {
        if self.until_due() != Some(Duration::ZERO) {
            return false;
        }
        self.next = Instant::now() + INTERVAL;
        self.compare(stamps(&self.files))
    }

    /// The files were written by the program itself.
    pub fn forgive(&mut self) {
        self.read = stamps(&self.files);
        self.seen.clone_from(&self.read);
    }

    fn compare(&mut self, now: Vec<Stamp>) -> bool {
        let is_still = now == self.seen;
        self.seen = now;
        let has_changed = is_still && self.seen != self.read && self.seen.iter().all(Option::is_some);
        if has_changed {
            self.read.clone_from(&self.seen);
        }
        has_changed
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    let stamp = |file: &PathBuf| {
        let known = std::fs::metadata(file).ok()?;
        Some((known.modified().ok()?, known.len()))
    };
    files.iter().map(stamp).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_counts_once_two_looks_are_equal() {
        let stamp = |size: u64| vec![Some((SystemTime::UNIX_EPOCH, size))];
        let mut watch = Watch { files: vec!["scene.toml".into()], read: stamp(1), seen: stamp(1), next: Instant::now() };
        assert!(!watch.compare(stamp(1)));
        assert!(!watch.compare(stamp(2)), "it may still be written");
        assert!(!watch.compare(stamp(3)));
        assert!(!watch.compare(vec![None]) && !watch.compare(vec![None]), "another one takes its place");
        assert!(!watch.compare(stamp(4)) && watch.compare(stamp(4)) && !watch.compare(stamp(4)));
        // Back to what was read first is a change, too.
        assert!(!watch.compare(stamp(1)) && watch.compare(stamp(1)));
        assert_eq!(Watch::new(vec![]).until_due(), None);
    }
}
