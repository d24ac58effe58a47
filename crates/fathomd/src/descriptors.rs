//! Descriptors: a soft limit of 1,024 is for programs that use select(2).

use crate::http::MOST_CALLERS;
use crate::listeners::MOST_UNDECIDED;
use crate::settings::Daemon;

/// What everything but clients and callers needs at most: ring, volumes, sockets, FUSE, threads.
const OTHERS: usize = 128;

/// Asks for as many as the hard limit allows, and warns if that is less than the settings may need.
pub fn raise(settings: &Daemon) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls read or write `limit` only, which lives for them.
    let (hard, raised) = unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 {
            return;
        }
        limit.rlim_cur = limit.rlim_max;
        (limit.rlim_max, libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) == 0)
    };
    if !raised {
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
