//! Progress reports of a run, paced by wall time with both clocks.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use fathom_runtime::Signal;

use crate::outcome::{Failure, Progress, Reason};

/// Wall time between two ticks.
const TICK: Duration = Duration::from_millis(50);

/// Passes a run's progress on, at most every 50 ms of wall time.
///
/// The one place in this crate that looks at the wall clock: when progress is shown changes nothing that is
/// simulated or measured.
pub struct Ticker<'a> {
    progress: &'a mut dyn Progress,
    last: Instant,
}

#[expect(clippy::disallowed_methods, reason = "the person's clock, not the run's")]
fn wall_now() -> Instant {
    Instant::now()
}

impl<'a> Ticker<'a> {
    /// A ticker for this listener.
    pub fn new(progress: &'a mut dyn Progress) -> Self {
        Self { progress, last: wall_now() }
    }

    /// Tells the listener if it is time: the share of the run that is over, and a few words.
    ///
    /// # Errors
    /// [`Reason::Cancelled`] if the listener says stop.
    pub fn tick(&mut self, done: f64, note: impl FnOnce() -> String) -> Result<(), Failure> {
        let now = wall_now();
        if now - self.last < TICK {
            return Ok(());
        }
        self.last = now;
        match self.progress.tick(done.clamp(0.0, 1.0), &note()) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Failure::new(Reason::Cancelled, "the run was stopped")),
        }
    }
}

/// Wakes the task that conducts a run every [`BEAT`] requests: in virtual time no timer measures wall time, so the work
/// itself has to.
pub struct Beat {
    left: Cell<u32>,
    signal: Signal,
}

/// Requests between two beats: some milliseconds of work.
const BEAT: u32 = 16_384;

impl Beat {
    /// A beat that notifies this signal.
    pub fn new(signal: Signal) -> Self {
        Self { left: Cell::new(BEAT), signal }
    }

    /// So many requests were done.
    #[inline]
    pub fn did(&self, requests: u32) {
        match self.left.get().checked_sub(requests) {
            Some(left) => self.left.set(left),
            None => {
                self.left.set(BEAT);
                self.signal.notify();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::time::Duration;

    use super::{Ticker, wall_now};
    use crate::outcome::{Progress, Reason};

    struct Listener(Vec<f64>);

    impl Progress for Listener {
        fn tick(&mut self, done: f64, _: &str) -> ControlFlow<()> {
            self.0.push(done);
            if self.0.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }

    #[test]
    fn ticks_come_by_wall_time_and_a_break_is_a_cancellation() {
        let mut listener = Listener(Vec::new());
        let mut ticker = Ticker::new(&mut listener);
        let begin = wall_now();
        let failure = loop {
            if let Err(failure) = ticker.tick(1.5, String::new) {
                break failure;
            }
        };
        assert!(begin.elapsed() >= Duration::from_millis(100));
        assert_eq!(failure.reason, Reason::Cancelled);
        assert_eq!(listener.0, [1.0, 1.0]);
    }
}
