//! Virtual users against a database: each has a thread and a session of its own and does one transaction after the other.
//!
//! *Closed loop*: a user begins the next transaction when the one before has ended and the user has thought; latency is
//! that of the transaction. *Open loop*: transactions arrive at a rate whatever the database does; the users are as
//! many servers of one queue, and latency counts from the moment the transaction was meant to begin, so that waiting for a
//! free user is part of it.
//!
//! A transaction that another one got into the way of (a deadlock, a serialisation failure) is done again, and its latency
//! covers all attempts. Every other error ends the run.

mod ledger;
mod pacing;

use std::ops::ControlFlow;
use std::sync::Mutex;

use fathom_job::draw::Arrivals;
use fathom_job::{Demand, Failure, NodeTotal, Progress, Reason, Sample};
use fathom_runtime::{MILLISECOND, Nanos, monotonic};

use crate::database::Database;
use crate::error::{Error, Result};
use crate::session::Session;
pub use ledger::{Counts, KindTotal};
use ledger::{Ledger, Record};
pub use pacing::Arrived;
use pacing::{Gate, Queue, Schedule};

/// What comes next for a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// Its kind: an index into [`Drive::kinds`].
    pub kind: usize,
    /// Time before it, ns.
    pub keying: Nanos,
    /// Time after it, ns.
    pub thinking: Nanos,
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Committed (or, of a question, answered).
    Committed,
    /// Rolled back, as was meant: one in a hundred orders is.
    RolledBack,
}

/// One user's work.
pub trait VirtualUser {
    /// Draws what comes next.
    fn draw(&mut self) -> Next;

    /// Does what was drawn. Called again with the same draw after a conflict.
    ///
    /// # Errors
    /// The database's.
    fn perform(&mut self, session: &mut dyn Session) -> Result<Ending>;
}

/// Makes a user in a session of its own.
pub type UserFactory<'a> = dyn Fn(u32, &mut dyn Session) -> Result<Box<dyn VirtualUser + 'a>> + Sync + 'a;

/// Looks at the server while the users work, in a session of its own.
pub trait Observer {
    /// An interval of the ramp ends, `at` ns after its beginning: whether the buffer pool has stopped filling. Asked only where
    /// that ends the ramp.
    ///
    /// # Errors
    /// The database's; they end the run.
    fn is_warm(&mut self, _session: &mut dyn Session, _at: Nanos) -> Result<bool> {
        Ok(false)
    }

    /// The measured phase begins.
    ///
    /// # Errors
    /// The database's; they end the run.
    fn begin(&mut self, session: &mut dyn Session) -> Result<()>;

    /// An interval of it ends, `at` ns after its beginning.
    ///
    /// # Errors
    /// The database's; they end the run.
    fn interval(&mut self, session: &mut dyn Session, at: Nanos) -> Result<()>;

    /// It is over.
    ///
    /// # Errors
    /// The database's; they end the run.
    fn end(&mut self, session: &mut dyn Session) -> Result<()>;
}

/// When transactions begin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// When a user is free.
    Closed,
    /// At so many per second.
    Rate(Arrivals, f64),
}

impl Pace {
    /// The load of users who begin so; None where their number changes from step to step.
    pub fn demand(self, users: &[u32], pauses: bool) -> Option<Demand> {
        match (self, users) {
            (Self::Rate(_, rate), _) => Some(Demand::Open(rate)),
            (Self::Closed, [users]) => Some(Demand::Closed { users: (*users).into(), pauses }),
            (Self::Closed, _) => None,
        }
    }
}

/// How users begin, and when the measured phase may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RampRule {
    /// Between the beginnings of two users, ns; 0: all at once.
    pub apart: Nanos,
    /// Whether the ramp ends when the buffer pool has stopped filling, if that is sooner.
    pub until_full: bool,
}

