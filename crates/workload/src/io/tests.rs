//! Runs of the `io` workload, in virtual time unless a test says otherwise.

use fathom_runtime::{Context, MICROSECOND, MILLISECOND, RingSetup, SECOND};
use fathom_volume::{Handle, Kind, Site};

use super::{AddressPattern, Config, Limit, Pace, Phase, Profile, Think, run};
use crate::testing::{Misbehaviour, StopAt, Store, Timed};
use fathom_job::draw::{Arrivals, Sizes};
use fathom_job::outcome::{Failure, Outcome, Reason};
use fathom_job::storage::Storage;

fn virtual_run(
    seed: u64,
    config: &Config,
    make: impl FnOnce(&Context) -> Handle,
) -> Result<Outcome, Failure> {
    let site = Site::virtual_time(seed, config.verify);
    let storage = Storage { site: &site, nodes: vec![make(&site.context())] };
    run(config, &storage, &mut ())
}

fn on_disk(profile: Profile) -> Config {
    Config { volumes: vec!["disk".to_owned()], profile, limit: Limit::Time(10 * SECOND), ..Config::default() }
}

fn timed(latency: u64) -> impl FnOnce(&Context) -> Handle {
    move |context| Timed::new(1 << 30, latency).handle(context, "disk")
}

fn get(outcome: &Outcome, name: &str) -> f64 {
    outcome.metrics[name].unwrap_or_else(|| panic!("{name} was not measured"))
}

// Not `expect_err`, which would print every counter of an outcome.
fn refused(result: Result<Outcome, Failure>) -> Failure {
    match result {
        Ok(_) => panic!("the run should have failed"),
        Err(failure) => failure,
    }
}

fn near(outcome: &Outcome, name: &str, expected: f64, tolerance: f64) {
    let value = get(outcome, name);
    assert!((value / expected - 1.0).abs() <= tolerance, "{name} is {value}, expected {expected}");
}

fn count(outcome: &Outcome, kind: Kind) -> u64 {
    outcome.totals[0].total.kind(kind).map_or(0, |kind| kind.count)
}

#[test]
fn a_closed_loop_obeys_littles_law() {
    let profile = Profile { workers: 4, outstanding: 8, read: 0.7, ..Profile::default() };
    let outcome = virtual_run(1, &on_disk(profile), timed(MILLISECOND)).expect("it runs");
    near(&outcome, "iops", 32_000.0, 1e-3);
    near(&outcome, "outstanding", 32.0, 1e-3);
    near(&outcome, "outstanding", get(&outcome, "iops") * get(&outcome, "latency_ms") / 1000.0, 1e-3);
    near(&outcome, "mb_per_s", get(&outcome, "iops") * 4096.0 / 1e6, 1e-9);
}

#[test]
fn users_who_think_ask_less_often() {
    for think in [Think::Constant(9 * MILLISECOND), Think::Exponential(9 * MILLISECOND)] {
        let profile = Profile { outstanding: 50, pace: Pace::Closed(think), ..Profile::default() };
        let outcome = virtual_run(1, &on_disk(profile), timed(MILLISECOND)).expect("it runs");
        // N / (Z + R): exact for constant times, in the mean for exponential ones.
        near(&outcome, "iops", 50.0 / 0.010, 0.02);
        near(&outcome, "outstanding", 5.0, 0.02);
    }
}

#[test]
fn open_loop_latency_counts_from_the_intended_start() {
    let stalled = |context: &Context| {
        Timed::new(1 << 30, 100 * MICROSECOND).stalled(4 * SECOND..5 * SECOND).handle(context, "disk")
    };
    let pace = Pace::Open { rate: 1000.0, arrivals: Arrivals::Constant, backlog: 100_000 };
    let open = virtual_run(1, &on_disk(Profile { pace, ..Profile::default() }), stalled).expect("it runs");
    let closed = virtual_run(1, &on_disk(Profile::default()), stalled).expect("it runs");
    // A tenth of the arrivals fall into the stall and wait half a second in the mean; then the one user works them off.
    // The closed loop sees the stall once, in one request of tens of thousands.
    assert!(get(&open, "latency_p95_ms") > 500.0, "{}", get(&open, "latency_p95_ms"));
    assert!(get(&closed, "latency_p999_ms") < 0.2, "{}", get(&closed, "latency_p999_ms"));
    near(&open, "iops", 1000.0, 1e-3);
    // The wait for the user is waiting time, the stall of the one request in the device is not.
    assert!(get(&open, "waiting_ms") > 0.9 * (get(&open, "latency_ms") - 0.2));
    near(&open, "outstanding", get(&open, "iops") * get(&open, "latency_ms") / 1000.0, 0.01);
    assert_eq!(get(&open, "late_ms"), 0.0, "the virtual clock is on time");
}

