//! Volumes for the tests of this crate.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use fathom_runtime::{Context, Nanos};
use fathom_volume::{Buf, Geometry, Handle, Request, Result, Volume};

/// A volume that takes the same time for each request, however many there are, except that it answers nothing during
/// its stall; it keeps nothing.
pub struct Timed {
    geometry: Geometry,
    latency: Nanos,
    stall: std::ops::Range<Nanos>,
    context: RefCell<Option<Context>>,
}

impl Timed {
    pub fn new(size: u64, latency: Nanos) -> Self {
        Self::with_geometry(Geometry::plain(size), latency)
    }

    pub fn with_geometry(geometry: Geometry, latency: Nanos) -> Self {
        Self { geometry, latency, stall: 0..0, context: RefCell::default() }
    }

    /// The same with a stall.
    pub fn stalled(mut self, stall: std::ops::Range<Nanos>) -> Self {
        self.stall = stall;
        self
    }

    pub fn handle(self, context: &Context, name: &str) -> Handle {
        *self.context.borrow_mut() = Some(context.clone());
        Handle::new(context, name, "timed", self).expect("the geometry is sound")
    }

    async fn answer(&self) -> Result<()> {
        if self.latency > 0 {
            let context = self.context.borrow().clone().expect("set when the handle was made");
            context.sleep(self.latency).await;
            if self.stall.contains(&context.now()) {
                context.sleep_until(self.stall.end).await;
            }
        }
        Ok(())
    }
}

impl Volume for Timed {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }
    async fn read(&self, _: &Request, _: Buf) -> Result<()> {
        self.answer().await
    }
    async fn write(&self, _: &Request, _: Buf) -> Result<()> {
        self.answer().await
    }
    async fn flush(&self, _: &Request) -> Result<()> {
        self.answer().await
    }
    async fn trim(&self, _: &Request) -> Result<()> {
        self.answer().await
    }
    async fn write_zeroes(&self, _: &Request) -> Result<()> {
        self.answer().await
    }
}

/// What a store does to one of its writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misbehaviour {
    /// Nothing.
    None,
    /// One bit of what is stored flips.
    Corrupt,
    /// It says yes and stores nothing.
    Lose,
    /// It stores the data 64 KiB further on.
    Misdirect,
}

/// A volume that keeps sectors, takes time, and may commit a crime against its n-th write.
pub struct Store {
    geometry: Geometry,
    sectors: RefCell<BTreeMap<u64, [u8; 512]>>,
    crime: Misbehaviour,
    victim: u64,
    writes: Cell<u64>,
    latency: Nanos,
    context: Context,
}

impl Store {
    pub fn handle(
        context: &Context,
        name: &str,
        size: u64,
        latency: Nanos,
        crime: Misbehaviour,
        victim: u64,
    ) -> Handle {
        let volume = Self {
            geometry: Geometry::plain(size),
            sectors: RefCell::default(),
            crime,
            victim,
            writes: Cell::new(0),
            latency,
            context: context.clone(),
        };
        Handle::new(context, name, "store", volume).expect("the geometry is sound")
    }

    fn put(&self, offset: u64, bytes: &[u8]) {
        for (index, sector) in bytes.chunks_exact(512).enumerate() {
            let sector = sector.try_into().expect("a chunk is a sector");
            self.sectors.borrow_mut().insert(offset / 512 + index as u64, sector);
        }
    }
}

impl Volume for Store {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        self.context.sleep(self.latency).await;
        into.with_mut(|bytes| {
            for (index, sector) in bytes.chunks_exact_mut(512).enumerate() {
                let stored = self.sectors.borrow().get(&(request.offset / 512 + index as u64)).copied();
                sector.copy_from_slice(&stored.unwrap_or([0; 512]));
            }
        });
        Ok(())
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        let number = self.writes.replace(self.writes.get() + 1);
        let crime = if number == self.victim { self.crime } else { Misbehaviour::None };
        // Half of the time before and half after: readers see both states during the write.
        self.context.sleep(self.latency / 2).await;
        let mut bytes = from.with(<[u8]>::to_vec);
        match crime {
            Misbehaviour::None => self.put(request.offset, &bytes),
            Misbehaviour::Corrupt => {
                bytes[300] ^= 0x10;
                self.put(request.offset, &bytes);
            }
            Misbehaviour::Lose => {}
            Misbehaviour::Misdirect => self.put((request.offset + 65_536) % self.geometry.size, &bytes),
        }
        self.context.sleep(self.latency / 2).await;
        Ok(())
    }

    async fn flush(&self, _: &Request) -> Result<()> {
        Ok(())
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        self.write_zeroes(request).await
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        self.put(request.offset, &vec![0; request.length as usize]);
        Ok(())
    }
}

/// Progress that stops the run at its n-th tick.
pub struct StopAt(pub u32);

impl fathom_job::outcome::Progress for StopAt {
    fn tick(&mut self, _: f64, _: &str) -> std::ops::ControlFlow<()> {
        self.0 -= 1;
        if self.0 == 0 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
    }
}
