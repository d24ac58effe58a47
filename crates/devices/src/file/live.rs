//! The file volume at work: one ring operation for a request, and what to do when that is not the whole answer.

mod trust;

use std::cell::Cell;
use std::os::fd::AsRawFd;

use fathom_runtime::{Context, MILLISECOND, Make, Op, Ring, Semaphore, join};
use fathom_volume::{Buf, Class, Error, ErrorKind, Geometry, Kind, Pool, Request, Result, Volume};
use io_uring::{opcode, squeue, types};

use super::Config;
use super::kernel::{self, Sort};
use super::open::{self, Opened};
use crate::patience::Patience;
use trust::Fence;

/// Zeroes are written in pieces of this size where the file system cannot zero a range.
const ZEROES: u64 = 1 << 20;
/// The most that one operation writes to the page cache, for a user and in the background. The kernel keeps what is written
/// at once in one piece, and every later write to a part of it, and every flush of that, looks at all blocks of the piece.
const PIECES: [u64; 2] = [128 << 10, 32 << 10];
/// How often an operation the kernel puts off is tried again, a millisecond apart.
const TRIES: u32 = 1000;

/// An entry built with the place in the ring's table if there is one, else with the descriptor; they differ in type.
macro_rules! with_descriptor {
    ($file:expr, $descriptor:ident => $entry:expr) => {
        match $file.registered {
            Some(place) => {
                let $descriptor = types::Fixed(place);
                $entry
            }
            None => {
                let $descriptor = types::Fd($file.file.as_raw_fd());
                $entry
            }
        }
    };
}

/// An open file or block device.
pub struct File {
    geometry: Geometry,
    context: Context,
    ring: Ring,
    pool: Pool,
    path: String,
    file: std::fs::File,
    _below: Vec<std::fs::File>, // Locked as long as it is open.
    sort: Sort,
    // Its place in the ring's table.
    registered: Option<u32>,
    memory_alignment: usize,
    buffered: Option<String>,
    read_only: bool,
    fenced: Cell<Option<Fence>>,
    // Through the page cache the kernel tells only one of several flushes that it has lost pages: one at a time, and a write
    // with FUA is a write and a flush.
    flushing: Semaphore,
    bounced: Cell<u64>,
}

impl File {
    /// Opens a file or block device; `config.path` is taken as it stands.
    ///
    /// # Errors
    /// In virtual time, without payload, or if the file cannot be opened as asked for; the message says what to do.
    pub fn open(context: &Context, pool: &Pool, config: &Config) -> Result<Self> {
        Self::can_be(context, pool, config)?;
        let opened = open::open(config, Patience::Usual).map_err(open::Refusal::into_error)?;
        Self::of(context, pool, config, opened)
    }

