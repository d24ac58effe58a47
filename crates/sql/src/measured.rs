//! Metrics of a run from the transactions of its virtual users and the server's counters.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use fathom_job::metrics::{all_latencies, milliseconds, named, of_latency};
use fathom_job::{Adding, Failure, Metric, Outcome, Progress, Sample};
use fathom_runtime::{Nanos, SECOND};
use fathom_volume::KindStatistics;

use crate::checksum::Checksum;
use crate::conditions::Conditions;
use crate::counter::{Counter, SERIES};
use crate::database::{Database, may_lose};
use crate::drive::{Drive, Driven, UserFactory};
use crate::load::Provided;
use crate::memory;
use crate::watch::{ROLES, ServerSample, Watch, sizes};

/// The metrics of a workload that is judged by `primary`: those that all workloads of virtual users have, and the latencies of
/// each of its kinds of transaction.
pub(crate) fn metrics(primary: Metric, kinds: &[&str]) -> Vec<Metric> {
    let per_transaction = Adding::PerEach("transactions_per_second");
    let mut all = vec![
        primary.adding(Adding::Sum),
        Metric::higher("tpm", "transactions by the server's counter", "1/min").adding(Adding::Sum),
        Metric::neutral("virtual_users", "virtual users", "").adding(Adding::Sum),
        Metric::higher("transactions_per_second", "transactions", "1/s").adding(Adding::Sum),
    ];
    all.extend(of_latency(""));
    all.extend(named(&["waiting_ms", "standstill_ms", "arrivals_per_second", "backlog_max", "backlog_end"]));
    all.extend(kinds.iter().flat_map(|kind| of_latency(kind)));
    all.extend([
        Metric::lower("conflicts", "transactions done again", "").adding(Adding::Sum),
        Metric::neutral("rolled_back", "transactions rolled back as meant", "").adding(Adding::Sum),
        Metric::lower("client_cpu_ms_per_transaction", "client's processor time per transaction", "ms")
            .adding(Adding::OfProcess),
        Metric::neutral("log_kib_per_transaction", "log per transaction", "KiB").adding(per_transaction),
        Metric::neutral("full_page_images_per_transaction", "full-page images per transaction", "")
            .adding(per_transaction),
    ]);
    all.extend(named(&["server_cpus", "server_cpu_percent"]));
    for role in ROLES {
        let files = if role == "temp" { "temporary" } else { role };
        for way in ["read", "write"] {
            let rate = format!("{way} rate of {files} files");
            all.push(Metric::neutral(format!("{role}_file_{way}_iops"), rate, "IOPS"));
            let latency = format!("{way} latency of {files} files");
            all.push(Metric::lower(format!("{role}_file_{way}_latency_ms"), latency, "ms"));
        }
    }
    all
}

/// The figure a workload's steps are judged by; more is better.
#[derive(Clone, Copy)]
pub(crate) struct Figure {
    /// Its metric.
    pub(crate) name: &'static str,
    /// Of a step.
    pub(crate) of: fn(&Step) -> f64,
}

/// The client's share of a machine above which its own cost may limit what is measured.
const LARGEST_CLIENT_SHARE: f64 = 0.2;

/// What was watched, without the watch's own needs.
#[derive(Debug)]
pub(crate) struct Watched {
    begin: ServerSample,
    end: ServerSample,
    samples: Vec<Sample>,
    series: Vec<(f64, &'static str, i64)>,
    facts: Vec<(String, String)>,
}

impl From<Watch<'_>> for Watched {
    fn from(watch: Watch<'_>) -> Self {
        let facts = watch.facts();
        Self { begin: watch.begin, end: watch.end, samples: watch.samples, series: watch.series, facts }
    }
}

/// One step of a sequence; a run without one has a single step.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) users: u32,
    pub(crate) driven: Driven,
    pub(crate) watch: Watched,
    /// Processor time of this process over ramp and measured phase, ns.
    pub(crate) client_cpu: Nanos,
    /// The names of the kinds of transaction.
    pub(crate) kinds: &'static [&'static str],
}

impl Step {
    /// Orders per minute as the server counts them: the growth of their number between the two ends of the measured
    /// phase.
    pub(crate) fn orders_per_minute(&self) -> f64 {
        per_minute(self.watch.end.orders - self.watch.begin.orders, self.between())
    }

    /// Transactions per minute by the server's own counter, as HammerDB reads it; not comparable between databases.
    fn tpm(&self) -> Option<f64> {
        let counted = self.watch.end.transactions? - self.watch.begin.transactions?;
        Some(per_minute(counted, self.between()))
    }

