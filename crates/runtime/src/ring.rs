//! The io_uring of the real driver: operations as futures, registered buffers and files.

mod failure;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};

use io_uring::opcode;
use io_uring::squeue::Entry;
use io_uring::types::{CancelBuilder, Timespec};

use crate::entries::{AnyEntry, Entries, Queue};
use crate::tasks::{wake, wakes_of};
use crate::timer::Wakes;
use crate::{Nanos, RingSetup, SECOND};
use failure::{Failure, retryable};

/// Completions taken out of the queue at a time.
const BATCH: usize = 16;

/// Entries handed over at a time to devices that are to begin soon: few enough that the first need not wait for the last
/// to be prepared, enough that the calls do not show in the cost.
const PIECE: u32 = 4;
/// As [`PIECE`], where most of what waits may begin late: each call costs, and so does telling the device.
const LONGEST_PIECE: u32 = 32;

/// User data of an entry that belongs to no slot: a cancellation, whose answer says nothing of interest.
const NOBODY: u64 = u64::MAX;

enum State {
    Free,
    Waiting(Wakes),
    Done(i32),
    // The future was dropped: the slot and what it keeps alive go when the kernel has answered.
    Abandoned,
}

struct Slot {
    state: State,
    // What the kernel reads or writes; it must outlive the operation, whatever becomes of the future.
    keep: Option<Rc<dyn Any>>,
}

struct Queues {
    ring: Entries,
    slots: Vec<Slot>,
    free: Vec<u32>,
}

struct Shared {
    queues: RefCell<Queues>,
    in_flight: Cell<usize>,
    // How many entries wait whose device is idle until it gets them.
    prompt: Cell<u32>,
    files: RefCell<Vec<u32>>,
    buffers: RefCell<Vec<u16>>,
    failure: Failure,
}

/// A handle on the ring; cheap to clone.
#[derive(Clone)]
pub struct Ring(Rc<Shared>);

impl Ring {
    pub(crate) fn new(setup: RingSetup) -> io::Result<Self> {
        let ring = Entries::new(setup)?;
        let files = register(setup.files, |count| ring.submitter().register_files_sparse(count));
        let buffers = register(setup.buffers, |count| ring.submitter().register_buffers_sparse(count));
        Ok(Self(Rc::new(Shared {
            queues: RefCell::new(Queues { ring, slots: Vec::new(), free: Vec::new() }),
            in_flight: Cell::new(0),
            prompt: Cell::new(0),
            files: RefCell::new((0..files).rev().collect()),
            buffers: RefCell::new((0..buffers as u16).rev().collect()),
            failure: Failure::default(),
        })))
    }

