//! A life: one stack, some cycles. A cycle is a start, a look at everything, work, an end, and what happens before the next.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::chance::Chance;
use crate::client::{Ask, Client, Gone};
use crate::daemon::{Daemon, Start, Starter};
use crate::disk::{CUTS, Disk, Image, Power};
use crate::oracle::{History, Seen, View};
use crate::stack::{Shape, Stack};
use crate::tamper::{Kind, Shot};

/// What was flushed within this time before an end may be missing without a word, if the end of the log is damaged:
/// `mark_every` and the write of a superblock (docs/WRITEBACK.md, "The window") on a busy machine.
pub const WINDOW: Duration = Duration::from_millis(60);

/// What a campaign asks of each life.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub program: PathBuf,
    pub seed: u64,
    /// Disks answer flushes and do nothing: the control.
    pub lies: bool,
    /// Only this is done to devices; all there is if it is empty.
    pub kinds: Vec<Kind>,
    /// Only stacks of this shape.
    pub shape: Option<Shape>,
    /// Only caches that hold tens of MiB of dirty log.
    pub large: bool,
}

/// What has been done.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    pub cycles: u64,
    pub starts: u64,
    pub refusals: u64,
    pub writes: u64,
    pub flushes: u64,
    pub cuts: u64,
    pub kills: u64,
    pub stops: u64,
    pub tampers: u64,
}

impl Tally {
    /// Both together.
    pub fn add(&mut self, more: &Self) {
        let Self { cycles, starts, refusals, writes, flushes, cuts, kills, stops, tampers } = *more;
        self.cycles += cycles;
        self.starts += starts;
        self.refusals += refusals;
        self.writes += writes;
        self.flushes += flushes;
        self.cuts += cuts;
        self.kills += kills;
        self.stops += stops;
        self.tampers += tampers;
    }
}

/// How the daemon ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// As planned; everything that was answered is durable.
    Stop,
    /// Killed; the disks go on.
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
    pub shots: Vec<Shot>,
    /// What happened, for people.
    pub story: Vec<String>,
    pub wanted: Wanted,
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
    power: Arc<Power>,
    starter: Starter,
}

