//! What lies between requests and connections: which are unanswered, what was answered and not flushed yet, and what
//! happens when the server is lost and when it is back. The manual in `mod.rs` says what is promised; this file keeps it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use fathom_nbd::client::{Offered, Question};
use fathom_runtime::{Context, MILLISECOND, Nanos, Ring, SECOND, Semaphore, Signal, within};
use fathom_volume::{Error, ErrorKind, Pool, Result};

use super::connection::{self, Connection, Loss, Owner};
use super::job::Job;
use super::known::{Known, Piece, meet};
use super::reach::{Open, Target};

/// Between the first attempts to reach a server that was lost; doubled every time, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Nanos = 100 * MILLISECOND;
const LONGEST_PAUSE: Nanos = 5 * SECOND;
/// How often it is looked at whether a server that is back is lost again before it has said what it holds.
const CHECK: Nanos = 50 * MILLISECOND;

/// How a server is used.
#[derive(Debug)]
pub struct Terms {
    pub target: Target,
    /// What the volume shows; a server must hold as much.
    pub size: u64,
    pub logical_sector: u32,
    pub read_only: bool,
    pub connections: usize,
    /// Silence after which unanswered requests mean that the server is lost, ns.
    pub timeout: Nanos,
    /// How long requests wait for a lost server, ns.
    pub reconnect: Nanos,
}

/// Where the server is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    /// Requests are sent.
    Up,
    /// It was lost a moment ago: requests wait.
    Waiting,
    /// It has been lost for longer than requests wait: they fail, with this reason.
    Away(String),
}

/// What is counted since the volume was built.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    pub lost: u64,
    pub reconnected: u64,
    pub sent_again: u64,
}

/// A server, there or not, and the requests to it.
pub struct Session {
    name: String,
    context: Context,
    ring: Ring,
    terms: Terms,
    phase: RefCell<Phase>,
    /// Why nothing is answered until the volume is reopened.
    fence: RefCell<Option<String>>,
    offered: Cell<Option<Offered>>,
    connections: RefCell<Vec<Rc<Connection>>>,
    turn: Cell<usize>,
    /// Unanswered, in the order in which they were taken in.
    jobs: RefCell<BTreeMap<u64, Rc<Job>>>,
    /// Reads of what a server that is back must hold.
    checks: RefCell<BTreeMap<u64, Rc<Job>>>,
    known: RefCell<Known>,
    pool: Pool,
    next: Cell<u64>,
    /// Changes that were answered and not said to be durable, since the volume was built; and how many of them a flush
    /// has covered. If they differ, a server that restarts may have lost something.
    changed: Cell<u64>,
    durable: Cell<u64>,
    heard: Cell<Nanos>,
    counts: Cell<Counts>,
    closed: Cell<bool>,
    /// A connection was lost or is over, or the volume is closed.
    news: Signal,
}

impl Session {
    /// A server that [`Session::keep`] is about to have, or that is not there, and why.
    pub fn new(
        name: &str,
        (context, ring, pool): (&Context, &Ring, &Pool),
        terms: Terms,
        found: std::result::Result<Offered, String>,
    ) -> Rc<Self> {
        let (offered, phase) = match found {
            Ok(offered) => (Some(offered), Phase::Waiting),
            Err(why) => (None, Phase::Away(why)),
        };
        Rc::new(Self {
            name: name.to_owned(),
            context: context.clone(),
            ring: ring.clone(),
            terms,
            phase: RefCell::new(phase),
            fence: RefCell::default(),
            offered: Cell::new(offered),
            connections: RefCell::default(),
            turn: Cell::new(0),
            jobs: RefCell::default(),
            checks: RefCell::default(),
            known: RefCell::default(),
            pool: pool.clone(),
            next: Cell::new(0),
            changed: Cell::new(0),
            durable: Cell::new(0),
            heard: Cell::new(0),
            counts: Cell::default(),
            closed: Cell::new(false),
            news: Signal::default(),
        })
    }

