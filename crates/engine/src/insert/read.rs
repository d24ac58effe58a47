//! The settings of `insert-model`.

use fathom_job::sampler::read_interval;
use fathom_runtime::{MICROSECOND, Nanos, SECOND};
use fathom_settings::{Choice, Data, FromValue, Key, Problem, Section, Value, VolumeName};
use fathom_units::{Bytes, Span};

/// Data of a row of the batch-insert experiment's table: 136 bytes (VMware, SQL Server 2016 Database Performance and
/// Improvements on vSAN 6.7: a million rows are about 136 MB).
const TRADE: u64 = 136;

/// CPU time a row takes in a loop of T-SQL statements. Two published loops give 13.5 us (50,000 rows of nine columns in
/// 673 ms, blogs.lessthandot.com) and 30 us (100,000 rows in 3 s, sqlines.com), both within one transaction; this is
/// between them, their geometric mean.
const CPU_PER_ROW: Nanos = 20 * MICROSECOND;

/// More sessions than SQL Server has workers are a slip of the finger.
const MOST_SESSIONS: u32 = 32_767;

/// More than any server has.
const MOST_CORES: u32 = 1024;

/// Where a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transaction {
    /// After every row.
    PerRow,
    /// After that many rows of a session.
    Every(u64),
    /// After a session's last row.
    WholeBatch,
}

impl Transaction {
    /// Rows of one; None for all that a session inserts.
    pub fn rows(self) -> Option<u64> {
        match self {
            Self::PerRow => Some(1),
            Self::Every(rows) => Some(rows),
            Self::WholeBatch => None,
        }
    }
}

/// When the sessions end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// After that many rows together.
    Rows(u64),
    /// After a span, ns; the transactions under way then are still committed.
    Time(Nanos),
}

/// An insert workload on the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The volume of the log.
    pub volume: String,
    /// Bytes of data in a row.
    pub payload: u64,
    /// Where a transaction ends.
    pub transaction: Transaction,
    /// When the sessions end.
    pub until: Until,
    /// Sessions side by side.
    pub sessions: u32,
    /// CPU time of a row, ns.
    pub cpu_per_row: Nanos,
    /// Cores that the sessions share; None: one for each session.
    pub cores: Option<u32>,
    /// Log blocks are multiples of this; None: of the physical sector that the volume reports.
    pub log_block: Option<u64>,
    /// Log writes under way at once.
    pub writes_in_flight: u32,
    /// Length of a sample, ns; None: see [`fathom_job::sampler::default_interval`].
    pub interval: Option<Nanos>,
}

/// Every key the reader asks for.
pub const KEYS: &[Key] = &[
    Key::required("volume", "name of a volume", "Where the log is."),
    Key::optional(
        "rows",
        "1 to 10^12",
        "1000000 unless `duration` is given",
        "Rows to insert, all sessions together.",
    ),
    Key::optional("duration", "time span", "until `rows`", "How long to insert, instead of `rows`."),
    Key::optional(
        "transaction",
        "`per-row`, `whole-batch` or a number of rows",
        "per-row",
        "Where a transaction ends.",
    ),
    Key::optional(
        "table",
        "`trade` or `payload`",
        "trade",
        "The published 16-column table of 136 bytes a row, or a key and plain text.",
    ),
    Key::optional(
        "payload",
        "size, at most 1 MB",
        "1000",
        "Bytes of text per row, for `table = \"payload\"`.",
    ),
    Key::optional("sessions", "1 to 32767", "1", "Connections that insert side by side."),
    Key::optional("cpu_per_row", "time span", "20us", "CPU time of a row."),
    Key::optional(
        "cores",
        "1 to 1024",
        "one per session",
        "Cores that the sessions share, first come, first served.",
    ),
    Key::optional(
        "log_block",
        "512 or 4096, as a size",
        "the volume's physical sector",
        "Log blocks are multiples of it; 4KiB is what trace flag 1800 does.",
    ),
    Key::optional(
        "writes_in_flight",
        "1 to 1000",
        "112",
        "Log writes under way at once; 32 before SQL Server 2012.",
    ),
    Key::optional("interval", "time span", "1s, within 20 to 1000 samples", "Length of a sample."),
];

