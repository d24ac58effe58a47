//! What is known of each kind of database: its dialect, what it supports, and what its durability settings may lose.

use std::collections::BTreeMap;

use fathom_job::Connection;

use crate::counter::Counter;
use crate::error::Result;
use crate::session::Session;

pub use fathom_job::DatabaseKind;

/// What a kind of database supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// Stored procedures.
    pub procedures: bool,
    /// Several calls sent before the first answer is awaited.
    pub pipelining: bool,
    /// The bulk path's name, for reports.
    pub bulk: &'static str,
    /// Most parameters of one statement.
    pub parameters: usize,
    /// Most rows of one `INSERT ... VALUES`.
    pub rows: usize,
}

/// A durability setting, and what it may lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Durability {
    /// The database's own word for the value.
    pub value: &'static str,
    /// What a crash may take although it was committed; empty for nothing.
    pub loses: &'static str,
}

impl Durability {
    pub(crate) const fn of(value: &'static str, loses: &'static str) -> Self {
        Self { value, loses }
    }
}

/// Makes the database that answers at a connection.
pub(crate) type Server = fn(&Connection) -> Box<dyn Database + Send + Sync>;

/// What is known of a kind of database: a record in its driver's folder.
#[derive(Debug)]
pub struct Dialect {
    /// The name for people.
    pub title: &'static str,
    /// What it supports.
    pub features: Features,
    /// The `number`-th parameter of a statement, from 1.
    pub(crate) placeholder: fn(usize) -> String,
    /// The setting that decides what a commit waits for, by the database's own name.
    pub durability_setting: &'static str,
    /// The values of that setting, most durable first, and what each may lose.
    pub durabilities: &'static [Durability],
    /// Whose SQL it takes where a workload has none for it.
    pub(crate) like: Option<DatabaseKind>,
    /// The first statement of a session.
    pub(crate) session: Option<&'static str>,
    /// The isolation level of its transactions, for results.
    pub(crate) isolation: &'static str,
    /// Whether one session alone can write.
    pub(crate) one_writer: bool,
    /// Whether every definition (`CREATE`, `DROP`) commits what is open.
    pub(crate) commits_definitions: bool,
    /// Asks how many columns the table `load_steps` has where a session creates tables, and how many are a load's.
    pub(crate) load_steps: &'static str,
    /// What [`crate::objects`] asks, in its SQL.
    pub(crate) objects: &'static str,
    /// Checks the table that replaces `{}`, and the column of the answer that says `ok`; None if nothing is to be asked.
    pub(crate) check: Option<(&'static str, usize)>,
    /// Whether it reads and writes its data files past the system's cache, so that only its own buffers hold pages; by its facts.
    pub(crate) past_the_system: fn(&BTreeMap<String, String>) -> bool,
    /// What [`crate::watch`] asks, in its SQL.
    pub(crate) questions: &'static str,
    /// What the question `counters` answers, in the order of its columns.
    pub(crate) counters: &'static [Counter],
    /// Bytes of a page.
    pub(crate) page: u64,
    /// The server that answers there; None for a database that is no server.
    pub(crate) server: Option<Server>,
}

impl Dialect {
    /// The `number`-th parameter of a statement, from 1.
    pub fn parameter(&self, number: usize) -> String {
        (self.placeholder)(number)
    }
}

/// A kind of database, with what is known of it.
pub trait Known {
    /// What is known of it.
    fn dialect(self) -> &'static Dialect;
}

/// A database that opens sessions. Threads share it where it is `Sync`; each opens its own session.
pub trait Database {
    /// Which database it is, and with it the SQL it speaks.
    fn kind(&self) -> DatabaseKind;

    /// A new session.
    ///
    /// # Errors
    /// Refused, authentication, permission, timeout, with where it was tried.
    fn connect(&self) -> Result<Box<dyn Session + '_>>;

    /// Small facts worth keeping with a run: version, settings that decide durability and I/O.
    ///
    /// # Errors
    /// The database's.
    fn facts(&self, session: &mut dyn Session) -> Result<BTreeMap<String, String>>;

