//! Settings that workloads of virtual users share: how many, at which pace, how transactions are sent, and SQLite's pragmas.

use std::ops::RangeInclusive;

use fathom_job::Demand;
use fathom_job::draw::Arrivals;
use fathom_runtime::{Clock, Nanos, SECOND};
use fathom_settings::{Choice, Data, FromValue, Key, Problem, Section, Value};
use fathom_units::{Percent, Span};

use crate::database::{Database, DatabaseKind, Known};
use crate::drive::{Drive, Pace, RampRule};

/// What is driven.
pub(crate) const DATABASE: Key = Key::required(
    "database",
    "name of a table `[databases.NAME]`, or `sqlite`, `postgresql`, `mariadb`; or a list of them",
    "The database; those of a list are driven at the same time, by `users` each.",
);
/// Of [`pace`].
pub(crate) const ARRIVALS: Key =
    Key::optional("arrivals", "`constant` or `poisson`", "poisson", "How they arrive at a `rate`.");
/// Of [`warming`].
pub(crate) const USERS_PER_SECOND: Key = Key::optional(
    "users_per_second",
    "0.001 to 10^6",
    "all at once",
    "How many virtual users begin per second. The ramp must be long enough for all of them.",
);
/// Of [`warming`].
pub(crate) const WARM_UP: Key = Key::optional(
    "warm_up",
    "`ramp` or `buffer-pool`",
    "ramp",
    "What ends the ramp: its length; or a buffer pool that has stopped filling, if that is sooner.",
);
/// Of the samples in results.
pub(crate) const INTERVAL: Key = Key::optional("interval", "time span", "1s", "Length of a sample.");
/// Of a load.
pub(crate) const LOAD_SESSIONS: Key =
    Key::optional("load_sessions", "1 to 64", "4", "Sessions that load at the same time.");
/// Of a load.
pub(crate) const CHECKSUM: Key = Key::optional(
    "checksum",
    "`true` or `false`",
    "false",
    "Reads a fresh load back, row by row, and compares checksums. Takes as long as the load.",
);
/// Of [`pragmas`].
pub(crate) const JOURNAL: Key =
    Key::optional("journal", "`wal`, `delete`, `truncate` or `persist`", "wal", "SQLite's journal mode.");
/// Of [`pragmas`].
pub(crate) const SYNCHRONOUS: Key =
    Key::optional("synchronous", "`full`, `extra`, `normal` or `off`", "full", "SQLite's durability.");

/// The settings that all workloads of virtual users have.
#[derive(Debug, Clone, PartialEq)]
pub struct Common {
    /// Name of the database in the study.
    pub database: String,
    /// How transactions are sent; None for the best the database has.
    pub interface: Option<Interface>,
    /// Virtual users, step by step.
    pub users: Vec<u32>,
    /// Whether users pause.
    pub pauses: bool,
    /// When transactions begin.
    pub pace: Pace,
    /// Before the measured phase, ns.
    pub ramp: Nanos,
    /// How users begin, and what may end the ramp.
    pub warming: RampRule,
    /// Of the measured phase, ns.
    pub duration: Nanos,
    /// Of a sample, ns.
    pub interval: Nanos,
    /// Share of every text that is the same everywhere, 0 to 1.
    pub repeated: f64,
    /// Sessions that load.
    pub load_sessions: u32,
    /// Whether a fresh load is read back.
    pub checksum: bool,
    /// SQLite's settings.
    pub pragmas: String,
}

/// How long may be measured, and at what intervals.
pub(crate) const MEASURED: RangeInclusive<Span> = Span::from_micros(1000)..=Span::from_secs(1_000_000_000);

