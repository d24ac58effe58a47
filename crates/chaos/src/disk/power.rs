//! The planned end: after so many requests to all disks together.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The daemon has been started and its number is not known yet.
pub const STARTING: i32 = 0;
/// There is no daemon.
pub const GONE: i32 = -1;

/// Counts the requests of all disks of a life.
#[derive(Debug, Default)]
pub struct Power {
    /// Requests until the end; 0 or less: none is planned, or it has come.
    left: AtomicI64,
    /// Whether the end is a power cut, which disks do not survive as they are.
    cuts: AtomicBool,
    off: AtomicBool,
    fired: AtomicBool,
    daemon: AtomicI32,
    /// When the last end came.
    ended: Mutex<Option<Instant>>,
}

impl Power {
    /// The process that it kills, [`STARTING`] or [`GONE`].
    pub fn daemon(&self, id: i32) {
        self.daemon.store(id, Ordering::SeqCst);
    }

    /// Serialises planning, counting and ending: after an end was disarmed, it has come or never will.
    fn turn(&self) -> MutexGuard<'_, Option<Instant>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Plans an end after this many `requests`.
    pub fn arm(&self, requests: i64, cuts: bool) {
        let _turn = self.turn();
        self.cuts.store(cuts, Ordering::SeqCst);
        self.fired.store(false, Ordering::SeqCst);
        self.left.store(requests, Ordering::SeqCst);
    }

    /// Makes the planned end a power cut.
    pub fn arm_cut(&self) {
        let _turn = self.turn();
        self.cuts.store(true, Ordering::SeqCst);
    }

    /// Cancels the planned end.
    pub fn disarm(&self) {
        let _turn = self.turn();
        self.left.store(0, Ordering::SeqCst);
    }

    /// Whether the disks are without power.
    pub fn is_off(&self) -> bool {
        self.off.load(Ordering::SeqCst)
    }

    /// Whether the planned end has come.
    pub fn has_fired(&self) -> bool {
        self.fired.load(Ordering::SeqCst)
    }

    /// When the end came: nothing that the daemon did is later.
    pub fn ended_at(&self) -> Option<Instant> {
        *self.turn()
    }

    /// Switches the power on again.
    pub fn on(&self) {
        self.off.store(false, Ordering::SeqCst);
        self.fired.store(false, Ordering::SeqCst);
    }

    /// Ends everything now.
    pub fn end(&self, cuts: bool) {
        self.end_in(&mut self.turn(), cuts);
    }

    fn end_in(&self, ended: &mut Option<Instant>, cuts: bool) {
        *ended = Some(Instant::now());
        self.fired.store(true, Ordering::SeqCst);
        let id = loop {
            match self.daemon.load(Ordering::SeqCst) {
                STARTING => std::thread::yield_now(),
                id => break id,
            }
        };
        if id != GONE {
            // SAFETY: plain numbers; the process is a child that has not been waited for.
            unsafe { libc::kill(id, libc::SIGKILL) };
        }
        // After the daemon: however long this thread waits for a processor, no client hears of devices that went first.
        if cuts {
            self.off.store(true, Ordering::SeqCst);
        }
    }

    /// Counts a request.
    pub fn count(&self) {
        if self.left.load(Ordering::SeqCst) > 0 {
            let mut turn = self.turn();
            if self.left.load(Ordering::SeqCst) > 0 && self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
                self.end_in(&mut turn, self.cuts.load(Ordering::SeqCst));
            }
        }
    }
}