/// How to drive a database.
#[derive(Clone, Copy)]
pub struct Drive<'a> {
    /// The database.
    pub database: &'a (dyn Database + Sync),
    /// Names of the kinds of transaction.
    pub kinds: &'static [&'static str],
    /// Virtual users.
    pub users: u32,
    /// When transactions begin.
    pub pace: Pace,
    /// Before the measured phase, ns; kept in the samples with negative times, left out of everything else.
    pub ramp: Nanos,
    /// How the ramp begins and what may end it sooner.
    pub warming: RampRule,
    /// Length of the measured phase, ns.
    pub duration: Nanos,
    /// Length of a sample, ns.
    pub interval: Nanos,
    /// Of everything random here.
    pub seed: u64,
}

/// What the users have done.
#[derive(Debug)]
pub struct Driven {
    /// Per interval and kind, and of all kinds together (`workload`).
    pub samples: Vec<Sample>,
    /// Totals of the kinds, the measured phase only.
    pub totals: Vec<NodeTotal>,
    /// All kinds together.
    pub all: KindTotal,
    /// By kind.
    pub kinds: Vec<KindTotal>,
    /// Conflicts and roll-backs.
    pub counts: Counts,
    /// What arrived at a rate; None where users begin when they are free.
    pub arrived: Option<Arrived>,
    /// Longest time in which transactions were under way and none ended, ns.
    pub standstill: Nanos,
    /// When the measured phase began on the monotonic clock, ns.
    pub began: Nanos,
    /// Length of the measured phase as it was, ns.
    pub measured: Nanos,
}

/// How often it is checked whether a user has failed or the person wants to stop, ns.
const POLL: Nanos = 50 * MILLISECOND;

struct Shared<'a> {
    drive: &'a Drive<'a>,
    gate: Gate,
    ledger: Mutex<Ledger>,
    schedule: Option<Mutex<Schedule>>,
    failed: Mutex<Option<Error>>,
}

impl Drive<'_> {
    /// Lets the users work for the ramp and the measured phase.
    ///
    /// # Errors
    /// The first error of a user or of the observer that is no conflict; `Cancelled` if the progress says stop. Every user
    /// has ended by then.
    pub fn run(
        &self,
        recruit: &UserFactory<'_>,
        observer: &mut dyn Observer,
        progress: &mut dyn Progress,
    ) -> Result<Driven, Failure> {
        let schedule = || match self.pace {
            Pace::Closed => None,
            Pace::Rate(arrivals, rate) => Some(Schedule::new(arrivals, rate, self.seed)),
        };
        let shared = Shared {
            drive: self,
            gate: Gate::default(),
            ledger: Mutex::new(Ledger::new(self.kinds, schedule().map(Queue::new))),
            schedule: schedule().map(Mutex::new),
            failed: Mutex::new(None),
        };
        let conducted = std::thread::scope(|scope| {
            for number in 0..self.users {
                let shared = &shared;
                scope.spawn(move || {
                    if let Err(error) = shared.user(number, recruit) {
                        shared.failed.lock().expect("the lock is never poisoned").get_or_insert(error);
                        shared.gate.close();
                    }
                });
            }
            let conducted = shared.conduct(observer, progress);
            shared.gate.close();
            conducted
        });
        // A user's error explains what the conductor may have seen of it.
        if let Some(error) = shared.failed.into_inner().expect("the lock is never poisoned") {
            return Err(error.into());
        }
        let (began, measured) = conducted?;
        let ledger = shared.ledger.into_inner().expect("the lock is never poisoned");
        Ok(ledger.finish(began, measured))
    }
}