impl FromValue for Transaction {
    fn from_value(value: &Value) -> Result<Self, Problem> {
        match &value.data {
            Data::Text(word) if word == "per-row" => Ok(Self::PerRow),
            Data::Text(word) if word == "whole-batch" => Ok(Self::WholeBatch),
            Data::Integer(rows) if *rows >= 1 => Ok(Self::Every(*rows as u64)),
            _ => {
                let help = "\"per-row\", \"whole-batch\", or a number of rows such as 100";
                Err(Problem::new("this says no place where a transaction could end", help))
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Table {
    Trade,
    Payload,
}

impl Choice for Table {
    const CHOICES: &'static [(&'static str, Self)] = &[("trade", Self::Trade), ("payload", Self::Payload)];
}

impl Config {
    /// Reads the settings; None if anything is wrong, with diagnostics.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        let volume = section.required::<VolumeName>("volume");
        let table = section.or("table", Table::Trade);
        let bytes = section.or_in("payload", Bytes::new(1000), Bytes::new(1)..=Bytes::new(1_000_000));
        if table == Table::Trade && section.has("payload") {
            section.error_at(
                "payload",
                "the trade table has rows of its own size",
                "add table = \"payload\"",
            );
        }
        let sector = section.optional::<Bytes>("log_block").map(Bytes::get);
        if sector.is_some_and(|sector| sector != 512 && sector != 4096) {
            section.error_at("log_block", "no disk has such sectors", "write 512B or 4KiB");
        }
        let until = read_until(section);
        let span = if let Until::Time(span) = until { Some(span) } else { None };
        let config = Self {
            volume: volume.map(|name| name.0).unwrap_or_default(),
            payload: if table == Table::Trade { TRADE } else { bytes.get() },
            transaction: section.or("transaction", Transaction::PerRow),
            until,
            sessions: section.or_in("sessions", 1, 1..=MOST_SESSIONS),
            cpu_per_row: section.or("cpu_per_row", Span::from_nanos(CPU_PER_ROW)).as_nanos(),
            cores: section.optional_in("cores", 1..=MOST_CORES),
            log_block: sector,
            writes_in_flight: section.or_in("writes_in_flight", 112, 1..=1000),
            interval: read_interval(section, span),
        };
        section.is_clean().then_some(config)
    }
}

fn read_until(section: &mut Section<'_>) -> Until {
    let rows = section.or_in("rows", 1_000_000, 1..=1_000_000_000_000);
    let most = Span::from_nanos(365 * 86_400 * SECOND);
    let span = section.optional_in("duration", Span::from_nanos(1)..=most);
    if section.has("rows") && section.has("duration") {
        section.error_at("duration", "`rows` says when it ends", "leave one of them out");
    }
    span.map_or(Until::Rows(rows), |span| Until::Time(span.as_nanos()))
}

#[cfg(test)]
mod tests {
    use fathom_runtime::{MICROSECOND, SECOND};
    use fathom_settings::{Diagnostics, Tree};

    use super::{Config, KEYS, Transaction, Until};

    fn read(text: &str) -> Result<Config, Vec<String>> {
        let diagnostics = Diagnostics::new();
        let tree = Tree::parse("study.toml", text, &diagnostics);
        let mut section = tree.section(&diagnostics);
        let config = Config::read(&mut section);
        let whole = section.finish();
        let mut asked: Vec<&str> = section.asked().iter().map(String::as_str).collect();
        let mut known: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
        asked.sort_unstable();
        known.sort_unstable();
        assert_eq!(asked, known, "every key that is read is documented");
        let said = diagnostics.list().iter().map(ToString::to_string).collect();
        config.filter(|_| whole).ok_or(said)
    }

    #[test]
    fn the_shortest_settings_are_the_published_baseline() {
        let config = read("volume = \"log\"").expect("it is right");
        let expected = Config {
            volume: "log".to_owned(),
            payload: 136,
            transaction: Transaction::PerRow,
            until: Until::Rows(1_000_000),
            sessions: 1,
            cpu_per_row: 20 * MICROSECOND,
            cores: None,
            log_block: None,
            writes_in_flight: 112,
            interval: None,
        };
        assert_eq!(config, expected);
    }

    #[test]
    fn every_key_arrives() {
        let text = "volume = \"log\"\nduration = \"30s\"\ntransaction = 100\ntable = \"payload\"\npayload = \"4000B\"\n\
                    sessions = 8\ncpu_per_row = \"5us\"\ncores = 4\nlog_block = \"4KiB\"\nwrites_in_flight = 32\ninterval = \"2s\"";
        let expected = Config {
            volume: "log".to_owned(),
            payload: 4000,
            transaction: Transaction::Every(100),
            until: Until::Time(30 * SECOND),
            sessions: 8,
            cpu_per_row: 5 * MICROSECOND,
            cores: Some(4),
            log_block: Some(4096),
            writes_in_flight: 32,
            interval: Some(2 * SECOND),
        };
        assert_eq!(read(text), Ok(expected));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, word) in [
            ("rows = 5\nduration = \"1s\"", "leave one of them out"),
            ("payload = \"4000B\"", "table = \"payload\""),
            ("log_block = \"1KiB\"", "512B or 4KiB"),
            ("transaction = \"per-hour\"", "whole-batch"),
            ("transaction = 0", "whole-batch"),
            ("sessions = 0", "out of range"),
            ("cores = 0", "out of range"),
            ("duration = \"1s\"\ninterval = \"1us\"", "more than 10000 samples"),
            ("interval = \"1us\"", "write \"1ms\" or more"),
        ] {
            let said = read(&format!("volume = \"log\"\n{text}")).expect_err(text);
            assert!(said.len() == 1 && said[0].contains(word), "{text}: {said:?}");
        }
    }
}
