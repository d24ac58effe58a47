//! The bench: what a volume under test is built with, and disks that lose what was not flushed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use fathom_runtime::{Context, MICROSECOND, Random};
use fathom_volume::{Buf, Env, Geometry, Handle, Pool, Request, Result, Volume};

/// Longest service time of a bench disk, ns.
const SLOWEST: u64 = 50 * MICROSECOND;

/// What a power cut does to writes that were completed and not flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerCut {
    /// They are gone.
    DropAll,
    /// They happened to reach the media.
    KeepAll,
    /// Each atomic unit reached the media or did not.
    Random,
}

/// What a build function is handed. Disks live as long as the claim, executors come and go.
pub struct Fixture {
    /// For [`fathom_volume::Blueprint::build`]; its pool is hollow in a run without payload.
    pub env: Env,
    seed: u64,
    shelf: MediaByName,
}

type MediaByName = Rc<RefCell<BTreeMap<String, Rc<RefCell<Media>>>>>;

/// Bytes that outlive an executor.
struct Media {
    current: Vec<u8>,
    durable: Vec<u8>,
    // By logical sector: whether `current` may still be lost.
    volatile: Vec<bool>,
    sector: usize,
    atomic_sectors: usize,
}

impl Fixture {
    pub(crate) fn new(context: &Context, pool: Pool, seed: u64) -> Self {
        Self { env: Env::new(context.clone(), pool), seed, shelf: MediaByName::default() }
    }

    /// The same disks on another executor.
    pub(crate) fn on(&self, context: &Context, pool: Pool) -> Self {
        Self { env: Env::new(context.clone(), pool), seed: self.seed, shelf: Rc::clone(&self.shelf) }
    }

    /// The seed of this life, for volumes that draw from chance.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// A disk in memory that answers after a time drawn from chance, applies a write in two steps, and, if `geometry`
    /// says so, keeps completed writes in a volatile cache. Asked for again under its name, it holds what survived.
    ///
    /// # Panics
    /// If the geometry contradicts itself.
    pub fn disk(&self, name: &str, geometry: Geometry) -> Handle {
        let media = Rc::clone(self.shelf.borrow_mut().entry(name.to_owned()).or_insert_with(|| {
            let bytes = usize::try_from(geometry.size).expect("a fixture disk fits into memory");
            let sector = geometry.logical_sector as usize;
            Rc::new(RefCell::new(Media {
                current: vec![0; bytes],
                durable: vec![0; bytes],
                volatile: vec![false; bytes / sector],
                sector,
                atomic_sectors: (geometry.atomic_write as usize / sector).max(1),
            }))
        }));
        let context = &self.env.context;
        let random = RefCell::new(context.random(&format!("disk {name}")));
        let disk = Disk { geometry, context: context.clone(), random, media };
        Handle::new(context, name, "disk", disk).expect("the geometry of a fixture disk is sound")
    }

    /// Whether the volume under test uses disks of the bench.
    pub(crate) fn has_disks(&self) -> bool {
        !self.shelf.borrow().is_empty()
    }

    /// Cuts the power of all disks at once.
    pub(crate) fn power_cut(&self, cut: PowerCut, random: &mut Random) {
        for media in self.shelf.borrow().values() {
            media.borrow_mut().power_cut(cut, random);
        }
    }
}

impl Media {
    /// Applies part of a write, in bytes.
    fn write(&mut self, offset: usize, bytes: &[u8], durable: bool) {
        self.current[offset..][..bytes.len()].copy_from_slice(bytes);
        if durable {
            self.durable[offset..][..bytes.len()].copy_from_slice(bytes);
        }
        self.volatile[offset / self.sector..][..bytes.len() / self.sector].fill(!durable);
    }

    fn settle(&mut self, sector: usize) {
        let range = sector * self.sector..(sector + 1) * self.sector;
        self.durable[range.clone()].copy_from_slice(&self.current[range]);
        self.volatile[sector] = false;
    }

    fn power_cut(&mut self, cut: PowerCut, random: &mut Random) {
        let count = self.volatile.len();
        for first in (0..count).step_by(self.atomic_sectors) {
            let unit = first..(first + self.atomic_sectors).min(count);
            let keep = match cut {
                PowerCut::DropAll => false,
                PowerCut::KeepAll => true,
                PowerCut::Random => random.chance(0.5),
            };
            for sector in unit.filter(|_| keep) {
                if self.volatile[sector] {
                    self.settle(sector);
                }
            }
        }
        self.current.copy_from_slice(&self.durable);
        self.volatile.fill(false);
    }
}

struct Disk {
    geometry: Geometry,
    context: Context,
    random: RefCell<Random>,
    media: Rc<RefCell<Media>>,
}

impl Disk {
    async fn serve(&self) {
        let span = self.random.borrow_mut().below(SLOWEST);
        self.context.sleep(span).await;
    }

    /// Where a write of that range may stop half-way: at a random boundary between atomic units.
    fn halfway(&self, request: &Request) -> usize {
        let unit = u64::from(self.geometry.atomic_write.max(self.geometry.logical_sector));
        let (first, last) = (request.offset.div_ceil(unit), request.end() / unit);
        if first >= last {
            return 0;
        }
        let boundary = first + self.random.borrow_mut().below(last - first + 1);
        (boundary * unit - request.offset) as usize
    }

    /// Applies bytes, in two steps with time between; nothing in a run without payload.
    async fn store(&self, request: &Request, write: impl Fn(std::ops::Range<usize>, bool)) {
        let durable = request.fua || !self.geometry.volatile_cache;
        let middle = self.halfway(request);
        self.serve().await;
        write(0..middle, durable);
        if middle > 0 {
            self.serve().await;
        }
        write(middle..request.length as usize, durable);
    }

    /// Stores the same byte everywhere.
    async fn fill(&self, request: &Request, byte: u8) {
        let bytes = vec![byte; request.length as usize];
        self.store(request, |part, durable| {
            let at = request.offset as usize + part.start;
            self.media.borrow_mut().write(at, &bytes[part], durable);
        })
        .await;
    }
}

impl Volume for Disk {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        self.serve().await;
        if into.has_bytes() {
            let media = self.media.borrow();
            into.copy_from(&media.current[request.offset as usize..request.end() as usize]);
        }
        Ok(())
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        self.store(request, |part, durable| {
            if from.has_bytes() {
                let at = request.offset as usize + part.start;
                from.slice(part).with(|bytes| self.media.borrow_mut().write(at, bytes, durable));
            }
        })
        .await;
        Ok(())
    }

    async fn flush(&self, _: &Request) -> Result<()> {
        let before: Vec<usize> = {
            let media = self.media.borrow();
            (0..media.volatile.len()).filter(|sector| media.volatile[*sector]).collect()
        };
        self.serve().await;
        let mut media = self.media.borrow_mut();
        before.into_iter().for_each(|sector| media.settle(sector));
        Ok(())
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        // What is trimmed may read as anything, so it reads as something that was never written.
        self.fill(request, 0xA5).await;
        Ok(())
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        self.fill(request, 0).await;
        Ok(())
    }
}