    /// An operation. The entry's user data is overwritten. `keep` lives until the kernel has answered, even if the
    /// future is dropped before.
    ///
    /// The future yields the kernel's result: a count, or a negated errno. The operation starts when it is first
    /// polled; the kernel sees the entry when the executor has run what is ready, or at [`Ring::submit`], and a file
    /// descriptor in it must stay open until then.
    ///
    /// # Safety
    /// All memory the entry points to must be kept alive and in place by `keep`.
    pub unsafe fn start<E: AnyEntry>(&self, entry: E, keep: Option<Rc<dyn Any>>) -> Op<'_, impl Make> {
        // SAFETY: as the caller vouches.
        unsafe { self.start_with(move || (entry, keep)) }
    }

    /// As [`Ring::start`], with an entry that is made when the operation starts: the future need not hold it.
    ///
    /// # Safety
    /// All memory the entry points to must be kept alive and in place by what is kept.
    pub unsafe fn start_with<M: Make>(&self, make: M) -> Op<'_, M> {
        Op { ring: self, stage: Stage::New(make) }
    }

    // Inlined, so that an entry is written where it is queued.
    #[inline(always)]
    fn push<E: AnyEntry>(&self, (entry, keep): (E, Option<Rc<dyn Any>>), waker: &Waker) -> u32 {
        let mut queues = self.0.queues.borrow_mut();
        let Queues { slots, free, ring } = &mut *queues;
        let index = free.pop().unwrap_or_else(|| add_slot(slots));
        // Field by field: a structure would be built on the stack and copied.
        let slot = &mut slots[index as usize];
        slot.state = State::Waiting(wakes_of(waker));
        slot.keep = keep;
        let entry = entry.marked(u64::from(index));
        // SAFETY: who started the operation vouches for the entry's memory; `keep` is held until its completion.
        if unsafe { entry.queue(&mut Queue(ring)) } {
            self.0.in_flight.set(self.0.in_flight.get() + 1);
        } else {
            drop(queues);
            // SAFETY: as above.
            unsafe { self.send(entry) };
        }
        index
    }

    /// Puts an entry into the submission queue, whose entries go to the kernel first if there is no room.
    ///
    /// # Safety
    /// What the entry points to stays in place until its completion.
    #[cold]
    unsafe fn send<E: AnyEntry>(&self, entry: E) {
        // SAFETY: by contract.
        while !unsafe { entry.queue(&mut Queue(&mut self.0.queues.borrow_mut().ring)) } {
            self.submit();
            if self.0.failure.is_there() {
                // Whoever waits for it has been told.
                return;
            }
        }
        self.0.in_flight.set(self.0.in_flight.get() + 1);
    }

    /// The result of an operation, once; None while the kernel works on it, which then wakes `waker`.
    #[inline(always)]
    fn take(&self, index: u32, waker: &Waker) -> Option<i32> {
        let mut queues = self.0.queues.borrow_mut();
        let Queues { slots, free, .. } = &mut *queues;
        let slot = &mut slots[index as usize];
        if let State::Done(result) = slot.state {
            slot.state = State::Free;
            free.push(index);
            return Some(result);
        }
        assert!(matches!(slot.state, State::Waiting(_)), "an operation is not polled after its end");
        slot.state = State::Waiting(wakes_of(waker));
        None
    }

    fn abandon(&self, index: u32) {
        let mut queues = self.0.queues.borrow_mut();
        let slot = &mut queues.slots[index as usize];
        if matches!(slot.state, State::Done(_)) {
            slot.state = State::Free;
            queues.free.push(index);
            return;
        }
        slot.state = State::Abandoned;
        drop(queues);
        // Nobody waits for it any more: a wait on a socket ends here, a transfer on its way to a disk is carried out.
        let cancel: Entry = opcode::AsyncCancel::new(u64::from(index)).build();
        // SAFETY: the entry points to nothing.
        unsafe { self.send(cancel.marked(NOBODY)) };
    }

    /// Passes when the kernel has answered whatever it answers at once of what was started before.
    pub async fn turn(&self) {
        // SAFETY: the entry points to nothing.
        unsafe { self.start(opcode::Nop::new().build(), None) }.await;
    }

    /// Whether it takes entries of 128 bytes.
    pub fn is_wide(&self) -> bool {
        self.0.queues.borrow().ring.is_wide()
    }

    /// Operations the kernel has not answered yet.
    pub fn in_flight(&self) -> usize {
        self.0.in_flight.get() + self.0.failure.waits()
    }

    /// Hands the entries that wait in the submission queue to the kernel: before a file is closed, or the queue is full.
    pub fn submit(&self) {
        while !self.0.failure.is_there() && self.0.queues.borrow_mut().ring.waiting() > 0 {
            let submitted = self.0.queues.borrow().ring.submitter().submit();
            match submitted {
                Ok(_) => {}
                // EBUSY: so many completions wait that the kernel takes nothing in until they are taken out.
                Err(error) if retryable(&error) => self.reap(usize::MAX, wake),
                refused => self.entered(refused),
            }
        }
    }

    /// Registers a file; the index is for [`io_uring::types::Fixed`]. None when the table is full or not available.
    pub fn register_file(&self, descriptor: i32) -> Option<u32> {
        let index = self.0.files.borrow_mut().pop()?;
        let registered = self.0.queues.borrow().ring.submitter().register_files_update(index, &[descriptor]);
        if registered.is_err() {
            self.0.files.borrow_mut().push(index);
            return None;
        }
        Some(index)
    }

    /// Gives a registered file's place back.
    pub fn unregister_file(&self, index: u32) {
        // Entries that name the place must not meet another file there.
        self.submit();
        // An error here leaves the place taken, which costs one of a few dozen places and nothing else.
        if self.0.queues.borrow().ring.submitter().register_files_update(index, &[-1]).is_ok() {
            self.0.files.borrow_mut().push(index);
        }
    }

    /// Registers a region of memory for ReadFixed and WriteFixed. None when the table is full, the kernel too old, or
    /// RLIMIT_MEMLOCK too low.
    ///
    /// # Safety
    /// The region must stay mapped until [`Ring::unregister_buffer`] or the end of the ring.
    pub unsafe fn register_buffer(&self, start: *mut u8, length: usize) -> Option<u16> {
        let index = self.0.buffers.borrow_mut().pop()?;
        let region = libc::iovec { iov_base: start.cast(), iov_len: length };
        // SAFETY: the caller keeps the region mapped.
        let registered = unsafe {
            self.0.queues.borrow().ring.submitter().register_buffers_update(u32::from(index), &[region], None)
        };
        if registered.is_err() {
            self.0.buffers.borrow_mut().push(index);
            return None;
        }
        Some(index)
    }

    /// Gives a registered region back.
    pub fn unregister_buffer(&self, index: u16) {
        self.submit();
        let nothing = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        // SAFETY: an empty region refers to no memory.
        let released = unsafe {
            self.0.queues.borrow().ring.submitter().register_buffers_update(
                u32::from(index),
                &[nothing],
                None,
            )
        };
        if released.is_ok() {
            self.0.buffers.borrow_mut().push(index);
        }
    }

    /// The entry just made is for a device that works at its own pace (direct I/O): of many entries that wait, the kernel
    /// gets a few at a time. Handed over together they would all be held back until the last is prepared, some
    /// microseconds each, and would reach the device as one burst. Where the kernel answers at once, from its page cache
    /// or a socket, that would only cost more calls. The same holds for background work, which has no waiter.
    #[inline]
    pub fn be_prompt(&self) {
        self.0.prompt.set(self.0.prompt.get() + 1);
    }

    /// Hands over all but the last few entries, if some are to be prompt: in pieces with about as many of those.
    #[inline]
    fn hand_over(&self) {
        let prompt = self.0.prompt.replace(0);
        if prompt == 0 {
            return;
        }
        let mut queues = self.0.queues.borrow_mut();
        let piece = (queues.ring.waiting() as u32 * PIECE / prompt).clamp(PIECE, LONGEST_PIECE);
        while queues.ring.waiting() > piece as usize {
            // SAFETY: no argument structure is passed; the ring's own queues are used.
            let entered = unsafe { queues.ring.submitter().enter::<libc::sigset_t>(piece, 0, 0, None) };
            if !entered.is_ok_and(|taken| taken > 0) {
                // Whoever enters next deals with it, and with what is left.
                return;
            }
        }
    }

    /// Hands pending entries to the kernel and has it tell what is complete, without waiting.
    pub(crate) fn poll(&self) {
        if self.0.failure.is_there() {
            return self.0.failure.poll(Some(0));
        }
        if self.in_flight() == 0 {
            return;
        }
        self.hand_over();
        // With DEFER_TASKRUN, completions appear only when the kernel is entered with GETEVENTS.
        const GETEVENTS: u32 = 1;
        let entered = {
            let mut queues = self.0.queues.borrow_mut();
            let pending = queues.ring.waiting() as u32;
            // SAFETY: no argument structure is passed; the ring's own queues are used.
            unsafe { queues.ring.submitter().enter::<libc::sigset_t>(pending, 0, GETEVENTS, None) }
        };
        self.entered(entered);
    }

    /// As [`Ring::poll`], but waits for one completion: for ever, or for a span in ns.
    pub(crate) fn wait(&self, span: Option<Nanos>) {
        if self.0.failure.is_there() {
            return self.0.failure.poll(span);
        }
        let span = span.map(|span| Timespec::new().sec(span / SECOND).nsec((span % SECOND) as u32));
        self.hand_over();
        let entered = self.0.queues.borrow().ring.wait(span);
        self.entered(entered);
    }

    /// Whether completions can be taken out, or everybody has been answered for a failure.
    pub(crate) fn has_completions(&self) -> bool {
        self.0.failure.is_there() || !self.0.queues.borrow_mut().ring.completion().is_empty()
    }

    /// Takes out at most this many completions and wakes their waiters. Waking may start operations, and end them.
    #[inline]
    pub(crate) fn reap(&self, most: usize, mut wake: impl FnMut(Wakes)) {
        let mut batch = [(NOBODY, 0_i32); BATCH];
        let mut woken = [const { None }; BATCH];
        let mut taken = 0;
        // After a failure everybody has been answered.
        while taken < most && !self.0.failure.is_there() {
            let mut count = 0;
            let mut queues = self.0.queues.borrow_mut();
            for (place, completion) in batch.iter_mut().take(most - taken).zip(queues.ring.completion()) {
                *place = (completion.user_data(), completion.result());
                count += 1;
            }
            drop(queues);
            self.0.in_flight.set(self.0.in_flight.get() - count);
            // First all ends, then all wakes: what the ends touch is in no cache any more, and is fetched side by side.
            for ((user_data, result), wakes) in batch[..count].iter().zip(&mut woken) {
                *wakes = if *user_data == NOBODY { None } else { self.complete(*user_data as u32, *result) };
            }
            woken[..count].iter_mut().filter_map(Option::take).for_each(&mut wake);
            if count < BATCH {
                return;
            }
            taken += count;
        }
    }

    #[inline]
    fn complete(&self, index: u32, result: i32) -> Option<Wakes> {
        let mut queues = self.0.queues.borrow_mut();
        let Queues { slots, free, .. } = &mut *queues;
        let slot = &mut slots[index as usize];
        let keep = slot.keep.take();
        let waiting = matches!(slot.state, State::Waiting(_));
        let known =
            std::mem::replace(&mut slot.state, if waiting { State::Done(result) } else { State::Free });
        let wakes = if let State::Waiting(wakes) = known {
            Some(wakes)
        } else {
            assert!(matches!(known, State::Abandoned), "the kernel answers each operation once");
            free.push(index);
            None
        };
        // What is kept may itself hold the ring.
        drop(queues);
        drop(keep);
        wakes
    }
}

