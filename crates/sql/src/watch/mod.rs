//! The server's counters: orders and transactions for NOPM and TPM, log and checkpoints beside every second. The
//! queries are in one SQL file for each kind of server.

mod files;
mod filling;
mod processors;

use fathom_job::{DatabaseKind, Sample};
use fathom_runtime::{Nanos, SECOND, monotonic};

use crate::counter::{Counter, SERIES};
use crate::database::Known;
use crate::drive::Observer;
use crate::error::{Error, ErrorKind, Result};
use crate::rows::Answer;
use crate::script::Script;
use crate::session::Session;
use crate::value::Value;
use files::FileQuery;
pub use files::Files;
pub(crate) use files::ROLES;
use filling::Filling;
pub use processors::Processors;

/// The questions to a server, in its SQL.
fn questions(kind: DatabaseKind) -> Script {
    Script::parse(kind.dialect().questions)
}

/// One look at the counters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters(Vec<(Counter, i64)>);

impl Counters {
    fn read(session: &mut dyn Session, kind: DatabaseKind, questions: &Script) -> Result<Self> {
        let names = kind.dialect().counters;
        if names.is_empty() {
            return Ok(Self::default());
        }
        let Some(answer) = unless_withheld(session.query(questions.get("counters"), &[]))? else {
            return Ok(Self::default());
        };
        let row = answer.first()?;
        let mut counters = Vec::with_capacity(names.len());
        for (place, name) in names.iter().enumerate() {
            if !row.get(place)?.is_null() {
                counters.push((*name, row.int(place)?));
            }
        }
        Ok(Self(counters))
    }

    /// One of them; None where the database does not count it.
    pub fn get(&self, counter: Counter) -> Option<i64> {
        self.0.iter().find(|(name, _)| *name == counter).map(|(_, value)| *value)
    }

    /// By how much one has grown since then.
    pub fn since(&self, before: &Self, counter: Counter) -> Option<u64> {
        let grown = self.get(counter)? - before.get(counter)?;
        u64::try_from(grown).ok()
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, i64)> {
        self.0.iter().map(|(counter, value)| (counter.name(), *value))
    }
}

/// What is sampled at the beginning and at the end.
#[derive(Debug, Clone, Default)]
pub struct ServerSample {
    /// When, ns.
    pub at: Nanos,
    /// Orders so far, as the workload asks for them; 0 if it does not.
    pub orders: i64,
    /// Transactions as HammerDB counts them for this database; None where the server does not count.
    pub transactions: Option<i64>,
    /// Log and checkpoints.
    pub counters: Counters,
    /// I/O of each file; None where the server does not report it.
    pub files: Option<Files>,
    /// Processor time of the server; None where it does not report it.
    pub processors: Option<Processors>,
}

/// Looks at the server at the beginning, every interval and the end.
pub struct Watch<'a> {
    kind: DatabaseKind,
    questions: Script,
    orders: Option<&'a str>,
    last: (Nanos, Counters),
    asking: FileQuery,
    last_files: Option<Files>,
    filling: Filling,
    /// Why the server does not report its processor time.
    no_processors: Option<String>,
    /// The beginning of the measured phase.
    pub begin: ServerSample,
    /// Its end.
    pub end: ServerSample,
    /// Log and checkpoints per interval.
    pub samples: Vec<Sample>,
    /// Of each interval what [`SERIES`] lists: its end in s since the beginning, name, value.
    pub series: Vec<(f64, &'static str, i64)>,
}

impl<'a> Watch<'a> {
    /// A watch that has seen nothing yet; `orders` asks for the number of orders so far, where the server is to count
    /// them.
    pub fn new(kind: DatabaseKind, orders: Option<&'a str>) -> Self {
        Self {
            kind,
            questions: questions(kind),
            orders,
            last: (0, Counters::default()),
            asking: FileQuery::default(),
            last_files: None,
            filling: Filling::default(),
            no_processors: None,
            begin: ServerSample::default(),
            end: ServerSample::default(),
            samples: Vec::new(),
            series: Vec::new(),
        }
    }

    /// Small facts of what was watched.
    pub fn facts(&self) -> Vec<(String, String)> {
        let mut facts = Vec::new();
        if let Some(why) = self.asking.unreported() {
            facts.push(("file_counters".to_owned(), why.to_owned()));
        }
        if let Some(why) = &self.no_processors {
            facts.push(("server_processors".to_owned(), why.clone()));
        }
        if let Some(words) = self.filling.words() {
            let name = if self.filling.is_cold() { "warning.warm_up" } else { "warm_up" };
            facts.push((name.to_owned(), words));
        }
        facts
    }

    fn sample(&mut self, session: &mut dyn Session) -> Result<ServerSample> {
        let files = self.asking.read_files(session, self.kind)?;
        let counters = Counters::read(session, self.kind, &self.questions)?;
        let transactions = if self.kind == DatabaseKind::Sqlite {
            None
        } else {
            let answer = unless_withheld(session.query(self.questions.get("transactions"), &[]))?;
            answer.as_ref().map_or(Ok(None), counted)?
        };
        let processors = match processors::read(session, &self.questions)?.transpose() {
            Ok(processors) => processors,
            Err(why) => {
                self.no_processors = Some(why);
                None
            }
        };
        // Last, so that the moment is that of the count NOPM is made of.
        let orders = match self.orders {
            Some(question) => session.query(question, &[])?.first()?.int(0)?,
            None => 0,
        };
        Ok(ServerSample { at: monotonic(), orders, transactions, counters, files, processors })
    }

