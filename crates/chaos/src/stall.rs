//! How long threads of this machine wait for a processor: promises in milliseconds are held to what was possible.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two checks.
const EVERY: Duration = Duration::from_millis(4);
/// Waits that ended this long before an end, or later, count.
const KEPT: Duration = Duration::from_secs(2);
/// Shorter waits are not noted.
const NOTED: Duration = Duration::from_millis(1);
/// An end is judged at the latest so long after it: what lies between are starts and refusals on a busy machine.
const REMEMBERED: Duration = Duration::from_secs(600);

/// When a thread that slept was late, and by how much.
static LATE: Mutex<VecDeque<(Instant, Duration)>> = Mutex::new(VecDeque::new());

/// Begins to measure.
pub fn measure() {
    std::thread::spawn(|| {
        loop {
            let begun = Instant::now();
            std::thread::sleep(EVERY);
            let now = Instant::now();
            let wait = (now - begun).saturating_sub(EVERY);
            let mut late = LATE.lock().unwrap_or_else(PoisonError::into_inner);
            if wait > NOTED {
                late.push_back((now, wait));
            }
            while late.front().is_some_and(|(at, _)| now - *at > REMEMBERED) {
                late.pop_front();
            }
        }
    });
}

/// The longest wait that ended within two seconds before this moment, or that was under way then.
pub fn longest_before(moment: Instant) -> Duration {
    let late = LATE.lock().unwrap_or_else(PoisonError::into_inner);
    let near = |at: &Instant, wait: &Duration| {
        *at + KEPT > moment && at.checked_sub(*wait).is_none_or(|from| from < moment)
    };
    late.iter().filter(|(at, wait)| near(at, wait)).map(|(_, wait)| *wait).max().unwrap_or_default()
}