    /// Counters of files and waits since the server started, by name, of a server that is not sampled from outside. A run
    /// keeps the difference.
    ///
    /// # Errors
    /// The database's; a right that is missing is no error.
    fn counters(&self, _session: &mut dyn Session) -> Result<BTreeMap<String, i64>> {
        Ok(BTreeMap::new())
    }
}

/// What a power cut may damage: all of it, or pages that are being written.
const ALL: &str = "the database";
const TORN: &str = "pages that are being written, unless the storage writes each whole";
/// What durability settings that lose commits end with; not true where others damage the database.
const WHOLE: &str = "; the database stays whole";
/// Settings with which a power cut may damage a database, by name and value, and what of it.
const DAMAGING: [(&str, &str, &str); 5] = [
    ("fsync", "off", ALL),
    ("innodb_flush_method", "nosync", ALL),
    ("innodb_flush_method", "littlesync", ALL),
    ("full_page_writes", "off", TORN),
    ("innodb_doublewrite", "off", TORN),
];

/// What a crash may take of what was committed, by the facts of [`Database::facts`]; words for a report.
pub fn may_lose(kind: DatabaseKind, facts: &BTreeMap<String, String>) -> String {
    let says = |name: &str, value: &str| facts.get(name).is_some_and(|fact| fact.eq_ignore_ascii_case(value));
    let set = DAMAGING.iter().filter(|(name, value, _)| says(name, value));
    let mut lost: Vec<String> =
        set.map(|(name, value, what)| format!("{name} is {value}: a power cut may damage {what}")).collect();
    let value =
        facts.get(kind.dialect().durability_setting).map(|value| value.to_lowercase()).unwrap_or_default();
    let known = kind.dialect().durabilities.iter().find(|known| known.value == value);
    // With a binary log a commit waits for that log instead, and InnoDB recovers what is in it.
    if says("innodb_flush_log_at_trx_commit", "1") && says("log_bin", "ON") && !says("sync_binlog", "1") {
        lost.push(
            "a power cut may take commits whose binary log was not yet flushed (sync_binlog)".to_owned(),
        );
    } else {
        let loses = known.map(|known| known.loses).filter(|loses| !loses.is_empty());
        // What a power cut may damage does not stay whole.
        let damaged = !lost.is_empty();
        let kept =
            |loses: &'static str| if damaged { loses.strip_suffix(WHOLE).unwrap_or(loses) } else { loses };
        lost.extend(loses.map(kept).map(str::to_owned));
    }
    match known {
        _ if !lost.is_empty() => lost.join("; "),
        Some(_) => "nothing: a commit waits for the log".to_owned(),
        None => "not known".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{DatabaseKind, Known, WHOLE, may_lose};

    #[test]
    fn every_value_says_what_it_may_lose_and_the_defaults_lose_nothing() {
        for kind in DatabaseKind::all() {
            for known in kind.dialect().durabilities {
                let setting = kind.dialect().durability_setting.to_owned();
                let mut facts = BTreeMap::from([(setting, known.value.to_uppercase())]);
                let words = may_lose(kind, &facts);
                assert_eq!(words.starts_with("nothing"), known.loses.is_empty(), "{kind:?} {words}");
                facts.insert("fsync".to_owned(), "off".to_owned());
                assert!(may_lose(kind, &facts).contains("damage"));
                for (name, value) in [
                    ("innodb_flush_method", "nosync"),
                    ("innodb_doublewrite", "OFF"),
                    ("full_page_writes", "off"),
                ] {
                    let facts = BTreeMap::from([
                        (kind.dialect().durability_setting.to_owned(), known.value.to_owned()),
                        (name.to_owned(), value.to_owned()),
                    ]);
                    let words = may_lose(kind, &facts);
                    let kept = known.loses.strip_suffix(WHOLE).unwrap_or(known.loses);
                    assert!(words.starts_with(name) && words.ends_with(kept), "{kind:?} {words}");
                    assert!(!words.contains("stays whole"), "{kind:?} {words}");
                }
            }
            assert!(kind.dialect().durabilities[0].loses.is_empty());
            assert_eq!(may_lose(kind, &BTreeMap::new()), "not known");
        }
    }

    #[test]
    fn a_binary_log_must_be_flushed_too() {
        let facts = |bin: &str, sync: &str| {
            let facts = [("innodb_flush_log_at_trx_commit", "1"), ("log_bin", bin), ("sync_binlog", sync)];
            facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
        };
        for (bin, sync, loses) in
            [("ON", "0", true), ("ON", "1000", true), ("ON", "1", false), ("OFF", "0", false)]
        {
            let words = may_lose(DatabaseKind::Mysql, &facts(bin, sync));
            assert_eq!(words.contains("binary log"), loses, "{bin} {sync}: {words}");
        }
    }
}
