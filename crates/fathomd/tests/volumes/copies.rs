//! Legs of a mirror that are not what they were: copies from earlier moments, and files that are not there.

#![allow(clippy::disallowed_methods, reason = "real processes are waited for by the real clock")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::check::{check, text as told};
use crate::common::{Client, Daemon, FLUSH, directory, program, sockets, success, until};

const BLOCK: usize = 4096;
const BLOCKS: u64 = 200;

fn leg(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("leg-{name}"))
}

fn settings(folder: &Path, size: &str, mirror: &str) -> String {
    let file = |name: &str| {
        format!("[volumes.{name}]\nkind = \"file\"\npath = \"{}\"\n{size}", leg(folder, name).display())
    };
    format!(
        "{}{}{}[volumes.data]\nkind = \"mirror\"\nlegs = [\"a\", \"b\"]\ninitial = \"blank\"\nretry = \"100ms\"\n{mirror}\
         [exports.data]\nvolume = \"data\"\n",
        sockets(folder),
        file("a"),
        file("b"),
    )
}

const SIZED: &str = "size = \"16MiB\"\n";

fn standings(daemon: &Daemon) -> Vec<String> {
    let status: serde_json::Value = serde_json::from_str(&daemon.ask("GET", "/status").1).expect("JSON");
    let legs = status["mirrors"][0]["legs"].as_array().cloned().unwrap_or_default();
    legs.iter().map(|leg| leg["state"].as_str().unwrap_or_default().to_owned()).collect()
}

fn write_all(daemon: &Daemon, byte: u8) {
    let mut client = Client::open(daemon, "data");
    for block in 0..BLOCKS {
        client.write(block * 16 * BLOCK as u64, &[byte; BLOCK]);
    }
    client.request(FLUSH, 0, 0, 0, &[]);
    assert_eq!(client.answer(), (0, 0));
}

/// How many of the blocks show something else, on the volume and on each leg, once both legs are in sync.
fn wrong(daemon: &Daemon, byte: u8) -> (usize, usize, usize) {
    until("both legs are in sync", || standings(daemon) == ["in-sync", "in-sync"]);
    let mut client = Client::open(daemon, "data");
    let mut shown = 0;
    for block in 0..BLOCKS {
        let at = block * 16 * BLOCK as u64;
        // Each leg has its turn.
        let differs = |client: &mut Client| client.read(at, BLOCK as u32) != [byte; BLOCK];
        shown += usize::from(differs(&mut client) || differs(&mut client));
    }
    let held = |name: &str| {
        let bytes = fs::read(leg(&daemon.directory, name)).expect("the leg is there");
        (0..BLOCKS).filter(|block| bytes[(block * 16) as usize * BLOCK..][..BLOCK] != [byte; BLOCK]).count()
    };
    (shown, held("a"), held("b"))
}

/// Copies a leg while the daemon is stopped.
fn copy(daemon: &Daemon, name: &str) -> PathBuf {
    daemon.signal("-STOP");
    let (from, to) = (leg(&daemon.directory, name), daemon.directory.join(format!("copy-{name}")));
    success("cp", &["--sparse=always", &from.display().to_string(), &to.display().to_string()]);
    daemon.signal("-CONT");
    to
}

fn put_back(daemon: &Daemon, name: &str) {
    let (from, to) = (daemon.directory.join(format!("copy-{name}")), leg(&daemon.directory, name));
    fs::copy(from, to).expect("the folder is writable");
}

fn stop(daemon: &mut Daemon) {
    assert!(daemon.stop().success(), "{}", daemon.log());
}

#[test]
fn an_old_copy_of_a_leg_destroys_nothing_whenever_it_was_made() {
    if program("cp", &["--version"]).is_none() {
        return;
    }
    // Which leg, whether it is put back after a planned end, and into how much later a life.
    for (name, clean, lives) in
        [("b", true, 0), ("a", true, 0), ("a", false, 0), ("b", false, 0), ("a", true, 2), ("b", false, 3)]
    {
        let folder = directory();
        // Soon enough that what a crash leaves is older than the copy by the bitmap's age.
        let settings = settings(&folder, SIZED, "clean_after = \"50ms\"\n");
        let mut daemon = Daemon::make_in(&folder, &settings);
        write_all(&daemon, 1);
        copy(&daemon, name);
        write_all(&daemon, 2);
        std::thread::sleep(std::time::Duration::from_millis(300));
        for life in 0..lives {
            stop(&mut daemon);
            daemon.again(&settings);
            write_all(&daemon, 2 + life);
        }
        write_all(&daemon, 9);
        std::thread::sleep(std::time::Duration::from_millis(300));
        if clean {
            stop(&mut daemon);
        } else {
            daemon.kill();
        }
        put_back(&daemon, name);
        daemon.again(&settings);
        let found = wrong(&daemon, 9);
        assert_eq!(found, (0, 0, 0), "copy of {name}, clean: {clean}, {lives} lives later");
        stop(&mut daemon);
    }
}

