//! Runs a workload: fills, ramps, measures phase by phase, samples, reports progress, stops, checks.

use std::pin::pin;
use std::rc::Rc;

use fathom_runtime::{Context, MILLISECOND, Nanos, SECOND, Signal, first};
use fathom_volume::{Handle, Statistics};

use super::closed;
use super::fill::Filling;
use super::open::{Account, Backlog, OpenLoop};
use super::profile::{Config, Limit, Pace, Phase, Profile};
use super::source::sources;
use super::stage::Stage;
use super::target::{self, Misfit, Target};
use super::timeline::{STUCK, TimeLine, stuck};
use super::user::User;
use super::verify::Verifier;
use fathom_job::draw::ArrivalProcess;
use fathom_job::metrics::{self, Metrics};
use fathom_job::outcome::{Failure, NodeTotal, Outcome, Progress, Reason, Sample};
use fathom_job::progress::Ticker;
use fathom_job::sampler::{Finished, Sampler, View, default_interval};
use fathom_job::storage::Storage;
use fathom_job::tally;

/// How often the conductor polls in real time, ns.
const POLL: Nanos = 50 * MILLISECOND;

/// How long it waits for requests to end that are outstanding when the run is over, ns: a dead device must not hold it.
const PATIENCE: Nanos = 10 * SECOND;

/// Runs the workload to its end.
///
/// # Errors
/// Any [`Reason`]: the settings do not suit the volumes, a request failed, data was wrong, the person stopped it.
pub fn run(config: &Config, storage: &Storage<'_>, progress: &mut dyn Progress) -> Result<Outcome, Failure> {
    let conductor = Conductor::new(config, storage, progress)?;
    storage.site.runtime().block_on(conductor.conduct())?
}

struct Conductor<'a> {
    config: &'a Config,
    storage: &'a Storage<'a>,
    context: Context,
    volumes: Vec<Handle>,
    phases: Vec<Phase>,
    // Latencies from the arrivals on; only open loops time their requests themselves.
    own: Option<Rc<Statistics>>,
    verifier: Option<Rc<Verifier>>,
    block: u64,
    signal: Signal,
    ticker: Ticker<'a>,
    stages: Vec<Rc<Stage>>,
    open_loop: Option<Rc<OpenLoop>>,
    account: Account,
}

impl<'a> Conductor<'a> {
    fn new(
        config: &'a Config,
        storage: &'a Storage<'a>,
        progress: &'a mut dyn Progress,
    ) -> Result<Self, Failure> {
        let context = storage.context();
        let volumes: Vec<Handle> =
            config.volumes.iter().map(|name| storage.volume(name)).collect::<Result<_, _>>()?;
        config.profiles().try_for_each(target::check)?;
        assert!(!volumes.is_empty(), "a workload names a volume");
        assert!(!(config.verify && storage.site.pool().is_hollow()), "what is verified needs payload");
        let open = config.is_open();
        let block = config.profiles().flat_map(multiples).fold(0, gcd);
        let verifier = config.verify.then(|| Verifier::new(&volumes, block, context.random("verify").word()));
        let alone = Phase { name: String::new(), duration: 0, profile: config.profile.clone() };
        Ok(Self {
            config,
            storage,
            volumes,
            phases: if config.phases.is_empty() { vec![alone] } else { config.phases.clone() },
            own: open.then(Rc::default),
            verifier,
            block,
            signal: Signal::default(),
            ticker: Ticker::new(progress),
            stages: Vec::new(),
            open_loop: None,
            account: Account::default(),
            context,
        })
    }

    async fn conduct(mut self) -> Result<Outcome, Failure> {
        let result = self.fill_and_measure().await;
        self.stages.iter().for_each(|stage| stage.stop());
        self.drain().await;
        let (outcome, failure) = (result?, self.stages.iter().find_map(|stage| stage.failure()));
        if let Some(failure) = failure {
            return Err(failure);
        }
        if self.verifier.is_some() && self.users() > 0 {
            let message =
                format!("{} requests have not ended {} s after the run", self.users(), PATIENCE / SECOND);
            return Err(Failure::new(Reason::InputOutput, message));
        }
        self.sweep().await?;
        Ok(outcome)
    }

    async fn fill_and_measure(&mut self) -> Result<Outcome, Failure> {
        // Checks every phase against the volumes before anything is written.
        for profile in self.config.profiles() {
            self.volumes.iter().try_for_each(|volume| Target::new(volume, profile).map(drop))?;
        }
        if self.config.fill {
            self.fill().await?;
        }
        self.measure().await
    }