    fn cut(&mut self, at: Nanos, now: Counters, files: Option<Files>) {
        if let (Some(now), Some(before)) = (&files, &self.last_files) {
            let since = self.last.0;
            self.samples.extend(now.samples(before, since as i64, at - since));
        }
        self.last_files = files;
        let (since, before) = std::mem::replace(&mut self.last, (at, now));
        let now = &self.last.1;
        let sample = |node: &str, count: Option<u64>, bytes: Option<u64>| Sample {
            start: since as i64,
            span: at - since,
            node: node.to_owned(),
            operation: "write",
            count: count.unwrap_or(0),
            bytes: bytes.unwrap_or(0),
            latency: None,
            waiting_mean: None,
            outstanding_mean: 0.0,
        };
        let grown = |counter| now.since(&before, counter);
        let pages = grown(Counter::PagesWrittenBack);
        if let Some(bytes) = grown(Counter::LogBytes) {
            self.samples.push(sample("database log", grown(Counter::LogFlushes), Some(bytes)));
        }
        if let Some(pages) = pages {
            let bytes = pages * self.kind.dialect().page;
            self.samples.push(sample("database checkpoint", Some(pages), Some(bytes)));
        }
        for counter in SERIES {
            let value = match counter.is_level() {
                true => now.get(counter),
                false => grown(counter).and_then(|grown| i64::try_from(grown).ok()),
            };
            if let Some(value) = value {
                self.series.push((at as f64 / SECOND as f64, counter.name(), value));
            }
        }
    }
}

impl Observer for Watch<'_> {
    fn is_warm(&mut self, session: &mut dyn Session, at: Nanos) -> Result<bool> {
        self.filling.sample(session, self.kind, at)
    }

    fn begin(&mut self, session: &mut dyn Session) -> Result<()> {
        self.samples.extend(self.filling.samples());
        self.begin = self.sample(session)?;
        self.last_files = self.begin.files.clone();
        self.last = (0, self.begin.counters.clone());
        Ok(())
    }

    fn interval(&mut self, session: &mut dyn Session, at: Nanos) -> Result<()> {
        let counters = Counters::read(session, self.kind, &self.questions)?;
        let files = self.asking.read_files(session, self.kind)?;
        self.cut(at, counters, files);
        Ok(())
    }

    fn end(&mut self, session: &mut dyn Session) -> Result<()> {
        self.end = self.sample(session)?;
        let at = self.end.at - self.begin.at;
        self.cut(at, self.end.counters.clone(), self.end.files.clone());
        Ok(())
    }
}

/// Bytes of the database and of the memory its server keeps pages in; None if the user may not ask.
///
/// # Errors
/// The database's.
pub fn sizes(session: &mut dyn Session, kind: DatabaseKind) -> Result<Option<(i64, i64)>> {
    let Some(answer) = unless_withheld(session.query(questions(kind).get("sizes"), &[]))? else {
        return Ok(None);
    };
    let row = answer.first()?;
    // A view may be there and empty.
    if row.values().any(|value| value.is_null()) {
        return Ok(None);
    }
    Ok(Some((row.int(0)?, row.int(1)?)))
}

/// The sum of the last column, which may be text: one figure, or a row for each counter. None of a view that is there and empty.
fn counted(answer: &Answer) -> Result<Option<i64>> {
    let mut sum = None;
    for row in answer.rows() {
        let last = row.width() - 1;
        let number = match row.get(last)? {
            Value::Text(text) => text.parse().map_err(|_| {
                Error::new(ErrorKind::Other, format!("the counter \"{text}\" is no whole number"))
            })?,
            Value::Null => continue,
            _ => row.int(last)?,
        };
        sum = Some(sum.unwrap_or(0) + number);
    }
    Ok(sum)
}

/// None where the server withholds the answer: a run continues without it.
fn unless_withheld(answer: Result<Answer>) -> Result<Option<Answer>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.is_withheld() => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Value, counted};

    fn answer(width: usize, values: &[Value<'_>]) -> Answer {
        let mut answer = Answer::new();
        answer.set_width(width);
        values.iter().for_each(|value| answer.push(*value));
        answer
    }

    #[test]
    fn transactions_are_one_figure_or_a_row_for_each_counter() {
        let of = |width, values: &[Value<'_>]| counted(&answer(width, values));
        assert_eq!(of(1, &[Value::Int(7)]).expect("a figure"), Some(7));
        let shown =
            [Value::Text("Com_commit"), Value::Text("12"), Value::Text("Com_rollback"), Value::Text("3")];
        assert_eq!(of(2, &shown).expect("two counters"), Some(15));
        assert_eq!(of(1, &[]).expect("an empty view"), None);
        assert_eq!(of(1, &[Value::Null]).expect("nothing to add up"), None);
        assert!(of(1, &[Value::Text("many")]).expect_err("no number").to_string().contains("many"));
    }
}
