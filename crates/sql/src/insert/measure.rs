//! One run: creates the table, times the session, checks the result, computes the metrics.

use fathom_job::metrics::{latencies, named};
use fathom_job::sampler::WORKLOAD;
use fathom_job::{Failure, Metric, NodeTotal, Outcome, Progress, Reason, Transactions};
use fathom_runtime::{Nanos, SECOND, monotonic};
use fathom_volume::Snapshot;

use super::ledger::{Ledger, Watched};
use super::read::{Config, Method};
use super::session::{Plan, SessionClock};
use super::table::{NAME, PROCEDURE};
use super::verify::verify;
use crate::database::{Database, DatabaseKind, Known, may_lose};
use crate::objects::drop_own;

pub(super) fn declared() -> Vec<Metric> {
    named(&[
        "rows",
        "rows_per_second",
        "elapsed_s",
        "commits_per_second",
        "latency_ms",
        "latency_p50_ms",
        "latency_p95_ms",
        "latency_p99_ms",
        "latency_p999_ms",
    ])
}

impl Config {
    /// Runs on this database; drops what it created and sets back what it changed, also after a failure.
    pub(super) fn measured(
        &self,
        database: &dyn Database,
        clock: &dyn SessionClock,
        watched: Vec<Watched>,
        progress: &mut dyn Progress,
    ) -> Result<Outcome, Failure> {
        if database.kind() == DatabaseKind::Sqlite {
            // Its files are the run's own and go with it.
            return self.timed(database, clock, watched, progress);
        }
        let kind = database.kind();
        let names = match self.method {
            Method::Loop => &[NAME, PROCEDURE][..],
            Method::Statements(_) | Method::Bulk => &[NAME],
        };
        // A run that was killed may have left them.
        drop_own(&mut *database.connect()?, kind, names)?;
        let changed = self.set_durability(&mut *database.connect()?, kind)?;
        let outcome = self.timed(database, clock, watched, progress);
        let clean_up = || -> crate::error::Result<()> {
            let mut session = database.connect()?;
            changed.map_or(Ok(()), |changed| changed.set_back(&mut *session))?;
            drop_own(&mut *session, kind, names)
        };
        let cleaned = clean_up();
        // After a failure the server may be gone; then the failure is what counts.
        let outcome = outcome?;
        cleaned?;
        Ok(outcome)
    }

    fn timed(
        &self,
        database: &dyn Database,
        clock: &dyn SessionClock,
        watched: Vec<Watched>,
        progress: &mut dyn Progress,
    ) -> Result<Outcome, Failure> {
        let mut session = database.connect()?;
        self.set_durability(&mut *session, database.kind())?;
        if database.kind() == DatabaseKind::Sqlite {
            // A volume keeps what a run that was killed left.
            session.batch(&format!("DROP TABLE IF EXISTS {NAME}"))?;
        }
        session.batch(self.table.create(database.kind()))?;
        if self.method == Method::Loop {
            let procedure = self.table.procedure(database.kind()).ok_or_else(|| {
                let message = format!("{} has no procedures for a loop", database.kind().dialect().title);
                Failure::new(Reason::Settings, message)
            })?;
            session.batch(procedure)?;
        }
        let facts = database.facts(&mut *session)?;
        let plan =
            Plan { table: self.table, method: self.method, transaction: self.transaction, until: self.until };
        let before = database.counters(&mut *session)?;
        if progress.ready().is_break() {
            return Err(Failure::new(Reason::Cancelled, "stopped before anything was measured"));
        }
        let began = monotonic();
        let mut ledger = Ledger::start(clock.now(), self.interval, watched);
        let begin = ledger.begin();
        let rows = plan.run(&mut *session, database.kind(), clock, &mut ledger, progress)?;
        let measured = clock.now() - begin;
        let has_latencies = ledger.has_latencies();
        let (samples, transactions, mut totals) = ledger.finish(clock.now());
        if has_latencies {
            totals.push(NodeTotal {
                node: WORKLOAD.to_owned(),
                kind: "transaction".to_owned(),
                total: transactions.clone(),
            });
        }
        let after = database.counters(&mut *session)?;
        drop(session);
        let checksum = verify(&mut *database.connect()?, database.kind(), self.table, rows)?;
        let mut outcome = Outcome { samples, totals, measured, facts, ..Outcome::default() };
        outcome.began = clock.is_real().then_some(began);
        let during = after.iter().filter_map(|(name, after)| Some((name, after - before.get(name)?)));
        let during = during.filter(|(_, change)| *change != 0);
        outcome.facts.extend(during.map(|(name, change)| (format!("during {name}"), change.to_string())));
        outcome.facts.insert("may_lose".to_owned(), may_lose(database.kind(), &outcome.facts));
        outcome.facts.insert("rows_checksum".to_owned(), checksum.to_string());
        let known = |name: &str| has_latencies || !name.starts_with("latency_p");
        metrics(rows, measured, &transactions, &mut |name, value| {
            outcome.metrics.insert(name.to_owned(), value.filter(|_| known(name)));
        });
        Ok(outcome)
    }
}

fn metrics(rows: u64, measured: Nanos, transactions: &Snapshot, set: &mut impl FnMut(&str, Option<f64>)) {
    let seconds = measured as f64 / SECOND as f64;
    let commits = Transactions::of(transactions);
    let per_second = |count: u64| (measured > 0).then(|| count as f64 / seconds);
    set("rows", Some(rows as f64));
    set("elapsed_s", Some(seconds));
    set("rows_per_second", per_second(rows));
    set("commits_per_second", commits.and_then(|commits| per_second(commits.count)));
    latencies("latency", commits, set);
}

/// The clock of a run on a directory or a server.
pub(super) struct WallClock;

impl SessionClock for WallClock {
    fn now(&self) -> Nanos {
        monotonic()
    }

    fn computed_row(&self) {}

    fn is_real(&self) -> bool {
        true
    }
}
