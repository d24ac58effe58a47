//! Runs the sessions and reports the outcome.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use fathom_job::live::{Live, Rate, grouped};
use fathom_job::progress::{Beat, Ticker};
use fathom_job::sampler::{Finished, Sampler, View, default_interval};
use fathom_job::{Failure, Outcome, Progress, Reason, Storage, Transactions, metrics};
use fathom_runtime::{Context, Discipline, MILLISECOND, Nanos, SECOND, Signal, Station, Usage, first};
use fathom_volume::{Error, Handle, Kind, KindStatistics, SIZE_STEP};

use super::read::{Config, Until};
use super::row;
use crate::log::{Log, Settings};

/// How often the conductor polls in real time, ns.
const POLL: Nanos = 50 * MILLISECOND;

/// Rows that may pass in virtual time without the clock moving, before the run is given up.
const STILL: u64 = 1 << 20;

/// What the sessions share.
struct Shared {
    context: Context,
    log: Rc<Log>,
    // SQL Server's schedulers let a session run until it waits, as one of 20 us does: first come, first served.
    cores: Station,
    config: Config,
    records: Vec<u64>,
    // When the sessions began; when they are to end, if time decides it.
    begin: Nanos,
    // Rows begun and rows committed.
    begun: Cell<u64>,
    committed: Cell<u64>,
    transactions: Rc<Transactions>,
    sessions: Cell<u32>,
    stopped: Cell<bool>,
    failure: RefCell<Option<Failure>>,
    // Rows since the clock last advanced.
    still: Cell<(Nanos, u64)>,
    signal: Signal,
    beat: Beat,
}

/// The settings of the log on this volume.
///
/// # Errors
/// A sentence if the volume does not suit.
pub fn log_settings(config: &Config, volume: &Handle) -> Result<Settings, String> {
    let geometry = volume.geometry();
    let sector = config.log_block.unwrap_or(u64::from(geometry.physical_sector));
    if sector < u64::from(geometry.logical_sector) {
        return Err(format!(
            "{volume:?} takes multiples of {} bytes, and log blocks are multiples of {sector}",
            geometry.logical_sector
        ));
    }
    let settings = Settings {
        writes_in_flight: config.writes_in_flight as usize,
        ..Settings::sql_server(sector, geometry.size)
    };
    settings.check()?;
    if u64::from(geometry.max_transfer) < settings.block_max {
        return Err(format!(
            "{volume:?} takes at most {} bytes at once, and log blocks have 60 KiB",
            geometry.max_transfer
        ));
    }
    Ok(settings)
}

/// Runs the workload to its end.
///
/// # Errors
/// If the volume does not suit, a write fails, or the person stops it.
pub fn run(config: &Config, storage: &Storage<'_>, progress: &mut dyn Progress) -> Result<Outcome, Failure> {
    let volume = storage.volume(&config.volume)?;
    let settings = log_settings(config, &volume)
        .map_err(|why| Failure::new(Reason::Settings, format!("workload: log_block: {why}")))?;
    storage.site.runtime().block_on(async {
        // Within the executor, where the real clock is current.
        let shared = Shared::new(config, storage, &volume, settings);
        conduct(&shared, storage, &volume, progress).await
    })?
}

async fn conduct(
    shared: &Rc<Shared>,
    storage: &Storage<'_>,
    volume: &Handle,
    progress: &mut dyn Progress,
) -> Result<Outcome, Failure> {
    let (context, begin) = (&shared.context, shared.begin);
    let view = View::Transactions(Rc::clone(&shared.transactions));
    let mut sampler = Sampler::start(storage.nodes.clone(), view, "insert-model", begin, begin);
    let mut ticker = Ticker::new(progress);
    let span = if let Until::Time(span) = shared.config.until { Some(span) } else { None };
    let interval = shared.config.interval.unwrap_or_else(|| default_interval(span));
    let mut cut_at = begin + interval;
    for _ in 0..shared.config.sessions {
        let shared = Rc::clone(shared);
        context.spawn(async move { shared.session().await });
    }
    // Sessions that are stopped still end their transaction.
    let (mut cancelled, mut live) = (None, Live::new(Rate::PerMinute));
    while shared.sessions.get() > 0 {
        let until = if context.is_virtual() { cut_at } else { cut_at.min(context.now() + POLL) };
        first(context.sleep_until(until), shared.signal.wait()).await;
        let now = context.now();
        if now >= cut_at {
            sampler.cut(now).into_iter().for_each(|seen| live.saw(seen));
            cut_at = now + interval;
        }
        let told = ticker.tick(shared.done(now), || {
            let (rows, words) = (grouped(shared.committed.get() as f64), live.words());
            if words.is_empty() { format!("{rows} rows") } else { format!("{rows} rows, {words}") }
        });
        if let Err(stop) = told {
            shared.stopped.set(true);
            cancelled = Some(stop);
        }
    }
    if let Some(cancelled) = cancelled {
        return Err(cancelled);
    }
    if let Some(failure) = shared.failure.borrow().clone() {
        return Err(failure);
    }
    Ok(outcome(shared, sampler, volume, context.now()))
}

