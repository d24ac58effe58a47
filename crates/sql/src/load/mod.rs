//! Loading a database by many sessions at once, so that a load that was killed resumes where it stopped.
//!
//! A load is a list of *steps* in *stages*: all steps of a stage may run at the same time, and a stage begins when the
//! one before it is complete. Finished steps are in the table `load_steps` of the database itself: a step that inserts
//! rows marks itself in its own transaction, so that there is either all of it or nothing. Definitions commit by
//! themselves on some databases (MariaDB), and some statements run outside of any transaction (`VACUUM`): those are
//! written so that doing them twice does no harm, and are marked afterwards.
//!
//! The database may be somebody's. Before the first step nothing may have the name of what the steps create ([`marks`]);
//! what a load that was interrupted left is known by its mark, or says itself whose it is ([`crate::objects`]).
//!
//! Two steps may run into a deadlock (on PostgreSQL, one that fills and one that indexes); the database ends one of
//! them, and it is simply done again.

mod marks;
mod provide;
mod rows;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use fathom_job::{Failure, Progress, Reason};

use crate::database::{Database, DatabaseKind, Known};
use crate::error::Result;
use crate::session::Session;
use marks::{Marks, mark};
pub(crate) use provide::{Provided, Requirements, provide};
pub use rows::{part, read_back, steps, to_value};

/// How often a step is tried if others get into its way.
const TRIES: u32 = 50;

/// When a step's mark is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkOrder {
    /// Work and mark in one transaction.
    SameTransaction,
    /// The work may be done twice; the mark follows it.
    Afterwards,
}

/// What a step has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Rows inserted.
    pub rows: u64,
    /// A checksum over them.
    pub checksum: u64,
}

/// What a step does.
pub type Work<'a> = Box<dyn Fn(&mut dyn Session) -> Result<Done> + Send + Sync + 'a>;

/// One step.
pub struct Step<'a> {
    /// Its name among the marks, unique.
    pub name: String,
    /// How its mark is kept.
    pub keeping: MarkOrder,
    /// The names of what it creates.
    pub creates: Vec<&'static str>,
    /// What it does.
    pub work: Work<'a>,
}

/// A load: stages of steps, and what identifies it.
pub struct Load<'a> {
    /// What is loaded, with every setting that changes the data; it has a blank, and no step's name has one. A database
    /// that holds another load is refused.
    pub identity: String,
    /// The stages in order.
    pub stages: Vec<Vec<Step<'a>>>,
}

/// What a load found and did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Steps that were marked already.
    pub found: usize,
    /// Steps that were done.
    pub done: usize,
    /// Steps that were tried again because others got into their way.
    pub retries: usize,
    /// Rows and checksum of all steps, those of earlier attempts included.
    pub total: Done,
}

/// Creates what is missing of the load with up to `sessions` sessions at once; SQLite, which has one writer, gets one.
///
/// # Errors
/// [`Reason::Settings`] if the database holds something else under a name that the load creates, or another load; the
/// first failure of a step: the others end what they are at, and loading again resumes from there.
pub fn load(
    database: &(dyn Database + Sync),
    load: &Load<'_>,
    sessions: usize,
    progress: &mut dyn Progress,
) -> Result<Report, Failure> {
    let sessions = if database.kind().dialect().one_writer { 1 } else { sessions.max(1) };
    let marks = Marks::open(database, load)?;
    let all: usize = load.stages.iter().map(Vec::len).sum();
    let retries = AtomicUsize::new(0);
    let mut before = 0;
    for stage in &load.stages {
        let open: Vec<&Step<'_>> = stage.iter().filter(|step| !marks.holds(&step.name)).collect();
        before += stage.len() - open.len();
        let workers = Workers {
            database,
            marks: &marks,
            open: &open,
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            retries: &retries,
        };
        workers.work(sessions, &mut |finished| {
            let done = before + finished;
            let note = format!("loading: {done} of {all} parts");
            // The share is that of the run: what loading takes says nothing about the time it has left.
            match progress.tick(0.0, &note) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(Failure::new(Reason::Cancelled, "stopped while loading")),
            }
        })?;
        before += open.len();
    }
    Ok(marks.report(retries.into_inner()))
}

