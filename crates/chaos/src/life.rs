//! A life: one stack, some cycles. A cycle is a start, a read of everything, work, an end, and a mishap before the next start.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::chance::Chance;
use crate::clock::WallClock;
use crate::daemon::Ended;
use crate::daemon::{Daemon, Start, Starter, Stopped};
use crate::disk::{CUTS, Disk, Image, Power};
use crate::failing::{Plan, When};
use crate::oracle::History;
use crate::stack::{Options, Shape, Stack};
use crate::stall;
use crate::tally::Tally;
use crate::tamper::DeviceCopy;

/// How late something is that the daemon does by the clock, beside its own period: a write to a disk, on a busy machine.
const LATE: Duration = Duration::from_millis(40);
/// `mark_every` (docs/WRITEBACK.md, "What is known to have been flushed").
const MARK_EVERY: Duration = Duration::from_millis(20);

/// How the daemon ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// As planned; everything that was answered is durable.
    Stop,
    /// Killed; the disks keep power.
    Kill,
    /// The power failed.
    Cut,
}

/// A life.
#[derive(Debug)]
pub struct Life {
    pub chance: Chance,
    pub stack: Stack,
    pub history: History,
    pub tally: Tally,
    pub copies: Vec<DeviceCopy>,
    /// What happened, for the report of a violation.
    pub events: Vec<String>,
    pub options: Options,
    pub daemon: Option<Daemon>,
    /// The power has failed since everything was last looked at: only what is durable must be there.
    pub cut: bool,
    /// Sectors of each volume, once it is known.
    pub sectors: Vec<u32>,
    pub away: Option<usize>,
    /// What devices held when the daemon started last.
    pub before: Vec<Image>,
    /// When it started last, by the history's clock.
    pub served: u64,
    /// All legs of the mirror have everything that was answered.
    pub in_sync: bool,
    /// When the daemon ended last.
    pub ended_at: Instant,
    pub power: Arc<Power>,
    /// Where the daemon's wall clock jumps.
    pub clock: Option<WallClock>,
    /// A disk of this cycle fails.
    pub failing: bool,
    pub number: u64,
    starter: Starter,
}

impl Life {
    /// Draws a life.
    pub fn new(options: &Options, number: u64, folder: &Path) -> Result<Self, String> {
        let mut chance = Chance::new(options.seed, number);
        let power = Arc::new(Power::default());
        let shape = chance.weighted(&[
            (Shape::Cache, 7),
            (Shape::OwnRing, 2),
            (Shape::TwoCaches, 4),
            (Shape::Pair, 3),
            (Shape::OverMirror(2), 2),
            (Shape::OverMirror(3), 1),
            (Shape::OverStripe, 2),
            (Shape::Mirror(2), 4),
            (Shape::Mirror(3), 2),
            (Shape::Pool(3), 3),
            (Shape::Pool(4), 2),
        ]);
        let shape = options.shape.unwrap_or(shape);
        let stack = Stack::draw(&mut chance, folder, &power, shape, options)?;
        let starter = Starter::new(&options.program, folder, &power).map_err(|error| error.to_string())?;
        let clock = WallClock::draw(options.seed, number, folder);
        let mut history = History::new(chance.word(), stack.sector as usize);
        history.flush_is_in_place = stack.origin;
        let events = vec![format!(
            "{shape:?}, files {}, barrier {}, origin {}, a wall clock that jumps {}",
            stack.files,
            stack.barrier,
            stack.origin,
            clock.is_some()
        )];
        Ok(Self {
            chance,
            stack,
            history,
            tally: Tally::default(),
            copies: Vec::new(),
            events,
            options: options.clone(),
            daemon: None,
            cut: false,
            sectors: Vec::new(),
            away: None,
            before: Vec::new(),
            served: 0,
            in_sync: false,
            ended_at: Instant::now(),
            power,
            clock,
            failing: false,
            number,
            starter,
        })
    }

    pub fn tell(&mut self, what: impl Into<String>) {
        self.events.push(what.into());
    }