#[cold]
fn add_slot(slots: &mut Vec<Slot>) -> u32 {
    slots.push(Slot { state: State::Free, keep: None });
    (slots.len() - 1) as u32
}

fn register(count: u32, call: impl FnOnce(u32) -> io::Result<()>) -> u32 {
    if count > 0 && call(count).is_ok() { count } else { 0 }
}

/// Makes an operation's entry and names what the kernel works on meanwhile.
pub trait Make {
    /// Narrow or wide.
    type Entry: AnyEntry;

    /// The entry, and what must stay in place until its completion.
    fn make(self) -> (Self::Entry, Option<Rc<dyn Any>>);
}

impl<E: AnyEntry, F: FnOnce() -> (E, Option<Rc<dyn Any>>)> Make for F {
    type Entry = E;

    #[inline]
    fn make(self) -> (E, Option<Rc<dyn Any>>) {
        self()
    }
}

/// An operation of the kernel; yields its result. Made by [`Ring::start`].
#[must_use = "an operation does nothing unless awaited"]
pub struct Op<'a, M> {
    ring: &'a Ring,
    stage: Stage<M>,
}

enum Stage<M> {
    New(M),
    Running(u32),
    Over,
}

// Nothing in it is ever pinned: `make` is only moved out and called.
impl<M> Unpin for Op<'_, M> {}