    async fn fill(&mut self) -> Result<(), Failure> {
        let targets = self.volumes.iter().map(|volume| Target::new(volume, &self.phases[0].profile));
        let targets: Vec<Target> = targets.collect::<Result<_, Misfit>>()?;
        let filling = Filling::start(
            &self.context,
            &targets,
            self.storage.site.pool(),
            self.verifier.as_ref(),
            self.block,
        );
        let (mut share, mut moved_at) = (0.0, self.context.now());
        while !filling.is_done() {
            // The clock wakes the conductor in both drivers; filling takes long enough to look often.
            self.context.sleep(POLL).await;
            self.ticker.tick(0.0, || format!("filling, {:.0} %", filling.share() * 100.0))?;
            if filling.share() > share {
                (share, moved_at) = (filling.share(), self.context.now());
            } else if self.context.now() - moved_at > STUCK {
                return Err(stuck());
            }
        }
        filling.finish().await
    }

    /// Starts the users of a phase.
    fn launch(&mut self, index: usize, limit: Option<Limit>) -> Result<Rc<Stage>, Failure> {
        let profile = self.phases[index].profile.clone();
        let stage = Stage::new(&self.context, &self.signal);
        if let Some(limit) = limit {
            stage.limit(limit);
        }
        let name = format!("io/{index}");
        let mut random = self.context.random(&name);
        let mut users = Vec::new();
        for worker in sources(&profile, &self.volumes, self.context.seed(), &name)? {
            users.extend(User::of_worker(&profile, worker));
        }
        match profile.pace {
            Pace::Closed(think) => {
                closed::start(
                    &stage,
                    users,
                    think,
                    self.storage.site.pool(),
                    self.verifier.as_ref(),
                    &mut random,
                );
            }
            Pace::Open { rate, arrivals, backlog } => {
                let process =
                    ArrivalProcess::new(arrivals, rate, self.context.random(&format!("{name}/arrivals")));
                let own = self.own.as_ref().expect("an open loop times its requests itself");
                let verifier = self.verifier.as_ref();
                let pool = self.storage.site.pool();
                let waiting = self.open_loop.as_ref().map(|last| last.leave_waiting()).unwrap_or_default();
                let backlog = Backlog { waiting, most: backlog };
                let open_loop = OpenLoop::start(&stage, users, process, backlog, own, pool, verifier);
                if let Some(last) = self.open_loop.replace(open_loop) {
                    self.settle(&last);
                }
            }
        }
        self.stages.push(Rc::clone(&stage));
        Ok(stage)
    }

    fn settle(&mut self, open_loop: &OpenLoop) {
        let account = open_loop.account();
        self.account.arrived += account.arrived;
        self.account.refused += account.refused;
        self.account.longest = self.account.longest.max(account.longest);
        self.account.late += account.late;
    }

    async fn measure(&mut self) -> Result<Outcome, Failure> {
        let begin = self.context.now();
        let view = match &self.own {
            Some(own) => View::Own(Rc::clone(own)),
            None => View::Volumes(self.volumes.clone()),
        };
        let origin = begin.saturating_add(self.config.ramp);
        let sampler = Sampler::start(self.storage.nodes.clone(), view, "io", begin, origin);
        let interval = self.config.interval.unwrap_or_else(|| default_interval(self.config.measured()));
        let mut line = TimeLine::begin(self.config, sampler, interval.max(1), begin);
        let mut stage = self.launch(0, (!line.ramping).then_some(self.config.limit))?;
        loop {
            self.pause(line.due(), &stage).await;
            if let Some(failure) = stage.failure() {
                return Err(failure);
            }
            let now = self.context.now();
            let over = stage.users() == 0;
            if over || now >= line.due() {
                line.cut(now)?;
            }
            if line.ramping && now >= line.boundary {
                line.end_ramp(self.config, now);
                self.open_loop.iter().for_each(|open_loop| open_loop.restart());
                stage.limit(self.config.limit);
            } else if over || now >= line.boundary {
                if !line.end_phase(self.config, &self.phases, now) {
                    return Ok(self.outcome(line, now));
                }
                stage.stop();
                stage = self.launch(line.phase, None)?;
            }
            self.report_progress(&stage, now, &mut line)?;
        }
    }

    /// Waits until `at`, until something happens on the stage, or until progress is due.
    async fn pause(&self, at: Nanos, stage: &Stage) {
        let until = if self.context.is_virtual() { at } else { at.min(self.context.now() + POLL) };
        let sleep = self.context.sleep_until(until);
        if stage.users() > 0 && stage.failure().is_none() {
            first(sleep, self.signal.wait()).await;
        }
    }

    fn report_progress(&mut self, stage: &Stage, now: Nanos, line: &mut TimeLine) -> Result<(), Failure> {
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let done = match (self.config.measured(), self.config.limit) {
            (Some(measured), _) => share(
                (now + self.config.ramp).saturating_sub(line.origin),
                measured.saturating_add(self.config.ramp),
            ),
            // Until the limit is set, in the ramp, everything is left.
            (None, Limit::Requests(all) | Limit::Bytes(all)) => share(all.saturating_sub(stage.left()), all),
            (None, Limit::Time(_)) => 0.0,
        };
        self.ticker.tick(done, || match (line.ramping, line.live.words()) {
            (true, "") => "ramp".to_owned(),
            (true, words) => format!("ramp, {words}"),
            (false, words) => words.to_owned(),
        })
    }