#[test]
fn a_copy_of_a_leg_that_was_left_behind_is_not_taken_for_it() {
    let folder = directory();
    let settings = settings(&folder, SIZED, "clean_after = \"50ms\"\n");
    let mut daemon = Daemon::make_in(&folder, &settings);
    write_all(&daemon, 1);
    copy(&daemon, "b");
    write_all(&daemon, 2);
    // Quiet: the bits of all regions are cleared.
    std::thread::sleep(std::time::Duration::from_millis(500));
    stop(&mut daemon);
    let away = leg(&folder, "b");
    fs::rename(&away, folder.join("aside")).expect("the folder is writable");
    let mut refused = Daemon::start_in(&folder, &settings);
    assert!(!refused.wait().success(), "a leg is missing that was in sync");
    let log = refused.log();
    let (_, remedy) = log.split_once("force = \\\"").expect("the refusal names its remedy");
    let force = format!("force = \"{}\"\n", remedy.split('\\').next().unwrap_or_default());
    std::mem::forget(refused);
    let told = settings.replace("clean_after", &format!("{force}clean_after"));
    daemon.again(&told);
    assert_eq!(standings(&daemon), ["in-sync", "away"]);
    put_back(&daemon, "b");
    assert_eq!(wrong(&daemon, 2), (0, 0, 0));
    stop(&mut daemon);
}

#[test]
fn a_mirror_starts_without_a_file_that_was_left_behind_and_takes_it_back_when_it_is_there() {
    // The size is given, or known of the other leg alone.
    for size in [SIZED, ""] {
        let folder = directory();
        let made = settings(&folder, SIZED, "");
        let settings = settings(&folder, size, "");
        let mut daemon = Daemon::make_in(&folder, &made);
        write_all(&daemon, 1);
        stop(&mut daemon);
        let (away, aside) = (leg(&folder, "b"), folder.join("aside"));
        fs::rename(&away, &aside).expect("the folder is writable");
        let mut refused = Daemon::start_in(&folder, &settings);
        assert!(!refused.wait().success());
        let log = refused.log();
        std::mem::forget(refused);
        assert!(log.contains("leg-b"), "the refusal names the file: {log}");
        let (_, remedy) = log.split_once("force = \\\"").expect("the refusal is the mirror's");
        let force = format!("force = \"{}\"\n", remedy.split('\\').next().unwrap_or_default());
        let told = settings.replace("retry", &format!("{force}retry"));
        daemon.again(&told);
        assert_eq!(standings(&daemon), ["in-sync", "away"]);
        write_all(&daemon, 2);
        stop(&mut daemon);
        // It was left behind in writing: nobody needs to be told any more, whatever stands in its place.
        for place in ["nothing", "cut off", "empty"] {
            match place {
                "cut off" => fs::write(&away, vec![1; 4 << 20]).expect("writable"),
                "empty" => fs::write(&away, []).expect("writable"),
                _ => {}
            }
            if place == "cut off" && size.is_empty() {
                // Nobody has said how much it should hold, but the other leg has its superblock further back.
                let mut refused = Daemon::start_in(&folder, &settings);
                assert!(!refused.wait().success());
                assert!(refused.log().contains("smaller than when the mirror was made"), "{}", refused.log());
                std::mem::forget(refused);
                let _ = fs::remove_file(&away);
                continue;
            }
            daemon.again(&settings);
            assert_eq!(standings(&daemon), ["in-sync", "away"], "{place}: {}", daemon.log());
            write_all(&daemon, 3);
            stop(&mut daemon);
            let _ = fs::remove_file(&away);
        }
        daemon.again(&settings);
        assert_eq!(standings(&daemon), ["in-sync", "away"]);
        fs::rename(&aside, &away).expect("the folder is writable");
        assert_eq!(wrong(&daemon, 3), (0, 0, 0), "it comes back without a restart");
        until("the return is told", || daemon.log().contains("a leg is in sync again"));
        let told: Vec<String> =
            daemon.log().lines().filter(|line| line.contains("a leg is away")).map(str::to_owned).collect();
        assert!(
            told.len() == 1 && told[0].contains("leg-b") && told[0].contains("\"leg\":\"b\""),
            "{told:?}"
        );
        write_all(&daemon, 4);
        stop(&mut daemon);
        daemon.again(&settings);
        assert_eq!(wrong(&daemon, 4), (0, 0, 0));
        stop(&mut daemon);
    }
}

