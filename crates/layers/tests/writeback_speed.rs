//! What the write-back cache costs and saves, in virtual time, in front of a modelled cloud volume: 16,000 IOPS, 1 ms.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use fathom_devices::Model;
use fathom_devices::model::{Config as ModelConfig, Service, ServiceTime, Shape};
use fathom_layers::writeback::{Config, Group, Settings, groups};
use fathom_runtime::{MILLISECOND, Runtime, SECOND};
use fathom_volume::{Blueprint, Env, Handle, Kind, Pool, Request};

const PAGE: u64 = 8 << 10;
const USERS: u64 = 128;
/// A page written again is one of so many written last: an eighth of a batch, so most fall into the same batch.
const RECENT: u64 = 1024;

fn gp3() -> Service {
    slow(16)
}

/// A cloud volume of 1 ms that does so many thousand requests per second.
fn slow(thousands: u32) -> Service {
    let time = ServiceTime::new(MILLISECOND, None);
    Service {
        read: time,
        write: time,
        flush: 0,
        servers: thousands,
        shape: Shape::Constant,
        volatile_cache: None,
    }
}

fn nvme() -> Service {
    let time = ServiceTime::new(80_000, Some(2e9));
    Service {
        read: time,
        write: time,
        flush: 10_000,
        servers: 16,
        shape: Shape::Constant,
        volatile_cache: None,
    }
}

fn model(runtime: &Runtime, name: &str, size: u64, service: Service) -> Handle {
    let context = runtime.context();
    let model = Model::new(&context, name, &ModelConfig::new(size, service), None).expect("the numbers fit");
    Handle::new(&context, name, "model", model).expect("the geometry is sound")
}

/// Random page writes by users who do not think; pages per second of virtual time after the warm-up. Of 100 writes,
/// `again` go to one of the last [`RECENT`] pages written.
fn writes_per_second(runtime: &Runtime, volume: &Handle, again: u64, warm_up: u64, measured: u64) -> f64 {
    let context = runtime.context();
    let pages = volume.geometry().size / PAGE;
    let done = Rc::new(Cell::new(0_u64));
    let recent: Rc<RefCell<Vec<u64>>> = Rc::default();
    for user in 0..USERS {
        let (context, volume, done, recent) =
            (context.clone(), volume.clone(), Rc::clone(&done), Rc::clone(&recent));
        let mut random = context.random(&format!("user {user}"));
        runtime.context().spawn(async move {
            let pool = Pool::hollow();
            loop {
                let fresh = random.below(pages);
                let page = {
                    let mut recent = recent.borrow_mut();
                    let place = random.below(RECENT) as usize;
                    let chosen =
                        recent.get(place).copied().filter(|_| random.below(100) < again).unwrap_or(fresh);
                    if recent.len() < RECENT as usize {
                        recent.push(fresh)
                    } else {
                        recent[place] = fresh
                    }
                    chosen
                };
                let request = Request::new(page * PAGE, PAGE);
                if volume.write(request, pool.get(PAGE as usize)).await.is_err() {
                    // The group is closed.
                    return;
                }
                done.set(done.get() + 1);
            }
        });
    }
    let count = runtime.block_on(async {
        context.sleep(warm_up).await;
        let before = done.get();
        context.sleep(measured).await;
        done.get() - before
    });
    count.expect("time passes") as f64 * SECOND as f64 / measured as f64
}

fn cached(runtime: &Runtime, pool: Pool, cache: u64, settings: Settings) -> (Handle, Rc<Group>) {
    cached_over(runtime, gp3(), pool, cache, settings)
}

fn cached_over(
    runtime: &Runtime,
    below: Service,
    pool: Pool,
    cache: u64,
    settings: Settings,
) -> (Handle, Rc<Group>) {
    let env = Env::new(runtime.context(), pool);
    let backing = model(runtime, "ebs", 64 << 30, below);
    let nvme = model(runtime, "nvme", cache, nvme());
    let volume =
        Config::new("ebs", "nvme", settings).build(&env, "data", vec![backing, nvme]).expect("it fits");
    let group = Rc::clone(&groups(&env)[0]);
    (volume, group)
}

#[test]
fn a_full_cache_keeps_the_pace_of_the_bare_volume() {
    let runtime = Runtime::virtual_time(1);
    let bare = writes_per_second(&runtime, &model(&runtime, "bare", 64 << 30, gp3()), 0, SECOND, 10 * SECOND);
    let ratio = |again| {
        let runtime = Runtime::virtual_time(1);
        let (volume, _) = cached(&runtime, Pool::hollow(), 2 << 30, Settings::default());
        let with = writes_per_second(&runtime, &volume, again, 6 * SECOND, 8 * SECOND);
        println!(
            "{again} % rewrites: {with:.0} pages/s through a full cache, {bare:.0} bare, ratio {:.3}",
            with / bare
        );
        with / bare
    };
    assert!(ratio(0) >= 0.94);
    // Rewrites pay if they come soon: measured 1.018 with pages of the last 1,024 writes, 1.000 with the last 4,096.
    assert!(ratio(6) > 1.0);
    assert!(ratio(30) > 1.15);
}

#[test]
fn a_planned_stop_takes_no_longer_than_the_drain_target_whatever_the_cache() {
    for cache in [40_u64 << 30, 200 << 30] {
        let runtime = Runtime::virtual_time(1);
        let (volume, group) = cached(&runtime, Pool::hollow(), cache, Settings::default());
        writes_per_second(&runtime, &volume, 0, 20 * SECOND, 10 * SECOND);
        let dirty = group.status().expect("it is open").dirty;
        let begin = runtime.context().now();
        runtime.block_on(group.close()).expect("it ends").expect("the models do not fail");
        let took = (runtime.context().now() - begin) as f64 / SECOND as f64;
        println!("cache {} GiB, {} MiB of log dirty: stop in {took:.1} s", cache >> 30, dirty >> 20);
        assert!(took <= 30.0, "{took} s");
    }
}

#[test]
fn a_full_cache_keeps_an_even_pace() {
    for thousands in [16, 3] {
        let runtime = Runtime::virtual_time(1);
        let (volume, _) =
            cached_over(&runtime, slow(thousands), Pool::hollow(), 2 << 30, Settings::default());
        // Until it is full, and what was taken in too fast at the beginning is forgotten.
        let mut rates = vec![writes_per_second(&runtime, &volume, 0, 40 * SECOND, 3 * SECOND)];
        let context = runtime.context();
        let written =
            || volume.statistics().total(context.now()).kind(Kind::Write).map_or(0, |kind| kind.count);
        for _ in 0..6 {
            let before = written();
            runtime.block_on(context.sleep(3 * SECOND)).expect("time passes");
            rates.push((written() - before) as f64 / 3.0);
        }
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let (least, most) =
            rates.iter().fold((f64::MAX, 0_f64), |(least, most), rate| (least.min(*rate), most.max(*rate)));
        println!("{thousands},000 IOPS: 3 s means from {least:.0} to {most:.0}, mean {mean:.0} pages/s");
        assert!(most - least <= 0.1 * mean, "{rates:?}");
        assert!(mean >= 0.94 * 1000.0 * f64::from(thousands), "{mean}");
    }
}
