//! The executor: a slab of tasks, a ready queue, a wheel of timers and one of two drivers.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, RawWaker, RawWakerVTable, Waker};

#[cfg(not(feature = "real"))]
use crate::absent::BusyPoll;
#[cfg(feature = "real")]
use crate::busy::BusyPoll;
use crate::clock::monotonic;
use crate::context::Context;
use crate::digest::Digest;
use crate::timer::{Timers, Wakes};
use crate::{Nanos, Ring, RingSetup, SECOND};

/// How many polls may pass before the real clock is read again. One reading costs 18 to 30 ns, as much as a poll; in
/// eight polls about a microsecond passes, below what a block device's latency can show.
const POLLS_PER_CLOCK_READ: u32 = 8;

/// How many polls may pass before the ring is entered again, so that completions are not starved by ready tasks.
const POLLS_PER_RING_ENTRY: u32 = 64;

/// A task's place in the slab, with the generation that makes a stale wake-up harmless.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TaskId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

#[derive(Default)]
struct Slot {
    generation: u32,
    queued: bool,
    live: bool,
    // Taken out while the task is polled, so that the task may spawn and wake freely.
    task: Option<Task>,
}

#[derive(Default)]
struct Tasks {
    slots: Vec<Slot>,
    free: Vec<u32>,
    ready: VecDeque<u32>,
}

impl Tasks {
    fn add(&mut self, task: Task) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            let index = u32::try_from(self.slots.len() - 1).ok();
            index.filter(|index| *index < MAIN.index).expect("fewer than 2^31 tasks")
        });
        let slot = &mut self.slots[index as usize];
        slot.task = Some(task);
        slot.live = true;
        slot.queued = true;
        self.ready.push_back(index);
    }

    /// Queues a task to be polled, if it is alive and not queued yet.
    #[inline]
    fn wake(&mut self, index: u32) {
        // Who is woken may be another executor's, see `wake`.
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        if slot.live && !slot.queued {
            slot.queued = true;
            self.ready.push_back(index);
        }
    }

    /// Takes a task out to be polled.
    #[inline]
    fn take(&mut self, index: u32) -> Option<(TaskId, Task)> {
        let slot = &mut self.slots[index as usize];
        slot.queued = false;
        slot.task.take().map(|task| (TaskId { index, generation: slot.generation }, task))
    }

    fn end(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.generation = slot.generation.wrapping_add(1);
        slot.live = false;
        slot.queued = false;
        self.free.push(index);
    }

    fn live(&self) -> usize {
        self.slots.iter().filter(|slot| slot.live).count()
    }
}

pub(crate) enum Driver {
    Virtual,
    #[cfg_attr(not(feature = "real"), expect(dead_code, reason = "no ring can be made in this build"))]
    Real {
        ring: Ring,
        start: Nanos,
        busy: BusyPoll,
    },
}

pub(crate) struct Inner {
    pub(crate) driver: Driver,
    now: Cell<Nanos>,
    clock_is_stale: Cell<bool>,
    tasks: RefCell<Tasks>,
    timers: RefCell<Timers>,
    main_woken: Cell<bool>,
    pub(crate) digest: Digest,
    pub(crate) seed: u64,
}

/// The main future of `block_on` has no slot; this id stands for it. Places of tasks are below it.
const MAIN: TaskId = TaskId { index: (1 << 31) - 1, generation: 0 };

thread_local! {
    // The executor now running on this thread: a waker is only a task id and finds its executor here.
    static CURRENT: RefCell<Vec<Rc<Inner>>> = const { RefCell::new(Vec::new()) };
}

impl Inner {
    #[inline]
    pub(crate) fn now(&self) -> Nanos {
        if self.clock_is_stale.get() {
            self.read_clock();
        }
        self.now.get()
    }

    fn read_clock(&self) {
        if let Driver::Real { start, .. } = self.driver {
            self.now.set(monotonic() - start);
        }
        self.clock_is_stale.set(false);
    }

    #[inline]
    pub(crate) fn is_virtual(&self) -> bool {
        matches!(self.driver, Driver::Virtual)
    }

    pub(crate) fn spawn(&self, task: Task) {
        self.tasks.borrow_mut().add(task);
    }

    #[inline]
    pub(crate) fn wake(&self, id: TaskId) {
        if id == MAIN {
            self.main_woken.set(true);
            return;
        }
        let mut tasks = self.tasks.borrow_mut();
        // A waker can outlive its task, and even its executor: the place may be another's, or not there.
        if tasks.slots.get(id.index as usize).is_some_and(|slot| slot.generation == id.generation) {
            tasks.wake(id.index);
        }
    }

    #[inline]
    pub(crate) fn add_timer(&self, at: Nanos, waker: &Waker) {
        self.timers.borrow_mut().add(at, wakes_of(waker));
    }

    #[inline]
    fn fire(&self, wakes: Wakes) {
        match wakes {
            Wakes::Task(index) if index == MAIN.index as usize => self.main_woken.set(true),
            Wakes::Task(index) => self.tasks.borrow_mut().wake(index as u32),
            Wakes::Waker(waker) => waker.wake(),
        }
    }