#[test]
fn a_leg_that_the_mirror_refuses_to_go_without_is_not_made_anew() {
    let folder = directory();
    let settings = settings(&folder, SIZED, "");
    let mut daemon = Daemon::make_in(&folder, &settings);
    write_all(&daemon, 1);
    stop(&mut daemon);
    let (away, aside) = (leg(&folder, "b"), folder.join("aside"));
    fs::rename(&away, &aside).expect("the folder is writable");
    let file = folder.join("fathomd.toml").display().to_string();
    let made = program(env!("CARGO_BIN_EXE_fathomd"), &["--create", &file]).expect("it was built");
    let told = String::from_utf8_lossy(&made.stderr);
    assert!(!made.status.success() && told.contains("was in sync"), "{told}");
    assert!(!away.exists(), "an empty file is in the way of the leg");
    fs::rename(&aside, &away).expect("the folder is writable");
    daemon.again(&settings);
    assert_eq!(wrong(&daemon, 1), (0, 0, 0));
    stop(&mut daemon);
}

#[test]
fn what_is_wrong_with_the_settings_of_a_leg_is_told_and_not_gone_without() {
    let folder = directory();
    let settings = settings(&folder, SIZED, "");
    let mut daemon = Daemon::make_in(&folder, &settings);
    stop(&mut daemon);
    let away = leg(&folder, "b");
    fs::rename(&away, folder.join("aside")).expect("the folder is writable");
    fs::create_dir(&away).expect("the folder is writable");
    let mut refused = Daemon::start_in(&folder, &settings);
    assert!(!refused.wait().success());
    let log = refused.log();
    std::mem::forget(refused);
    assert!(log.contains("this is a directory") && !log.contains("force"), "{log}");
    // Without a mirror a missing file is an error, as before.
    let plain = settings.replace("volume = \"data\"", "volume = \"b\"\nread_only = true");
    fs::remove_dir(&away).expect("it is empty");
    let mut refused = Daemon::start_in(&folder, &plain);
    assert!(!refused.wait().success());
    assert!(refused.log().contains("cannot open"), "{}", refused.log());
    std::mem::forget(refused);
}

#[test]
fn a_cache_on_two_devices_starts_without_one_of_them() {
    let folder = directory();
    let file = |name: &str, size: &str| {
        let path = leg(&folder, name);
        format!("[volumes.{name}]\nkind = \"file\"\npath = \"{}\"\nsize = \"{size}\"\n", path.display())
    };
    let settings = format!(
        "{}{}{}{}[volumes.data]\nkind = \"writeback\"\nbacking = \"disk\"\ncache = \"a\"\ncache_copy = \"b\"\n\
         durability = \"cache-mirrored\"\n[exports.data]\nvolume = \"data\"\n",
        sockets(&folder),
        file("disk", "32MiB"),
        file("a", "128MiB"),
        file("b", "128MiB"),
    );
    let mut daemon = Daemon::make_in(&folder, &settings);
    let mut client = Client::open(&daemon, "data");
    client.write(0, &[7; BLOCK]);
    client.request(FLUSH, 0, 0, 0, &[]);
    assert_eq!(client.answer(), (0, 0));
    daemon.kill();
    fs::remove_file(leg(&folder, "a")).expect("it is there");
    daemon.again(&settings);
    assert!(daemon.log().contains("\"serving\""), "{}", daemon.log());
    assert_eq!(Client::open(&daemon, "data").read(0, BLOCK as u32), [7; BLOCK]);
}