    /// One cycle.
    pub fn cycle(&mut self) -> Result<(), String> {
        self.tally.cycles += 1;
        if matches!(self.stack.shape, Shape::Pool(count) if self.stack.joined < count)
            && self.chance.one_in(2)
        {
            self.stack.joined += 1;
            self.tell("a member is added");
        }
        let plan = self.draw_failing();
        let fails = plan.is_some();
        if let Some(plan) = plan.as_ref().filter(|plan| plan.when == When::Start && self.daemon.is_none()) {
            self.start_failing(plan)?;
        }
        self.serve()?;
        self.before = self.images()?;
        self.served = self.history.tick();
        if self.stack.has_mirror() && self.away.is_none() && self.chance.one_in(2) {
            self.in_sync = self.wait_for_legs();
        }
        let mut plan = plan.filter(|plan| plan.when != When::Start);
        let end = self.work(plan.as_mut())?;
        self.finish(end, plan.as_ref())?;
        if fails || self.options.lies || self.chance.one_in(3) {
            return Ok(());
        }
        self.mishap()
    }

    /// Starts the daemon on devices that nobody has touched, over all ends that come in between, and looks at everything.
    pub fn serve(&mut self) -> Result<(), String> {
        if self.daemon.is_some() {
            return Ok(());
        }
        let mut ends = if self.chance.one_in(3) { self.chance.scale(3) } else { 0 };
        loop {
            if ends > 0 {
                ends -= 1;
                self.arm(60);
            }
            match self.start()? {
                Start::Serving(daemon) => {
                    self.daemon = Some(daemon);
                    self.in_sync = false;
                    match self.read_back() {
                        Ok(view) => {
                            self.judge_untouched(&view)?;
                            // Background requests count, too: no planned end may come while the next one is planned.
                            self.power.disarm();
                            if !self.power.has_fired() {
                                return Ok(());
                            }
                            self.tell("ended after everything was read");
                        }
                        Err(Ended::Wrong(why)) => return Err(why),
                        Err(Ended::Planned) => self.tell("ended while everything was read"),
                    }
                }
                Start::Killed => self.tell("ended at the start"),
                Start::Refused(_) if self.power.has_fired() => {
                    self.tell("ended at the start, which saw its devices go");
                }
                Start::Refused(text) => {
                    return Err(format!("nothing was wrong, and the start is refused: {text}"));
                }
            }
            self.quiesce();
        }
    }

    /// Starts a daemon.
    pub fn start(&mut self) -> Result<Start, String> {
        self.start_with(None)
    }

    /// What `fathomd --check --json` says of the settings of the last start.
    pub fn check(&self) -> Result<String, String> {
        self.starter.check()
    }

    /// Starts a daemon while two devices have traded places.
    pub fn start_with(&mut self, turned: Option<(usize, usize)>) -> Result<Start, String> {
        self.tally.starts += 1;
        if let Some(clock) = &mut self.clock {
            clock.jump()?;
        }
        self.starter.start(&self.stack.settings(turned), self.clock.as_ref())
    }

    /// What was done within this time before the end may not be noted yet, if it is noted every `period`: that, a write, and
    /// twice as long as threads of this machine have just waited for a processor.
    pub fn window(&self, period: Duration) -> Duration {
        period + LATE + 2 * stall::longest_before(self.ended_at)
    }

    /// What was flushed within this time before the end may be missing without a word, if the end of the log is damaged.
    pub fn mark_window(&self) -> Duration {
        self.window(MARK_EVERY)
    }

    /// Plans an end after up to `most` requests.
    pub fn arm(&mut self, most: u64) {
        let cuts = !self.stack.files && !self.chance.one_in(3);
        let requests = self.chance.scale(most) as i64;
        self.power.arm(requests, cuts);
    }

