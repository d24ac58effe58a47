//! A pool on disks that fail when told to and lose what was not flushed, for the pool's tests.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use fathom_runtime::{MICROSECOND, MILLISECOND, Random, Runtime};
use fathom_volume::{
    Blueprint, Buf, Env, Error, ErrorKind, Geometry, Handle, Kind, Pool as Buffers, Request, Result, Volume,
};

use super::{Config, Node, Settings, pools};

pub const KIB: u64 = 1 << 10;
pub const MIB: u64 = 1 << 20;
/// Bytes at the beginning of every member that hold no extent, with extents of 64 KiB and one block of the map.
pub const HEAD: u64 = 64 * KIB;

pub fn config(members: usize, added: usize, size: u64) -> Config {
    let mut settings =
        Settings { extent: 64 * KIB, resync_io: 16 * KIB, resync_depth: 3, ..Settings::of(size) };
    settings.rules.careful = MILLISECOND;
    let names = |from: usize, to: usize| (from..to).map(|index| format!("m{index}")).collect();
    Config { members: names(0, members), added: names(members, members + added), settings }
}

pub fn volatile(size: u64) -> Geometry {
    Geometry { volatile_cache: true, atomic_write: 16 << 10, ..Geometry::plain(size) }
}

/// A disk whose requests fail when told to, and whose unflushed bytes a power cut takes.
#[derive(Clone)]
pub struct Disk {
    pub current: Rc<RefCell<Vec<u8>>>,
    pub durable: Rc<RefCell<Vec<u8>>>,
    pub fails: Rc<Cell<Option<Kind>>>,
    /// Writes and flushes until the power is cut, of all disks together.
    pub power: Rc<Cell<u64>>,
    /// Bytes of its sectors.
    pub sector: Rc<Cell<u32>>,
}

struct Flaky {
    disk: Disk,
    geometry: Geometry,
    env: Env,
    random: RefCell<Random>,
}

pub fn disks(count: usize, size: u64) -> Vec<Disk> {
    let power = Rc::new(Cell::new(u64::MAX));
    let bytes = || Rc::new(RefCell::new(vec![0; size as usize]));
    let disk = |_| Disk {
        current: bytes(),
        durable: bytes(),
        fails: Rc::default(),
        power: Rc::clone(&power),
        sector: Rc::new(Cell::new(512)),
    };
    (0..count).map(disk).collect()
}

impl Disk {
    pub fn handle(&self, env: &Env, name: &str) -> Handle {
        let (sector, size) = (self.sector.get(), self.current.borrow().len() as u64);
        let geometry = Geometry { logical_sector: sector, physical_sector: sector, ..volatile(size) };
        let random = RefCell::new(env.context.random(name));
        let flaky = Flaky { disk: self.clone(), geometry, env: env.clone(), random };
        Handle::new(&env.context, name, "flaky", flaky).expect("it is plain")
    }

    /// The power is back; what was not flushed is gone, or is there, sector by sector.
    pub fn restart(&self, random: &mut Random, kept: f64) {
        let (mut current, mut durable) = (self.current.borrow_mut(), self.durable.borrow_mut());
        for (new, old) in current.chunks_mut(512).zip(durable.chunks_mut(512)) {
            if random.chance(kept) { old.copy_from_slice(new) } else { new.copy_from_slice(old) }
        }
        self.power.set(u64::MAX);
    }
}

impl Flaky {
    async fn serve(&self, kind: Kind) -> Result<()> {
        let span = self.random.borrow_mut().below(50 * MICROSECOND);
        self.env.context.sleep(span).await;
        if self.disk.fails.get() == Some(kind) {
            return Err(Error::new(ErrorKind::Io, format!("{} failed", kind.name())));
        }
        if kind != Kind::Read {
            let left = self.disk.power.get();
            if left == 0 {
                return Err(Error::new(ErrorKind::Gone, "the power is off"));
            }
            self.disk.power.set(left - 1);
        }
        Ok(())
    }