    /// What the server offers, or offered last.
    pub fn offered(&self) -> Option<Offered> {
        self.offered.get()
    }

    pub fn counts(&self) -> Counts {
        self.counts.get()
    }

    /// Where the server is, for people.
    pub fn standing(&self) -> String {
        match &*self.phase.borrow() {
            Phase::Up => "connected".to_owned(),
            Phase::Waiting => "being reached".to_owned(),
            Phase::Away(why) => format!("away: {why}"),
        }
    }

    /// Whether requests fail because the server is not there.
    pub fn is_away(&self) -> bool {
        matches!(&*self.phase.borrow(), Phase::Away(_))
    }

    /// Connections in use.
    pub fn connections(&self) -> usize {
        self.connections.borrow().len()
    }

    /// Whether nothing is answered until the volume is reopened.
    pub fn is_fenced(&self) -> bool {
        self.fence.borrow().is_some()
    }

    /// Why that is so.
    pub fn why_fenced(&self) -> Option<String> {
        self.fence.borrow().clone()
    }

    fn error(&self, kind: ErrorKind, why: &str) -> Error {
        Error::new(kind, format!("nbd `{}`: {}: {why}", self.name, self.terms.target.uri))
    }

    /// Whether requests are taken in.
    ///
    /// # Errors
    /// If they would fail anyhow.
    pub fn admit(&self) -> Result<()> {
        if let Some(why) = &*self.fence.borrow() {
            return Err(self.error(ErrorKind::Fenced, why));
        }
        match &*self.phase.borrow() {
            Phase::Away(why) => Err(self.error(ErrorKind::Gone, why)),
            Phase::Up | Phase::Waiting => Ok(()),
        }
    }

    /// Changes answered so far: what a flush that is asked for now covers.
    pub fn changed(&self) -> u64 {
        self.changed.get()
    }

    /// Takes a request in; it is sent at once, or when the server is back.
    ///
    /// # Errors
    /// As [`Session::admit`].
    pub fn submit(&self, job: &Rc<Job>) -> Result<()> {
        self.admit()?;
        let cookie = self.next.get();
        self.next.set(cookie + 1);
        if self.jobs.borrow().is_empty() {
            // Silence counts from here.
            self.hear();
        }
        if job.harms_late() {
            self.known.borrow_mut().changes(&job.range());
        }
        self.jobs.borrow_mut().insert(cookie, Rc::clone(job));
        self.send(cookie, job);
        Ok(())
    }

    fn send(&self, cookie: u64, job: &Rc<Job>) {
        let connections = self.connections.borrow();
        if *self.phase.borrow() == Phase::Up && !connections.is_empty() {
            let turn = self.turn.get();
            self.turn.set(turn.wrapping_add(1));
            job.sent.set(true);
            connections[turn % connections.len()].put(cookie, Rc::clone(job));
        }
    }

    /// From now on nothing is taken in; the reason that holds.
    fn fence_off(&self, why: &str) -> String {
        let mut fence = self.fence.borrow_mut();
        fence.get_or_insert_with(|| format!("{why}; reopen the volume")).clone()
    }

    /// Answers for a server that was lost.
    fn fail_all(&self, kind: ErrorKind, why: &str) {
        let jobs = std::mem::take(&mut *self.jobs.borrow_mut());
        jobs.values().for_each(|job| job.finish(Err(self.error(kind, why))));
    }

    /// The server's opinion of its content is trusted again: who asks has given up what it knew of it. Nothing else
    /// lifts a fence.
    pub fn reopen(&self) {
        if self.fence.take().is_some() {
            self.durable.set(self.changed.get());
            self.known.replace(Known::default());
        }
    }

