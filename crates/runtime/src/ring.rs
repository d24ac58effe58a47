//! The io_uring of the real driver: operations as futures, registered buffers and files.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};

use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{IoUring, squeue};

use crate::{Nanos, SECOND};

/// Sizes of the ring.
#[derive(Debug, Clone, Copy)]
pub struct RingSetup {
    /// Entries of the submission queue; a power of two. More operations than that may be in flight.
    pub entries: u32,
    /// How many registered files there can be.
    pub files: u32,
    /// How many registered buffer regions there can be.
    pub buffers: u32,
}

impl Default for RingSetup {
    fn default() -> Self {
        Self { entries: 256, files: 64, buffers: 64 }
    }
}

#[derive(Default)]
enum State {
    #[default]
    Free,
    Waiting(Option<Waker>),
    Done(i32),
    // The future was dropped: the slot and what it keeps alive go when the kernel has answered.
    Abandoned,
}

#[derive(Default)]
struct Slot {
    state: State,
    // Buffers the kernel reads or writes; they must outlive the operation, whatever becomes of the future.
    keep: Option<Box<dyn Any>>,
}

struct Shared {
    ring: RefCell<IoUring>,
    slots: RefCell<Vec<Slot>>,
    free: RefCell<Vec<u32>>,
    in_flight: Cell<usize>,
    unsubmitted: Cell<usize>,
    files: RefCell<Vec<u32>>,
    buffers: RefCell<Vec<u16>>,
}

/// A handle on the ring; cheap to clone.
#[derive(Clone)]
pub struct Ring(Rc<Shared>);

impl Ring {
    pub(crate) fn new(setup: RingSetup) -> io::Result<Self> {
        // Completions are reaped by this thread only and only when it asks (kernel 6.1); older kernels get a plain ring.
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_cqsize(setup.entries * 4)
            .build(setup.entries)
            .or_else(|_| IoUring::builder().setup_cqsize(setup.entries * 4).build(setup.entries))?;
        let files = register(setup.files, |count| ring.submitter().register_files_sparse(count));
        let buffers = register(setup.buffers, |count| ring.submitter().register_buffers_sparse(count));
        Ok(Self(Rc::new(Shared {
            ring: RefCell::new(ring),
            slots: RefCell::default(),
            free: RefCell::default(),
            in_flight: Cell::new(0),
            unsubmitted: Cell::new(0),
            files: RefCell::new((0..files).rev().collect()),
            buffers: RefCell::new((0..buffers as u16).rev().collect()),
        })))
    }

    /// Starts an operation. The entry's user data is overwritten. `keep` lives until the kernel has answered.
    ///
    /// The future yields the kernel's result: a count, or a negated errno.
    ///
    /// # Safety
    /// All memory the entry points to must be kept alive and in place by `keep`.
    pub unsafe fn start(&self, entry: squeue::Entry, keep: Option<Box<dyn Any>>) -> Op {
        let shared = &self.0;
        let mut slots = shared.slots.borrow_mut();
        let index = shared.free.borrow_mut().pop().unwrap_or_else(|| {
            slots.push(Slot::default());
            (slots.len() - 1) as u32
        });
        slots[index as usize] = Slot { state: State::Waiting(None), keep };
        drop(slots);
        let entry = entry.user_data(u64::from(index));
        loop {
            // SAFETY: the caller vouches for the entry's memory; `keep` is held in the slot until its completion.
            let pushed = unsafe { shared.ring.borrow_mut().submission().push(&entry) };
            if pushed.is_ok() {
                break;
            }
            self.submit();
        }
        shared.unsubmitted.set(shared.unsubmitted.get() + 1);
        shared.in_flight.set(shared.in_flight.get() + 1);
        Op { shared: Rc::clone(shared), index, finished: false }
    }

    /// Operations the kernel has not answered yet.
    pub fn in_flight(&self) -> usize {
        self.0.in_flight.get()
    }

    /// Registers a file; the index is for [`io_uring::types::Fixed`]. None when the table is full or not to be had.
    pub fn register_file(&self, descriptor: i32) -> Option<u32> {
        let index = self.0.files.borrow_mut().pop()?;
        let registered = self.0.ring.borrow().submitter().register_files_update(index, &[descriptor]);
        if registered.is_err() {
            self.0.files.borrow_mut().push(index);
            return None;
        }
        Some(index)
    }

    /// Gives a registered file's place back.
    pub fn unregister_file(&self, index: u32) {
        // An error here leaves the place taken, which costs one of a few dozen places and nothing else.
        if self.0.ring.borrow().submitter().register_files_update(index, &[-1]).is_ok() {
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
            self.0.ring.borrow().submitter().register_buffers_update(u32::from(index), &[region], None)
        };
        if registered.is_err() {
            self.0.buffers.borrow_mut().push(index);
            return None;
        }
        Some(index)
    }

