//! Bars for the shares: what each class gets of a leg, second by second, in virtual time.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use fathom_runtime::{Context, MILLISECOND, Nanos, Runtime, SECOND};
use fathom_volume::{Blueprint, Buf, Class, Env, Geometry, Handle, Pool, Request, Result, Volume};

use super::{Config, Initial, ReadPolicy, Settings, mirrors};
use crate::share::{Rules, Stated};

/// A disk with one head: 10,000 requests or 100 MB per second, one request after the other.
struct Head {
    geometry: Geometry,
    context: Context,
    free_at: Cell<Nanos>,
    /// By second: device time of users and of the rebuild.
    used: Rc<RefCell<Vec<[Nanos; 2]>>>,
}

impl Head {
    async fn serve(&self, request: &Request) -> Result<()> {
        let cost = (request.length * 10).max(100_000);
        let begin = self.free_at.get().max(self.context.now());
        self.free_at.set(begin + cost);
        self.context.sleep_until(begin + cost).await;
        let second = (begin / SECOND) as usize;
        let mut used = self.used.borrow_mut();
        let length = used.len().max(second + 1);
        used.resize(length, [0; 2]);
        used[second][usize::from(request.class != Class::Foreground)] += cost;
        Ok(())
    }
}

impl Volume for Head {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, _: Buf) -> Result<()> {
        self.serve(request).await
    }

    async fn write(&self, request: &Request, _: Buf) -> Result<()> {
        self.serve(request).await
    }

    async fn flush(&self, _: &Request) -> Result<()> {
        Ok(())
    }

    async fn trim(&self, _: &Request) -> Result<()> {
        Ok(())
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        self.serve(request).await
    }
}

type Used = Rc<RefCell<Vec<[Nanos; 2]>>>;

/// Six seconds of a rebuild with users who do `depth` requests at once of `length` bytes, then four without: what the
/// first leg did second by second.
fn play(stated: Stated, depth: u64, length: u64, resync_io: u64, share: u64) -> Vec<[Nanos; 2]> {
    let runtime = Runtime::virtual_time(4);
    let env = Env::new(runtime.context(), Pool::hollow());
    let settings = Settings {
        initial: Initial::Copy,
        read: ReadPolicy::First,
        resync_io,
        rules: Rules { stated, guaranteed: share, ..Rules::default() },
        ..Settings::default()
    };
    let used: Vec<Used> = (0..2).map(|_| Used::default()).collect();
    let leg = |number: usize| {
        let head = Head {
            geometry: Geometry::plain(4 << 30),
            context: env.context.clone(),
            free_at: Cell::new(0),
            used: Rc::clone(&used[number]),
        };
        Handle::new(&env.context, &format!("leg{number}"), "head", head).expect("it is plain")
    };
    let config = Config { legs: vec!["leg0".into(), "leg1".into()], settings: settings.clone() };
    let mirror = config.build(&env, "mirror", vec![leg(0), leg(1)]).expect("it builds");
    let work = async {
        mirrors(&env)[0].ready().await.expect("it opens");
        let users = (0..depth).map(|user| {
            let (mirror, env) = (mirror.clone(), env.clone());
            env.context.clone().spawn(async move {
                let mut random = env.context.random(&format!("user {user}"));
                while env.context.now() < 6 * SECOND {
                    let request = Request::new(random.below((3 << 30) / length) * length, length);
                    mirror.read(request, env.pool.get(length as usize)).await.expect("it reads");
                }
            })
        });
        for user in users.collect::<Vec<_>>() {
            user.await;
        }
        env.context.sleep_until(10 * SECOND).await;
    };
    runtime.block_on(work).expect("it ends");
    used[0].borrow().clone()
}

/// What the head does, as a person would state it.
const STATED: Stated = Stated { iops: Some(10e3), throughput: Some(100e6), window: Some(MILLISECOND) };

#[test]
fn with_users_who_fill_the_device_the_rebuild_has_a_fifth_of_every_second_and_alone_it_has_all() {
    // What is not stated is learned within the first three seconds.
    for (stated, from) in [(STATED, 1), (Stated::default(), 3)] {
        for (depth, length, resync_io) in [
            (64, 8 << 10, 256 << 10),
            (64, 8 << 10, 64 << 10),
            (16, 64 << 10, 64 << 10),
            (32, 4096, 16 << 10),
        ] {
            let seconds = play(stated, depth, length, resync_io, 20);
            for (second, [users, rebuild]) in seconds.iter().enumerate().take(10).skip(from) {
                let busy = 100.0 * (users + rebuild) as f64 / SECOND as f64;
                let share = 100.0 * *rebuild as f64 / (users + rebuild).max(1) as f64;
                let what = format!(
                    "second {second}, {depth} x {length} B against {resync_io} B: {share:.2} % of {busy:.1} %"
                );
                if second < 6 {
                    println!("{what}");
                    assert!((99.0..=101.0).contains(&busy), "the load does not fill the device: {what}");
                    assert!((18.0..=22.0).contains(&share), "{what}");
                } else if second > 6 {
                    assert!(busy >= 95.0 && share > 99.9, "alone: {what}");
                }
            }
        }
    }
}

#[test]
fn the_share_is_the_one_that_was_asked_for() {
    for share in [5, 50] {
        let seconds = play(STATED, 64, 8 << 10, 64 << 10, share);
        let sums = seconds[1..6]
            .iter()
            .fold([0; 2], |sums: [u64; 2], [users, rebuild]| [sums[0] + users, sums[1] + rebuild]);
        let found = 100.0 * sums[1] as f64 / (sums[0] + sums[1]) as f64;
        assert!((found - share as f64).abs() < 1.0, "{found} % instead of {share} %");
    }
}

#[test]
fn one_user_with_one_request_at_a_time_is_not_crowded_out() {
    let seconds = play(STATED, 1, 8 << 10, 16 << 10, 20);
    for [users, _] in &seconds[1..6] {
        // Each of its requests of 0.1 ms meets the two of 0.16 ms that the rebuild may have at the leg.
        assert!(*users * 100 > SECOND * 20, "{users} ns of a second");
    }
    assert_eq!(Class::default(), Class::Foreground);
}