impl Shared<'_> {
    /// One user from his first connection to his last transaction.
    fn user(&self, number: u32, recruit: &UserFactory<'_>) -> Result<()> {
        let mut session = self.drive.database.connect()?;
        let session = &mut *session;
        let mut user = recruit(number, session)?;
        self.gate.arrive();
        let Some(opened) = self.gate.wait_open() else { return Ok(()) };
        if !self.gate.sleep_until(opened + u64::from(number) * self.drive.warming.apart) {
            return Ok(());
        }
        loop {
            let next = user.draw();
            let intended = match &self.schedule {
                None => monotonic() + next.keying,
                Some(schedule) => opened + schedule.lock().expect("the lock is never poisoned").next_at(),
            };
            if !self.gate.sleep_until(intended) {
                return Ok(());
            }
            let began = monotonic();
            let start = if self.schedule.is_some() { intended } else { began };
            self.ledger.lock().expect("the lock is never poisoned").start(began);
            let mut conflicts = 0;
            let ended = loop {
                match user.perform(session) {
                    Ok(ended) => break ended,
                    Err(error) if error.is_retryable() => conflicts += 1,
                    Err(error) => return Err(error),
                }
                if self.gate.is_closed() {
                    return Ok(());
                }
            };
            let end = monotonic();
            let record = Record {
                kind: next.kind,
                end,
                latency: end - start,
                waiting: began - start,
                conflicts,
                ended,
            };
            self.ledger.lock().expect("the lock is never poisoned").add(&record);
            if next.thinking > 0 && !self.gate.sleep_until(end + next.thinking) {
                return Ok(());
            }
            if self.gate.is_closed() {
                return Ok(());
            }
        }
    }

    /// Opens the gate when every user waits at it, and measures; returns when the measured phase began, and its length.
    fn conduct(
        &self,
        observer: &mut dyn Observer,
        progress: &mut dyn Progress,
    ) -> Result<(Nanos, Nanos), Failure> {
        let drive = self.drive;
        let mut session = drive.database.connect()?;
        let session = &mut *session;
        while !self.gate.wait_arrived(drive.users, POLL) {
            self.report_progress(progress, 0.0, || "virtual users connect".to_owned())?;
        }
        if progress.ready().is_break() {
            return Err(Failure::new(Reason::Cancelled, "stopped before virtual users worked"));
        }
        let opened = monotonic();
        self.ledger.lock().expect("the lock is never poisoned").open(opened);
        self.gate.open(opened);
        let whole = (drive.ramp + drive.duration).max(1);
        let mut wait = |until: Nanos, what: &str| -> Result<(), Failure> {
            loop {
                let now = monotonic();
                let done = (now - opened) as f64 / whole as f64;
                self.report_progress(progress, done.min(1.0), || {
                    let live = self.ledger.lock().expect("the lock is never poisoned").live();
                    if live.is_empty() { format!("{} virtual users, {what}", drive.users) } else { live }
                })?;
                if now >= until {
                    return Ok(());
                }
                self.gate.sleep_until(until.min(now + POLL));
            }
        };
        let cut = |begin: Nanos| {
            let start = begin as i64;
            self.ledger.lock().expect("the lock is never poisoned").cut(monotonic(), start);
        };
        // The ramp, in intervals whose times are counted back from its planned end.
        let planned = opened + drive.ramp;
        let mut at = opened;
        let all_begun = opened + u64::from(drive.users) * drive.warming.apart;
        while at < planned {
            at = (at + drive.interval).min(planned);
            wait(at, "ramp")?;
            cut(planned);
            if drive.warming.until_full && observer.is_warm(session, at - opened)? && at >= all_begun {
                break;
            }
        }
        self.ledger.lock().expect("the lock is never poisoned").ramp_ended(planned - at);
        observer.begin(session)?;
        let begin = monotonic();
        self.ledger.lock().expect("the lock is never poisoned").restart(begin);
        let end = begin + drive.duration;
        let mut at = begin;
        while at < end {
            at = (at + drive.interval).min(end);
            wait(at, "measuring")?;
            if at < end {
                cut(begin);
                observer.interval(session, at - begin)?;
            }
        }
        observer.end(session)?;
        let ended = monotonic();
        let mut ledger = self.ledger.lock().expect("the lock is never poisoned");
        ledger.cut(ended, begin as i64);
        ledger.close(ended);
        Ok((begin, ended - begin))
    }

    /// Reports progress.
    ///
    /// # Errors
    /// A virtual user has failed, or the person has stopped the run.
    fn report_progress(
        &self,
        progress: &mut dyn Progress,
        done: f64,
        note: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        if self.gate.is_closed() {
            // The user's error takes the place of this one.
            return Err(Failure::new(Reason::InputOutput, "a virtual user failed"));
        }
        match progress.tick(done, &note()) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => {
                Err(Failure::new(Reason::Cancelled, "stopped while virtual users worked"))
            }
        }
    }
}