    /// A write was answered: how its range begins is known, unless another that is on its way changes that.
    fn remember(&self, job: &Job) {
        let Some(buf) = job.payload() else { return };
        let range = job.range();
        if self.jobs.borrow().values().any(|other| other.harms_late() && meet(&other.range(), &range)) {
            return;
        }
        let piece = buf.with(|bytes| Piece::of(job.offset, bytes, self.terms.logical_sector));
        let change = (!job.fua).then(|| self.changed.get());
        self.known.borrow_mut().wrote(change, piece);
    }

    /// Requests wait so long for a server that was lost, and no longer.
    async fn expire(&self, lost: u64, why: &str) {
        self.context.sleep(self.terms.reconnect).await;
        if *self.phase.borrow() == Phase::Waiting && self.counts.get().lost == lost {
            let why = format!("{why}, and it was not back in time");
            self.phase.replace(Phase::Away(why.clone()));
            self.fail_all(ErrorKind::Gone, &why);
        }
    }

    /// Keeps the server at hand as long as the volume lives.
    pub async fn keep(self: Rc<Self>, first: Option<Vec<Open>>) {
        let mut first = first;
        while !self.closed.get() {
            let again = first.is_none();
            let open = match first.take() {
                Some(open) => open,
                None => {
                    let Some(open) = self.reach().await else { return };
                    open
                }
            };
            let connections = self.connect(open);
            if self.is_as_known(&connections[0]).await {
                self.count(|counts| counts.reconnected += u64::from(again));
                self.begin();
                self.watch().await;
            }
            connections.iter().for_each(|connection| connection.give_up());
            // Nothing is sent to a server that may still be busy with what it was sent before.
            while !connections.iter().all(|connection| connection.is_over()) {
                let wait = self.news.wait();
                if !connections.iter().all(|connection| connection.is_over()) {
                    wait.await;
                }
            }
        }
    }

    fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }

    /// Takes connections into use; nobody's requests are sent yet.
    fn connect(self: &Rc<Self>, open: Vec<Open>) -> Vec<Rc<Connection>> {
        let mut connections = Vec::with_capacity(open.len());
        for Open { wire, offered, rest } in open {
            self.offered.set(Some(offered));
            let connection = Rc::new(Connection::new(wire));
            self.context.spawn(connection::write(Rc::clone(self), Rc::clone(&connection)));
            self.context.spawn(connection::read(Rc::clone(self), Rc::clone(&connection), rest));
            connections.push(connection);
        }
        self.connections.replace(connections.clone());
        connections
    }

    /// Whether a server says what it holds where something was written and flushed last. If that is something else, all requests
    /// fail from now on.
    async fn is_as_known(&self, connection: &Connection) -> bool {
        let pieces = self.known.borrow().durable();
        let places = Semaphore::new(pieces.len().max(1));
        let mut asked: Vec<(Piece, Rc<Job>)> = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let buf = self.pool.get(piece.length as usize);
            let range = (piece.offset, piece.length);
            let place = places.acquire().await;
            let job = Rc::new(Job::new((Question::Read, false), range, Some(buf), 0, place));
            let cookie = self.next.get();
            self.next.set(cookie + 1);
            self.checks.borrow_mut().insert(cookie, Rc::clone(&job));
            connection.put(cookie, Rc::clone(&job));
            asked.push((piece, job));
        }
        let (mut other, until) = (None, self.context.now() + self.terms.timeout);
        for (piece, job) in &asked {
            let answer = loop {
                match within(&self.context, CHECK, job.done()).await {
                    Some(answer) => break answer,
                    None if connection.is_over() || self.context.now() > until => {
                        self.checks.borrow_mut().clear();
                        return false;
                    }
                    None => {}
                }
            };
            let holds = |job: &Job| job.buf.as_ref().is_some_and(|buf| buf.with(|bytes| piece.is_in(bytes)));
            if answer.is_err() || !holds(job) {
                other = other.or(Some(piece.offset));
            }
        }
        if let Some(offset) = other.filter(|_| !self.is_fenced()) {
            let what = format!(
                "it is back, and does not hold what was written and flushed at offset {offset}: an older copy or something else \
                 is in its place"
            );
            let why = self.fence_off(&what);
            self.fail_all(ErrorKind::Fenced, &why);
        }
        true
    }

    /// Requests are sent from now on, first those that are unanswered.
    fn begin(&self) {
        self.phase.replace(Phase::Up);
        self.hear();
        let jobs: Vec<(u64, Rc<Job>)> =
            self.jobs.borrow().iter().map(|(cookie, job)| (*cookie, Rc::clone(job))).collect();
        for (cookie, job) in jobs {
            if job.begin_again() {
                self.count(|counts| counts.sent_again += 1);
            }
            self.send(cookie, &job);
        }
    }

    /// Waits until the connections are lost; silence is a loss.
    async fn watch(self: &Rc<Self>) {
        loop {
            let wait = self.news.wait();
            if *self.phase.borrow() != Phase::Up {
                return;
            }
            within(&self.context, self.terms.timeout / 4, wait).await;
            let silence = self.context.now().saturating_sub(self.heard.get());
            if silence >= self.terms.timeout && !self.jobs.borrow().is_empty() {
                let why = format!("no answer for {} s", self.terms.timeout as f64 / SECOND as f64);
                self.lose(Loss::Doubtful, &why);
            }
        }
    }

    /// Tries until the server is there; None if the volume is closed before.
    async fn reach(&self) -> Option<Vec<Open>> {
        let mut random = self.context.random(&format!("nbd {} at {}", self.name, self.context.now()));
        let mut pause = FIRST_PAUSE;
        while !self.closed.get() {
            let opened = self.terms.target.open_all(&self.context, &self.ring, self.terms.connections).await;
            match opened.and_then(|open| self.fit(&open[0].offered).map(|()| open)) {
                Ok(open) => return Some(open),
                Err(why) => {
                    if let Phase::Away(told) = &mut *self.phase.borrow_mut() {
                        *told = why;
                    }
                }
            }
            // Many clients of one server must not come back all at once.
            self.context.sleep(pause / 2 + random.below(pause)).await;
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
        None
    }

    fn fit(&self, offered: &Offered) -> std::result::Result<(), String> {
        self.terms.fit(offered)?;
        match self.offered.get() {
            // Requests were made for that server, and may wait for this one.
            Some(before) if !offered.covers(&before) => {
                Err("it offers less than before: smaller requests, or fewer kinds of them".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// The volume is gone.
    pub fn close(&self) {
        self.closed.set(true);
        let idle = self.jobs.borrow().is_empty();
        self.connections.borrow().iter().for_each(|connection| connection.leave(idle));
        self.phase.replace(Phase::Away("the volume is closed".to_owned()));
        self.news.notify();
    }
}

/// What to do about an export that is shorter than it must be.
pub fn too_short(offered: &Offered, size: u64) -> String {
    format!("its export holds {} bytes, and {size} are needed: give it the size it had", offered.size)
}

impl Owner for Session {
    fn job(&self, cookie: u64) -> Option<Rc<Job>> {
        let job = self.jobs.borrow().get(&cookie).cloned();
        job.or_else(|| self.checks.borrow().get(&cookie).cloned())
    }

    fn answered(&self, cookie: u64, errno: u32) {
        if let Some(job) = self.checks.borrow_mut().remove(&cookie) {
            let failed = || Error::from_errno(i32::try_from(errno).unwrap_or(libc::EIO), "a read");
            job.finish(if errno == 0 { Ok(()) } else { Err(failed()) });
            return;
        }
        let Some(job) = self.jobs.borrow_mut().remove(&cookie) else { return };
        if errno == 0
            && job.question == Question::Flush
            && let Some(why) = &*self.fence.borrow()
        {
            // What another flush has lost this one has not made durable.
            job.finish(Err(self.error(ErrorKind::Fenced, why)));
            return;
        }
        if errno == 0 {
            if job.changes() && !job.fua {
                self.changed.set(self.changed.get() + 1);
            }
            if job.question == Question::Flush {
                self.durable.set(self.durable.get().max(job.covers));
                self.known.borrow_mut().flushed(self.durable.get());
            }
            self.remember(&job);
            job.finish(Ok(()));
            return;
        }
        let Job { question, offset, length, .. } = &*job;
        let what = match question {
            Question::Flush => "flush".to_owned(),
            other => format!("{other:?} of {length} bytes at offset {offset}").to_lowercase(),
        };
        let place = format!("nbd `{}`: {}: {what}", self.name, self.terms.target.uri);
        let errno = i32::try_from(errno).unwrap_or(libc::EIO);
        job.finish(Err(Error::from_errno(errno, &place)));
        if *question == Question::Flush || job.fua && !is_refusal(errno) {
            self.fence_off("a flush or a write with FUA failed, and what was written before may be lost");
        }
    }

    fn hear(&self) {
        self.heard.set(self.context.now());
    }

    /// A connection does not work any more: all are given up. What was answered and not flushed may be lost with the
    /// server, for nothing tells whether it has restarted.
    fn lose(self: &Rc<Self>, loss: Loss, why: &str) {
        if *self.phase.borrow() != Phase::Up {
            return;
        }
        self.phase.replace(Phase::Waiting);
        let several = self.connections() > 1;
        self.connections.borrow().iter().for_each(|connection| connection.give_up());
        self.news.notify();
        if self.closed.get() {
            return;
        }
        self.count(|counts| counts.lost += 1);
        let unflushed = self.changed.get() - self.durable.get();
        let may_come_late = loss == Loss::Doubtful || several;
        let late = may_come_late && self.jobs.borrow().values().any(|job| job.sent.get() && job.harms_late());
        if unflushed > 0 {
            let answered = match unflushed {
                1 => "a write that it had answered was".to_owned(),
                many => format!("{many} writes that it had answered were"),
            };
            let what = format!("{why}, and {answered} not flushed yet");
            let why = self.fence_off(&format!("{what}: if it has restarted, they are lost"));
            self.fail_all(ErrorKind::Fenced, &why);
        } else if late {
            let what = format!("{why}, and it may still do what it was asked and has not answered");
            let why = self.fence_off(&what);
            self.fail_all(ErrorKind::Fenced, &why);
        }
        let (session, lost, why) = (Rc::clone(self), self.counts.get().lost, why.to_owned());
        self.context.spawn(async move { session.expire(lost, &why).await });
    }

    fn over(&self) {
        self.news.notify();
    }
}

/// Whether a server that fails a write so has not begun it, and has flushed nothing.
fn is_refusal(errno: i32) -> bool {
    const REFUSALS: [i32; 6] =
        [libc::EPERM, libc::ENOMEM, libc::EINVAL, libc::ENOSPC, libc::EOVERFLOW, libc::EOPNOTSUPP];
    REFUSALS.contains(&errno)
}

impl Terms {
    /// Whether an export is what the volume shows.
    ///
    /// # Errors
    /// What is missing, and what to do.
    pub fn fit(&self, offered: &Offered) -> std::result::Result<(), String> {
        let Self { size, logical_sector, read_only, .. } = self;
        if offered.size < *size {
            return Err(too_short(offered, *size));
        }
        if offered.block > *logical_sector {
            return Err(format!(
                "it takes blocks of {} bytes and more, and the volume's logical sector has {logical_sector}: set \
                 logical_sector to that",
                offered.block
            ));
        }
        if !read_only && offered.is_read_only() {
            return Err("its export is read-only: set read_only = true, or export it for writing".to_owned());
        }
        if !read_only && !offered.can_flush() {
            return Err("it takes no flush, so that nothing is ever known to be durable; use another server"
                .to_owned());
        }
        Ok(())
    }
}