#[test]
fn a_standstill_is_measured_also_one_that_outlasts_the_run() {
    // From a device at its usual pace; a stall in the middle; one that ends long after the ten seconds of the run.
    for (stall, standstill) in
        [(0..0, 0.1), (4 * SECOND..6 * SECOND, 2000.1), (7 * SECOND..60 * SECOND, 3000.1)]
    {
        for pace in [
            Pace::Closed(Think::None),
            Pace::Open { rate: 1000.0, arrivals: Arrivals::Constant, backlog: 100_000 },
        ] {
            let stalled = |context: &Context| {
                Timed::new(1 << 30, 100 * MICROSECOND).stalled(stall.clone()).handle(context, "disk")
            };
            let outcome =
                virtual_run(1, &on_disk(Profile { pace, ..Profile::default() }), stalled).expect("it runs");
            near(&outcome, "standstill_ms", standstill, 1e-3);
        }
    }
}

#[test]
fn the_backlog_is_bounded_and_every_arrival_accounted_for() {
    let pace = Pace::Open { rate: 2000.0, arrivals: Arrivals::Poisson, backlog: 100 };
    let outcome = virtual_run(3, &on_disk(Profile { pace, ..Profile::default() }), timed(MILLISECOND))
        .expect("it runs");
    let arrived = get(&outcome, "arrivals_per_second") * 10.0;
    let ended = count(&outcome, Kind::Read) as f64 + get(&outcome, "refused") + get(&outcome, "backlog_end");
    assert!(
        (arrived - ended).abs() <= 1.5,
        "{arrived} arrived, {ended} ended, are refused or wait; one is being served"
    );
    near(&outcome, "arrivals_per_second", 2000.0, 0.02);
    near(&outcome, "iops", 1000.0, 0.01);
    near(&outcome, "backlog_max", 100.0, 0.0);
    near(&outcome, "latency_p50_ms", 101.0, 0.05);
}

#[test]
fn what_waits_at_the_end_of_a_phase_is_served_in_the_next_one() {
    let pace = |rate| Pace::Open { rate, arrivals: Arrivals::Constant, backlog: 100_000 };
    let phase = |name: &str, seconds: u64, pace| Phase {
        name: name.to_owned(),
        duration: seconds * SECOND,
        profile: Profile { pace, ..Profile::default() },
    };
    let phases = vec![phase("storm", 2, pace(2000.0)), phase("calm", 8, pace(100.0))];
    let config = Config { phases, ..on_disk(Profile::default()) };
    let outcome = virtual_run(1, &config, timed(MILLISECOND)).expect("it runs");
    // 2,000 of 4,000 wait when the storm is over, and are served in 2.2 s.
    near(&outcome, "storm_iops", 1000.0, 0.01);
    near(&outcome, "calm_iops", (2000.0 + 800.0) / 8.0, 0.01);
    near(&outcome, "calm_latency_p999_ms", 2000.0, 0.05);
    assert_eq!((get(&outcome, "refused"), get(&outcome, "backlog_end")), (0.0, 0.0));
    near(&outcome, "backlog_max", 2000.0, 0.01);
}

#[test]
fn enough_users_serve_an_open_loop_without_a_backlog() {
    let pace = Pace::Open { rate: 5000.0, arrivals: Arrivals::Hyperexponential(4.0), backlog: 10 };
    let profile = Profile { pace, outstanding: 1000, ..Profile::default() };
    let outcome = virtual_run(3, &on_disk(profile), timed(2 * MILLISECOND)).expect("it runs");
    near(&outcome, "latency_ms", 2.0, 1e-3);
    near(&outcome, "outstanding", 10.0, 0.05);
    assert_eq!((get(&outcome, "refused"), get(&outcome, "backlog_max")), (0.0, 0.0));
}