#[test]
fn of_three_legs_that_were_each_opened_alone_any_one_can_stay() {
    let folder = directory();
    let names = ["a", "b", "c"];
    let with = |told: &str| {
        let legs: String = names
            .iter()
            .map(|name| {
                let path = leg(&folder, name);
                format!("[volumes.{name}]\nkind = \"file\"\npath = \"{}\"\n{SIZED}", path.display())
            })
            .collect();
        format!(
            "{}{legs}[volumes.data]\nkind = \"mirror\"\nlegs = [\"a\", \"b\", \"c\"]\ninitial = \"blank\"\n{told}\
             [exports.data]\nvolume = \"data\"\n",
            sockets(&folder)
        )
    };
    let refusal = |settings: &str| {
        let mut refused = Daemon::start_in(&folder, settings);
        assert!(!refused.wait().success(), "{}", refused.log());
        let log = refused.log().replace("\\\"", "\"");
        std::mem::forget(refused);
        log
    };
    let mut daemon = Daemon::make_in(&folder, &with(""));
    write_all(&daemon, 1);
    stop(&mut daemon);
    let aside = |name: &str| folder.join(format!("aside-{name}"));
    for (number, alone) in names.into_iter().enumerate() {
        let away = || names.into_iter().filter(|name| *name != alone);
        away().for_each(|name| fs::rename(leg(&folder, name), aside(name)).expect("the folder is writable"));
        let log = refusal(&with(""));
        let (_, rest) = log.split_once("force = \"").expect("the refusal names its remedy");
        let force = format!("force = \"{}\"\n", rest.split('"').next().unwrap_or_default());
        daemon.again(&with(&force));
        write_all(&daemon, 2 + number as u8);
        stop(&mut daemon);
        away().for_each(|name| fs::rename(aside(name), leg(&folder, name)).expect("the folder is writable"));
    }
    let log = refusal(&with(""));
    let offer = log.split("discard = ").find(|offer| offer.contains("; `b` stays)")).expect("b may stay");
    let discard = offer.split(" (").next().unwrap_or_default();
    daemon.again(&with(&format!("discard = {discard}\n")));
    until("all legs are in sync", || standings(&daemon) == ["in-sync"; 3]);
    let mut client = Client::open(&daemon, "data");
    for block in 0..BLOCKS {
        for _leg in names {
            assert_eq!(client.read(block * 16 * BLOCK as u64, BLOCK as u32), [3; BLOCK], "what b held");
        }
    }
    drop(client);
    stop(&mut daemon);
}

#[test]
fn one_of_two_cache_devices_that_is_not_there_is_told_and_hinders_no_stop() {
    let folder = directory();
    let file = |name: &str, size: u32| {
        format!(
            "[volumes.{name}]\nkind = \"file\"\npath = \"{}\"\nsize = \"{size}MiB\"\n",
            leg(&folder, name).display()
        )
    };
    let text = format!(
        "{}{}{}{}[volumes.data]\nkind = \"writeback\"\nbacking = \"disk\"\ncache = \"one\"\ncache_copy = \"two\"\n\
         durability = \"cache-mirrored\"\n[exports.data]\nvolume = \"data\"\n",
        sockets(&folder),
        file("disk", 64),
        file("one", 128),
        file("two", 128)
    );
    let mut daemon = Daemon::make_in(&folder, &text);
    stop(&mut daemon);
    fs::remove_file(leg(&folder, "two")).expect("it was there");
    let checked = check(&folder.join("fathomd.toml"), &[]);
    assert!(checked.status.success(), "a start goes on without it: {}", told(&checked));
    daemon.again(&text);
    until("it is told, with the reason", || {
        let log = daemon.log();
        log.lines()
            .any(|line| line.contains("a cache device is away or failed") && line.contains("No such file"))
    });
    let told = daemon.ask("GET", "/status").1;
    assert!(told.contains("\"behind_because\":\"") && told.contains("No such file"), "{told}");
    assert!(
        daemon
            .ask("GET", "/metrics")
            .1
            .contains("fathomd_writeback_leg{group=\"data\",leg=\"two\",state=\"behind\"} 1")
    );
    write_all(&daemon, 7);
    let (head, answer) = daemon.ask("POST", "/drain");
    assert!(head.contains("200"), "{head}: {answer}");
    stop(&mut daemon);
    let held = fs::read(leg(&folder, "disk")).expect("it is there");
    assert!((0..BLOCKS).all(|block| held[(block * 16) as usize * BLOCK..][..BLOCK] == [7; BLOCK]));
}