    fn outcome(&mut self, line: TimeLine, now: Nanos) -> Outcome {
        let measured = now - line.origin;
        let Finished { samples, totals, seen } = line.sampler.finish(now);
        let mut metrics = metrics::of_io(&seen);
        metrics.insert("elapsed_s".to_owned(), Some(measured as f64 / SECOND as f64));
        if self.own.is_some() {
            self.open_loop(&mut metrics, measured);
            // Below the backlog, requests wait in the volumes too, and flushes are seen only there.
            let of_volume = |total: &&NodeTotal| self.config.volumes.contains(&total.node);
            let below = tally::side_by_side(totals.iter().filter(of_volume).map(|total| &total.total));
            let below = metrics::of_io(&below);
            if let (Some(Some(waiting)), Some(mean)) = (metrics.get_mut("waiting_ms"), below["waiting_ms"]) {
                *waiting += mean;
            }
            metrics.extend(below.into_iter().filter(|(name, _)| name.starts_with("flush")));
        }
        for phase in line.done.iter().filter(|phase| !phase.name.is_empty()) {
            for (name, value) in metrics::of_io(&phase.seen) {
                metrics.insert(format!("{}_{name}", phase.name), value);
            }
        }
        self.rebuilds(&mut metrics, &samples, measured);
        let digest = self.context.is_virtual().then(|| self.context.digest().finish());
        Outcome { metrics, samples, totals, measured, digest, ..Outcome::default() }
    }

    /// What rebuilds copied, in the whole run and phase by phase, if a volume of the stack can be rebuilt.
    fn rebuilds(&self, metrics: &mut Metrics, samples: &[Sample], measured: Nanos) {
        let names: Vec<&str> =
            self.storage.nodes.iter().filter(|node| node.kind() == "resync").map(Handle::name).collect();
        if names.is_empty() {
            return;
        }
        let mut set = |prefix: &str, from: Nanos, until: Nanos| {
            let within = |sample: &&Sample| {
                let start = u64::try_from(sample.start).ok();
                names.contains(&sample.node.as_str())
                    && start.is_some_and(|start| (from..until).contains(&start))
            };
            let sums = samples
                .iter()
                .filter(within)
                .fold([0; 2], |sums: [u64; 2], sample| [sums[0] + sample.count, sums[1] + sample.bytes]);
            let seconds = (until - from) as f64 / SECOND as f64;
            let rate = |amount: f64| (seconds > 0.0).then(|| amount / seconds);
            metrics.insert(format!("{prefix}resync_iops"), rate(sums[0] as f64));
            metrics.insert(format!("{prefix}resync_mb_per_s"), rate(sums[1] as f64 / 1e6));
        };
        set("", 0, measured);
        let mut from = 0;
        for phase in &self.config.phases {
            let until = from + phase.duration;
            set(&format!("{}_", phase.name), from, until);
            from = until;
        }
    }

    fn open_loop(&mut self, metrics: &mut Metrics, measured: Nanos) {
        if let Some(open_loop) = self.open_loop.take() {
            self.settle(&open_loop);
            metrics.insert("backlog_end".to_owned(), Some(open_loop.waiting() as f64));
            self.open_loop = Some(open_loop);
        }
        let seconds = measured as f64 / SECOND as f64;
        metrics.insert(
            "arrivals_per_second".to_owned(),
            (measured > 0).then(|| self.account.arrived as f64 / seconds),
        );
        metrics.insert("refused".to_owned(), Some(self.account.refused as f64));
        let taken = self.account.arrived - self.account.refused;
        let late = self.account.late as f64 / MILLISECOND as f64;
        metrics.insert("late_ms".to_owned(), (taken > 0).then(|| late / taken as f64));
        metrics.insert("backlog_max".to_owned(), Some(self.account.longest as f64));
    }

    fn users(&self) -> u32 {
        self.stages.iter().map(|stage| stage.users()).sum()
    }

    /// Waits for the users to leave, for a while.
    async fn drain(&self) {
        let most = self.context.now().saturating_add(PATIENCE);
        let mut sleep = pin!(self.context.sleep_until(most));
        while self.users() > 0 && self.context.now() < most {
            first(sleep.as_mut(), self.signal.wait()).await;
        }
    }

    async fn sweep(&mut self) -> Result<(), Failure> {
        let Some(verifier) = self.verifier.take() else { return Ok(()) };
        let ticker = &mut self.ticker;
        verifier
            .sweep(self.storage.site.pool(), |bytes| {
                ticker.tick(1.0, || format!("checking, {} MiB", bytes >> 20))
            })
            .await
    }
}

/// Bytes whose multiples all offsets and lengths of a profile are.
fn multiples(profile: &Profile) -> Vec<u64> {
    let mut all = vec![profile.unit(), profile.start];
    if profile.read > 0.0 {
        all.extend(profile.read_sizes.list());
    }
    if profile.read < 1.0 {
        all.extend(profile.write_sizes.list());
    }
    all
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
