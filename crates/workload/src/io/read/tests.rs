//! The settings of an `io` workload: what arrives, and what is refused with which words.

use fathom_runtime::{MILLISECOND, SECOND};
use fathom_settings::{Diagnostics, Tree};

use super::read;
use crate::io::profile::{AddressPattern, Config, Limit, Pace, Phase, Profile, Spread, Think};
use fathom_job::draw::{Arrivals, Sizes};

fn read_text(text: &str) -> Result<Config, Vec<String>> {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("study.toml", text, &diagnostics);
    let mut section = tree.section(&diagnostics);
    section.value("kind");
    let config = read(&mut section);
    let whole = section.finish();
    let said: Vec<String> = diagnostics.list().iter().map(ToString::to_string).collect();
    assert_eq!(whole && config.is_some(), said.is_empty(), "{said:?}");
    config.filter(|_| whole).ok_or(said)
}

#[test]
fn the_shortest_workload_is_one_user_who_reads_at_random() {
    let config = read_text("volumes = [\"data\"]").expect("it is right");
    assert_eq!(config, Config { volumes: vec!["data".to_owned()], ..Config::default() });
}

#[test]
fn every_key_arrives_where_it_belongs() {
    let text = r#"
        kind = "io"
        volumes = ["a", "b"]
        spread = "all"
        workers = 4
        outstanding = 16
        read = "70%"
        trim = "5%"
        sizes = [{ size = "8KiB", weight = 3 }, { size = "64KiB", weight = 1 }]
        write_size = "16KiB"
        offsets = "hot-spot"
        hot_requests = "90%"
        hot_space = "10%"
        align = "4KiB"
        start = "1MiB"
        length = "1GiB"
        flush_every = 8
        fua = true
        think = "2ms"
        think_time = "exponential"
        ramp = "5s"
        duration = "20s"
        interval = "500ms"
        fill = true
        verify = true
    "#;
    let expected = Config {
        volumes: vec!["a".to_owned(), "b".to_owned()],
        profile: Profile {
            workers: 4,
            outstanding: 16,
            spread: Spread::All,
            read: 0.7,
            trim: 0.05,
            read_sizes: Sizes::weighted(&[(8192, 3.0), (65_536, 1.0)]).expect("sound weights"),
            write_sizes: Sizes::fixed(16_384),
            places: AddressPattern::HotSpot { requests: 0.9, space: 0.1 },
            align: Some(4096),
            start: 1 << 20,
            length: Some(1 << 30),
            most: None,
            flush_every: 8,
            fua: true,
            pace: Pace::Closed(Think::Exponential(2 * MILLISECOND)),
        },
        ramp: 5 * SECOND,
        limit: Limit::Time(20 * SECOND),
        phases: Vec::new(),
        interval: Some(500 * MILLISECOND),
        fill: true,
        verify: true,
    };
    assert_eq!(read_text(text), Ok(expected));
}

#[test]
fn keys_override_the_preset_and_phases_override_the_keys() {
    let text = r#"
        volumes = ["data"]
        preset = "hci-70-30-8k"
        outstanding = 2
        [[phases]]
        name = "calm"
        duration = "10s"
        [[phases]]
        name = "scan"
        duration = "5s"
        read = "100%"
        size = "64KiB"
        offsets = "sequential"
    "#;
    let config = read_text(text).expect("it is right");
    let [calm, scan] = &config.phases[..] else { panic!("two phases") };
    assert_eq!((calm.profile.workers, calm.profile.outstanding, calm.profile.read), (32, 2, 0.7));
    assert_eq!(calm.profile.places, AddressPattern::Random);
    let expected = Phase {
        name: "scan".to_owned(),
        duration: 5 * SECOND,
        profile: Profile {
            read: 1.0,
            read_sizes: Sizes::fixed(65_536),
            write_sizes: Sizes::fixed(65_536),
            places: AddressPattern::Sequential,
            ..calm.profile.clone()
        },
    };
    assert_eq!(*scan, expected);
    assert_eq!(config.measured(), Some(15 * SECOND));
}

