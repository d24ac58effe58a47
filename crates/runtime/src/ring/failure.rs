//! When the kernel no longer serves the ring: an errno of io_uring_enter(2) that no retry mends, as under a security policy that
//! was changed, or after completions were lost for want of memory.
//!
//! The outcome of operations in flight is then unknown, so all of them end with EIO, as does every later one: all users of
//! the ring fail, and nothing is acknowledged that may not have happened. Memory that the kernel may still write to is
//! never given back. Timers go on, and so do waits on descriptors, by poll(2): clients can be told, and the program can end in
//! an orderly way.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

use io_uring::{opcode, types, types::Timespec};

use super::{Ring, State};
use crate::sync::{Oneshot, Signal, until};
use crate::tasks::wake;
use crate::{Nanos, SECOND};

/// Whether the ring has failed, and what is waited for since.
#[derive(Default)]
pub(super) struct Failure {
    // 0 while the ring works.
    errno: Cell<i32>,
    told: Signal,
    waits: RefCell<Vec<Rc<Wait>>>,
}

/// A wait on a descriptor.
struct Wait {
    descriptor: i32,
    events: i16,
    // What it is ready for.
    ready: Oneshot<i16>,
}

impl Failure {
    #[inline]
    pub(super) fn is_there(&self) -> bool {
        self.errno.get() != 0
    }

    /// Waits that still have a waiter.
    pub(super) fn waits(&self) -> usize {
        self.waits.borrow().len()
    }

    /// Waits for descriptors, for at most a span in ns, and wakes who waited for one that is ready.
    pub(super) fn poll(&self, span: Option<Nanos>) {
        let mut waits = self.waits.borrow_mut();
        // Whoever is not waited for any more is held here only.
        waits.retain(|wait| Rc::strong_count(wait) > 1);
        let asked = |wait: &Rc<Wait>| libc::pollfd { fd: wait.descriptor, events: wait.events, revents: 0 };
        let mut list: Vec<libc::pollfd> = waits.iter().map(asked).collect();
        let limit = span.map(|span| libc::timespec {
            tv_sec: (span / SECOND) as libc::time_t,
            tv_nsec: (span % SECOND) as libc::c_long,
        });
        let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the list and the limit live for the call. An error leaves nothing ready, and the caller comes back.
        unsafe { libc::ppoll(list.as_mut_ptr(), list.len() as libc::nfds_t, limit, std::ptr::null()) };
        let told = waits.drain(..).zip(&list);
        let (ready, rest): (Vec<_>, Vec<_>) = told.partition(|(_, told)| told.revents != 0);
        waits.extend(rest.into_iter().map(|(wait, _)| wait));
        drop(waits);
        ready.into_iter().for_each(|(wait, told)| wait.ready.give(told.revents));
    }
}

pub(super) fn retryable(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}

impl Ring {
    /// What io_uring_enter(2) came to. The end of a wait and errors that pass come back to the caller's loop.
    #[inline]
    pub(super) fn entered(&self, result: io::Result<usize>) {
        match result {
            Err(error) if error.raw_os_error() != Some(libc::ETIME) && !retryable(&error) => {
                self.fail(&error);
            }
            _ => {}
        }
    }

    /// The kernel serves the ring no more.
    #[cold]
    fn fail(&self, error: &io::Error) {
        let failure = &self.0.failure;
        if failure.is_there() {
            return;
        }
        failure.errno.set(error.raw_os_error().unwrap_or(libc::EIO));
        let mut woken = Vec::new();
        for slot in &mut self.0.queues.borrow_mut().slots {
            if let State::Waiting(_) = slot.state
                && let State::Waiting(wakes) = std::mem::replace(&mut slot.state, State::Done(-libc::EIO))
            {
                woken.push(wakes);
            }
        }
        woken.into_iter().for_each(wake);
        failure.told.notify();
    }

    /// Why the kernel serves the ring no more, if that is so: then every operation ends with EIO.
    pub fn failure(&self) -> Option<io::Error> {
        let failure = &self.0.failure;
        failure.is_there().then(|| io::Error::from_raw_os_error(failure.errno.get()))
    }