impl Shared {
    fn new(config: &Config, storage: &Storage<'_>, volume: &Handle, settings: Settings) -> Rc<Self> {
        let context = storage.context();
        let signal = Signal::default();
        Rc::new(Self {
            log: Log::new(&context, storage.site.pool(), volume, settings),
            cores: Station::new(&context, config.cores.unwrap_or(config.sessions), Discipline::Fifo),
            config: config.clone(),
            records: row::records(config.payload),
            begin: context.now(),
            begun: Cell::new(0),
            committed: Cell::new(0),
            transactions: Rc::default(),
            sessions: Cell::new(config.sessions),
            stopped: Cell::new(false),
            failure: RefCell::default(),
            still: Cell::default(),
            beat: Beat::new(signal.clone()),
            signal,
            context,
        })
    }

    fn done(&self, now: Nanos) -> f64 {
        match self.config.until {
            Until::Rows(rows) => self.begun.get() as f64 / rows as f64,
            Until::Time(span) => (now - self.begin) as f64 / span as f64,
        }
    }

    async fn session(self: Rc<Self>) {
        if let Err(error) = self.insert().await {
            self.fail(error.into());
        }
        self.sessions.set(self.sessions.get() - 1);
        self.signal.notify();
    }

    fn fail(&self, failure: Failure) {
        self.failure.borrow_mut().get_or_insert(failure);
        self.stopped.set(true);
    }

    fn watch_clock(&self) {
        let now = self.context.now();
        let (since, rows) = self.still.get();
        let rows = if now == since { rows + 1 } else { 0 };
        self.still.set((now, rows));
        if rows > STILL && self.context.is_virtual() && matches!(self.config.until, Until::Time(_)) {
            let message = "virtual time does not advance: the log volume answers at once and a row costs no CPU time; give \
                           `cpu_per_row`, limit the run by `rows`, or use a `model` volume";
            self.fail(Failure::new(Reason::Settings, message));
        }
    }

    /// Claims the next row, if there is one.
    fn next_row(&self) -> bool {
        let begun = self.begun.get();
        let more = match self.config.until {
            Until::Rows(rows) => begun < rows,
            Until::Time(span) => self.context.now() - self.begin < span,
        };
        if more && !self.stopped.get() {
            self.begun.set(begun + 1);
            return true;
        }
        false
    }

    async fn insert(&self) -> Result<(), Error> {
        let mut rows = 0;
        let mut started = self.begin;
        while self.next_row() {
            if rows == 0 {
                started = self.context.now();
                self.log.append(row::BEGIN).await?;
            }
            self.cores.serve(self.config.cpu_per_row).await;
            for record in &self.records {
                self.log.append(*record).await?;
            }
            rows += 1;
            self.beat.did(1);
            self.watch_clock();
            if self.config.transaction.rows().is_some_and(|most| rows >= most) {
                self.commit(started, rows).await?;
                rows = 0;
            }
        }
        if rows > 0 {
            self.commit(started, rows).await?;
        }
        Ok(())
    }

    async fn commit(&self, started: Nanos, rows: u64) -> Result<(), Error> {
        self.log.append(row::COMMIT).await?;
        let begun = self.context.now();
        self.log.commit().await?;
        let now = self.context.now();
        self.committed.set(self.committed.get() + rows);
        // The wait for the log is the session's waiting time (WRITELOG); what is left is its own CPU time.
        self.transactions.completed(rows * self.config.payload, now - started, now - begun);
        Ok(())
    }
}

