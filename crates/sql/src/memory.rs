//! Whether a database is large enough to test storage.

use std::collections::BTreeMap;

use fathom_job::DatabaseKind;

use crate::database::Known;

/// Why a database is too small for a test of storage; None if it is not, or if this machine's memory is unknown. Sizes in
/// bytes; `facts` are the database's own.
pub fn warning(
    kind: DatabaseKind,
    facts: &BTreeMap<String, String>,
    database: i64,
    buffer: i64,
) -> Option<String> {
    if (kind.dialect().past_the_system)(facts) {
        return judge(database, buffer, None);
    }
    let memory = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text))?;
    judge(database, buffer, Some(memory))
}

fn total(meminfo: &str) -> Option<i64> {
    let line = meminfo.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: i64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// `memory` is the system's, None where it caches nothing.
fn judge(database: i64, buffer: i64, memory: Option<i64>) -> Option<String> {
    // The buffer pool is a part of the memory where both are on one machine; the sum would count it twice.
    let cached = memory.unwrap_or(0).max(buffer);
    let gigabytes = |bytes: i64| format!("{:.1} GB", bytes as f64 / 1e9);
    let words = match memory {
        Some(memory) => {
            format!("{} on this machine, {} of it the buffer pool", gigabytes(memory), gigabytes(buffer))
        }
        None => format!("a buffer pool of {}; the files are read past the system's cache", gigabytes(buffer)),
    };
    (database < 2 * cached).then(|| {
        format!(
            "the database ({}) is smaller than twice the memory that may cache it ({words}): what is measured is \
             processors and log rather than the data volume; use a larger one",
            gigabytes(database)
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fathom_job::DatabaseKind;

    use super::{judge, total};
    use crate::database::Known;

    #[test]
    fn memory_is_read_from_the_kernels_table() {
        assert_eq!(total("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16_777_216));
        assert_eq!(total("nothing"), None);
    }

    #[test]
    fn a_database_that_fits_into_memory_is_warned_about() {
        assert!(judge(10, 4, Some(16)).is_some());
        assert!(judge(31, 4, Some(16)).is_some());
        assert_eq!(judge(32, 4, Some(16)), None);
        assert!(judge(32, 20, Some(16)).is_some(), "a server elsewhere has a larger pool");
        assert!(judge(7, 4, None).is_some_and(|words| words.contains("past the system's cache")));
        assert_eq!(
            judge(8, 4, None),
            None,
            "what the system does not cache need not be larger than its memory"
        );
    }

    #[test]
    fn the_flush_method_says_whether_the_system_caches_data_files() {
        let says = |kind: DatabaseKind, name: &str, value: &str| {
            (kind.dialect().past_the_system)(&BTreeMap::from([(name.to_owned(), value.to_owned())]))
        };
        let mariadb = |method| says(DatabaseKind::Mariadb, "innodb_flush_method", method);
        assert!(mariadb("O_DIRECT") && mariadb("O_DIRECT_NO_FSYNC"));
        assert!(!mariadb("fsync") && !mariadb("O_DSYNC"));
        let buffering = |word| says(DatabaseKind::Mariadb, "innodb_data_file_buffering", word);
        assert!(buffering("OFF") && !buffering("ON"));
        assert!(!(DatabaseKind::Postgresql.dialect().past_the_system)(&BTreeMap::new()));
    }
}
