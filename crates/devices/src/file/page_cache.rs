//! Writes to the page cache: in pieces, and by a plain system call while such calls are quick.
//!
//! ext4 takes no buffered write that must not wait, so io_uring hands each to a worker thread, which has to be woken and wakes
//! the ring in turn: that costs more than the copy. A plain `pwrite` copies at once. It does wait where the kernel holds
//! writers back until pages are on the disk (`balance_dirty_pages`), and everything on this thread with it. When that happens
//! the workers have the writes for a while.

use std::cell::Cell;
use std::os::fd::AsRawFd;

use fathom_runtime::{MILLISECOND, Nanos, SECOND, join, monotonic};
use fathom_volume::{Buf, Class, Kind, Request, Result};

use super::live::File;

/// The most that one operation writes to the page cache, for a user and in the background. The kernel keeps what is written
/// at once in one piece, and every later write to a part of it, and every flush of that, looks at all blocks of the piece.
const PIECES: [u64; 2] = [128 << 10, 32 << 10];
/// A call that takes longer may have waited.
const QUICK: Nanos = MILLISECOND;
/// For how long the workers then have the writes, at first and at most.
const AWAY: [Nanos; 2] = [SECOND, 64 * SECOND];
/// So many quick calls one after the other, and a wait counts as the first again.
const CALM: u32 = 1 << 14;

/// Whether plain calls are quick.
#[derive(Debug, Default)]
pub(super) struct Plain {
    // From when on calls are made.
    from: Cell<Nanos>,
    away: Cell<Nanos>,
    // Quick calls since the last slow one.
    quick: Cell<u32>,
    // Whether a call was slow. From then on each is asked whether it has slept: another thread, or the host, may have had the
    // CPU meanwhile, and that is no reason to leave it to a worker. To ask costs as much as a small copy.
    doubtful: Cell<bool>,
}

impl Plain {
    /// Makes a call that answers as an operation of the ring does, unless the workers have the writes.
    fn call(&self, make: impl FnOnce() -> i32) -> Option<i32> {
        let begin = monotonic();
        if begin < self.from.get() {
            return None;
        }
        let slept = if self.doubtful.get() { Some(sleeps()) } else { None };
        let answer = make();
        let end = monotonic();
        if end - begin > QUICK {
            self.was_slow(end, slept.is_some_and(|before| sleeps() > before));
        } else {
            self.quick.set(self.quick.get() + 1);
            if self.quick.get() >= CALM {
                self.quick.set(0);
                self.away.set(0);
                self.doubtful.set(false);
            }
        }
        Some(answer)
    }

    #[cold]
    fn was_slow(&self, now: Nanos, slept: bool) {
        self.quick.set(0);
        self.doubtful.set(true);
        if slept {
            let [least, most] = AWAY;
            self.away.set((2 * self.away.get()).clamp(least, most));
            self.from.set(now + self.away.get());
        }
    }
}

/// How often this thread has given up the CPU because it had to wait.
#[cold]
fn sleeps() -> libc::c_long {
    // SAFETY: all-zero bytes are a valid rusage structure, which the call fills.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage.ru_nvcsw
    }
}

impl File {
    /// Writes the buffer's bytes by a plain call, if that is better than the ring; its answer is one of the ring's. The buffer
    /// has bytes.
    #[inline]
    pub(super) fn write_plainly(&self, request: &Request, from: &Buf) -> Option<i32> {
        // A ring that fails takes its volumes with it: what is written could not be made durable.
        let may = request.class == Class::Foreground && self.ring.failure().is_none();
        let plain = self.plain.as_ref().filter(|_| may)?;
        plain.call(|| {
            let (file, offset) = (self.file.as_raw_fd(), request.offset as libc::off_t);
            // SAFETY: the buffer has so many bytes.
            match unsafe { libc::pwrite(file, from.as_ptr().cast(), from.len(), offset) } {
                written @ 0.. => written as i32,
                _ => -std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO),
            }
        })
    }

    /// The most bytes of a request that one operation writes.
    #[inline]
    fn piece(request: &Request) -> u64 {
        PIECES[usize::from(request.class != Class::Foreground)]
    }

    /// Whether a write goes to the page cache in pieces.
    #[inline]
    pub(super) fn is_in_pieces(&self, request: &Request) -> bool {
        self.buffered.is_some() && request.length > Self::piece(request)
    }

    /// Writes the buffer's bytes, in pieces if need be, which begin and end at multiples of their size and go to the kernel
    /// together. The buffer has bytes and is aligned.
    pub(super) async fn put(&self, request: &Request, from: &Buf) -> Result<()> {
        if !self.is_in_pieces(request) {
            return self.transfer(Kind::Write, request, from).await;
        }
        let (mut parts, mut done) = (Vec::new(), 0);
        while done < request.length {
            let (at, piece) = (request.offset + done, Self::piece(request));
            let length = (piece - at % piece).min(request.length - done);
            let (part, buf) = (request.part(at, length), from.slice(done as usize..(done + length) as usize));
            parts.push(Box::pin(async move { self.transfer(Kind::Write, &part, &buf).await }));
            done += length;
        }
        join(parts).await.into_iter().try_for_each(|(_, written)| written)
    }

    /// A write with FUA through the page cache.
    pub(super) async fn write_and_sync(&self, request: &Request, from: &Buf) -> Result<()> {
        if self.is_aligned(from) {
            self.put(request, from).await?;
        } else {
            self.bounce(Kind::Write, request, from).await?;
        }
        self.sync(request).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Plain;

    #[allow(clippy::disallowed_methods, reason = "a call that waits")]
    fn sleep() -> i32 {
        std::thread::sleep(Duration::from_millis(2));
        8192
    }

    #[allow(clippy::disallowed_methods, reason = "a call that is slow and never waits")]
    fn spin() -> i32 {
        let begin = std::time::Instant::now();
        while begin.elapsed() < Duration::from_millis(2) {}
        8192
    }

    #[test]
    fn workers_have_the_writes_once_a_call_has_waited_twice() {
        let plain = Plain::default();
        assert_eq!([plain.call(sleep), plain.call(sleep), plain.call(sleep)], [Some(8192), Some(8192), None]);
        let first = plain.away.get();
        plain.from.set(0);
        assert_eq!([plain.call(sleep), plain.call(sleep)], [Some(8192), None]);
        assert_eq!(plain.away.get(), 2 * first, "again so soon: twice as long");
    }

    #[test]
    fn a_call_that_was_slow_without_waiting_says_nothing() {
        let plain = Plain::default();
        for _ in 0..3 {
            assert_eq!(plain.call(spin), Some(8192));
        }
        assert_eq!(plain.call(|| -5), Some(-5));
    }

    #[test]
    fn after_many_quick_calls_a_wait_counts_as_the_first() {
        let plain = Plain::default();
        assert_eq!([plain.call(sleep), plain.call(sleep)], [Some(8192); 2]);
        plain.from.set(0);
        // Calls that lose the CPU for long do not count.
        while plain.away.get() > 0 {
            plain.call(|| 0);
        }
        assert_eq!([plain.call(sleep), plain.call(sleep), plain.call(sleep)], [Some(8192), Some(8192), None]);
    }
}