    fn between(&self) -> Nanos {
        self.watch.end.at - self.watch.begin.at
    }

    fn transactions(&self) -> f64 {
        self.driven.all.count() as f64
    }
}

/// Lets the users of one step work for the ramp and the measured phase.
///
/// # Errors
/// The database's.
pub(crate) fn step(
    drive: &Drive<'_>,
    recruit: &UserFactory<'_>,
    mut watch: Watch<'_>,
    progress: &mut dyn Progress,
) -> Result<Step, Failure> {
    let before = client_cpu();
    let driven = drive.run(recruit, &mut watch, progress)?;
    let client_cpu = client_cpu() - before;
    Ok(Step { users: drive.users, driven, watch: watch.into(), client_cpu, kinds: drive.kinds })
}

/// How many steps [`sequence`] makes: the first number of several runs twice.
pub(crate) fn steps(users: &[u32]) -> u64 {
    users.len() as u64 + u64::from(users.len() > 1)
}

/// What a sequence of steps is made of and checked by.
pub(crate) struct Sequence<'a> {
    /// Virtual users, step by step.
    pub(crate) users: &'a [u32],
    pub(crate) seed: u64,
    pub(crate) figure: Figure,
    pub(crate) database: &'a (dyn Database + Sync),
    /// Must hold at the end. They are not checked between two steps: that reads everything, so that the next step would find
    /// other pages in the caches than the one before left there.
    pub(crate) conditions: &'a Conditions,
}

/// Runs one step with so many users, on inputs drawn by a seed.
pub(crate) type StepRunner<'a> = dyn FnMut(u32, u64, &mut dyn Progress) -> Result<Step, Failure> + 'a;

/// Passes the progress of one step on as that of the whole sequence.
struct StepProgress<'a> {
    run: &'a mut dyn Progress,
    /// Steps that have ended.
    ended: u64,
    steps: u64,
}

impl Progress for StepProgress<'_> {
    fn tick(&mut self, done: f64, note: &str) -> ControlFlow<()> {
        if self.steps == 1 {
            return self.run.tick(done, note);
        }
        let share = (self.ended as f64 + done) / self.steps as f64;
        self.run.tick(share, &format!("step {} of {}: {note}", self.ended + 1, self.steps))
    }

    fn ready(&mut self) -> ControlFlow<()> {
        self.run.ready()
    }
}

/// Runs a step for each number of users, and fills the outcome: from the only step, or with every step's own metrics. With more
/// than one number the first runs twice, and its first run, which finds cold caches that the others do not, is discarded.
///
/// # Errors
/// The first failure of a step; a condition that does not hold at the end.
pub(crate) fn sequence(
    outcome: &mut Outcome,
    &Sequence { users, seed, figure, database, conditions }: &Sequence<'_>,
    step: &mut StepRunner<'_>,
    progress: &mut dyn Progress,
) -> Result<(), Failure> {
    let mut progress = StepProgress { run: progress, ended: 0, steps: steps(users) };
    let discarded = if users.len() > 1 { Some(step(users[0], seed, &mut progress)?) } else { None };
    let mut steps = Vec::with_capacity(users.len());
    for (number, users) in (1..).zip(users) {
        progress.ended = number - u64::from(discarded.is_none());
        // Every step draws new inputs: the same ones twice would find their rows in memory.
        steps.push(step(*users, seed.wrapping_add(number), &mut progress)?);
    }
    conditions.ensure(&mut *database.connect()?, false)?;
    fill(outcome, discarded.as_ref(), steps, figure);
    Ok(())
}

/// What every workload of virtual users says of its database: the load and its size, with a warning where the data was used
/// before or fits into memory.
///
/// # Errors
/// The database's.
pub(crate) fn facts_of_load(
    database: &dyn Database,
    Provided { fresh, report }: &Provided,
) -> Result<BTreeMap<String, String>, Failure> {
    let mut facts = facts_of_data(database, *fresh)?;
    let parts = format!("{} parts found, {} done, {} again", report.found, report.done, report.retries);
    facts.insert("load".to_owned(), parts);
    let total = Checksum::of(report.total.checksum, report.total.rows);
    facts.insert("loaded".to_owned(), total.to_string());
    Ok(facts)
}