    /// Wakes whatever is due now.
    fn fire_due(&self) {
        let now = self.now();
        loop {
            let due = self.timers.borrow_mut().pop_due(now);
            match due {
                Some(wakes) => self.fire(wakes),
                None => return,
            }
        }
    }

    #[inline]
    fn poll(&self, index: u32) {
        let taken = self.tasks.borrow_mut().take(index);
        let Some((id, mut task)) = taken else { return };
        // It owns nothing, so there is nothing to drop.
        let waker = ManuallyDrop::new(waker_of(id));
        if task.as_mut().poll(&mut TaskContext::from_waker(&waker)).is_ready() {
            // Dropping the task may run code that spawns or wakes, so the tasks are not borrowed meanwhile.
            drop(task);
            self.tasks.borrow_mut().end(index);
        } else {
            // The place is empty while the task is polled; forgetting that spares a look.
            std::mem::forget(self.tasks.borrow_mut().slots[index as usize].task.replace(task));
        }
    }

    /// Runs at once whom a timer or completion wakes while nothing else is ready: a task need not queue then.
    #[inline]
    fn run(&self, wakes: Wakes) {
        match wakes {
            Wakes::Task(index) if index != MAIN.index as usize => self.poll(index as u32),
            wakes => self.fire(wakes),
        }
    }

    fn deadlock(&self) -> Deadlock {
        Deadlock { tasks: self.tasks.borrow().live(), at: self.now.get() }
    }

    /// Nothing is ready: lets time pass until something is.
    #[inline]
    fn park(&self) -> Result<(), Deadlock> {
        match &self.driver {
            Driver::Virtual => {
                let next = self.timers.borrow_mut().pop();
                let (at, wakes) = next.ok_or_else(|| self.deadlock())?;
                self.now.set(at);
                self.run(wakes);
            }
            Driver::Real { ring, busy, .. } => {
                let next = self.timers.borrow_mut().next_at();
                let span = match next {
                    Some(at) => {
                        self.clock_is_stale.set(true);
                        // A day at most per wait: the loop comes back here anyway, and the kernel's timespec cannot
                        // overflow.
                        Some(at.saturating_sub(self.now()).min(86_400 * SECOND))
                    }
                    None if ring.in_flight() == 0 => return Err(self.deadlock()),
                    None => None,
                };
                if !busy.look(ring, span) {
                    ring.wait(span);
                }
                self.clock_is_stale.set(true);
                let mut polls = POLLS_PER_RING_ENTRY;
                ring.reap(polls as usize, |wakes| {
                    self.spend(&mut polls);
                    self.run(wakes);
                });
                if next.is_some() {
                    self.fire_due();
                }
            }
        }
        Ok(())
    }

    /// Takes a poll from what may still pass before the ring is entered again.
    #[inline]
    fn spend(&self, polls: &mut u32) {
        if polls.is_multiple_of(POLLS_PER_CLOCK_READ) && !self.is_virtual() {
            self.clock_is_stale.set(true);
        }
        *polls -= 1;
    }

    /// Runs ready tasks until the main future is, or no polls are left; true if no task is left.
    #[inline]
    fn run_ready(&self, polls: &mut u32) -> bool {
        while *polls > 0 {
            let Some(index) = self.tasks.borrow_mut().ready.pop_front() else { return true };
            self.spend(polls);
            self.poll(index);
            if self.main_woken.get() {
                return false;
            }
        }
        false
    }

    fn serve_ring(&self) {
        if let Driver::Real { ring, .. } = &self.driver {
            ring.poll();
            self.clock_is_stale.set(true);
            ring.reap(usize::MAX, |wakes| self.fire(wakes));
            let next = self.timers.borrow_mut().next_at();
            if next.is_some_and(|at| at <= self.now()) {
                self.fire_due();
            }
        }
    }
}

/// Every task waits and no timer or I/O is pending: nothing can ever happen again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlock {
    /// How many tasks wait.
    pub tasks: usize,
    /// When, on the executor's clock.
    pub at: Nanos,
}

impl std::fmt::Display for Deadlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "deadlock at {} ns: {} tasks wait, no timer and no I/O is pending", self.at, self.tasks)
    }
}
impl std::error::Error for Deadlock {}

/// An executor on this thread. Not `Send`: its tasks, timers and buffers never leave the thread.
pub struct Runtime {
    inner: Rc<Inner>,
}

impl Runtime {
    /// An executor in virtual time: the clock jumps to the next timer whenever nothing is ready.
    pub fn virtual_time(seed: u64) -> Self {
        Self::new(Driver::Virtual, seed)
    }

    /// An executor on the monotonic clock with one io_uring.
    ///
    /// # Errors
    /// The kernel's error when a ring cannot be had (too old a kernel, io_uring disabled by sysctl or seccomp).
    #[cfg(feature = "real")]
    pub fn real(setup: RingSetup, seed: u64) -> std::io::Result<Self> {
        // The default slack of 50 us would be added to each modelled latency.
        // SAFETY: PR_SET_TIMERSLACK takes an integer and touches no memory.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        let ring = Ring::new(setup)?;
        let busy = if setup.busy_poll { BusyPoll::measured(&ring) } else { BusyPoll::default() };
        Ok(Self::new(Driver::Real { ring, start: monotonic(), busy }, seed))
    }