impl Common {
    /// Reads them. `pauses` is the key of the users' own pauses, if they make any; `ramp` holds where none is stated.
    pub(crate) fn read(section: &mut Section<'_>, pauses: Option<&str>, ramp: Span) -> Self {
        let users = section.or("users", Users(vec![4])).0;
        let ramp = section.or("ramp", ramp).as_nanos();
        Self {
            database: section.required::<String>("database").unwrap_or_default(),
            interface: section.optional("interface"),
            warming: warming(section, &users, ramp),
            users,
            pauses: pauses.is_some(),
            pace: pace(section, pauses),
            ramp,
            duration: section.or_in("duration", Span::from_secs(60), MEASURED).as_nanos(),
            interval: section.or_in("interval", Span::from_secs(1), MEASURED).as_nanos(),
            repeated: section.optional::<Percent>("repeated").map_or(0.0, Percent::fraction),
            load_sessions: section.or_in::<u32>("load_sessions", 4, 1..=64),
            checksum: section.or("checksum", false),
            pragmas: pragmas(section),
        }
    }

    /// How much they ask for; None where that changes from step to step.
    pub(crate) fn demand(&self) -> Option<Demand> {
        self.pace.demand(&self.users, self.pauses)
    }

    /// How to drive a database with so many users.
    pub(crate) fn drive<'a>(
        &self,
        database: &'a (dyn Database + Sync),
        kinds: &'static [&'static str],
        users: u32,
        seed: u64,
    ) -> Drive<'a> {
        Drive {
            database,
            kinds,
            users,
            pace: self.pace,
            ramp: self.ramp,
            warming: self.warming,
            duration: self.duration,
            interval: self.interval,
            seed,
        }
    }
}

/// One number of virtual users, or several one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Users(pub Vec<u32>);

impl FromValue for Users {
    fn from_value(value: &Value) -> Result<Self, Problem> {
        let help = "4, or [1, 2, 4, 8]";
        let number = |value: &Value| match value.data {
            Data::Integer(users) if (1..=1000).contains(&users) => Ok(users as u32),
            _ => Err(Problem::new(format!("{value} is no number of virtual users from 1 to 1000"), help)),
        };
        match &value.data {
            Data::List(values) if values.is_empty() => {
                Err(Problem::new("a sequence has at least one step", help))
            }
            Data::List(values) => values.iter().map(number).collect::<Result<_, _>>().map(Self),
            _ => number(value).map(|users| Self(vec![users])),
        }
    }
}

/// What keeps virtual users from working beside others, each on a database of its own: all begin to measure at one moment.
pub(crate) fn beside_others(Common { users, warming, .. }: &Common) -> Vec<(String, Problem)> {
    let mut problems = Vec::new();
    if users.len() > 1 {
        let message = "several databases would not be at the same step of a sequence at the same time";
        let help = "vary \"workload.users\" as a factor";
        problems.push(("users".to_owned(), Problem::new(message, help)));
    }
    if warming.until_full {
        let message = "of several databases each would be warm at another moment";
        problems
            .push(("warm_up".to_owned(), Problem::new(message, "give all of them a `ramp` that suffices")));
    }
    problems
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WarmUp {
    Ramp,
    BufferPool,
}

impl Choice for WarmUp {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("ramp", Self::Ramp), ("buffer-pool", Self::BufferPool)];
}

/// Reads `users_per_second` and `warm_up`.
fn warming(section: &mut Section<'_>, users: &[u32], ramp: Nanos) -> RampRule {
    let per_second = section.optional_in::<f64>("users_per_second", 0.001..=1e6);
    let apart = per_second.map_or(0, |per_second| (SECOND as f64 / per_second).round() as Nanos);
    let most = u64::from(users.iter().copied().max().unwrap_or(0));
    if most.saturating_mul(apart) > ramp {
        let seconds = most as f64 * apart as f64 / SECOND as f64;
        let message = format!("the last of {most} users begins after {seconds:.3} s, when the ramp is over");
        section.error_at("users_per_second", message, "lengthen `ramp`, or let more users begin per second");
    }
    RampRule { apart, until_full: section.or("warm_up", WarmUp::Ramp) == WarmUp::BufferPool }
}

