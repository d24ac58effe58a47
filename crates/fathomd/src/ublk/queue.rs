//! The requests of one device: a task per tag that fetches, executes, answers.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::rc::Rc;

use fathom_runtime::{Context, Ring, Signal};
use fathom_ublk::io::{
    ABORTED, COMMAND_BYTES, Command, Descriptor, Kind, Operation, Request, descriptors_bytes,
};
use fathom_volume::{Buf, Error, ErrorKind, Pool, Request as VolumeRequest};
use io_uring::{opcode, types};

use crate::cut::CountGuard;
use crate::exports::Served;

/// What the kernel tells and is told through `/dev/ublkcN`.
pub struct Queue {
    served: Rc<Served>,
    pool: Pool,
    ring: Ring,
    // After the mapping in no order that matters: each keeps the driver's device by itself.
    file: File,
    descriptors: Descriptors,
    largest: usize,
    running: Rc<Cell<usize>>,
    gone: Signal,
    /// Requests being done.
    pub outstanding: Rc<Cell<usize>>,
    /// Requests done since the start.
    pub answered: Cell<u64>,
}

impl Queue {
    /// Takes requests of up to `largest` bytes from `depth` tags.
    ///
    /// # Errors
    /// The kernel's, where it does not share its descriptors.
    pub fn start(
        context: &Context,
        ring: &Ring,
        pool: &Pool,
        served: &Rc<Served>,
        file: File,
        (depth, largest): (u16, u32),
    ) -> io::Result<Rc<Self>> {
        let descriptors = Descriptors::map(&file, depth)?;
        let queue = Rc::new(Self {
            served: Rc::clone(served),
            pool: pool.clone(),
            ring: ring.clone(),
            file,
            descriptors,
            largest: largest as usize,
            running: Rc::default(),
            gone: Signal::default(),
            outstanding: Rc::default(),
            answered: Cell::new(0),
        });
        for tag in 0..depth {
            let running = CountGuard::one(&queue.running);
            context.spawn(Rc::clone(&queue).attend(tag, running));
        }
        Ok(queue)
    }

    /// Waits until no tag is attended any more, which is so when the device was stopped.
    pub async fn over(&self) {
        while self.running.get() > 0 {
            self.gone.wait().await;
        }
    }

    async fn attend(self: Rc<Self>, tag: u16, running: CountGuard) {
        let (mut operation, mut result) = (Operation::Fetch, 0);
        let mut buffer = self.pool.get(self.largest);
        loop {
            let answer = self.command(operation, Command { tag, result, buffer: address(&buffer) }, &buffer);
            match answer.await {
                0 => {}
                ABORTED => break,
                error => {
                    let export = &self.served.export.name;
                    tracing::error!(export, tag, errno = -error, "ublk: the driver takes no more commands");
                    break;
                }
            }
            let request = self.descriptors.request(tag);
            let under_way = CountGuard::one(&self.outstanding);
            result = match self.perform(request, &buffer).await {
                Ok(moved) => moved,
                Err(error) => {
                    self.served.complain(name(request.kind), &error);
                    -error.kind().errno()
                }
            };
            drop(under_way);
            self.answered.set(self.answered.get() + 1);
            buffer = self.own(request, buffer);
            operation = Operation::CommitAndFetch;
        }
        drop(running);
        self.gone.notify();
    }

    /// A buffer that the driver may write to: this one, unless a layer keeps what it was given. The bytes of a read go
    /// along, because the driver fetches them from where the next request's bytes will be.
    fn own(&self, request: Request, buffer: Buf) -> Buf {
        if buffer.is_unique() {
            return buffer;
        }
        let fresh = self.pool.get(self.largest);
        if request.kind == Kind::Read {
            let range = 0..(request.length as usize).min(self.largest);
            fresh.slice(range.clone()).copy_from_buf(&buffer.slice(range));
        }
        fresh
    }

    async fn command(&self, operation: Operation, command: Command, buffer: &Buf) -> i32 {
        let bytes: [u8; COMMAND_BYTES] = command.bytes();
        let entry = opcode::UringCmd16::new(types::Fd(self.file.as_raw_fd()), operation.code());
        // SAFETY: the driver writes to the buffer, which is kept until it has answered.
        unsafe { self.ring.start(entry.cmd(bytes).build(), buffer.keep()) }.await
    }

    /// Bytes moved, or 0 where none move.
    async fn perform(&self, request: Request, buffer: &Buf) -> Result<i32, Error> {
        let Request { kind, offset, length, fua } = request;
        let (volume, ask) = (&self.served.volume, VolumeRequest::new(offset, length));
        match kind {
            Kind::Read => {
                self.served.read(offset, &self.part(buffer, length)?).await?;
                return Ok(length as i32);
            }
            Kind::Write => {
                self.served.write(offset, &self.part(buffer, length)?, fua).await?;
                return Ok(length as i32);
            }
            Kind::Flush => volume.flush(VolumeRequest::flush()).await?,
            Kind::Trim => volume.trim(ask).await?,
            Kind::WriteZeroes => volume.write_zeroes(ask.with_fua(fua)).await?,
            Kind::Other(number) => {
                return Err(Error::new(ErrorKind::Misuse, format!("operation {number} was not offered")));
            }
        }
        Ok(0)
    }

    fn part(&self, buffer: &Buf, length: u64) -> Result<Buf, Error> {
        if length > self.largest as u64 {
            let message = format!("{length} bytes at once, and {} were agreed on", self.largest);
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        Ok(buffer.slice(0..length as usize))
    }
}

fn address(buffer: &Buf) -> u64 {
    buffer.as_ptr().addr() as u64
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::Flush => "flush",
        Kind::Trim => "trim",
        Kind::WriteZeroes => "write zeroes",
        Kind::Other(_) => "an operation that is not offered",
    }
}

/// The driver's descriptors of all tags, shared by it.
struct Descriptors {
    start: *mut libc::c_void,
    bytes: usize,
    depth: u16,
}

impl Descriptors {
    fn map(file: &File, depth: u16) -> io::Result<Self> {
        // SAFETY: sysconf takes and returns integers.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let bytes = descriptors_bytes(depth, page);
        let how = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ, how, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            Err(io::Error::last_os_error())
        } else {
            Ok(Self { start, bytes, depth })
        }
    }

    fn request(&self, tag: u16) -> Request {
        assert!(tag < self.depth, "tags are those that were asked for");
        let mut bytes = [0; Descriptor::BYTES];
        // SAFETY: the tag's descriptor lies within the mapping; the driver leaves it alone while the request is ours, and
        // a volatile copy is right even if it does not.
        unsafe {
            let from = self.start.cast::<[u8; Descriptor::BYTES]>().add(usize::from(tag));
            bytes.copy_from_slice(&from.read_volatile());
        }
        Descriptor::read(&bytes)
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody has a pointer into it but `self`.
        unsafe { libc::munmap(self.start, self.bytes) };
    }
}
