//! The log on volumes, in virtual time.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;

use fathom_devices::Model;
use fathom_devices::model::{Config, Service, ServiceTime, Shape};
use fathom_runtime::{Context, MILLISECOND, Nanos, Runtime, SECOND};
use fathom_volume::{Handle, Kind, Pool};

use super::{Log, Settings};

fn disk(context: &Context, latency: Nanos) -> Handle {
    let time = ServiceTime::new(latency, None);
    let service = Service {
        read: time,
        write: time,
        flush: 0,
        servers: 1000,
        shape: Shape::Constant,
        volatile_cache: None,
    };
    let model = Model::new(context, "log", &Config::new(1 << 30, service), None).expect("sound settings");
    Handle::new(context, "log", "model", model).expect("the geometry is sound")
}

/// Sessions that commit records of that many bytes for a second on a log with a write latency of a millisecond; commits
/// and writes.
fn commit_for_a_second(sessions: u32, bytes: u64, settings: Settings) -> (u64, u64) {
    let runtime = Runtime::virtual_time(1);
    let context = runtime.context();
    let volume = disk(&context, MILLISECOND);
    let log = Log::new(&context, &Pool::hollow(), &volume, settings);
    let done = runtime.block_on(async {
        let session = |_| {
            let (log, context) = (Rc::clone(&log), context.clone());
            context.clone().spawn(async move {
                let mut commits = 0;
                while context.now() < SECOND {
                    log.append(bytes).await.expect("the disk does not fail");
                    log.commit().await.expect("the disk does not fail");
                    commits += 1;
                }
                commits
            })
        };
        let mut commits = 0;
        for session in (0..sessions).map(session).collect::<Vec<_>>() {
            commits += session.await;
        }
        commits
    });
    (done.expect("nothing waits for ever"), log.writes())
}

#[test]
fn one_session_commits_once_per_write() {
    let (commits, writes) = commit_for_a_second(1, 300, Settings::sql_server(512, 1 << 30));
    assert_eq!((commits, writes), (1000, 1000));
}

#[test]
fn many_sessions_share_writes() {
    // Half of the sessions ride in the write under way and half wait for the next, whose commits then are all others.
    let (commits, writes) = commit_for_a_second(64, 300, Settings::sql_server(512, 1 << 30));
    assert!((990..=1010).contains(&writes), "{writes} writes");
    assert!((31_000..=65_000).contains(&commits), "{commits} commits");
}

#[test]
fn a_write_wakes_the_commits_it_hardened_and_no_others() {
    let runtime = Runtime::virtual_time(1);
    let context = runtime.context();
    let volume = disk(&context, MILLISECOND);
    // One write at a time, and records that fill blocks: most sessions wait for more than one write.
    let settings = Settings { writes_in_flight: 1, ..Settings::sql_server(4096, 1 << 30) };
    let log = Log::new(&context, &Pool::hollow(), &volume, settings);
    let polls = Rc::new(Cell::new(0_u64));
    let session = |_| {
        let (log, polls) = (Rc::clone(&log), Rc::clone(&polls));
        context.spawn(async move {
            for _ in 0..5 {
                log.append(4000).await.expect("the disk does not fail");
                let mut commit = pin!(log.commit());
                let counted = poll_fn(|task| {
                    polls.set(polls.get() + 1);
                    commit.as_mut().poll(task)
                });
                counted.await.expect("the disk does not fail");
            }
        })
    };
    let sessions: Vec<_> = (0..1000).map(session).collect();
    let done = runtime.block_on(async {
        for session in sessions {
            session.await;
        }
    });
    done.expect("nothing waits for ever");
    assert!(log.writes() > 300, "{} writes", log.writes());
    // Once to begin to wait, once when it is hardened.
    assert_eq!(polls.get(), 2 * 5 * 1000);
}

#[test]
fn throughput_is_bounded_by_the_bytes_in_flight() {
    // Without a commit blocks are full: seven records of 8,000 bytes are 56 KiB, and 68 such blocks are 3,840 KiB.
    let runtime = Runtime::virtual_time(1);
    let context = runtime.context();
    let volume = disk(&context, MILLISECOND);
    let log = Log::new(&context, &Pool::hollow(), &volume, Settings::sql_server(4096, 1 << 30));
    let done = runtime.block_on(async {
        while context.now() < SECOND {
            log.append(8000).await?;
        }
        log.commit().await
    });
    done.expect("nothing waits for ever").expect("the disk does not fail");
    let total = volume.statistics().total(context.now());
    let writes = total.kind(Kind::Write).expect("it wrote");
    let rate = writes.bytes as f64 / (context.now() as f64 / SECOND as f64);
    assert!((rate / 3.84e6 / 1024.0 - 1.0).abs() < 0.02, "{rate} bytes a second");
    // And the short block of the commit beside them.
    assert!((68..=69).contains(&total.outstanding_max), "{}", total.outstanding_max);
}

#[test]
fn a_failed_write_fails_every_commit_after_it() {
    use fathom_volume::{Buf, Error, ErrorKind, Geometry, Request, Result, Volume};
    struct Broken(Geometry);
    impl Volume for Broken {
        fn geometry(&self) -> &Geometry {
            &self.0
        }
        async fn read(&self, _: &Request, _: Buf) -> Result<()> {
            Ok(())
        }
        async fn write(&self, request: &Request, _: Buf) -> Result<()> {
            assert!(request.fua, "the log writes through");
            if request.offset < 20_000 { Ok(()) } else { Err(Error::new(ErrorKind::Io, "worn out")) }
        }
        async fn flush(&self, _: &Request) -> Result<()> {
            Ok(())
        }
        async fn trim(&self, _: &Request) -> Result<()> {
            Ok(())
        }
        async fn write_zeroes(&self, _: &Request) -> Result<()> {
            Ok(())
        }
    }
    let runtime = Runtime::virtual_time(1);
    let context = runtime.context();
    let volume = Handle::new(&context, "log", "broken", Broken(Geometry::plain(1 << 30))).expect("sound");
    let log = Log::new(&context, &Pool::hollow(), &volume, Settings::sql_server(4096, 1 << 30));
    let done = runtime.block_on(async {
        let mut answers = Vec::new();
        for _ in 0..5 {
            log.append(3000).await.expect("there is room");
            answers.push(log.commit().await.is_ok());
        }
        answers
    });
    // Writes at 8192, 12288 and 16384 succeed.
    assert_eq!(done, Ok(vec![true, true, true, false, false]));
}
