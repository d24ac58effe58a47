//! The tasks of an executor: a slab of futures, the queue of those that are ready, and what wakes them.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, RawWaker, RawWakerVTable, Waker};

use crate::timer::Wakes;

/// A task's place in the slab, with the generation that makes a stale wake-up harmless.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct TaskId {
    index: u32,
    generation: u32,
}

/// The main future of `block_on` has no slot; this id stands for it. Places of tasks are below it.
const MAIN: TaskId = TaskId { index: (1 << 31) - 1, generation: 0 };

thread_local! {
    // The executor now running on this thread: a waker is only a task id and finds its executor here.
    static CURRENT: RefCell<Vec<Rc<Tasks>>> = const { RefCell::new(Vec::new()) };
}

pub(crate) type Task = Pin<Box<dyn Future<Output = ()>>>;

#[derive(Default)]
struct Slot {
    generation: u32,
    queued: bool,
    live: bool,
    // Taken out while the task is polled, so that the task may spawn and wake freely.
    task: Option<Task>,
}

#[derive(Default)]
struct Slab {
    slots: Vec<Slot>,
    free: Vec<u32>,
    ready: VecDeque<u32>,
}

impl Slab {
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
}

/// The tasks of one executor, and whether its main future was woken.
#[derive(Default)]
pub(crate) struct Tasks {
    slab: RefCell<Slab>,
    main_woken: Cell<bool>,
}

impl Tasks {
    pub(crate) fn spawn(&self, task: Task) {
        self.slab.borrow_mut().add(task);
    }

    #[inline]
    fn wake(&self, id: TaskId) {
        if id == MAIN {
            self.main_woken.set(true);
            return;
        }
        let mut slab = self.slab.borrow_mut();
        // A waker can outlive its task, and even its executor: the place may be another's, or not there.
        if slab.slots.get(id.index as usize).is_some_and(|slot| slot.generation == id.generation) {
            slab.wake(id.index);
        }
    }

    #[inline]
    pub(crate) fn fire(&self, wakes: Wakes) {
        match wakes {
            Wakes::Task(index) if index == MAIN.index as usize => self.main_woken.set(true),
            Wakes::Task(index) => self.slab.borrow_mut().wake(index as u32),
            Wakes::Waker(waker) => waker.wake(),
        }
    }

    /// Runs at once whom a timer or completion wakes while nothing else is ready: a task need not queue then.
    #[inline]
    pub(crate) fn run(&self, wakes: Wakes) {
        match wakes {
            Wakes::Task(index) if index != MAIN.index as usize => self.poll(index as u32),
            wakes => self.fire(wakes),
        }
    }

    /// The next task to be polled.
    #[inline]
    pub(crate) fn next_ready(&self) -> Option<u32> {
        self.slab.borrow_mut().ready.pop_front()
    }

    #[inline]
    pub(crate) fn poll(&self, index: u32) {
        let taken = self.slab.borrow_mut().take(index);
        let Some((id, mut task)) = taken else { return };
        // It owns nothing, so there is nothing to drop.
        let waker = ManuallyDrop::new(waker_of(id));
        if task.as_mut().poll(&mut TaskContext::from_waker(&waker)).is_ready() {
            // Dropping the task may run code that spawns or wakes, so the tasks are not borrowed meanwhile.
            drop(task);
            self.slab.borrow_mut().end(index);
        } else {
            // The place is empty while the task is polled; forgetting that spares a check.
            std::mem::forget(self.slab.borrow_mut().slots[index as usize].task.replace(task));
        }
    }

    /// Whether the main future was woken, or is to be polled first.
    #[inline]
    pub(crate) fn main_woken(&self) -> &Cell<bool> {
        &self.main_woken
    }

    /// How many there are.
    pub(crate) fn live(&self) -> usize {
        self.slab.borrow().slots.iter().filter(|slot| slot.live).count()
    }

    /// Takes all of them out.
    pub(crate) fn take_all(&self) -> Vec<Task> {
        self.slab.borrow_mut().slots.iter_mut().filter_map(|slot| slot.task.take()).collect()
    }
}

/// While it lives, wakers on this thread wake these tasks.
pub(crate) struct Running;

impl Running {
    pub(crate) fn enter(tasks: &Rc<Tasks>) -> Self {
        CURRENT.with_borrow_mut(|stack| stack.push(Rc::clone(tasks)));
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
    if let Some(tasks) = current {
        tasks.wake(id);
    }
}

/// The waker of the future that `block_on` runs.
pub(crate) fn main_waker() -> Waker {
    waker_of(MAIN)
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
        (Some(tasks), wakes) => tasks.fire(wakes),
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
