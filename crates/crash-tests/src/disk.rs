//! A disk in memory that records everything that happens to it, in order, and that vanishes, returns and fails when told to.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use fathom_runtime::{Context, Random};
use fathom_volume::{Buf, Error, ErrorKind, Geometry, Handle, Request, Result, Volume};

/// Something that happened to a disk, or to a user.
#[derive(Debug, Clone)]
pub enum Event {
    /// A write arrived.
    Write {
        /// Which disk.
        disk: usize,
        /// First byte.
        offset: usize,
        /// The new bytes.
        bytes: Rc<[u8]>,
        /// Whether it is durable when it is answered.
        fua: bool,
    },
    /// The write that arrived as this event is answered.
    Written(usize),
    /// A flush arrived.
    Flush {
        /// Which disk.
        disk: usize,
    },
    /// The flush that arrived as this event is answered.
    Flushed(usize),
    /// A flush failed: answered writes that no flush covers are lost, and no later flush makes them durable.
    Forgotten {
        /// Of which disk.
        disk: usize,
    },
    /// The group is open: what it shows now it must show after every later crash.
    Opened,
    /// The user was answered an operation.
    Acked(u32),
    /// The user sent a flush, by number.
    UserFlush(u32),
    /// The user was answered that flush.
    UserFlushed(u32),
}

/// Events of all disks and of the user, in order.
pub type Trace = Rc<RefCell<Vec<Event>>>;

/// The content of a disk.
pub type Content = Rc<RefCell<Vec<u8>>>;

/// What is wrong with a disk; cheap to clone.
#[derive(Clone, Default)]
pub struct Faults {
    /// Whether it is gone.
    pub gone: Rc<Cell<bool>>,
    /// Whether it was gone when it was built, and nobody has opened it since it is back: everything fails.
    pub absent: Rc<Cell<bool>>,
    /// Flushes that will fail. What they should have made durable is lost, though reads may still show it.
    pub flushes: Rc<Cell<u32>>,
    /// Whether a flush has failed and nobody has opened the disk since: everything fails.
    pub fenced: Rc<Cell<bool>>,
    /// How much longer a flush takes, ns.
    pub flush_time: Rc<Cell<u64>>,
    /// How much longer a read of users' bytes takes, ns.
    pub read_time: Rc<Cell<u64>>,
    /// Reads of users' bytes that will fail.
    pub reads: Rc<Cell<u32>>,
    /// Writes that will take effect, with FUA durably, and be answered with an error.
    pub unanswered: Rc<Cell<u32>>,
    /// Bytes of the sectors that the disk has instead of the usual ones, if any.
    pub sector: Rc<Cell<Option<u32>>>,
}

/// A disk that answers after a random time of at most `slowest` ns; with 0 at once.
pub struct Disk {
    number: usize,
    geometry: Geometry,
    context: Context,
    random: RefCell<Random>,
    slowest: u64,
    user: u64,
    content: Content,
    trace: Trace,
    faults: Faults,
}

impl Disk {
    /// A disk over that content, whose first `user` bytes are the users'.
    pub fn handle(
        context: &Context,
        (number, name): (usize, &str),
        (content, user): (&Content, u64),
        trace: &Trace,
        faults: &Faults,
        slowest: u64,
    ) -> Handle {
        // A disk that is absent has the size that the settings give, if any: each life has some of both.
        let known = !faults.absent.get() || context.seed().is_multiple_of(2);
        let size = if known { content.borrow().len() as u64 } else { Geometry::UNKNOWN_SIZE };
        let plain = Geometry::plain(size);
        let sector = faults.sector.get().unwrap_or(plain.logical_sector);
        let sectors =
            Geometry { logical_sector: sector, physical_sector: sector, atomic_write: sector, ..plain };
        let disk = Self {
            number,
            geometry: Geometry { volatile_cache: true, ..sectors },
            context: context.clone(),
            random: RefCell::new(context.random(name)),
            slowest,
            user,
            content: Rc::clone(content),
            trace: Rc::clone(trace),
            faults: faults.clone(),
        };
        Handle::new(context, name, "disk", disk).expect("a plain geometry is sound")
    }

    async fn pause(&self) {
        if self.slowest > 0 {
            let span = self.random.borrow_mut().below(self.slowest);
            self.context.sleep(span).await;
        }
    }

    async fn serve(&self) -> Result<()> {
        self.pause().await;
        self.check()
    }

    /// Fails if no request reaches the disk.
    fn check(&self) -> Result<()> {
        if self.faults.gone.get() || self.faults.absent.get() {
            return Err(Error::new(ErrorKind::Gone, "the disk is gone"));
        }
        if self.faults.fenced.get() {
            return Err(Error::new(ErrorKind::Fenced, "a flush failed; reopen the disk"));
        }
        Ok(())
    }

    fn note(&self, event: Event) -> usize {
        let mut trace = self.trace.borrow_mut();
        trace.push(event);
        trace.len() - 1
    }

    async fn store(&self, request: &Request, bytes: Rc<[u8]>) -> Result<()> {
        // A write that does not arrive fails, also if the disk is back by the time of the answer.
        if let Err(error) = self.check() {
            self.pause().await;
            return Err(error);
        }
        let offset = request.offset as usize;
        let event = Event::Write { disk: self.number, offset, bytes: Rc::clone(&bytes), fua: request.fua };
        let arrived = self.note(event);
        self.serve().await?;
        self.content.borrow_mut()[offset..offset + bytes.len()].copy_from_slice(&bytes);
        self.note(Event::Written(arrived));
        if fails(&self.faults.unanswered) {
            return Err(Error::new(ErrorKind::Io, "the answer to a write was lost"));
        }
        Ok(())
    }

    async fn wait(&self, span: &Cell<u64>) {
        if span.get() > 0 {
            self.context.sleep(span.get()).await;
        }
    }
}

/// Whether this request is one of those that will fail.
fn fails(count: &Cell<u32>) -> bool {
    let left = count.get();
    count.set(left.saturating_sub(1));
    left > 0
}

impl Volume for Disk {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        self.serve().await?;
        if request.offset < self.user {
            self.wait(&self.faults.read_time).await;
            if fails(&self.faults.reads) {
                return Err(Error::new(ErrorKind::Io, "the sector cannot be read"));
            }
        }
        let content = self.content.borrow();
        into.copy_from(&content[request.offset as usize..request.end() as usize]);
        Ok(())
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        let bytes = from.with(|bytes| Rc::<[u8]>::from(bytes));
        self.store(request, bytes).await
    }

    async fn flush(&self, _: &Request) -> Result<()> {
        if fails(&self.faults.flushes) {
            self.note(Event::Forgotten { disk: self.number });
            self.faults.fenced.set(true);
            let _ = self.serve().await;
            return Err(Error::new(ErrorKind::Io, "the flush failed"));
        }
        let arrived = self.note(Event::Flush { disk: self.number });
        self.wait(&self.faults.flush_time).await;
        self.serve().await?;
        self.note(Event::Flushed(arrived));
        Ok(())
    }

    async fn trim(&self, _: &Request) -> Result<()> {
        self.serve().await
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        self.store(request, vec![0; request.length as usize].into()).await
    }

    fn reopen(&self) {
        self.faults.fenced.set(false);
        self.faults.absent.set(self.faults.gone.get());
    }
}