    /// The real driver is not in this build.
    ///
    /// # Errors
    /// Always, as unsupported.
    #[cfg(not(feature = "real"))]
    pub fn real(_: RingSetup, _: u64) -> std::io::Result<Self> {
        let why = "this build has no real driver: it was made without the feature `real`";
        Err(std::io::Error::new(std::io::ErrorKind::Unsupported, why))
    }

    fn new(driver: Driver, seed: u64) -> Self {
        Self {
            inner: Rc::new(Inner {
                driver,
                now: Cell::new(0),
                clock_is_stale: Cell::new(false),
                tasks: RefCell::default(),
                timers: RefCell::new(Timers::new(seed)),
                main_woken: Cell::new(false),
                digest: Digest::default(),
                seed,
            }),
        }
    }

    /// What tasks are handed: clock, sleep, spawn, randomness.
    pub fn context(&self) -> Context {
        Context::new(Rc::clone(&self.inner))
    }

    /// Runs a future, and every spawned task beside it, until the future is done. Tasks that are not done stay and go
    /// on at the next call.
    ///
    /// # Errors
    /// [`Deadlock`] when nothing can ever wake the future again.
    pub fn block_on<F: Future>(&self, future: F) -> Result<F::Output, Deadlock> {
        let _running = Running::enter(&self.inner);
        let inner = &self.inner;
        let mut future = std::pin::pin!(future);
        let waker = waker_of(MAIN);
        inner.clock_is_stale.set(true);
        inner.main_woken.set(true);
        let mut polls = POLLS_PER_RING_ENTRY;
        loop {
            if inner.main_woken.replace(false) {
                inner.spend(&mut polls);
                if let Poll::Ready(output) = future.as_mut().poll(&mut TaskContext::from_waker(&waker)) {
                    return Ok(output);
                }
            }
            let idle = inner.run_ready(&mut polls) && !inner.main_woken.get();
            if idle {
                inner.park()?;
            } else if polls == 0 {
                inner.serve_ring();
            } else {
                continue;
            }
            polls = POLLS_PER_RING_ENTRY;
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // Tasks hold contexts, which hold the executor: take the tasks out first, or the cycle never ends. Their
        // destructors may wake each other.
        let _running = Running::enter(&self.inner);
        let tasks: Vec<Task> =
            self.inner.tasks.borrow_mut().slots.iter_mut().filter_map(|slot| slot.task.take()).collect();
        drop(tasks);
    }
}

struct Running;

impl Running {
    fn enter(inner: &Rc<Inner>) -> Self {
        CURRENT.with_borrow_mut(|stack| stack.push(Rc::clone(inner)));
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(Vec::pop);
    }
}

// A waker is the task id itself, packed in the data pointer: cloning and dropping cost nothing. A 64-bit pointer is
// needed to hold it.
const _: () = assert!(size_of::<*const ()>() == 8);

static VTABLE: RawWakerVTable =
    RawWakerVTable::new(|data| RawWaker::new(data, &VTABLE), wake_raw, wake_raw, |_| {});

fn wake_raw(data: *const ()) {
    let packed = data.addr() as u64;
    let id = TaskId { index: (packed >> 32) as u32, generation: packed as u32 };
    // A wake from a thread that runs no executor has nobody to wake; other threads talk to an executor through a file
    // descriptor on its ring.
    let current = CURRENT.with_borrow(|stack| stack.last().cloned());
    if let Some(inner) = current {
        inner.wake(id);
    }
}

fn waker_of(id: TaskId) -> Waker {
    let packed = (u64::from(id.index) << 32) | u64::from(id.generation);
    let data = std::ptr::without_provenance(packed as usize);
    // SAFETY: the vtable's functions treat the pointer as an integer and own nothing, so every clone, wake and drop
    // is sound on any thread.
    unsafe { Waker::from_raw(RawWaker::new(data, &VTABLE)) }
}

/// Whom a waker wakes; one of an executor's own is a number.
#[inline]
pub(crate) fn wakes_of(waker: &Waker) -> Wakes {
    match task_of(waker) {
        Some(id) => Wakes::Task(id.index as usize),
        None => Wakes::Waker(waker.clone()),
    }
}

/// Wakes on behalf of whatever executor runs on this thread.
#[cfg(feature = "real")]
pub(crate) fn wake(wakes: Wakes) {
    let current = CURRENT.with_borrow(|stack| stack.last().cloned());
    match (current, wakes) {
        (Some(inner), wakes) => inner.fire(wakes),
        (None, Wakes::Waker(waker)) => waker.wake(),
        // As in `wake_raw`.
        (None, Wakes::Task(_)) => {}
    }
}

#[inline]
fn task_of(waker: &Waker) -> Option<TaskId> {
    std::ptr::eq(waker.vtable(), &VTABLE).then(|| {
        let packed = waker.data().addr() as u64;
        TaskId { index: (packed >> 32) as u32, generation: packed as u32 }
    })
}