    /// Waits until the kernel serves the ring no more.
    pub async fn failed(&self) -> io::Error {
        until(&self.0.failure.told, || self.failure()).await
    }

    /// Passes after a span in ns. Tasks sleep by their context; this is for who has the ring only.
    pub async fn pause(&self, span: Nanos) {
        let span = Rc::new(Timespec::new().sec(span / SECOND).nsec((span % SECOND) as u32));
        let entry = opcode::Timeout::new(Rc::as_ptr(&span)).build();
        // SAFETY: the span is kept.
        unsafe { self.start(entry, Some(span)) }.await;
    }

    /// Waits until a descriptor is ready for one of these events of poll(2), or has an error; what it is ready for.
    pub async fn ready(&self, descriptor: i32, events: i16) -> i16 {
        let entry = opcode::PollAdd::new(types::Fd(descriptor), u32::from(events as u16)).build();
        // SAFETY: a poll points to no memory.
        let ready = unsafe { self.start(entry, None) }.await;
        if !self.0.failure.is_there() {
            // An error shows in the call that follows.
            return i16::try_from(ready).unwrap_or(0).max(0);
        }
        let wait = Rc::new(Wait { descriptor, events, ready: Oneshot::default() });
        self.0.failure.waits.borrow_mut().push(Rc::clone(&wait));
        wait.ready.wait().await
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    use io_uring::{opcode, types};

    use super::super::{Ring, RingSetup};
    use crate::entries::Entries;
    use crate::executor::Runtime;
    use crate::{MILLISECOND, SECOND};

    /// Puts something else in the place of the ring's descriptor: every call to it fails.
    fn break_ring(ring: &Ring) {
        let nothing = File::open("/dev/null").expect("it is always there");
        let number = match &ring.0.queues.borrow().ring {
            Entries::Narrow(ring) => ring.as_raw_fd(),
            Entries::Wide(ring) => ring.as_raw_fd(),
        };
        // SAFETY: integers only; the ring's descriptor stays valid as a descriptor.
        assert!(unsafe { libc::dup2(nothing.as_raw_fd(), number) } >= 0);
    }

    #[test]
    fn operations_end_with_eio_and_waits_and_timers_go_on() {
        let runtime = Runtime::real(RingSetup::default(), 1).expect("the tests need an io_uring");
        let context = runtime.context();
        let ring = context.ring().expect("a real executor has a ring").clone();
        let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
        let number = ours.as_raw_fd();
        let work = async {
            let (waiting, told) = (ring.clone(), ring.clone());
            let under_way = async move { waiting.ready(number, libc::POLLIN).await };
            let mut under_way = Box::pin(under_way);
            // It is on its way when the ring breaks.
            std::future::poll_fn(|task| {
                assert!(under_way.as_mut().poll(task).is_pending());
                std::task::Poll::Ready(())
            })
            .await;
            ring.submit();
            break_ring(&ring);
            let before = context.now();
            context.sleep(20 * MILLISECOND).await;
            assert!(context.now() - before >= 20 * MILLISECOND);
            // SAFETY: it points to nothing.
            let done = unsafe { ring.start(opcode::Nop::new().build(), None) }.await;
            assert_eq!(done, -libc::EIO);
            let fsync = opcode::Fsync::new(types::Fd(number)).build();
            // SAFETY: it points to nothing.
            assert_eq!(unsafe { ring.start(fsync, None) }.await, -libc::EIO);
            assert!(told.failed().await.raw_os_error().is_some());
            let later = context.clone();
            context.spawn(async move {
                later.sleep(20 * MILLISECOND).await;
                theirs.write_all(b"!").expect("somebody listens");
                later.sleep(SECOND).await;
            });
            assert_ne!(under_way.await & libc::POLLIN, 0);
            assert_ne!(ring.ready(number, libc::POLLIN).await & libc::POLLIN, 0);
        };
        runtime.block_on(work).expect("nothing waits for ever");
        drop(ours);
    }
}
