//! Users and destaging on one slow volume, in virtual time: neither starves the other.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use fathom_layers::writeback::{Config, Group, Settings, groups};
use fathom_runtime::{Context, MILLISECOND, Nanos, Runtime, SECOND, within};
use fathom_volume::{Blueprint, Buf, Env, Geometry, Handle, Pool, Request, Result, Volume};

const PAGE: u64 = 8 << 10;
const PAGES: u64 = 8192;

/// A disk that serves one request after the other, each in the same time; it keeps no bytes.
struct SlowDisk {
    geometry: Geometry,
    context: Context,
    takes: Nanos,
    free_at: Cell<Nanos>,
}

impl SlowDisk {
    fn handle(context: &Context, name: &str, size: u64, takes: Nanos) -> Handle {
        let disk =
            Self { geometry: Geometry::plain(size), context: context.clone(), takes, free_at: Cell::new(0) };
        Handle::new(context, name, "disk", disk).expect("it is plain")
    }

    async fn serve(&self) -> Result<()> {
        let ends = self.free_at.get().max(self.context.now()) + self.takes;
        self.free_at.set(ends);
        self.context.sleep_until(ends).await;
        Ok(())
    }
}

impl Volume for SlowDisk {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, _: &Request, _: Buf) -> Result<()> {
        self.serve().await
    }

    async fn write(&self, _: &Request, _: Buf) -> Result<()> {
        self.serve().await
    }

    async fn flush(&self, _: &Request) -> Result<()> {
        Ok(())
    }

    async fn trim(&self, _: &Request) -> Result<()> {
        Ok(())
    }

    async fn write_zeroes(&self, _: &Request) -> Result<()> {
        self.serve().await
    }
}

/// A cached volume before a disk of 1 ms.
struct SlowGroup {
    runtime: Runtime,
    context: Context,
    volume: Handle,
    group: Rc<Group>,
    pool: Pool,
}

impl SlowGroup {
    /// With batches of so many bytes and this `lag_target`.
    fn new(batch: u64, lag_target: Nanos) -> Self {
        let runtime = Runtime::virtual_time(1);
        let (context, pool) = (runtime.context(), Pool::hollow());
        let env = Env::new(context.clone(), pool.clone());
        let backing = SlowDisk::handle(&context, "disk", PAGES * PAGE + (16 << 20), MILLISECOND);
        let cache = SlowDisk::handle(&context, "nvme", 256 << 20, 20_000);
        let settings = Settings {
            segment: 1 << 20,
            ring_size: Some(8 << 20),
            batch,
            lag_target,
            lag_max: 20 * lag_target,
            ..Settings::default()
        };
        let built = Config::new("disk", "nvme", settings).build(&env, "data", vec![backing, cache]);
        let (volume, group) = (built.expect("it fits"), Rc::clone(&groups(&env)[0]));
        Self { runtime, context, volume, group, pool }
    }

    /// Readers with one request at a time each until an instant; their latencies, ns.
    fn read(&self, readers: u64, until: Nanos) -> Rc<RefCell<Vec<Nanos>>> {
        let latencies = Rc::<RefCell<Vec<Nanos>>>::default();
        for reader in 0..readers {
            let (volume, pool, context) = (self.volume.clone(), self.pool.clone(), self.context.clone());
            let latencies = Rc::clone(&latencies);
            let mut random = context.random(&format!("reader {reader}"));
            drop(self.context.spawn(async move {
                while context.now() < until {
                    let begin = context.now();
                    // What nobody writes: the second half.
                    let page = PAGES / 2 + random.below(PAGES / 2);
                    if volume.read(Request::new(page * PAGE, PAGE), pool.get(PAGE as usize)).await.is_err() {
                        return;
                    }
                    latencies.borrow_mut().push(context.now() - begin);
                }
            }));
        }
        latencies
    }

    async fn write(&self, page: u64) -> Result<()> {
        self.volume.write(Request::new(page * PAGE, PAGE), self.pool.get(PAGE as usize)).await
    }
}

/// What a case returns: why it does not hold.
type Outcome = core::result::Result<(), String>;

/// A case: what must hold, and the check.
pub type Case = (&'static str, fn() -> Outcome);

/// All cases.
pub const ALL: &[Case] = &[
    ("a reader does not feel a drain", reader),
    ("readers do not keep writes from being destaged", drain),
    ("a drain beside readers has most of the volume", settle),
];

/// One reader while 500 pages go to the volume as fast as they can.
fn reader() -> Outcome {
    let shared = SlowGroup::new(256 << 10, SECOND / 10);
    let work = async {
        for page in 0..500 {
            shared.write(page * 7 % (PAGES / 2)).await.map_err(|error| error.to_string())?;
        }
        let latencies = shared.read(1, shared.context.now() + SECOND / 2);
        shared.group.settle().await.map_err(|error| error.to_string())?;
        let mut latencies = latencies.take();
        latencies.sort_unstable();
        let Some(slow) = latencies.get(latencies.len() * 9 / 10) else {
            return Err("nothing was read".to_owned());
        };
        // Its own millisecond, and the requests before it.
        if *slow > 6 * MILLISECOND {
            return Err(format!("one read in ten took {} us beside a drain", slow / 1000));
        }
        Ok(())
    };
    shared.runtime.block_on(work).map_err(|error| error.to_string())?
}

/// Readers who want more than the volume can do, and a writer who writes little.
fn drain() -> Outcome {
    let shared = SlowGroup::new(256 << 10, SECOND / 10);
    let until = 12 * SECOND;
    let work = async {
        shared.read(32, until);
        let mut slowest = 0;
        while shared.context.now() < until - 2 * SECOND {
            let begin = shared.context.now();
            let written = shared.write(begin / 1000 % (PAGES / 2));
            let answer =
                within(&shared.context, 3 * SECOND, written).await.ok_or("a write waited for 3 s")?;
            answer.map_err(|error| error.to_string())?;
            slowest = slowest.max(shared.context.now() - begin);
            let lag = shared.group.status().map_or(0, |status| status.lag);
            if lag >= 2 * SECOND {
                return Err(format!(
                    "the oldest write is {} ms old, which is more than it may be",
                    lag / 1_000_000
                ));
            }
            shared.context.sleep(20 * MILLISECOND).await;
        }
        if slowest > SECOND / 2 {
            return Err(format!("a write took {} ms", slowest / MILLISECOND));
        }
        Ok(())
    };
    shared.runtime.block_on(work).map_err(|error| error.to_string())?
}

/// Readers who want more than the volume can do, and 500 pages that somebody waits for: at three fifths of the volume they
/// are in place after 0.9 s, at a fifth after 2.6 s.
fn settle() -> Outcome {
    // Nothing is urgent by its age, and batches are large: what ends one waits behind the readers, too.
    let shared = SlowGroup::new(2 << 20, 2 * SECOND);
    let work = async {
        for page in 0..500 {
            shared.write(page * 7 % (PAGES / 2)).await.map_err(|error| error.to_string())?;
        }
        let begin = shared.context.now();
        shared.read(32, begin + 5 * SECOND);
        shared.group.settle().await.map_err(|error| error.to_string())?;
        let took = shared.context.now() - begin;
        if took > 12 * SECOND / 10 {
            return Err(format!("the drain took {} ms", took / MILLISECOND));
        }
        Ok(())
    };
    shared.runtime.block_on(work).map_err(|error| error.to_string())?
}