/// The same where the data was loaded by another; `fresh` is whether nothing has run on it yet.
pub(crate) fn facts_of_data(
    database: &dyn Database,
    fresh: bool,
) -> Result<BTreeMap<String, String>, Failure> {
    let mut session = database.connect()?;
    let mut facts = database.facts(&mut *session)?;
    facts.insert("may_lose".to_owned(), may_lose(database.kind(), &facts));
    if !fresh {
        let used = "the data had been loaded before and may have been run on; restore a copy to begin alike";
        facts.insert("warning.data".to_owned(), used.to_owned());
    }
    if let Some((size, buffer)) = sizes(&mut *session, database.kind())? {
        facts.insert("database_bytes".to_owned(), size.to_string());
        facts.insert("buffer_bytes".to_owned(), buffer.to_string());
        if let Some(warning) = memory::warning(database.kind(), &facts, size, buffer) {
            facts.insert("warning.size".to_owned(), warning);
        }
    }
    Ok(facts)
}

/// Metrics of the only step, or of each; samples of all that count; facts and totals of the last.
fn fill(outcome: &mut Outcome, discarded: Option<&Step>, steps: Vec<Step>, figure: Figure) {
    let Some(last) = steps.last() else { return };
    if let Some(discarded) = discarded {
        let first = std::iter::once((discarded, true));
        let all = first.chain(steps.iter().map(|step| (step, false)));
        outcome.steps = all.map(|(step, discarded)| step.as_step(discarded, figure)).collect();
    } else {
        outcome.metrics = last.metrics(figure);
    }
    facts(outcome, last);
    outcome.began = steps.first().map(|step| step.driven.began);
    outcome.measured = steps.iter().map(|step| step.driven.measured).sum();
    outcome.totals = last.driven.totals.clone();
    let mut by = 0;
    for step in steps {
        let measured = step.driven.measured;
        outcome.samples.extend(appended(step.driven.samples, by));
        outcome.samples.extend(appended(step.watch.samples, by));
        by += measured;
    }
}

impl Step {
    fn as_step(&self, discarded: bool, figure: Figure) -> fathom_job::Step {
        fathom_job::Step {
            users: self.users,
            discarded,
            began: self.driven.began,
            measured: self.driven.measured,
            metrics: self.metrics(figure),
        }
    }

    fn metrics(&self, figure: Figure) -> BTreeMap<String, Option<f64>> {
        let mut metrics = BTreeMap::new();
        let seconds = self.driven.measured as f64 / SECOND as f64;
        let transactions = self.transactions();
        let counters = (&self.watch.end.counters, &self.watch.begin.counters);
        let grown = |counter| counters.0.since(counters.1, counter).map(|grown| grown as f64);
        let each = |amount: f64| (transactions > 0.0).then(|| amount / transactions);
        let mut set = |name: &str, value: Option<f64>| {
            metrics.insert(name.to_owned(), value);
        };
        set(figure.name, Some((figure.of)(self)));
        set("tpm", self.tpm());
        set("virtual_users", Some(f64::from(self.users)));
        set("transactions_per_second", (seconds > 0.0).then(|| transactions / seconds));
        all_latencies("latency", self.driven.all.statistics.as_ref(), &mut set);
        for (kind, seen) in self.kinds.iter().zip(&self.driven.kinds) {
            all_latencies(&format!("{}_latency", kind.replace('-', "_")), seen.statistics.as_ref(), &mut set);
        }
        let waiting = self.driven.all.statistics.as_ref().and_then(KindStatistics::waiting_mean);
        set("waiting_ms", waiting.map(milliseconds));
        set("standstill_ms", Some(milliseconds(self.driven.standstill as f64)));
        if let Some(arrived) = self.driven.arrived {
            set("arrivals_per_second", (seconds > 0.0).then(|| arrived.count as f64 / seconds));
            set("backlog_max", Some(arrived.longest as f64));
            set("backlog_end", Some(arrived.waiting as f64));
        }
        set("conflicts", Some(self.driven.counts.conflicts as f64));
        set("rolled_back", Some(self.driven.counts.rolled_back as f64));
        set("client_cpu_ms_per_transaction", self.cpu_per_transaction());
        set("log_kib_per_transaction", grown(Counter::LogBytes).and_then(each).map(|bytes| bytes / 1024.0));
        set("full_page_images_per_transaction", grown(Counter::FullPageImages).and_then(each));
        self.of_processors(&mut set);
        self.of_files(&mut set);
        metrics
    }

    /// How busy the server's processors were; nothing where it does not report it.
    fn of_processors(&self, set: &mut impl FnMut(&str, Option<f64>)) {
        let (Some(begin), Some(end)) = (self.watch.begin.processors, self.watch.end.processors) else {
            return;
        };
        let busy = end.busy_since(begin, self.between());
        set("server_cpus", busy);
        set("server_cpu_percent", busy.map(|busy| 100.0 * busy / f64::from(end.usable)));
    }

