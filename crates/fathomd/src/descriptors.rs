//! Descriptors: a soft limit of 1,024 is for programs that use select(2).

use std::os::fd::{AsRawFd, OwnedFd};

use crate::http::MOST_CALLERS;
use crate::listeners::MOST_UNDECIDED;
use crate::settings::Daemon;

/// What everything but clients and callers needs at most: ring, volumes, sockets, FUSE, threads.
const OTHERS: usize = 128;
/// What clients leave to others: callers on two sockets, servers to connect to again, threads. Of a low limit a quarter.
const KEPT: u64 = 3 * MOST_CALLERS as u64;

/// How far clients may go.
#[derive(Debug, Clone, Copy)]
pub struct Descriptors {
    limit: u64,
}

impl Descriptors {
    /// Whether so few are left that a client, which has just taken this one, is to be turned away. The kernel gives the lowest
    /// number that is free.
    pub fn are_short(self, taken: &OwnedFd) -> bool {
        self.leave_fewer_than(taken, KEPT.min(self.limit / 4))
    }

    /// The same of a caller that only reads metrics: what it leaves is for the status.
    pub fn are_short_for_metrics(self, taken: &OwnedFd) -> bool {
        self.leave_fewer_than(taken, KEPT.min(self.limit / 4) / 2)
    }

    fn leave_fewer_than(self, taken: &OwnedFd, kept: u64) -> bool {
        u64::try_from(taken.as_raw_fd()).is_ok_and(|number| number >= self.limit.saturating_sub(kept))
    }
}

/// Asks for as many as the hard limit allows, and warns if that is less than the settings may need.
pub fn raise(settings: &Daemon) {
    let Some(mut limit) = limit() else { return };
    limit.rlim_cur = limit.rlim_max;
    let hard = limit.rlim_max;
    // SAFETY: reads `limit` only, which lives for the call.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } != 0 {
        tracing::warn!(hard, error = %std::io::Error::last_os_error(), "cannot raise the limit of open files");
    }
    let listeners = 1 + usize::from(settings.tcp.is_some());
    let callers = usize::from(settings.status.is_some()) + usize::from(settings.metrics.is_some());
    let needed = listeners * (settings.most_clients + MOST_UNDECIDED) + 2 * callers * MOST_CALLERS + OTHERS;
    if (hard as usize) < needed {
        tracing::warn!(
            hard,
            needed,
            "clients may find no descriptors left: raise the hard limit (LimitNOFILE= of the unit, ulimit -H -n) or lower \
             `most_clients`"
        );
    }
}

/// Those of this process.
pub fn of_process() -> Descriptors {
    Descriptors { limit: limit().map_or(u64::MAX, |limit| limit.rlim_cur) }
}

fn limit() -> Option<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes `limit` only, which lives for the call.
    let told = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    (told == 0).then_some(limit)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::{AsRawFd, OwnedFd};

    use super::Descriptors;

    #[test]
    fn clients_leave_some_and_callers_for_metrics_fewer() {
        let taken = OwnedFd::from(File::open("/dev/null").expect("every system has it"));
        let number = taken.as_raw_fd() as u64;
        let at = |limit| {
            let descriptors = Descriptors { limit };
            (descriptors.are_short(&taken), descriptors.are_short_for_metrics(&taken))
        };
        assert_eq!(at(number + 1000), (false, false));
        assert_eq!(at(u64::MAX), (false, false));
        assert_eq!(at(number + 1), (number >= 3, number >= 7));
        let low = Descriptors { limit: 24 };
        assert_eq!(low.are_short(&taken), number >= 18);
        assert_eq!(low.are_short_for_metrics(&taken), number >= 21);
    }
}