impl<M: Make> Future for Op<'_, M> {
    type Output = i32;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<i32> {
        if let Stage::Running(index) = self.stage {
            let Some(result) = self.ring.take(index, task.waker()) else { return Poll::Pending };
            self.stage = Stage::Over;
            return Poll::Ready(result);
        }
        let Stage::New(make) = std::mem::replace(&mut self.stage, Stage::Over) else {
            unreachable!("a future is not polled after its end")
        };
        if self.ring.0.failure.is_there() {
            return Poll::Ready(-libc::EIO);
        }
        let index = self.ring.push(make.make(), task.waker());
        self.stage = Stage::Running(index);
        Poll::Pending
    }
}

impl<M> Drop for Op<'_, M> {
    #[inline]
    fn drop(&mut self) {
        if let Stage::Running(index) = self.stage {
            self.ring.abandon(index);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The kernel may still write to memory held here: wait for it before that is freed. What waits for somebody
        // else (a socket, a timeout) is called off first, or it might take for ever.
        let Queues { ring, slots, .. } = self.queues.get_mut();
        let mut in_flight = self.in_flight.get();
        if self.failure.is_there() {
            // Nobody knows what it will still write to.
            std::mem::forget(std::mem::take(slots));
            return;
        }
        if in_flight > 0 {
            let everything = CancelBuilder::any();
            // An error (kernels before 6.0 cannot) leaves the wait below as it was.
            let submitted = ring.submitter().submit();
            let _ = submitted.and_then(|_| ring.submitter().register_sync_cancel(None, everything));
        }
        while in_flight > 0 {
            if let Err(error) = ring.submitter().submit_and_wait(1)
                && !retryable(&error)
            {
                // Memory the kernel might write to must never be freed; leaking it is the safe end.
                std::mem::forget(std::mem::take(slots));
                return;
            }
            in_flight = in_flight.saturating_sub(ring.completion().count());
        }
    }
}