    /// After an end: the daemon is gone, disks have done what was sent, or show what the cut has left.
    pub fn quiesce(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            daemon.kill();
        }
        self.ended_at = self.power.ended_at().unwrap_or_else(Instant::now);
        self.power.disarm();
        for disk in self.stack.devices.iter().filter_map(|device| device.disk()) {
            disk.settle();
        }
        self.heal();
        if self.power.is_off() {
            self.cut = true;
            self.tally.cuts += 1;
            let one = self.chance.pick(&CUTS);
            for disk in self.stack.devices.iter().filter_map(|device| device.disk()) {
                let cut = if self.chance.one_in(2) { one } else { self.chance.pick(&CUTS) };
                disk.cut(cut, &mut self.chance);
            }
        } else {
            self.tally.kills += 1;
        }
        self.power.on();
    }

    /// Copies all devices as they are now, for later.
    pub fn copy_devices(&mut self) -> Result<(), String> {
        let tick = self.history.tick();
        // What a disk that fails holds is put back by no mishap.
        if self.away.is_none() && !self.failing {
            if self.copies.len() >= 6 {
                let out = self.chance.index(self.copies.len());
                self.copies.remove(out);
            }
            let images = self.images()?;
            self.copies.push(DeviceCopy { tick, images });
            self.tell(format!("copied at moment {tick}"));
        }
        Ok(())
    }

    /// What all devices hold, at one moment if they are disks.
    pub fn images(&self) -> Result<Vec<Image>, String> {
        let disks: Vec<&Disk> = self.stack.devices.iter().filter_map(|device| device.disk()).collect();
        if disks.len() == self.stack.devices.len() {
            return Ok(Disk::images(&disks));
        }
        // What is in flight on its way to a file may be missing: nothing that waits for it has been written.
        let copies = || self.stack.devices.iter().map(|device| device.image()).collect();
        self.daemon.as_ref().map_or_else(copies, |daemon| daemon.held(copies))
    }

    /// Ends the daemon. A planned stop may find disks that fail.
    fn finish(&mut self, end: End, plan: Option<&Plan>) -> Result<(), String> {
        self.power.disarm();
        if end == End::Stop && self.daemon.is_some() && !self.power.has_fired() {
            if let Some(plan) = plan.filter(|plan| plan.when == When::Stop) {
                self.begin_to_fail(plan);
            }
            if self.chance.one_in(4) {
                self.arm(200);
            }
            let answered = self.history.tick();
            match self.daemon.as_mut().expect("just seen").stop() {
                Ok(Stopped::Durable) => {
                    self.power.disarm();
                    self.daemon = None;
                    self.stopped(answered);
                    self.heal();
                    self.tell("stopped");
                    // The end may have come from the background, after all was durable and before the process was gone.
                    if self.power.has_fired() {
                        self.quiesce();
                    }
                    return self.return_leg();
                }
                Ok(Stopped::Killed) => {}
                Ok(Stopped::NotDurable(log)) => {
                    if !self.failing && !self.power.has_fired() {
                        return Err(format!(
                            "a planned stop on good disks could not make everything durable: {log}"
                        ));
                    }
                    self.tell("stopped, and not everything is durable");
                }
                Err(_) if self.power.has_fired() => {}
                Err(why) => return Err(why),
            }
        } else if !self.power.has_fired() {
            self.power.end(end == End::Cut && !self.stack.files);
        }
        self.forget(plan);
        self.quiesce();
        let how = if self.cut { "power cut" } else { "killed" };
        self.tell(how);
        self.return_leg()
    }

    /// After a planned stop everything that was answered is durable, and in place if it drains.
    fn stopped(&mut self, before: u64) {
        self.tally.stops += 1;
        self.ended_at = Instant::now();
        for disk in self.stack.devices.iter().filter_map(|device| device.disk()) {
            disk.settle();
        }
        if self.stack.drains || !self.stack.has_cache() {
            self.history.drained(before);
        } else {
            self.history.flushed(before);
        }
    }

    fn return_leg(&mut self) -> Result<(), String> {
        match self.away.take() {
            Some(leg) => {
                self.tell("the leg is back");
                self.stack.devices[leg].attach()
            }
            None => Ok(()),
        }
    }
}