impl Life {
    /// Draws a life.
    pub fn new(wanted: &Wanted, number: u64, folder: &Path) -> Result<Self, String> {
        let mut chance = Chance::new(wanted.seed, number);
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
        ]);
        let shape = wanted.shape.unwrap_or(shape);
        let stack = Stack::draw(&mut chance, folder, &power, shape, wanted)?;
        let starter = Starter::new(&wanted.program, folder, &power).map_err(|error| error.to_string())?;
        let mut history = History::new(chance.word(), stack.sector as usize);
        history.flush_is_in_place = stack.origin;
        let story = vec![format!(
            "{:?}, files {}, barrier {}, origin {}",
            shape, stack.files, stack.barrier, stack.origin
        )];
        Ok(Self {
            chance,
            stack,
            history,
            tally: Tally::default(),
            shots: Vec::new(),
            story,
            wanted: wanted.clone(),
            daemon: None,
            cut: false,
            sectors: Vec::new(),
            away: None,
            before: Vec::new(),
            served: 0,
            in_sync: false,
            ended_at: Instant::now(),
            power,
            starter,
        })
    }

    pub fn tell(&mut self, what: impl Into<String>) {
        self.story.push(what.into());
    }

    /// One cycle.
    pub fn cycle(&mut self) -> Result<(), String> {
        self.tally.cycles += 1;
        self.serve()?;
        self.before = self.images()?;
        self.served = self.history.tick();
        if self.stack.has_mirror() && self.away.is_none() && self.chance.one_in(2) {
            self.in_sync = self.wait_for_legs();
        }
        let end = self.work()?;
        if self.stack.has_cache() && self.chance.one_in(4) && !self.power.has_fired() {
            std::thread::sleep(WINDOW + Duration::from_millis(20));
        }
        self.finish(end)?;
        if self.wanted.lies || self.chance.one_in(3) {
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
                    match self.look() {
                        Ok(view) => return self.judge_untouched(&view),
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
        self.starter.start(&self.stack.settings(turned))
    }

    /// Plans an end after up to `most` requests.
    fn arm(&mut self, most: u64) {
        let cuts = !self.stack.files && !self.chance.one_in(3);
        let requests = self.chance.scale(most) as i64;
        self.power.arm(requests, cuts);
    }

    /// After an end: the daemon is gone, disks have done what was sent, or show what the cut has left.
    pub fn quiesce(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            daemon.kill();
        }
        self.ended_at = Instant::now();
        self.power.disarm();
        for disk in self.stack.devices.iter().filter_map(|device| device.disk()) {
            disk.settle();
        }
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

    fn clients(&mut self) -> Result<Vec<Client>, Ended> {
        let daemon = self.daemon.as_ref().expect("it serves");
        let open = |export: &&str| Client::open(&daemon.socket(), export);
        let clients: std::io::Result<Vec<Client>> = self.stack.exports.iter().map(open).collect();
        match clients {
            Ok(clients) => Ok(clients),
            Err(_) if self.power.has_fired() => Err(Ended::Planned),
            Err(error) => Err(Ended::Wrong(format!("a client cannot connect: {error}"))),
        }
    }

    /// Whether an error is what the planned end does to clients.
    fn ended(&self, why: &Gone) -> Ended {
        if self.power.has_fired() {
            return Ended::Planned;
        }
        let log = self.daemon.as_ref().map_or(String::new(), Daemon::log);
        Ended::Wrong(format!("a client's connection ended ({why:?}); the daemon said: {log}"))
    }

    /// Reads everything.
    pub fn look(&mut self) -> Result<View, Ended> {
        let mut clients = self.clients()?;
        let sectors: Vec<u32> =
            clients.iter().map(|client| (client.size / u64::from(self.stack.sector)) as u32).collect();
        if self.sectors.is_empty() {
            self.sectors.clone_from(&sectors);
        }
        if self.sectors != sectors {
            return Err(Ended::Wrong(format!("volumes have {sectors:?} sectors and had {:?}", self.sectors)));
        }
        let mut view = Vec::new();
        for (volume, client) in clients.iter_mut().enumerate() {
            view.push(self.look_at(volume, client)?);
        }
        if self.stack.has_mirror() {
            // Another leg may answer the second time.
            for (volume, client) in clients.iter_mut().enumerate() {
                let again = self.look_at(volume, client)?;
                if let Some(at) = (0..again.len()).find(|at| again[*at] != view[volume][*at]) {
                    let (first, then) = (view[volume][at], again[at]);
                    return Err(Ended::Wrong(format!("sector {at} shows {first:?}, and then {then:?}")));
                }
            }
        }
        Ok(view)
    }

    fn look_at(&mut self, volume: usize, client: &mut Client) -> Result<Vec<Seen>, Ended> {
        const STEP: u64 = 256 << 10;
        let sector = self.stack.sector as usize;
        let mut seen = vec![Seen::Zero; self.sectors[volume] as usize];
        let mut spare = vec![0; sector];
        let mut ranges: Vec<(u64, u32)> = Vec::new();
        let size = client.size / sector as u64 * sector as u64;
        for at in (0..size).step_by(STEP as usize) {
            ranges.push((at, STEP.min(size - at) as u32));
        }
        let mut next = 0;
        loop {
            while client.outstanding < 4 && next < ranges.len() {
                let sent = client.send(Ask::Read, false, next as u64, ranges[next], &[]);
                sent.map_err(|why| self.ended(&why))?;
                next += 1;
            }
            if client.outstanding == 0 {
                return Ok(seen);
            }
            let answer = client.wait().map_err(|why| self.ended(&why))?;
            let (offset, length) = ranges[answer.cookie as usize];
            let first = (offset / sector as u64) as u32;
            if answer.errno != 0 && length as usize > sector {
                // Which of them it is.
                for at in (offset..offset + u64::from(length)).step_by(sector) {
                    ranges.push((at, sector as u32));
                }
                continue;
            }
            if answer.errno != 0 {
                seen[first as usize] = Seen::Unreadable;
                continue;
            }
            for (at, bytes) in (first..).zip(answer.data.chunks_exact(sector)) {
                let found = self.history.recognise(volume, at, bytes, &mut spare).map_err(Ended::Wrong)?;
                seen[at as usize] = found;
            }
        }
    }

    /// Nothing happened to the devices but ends: what is there must be by the rules, all of it readable.
    pub fn judge_untouched(&mut self, view: &View) -> Result<(), String> {
        let unreadable = view.iter().flatten().filter(|seen| **seen == Seen::Unreadable).count();
        if unreadable > 0 {
            return Err(format!("nothing was damaged, and {unreadable} sectors cannot be read"));
        }
        let (rule, cut) = (self.stack.rule(), self.cut);
        let there =
            self.history.check(view, rule, &|op| op.durable.is_some() || !cut && op.answered.is_some())?;
        self.history.settle(view, &there, rule, false);
        self.cut = false;
        Ok(())
    }

    /// Writes, zeroes, flushes, until an end.
    pub fn work(&mut self) -> Result<End, String> {
        let wanted = 20 + self.chance.scale(280);
        if !self.wanted.lies && self.chance.one_in(2) {
            self.arm(6 * wanted);
        } else if self.wanted.lies {
            self.power.arm((4 * wanted) as i64, true);
        }
        match self.ask(wanted) {
            Ok(()) => {}
            Err(Ended::Planned) => return Ok(if self.power.is_off() { End::Cut } else { End::Kill }),
            Err(Ended::Wrong(why)) => return Err(why),
        }
        Ok(self.chance.weighted(&[(End::Stop, 3), (End::Kill, 3), (End::Cut, 6)]))
    }

    fn ask(&mut self, wanted: u64) -> Result<(), Ended> {
        let mut clients = self.clients()?;
        let depth = self.chance.scale(16) as usize;
        let flushes = self.chance.pick(&[3, 10, 40, 200_u64]);
        let hot = self.chance.one_in(2);
        let pauses = self.chance.one_in(4);
        // Sent flushes and when, by cookie beyond all writes.
        let mut flushing: Vec<(u64, u64)> = Vec::new();
        for number in 0..wanted {
            while clients.iter().map(|client| client.outstanding).sum::<usize>() >= depth {
                self.take(&mut clients, &mut flushing)?;
            }
            let volume = self.chance.index(clients.len());
            if self.chance.one_in(flushes) {
                let (sent, cookie) = (self.history.tick(), 1 << 32 | number);
                flushing.push((cookie, sent));
                clients[volume]
                    .send(Ask::Flush, false, cookie, (0, 0), &[])
                    .map_err(|why| self.ended(&why))?;
                self.tally.flushes += 1;
                continue;
            }
            let sector = u64::from(self.stack.sector);
            let all = u64::from(self.sectors[volume]);
            let most = (self.stack.atomic / sector).min(all / 4).max(1);
            let count = if self.stack.large {
                self.chance.range(most / 2, most + 1)
            } else {
                self.chance.scale(most)
            };
            let within = if hot { (all / 16).max(count + 1) } else { all };
            let first = self.chance.below(within - count + 1);
            let kind = self.chance.weighted(&[(Ask::Write, 20), (Ask::Trim, 1), (Ask::WriteZeroes, 1)]);
            let fua = self.chance.one_in(2 * flushes);
            let op = self.history.send(volume, first as u32, count as u32, kind != Ask::Write, fua);
            let payload = if kind == Ask::Write { self.history.payload(op) } else { Vec::new() };
            let range = (first * sector, (count * sector) as u32);
            clients[volume]
                .send(kind, fua, u64::from(op), range, &payload)
                .map_err(|why| self.ended(&why))?;
            self.tally.writes += 1;
            if self.chance.one_in(120) {
                self.photograph().map_err(Ended::Wrong)?;
            }
            if pauses && self.chance.one_in(60) {
                std::thread::sleep(Duration::from_millis(self.chance.scale(30)));
            }
            if self.stack.has_cache() && self.chance.one_in(600) {
                let sent = self.history.tick();
                match self.daemon.as_ref().expect("it serves").drain() {
                    Ok(()) => self.history.drained(sent),
                    Err(_) if self.power.has_fired() => return Err(Ended::Planned),
                    Err(why) => return Err(Ended::Wrong(format!("a drain failed: {why}"))),
                }
            }
        }
        // Some are left without an answer.
        let left = if self.chance.one_in(2) { 0 } else { self.chance.index(depth) };
        while clients.iter().map(|client| client.outstanding).sum::<usize>() > left {
            self.take(&mut clients, &mut flushing)?;
        }
        Ok(())
    }

    /// Takes at least one answer.
    fn take(&mut self, clients: &mut [Client], flushing: &mut Vec<(u64, u64)>) -> Result<(), Ended> {
        let mut some = false;
        while !some {
            for client in clients.iter_mut().filter(|client| client.outstanding > 0) {
                let mut next = client.poll().map_err(|why| self.ended(&why))?;
                if next.is_none() && !some {
                    next = Some(client.wait().map_err(|why| self.ended(&why))?);
                }
                while let Some(answer) = next {
                    some = true;
                    if answer.errno != 0 {
                        // Where devices go first, the daemon may say so before it is killed.
                        let why = format!("a request failed with error {}", answer.errno);
                        return Err(if self.power.has_fired() { Ended::Planned } else { Ended::Wrong(why) });
                    }
                    match flushing.iter().position(|(cookie, _)| *cookie == answer.cookie) {
                        Some(at) => self.history.flushed(flushing.swap_remove(at).1),
                        None => self.history.answer(answer.cookie as u32),
                    }
                    next = client.poll().map_err(|why| self.ended(&why))?;
                }
            }
        }
        Ok(())
    }

    /// Copies all devices as they are now, for later.
    pub fn photograph(&mut self) -> Result<(), String> {
        // The oldest moment counts: of files, what is written while the copy is made may be missing.
        let tick = self.history.tick();
        if self.away.is_none() {
            if self.shots.len() >= 6 {
                let out = self.chance.index(self.shots.len());
                self.shots.remove(out);
            }
            let images = self.images()?;
            self.shots.push(Shot { tick, images });
        }
        Ok(())
    }

    /// What all devices hold, at one moment if they are disks.
    pub fn images(&self) -> Result<Vec<Image>, String> {
        let disks: Vec<&Disk> = self.stack.devices.iter().filter_map(|device| device.disk()).collect();
        if disks.len() == self.stack.devices.len() {
            return Ok(Disk::images(&disks));
        }
        self.stack.devices.iter().map(|device| device.image()).collect()
    }

    /// Ends the daemon.
    pub fn finish(&mut self, end: End) -> Result<(), String> {
        if end == End::Stop && self.daemon.is_some() {
            self.power.disarm();
            if self.chance.one_in(4) {
                self.arm(200);
            }
            let answered = self.history.tick();
            match self.daemon.as_mut().expect("just seen").stop() {
                Ok(true) => {
                    self.power.disarm();
                    self.daemon = None;
                    self.stopped(answered);
                    self.tell("stopped");
                    return self.return_leg();
                }
                Ok(false) => {}
                Err(_) if self.power.has_fired() => {}
                Err(why) => return Err(why),
            }
        } else if !self.power.has_fired() {
            self.power.end(end == End::Cut && !self.stack.files);
        }
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

/// Why the daemon does not answer.
#[derive(Debug)]
pub enum Ended {
    /// It was killed, as planned.
    Planned,
    /// It was not.
    Wrong(String),
}