fn outcome(shared: &Shared, sampler: Sampler, volume: &Handle, now: Nanos) -> Outcome {
    let Finished { samples, totals, seen } = sampler.finish(now);
    let measured = now - shared.begin;
    let seconds = measured as f64 / SECOND as f64;
    let per_second = |count: u64| (measured > 0).then(|| count as f64 / seconds);
    let transactions = Transactions::of(&seen);
    let commits = transactions.map_or(0, |kind| kind.count);
    let writes = totals
        .iter()
        .find(|total| total.node == volume.name())
        .and_then(|total| total.total.kind(Kind::Write));
    let ended = writes.filter(|writes| writes.count > 0);
    let mut metrics = metrics::Metrics::new();
    let mut set = |name: &str, value: Option<f64>| {
        metrics.insert(name.to_owned(), value);
    };
    set("rows", Some(shared.committed.get() as f64));
    set("rows_per_second", per_second(shared.committed.get()));
    set("elapsed_s", Some(seconds));
    set("commits_per_second", per_second(commits));
    metrics::latencies("latency", transactions, &mut set);
    set(
        "waiting_ms",
        transactions.and_then(KindStatistics::waiting_mean).map(|mean| mean / MILLISECOND as f64),
    );
    metrics::latencies("write_latency", ended, &mut set);
    set("write_iops", ended.and_then(|writes| per_second(writes.count)));
    set("write_mb_per_s", ended.and_then(|writes| per_second(writes.bytes)).map(|rate| rate / 1e6));
    set("average_write_kib", ended.map(|writes| writes.bytes as f64 / writes.count as f64 / 1024.0));
    set("commits_per_write", ended.map(|writes| commits as f64 / writes.count as f64));
    let written = ended.map(|writes| ("log_write_sizes".to_owned(), sizes(writes)));
    let cores =
        shared.config.cores.map(|cores| ("cores".to_owned(), use_of(cores, &shared.cores.usage(), measured)));
    let facts = written.into_iter().chain(cores).collect();
    let digest = shared.context.is_virtual().then(|| shared.context.digest().finish());
    let waits = BTreeMap::from([("model".to_owned(), waits(shared, transactions, measured))]);
    Outcome { metrics, samples, totals, facts, waits, measured, digest, ..Outcome::default() }
}

/// What the sessions waited for, in SQL Server's words, as mean numbers of sessions; the most first.
fn waits(shared: &Shared, transactions: Option<&KindStatistics>, span: Nanos) -> Vec<(String, f64)> {
    let span_ns = span.max(1) as f64;
    let computed = shared.committed.get() as f64 * shared.config.cpu_per_row as f64;
    let mut waits = vec![
        ("WRITELOG".to_owned(), transactions.map_or(0.0, |all| all.waiting_sum as f64 / span_ns)),
        ("CPU".to_owned(), computed / span_ns),
        ("SOS_SCHEDULER_YIELD".to_owned(), shared.cores.usage().mean_queue(span)),
    ];
    waits.retain(|(_, sessions)| *sessions > 0.0);
    waits.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    waits
}

/// How busy the cores were: "83 % busy, 1.2 sessions in the queue on average".
fn use_of(cores: u32, usage: &Usage, span: Nanos) -> String {
    let busy = 100.0 * usage.utilisation(cores, span);
    format!("{busy:.0} % busy, {:.1} sessions in the queue on average", usage.mean_queue(span))
}

/// The sizes of writes with their numbers, the most frequent first: "4608 B: 1000, 4096 B: 12".
fn sizes(writes: &KindStatistics) -> String {
    let mut counted: Vec<(u64, u64)> =
        (0..).map(|step| step * SIZE_STEP).zip(writes.sizes.iter().copied()).collect();
    counted.retain(|(_, count)| *count > 0);
    counted.sort_by_key(|(bytes, count)| (std::cmp::Reverse(*count), *bytes));
    let shown: Vec<String> =
        counted.iter().take(8).map(|(bytes, count)| format!("{bytes} B: {count}")).collect();
    shown.join(", ")
}
