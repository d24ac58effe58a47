//! Requests through io_uring: an entry is a piece of memory that the kernel puts a request into; one command hands its
//! answer over and asks for the next request.
//!
//! There is a queue per CPU, and each has [`DEPTH`] entries; one task serves one entry for the life of the mount. The
//! commands go by the executor's own ring, so that one call to the kernel hands over many answers, takes in many requests,
//! and serves disks and clients as well.

use std::cell::UnsafeCell;
use std::rc::Rc;
use std::sync::OnceLock;

use fathom_fuse::{HEADER, arguments, decode, opcode, reply, uring};
use fathom_runtime::{MICROSECOND, MILLISECOND, Nanos};
use fathom_volume::Buf;
use io_uring::{opcode as ring_opcode, squeue, types};

use crate::fuse::operate::Done;
use crate::fuse::{LARGEST, Mount};

/// Entries per CPU. Further requests wait in the kernel.
const DEPTH: usize = 32;
/// How long to wait for a layer that still holds the bytes of a write it has answered; none does as yet.
const A_MOMENT: Nanos = 50 * MICROSECOND;

/// Memory that the kernel works on; in its hands from a command's submission to its completion.
struct Entry {
    headers: UnsafeCell<[u8; uring::HEADERS]>,
    payload: Buf,
    vectors: UnsafeCell<[libc::iovec; 2]>,
}

/// CPUs there may ever be: the kernel wants a queue for each.
fn queues() -> usize {
    static QUEUES: OnceLock<usize> = OnceLock::new();
    *QUEUES.get_or_init(|| {
        let listed = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
        let last = listed.trim().rsplit(['-', ',']).next().and_then(|last| last.parse::<usize>().ok());
        last.map_or(1, |last| last + 1)
    })
}

/// Entries in all.
pub fn count() -> usize {
    queues() * DEPTH
}

/// Gives the kernel its entries; from then on requests come through them.
pub fn register(mount: &Rc<Mount>) {
    for queue in 0..queues() {
        for _ in 0..DEPTH {
            mount.context.spawn(serve(Rc::clone(mount), queue as u16));
        }
    }
}

/// Waits until the kernel has looked at every entry; a refusal is in [`Mount`]'s trouble then.
pub async fn accepted(mount: &Mount) {
    let nothing = ring_opcode::Nop::new().build();
    // SAFETY: it points to nothing. It stands behind all registrations, which the kernel judges as it takes them in.
    unsafe { mount.ring.start(nothing, None) }.await;
    // The tasks of refused entries were woken before this one, or are now.
    mount.context.sleep(MILLISECOND).await;
}

async fn serve(mount: Rc<Mount>, queue: u16) {
    let entry = Rc::new(Entry {
        headers: UnsafeCell::new([0; uring::HEADERS]),
        payload: mount.pool.get(LARGEST as usize),
        vectors: UnsafeCell::new([libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; 2]),
    });
    let mut commit = None;
    loop {
        let command = mount.command(&entry, queue, commit);
        // SAFETY: what the command points to belongs to the entry, which the ring keeps until the completion.
        let fetch = unsafe { mount.ring.start(command, Some(Rc::clone(&entry) as Rc<dyn std::any::Any>)) };
        // The task does not come back before its first request: a registration counts when it is sent, and only a
        // refusal is told.
        if commit.is_none() {
            mount.count_registered();
        }
        let result = fetch.await;
        if result < 0 {
            mount.entry_ended(-result, commit.is_none());
            return;
        }
        commit = Some(mount.serve_request(&entry).await);
    }
}

impl Mount {
    fn command(&self, entry: &Entry, queue: u16, commit: Option<u64>) -> squeue::Entry128 {
        /// Where an entry of the ring has its length.
        const LENGTH_AT: usize = 24;
        let operation = if commit.is_some() { uring::COMMIT_AND_FETCH } else { uring::REGISTER };
        let vectors = entry.vectors.get();
        // SAFETY: the kernel reads the vectors only while a command is on its way, and none is.
        unsafe {
            *vectors = [
                libc::iovec { iov_base: entry.headers.get().cast(), iov_len: uring::HEADERS },
                libc::iovec { iov_base: entry.payload.as_ptr().cast(), iov_len: entry.payload.len() },
            ];
        }
        let mut built = ring_opcode::UringCmd80::new(types::Fd(self.device.number()), operation)
            .cmd(uring::command(commit.unwrap_or_default(), queue))
            .addr(Some(vectors.expose_provenance() as u64))
            .build();
        // SAFETY: an entry is 128 plain bytes, laid out as the kernel has it; the builder has no method for the length.
        unsafe { (&raw mut built).byte_add(LENGTH_AT).cast::<u32>().write_unaligned(2) };
        built
    }

    fn count_registered(&self) {
        self.registered.set(self.registered.get() + 1);
        self.changed.notify();
    }

    fn entry_ended(&self, errno: i32, registering: bool) {
        // ENOTCONN, ECANCELED: the mount is over.
        if self.over.get() || matches!(errno, libc::ENOTCONN | libc::ECANCELED) {
            return;
        }
        let error = std::io::Error::from_raw_os_error(errno);
        if registering {
            *self.trouble.borrow_mut() = Some(format!("the kernel takes no entries: {error}"));
        } else {
            tracing::error!(%error, "an entry of FUSE's io_uring is lost");
        }
        self.changed.notify();
    }

    /// Has the request in an entry done and puts the answer there; the id to commit it by.
    async fn serve_request(&self, entry: &Entry) -> u64 {
        // SAFETY: the kernel has handed the entry over, and this task alone looks at it until it is handed back.
        let headers = unsafe { &mut *entry.headers.get() };
        let (commit, payload) = uring::incoming(headers);
        let operation = u32::from_ne_bytes([headers[4], headers[5], headers[6], headers[7]]);
        let unique = u64::from_ne_bytes(headers[8..16].try_into().expect("eight bytes"));
        let fixed = &headers[uring::ARGUMENTS..uring::ARGUMENTS + arguments(operation)];
        let gathered;
        let body = if matches!(operation, opcode::READ | opcode::WRITE) {
            fixed
        } else {
            gathered = entry.payload.with(|bytes| [fixed, &bytes[..payload.min(bytes.len())]].concat());
            &gathered
        };
        let done = match decode(&headers[..HEADER], body) {
            Ok(request) => self.perform(&request, &entry.payload).await,
            Err(why) => Err(self.violated(why)),
        };
        let (errno, length) = match done {
            Ok(Done::Payload(length)) => (0, length),
            Ok(Done::Written(length)) => {
                while entry.payload.is_shared() {
                    self.context.sleep(A_MOMENT).await;
                }
                entry.payload.slice(0..reply::WRITTEN).copy_from(&reply::written(length));
                (0, reply::WRITTEN)
            }
            Err(errno) => (errno, 0),
        };
        uring::outgoing(headers, unique, errno, length);
        commit
    }
}
