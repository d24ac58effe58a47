//! A wall clock that jumps by years under the daemon, in some lives: nothing may be ordered by it.
//!
//! libfaketime changes the wall clock of the child alone; its monotonic clock is the real one.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::chance::Chance;

/// Its choices are a stream of their own, so that a life is the same without the library.
const STREAM: u64 = 0x636C_6F63_6B00_0000;
/// Most days of a jump, in either direction.
const DAYS: u64 = 4000;

/// Removes what libfaketime leaves behind of a process that was killed: another one with its number could not start with it.
/// The process must have ended and been waited for. A process without the library has left nothing.
pub fn clean_up(process: u32) {
    for name in [format!("sem.faketime_sem_{process}"), format!("faketime_shm_{process}")] {
        let _ = std::fs::remove_file(Path::new("/dev/shm").join(name));
    }
}

/// The wall clock of one life.
#[derive(Debug)]
pub struct WallClock {
    library: PathBuf,
    file: PathBuf,
    chance: Chance,
}

impl WallClock {
    /// A clock that jumps, in one life of four; None in the others, and where libfaketime is not installed.
    pub fn draw(seed: u64, life: u64, folder: &Path) -> Option<Self> {
        let mut chance = Chance::new(seed ^ STREAM, life);
        if !chance.one_in(4) {
            return None;
        }
        let places = std::fs::read_dir("/usr/lib").ok()?.flatten();
        let library =
            places.map(|place| place.path().join("faketime/libfaketime.so.1")).find(|at| at.exists())?;
        Some(Self { library, file: folder.join("clock"), chance })
    }

    /// A child will have this clock.
    pub fn give(&self, child: &mut Command) {
        child
            .env("LD_PRELOAD", &self.library)
            .env("FAKETIME_TIMESTAMP_FILE", &self.file)
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    }

    /// Jumps to a random moment, years before or after the real time.
    pub fn jump(&mut self) -> Result<(), String> {
        let days = self.chance.below(2 * DAYS + 1) as i64 - DAYS as i64;
        // Renamed, so that nobody reads half of it.
        let new = self.file.with_extension("new");
        std::fs::write(&new, format!("{days:+}d"))
            .and_then(|()| std::fs::rename(&new, &self.file))
            .map_err(|error| format!("{}: {error}", self.file.display()))
    }

    /// Jumps at random.
    pub fn may_jump(&mut self) -> Result<(), String> {
        if self.chance.one_in(40) { self.jump() } else { Ok(()) }
    }
}