    /// Gives a registered region back.
    pub fn unregister_buffer(&self, index: u16) {
        let nothing = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        // SAFETY: an empty region refers to no memory.
        let released = unsafe {
            self.0.ring.borrow().submitter().register_buffers_update(u32::from(index), &[nothing], None)
        };
        if released.is_ok() {
            self.0.buffers.borrow_mut().push(index);
        }
    }

    fn submit(&self) {
        loop {
            match self.0.ring.borrow().submit() {
                Ok(_) => break,
                Err(error) if retryable(&error) => {}
                Err(error) => panic!("io_uring refuses submissions: {error}"),
            }
        }
        self.0.unsubmitted.set(0);
        self.reap();
    }

    /// Hands pending entries to the kernel and takes what is complete; waits up to `wait` ns for one completion if
    /// `wait` is given.
    pub(crate) fn enter(&self, wait: Option<Nanos>) {
        let shared = &self.0;
        let want = usize::from(wait.is_some_and(|span| span > 0));
        if wait.is_none() && shared.in_flight.get() == 0 {
            return;
        }
        let span = wait.unwrap_or(0);
        let timespec = Timespec::new().sec(span / SECOND).nsec((span % SECOND) as u32);
        let args = SubmitArgs::new().timespec(&timespec);
        let entered = {
            let ring = shared.ring.borrow();
            if want == 1 { ring.submitter().submit_with_args(1, &args) } else { submit_and_poll(&ring) }
        };
        match entered {
            Ok(_) => shared.unsubmitted.set(0),
            // ETIME: the wait is over; EBUSY: completions must be reaped first; EINTR: a signal. All come back here.
            Err(error) if error.raw_os_error() == Some(libc::ETIME) => shared.unsubmitted.set(0),
            Err(error) if retryable(&error) => {}
            Err(error) => panic!("io_uring_enter failed: {error}"),
        }
        self.reap();
    }

    fn reap(&self) {
        let shared = &self.0;
        loop {
            // One at a time out of the borrow: a waker may start new operations.
            let Some(completion) = shared.ring.borrow_mut().completion().next() else { return };
            let index = completion.user_data() as u32;
            shared.in_flight.set(shared.in_flight.get() - 1);
            let mut slots = shared.slots.borrow_mut();
            let slot = &mut slots[index as usize];
            let keep = slot.keep.take();
            let waker = match std::mem::take(&mut slot.state) {
                State::Waiting(waker) => {
                    slot.state = State::Done(completion.result());
                    waker
                }
                State::Abandoned => {
                    shared.free.borrow_mut().push(index);
                    None
                }
                State::Free | State::Done(_) => unreachable!("the kernel answers each operation once"),
            };
            drop(slots);
            drop(keep);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

fn submit_and_poll(ring: &IoUring) -> io::Result<usize> {
    // With DEFER_TASKRUN, completions appear only when the kernel is entered with GETEVENTS.
    const GETEVENTS: u32 = 1;
    // SAFETY: no argument structure is passed; the ring's own queues are used.
    unsafe { ring.submitter().enter::<libc::sigset_t>(ring_pending(ring), 0, GETEVENTS, None) }
}

fn ring_pending(ring: &IoUring) -> u32 {
    // SAFETY: the shared queue is only looked at; this thread is the only one that pushes.
    unsafe { ring.submission_shared().len() as u32 }
}

fn retryable(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}

fn register(count: u32, call: impl FnOnce(u32) -> io::Result<()>) -> u32 {
    if count > 0 && call(count).is_ok() { count } else { 0 }
}

/// An operation the kernel works on; yields its result.
pub struct Op {
    shared: Rc<Shared>,
    index: u32,
    finished: bool,
}

impl Future for Op {
    type Output = i32;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<i32> {
        let result = {
            let mut slots = self.shared.slots.borrow_mut();
            let slot = &mut slots[self.index as usize];
            match &mut slot.state {
                State::Waiting(waker) => {
                    *waker = Some(task.waker().clone());
                    return Poll::Pending;
                }
                State::Done(result) => {
                    let result = *result;
                    slot.state = State::Free;
                    result
                }
                State::Free | State::Abandoned => {
                    unreachable!("an operation is polled once after its end at most")
                }
            }
        };
        self.finished = true;
        self.shared.free.borrow_mut().push(self.index);
        Poll::Ready(result)
    }
}

impl Drop for Op {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        let mut slots = self.shared.slots.borrow_mut();
        let slot = &mut slots[self.index as usize];
        if matches!(slot.state, State::Done(_)) {
            slot.state = State::Free;
            self.shared.free.borrow_mut().push(self.index);
        } else {
            slot.state = State::Abandoned;
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The kernel may still write to buffers held here: wait for it before they are freed.
        while self.in_flight.get() > 0 {
            let ring = self.ring.get_mut();
            if let Err(error) = ring.submit_and_wait(1)
                && !retryable(&error)
            {
                // Memory the kernel might write to must never be freed; leaking it is the safe end.
                std::mem::forget(std::mem::take(self.slots.get_mut()));
                return;
            }
            let reaped = ring.completion().count();
            self.in_flight.set(self.in_flight.get().saturating_sub(reaped));
        }
    }
}