#[test]
fn the_ramp_is_sampled_and_left_out_of_the_totals() {
    // For the first two of three seconds of ramp the device stands.
    let cold =
        |context: &Context| Timed::new(1 << 30, MILLISECOND).stalled(0..2 * SECOND).handle(context, "disk");
    let config = Config { ramp: 3 * SECOND, interval: Some(SECOND), ..on_disk(Profile::default()) };
    let outcome = virtual_run(1, &config, cold).expect("it runs");
    near(&outcome, "iops", 1000.0, 1e-3);
    near(&outcome, "latency_p999_ms", 1.0, 1e-3);
    let starts: Vec<i64> =
        outcome.samples.iter().filter(|sample| sample.node == "disk").map(|s| s.start).collect();
    // Samples begin with the first request that ends, before the measured phase.
    let seconds: Vec<i64> = starts.iter().map(|start| start / SECOND as i64).collect();
    assert_eq!(seconds, (-1..10).collect::<Vec<_>>());
    assert_eq!(outcome.measured, 10 * SECOND);
}

#[test]
fn a_count_of_requests_or_bytes_is_kept_exactly() {
    let profile = Profile { workers: 3, outstanding: 7, ..Profile::default() };
    for (limit, expected) in [(Limit::Requests(100_003), 100_003), (Limit::Bytes(4096 * 1000), 1000)] {
        let config = Config { limit, ..on_disk(profile.clone()) };
        let outcome = virtual_run(1, &config, timed(MILLISECOND)).expect("it runs");
        assert_eq!(count(&outcome, Kind::Read), expected, "{limit:?}");
        let open = Pace::Open { rate: 10_000.0, arrivals: Arrivals::Poisson, backlog: 1000 };
        let config = Config { profile: Profile { pace: open, ..profile.clone() }, ..config };
        let outcome = virtual_run(1, &config, timed(MILLISECOND)).expect("it runs");
        assert_eq!(count(&outcome, Kind::Read), expected, "{limit:?}, open");
    }
}

#[test]
fn an_instant_volume_is_fine_when_requests_are_counted_and_refused_when_not() {
    let counted = Config {
        limit: Limit::Requests(1_000_000),
        ..on_disk(Profile { outstanding: 4, ..Profile::default() })
    };
    let outcome = virtual_run(1, &counted, timed(0)).expect("it runs");
    assert_eq!(count(&outcome, Kind::Read), 1_000_000);
    assert_eq!(outcome.metrics["iops"], None, "no time passed, so there is no rate");
    let failure = refused(virtual_run(1, &on_disk(Profile::default()), timed(0)));
    assert_eq!(failure.reason, Reason::Settings);
    assert!(failure.message.contains("think"), "{failure}");
}

#[test]
fn phases_follow_each_other_on_one_time_line() {
    let phase = |name: &str, seconds: u64, outstanding: u32, read: f64| Phase {
        name: name.to_owned(),
        duration: seconds * SECOND,
        profile: Profile { outstanding, read, ..Profile::default() },
    };
    let phases = vec![phase("calm", 4, 1, 1.0), phase("storm", 2, 16, 0.0), phase("after", 4, 1, 1.0)];
    let config = Config { phases, ..on_disk(Profile::default()) };
    let outcome = virtual_run(1, &config, timed(MILLISECOND)).expect("it runs");
    near(&outcome, "calm_iops", 1000.0, 0.01);
    near(&outcome, "storm_write_iops", 16_000.0, 0.01);
    near(&outcome, "storm_outstanding", 16.0, 0.01);
    near(&outcome, "after_read_iops", 1000.0, 0.02);
    assert_eq!(outcome.metrics["calm_write_latency_ms"], None);
    near(&outcome, "iops", (4000.0 + 32_000.0 + 4000.0) / 10.0, 0.01);
    assert_eq!(outcome.measured, 10 * SECOND);
}

#[test]
fn flushes_follow_every_nth_write_of_a_worker() {
    let profile = Profile { read: 0.0, flush_every: 8, outstanding: 4, ..Profile::default() };
    let config = Config { limit: Limit::Requests(8000), ..on_disk(profile) };
    let outcome = virtual_run(1, &config, timed(MILLISECOND)).expect("it runs");
    assert_eq!((count(&outcome, Kind::Write), count(&outcome, Kind::Flush)), (8000, 1000));
}

