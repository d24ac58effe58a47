//! A leg: a disk in memory that writes down what happens to it, and that vanishes, returns and fails when told to.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use fathom_runtime::{Context, Random};
use fathom_volume::{Buf, Error, ErrorKind, Geometry, Handle, Request, Result, Volume};

use crate::disk::{Content, Event, Trace};

/// What is wrong with a leg; cheap to clone.
#[derive(Clone, Default)]
pub struct Faults {
    /// Whether it is gone.
    pub gone: Rc<Cell<bool>>,
    /// Whether it was gone when the mirror was built, and nobody has opened it since it is there: everything fails.
    pub absent: Rc<Cell<bool>>,
    /// Flushes that will fail. What they should have made durable is lost, though reads may go on showing it.
    pub flushes: Rc<Cell<u32>>,
    /// Whether a flush has failed and nobody has opened the leg anew since: everything fails.
    pub fenced: Rc<Cell<bool>>,
    /// How much longer a flush takes, ns.
    pub flush_time: Rc<Cell<u64>>,
    /// How much longer a read of users' bytes takes, ns.
    pub read_time: Rc<Cell<u64>>,
    /// Reads of users' bytes that will fail.
    pub reads: Rc<Cell<u32>>,
}

/// One leg.
pub struct Leg {
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

impl Leg {
    /// A leg over that content, whose first `user` bytes are the users'; answers within `slowest` ns.
    pub fn handle(
        context: &Context,
        number: usize,
        (content, user): (&Content, u64),
        trace: &Trace,
        faults: &Faults,
        slowest: u64,
    ) -> Handle {
        // What is not there has the size that the settings give, if any: each life has some of both.
        let known = !faults.absent.get() || context.seed().is_multiple_of(2);
        let size = if known { content.borrow().len() as u64 } else { Geometry::UNKNOWN_SIZE };
        let name = format!("leg{number}");
        let leg = Self {
            number,
            geometry: Geometry { volatile_cache: true, ..Geometry::plain(size) },
            context: context.clone(),
            random: RefCell::new(context.random(&name)),
            slowest,
            user,
            content: Rc::clone(content),
            trace: Rc::clone(trace),
            faults: faults.clone(),
        };
        Handle::new(context, &name, "leg", leg).expect("a plain geometry is sound")
    }

    async fn pause(&self) {
        if self.slowest > 0 {
            let span = self.random.borrow_mut().below(self.slowest);
            self.context.sleep(span).await;
        }
    }

    async fn serve(&self) -> Result<()> {
        self.pause().await;
        self.refuse()
    }

    /// Fails if nothing reaches the leg.
    fn refuse(&self) -> Result<()> {
        if self.faults.gone.get() || self.faults.absent.get() {
            return Err(Error::new(ErrorKind::Gone, "the leg is gone"));
        }
        if self.faults.fenced.get() {
            return Err(Error::new(ErrorKind::Fenced, "a flush failed; open the leg anew"));
        }
        Ok(())
    }

    fn note(&self, event: Event) -> usize {
        let mut trace = self.trace.borrow_mut();
        trace.push(event);
        trace.len() - 1
    }

    async fn store(&self, request: &Request, bytes: Rc<[u8]>) -> Result<()> {
        // What does not arrive fails, also if the leg is back by the time of the answer.
        if let Err(error) = self.refuse() {
            self.pause().await;
            return Err(error);
        }
        let offset = request.offset as usize;
        let event = Event::Write { disk: self.number, offset, bytes: Rc::clone(&bytes), fua: request.fua };
        let arrived = self.note(event);
        self.serve().await?;
        self.content.borrow_mut()[offset..offset + bytes.len()].copy_from_slice(&bytes);
        self.note(Event::Written(arrived));
        Ok(())
    }
}

fn failing(count: &Cell<u32>) -> bool {
    let left = count.get();
    count.set(left.saturating_sub(1));
    left > 0
}

impl Volume for Leg {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        self.serve().await?;
        if request.offset < self.user {
            self.context.sleep(self.faults.read_time.get()).await;
        }
        if request.offset < self.user && failing(&self.faults.reads) {
            return Err(Error::new(ErrorKind::Io, "the sector cannot be read"));
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
        if failing(&self.faults.flushes) {
            self.note(Event::Forgotten { disk: self.number });
            self.faults.fenced.set(true);
            let _ = self.serve().await;
            return Err(Error::new(ErrorKind::Io, "the flush failed"));
        }
        let arrived = self.note(Event::Flush { disk: self.number });
        self.context.sleep(self.faults.flush_time.get()).await;
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