    /// What the server did with its files, by their role; nothing where it does not report it.
    fn of_files(&self, set: &mut impl FnMut(&str, Option<f64>)) {
        let (Some(begin), Some(end)) = (&self.watch.begin.files, &self.watch.end.files) else { return };
        let seconds = self.between() as f64 / SECOND as f64;
        let roles = end.by_role(begin);
        for role in ROLES {
            let Some((read, written)) = roles.get(role) else { continue };
            for (word, moved) in [("read", read), ("write", written)] {
                let rate = (seconds > 0.0).then(|| moved.count as f64 / seconds);
                set(&format!("{role}_file_{word}_iops"), rate);
                set(&format!("{role}_file_{word}_latency_ms"), moved.latency().map(milliseconds));
            }
        }
    }

    fn cpu_per_transaction(&self) -> Option<f64> {
        // Samples hold the transactions of the ramp too, as the processor time does.
        let node = fathom_job::sampler::WORKLOAD;
        let done: u64 = self.driven.samples.iter().filter(|s| s.node == node).map(|s| s.count).sum();
        (done > 0).then(|| milliseconds(self.client_cpu as f64) / done as f64)
    }
}

fn facts(outcome: &mut Outcome, step: &Step) {
    outcome.facts.extend(step.watch.facts.iter().cloned());
    for (when, moment) in [("begin", &step.watch.begin), ("end", &step.watch.end)] {
        let each =
            moment.counters.iter().map(|(name, value)| (format!("state.{when}.{name}"), value.to_string()));
        outcome.facts.extend(each);
    }
    for name in SERIES.map(Counter::name) {
        let of = step.watch.series.iter().filter(|(_, known, _)| *known == name);
        let series: Vec<String> = of.map(|(at, _, value)| format!("{at:.0}s {value}")).collect();
        if !series.is_empty() {
            outcome.facts.insert(format!("state.every_interval.{name}"), series.join(", "));
        }
    }
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let lasted: Nanos = step.driven.samples.iter().filter(|s| s.node == step.kinds[0]).map(|s| s.span).sum();
    let share = step.client_cpu as f64 / (lasted.max(1) as f64 * processors as f64);
    outcome.facts.insert("client_share_of_processors".to_owned(), format!("{:.1} %", share * 100.0));
    if share > LARGEST_CLIENT_SHARE {
        let warning = format!(
            "the client took {:.0} % of this machine's processors; a server on the same machine lacked them",
            share * 100.0
        );
        outcome.facts.insert("warning.client".to_owned(), warning);
    }
}

pub(crate) fn per_minute(count: i64, span: Nanos) -> f64 {
    count as f64 * 60.0 * SECOND as f64 / span.max(1) as f64
}

/// Processor time this process has taken so far, user and system, ns.
fn client_cpu() -> Nanos {
    // SAFETY: a zeroed rusage is a valid one, and the call only writes into it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let nanos = |time: libc::timeval| time.tv_sec as Nanos * SECOND + time.tv_usec as Nanos * 1000;
    nanos(usage.ru_utime) + nanos(usage.ru_stime)
}

/// Moves samples by so many ns, and leaves out the ramps of all but the first step.
fn appended(samples: Vec<Sample>, by: Nanos) -> impl Iterator<Item = Sample> {
    samples
        .into_iter()
        .filter(move |sample| by == 0 || sample.start >= 0)
        .map(move |sample| Sample { start: sample.start + by as i64, ..sample })
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use fathom_job::Progress;

    use super::StepProgress;

    #[derive(Default)]
    struct Listener(Vec<(f64, String)>);

    impl Progress for Listener {
        fn tick(&mut self, done: f64, note: &str) -> ControlFlow<()> {
            self.0.push((done, note.to_owned()));
            ControlFlow::Continue(())
        }
    }

    #[test]
    fn a_sequence_tells_how_far_it_is_as_a_whole() {
        let mut listener = Listener::default();
        let mut progress = StepProgress { run: &mut listener, ended: 0, steps: 4 };
        let _ = progress.tick(0.5, "ramp");
        progress.ended = 3;
        let _ = progress.tick(1.0, "6 users");
        assert_eq!(
            listener.0,
            [(0.125, "step 1 of 4: ramp".to_owned()), (1.0, "step 4 of 4: 6 users".to_owned())]
        );
    }

    #[test]
    fn a_run_without_a_sequence_has_no_steps() {
        let mut listener = Listener::default();
        let _ = StepProgress { run: &mut listener, ended: 0, steps: 1 }.tick(0.5, "ramp");
        assert_eq!(listener.0, [(0.5, "ramp".to_owned())]);
    }
}