#[test]
fn the_same_seed_gives_the_same_digest_and_another_seed_another() {
    let sizes = Sizes::weighted(&[(4096, 1.0), (65_536, 1.0)]).expect("sound weights");
    let think = Think::Exponential(100 * MICROSECOND);
    for pace in [
        Pace::Closed(think),
        Pace::Open { rate: 20_000.0, arrivals: Arrivals::Hyperexponential(3.0), backlog: 100 },
    ] {
        let profile = Profile {
            workers: 2,
            outstanding: 8,
            read: 0.5,
            read_sizes: sizes.clone(),
            places: AddressPattern::Zipf(0.9),
            pace,
            ..Profile::default()
        };
        let config = Config { limit: Limit::Time(SECOND), ..on_disk(profile) };
        let digest = |seed| {
            virtual_run(seed, &config, timed(MILLISECOND)).expect("it runs").digest.expect("simulated")
        };
        assert_eq!(digest(1), digest(1));
        assert_ne!(digest(1).0, digest(2).0);
    }
}

fn checked(crime: Misbehaviour, victim: u64, read: f64) -> Result<u64, Failure> {
    let sizes = Sizes::weighted(&[(4096, 2.0), (12_288, 1.0)]).expect("sound weights");
    let profile = Profile {
        outstanding: 16,
        read,
        trim: 0.05,
        read_sizes: sizes.clone(),
        write_sizes: sizes,
        length: Some(1 << 19),
        ..Profile::default()
    };
    let config = Config { verify: true, fill: true, limit: Limit::Requests(5000), ..on_disk(profile) };
    let store = |context: &Context| Store::handle(context, "disk", 1 << 20, MILLISECOND, crime, victim);
    virtual_run(5, &config, store).map(|outcome| count(&outcome, Kind::Read))
}

#[test]
fn verify_passes_on_an_honest_volume_with_many_overlapping_requests() {
    let reads = checked(Misbehaviour::None, 0, 0.6).expect("the volume is honest");
    assert!(reads > 2500, "{reads} reads were checked");
}

#[test]
fn verify_finds_a_corrupt_a_lost_and_a_misdirected_write() {
    // With reads in the mix they find the 700th write, wherever it is not overwritten first; without, the final check
    // finds one of the last.
    for (read, victim) in [(0.5, 700), (0.0, 4745)] {
        for (crime, words) in [
            (Misbehaviour::Corrupt, &["it is corrupt"][..]),
            (Misbehaviour::Lose, &["a write was lost"]),
            // Found at the place it should have gone to, or where it went.
            (Misbehaviour::Misdirect, &["a write was lost", "a write went to the wrong place"]),
        ] {
            let failure = checked(crime, victim, read).expect_err("the crime is found");
            assert_eq!(failure.reason, Reason::Verification, "{failure}");
            assert!(words.iter().any(|word| failure.message.contains(word)), "{crime:?}: {failure}");
            assert!(failure.message.contains("disk"), "{failure}");
        }
    }
}

#[test]
fn a_write_lost_while_filling_is_found() {
    let failure = checked(Misbehaviour::Lose, 0, 0.6).expect_err("the crime is found");
    assert!(failure.message.contains("zeroes"), "{failure}");
}

#[test]
fn every_metric_is_listed_in_the_registry() {
    let pace = Pace::Open { rate: 1000.0, arrivals: Arrivals::Poisson, backlog: 10 };
    let profile = Profile { read: 0.5, flush_every: 2, outstanding: 16, pace, ..Profile::default() };
    let outcome = virtual_run(1, &on_disk(profile), timed(MILLISECOND)).expect("it runs");
    let listed: Vec<_> = (super::KIND.metrics)().into_iter().map(|metric| metric.name).collect();
    let unlisted: Vec<_> =
        outcome.metrics.keys().filter(|name| !listed.contains(&name.as_str().into())).collect();
    assert!(unlisted.is_empty(), "{unlisted:?}");
    // Errors end a run, and no volume here can be rebuilt: those are the ones that cannot be there.
    let absent: Vec<_> = listed.into_iter().filter(|name| !outcome.metrics.contains_key(&**name)).collect();
    assert_eq!(absent, ["errors", "resync_iops", "resync_mb_per_s"]);
}

#[test]
fn what_does_not_suit_the_volumes_is_said_before_the_run_at_its_key() {
    let site = Site::virtual_time(1, false);
    let nodes = vec![Timed::new(1 << 20, 1).handle(&site.context(), "disk")];
    let storage = Storage { site: &site, nodes };
    let fits = |config: &Config| fathom_job::Job::misfits(config, fathom_runtime::Clock::Virtual, &storage);
    assert!(fits(&on_disk(Profile::default())).is_empty());
    let large = Profile { read_sizes: Sizes::fixed(1 << 21), ..Profile::default() };
    let phases = vec![
        Phase { name: "fits".to_owned(), duration: 1, profile: Profile::default() },
        Phase { name: "does_not".to_owned(), duration: 1, profile: large.clone() },
    ];
    let keys = |config: &Config| fits(config).into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    assert_eq!(keys(&on_disk(large)), ["length"]);
    assert_eq!(keys(&Config { phases, ..on_disk(Profile::default()) }), ["phases.1.length"]);
}

