//! The model behind its seam: sizes, data behind it, both clocks.

use fathom_catalogue::{Catalogue, Overrides};
use fathom_conformance::Suite;
use fathom_runtime::{MILLISECOND, RingSetup, Runtime};
use fathom_units::Bytes;
use fathom_volume::{Blueprint, ErrorKind, Geometry, Handle, Kind, Pool, Request};

use super::{Config, Model, Service, ServiceTime, Shape};
use crate::memory::{self, Memory};
use crate::testing::read;

fn millisecond(servers: u32) -> Service {
    let time = ServiceTime::new(MILLISECOND, None);
    Service { read: time, write: time, flush: 0, servers, shape: Shape::Constant, volatile_cache: None }
}

#[test]
fn waiting_and_service_time_are_told_apart() {
    let runtime = Runtime::virtual_time(1);
    let context = runtime.context();
    let config = Config::new(1 << 40, millisecond(1));
    let model = Model::new(&context, "m", &config, None).expect("sound settings");
    let volume = Handle::new(&context, "m", "model", model).expect("sound geometry");
    let pool = Pool::hollow();
    let all = async {
        let reads: Vec<_> = (0..3)
            .map(|i| {
                let (volume, buf) = (volume.clone(), pool.get(4096));
                context.spawn(async move { volume.read(Request::new(i * 4096, 4096), buf).await })
            })
            .collect();
        for read in reads {
            read.await.expect("models do not fail");
        }
    };
    runtime.block_on(all).expect("the model answers");
    let total = volume.statistics().total(context.now());
    let reads = total.kind(Kind::Read).expect("there were reads");
    assert_eq!((reads.latency_sum, reads.waiting_sum), (6 * MILLISECOND, 3 * MILLISECOND));
}

#[test]
fn in_real_time_it_takes_the_modelled_time_whatever_stands_behind() {
    let runtime = Runtime::real(RingSetup::default(), 1).expect("a ring is available");
    let context = runtime.context();
    let pool = Pool::new(&context);
    let memory = Memory::new(&memory::Config::of_size(1 << 20));
    let behind = Handle::new(&context, "bytes", "memory", memory).expect("sound geometry");
    let config = Config { size: None, data: Some("bytes".to_owned()), ..Config::new(0, millisecond(4)) };
    let model = Model::new(&context, "m", &config, Some(behind)).expect("sound settings");
    let volume = Handle::new(&context, "m", "model", model).expect("sound geometry");
    assert_eq!(volume.geometry().size, 1 << 20);
    let work = async {
        volume.write(Request::new(0, 4096), pool.copy_of(&[5; 4096])).await?;
        let buf = pool.get(4096);
        volume.read(Request::new(0, 4096), buf.clone()).await?;
        buf.with(|bytes| assert_eq!(bytes, [5; 4096]));
        Ok::<_, fathom_volume::Error>(())
    };
    runtime.block_on(work).expect("the model answers").expect("memory does not fail");
    assert!(context.now() >= 2 * MILLISECOND, "two requests one after the other took {} ns", context.now());
}

