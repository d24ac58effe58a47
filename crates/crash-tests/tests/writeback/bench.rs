//! Short words for what every case does: build a group over an image, write, flush, look.

use std::cell::RefCell;
use std::rc::Rc;

use fathom_crash_tests::crash::Image;
use fathom_crash_tests::disk::{Event, FailingFlushes, Trace, disk};
use fathom_crash_tests::stand::{Setup, Stand};
use fathom_layers::writeback::{Config, Report, Settings, Status, groups};
use fathom_runtime::{Runtime, SECOND};
use fathom_volume::{Blueprint, Env, Error, Handle, Pool, Request, Result};

pub const PAGE: u64 = 4096;

/// A group that destages only when it is told to, or when its cache is full.
pub fn lazy() -> Setup {
    let mut setup = Setup::small(Settings::default());
    setup.segments = 64;
    setup.settings.batch = 64 << 10;
    setup.settings.lag_target = 20 * SECOND;
    setup.settings.lag_max = 30 * SECOND;
    setup
}

/// An open group over these disks.
pub fn opened(setup: &Setup, image: Image) -> Stand {
    let stand = Stand::build(setup, image, setup.settings.clone(), 20_000, 1);
    stand.open().unwrap_or_else(|why| panic!("it opens, and says: {why}"));
    stand
}

/// Why a group over these disks does not open; that it wrote nothing.
pub fn refusal(setup: &Setup, image: Image) -> Error {
    let stand = Stand::build(setup, image, setup.settings.clone(), 20_000, 1);
    let why = stand.open().expect_err("it is refused");
    assert!(!wrote(&stand), "a refusal writes nothing: {why}");
    why
}

/// Whether anything was written to a disk.
pub fn wrote(stand: &Stand) -> bool {
    stand.trace.borrow().iter().any(|event| matches!(event, Event::Write { .. }))
}

/// Writes a page full of one byte.
pub fn write(stand: &Stand, volume: usize, page: u64, byte: u8) -> Result<()> {
    let buf = stand.pool.copy_of(&[byte; PAGE as usize]);
    stand
        .runtime
        .block_on(stand.volumes[volume].write(Request::new(page * PAGE, PAGE), buf))
        .expect("it ends")
}

/// The first byte of a page.
pub fn read(stand: &Stand, volume: usize, page: u64) -> u8 {
    let buf = stand.pool.get(PAGE as usize);
    let answer = stand.volumes[volume].read(Request::new(page * PAGE, PAGE), buf.clone());
    stand.runtime.block_on(answer).expect("it ends").expect("it is read");
    buf.with(|bytes| bytes[0])
}

pub fn flush(stand: &Stand) {
    stand
        .runtime
        .block_on(stand.volumes[0].flush(Request::flush()))
        .expect("it ends")
        .expect("it is flushed");
}

pub fn settle(stand: &Stand) {
    stand.runtime.block_on(stand.group.settle()).expect("it ends").expect("it settles");
}

pub fn close(stand: &Stand) {
    stand.runtime.block_on(stand.group.close()).expect("it ends").expect("it closes");
}

pub fn sleep(stand: &Stand, span: u64) {
    let context = stand.runtime.context();
    stand.runtime.block_on(context.sleep(span)).expect("time passes");
}

pub fn status(stand: &Stand) -> Status {
    stand.group.status().expect("it is open")
}

/// What the verifier finds on these disks; that it wrote nothing.
pub fn report(setup: &Setup, image: Image) -> Report {
    let runtime = Runtime::virtual_time(1);
    let context = runtime.context();
    let env = Env::new(context.clone(), Pool::new(&context, 0)).for_reading();
    let trace = Trace::default();
    let disks: Vec<Handle> = image
        .into_iter()
        .enumerate()
        .map(|(number, bytes)| {
            disk(&context, number, &Rc::new(RefCell::new(bytes)), &trace, &FailingFlushes::default(), 20_000)
        })
        .collect();
    let cache = setup.cache();
    for number in 0..setup.volumes {
        let config = Config {
            ring: setup.own_ring.then(|| format!("disk{}", cache + 1)),
            group: Some("group".to_owned()),
            ..Config::new(&format!("disk{number}"), &format!("disk{cache}"), setup.settings.clone())
        };
        let mut children = vec![disks[number].clone(), disks[cache].clone()];
        children.extend(setup.own_ring.then(|| disks[cache + 1].clone()));
        config.build(&env, &format!("volume{number}"), children).expect("the settings fit");
    }
    let report = runtime.block_on(groups(&env)[0].check(&env)).expect("it ends");
    let changes = |event: &Event| matches!(event, Event::Write { .. } | Event::Flush { .. });
    assert!(!trace.borrow().iter().any(changes), "the verifier writes nothing");
    report
}
