//! Blocking calls, each in its own thread: the executor keeps serving what such a call may wait for.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use fathom_runtime::Ring;
use fathom_wire::Port;

/// Does `work` in a thread of its own and waits for it. If the future is dropped, the thread ends by itself.
///
/// # Errors
/// The kernel's, where it gives no thread.
pub async fn blocking<T: Send + 'static>(
    ring: &Ring,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    // SAFETY: eventfd takes integers and returns a fresh descriptor or -1.
    let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a fresh descriptor that nobody else owns.
    let done = unsafe { OwnedFd::from_raw_fd(descriptor) };
    let told = done.try_clone()?;
    let done = Port::new(done, ring)?;
    let thread = std::thread::Builder::new().name("blocking".to_owned()).spawn(move || {
        // NotifyOnDrop however the work ends, so that nobody waits for a thread that has panicked.
        let _told = NotifyOnDrop(told);
        work()
    })?;
    done.readable().await;
    thread.join().map_err(|_| io::Error::other("the thread panicked; its message is above"))
}

/// Makes the event descriptor readable when dropped.
struct NotifyOnDrop(OwnedFd);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        let one = 1_u64;
        // SAFETY: eight bytes are read from `one`, which lives for the call.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
    }
}