#[test]
fn a_rate_makes_an_open_loop_with_many_users() {
    let open = |more: &str| {
        let config = read_text(&format!("volumes = [\"data\"]\nrate = 5000\n{more}")).expect("it is right");
        let Pace::Open { rate, arrivals, backlog } = config.profile.pace else { panic!("it is open") };
        assert!((rate - 5000.0).abs() < 1e-9);
        (arrivals, backlog, config.profile.outstanding)
    };
    assert_eq!(open(""), (Arrivals::Poisson, 65_536, 1024));
    assert_eq!(open("arrivals = \"constant\"\nbacklog = 10\noutstanding = 4"), (Arrivals::Constant, 10, 4));
    let bursty = open("arrivals = \"hyperexponential\"\nvariation = 9.0");
    assert_eq!(bursty.0, Arrivals::Hyperexponential(9.0));
    let turns = open("arrivals = \"on-off\"\non = \"1s\"\noff = \"9s\"");
    assert_eq!(turns.0, Arrivals::OnOff { on: SECOND, off: 9 * SECOND });
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_what_to_do() {
    for (text, words) in [
        ("preset = \"hci-70-30-8\"", &["there is no preset", "hci-70-30-8k"][..]),
        ("duration = \"1s\"\nrequests = 5", &["3:", "`duration` says when the run ends"]),
        ("read = \"80%\"\ntrim = \"30%\"", &["more than 100 %"]),
        ("theta = 0.9", &["no effect here", "zipf"]),
        ("think = \"1ms\"\nrate = 100", &["no effect here", "closed loop"]),
        ("variation = 2.0", &["no effect here"]),
        ("rate = 10\narrivals = \"on-off\"", &["`on` and `off`"]),
        ("rate = 100000001", &["no volume takes as much", "100,000,000/s"]),
        ("size = \"8KiB\"\nsizes = [{ size = \"4KiB\", weight = 1 }]", &["leave one of them out"]),
        ("outstandin = 4", &["unknown key", "did you mean `outstanding`"]),
        ("workers = 0", &["out of range"]),
        ("duration = \"1s\"\ninterval = \"1ns\"", &["more than 10000 samples", "write \"100us\" or more"]),
        ("requests = 5\ninterval = \"1us\"", &["write \"1ms\" or more"]),
        ("offsets = \"hot-spot\"\nhot_space = \"100%\"", &["nothing is hotter"]),
        ("[[phases]]\nname = \"A b\"\nduration = \"1s\"", &["lower-case"]),
        ("[[phases]]\nname = \"a\"\nduration = \"1s\"\nrate = 10", &["whole workload"]),
        ("duration = \"1s\"\n[[phases]]\nname = \"a\"\nduration = \"1s\"", &["the phases say"]),
        (
            "[[phases]]\nname = \"a\"\nduration = \"1s\"\n[[phases]]\nname = \"a\"\nduration = \"1s\"",
            &["already"],
        ),
    ] {
        let said = read_text(&format!("volumes = [\"data\"]\n{text}")).expect_err(text);
        assert_eq!(said.len(), 1, "{text}: {said:?}");
        assert!(words.iter().all(|word| said[0].contains(word)), "{text}: {said:?}");
    }
    assert!(read_text("").expect_err("no volumes")[0].contains("volumes"));
    let twice = read_text("volumes = [\"data\", \"log\", \"data\"]").expect_err("one of them twice");
    assert!(twice[0].contains("`data` is named twice") && twice[0].contains("raise `workers`"), "{twice:?}");
}

#[test]
fn what_a_backup_and_a_check_have_outstanding_follows_from_buffers_drives_and_files() {
    let users = |text: &str| {
        let profile = read_text(text).expect("it is right").profile;
        (profile.workers, profile.outstanding)
    };
    for (text, expected) in [
        ("preset = \"backup\"\nvolumes = [\"c\"]", (1, 6)),
        ("preset = \"backup\"\nvolumes = [\"c\"]\ndevices = 4", (1, 18)),
        ("preset = \"backup\"\nvolumes = [\"c\", \"d\"]", (2, 4)),
        ("preset = \"backup\"\nvolumes = [\"c\", \"d\"]\nbuffers = 48", (2, 24)),
        ("preset = \"checkdb\"\nvolumes = [\"c\"]", (1, 32)),
        ("preset = \"checkdb\"\nvolumes = [\"c\", \"d\"]\nper = \"drive\"\nfiles = 4", (2, 32)),
        (
            "preset = \"checkdb\"\nvolumes = [\"c\", \"d\"]\nper = \"file\"\nfiles = 4\noutstanding = 8",
            (8, 8),
        ),
    ] {
        assert_eq!(users(text), expected, "{text}");
    }
    for (text, words) in [
        ("volumes = [\"c\"]\nbuffers = 12", "it goes with preset = \"backup\""),
        ("preset = \"backup\"\nvolumes = [\"c\"]\nfiles = 4", "it goes with preset = \"checkdb\""),
        ("preset = \"backup\"\nvolumes = [\"c\"]\nbuffers = 12\ndevices = 2", "`buffers` says how many"),
        (
            "preset = \"backup\"\nvolumes = [\"c\"]\nbuffers = 12\noutstanding = 4",
            "it follows from `buffers`",
        ),
        ("preset = \"checkdb\"\nvolumes = [\"c\"]\nper = \"file\"\nworkers = 2", "it follows from `per`"),
    ] {
        let said = read_text(text).expect_err(text).join("\n");
        assert!(said.contains(words), "{text}: {said}");
    }
}
