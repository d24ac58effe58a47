//! What a seam costs: a stack of layers that only pass requests on, in both drivers, every counter on.
//!
//! `null_layers [REQUESTS]` prints a line of JSON per driver and way of answering: ns of CPU per request with no layer
//! and with eight, and the difference per layer. `at once`: the device answers without waiting. `later`: 32 requests
//! are outstanding and each waits once at the device, so that each future of the stack is polled twice. Each figure is
//! that of the fastest of many slices: what the code costs where other programs disturb the others.

use std::time::Duration;

use fathom_runtime::{Context, MICROSECOND, RingSetup, Runtime};
use fathom_volume::{Buf, Geometry, Handle, Kind, Pool, Request, Result, Volume};

const LAYERS: u32 = 8;
const USERS: u64 = 32;
const SLICES: u64 = 50;

/// A layer that only passes on.
struct Pass {
    below: Handle,
    geometry: Geometry,
}

impl Volume for Pass {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        self.below.read(request.part(request.offset, request.length), into).await
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        self.below.write(request.part(request.offset, request.length), from).await
    }

    async fn flush(&self, request: &Request) -> Result<()> {
        self.below.flush(request.flush_for()).await
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        self.below.trim(request.part(request.offset, request.length)).await
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        self.below.write_zeroes(request.part(request.offset, request.length)).await
    }
}

/// A device that keeps nothing and answers after a span, at once if that is 0.
struct Device {
    geometry: Geometry,
    context: Context,
    span: u64,
}

impl Device {
    async fn answer(&self) -> Result<()> {
        if self.span > 0 {
            self.context.sleep(self.span).await;
        }
        Ok(())
    }
}

impl Volume for Device {
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

fn main() {
    let requests =
        std::env::args().nth(1).map_or(4_000_000, |text| text.parse().expect("a number of requests"));
    for real in [false, true] {
        for span in [0, 20 * MICROSECOND] {
            let bare = cost(real, span, 0, requests);
            let stacked = cost(real, span, LAYERS, requests);
            println!(
                "{{\"driver\": \"{}\", \"answer\": \"{}\", \"bare_ns\": {bare:.1}, \"eight_layers_ns\": {stacked:.1}, \
                 \"per_layer_ns\": {:.1}}}",
                if real { "real" } else { "virtual" },
                if span == 0 { "at once" } else { "later" },
                (stacked - bare) / f64::from(LAYERS),
            );
        }
    }
}

/// CPU of one request through that many layers, ns; the fastest of many slices.
pub fn cost(real: bool, span: u64, layers: u32, requests: u64) -> f64 {
    let runtime = if real {
        Runtime::real(RingSetup::default(), 1).expect("the real driver needs an io_uring")
    } else {
        Runtime::virtual_time(1)
    };
    let context = runtime.context();
    let device = Device { geometry: Geometry::plain(1 << 40), context: context.clone(), span };
    let mut volume = Handle::new(&context, "device", "device", device).expect("sound geometry");
    for layer in 0..layers {
        let geometry = volume.geometry().clone();
        let pass = Pass { below: volume, geometry };
        volume = Handle::new(&context, &format!("layer{layer}"), "pass", pass).expect("sound geometry");
    }
    // Without a wait one user after the other would run anyway.
    let users = if span == 0 { 1 } else { USERS };
    let run = async |count: u64| {
        let start = |user: u64| {
            let (volume, pool) = (volume.clone(), Pool::hollow());
            let mut random = context.random(&format!("user {user}"));
            context.spawn(async move {
                for _ in 0..count / users {
                    let offset = random.below(1 << 27) * 8192;
                    volume.read(Request::new(offset, 8192), pool.get(8192)).await.expect("nothing fails");
                }
            })
        };
        let tasks: Vec<_> = (0..users).map(start).collect();
        for task in tasks {
            task.await;
        }
    };
    let slice = || {
        let before = cpu();
        runtime.block_on(run(requests / SLICES)).expect("users end");
        (cpu() - before).as_secs_f64() * 1e9 / (requests / SLICES) as f64
    };
    let fastest = (0..SLICES).map(|_| slice()).fold(f64::INFINITY, f64::min);
    let total = volume.statistics().total(context.now());
    let counted = total.kind(Kind::Read).map(|reads| reads.count);
    assert_eq!(counted, Some(requests / SLICES / users * users * SLICES), "every request is counted once");
    fastest
}

/// User and system time of this process.
fn cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the length of the call.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(status, 0, "the process clock is always there");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
