//! Rules against what they say, and the layer against the suite.

use fathom_conformance::Suite;
use fathom_runtime::{MICROSECOND, MILLISECOND, Random, Runtime, SECOND};
use fathom_volume::{Blueprint, Env, ErrorKind, Geometry, Handle, Kind, Pool, Request};

use super::{Config, Effect, Facts, Phase, Return, RuleConfig, Trigger, Verdict};

pub(super) fn rule(effect: Effect, trigger: Trigger) -> RuleConfig {
    RuleConfig { effect, trigger }
}

pub(super) fn config(rules: Vec<RuleConfig>) -> Config {
    Config { backing: "below".to_owned(), rules }
}

fn facts(kind: Kind, offset: u64, now: u64) -> Facts {
    let length = if kind == Kind::Flush { 0 } else { 4096 };
    Facts { kind, offset, length, fua: false, now, phase: Phase::Arriving }
}

#[test]
fn it_conforms_while_it_is_slow() {
    let slow = Trigger { probability: 0.2, ..Trigger::always() };
    let stall = Effect::Stall { from: MILLISECOND, lasts: 100 * MICROSECOND, every: Some(MILLISECOND) };
    let rules = vec![rule(Effect::Delay(30 * MICROSECOND), slow), rule(stall, Trigger::always())];
    let disk = Geometry { volatile_cache: true, ..Geometry::plain(2 << 20) };
    let build = |bench: &fathom_conformance::Fixture| {
        config(rules.clone()).build(&bench.env, "slow", vec![bench.disk("below", disk.clone())])
    };
    Suite::new(build).check();
}

#[test]
fn a_trigger_means_kind_range_time_count_and_chance() {
    let meets = |trigger: &Trigger, asked: &[Facts]| -> Vec<bool> {
        let rule = rule(Effect::Error(ErrorKind::Io), trigger.clone());
        let mut live = rule.live(Random::new(1, "test"), &Geometry::plain(1 << 20)).expect("about requests");
        asked.iter().map(|facts| live.judge(facts) == Verdict::Fail(ErrorKind::Io)).collect()
    };
    let writes = [false, true, false, false, false];
    let at = |offset, now| facts(Kind::Write, offset, now);
    let all = Trigger { kinds: writes, range: Some(8192..12288), during: 10..20, ..Trigger::always() };
    let asked = [at(8192, 10), at(4096, 10), at(4608, 10), at(12288, 10), at(8192, 9), at(8192, 20)];
    assert_eq!(meets(&all, &asked), [true, false, true, false, false, false]);
    assert_eq!(meets(&all, &[facts(Kind::Read, 8192, 10)]), [false]);
    assert_eq!(meets(&all, &[Facts { phase: Phase::Answering, ..at(8192, 10) }]), [false]);

    let flushes = Trigger { range: Some(0..512), ..Trigger::always() };
    assert_eq!(meets(&flushes, &[facts(Kind::Flush, 0, 0)]), [true], "a flush touches every range");
    let counted = Trigger { after: 2, times: Some(1), ..Trigger::always() };
    assert_eq!(meets(&counted, &[at(0, 0); 5]), [false, false, true, false, false]);

    let rare = Trigger { probability: 0.01, ..Trigger::always() };
    let hits = meets(&rare, &vec![at(0, 0); 100_000]).into_iter().filter(|met| *met).count();
    assert!((900..1100).contains(&hits), "{hits}");
}

#[test]
fn a_stall_holds_what_arrives_and_what_is_under_way() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    let below = crate::testing::slow(&env.context, "below", Geometry::plain(1 << 20), 10);
    let stall = Effect::Stall { from: 100, lasts: 50, every: Some(1000) };
    let volume = config(vec![rule(stall, Trigger::always())]).build(&env, "v", vec![below]).expect("it fits");
    let mut tasks = Vec::new();
    for start in [50, 95, 100, 149, 150, 1120, 2099] {
        let (volume, context) = (volume.clone(), env.context.clone());
        tasks.push(env.context.spawn(async move {
            context.sleep_until(start).await;
            volume.flush(Request::flush()).await.expect("it does not fail");
            context.now()
        }));
    }
    let ends = runtime.block_on(async {
        let mut ends = Vec::new();
        for task in tasks {
            ends.push(task.await);
        }
        ends
    });
    assert_eq!(ends, Ok(vec![60, 150, 160, 160, 160, 1160, 2150]));
}