/// What keeps transactions from being sent as procedures to databases of these kinds.
pub fn no_procedures(interface: Option<Interface>, kinds: &[DatabaseKind]) -> Vec<(String, Problem)> {
    let without = kinds.iter().filter(|kind| !kind.dialect().features.procedures);
    let misfit = |kind: &DatabaseKind| {
        let message = format!("{} has no stored procedures", kind.dialect().title);
        ("interface".to_owned(), Problem::new(message, "use \"statements\""))
    };
    if interface == Some(Interface::Procedures) { without.map(misfit).collect() } else { Vec::new() }
}

/// What keeps a workload on a server from running by a clock that is not the server's.
pub fn real_clock_only(clock: Clock) -> Vec<(String, Problem)> {
    if clock == Clock::Real {
        return Vec::new();
    }
    let message = "a database server has no place in virtual time";
    vec![(String::new(), Problem::new(message, "use clock = \"real\""))]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spacing {
    Constant,
    Poisson,
}

impl Choice for Spacing {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("constant", Self::Constant), ("poisson", Self::Poisson)];
}

/// Reads `rate` and `arrivals`. `pauses` is the key of the users' own pauses, if they make any: pauses and a rate exclude each other.
fn pace(section: &mut Section<'_>, pauses: Option<&str>) -> Pace {
    let rate = section.optional_in::<f64>("rate", 0.001..=1e6);
    if let (Some(pauses), Some(_)) = (pauses, rate) {
        let help = format!("leave out `rate` or `{pauses}`");
        section.error_at("rate", "users with pauses cannot keep a rate", help);
    }
    if rate.is_none() && section.has("arrivals") {
        section.error_at("arrivals", "without a `rate` nothing arrives", "add `rate`, or leave this out");
    }
    let arrivals = match section.or("arrivals", Spacing::Poisson) {
        Spacing::Constant => Arrivals::Constant,
        Spacing::Poisson => Arrivals::Poisson,
    };
    rate.map_or(Pace::Closed, |rate| Pace::Rate(arrivals, rate))
}

/// How transactions are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// One call of a stored procedure per transaction.
    Procedures,
    /// Prepared statements, pipelined where the database can.
    Statements,
}

impl Choice for Interface {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("procedures", Self::Procedures), ("statements", Self::Statements)];
}

impl Interface {
    /// Procedures where the database has them.
    pub fn best(kind: DatabaseKind) -> Self {
        if kind.dialect().features.procedures { Self::Procedures } else { Self::Statements }
    }

    /// In words, for results.
    pub fn describe(self, kind: DatabaseKind) -> &'static str {
        match (self, kind.dialect().features.pipelining) {
            (Self::Procedures, _) => "stored procedures, one prepared call per transaction",
            (Self::Statements, true) => "prepared statements, pipelined",
            (Self::Statements, false) => "prepared statements, one after the other",
        }
    }
}

/// SQLite's journal mode (`PRAGMA journal_mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Journal(pub(crate) &'static str);

impl Choice for Journal {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("wal", Self("wal")),
        ("delete", Self("delete")),
        ("truncate", Self("truncate")),
        ("persist", Self("persist")),
    ];
}

/// SQLite's durability (`PRAGMA synchronous`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Synchronous(pub(crate) &'static str);

impl Choice for Synchronous {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("full", Self("full")), ("extra", Self("extra")), ("normal", Self("normal")), ("off", Self("off"))];
}

/// Reads `journal` and `synchronous`; the pragmas of each new connection to SQLite.
pub(crate) fn pragmas(section: &mut Section<'_>) -> String {
    let journal = section.or("journal", Journal("wal"));
    let synchronous = section.or("synchronous", Synchronous("full"));
    format!("PRAGMA journal_mode = {}; PRAGMA synchronous = {};", journal.0, synchronous.0)
}