#[test]
fn settings_that_cannot_be_carried_out_are_named() {
    let refused = |config: &Config| {
        let failure = refused(virtual_run(1, config, timed(MILLISECOND)));
        assert_eq!(failure.reason, Reason::Settings, "{failure}");
        failure.message
    };
    assert!(
        refused(&Config { volumes: vec!["dsk".to_owned()], ..Config::default() }).contains("there are disk")
    );
    assert!(refused(&on_disk(Profile { workers: 0, ..Profile::default() })).contains("at least 1"));
    assert!(
        refused(&on_disk(Profile { places: AddressPattern::Zipf(f64::NAN), ..Profile::default() }))
            .contains("theta")
    );
    let large = Profile { read_sizes: Sizes::fixed(4 << 30), ..Profile::default() };
    assert!(refused(&on_disk(large)).contains("adapter"));
}

#[test]
fn a_run_can_be_stopped_in_both_clocks() {
    let config = Config { limit: Limit::Time(1_000_000 * SECOND), ..on_disk(Profile::default()) };
    for site in
        [Site::virtual_time(1, false), Site::real(RingSetup::default(), 1).expect("io_uring is there")]
    {
        let nodes = vec![Timed::new(1 << 20, MILLISECOND).handle(&site.context(), "disk")];
        let storage = Storage { site: &site, nodes };
        let failure = refused(run(&config, &storage, &mut StopAt(2)));
        assert_eq!(failure.reason, Reason::Cancelled);
        assert_eq!(storage.nodes[0].statistics().outstanding(), 0, "no request is left behind");
    }
}

#[test]
fn in_real_time_a_timed_volume_is_as_fast_as_its_latency_allows() {
    let site = Site::real(RingSetup::default(), 1).expect("io_uring is there");
    let nodes = vec![Timed::new(1 << 20, 10 * MILLISECOND).handle(&site.context(), "disk")];
    let storage = Storage { site: &site, nodes };
    let profile = Profile { outstanding: 8, read: 0.5, ..Profile::default() };
    let config = Config { limit: Limit::Time(SECOND), ramp: 100 * MILLISECOND, ..on_disk(profile) };
    // A busy machine wakes late, never early; on one that is busy all the time nothing is known.
    let fast = (0..20).any(|_| {
        let outcome = run(&config, &storage, &mut ()).expect("it runs");
        assert!(get(&outcome, "iops") <= 801.0 && get(&outcome, "latency_ms") >= 10.0);
        assert!(outcome.digest.is_none());
        near(&outcome, "outstanding", 8.0, 0.2);
        get(&outcome, "iops") > 200.0 && outcome.samples.len() > 30
    });
    assert!(fast, "slow twenty times");
}

#[test]
fn a_device_error_ends_the_run_as_such() {
    struct Failing(fathom_volume::Geometry);
    impl fathom_volume::Volume for Failing {
        fn geometry(&self) -> &fathom_volume::Geometry {
            &self.0
        }
        async fn read(
            &self,
            request: &fathom_volume::Request,
            _: fathom_volume::Buf,
        ) -> fathom_volume::Result<()> {
            Err(fathom_volume::Error::new(
                fathom_volume::ErrorKind::Io,
                format!("no data at {}", request.offset),
            ))
        }
        async fn write(
            &self,
            _: &fathom_volume::Request,
            _: fathom_volume::Buf,
        ) -> fathom_volume::Result<()> {
            Ok(())
        }
        async fn flush(&self, _: &fathom_volume::Request) -> fathom_volume::Result<()> {
            Ok(())
        }
        async fn trim(&self, _: &fathom_volume::Request) -> fathom_volume::Result<()> {
            Ok(())
        }
        async fn write_zeroes(&self, _: &fathom_volume::Request) -> fathom_volume::Result<()> {
            Ok(())
        }
    }
    let failing = |context: &Context| {
        let volume = Failing(fathom_volume::Geometry::plain(1 << 20));
        Handle::new(context, "disk", "failing", volume).expect("the geometry is sound")
    };
    let failure = refused(virtual_run(1, &on_disk(Profile::default()), failing));
    assert_eq!(failure.reason, Reason::InputOutput);
}