fn one(env: &Env, volume: &Handle, runtime: &Runtime, kind: Kind) -> Result<u64, String> {
    let before = env.context.now();
    let request = match kind {
        Kind::Write => volume.write(Request::new(0, 4096), env.pool.get(4096)),
        _ => volume.read(Request::new(0, 4096), env.pool.get(4096)),
    };
    let result = runtime.block_on(request).expect("nothing waits for ever");
    result.map(|()| env.context.now() - before).map_err(|error| error.to_string())
}

#[test]
fn delays_add_up_an_error_ends_the_request_and_nothing_of_it_goes_below() {
    let runtime = Runtime::virtual_time(1);
    let env = Env::new(runtime.context(), Pool::hollow());
    let below = crate::testing::slow(&env.context, "below", Geometry::plain(1 << 20), SECOND);
    let writes = Trigger { kinds: [false, true, false, false, false], ..Trigger::always() };
    let rules = vec![
        rule(Effect::Delay(5), Trigger::always()),
        rule(Effect::Delay(7), writes.clone()),
        rule(Effect::Error(ErrorKind::Gone), Trigger { after: 1, ..writes }),
        rule(Effect::Delay(1000), Trigger { after: 2, ..Trigger::always() }),
    ];
    let volume = config(rules).build(&env, "flaky", vec![below.clone()]).expect("it fits");
    assert_eq!(one(&env, &volume, &runtime, Kind::Read), Ok(SECOND + 5));
    assert_eq!(one(&env, &volume, &runtime, Kind::Write), Ok(SECOND + 12));
    let before = env.context.now();
    let error = one(&env, &volume, &runtime, Kind::Write).expect_err("the second write fails");
    assert!(
        error.contains("volume `flaky` (fault): rule 3 fails a write of 4096 bytes at offset 0"),
        "{error}"
    );
    assert_eq!(env.context.now() - before, 12);
    assert_eq!(volume.counters()[..3], [("errors", 1), ("delays", 5), ("stalls", 0)]);
    let below = below.statistics().total(env.context.now());
    assert_eq!(below.kind(Kind::Write).map(|writes| writes.count), Some(1));
}

#[test]
fn the_same_seed_meets_the_same_requests_and_another_seed_others() {
    let failed = |seed: u64| -> Vec<bool> {
        let runtime = Runtime::virtual_time(seed);
        let env = Env::new(runtime.context(), Pool::hollow());
        let below = crate::testing::null(&env.context, "below", Geometry::plain(1 << 20));
        let rare = Trigger { probability: 0.1, ..Trigger::always() };
        let volume = config(vec![rule(Effect::Error(ErrorKind::Io), rare)]).build(&env, "v", vec![below]);
        let volume = volume.expect("it fits");
        (0..200).map(|_| one(&env, &volume, &runtime, Kind::Read).is_err()).collect()
    };
    assert_eq!(failed(1), failed(1));
    assert_ne!(failed(1), failed(2));
}

