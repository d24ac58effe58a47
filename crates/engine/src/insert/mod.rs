//! `insert-model`: sessions that insert rows, on the model of a database's log. Its manual is `manual.md`.

mod read;
mod row;
mod run;

use std::collections::BTreeMap;

use fathom_job::{
    Demand, Failure, Job, Metric, Outcome, Progress, Request, RunEnvironment, Storage, WorkloadKind, metrics,
};
use fathom_runtime::{Clock, Nanos};
use fathom_settings::Problem;

pub use read::{Config, Transaction, Until};
pub use run::run;

/// The registry's record.
pub const KIND: WorkloadKind = WorkloadKind {
    name: "insert-model",
    summary: "sessions insert rows, on the model of a database's log",
    manual: include_str!("manual.md"),
    keys: read::KEYS,
    metrics,
    users: &["sessions"],
    primary: None,
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Job>),
};

fn metrics() -> Vec<Metric> {
    let mut all = metrics::named(&[
        "average_write_kib",
        "commits_per_second",
        "elapsed_s",
        "latency_ms",
        "latency_p50_ms",
        "latency_p95_ms",
        "latency_p999_ms",
        "latency_p99_ms",
        "rows",
        "rows_per_second",
        "waiting_ms",
        "write_iops",
        "write_latency_ms",
        "write_latency_p50_ms",
        "write_latency_p95_ms",
        "write_latency_p999_ms",
        "write_latency_p99_ms",
        "write_mb_per_s",
    ]);
    all.push(Metric::neutral("commits_per_write", "commits per log write", ""));
    all
}

impl Job for Config {
    fn volumes(&self) -> Vec<String> {
        vec![self.volume.clone()]
    }

    fn needs_payload(&self) -> bool {
        false
    }

    fn demand(&self) -> Option<Demand> {
        Some(Demand::Closed { users: self.sessions.into(), pauses: false })
    }

    /// Writes to the log are left to speak for themselves: how many bytes one has is the log writer's doing.
    fn requests(&self) -> BTreeMap<String, Request> {
        [(String::new(), Request::of_rows(self.transaction.rows(), Some(self.payload)))].into()
    }

    fn lasts(&self) -> Option<Nanos> {
        match self.until {
            Until::Time(span) => Some(span),
            Until::Rows(_) => None,
        }
    }

    fn misfits(&self, _: Clock, storage: &Storage<'_>) -> Vec<(String, Problem)> {
        let Ok(volume) = storage.volume(&self.volume) else { return Vec::new() };
        let wrong = |why| {
            (
                "log_block".to_owned(),
                Problem::new(why, "put an `adapter` or `sector` layer between, or choose another volume"),
            )
        };
        run::log_settings(self, &volume).err().map(wrong).into_iter().collect()
    }

    fn run(&self, environment: &RunEnvironment<'_>, progress: &mut dyn Progress) -> Result<Outcome, Failure> {
        run(self, environment.storage.expect("it names a volume"), progress)
    }
}

#[cfg(test)]
mod tests;