    /// Whether there can be files at all; the ring they need.
    pub(super) fn can_be<'a>(context: &'a Context, pool: &Pool, config: &Config) -> Result<&'a Ring> {
        let misuse = |why| Error::new(ErrorKind::Misuse, format!("file `{}`: {why}", config.path));
        let ring = context.ring().ok_or_else(|| misuse("there are no files in virtual time; use `model`"))?;
        if pool.is_hollow() {
            return Err(misuse("a file needs buffers with bytes, and this run is without payload"));
        }
        Ok(ring)
    }

    /// A volume of an open file.
    ///
    /// # Errors
    /// As [`File::can_be`].
    pub(super) fn of(context: &Context, pool: &Pool, config: &Config, opened: Opened) -> Result<Self> {
        let (ring, path) = (Self::can_be(context, pool, config)?, config.path.clone());
        let registered = ring.register_file(opened.file.as_raw_fd());
        Ok(Self {
            geometry: opened.geometry,
            context: context.clone(),
            ring: ring.clone(),
            pool: pool.clone(),
            path,
            file: opened.file,
            _below: opened.below,
            sort: opened.sort,
            registered,
            memory_alignment: opened.memory_alignment,
            buffered: opened.buffered,
            read_only: config.read_only,
            fenced: Cell::new(None),
            flushing: Semaphore::new(1),
            bounced: Cell::new(0),
        })
    }

    /// The entry that moves the buffer's bytes from `done` on.
    #[inline]
    fn entry(&self, kind: Kind, request: &Request, buf: &Buf, done: usize) -> squeue::Entry {
        // SAFETY: `done` is less than the buffer's length.
        let memory = unsafe { buf.as_ptr().add(done) };
        let (length, offset) = ((buf.len() - done) as u32, request.offset + done as u64);
        let synchronous = if self.is_synchronous(request) { libc::RWF_DSYNC } else { 0 };
        with_descriptor!(self, descriptor => match (kind, buf.registered()) {
            (Kind::Read, Some(region)) => {
                opcode::ReadFixed::new(descriptor, memory, length, region).offset(offset).build()
            }
            (Kind::Read, None) => opcode::Read::new(descriptor, memory, length).offset(offset).build(),
            (_, Some(region)) => opcode::WriteFixed::new(descriptor, memory, length, region)
                .offset(offset)
                .rw_flags(synchronous)
                .build(),
            (_, None) => {
                opcode::Write::new(descriptor, memory, length).offset(offset).rw_flags(synchronous).build()
            }
        })
    }

    /// Moves the buffer's bytes from `done` on, once. The buffer has bytes and is aligned.
    #[inline]
    fn step<'a>(&'a self, kind: Kind, request: &'a Request, buf: &'a Buf, done: usize) -> Op<'a, impl Make> {
        // SAFETY: the entry points into the buffer, which is kept.
        unsafe {
            self.ring.start_with(move || {
                if self.buffered.is_none() && request.class == Class::Foreground {
                    self.ring.be_prompt();
                }
                (self.entry(kind, request, buf, done), buf.keep())
            })
        }
    }

    /// The first step between a registered file and a registered buffer, of a read or of a write: what nearly every request
    /// is. It has an entry of its own, for to build one of several kinds and then copy it costs more than to write it where
    /// it is queued.
    #[inline(always)]
    fn fixed_step<'a, const READ: bool>(
        &'a self,
        request: &'a Request,
        buf: &'a Buf,
        (place, region): (u32, u16),
    ) -> Op<'a, impl Make> {
        // SAFETY: the entry points into the buffer, which is kept.
        unsafe {
            self.ring.start_with(move || {
                if self.buffered.is_none() && request.class == Class::Foreground {
                    self.ring.be_prompt();
                }
                let (file, memory, length) = (types::Fixed(place), buf.as_ptr(), buf.len() as u32);
                let entry = if READ {
                    opcode::ReadFixed::new(file, memory, length, region).offset(request.offset).build()
                } else {
                    let synchronous = if request.fua { libc::RWF_DSYNC } else { 0 };
                    opcode::WriteFixed::new(file, memory, length, region)
                        .offset(request.offset)
                        .rw_flags(synchronous)
                        .build()
                };
                (entry, buf.keep())
            })
        }
    }

    /// The places of file and buffer in the ring's tables, if both have one.
    #[inline]
    fn places(&self, buf: &Buf) -> Option<(u32, u16)> {
        self.registered.zip(buf.registered())
    }

    /// Moves the buffer's bytes. The buffer has bytes and is aligned.
    async fn transfer(&self, kind: Kind, request: &Request, buf: &Buf) -> Result<()> {
        let moved = self.step(kind, request, buf, 0).await;
        self.rest(kind, request, buf, moved).await
    }

    /// The most bytes of a request that one operation writes.
    #[inline]
    fn piece(request: &Request) -> u64 {
        PIECES[usize::from(request.class != Class::Foreground)]
    }

    /// Whether a write goes to the page cache in pieces.
    #[inline]
    fn is_in_pieces(&self, request: &Request) -> bool {
        self.buffered.is_some() && request.length > Self::piece(request)
    }

    /// Writes the buffer's bytes, in pieces if need be, which begin and end at multiples of their size and go to the kernel
    /// together. The buffer has bytes and is aligned.
    async fn put(&self, request: &Request, from: &Buf) -> Result<()> {
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

    /// Completes a transfer whose first step moved `first` bytes or failed: short, interrupted or put off.
    async fn rest(&self, kind: Kind, request: &Request, buf: &Buf, first: i32) -> Result<()> {
        let (mut moved, mut done, mut tries) = (first, 0, 0);
        loop {
            match moved {
                0 => {
                    self.is_whole()?;
                    return Err(self.cut_short(request.offset + done as u64));
                }
                1.. => done += moved as usize,
                _ => self.put_off(-moved, &mut tries, kind, request).await?,
            }
            if done == buf.len() {
                return Ok(());
            }
            moved = self.step(kind, request, buf, done).await;
        }
    }

    /// Waits before the next try if the error is passing; fails if it is not.
    async fn put_off(&self, errno: i32, tries: &mut u32, kind: Kind, request: &Request) -> Result<()> {
        *tries += 1;
        match errno {
            libc::EINTR if *tries < TRIES => Ok(()),
            libc::EAGAIN if *tries < TRIES => {
                self.context.sleep(MILLISECOND).await;
                Ok(())
            }
            _ => {
                self.mistrust(errno, kind, request);
                Err(self.failure(errno, kind, request))
            }
        }
    }

    /// Whether a write is durable when the kernel has answered it.
    #[inline]
    fn is_synchronous(&self, request: &Request) -> bool {
        request.fua && self.buffered.is_none()
    }

    /// Whether the kernel can work on the buffer as it is; a buffer without bytes is left to `bounce` to refuse.
    #[inline]
    fn is_aligned(&self, buf: &Buf) -> bool {
        buf.has_bytes() && buf.as_ptr().addr() & (self.memory_alignment - 1) == 0
    }

    /// Moves the bytes by way of an aligned copy.
    #[cold]
    async fn bounce(&self, kind: Kind, request: &Request, buf: &Buf) -> Result<()> {
        if !buf.has_bytes() {
            let why = "a file needs buffers with bytes";
            return Err(Error::new(ErrorKind::Misuse, format!("file `{}`: {why}", self.path)));
        }
        self.bounced.set(self.bounced.get() + 1);
        // Blocks of the pool are aligned to their size, up to 4 KiB, which is the most a file system asks for.
        let copy = self.pool.get(buf.len().max(self.memory_alignment)).slice(0..buf.len());
        if kind == Kind::Write {
            copy.copy_from_buf(buf);
        }
        self.transfer(kind, request, &copy).await?;
        if kind == Kind::Read {
            buf.copy_from_buf(&copy);
        }
        Ok(())
    }

    /// An operation without data, repeated while it is put off; its errno if it fails.
    async fn plain(
        &self,
        kind: Kind,
        request: &Request,
        entry: squeue::Entry,
    ) -> std::result::Result<(), i32> {
        let mut tries = 0;
        loop {
            // SAFETY: the entry points to no memory.
            let answer = unsafe { self.ring.start(entry.clone(), None) }.await;
            if answer >= 0 {
                return Ok(());
            }
            if self.put_off(-answer, &mut tries, kind, request).await.is_err() {
                return Err(-answer);
            }
        }
    }

    async fn fallocate(&self, kind: Kind, request: &Request, mode: i32) -> std::result::Result<(), i32> {
        let mode = mode | libc::FALLOC_FL_KEEP_SIZE;
        let entry = with_descriptor!(self, descriptor => {
            opcode::Fallocate::new(descriptor, request.length).offset(request.offset).mode(mode).build()
        });
        self.plain(kind, request, entry).await
    }

    async fn sync(&self, request: &Request) -> Result<()> {
        let _turn = if self.buffered.is_some() { Some(self.flushing.acquire().await) } else { None };
        self.check(Kind::Flush)?;
        let entry = with_descriptor!(self, descriptor => {
            opcode::Fsync::new(descriptor).flags(types::FsyncFlags::DATASYNC).build()
        });
        self.plain(Kind::Flush, request, entry)
            .await
            .map_err(|errno| self.failure(errno, Kind::Flush, request))?;
        self.is_whole()?;
        // What one flush has lost no other one that was under way may call durable.
        self.check(Kind::Flush)
    }

    /// A write with FUA through the page cache.
    async fn write_and_sync(&self, request: &Request, from: &Buf) -> Result<()> {
        if self.is_aligned(from) {
            self.put(request, from).await?;
        } else {
            self.bounce(Kind::Write, request, from).await?;
        }
        self.sync(request).await
    }

    async fn write_zeroes_by_hand(&self, request: &Request) -> Result<()> {
        let zeroes = self.pool.zeroes(request.length.min(ZEROES) as usize);
        let mut offset = request.offset;
        while offset < request.end() {
            let length = (request.end() - offset).min(ZEROES);
            let piece = Request::new(offset, length);
            self.put(&piece, &zeroes.slice(0..length as usize)).await?;
            offset += length;
        }
        Ok(())
    }
}