#[test]
fn settings_are_read_and_checked() {
    let read = |text: &str| crate::testing::read(text, Config::read);
    for (text, effect) in [
        ("gone\"\nlasts = \"5s", Effect::Gone(Some(5 * SECOND))),
        ("gone", Effect::Gone(None)),
        ("torn-write\"\nerror = \"io", Effect::Torn(Some(ErrorKind::Io))),
        ("lost-write", Effect::Lost),
        ("misdirected\"\nby = \"8KiB", Effect::Misdirected(Some(8192))),
        ("misdirected\"\nkinds = [\"write\"]\nprobability = \"1%", Effect::Misdirected(None)),
        ("bit-rot", Effect::BitRot),
        ("lying-flush", Effect::LyingFlush),
        ("reordered", Effect::Reordered(64)),
        (
            "old-contents\"\nfrom = \"1s\"\nuntil = \"9s",
            Effect::OldContents(Return { from: SECOND, until: 9 * SECOND }),
        ),
    ] {
        let found = read(&format!("backing = \"below\"\n[[rules]]\nfault = \"{text}\"\n")).expect(text);
        assert_eq!(found.rules[0].effect, effect);
        assert_eq!(found.rules[0].trigger.times, matches!(effect, Effect::Gone(_)).then_some(1), "{text}");
    }
    let text = "backing = \"below\"\n[[rules]]\nfault = \"error\"\nkinds = [\"write\", \"flush\"]\nerror = \"gone\"\n\
                probability = \"0.5%\"\nafter = 10\ntimes = 3\nfrom = \"1s\"\nuntil = \"2s\"\noffset = \"1MiB\"\n\
                length = \"4KiB\"\n[[rules]]\nfault = \"delay\"\ndelay = \"5ms\"\n[[rules]]\nfault = \"stall\"\n\
                from = \"30s\"\nlasts = \"2s\"\nevery = \"60s\"\n";
    let trigger = Trigger {
        kinds: [false, true, true, false, false],
        range: Some(1 << 20..(1 << 20) + 4096),
        probability: 0.005,
        after: 10,
        times: Some(3),
        during: SECOND..2 * SECOND,
    };
    let stall = Effect::Stall { from: 30 * SECOND, lasts: 2 * SECOND, every: Some(60 * SECOND) };
    let expected = config(vec![
        rule(Effect::Error(ErrorKind::Gone), trigger),
        rule(Effect::Delay(5 * MILLISECOND), Trigger::always()),
        rule(stall, Trigger::always()),
    ]);
    assert_eq!(read(text), Ok(expected));
    for (rule, mistakes) in [
        ("", &["fault: it is missing"][..]),
        ("fault = \"eror\"\nkind = 1", &["\"eror\" is not one of its choices"]),
        ("fault = \"delay\"\ndelai = \"1s\"", &["delay: it is missing", "delai: unknown key"]),
        ("fault = \"error\"\nprobability = \"0%\"\ntimes = 0", &["0% is no probability", "times"]),
        ("fault = \"error\"\nfrom = \"2s\"\nuntil = \"1s\"", &["it ends before it begins"]),
        ("fault = \"error\"\nkinds = []\nlength = 0", &["the list is empty", "a range of 0 bytes"]),
        (
            "fault = \"stall\"\nfrom = \"2s\"\nlasts = \"1s\"\nevery = \"1s\"",
            &["begins again before it ends"],
        ),
        ("fault = \"stall\"\nfrom = \"2s\"\nlasts = \"1s\"\ntimes = 2", &["times: unknown key"]),
        ("fault = \"torn-write\"\nkinds = [\"write\", \"read\"]", &["does not happen to a read"]),
        ("fault = \"reordered\"\nwindow = 0", &["window"]),
        ("fault = \"old-contents\"\nfrom = \"2s\"\nuntil = \"1s\"", &["it ends before it begins"]),
        (
            "fault = \"old-contents\"\nfrom = \"1s\"\nuntil = \"2s\"\nkinds = [\"read\"]",
            &["kinds: unknown key"],
        ),
        ("fault = \"reordered\"\n[[rules]]\nfault = \"reordered\"", &["it has 2 rules \"reordered\""]),
    ] {
        let found = read(&format!("backing = \"b\"\n[[rules]]\n{rule}\n")).expect_err(rule);
        assert_eq!(found.len(), mistakes.len(), "{found:?}");
        assert!(found.iter().zip(mistakes).all(|(found, mistake)| found.contains(mistake)), "{found:?}");
    }
    assert!(read("backing = \"b\"").expect_err("no rules")[0].contains("it has no rules"));
}
