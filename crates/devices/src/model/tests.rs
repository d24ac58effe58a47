//! The model behind its seam: sizes, data behind it, both clocks.

use fathom_runtime::{MILLISECOND, RingSetup, Runtime};
use fathom_volume::{ErrorKind, Handle, Kind, Pool, Request};

use super::{Config, Model, Service, ServiceTime, Shape};
use crate::memory::{self, Memory};

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
    let runtime = Runtime::real(RingSetup::default(), 1).expect("a ring is to be had");
    let context = runtime.context();
    let pool = Pool::new(&context, 1 << 20);
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
