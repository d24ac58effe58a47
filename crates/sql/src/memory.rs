//! Whether a database is large enough to test storage with.

/// Why a database is too small for a test of storage; None if it is not, or if this machine does not tell its memory.
pub fn warning(database_bytes: i64, buffer_bytes: i64) -> Option<String> {
    let memory = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text))?;
    judge(database_bytes, buffer_bytes, memory)
}

fn total(meminfo: &str) -> Option<i64> {
    let line = meminfo.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: i64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

fn judge(database: i64, buffer: i64, memory: i64) -> Option<String> {
    // The buffer pool is a part of the memory where both are on one machine; the sum would count it twice.
    let cached = memory.max(buffer);
    let gigabytes = |bytes: i64| format!("{:.1} GB", bytes as f64 / 1e9);
    (database < 2 * cached).then(|| {
        format!(
            "the database ({}) is smaller than twice the memory that may cache it ({} on this machine, {} of it the \
             buffer pool): what is measured is processors and log rather than the data volume; use a larger one",
            gigabytes(database),
            gigabytes(memory),
            gigabytes(buffer)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{judge, total};

    #[test]
    fn memory_is_read_from_the_kernels_table() {
        assert_eq!(total("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16_777_216));
        assert_eq!(total("nothing"), None);
    }

    #[test]
    fn a_database_that_fits_into_memory_is_warned_about() {
        assert!(judge(10, 4, 16).is_some());
        assert!(judge(31, 4, 16).is_some());
        assert_eq!(judge(32, 4, 16), None);
        assert!(judge(32, 20, 16).is_some(), "a server elsewhere has a larger pool");
    }
}