/// What a file system answers that cannot do an operation on ranges.
fn is_unsupported(errno: i32) -> bool {
    matches!(errno, libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL | libc::ENODEV)
}

impl Volume for File {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn reopen(&self) {
        self.trust();
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let direct = self.buffered.as_ref().map_or("yes".to_owned(), |why| format!("no: {why}"));
        let fenced = self.why_fenced().map(|why| ("fenced", why));
        [("direct_io", direct)].into_iter().chain(fenced).collect()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("bounced", self.bounced.get()), ("fenced", u64::from(self.fenced.get().is_some()))]
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        self.check(Kind::Read)?;
        if !self.is_aligned(&into) {
            return Box::pin(self.bounce(Kind::Read, request, &into)).await;
        }
        let moved = match self.places(&into) {
            Some(places) => self.fixed_step::<true>(request, &into, places).await,
            None => self.step(Kind::Read, request, &into, 0).await,
        };
        if moved as usize == into.len() {
            return Ok(());
        }
        Box::pin(self.rest(Kind::Read, request, &into, moved)).await
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        self.check(Kind::Write)?;
        if request.end() == self.geometry.size {
            self.is_whole()?;
        }
        if request.fua && self.buffered.is_some() {
            return Box::pin(self.write_and_sync(request, &from)).await;
        }
        if !self.is_aligned(&from) {
            return Box::pin(self.bounce(Kind::Write, request, &from)).await;
        }
        if self.is_in_pieces(request) {
            return Box::pin(self.put(request, &from)).await;
        }
        let moved = match self.places(&from) {
            Some(places) => self.fixed_step::<false>(request, &from, places).await,
            None => self.step(Kind::Write, request, &from, 0).await,
        };
        if moved as usize == from.len() {
            return if request.fua { self.is_whole() } else { Ok(()) };
        }
        Box::pin(self.rest(Kind::Write, request, &from, moved)).await
    }

    async fn flush(&self, request: &Request) -> Result<()> {
        if self.read_only {
            return Ok(());
        }
        self.check(Kind::Flush)?;
        self.sync(request).await
    }

    fn trims_to_zeroes(&self) -> bool {
        // A block device may discard without saying what is left; a file system makes a hole.
        self.sort != Sort::Block
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        self.check(Kind::Trim)?;
        match self.fallocate(Kind::Trim, request, libc::FALLOC_FL_PUNCH_HOLE).await {
            Ok(()) => Ok(()),
            Err(errno) if is_unsupported(errno) => {
                // A trim is advice: a device that cannot take it has taken note.
                if self.sort == Sort::Block
                    && let Err(error) = kernel::discard(&self.file, request.offset, request.length)
                    && !is_unsupported(error.raw_os_error().unwrap_or(libc::EIO))
                {
                    return Err(self.failure(error.raw_os_error().unwrap_or(libc::EIO), Kind::Trim, request));
                }
                Ok(())
            }
            Err(errno) => Err(self.failure(errno, Kind::Trim, request)),
        }
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        self.check(Kind::WriteZeroes)?;
        self.is_whole()?;
        match self.fallocate(Kind::WriteZeroes, request, libc::FALLOC_FL_ZERO_RANGE).await {
            Ok(()) => {}
            Err(errno) if is_unsupported(errno) => self.write_zeroes_by_hand(request).await?,
            Err(errno) => return Err(self.failure(errno, Kind::WriteZeroes, request)),
        }
        if request.fua { self.sync(request).await } else { Ok(()) }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // Entries that name the descriptor must be with the kernel before it is closed, or they meet another file.
        match self.registered {
            Some(place) => self.ring.unregister_file(place),
            None => self.ring.submit(),
        }
        // The kernel lets go of a registered file some time later, and with it of the lock. Where nothing can be under way to
        // this file any more, whoever opens it next need not wait for that.
        if self.ring.in_flight() == 0 {
            // SAFETY: flock takes a descriptor and touches no memory. An error leaves the lock to the kernel.
            unsafe { libc::flock(self.file.as_raw_fd(), libc::LOCK_UN) };
        }
    }
}