    fn put(&self, request: &Request, bytes: &[u8]) {
        let range = request.offset as usize..request.end() as usize;
        self.disk.current.borrow_mut()[range.clone()].copy_from_slice(bytes);
        if request.fua {
            self.disk.durable.borrow_mut()[range].copy_from_slice(bytes);
        }
    }
}

impl Volume for Flaky {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        self.serve(Kind::Read).await?;
        into.copy_from(&self.disk.current.borrow()[request.offset as usize..request.end() as usize]);
        Ok(())
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        self.serve(Kind::Write).await?;
        from.with(|bytes| self.put(request, bytes));
        Ok(())
    }

    async fn flush(&self, _: &Request) -> Result<()> {
        self.serve(Kind::Flush).await?;
        self.disk.durable.borrow_mut().copy_from_slice(&self.disk.current.borrow());
        Ok(())
    }

    async fn trim(&self, _: &Request) -> Result<()> {
        self.serve(Kind::Trim).await
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        self.serve(Kind::WriteZeroes).await?;
        self.put(request, &vec![0; request.length as usize]);
        Ok(())
    }
}

/// A pool over such disks, on an executor of its own.
pub struct Testbed {
    pub pool: Handle,
    pub node: Rc<Node>,
    pub env: Env,
    runtime: Runtime,
}

pub fn testbed(config: &Config, disks: &[Disk], seed: u64) -> Testbed {
    let runtime = Runtime::virtual_time(seed);
    let env = Env::new(runtime.context(), Buffers::new(&runtime.context()));
    let members = disks.iter().enumerate().map(|(index, disk)| disk.handle(&env, &format!("m{index}")));
    let pool = config.build(&env, "pool", members.collect()).expect("it builds");
    let node = Rc::clone(&pools(&env)[0]);
    Testbed { pool, node, env, runtime }
}

impl Testbed {
    pub fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work).expect("it ends")
    }

    pub fn counter(&self, name: &str) -> u64 {
        self.pool.counters().into_iter().find(|(found, _)| *found == name).expect("it is counted").1
    }

    pub async fn write(&self, offset: u64, value: u8, length: u64) -> Result<()> {
        let buf = self.env.pool.get(length as usize);
        buf.with_mut(|bytes| bytes.fill(value));
        self.pool.write(Request::new(offset, length), buf).await
    }

    pub async fn read(&self, offset: u64, length: u64) -> Vec<u8> {
        let buf = self.env.pool.get(length as usize);
        self.pool.read(Request::new(offset, length), buf.clone()).await.expect("it reads");
        buf.with(<[u8]>::to_vec)
    }

    pub fn refusal(&self) -> String {
        self.run(self.node.ready()).expect_err("it must not open").to_string()
    }
}

pub fn pattern(extent: u64) -> u8 {
    extent as u8 + 1
}

/// A pool of 24 extents on two disks of 30 places each, written with [`pattern`] and flushed; nothing moves.
pub fn filled(disks: &[Disk]) -> Config {
    let mut still = config(2, disks.len() - 2, 24 * 64 * KIB);
    still.settings.rebalance = false;
    let testbed = testbed(&still, disks, 1);
    testbed.run(async {
        for extent in 0..24 {
            testbed.write(extent * 64 * KIB, pattern(extent), 64 * KIB).await.expect("it writes");
        }
        testbed.pool.flush(Request::flush()).await.expect("it flushes");
    });
    assert_eq!(testbed.pool.facts()[0].1.split(", ").next(), Some("m0 40 % full"));
    Config { settings: Settings { rebalance: true, ..still.settings.clone() }, ..still }
}

pub const DISK: u64 = HEAD + 30 * 64 * KIB;

pub async fn holds_the_pattern(testbed: &Testbed) {
    for extent in 0..24 {
        let found = testbed.read(extent * 64 * KIB, 64 * KIB).await;
        assert!(found.iter().all(|byte| *byte == pattern(extent)), "extent {extent}: {:?}", &found[..4]);
    }
}