#[test]
fn settings_that_cannot_be_are_refused_by_name() {
    let runtime = Runtime::virtual_time(1);
    let context = runtime.context();
    let small = Handle::new(&context, "s", "memory", Memory::new(&memory::Config::of_size(1 << 20)));
    let behind = || Some(small.clone().expect("sound geometry"));
    let sound = Config::new(1 << 21, millisecond(1));
    let endless = ServiceTime::new(1, Some(0.0));
    let wrong = [
        (sound.clone(), behind(), "holds 1048576"),
        (Config { size: None, ..sound.clone() }, None, "needs `size`"),
        (Config { service: millisecond(0), ..sound.clone() }, None, "servers is 0"),
        (Config { service: Service { read: endless, ..millisecond(1) }, ..sound }, None, "read time"),
    ];
    for (config, data, words) in wrong {
        let error = Model::new(&context, "m", &config, data).err().expect("refused");
        assert_eq!(error.kind(), ErrorKind::Misuse);
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn it_conforms_on_memory_and_on_a_volume() {
    let quick = ServiceTime::new(20_000, Some(1e9));
    let shape = Shape::LogNormal { sigma: 0.5 };
    let service = Service { read: quick, write: quick, flush: 1000, servers: 2, shape, volatile_cache: None };
    let alone = Config::new((4 << 20) + 512, service);
    Suite::new(|bench| alone.build(&bench.env, "volume", Vec::new())).check();
    let cached = Service { volatile_cache: Some(64 << 10), ..alone.service.clone() };
    let before = Config { size: None, data: Some("disk".to_owned()), service: cached, ..alone.clone() };
    Suite::new(|bench| {
        let disk = bench.disk("disk", Geometry::plain((4 << 20) + 512));
        before.build(&bench.env, "volume", vec![disk])
    })
    .check();
}

#[test]
fn settings_are_read_as_the_manual_says() {
    let text = r#"
        size = "8TiB"
        servers = 32
        read = { latency = "4ms", bandwidth = "200MB/s" }
        write = { latency = "300us", work = "5ms", bandwidth = "400MB/s", work_bandwidth = "100MB/s", queued_positioning = 0.5 }
        distribution = { kind = "log-normal", sigma = 0.5 }
    "#;
    let write = ServiceTime {
        base: 3e5,
        per_byte: 2.5,
        work: 5e6,
        work_per_byte: 10.0,
        positioning: 0.0,
        seek: 0.0,
        span: 0.0,
        queued: 0.5,
        turn: 0.0,
    };
    let service = Service {
        read: ServiceTime::new(4_000_000, Some(2e8)),
        write,
        flush: 0,
        servers: 32,
        shape: Shape::LogNormal { sigma: 0.5 },
        volatile_cache: None,
    };
    assert_eq!(read(text, Config::read), Ok(Config::new(8 << 40, service)));
    let measured = "data = \"file\"\nservers = 1\nread = { latency = \"1ms\" }\n\
        distribution = { kind = \"quantiles\", points = [[0, 1], [1.0, 3]] }";
    let config = read(measured, Config::read).expect("sound settings");
    assert_eq!((config.size, config.data.as_deref()), (None, Some("file")));
    assert_eq!(config.service.shape, Shape::Quantiles(vec![(0.0, 1.0), (1.0, 3.0)]));
}

#[test]
fn every_mistake_in_the_settings_is_told_with_its_place() {
    let text = r#"
        servers = 0
        read = { bandwidth = "0MB/s", lattency = "1ms" }
        distribution = { kind = "log-normal", sigma = 9.5 }
        max_transfer = "1000B"
    "#;
    let mistakes = read(text, Config::read).expect_err("six");
    let places: Vec<_> = mistakes.iter().map(|mistake| mistake.split(": ").nth(1).unwrap_or("")).collect();
    for key in ["servers", "read.latency", "read.bandwidth", "read.lattency", "distribution", "max_transfer"]
    {
        assert!(places.contains(&key), "{key} is missing in {mistakes:#?}");
    }
}

#[test]
fn a_model_of_the_catalogue_keeps_its_figures() {
    let catalogue = Catalogue::builtin();
    for (name, size) in [("aws/gp3", Some(Bytes::tib(1))), ("nvme/pm1725a", None), ("hdd/sata-7200", None)] {
        let resolved = catalogue.resolve(name, size, &Overrides::default()).expect("it is in the catalogue");
        let config = Config::of_catalogue(&resolved);
        config.service.check().unwrap_or_else(|why| panic!("{name}: {why}"));
        let runtime = Runtime::virtual_time(1);
        let model = Model::new(&runtime.context(), name, &config, None).expect("sound settings");
        let volume = Handle::new(&runtime.context(), name, "model", model).expect("sound geometry");
        let pool = Pool::hollow();
        runtime
            .block_on(volume.read(Request::new(0, 8192), pool.get(8192)))
            .expect("it answers")
            .expect("it reads");
        let constant =
            Config { service: Service { shape: Shape::Constant, ..config.service.clone() }, ..config };
        let expected = resolved.service.read.latency(Bytes::kib(8)).as_nanos() as f64;
        let sole = Model::new(&runtime.context(), name, &constant, None).expect("sound settings");
        let volume = Handle::new(&runtime.context(), name, "model", sole).expect("sound geometry");
        let start = runtime.context().now();
        runtime
            .block_on(volume.read(Request::new(0, 8192), pool.get(8192)))
            .expect("it answers")
            .expect("it reads");
        let took = (runtime.context().now() - start) as f64;
        assert!((took - expected).abs() <= 2.0, "{name}: {took} ns, and the catalogue says {expected}");
    }
}
