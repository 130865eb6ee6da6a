//! Memory that waits to be used again.

use std::sync::Mutex;

/// Memory that is not in use; threads take it out and put it back.
#[derive(Debug)]
pub struct Pool<T>(Mutex<Vec<T>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Pool<T> {
    pub fn take(&self) -> Option<T> {
        self.0.lock().ok()?.pop()
    }

    pub fn put(&self, idle: T) {
        if let Ok(mut all) = self.0.lock() {
            all.push(idle);
        }
    }

    /// All that is not in use.
    pub fn all_mut(&mut self) -> &mut [T] {
        self.0.get_mut().map_or(&mut [], |all| all)
    }
}
