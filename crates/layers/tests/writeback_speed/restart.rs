//! How soon a cache is open again after a cut of the power.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use fathom_devices::Model;
use fathom_devices::model::{Config as ModelConfig, Service};
use fathom_layers::writeback::{Group, Settings};
use fathom_runtime::{Runtime, SECOND};
use fathom_volume::{Buf, Geometry, Handle, Pool, Request, Result, Volume};

use super::{PAGE, USERS, cached_on, gp3, nvme};

type Content = Rc<RefCell<BTreeMap<u64, Box<[u8]>>>>;

/// Bytes of a block of [`Blocks`].
const BLOCK: u64 = 4096;

/// A device that keeps blocks which are not zero: a log of zeroes costs its headers.
struct Blocks {
    geometry: Geometry,
    content: Content,
}

impl Volume for Blocks {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        let content = self.content.borrow();
        into.with_mut(|bytes| {
            for (block, at) in bytes.chunks_mut(BLOCK as usize).zip(request.offset / BLOCK..) {
                match content.get(&at) {
                    Some(found) => block.copy_from_slice(found),
                    None => block.fill(0),
                }
            }
        });
        Ok(())
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        let mut content = self.content.borrow_mut();
        from.with(|bytes| {
            for (block, at) in bytes.chunks(BLOCK as usize).zip(request.offset / BLOCK..) {
                if block.iter().all(|byte| *byte == 0) {
                    content.remove(&at);
                } else {
                    content.insert(at, block.into());
                }
            }
        });
        Ok(())
    }

    async fn flush(&self, _: &Request) -> Result<()> {
        Ok(())
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        self.write_zeroes(request).await
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        let gone = request.offset / BLOCK..request.end() / BLOCK;
        self.content.borrow_mut().retain(|at, _| !gone.contains(at));
        Ok(())
    }
}

/// A group over devices with this content, on an executor of its own.
fn on_blocks(cache: u64, settings: &Settings, contents: &[Content; 2]) -> (Runtime, Handle, Rc<Group>) {
    let runtime = Runtime::virtual_time(1);
    let context = runtime.context();
    let device = |(name, size, service, content): (&str, u64, Service, &Content)| {
        let sectors =
            Geometry { logical_sector: BLOCK as u32, physical_sector: BLOCK as u32, ..Geometry::plain(size) };
        let blocks = Blocks { geometry: sectors, content: Rc::clone(content) };
        let blocks = Handle::new(&context, "blocks", "blocks", blocks).expect("a sound geometry");
        let model = Model::new(&context, name, &ModelConfig::new(size, service), Some(blocks));
        Handle::new(&context, name, "model", model.expect("the numbers fit")).expect("a sound geometry")
    };
    let children =
        [("ebs", 64 << 30, gp3(), &contents[0]), ("nvme", cache, nvme(), &contents[1])].map(device);
    let (volume, group) = cached_on(&runtime, Pool::new(&context), children, settings.clone());
    (runtime, volume, group)
}

/// Fills a log for a while, then the power is cut: bytes that were dirty, and the seconds that the next open takes.
fn warm_restart(cache: u64, settings: &Settings, filling: u64) -> (u64, f64) {
    let contents = <[Content; 2]>::default();
    let (runtime, volume, group) = on_blocks(cache, settings, &contents);
    let context = runtime.context();
    for user in 0..USERS {
        let (volume, mut random) = (volume.clone(), context.random(&format!("user {user}")));
        let page = Pool::new(&context).zeroes(PAGE as usize);
        context.spawn(async move {
            let pages = volume.geometry().size / PAGE;
            loop {
                let request = Request::new(random.below(pages) * PAGE, PAGE);
                volume.write(request, page.clone()).await.expect("the models do not fail");
            }
        });
    }
    // To make a group takes the backing volume's time.
    runtime.block_on(group.ready()).expect("it ends").expect("it is made");
    runtime.block_on(context.sleep(filling)).expect("time passes");
    let dirty = group.status().expect("it is open").dirty;
    drop((volume, group, context, runtime));
    let (runtime, _, group) = on_blocks(cache, settings, &contents);
    runtime.block_on(group.ready()).expect("it ends").expect("nothing is lost");
    (dirty, runtime.context().now() as f64 / SECOND as f64)
}

#[test]
fn a_warm_restart_reads_the_dirty_log_at_the_pace_of_the_device() {
    // Of a volume of unknown speed more is taken only if it may lag, and only small batches were committed: to put one in place
    // takes the backing volume's time.
    let long = 1000 * SECOND;
    let settings = Settings {
        batch: 256 << 20,
        dirty_limit: Some(1 << 30),
        lag_max: long,
        drain_target: long,
        ..Settings::default()
    };
    let (dirty, took) = warm_restart(8 << 30, &settings, SECOND / 25);
    println!("log of 8 GiB, {} MiB dirty: open in {took:.3} s", dirty >> 20);
    assert!(dirty > 32 << 20 && took < 0.02 + 1.2 * dirty as f64 / 2e9, "{dirty} bytes, {took} s");
}

#[test]
#[ignore = "half a minute of CPU: docs/WRITEBACK.md has the figure"]
fn a_log_of_100_gb_is_open_within_five_seconds() {
    let (dirty, took) = warm_restart(100_000_000_000 / BLOCK * BLOCK, &Settings::default(), 20 * SECOND);
    println!("log of 100 GB, {} MB dirty: open in {took:.2} s", dirty / 1_000_000);
    assert!(dirty > 3_000_000_000 && took <= 5.0, "{dirty} bytes, {took} s");
}
