//! A disk in memory that writes down everything that happens to it, in the order in which it happens.

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
    /// The group is open: what it shows from here on it must go on showing.
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

/// Flushes that are to fail, on any disk.
pub type FailingFlushes = Rc<Cell<u32>>;

/// A disk that answers after a time drawn from chance, at most `slowest` ns.
struct Disk {
    number: usize,
    geometry: Geometry,
    context: Context,
    random: RefCell<Random>,
    slowest: u64,
    content: Content,
    trace: Trace,
    failing: FailingFlushes,
}

/// A disk over that content. With `slowest` 0 it answers at once.
pub fn disk(
    context: &Context,
    number: usize,
    content: &Content,
    trace: &Trace,
    failing: &FailingFlushes,
    slowest: u64,
) -> Handle {
    let size = content.borrow().len() as u64;
    let geometry = Geometry { volatile_cache: true, ..Geometry::plain(size) };
    let name = format!("disk{number}");
    let disk = Disk {
        number,
        geometry,
        context: context.clone(),
        random: RefCell::new(context.random(&name)),
        slowest,
        content: Rc::clone(content),
        trace: Rc::clone(trace),
        failing: Rc::clone(failing),
    };
    Handle::new(context, &name, "disk", disk).expect("a plain geometry is sound")
}

impl Disk {
    fn note(&self, event: Event) -> usize {
        let mut trace = self.trace.borrow_mut();
        trace.push(event);
        trace.len() - 1
    }

    async fn serve(&self) {
        if self.slowest > 0 {
            let span = self.random.borrow_mut().below(self.slowest);
            self.context.sleep(span).await;
        }
    }

    async fn store(&self, request: &Request, bytes: Rc<[u8]>) -> Result<()> {
        let offset = request.offset as usize;
        let event = Event::Write { disk: self.number, offset, bytes: Rc::clone(&bytes), fua: request.fua };
        let arrived = self.note(event);
        self.serve().await;
        self.content.borrow_mut()[offset..offset + bytes.len()].copy_from_slice(&bytes);
        self.note(Event::Written(arrived));
        Ok(())
    }
}

impl Volume for Disk {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        self.serve().await;
        let content = self.content.borrow();
        into.copy_from(&content[request.offset as usize..request.end() as usize]);
        Ok(())
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        let bytes = from.with(|bytes| Rc::<[u8]>::from(bytes));
        self.store(request, bytes).await
    }

    async fn flush(&self, _: &Request) -> Result<()> {
        let arrived = self.note(Event::Flush { disk: self.number });
        self.serve().await;
        if self.failing.get() > 0 {
            self.failing.set(self.failing.get() - 1);
            return Err(Error::new(ErrorKind::Io, "the flush failed, as it was told to"));
        }
        self.note(Event::Flushed(arrived));
        Ok(())
    }

    async fn trim(&self, _: &Request) -> Result<()> {
        self.serve().await;
        Ok(())
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        self.store(request, vec![0; request.length as usize].into()).await
    }
}
