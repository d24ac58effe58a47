//! The open loop: requests arrive independently of each other's completion, and latency counts from the arrival.
//!
//! An arrival that finds no free user waits in the backlog, and its waiting is part of its latency, so that a stall of
//! the device shows in full: the clock does not stop for requests that could not be sent
//! (coordinated omission). An arrival that finds the backlog full is refused and counted as such.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::pin;
use std::rc::Rc;

use fathom_runtime::{Nanos, Oneshot, Random};
use fathom_volume::{Pool, Statistics};

use super::stage::Stage;
use super::user::User;
use super::verify::Verifier;
use fathom_job::draw::ArrivalProcess;
use fathom_job::outcome::Failure;

/// Arrivals, those who serve them, and those who wait.
pub struct OpenLoop {
    stage: Rc<Stage>,
    statistics: Rc<Statistics>,
    verifier: Option<Rc<Verifier>>,
    pool: Pool,
    random: RefCell<Random>,
    // Users that have not been needed yet.
    fresh: RefCell<Vec<User>>,
    // Those that wait for work: where to put it and whom to wake.
    idle: RefCell<Vec<Rc<Next>>>,
    backlog: RefCell<VecDeque<Nanos>>,
    most: usize,
    account: Cell<Account>,
}

/// Arrivals that find no free user.
pub struct Backlog {
    /// Those that wait since the phase before.
    pub waiting: VecDeque<Nanos>,
    /// How many may wait.
    pub most: u32,
}

/// What became of the arrivals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    /// Arrivals.
    pub arrived: u64,
    /// Those refused because the backlog was full.
    pub refused: u64,
    /// Most that waited at once.
    pub longest: u64,
    /// How long after they were due those that were not refused came, all together: a timer of the real clock is late,
    /// and on a busy machine late by much.
    pub late: Nanos,
}

/// The next arrival for a user without work; None when it is to leave.
type Next = Oneshot<Option<Nanos>>;

impl OpenLoop {
    /// Starts the arrivals; users are started as they are needed. Those that wait since the phase before come first.
    pub fn start(
        stage: &Rc<Stage>,
        users: Vec<User>,
        mut process: ArrivalProcess,
        Backlog { waiting, most }: Backlog,
        statistics: &Rc<Statistics>,
        pool: &Pool,
        verifier: Option<&Rc<Verifier>>,
    ) -> Rc<Self> {
        let open_loop = Rc::new(Self {
            stage: Rc::clone(stage),
            statistics: Rc::clone(statistics),
            verifier: verifier.cloned(),
            pool: pool.clone(),
            random: RefCell::new(stage.context.random("io/payload")),
            fresh: RefCell::new(users),
            idle: RefCell::default(),
            backlog: RefCell::default(),
            most: most as usize,
            account: Cell::default(),
        });
        waiting.into_iter().for_each(|at| open_loop.take(at));
        let present = stage.enter();
        let door = Rc::clone(&open_loop);
        stage.context.spawn(async move {
            let _present = present;
            let begin = door.stage.context.now();
            loop {
                let at = begin + process.next_at();
                let due = pin!(door.stage.context.sleep_until(at));
                door.stage.unless_stopped(due).await;
                if door.stage.is_stopped() || door.stage.left() == 0 {
                    break;
                }
                door.arrive(at);
            }
            door.close();
        });
        open_loop
    }

    /// What became of the arrivals so far.
    pub fn account(&self) -> Account {
        self.account.get()
    }

    /// Takes out the arrivals that wait, for the next phase.
    pub fn leave_waiting(&self) -> VecDeque<Nanos> {
        self.backlog.take()
    }

    /// Arrivals that wait now.
    pub fn waiting(&self) -> usize {
        self.backlog.borrow().len()
    }

    /// Forgets the arrivals of the ramp.
    pub fn restart(&self) {
        self.account.set(Account { longest: self.waiting() as u64, ..Account::default() });
    }

    fn arrive(self: &Rc<Self>, at: Nanos) {
        let mut account = self.account.get();
        account.arrived += 1;
        let is_full = self.waiting() >= self.most;
        if is_full && self.idle.borrow().is_empty() && self.fresh.borrow().is_empty() {
            account.refused += 1;
            self.account.set(account);
            return;
        }
        let now = self.stage.context.now();
        account.late += now.saturating_sub(at);
        self.account.set(account);
        self.take(at);
        self.statistics.begin(now);
    }

    /// Gives an arrival to a user, or has it wait for one.
    fn take(self: &Rc<Self>, at: Nanos) {
        let free = self.idle.borrow_mut().pop();
        if let Some(idle) = free {
            return idle.give(Some(at));
        }
        let fresh = self.fresh.borrow_mut().pop();
        if let Some(user) = fresh {
            return self.employ(user, at);
        }
        self.backlog.borrow_mut().push_back(at);
        let mut account = self.account.get();
        account.longest = account.longest.max(self.waiting() as u64);
        self.account.set(account);
    }

    fn employ(self: &Rc<Self>, mut user: User, arrival: Nanos) {
        let open_loop = Rc::clone(self);
        let present = self.stage.enter();
        user.give_buffer(&self.pool, &mut self.random.borrow_mut());
        self.stage.context.spawn(async move {
            let _present = present;
            let idle = Rc::new(Next::default());
            let mut next = Some(arrival);
            while let Some(arrival) = next {
                if !open_loop.serve(&mut user, arrival).await {
                    break;
                }
                next = open_loop.next(&idle).await;
            }
        });
    }

    /// Carries out one request that arrived at that time; false if the user is to leave.
    async fn serve(&self, user: &mut User, arrival: Nanos) -> bool {
        let operation = match &self.verifier {
            None => user.source.next(),
            Some(verifier) => verifier.choose(&mut user.source).await,
        };
        let begun = self.stage.context.now();
        if !self.stage.admit(operation.length) {
            self.statistics.end(begun);
            return false;
        }
        let result = match &self.verifier {
            None => user.perform(&operation).await.map_err(Failure::from),
            Some(verifier) => verifier.perform(user, &operation).await,
        };
        let now = self.stage.context.now();
        self.statistics.end(now);
        self.stage.did(1);
        match result {
            Ok(()) => {
                // A timer of the real clock fires a little late; the request still counts from when it was due.
                let waiting = begun.saturating_sub(arrival);
                self.statistics.completed(
                    operation.kind,
                    operation.length,
                    now.saturating_sub(arrival),
                    waiting,
                );
                true
            }
            Err(failure) => {
                self.statistics.failed(operation.kind);
                self.stage.fail(failure);
                false
            }
        }
    }

    /// The next arrival for a user that is done; None when it is to leave.
    async fn next(&self, idle: &Rc<Next>) -> Option<Nanos> {
        if self.over() {
            return None;
        }
        if let Some(arrival) = self.backlog.borrow_mut().pop_front() {
            return Some(arrival);
        }
        self.idle.borrow_mut().push(Rc::clone(idle));
        idle.wait().await
    }

    fn over(&self) -> bool {
        self.stage.is_stopped() || self.stage.left() == 0
    }

    /// No more arrivals: users without work leave, and those that still wait to be served are given up.
    fn close(&self) {
        let now = self.stage.context.now();
        self.backlog.borrow_mut().drain(..).for_each(|_| self.statistics.end(now));
        self.idle.borrow_mut().drain(..).for_each(|idle| idle.give(None));
    }
}
