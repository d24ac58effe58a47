//! How much memory clients may take, and its return to the system when they have gone.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use fathom_runtime::{Nanos, SECOND};
use fathom_volume::Pool;

use crate::state::State;

/// How long nobody is connected before memory is given back: clients that come and go keep it.
const IDLE: Nanos = SECOND;
/// What clients' requests and answers take at most, if the settings do not say it: a part of the memory, and so many bytes.
const PART: u64 = 4;
const PLENTY: u64 = 1 << 30;
/// What the kernel keeps of one client's answers: 32 of 64 KiB, so that one call sends a whole batch; and what it is at least
/// where memory is short.
const SOCKET_BUFFER: usize = 2 << 20;
const LEAST_SOCKET_BUFFER: usize = 64 << 10;

/// What the requests and answers of all clients may take on this machine, bytes.
pub fn of_machine() -> usize {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit = limit(&groups, Path::new("/sys/fs/cgroup"));
    (limit.unwrap_or(u64::MAX).min(installed()) / PART).min(PLENTY) as usize
}

/// What the kernel is to keep of one client's answers, so that those of all take no more than the daemon's own part of them.
pub fn socket_buffer(memory: usize, clients: usize) -> i32 {
    (memory / 4 / clients.max(1)).clamp(LEAST_SOCKET_BUFFER, SOCKET_BUFFER) as i32
}

fn installed() -> u64 {
    // SAFETY: sysconf takes integers and touches no memory.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).unwrap_or(0) * u64::try_from(page).unwrap_or(0)
}

/// The lowest limit of memory of these control groups, as /proc/self/cgroup lists them, and of those that they are in. In a
/// container the paths may be the host's; what is mounted at the top is its own then.
fn limit(groups: &str, mounted: &Path) -> Option<u64> {
    let limits = groups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let path = Path::new(path.trim_start_matches('/'));
        let (top, file) = match controllers {
            "" => (mounted.to_owned(), "memory.max"),
            listed if listed.split(',').any(|one| one == "memory") => {
                (mounted.join("memory"), "memory.limit_in_bytes")
            }
            _ => (PathBuf::new(), ""),
        };
        let groups = path.ancestors().filter(|_| !file.is_empty());
        groups.map(move |group| top.join(group).join(file)).collect::<Vec<_>>()
    });
    limits.filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok()).min()
}

/// Gives back what large requests and many clients took, whenever the last client has been gone for a second. The pool
/// keeps every block it ever needed, and the allocator what lies between blocks in use: without this, a daemon holds
/// for good what its busiest moment took.
pub async fn give_back_when_idle(state: Rc<State>, pool: Pool) {
    loop {
        state.gone.wait().await;
        if !state.connections.borrow().is_empty() {
            continue;
        }
        state.context.sleep(IDLE).await;
        if state.connections.borrow().is_empty() {
            let bytes = pool.trim();
            // SAFETY: glibc may be asked at any time; other threads' arenas are locked one by one.
            #[cfg(target_env = "gnu")]
            let more = unsafe { libc::malloc_trim(0) } == 1;
            #[cfg(not(target_env = "gnu"))]
            let more = false;
            tracing::debug!(bytes, more, "memory given back");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{LEAST_SOCKET_BUFFER, SOCKET_BUFFER, installed, limit, of_machine, socket_buffer};

    #[test]
    fn the_lowest_limit_of_a_group_and_those_around_it_counts() {
        let place = std::env::temp_dir().join(format!("fathomd-groups-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let file = place.join(path);
            fs::create_dir_all(file.parent().expect("it has one"))
                .expect("the temporary directory is writable");
            fs::write(file, text).expect("the temporary directory is writable");
        };
        write("memory.max", "max\n");
        write("system.slice/memory.max", "50331648\n");
        write("system.slice/fathomd.service/memory.max", "67108864\n");
        write("memory/box/memory.limit_in_bytes", "1048576\n");
        let found = |groups: &str| limit(groups, &place);
        assert_eq!(found("0::/system.slice/fathomd.service\n"), Some(50_331_648));
        assert_eq!(found("0::/\n"), None, "no limit");
        assert_eq!(found("5:cpu,cpuacct:/box\n4:memory:/box\n0::/\n"), Some(1 << 20));
        assert_eq!(found("5:cpu:/box\n"), None);
        assert_eq!(found("0::/../host/path\n"), None, "somebody else's path");
        fs::remove_dir_all(place).expect("it was ours");
    }

    #[test]
    fn a_part_of_the_memory_is_for_clients() {
        assert!((1 << 20..=1 << 30).contains(&of_machine()));
        assert!(installed() > 1 << 28);
        assert_eq!(socket_buffer(1 << 30, 64), SOCKET_BUFFER as i32);
        assert_eq!(socket_buffer(12 << 20, 64), LEAST_SOCKET_BUFFER as i32);
    }
}