/// Whether the database holds that load completely, partly or not at all; None: not at all.
///
/// # Errors
/// The database's.
pub fn state(session: &mut dyn Session, kind: DatabaseKind, load: &Load<'_>) -> Result<Option<bool>> {
    Ok(marks::read(session, kind)?.filter(|marks| !marks.is_empty()).map(|marks| {
        let complete = load.stages.iter().flatten().all(|step| marks.contains_key(&step.name));
        complete && marks.contains_key(&load.identity)
    }))
}

/// The sessions that load one stage.
struct Workers<'c, 's> {
    database: &'c (dyn Database + Sync),
    marks: &'c Marks,
    open: &'c [&'c Step<'s>],
    next: AtomicUsize,
    stop: AtomicBool,
    retries: &'c AtomicUsize,
}

impl Workers<'_, '_> {
    fn work(
        &self,
        sessions: usize,
        tick: &mut dyn FnMut(usize) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.open.is_empty() {
            return Ok(());
        }
        let (report, reports) = std::sync::mpsc::channel::<Result<()>>();
        std::thread::scope(|scope| {
            for _ in 0..sessions.min(self.open.len()) {
                let report = report.clone();
                scope.spawn(move || {
                    let one = || -> Result<()> {
                        let mut session = self.database.connect()?;
                        while let Some(step) = self.take() {
                            self.finish(&mut *session, step)?;
                            // Nobody listens once the first error was reported.
                            let _ = report.send(Ok(()));
                        }
                        Ok(())
                    };
                    if let Err(error) = one() {
                        self.stop.store(true, Ordering::Relaxed);
                        let _ = report.send(Err(error));
                    }
                });
            }
            drop(report);
            let (mut finished, mut failed) = (0, None);
            loop {
                match reports.recv_timeout(Duration::from_millis(50)) {
                    Ok(Ok(())) => finished += 1,
                    Ok(Err(error)) => failed = failed.or(Some(Failure::from(error))),
                    Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
                    Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                }
                if failed.is_none()
                    && let Err(stopped) = tick(finished)
                {
                    self.stop.store(true, Ordering::Relaxed);
                    failed = Some(stopped);
                }
            }
            failed.map_or(Ok(()), Err)
        })
    }

    fn take(&self) -> Option<&Step<'_>> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        self.open.get(self.next.fetch_add(1, Ordering::Relaxed)).copied()
    }

    fn finish(&self, session: &mut dyn Session, step: &Step<'_>) -> Result<()> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.attempt(session, step) {
                Ok(done) => {
                    self.marks.set(&step.name, done);
                    return Ok(());
                }
                Err(error) if error.is_retryable() && tries < TRIES && !self.stop.load(Ordering::Relaxed) => {
                    self.retries.fetch_add(1, Ordering::Relaxed);
                    pause(tries);
                }
                Err(error) => return Err(error.at(format!("loading {}", step.name))),
            }
        }
    }

    fn attempt(&self, session: &mut dyn Session, step: &Step<'_>) -> Result<Done> {
        match step.keeping {
            MarkOrder::SameTransaction => {
                session.begin()?;
                let done = match (step.work)(session) {
                    Ok(done) => done,
                    Err(error) => {
                        // The driver has rolled back after an error of the database, but not after one of the step's own.
                        session.rollback()?;
                        return Err(error);
                    }
                };
                mark(session, &step.name, done)?;
                session.commit()?;
                Ok(done)
            }
            MarkOrder::Afterwards => {
                let done = (step.work)(session)?;
                mark(session, &step.name, done)?;
                Ok(done)
            }
        }
    }
}

/// Lets whoever was in the way finish.
fn pause(tries: u32) {
    std::thread::park_timeout(Duration::from_millis(u64::from(tries.min(20)) * 10));
}
