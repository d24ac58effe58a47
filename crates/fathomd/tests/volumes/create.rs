//! `fathomd --create`: what it makes is nobody else's meanwhile, and what it removes again is its own.
#![allow(clippy::disallowed_methods, reason = "real processes are waited for by the real clock")]

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::common::{Client, Daemon, FLUSH, directory, program, sockets, success};

fn file(name: &str, more: &str) -> String {
    format!("[volumes.{name}]\nkind = \"file\"\npath = \"{name}.img\"\nsize = \"8MiB\"\n{more}")
}

fn exported(name: &str) -> String {
    format!("[exports.{name}]\nvolume = \"{name}\"\n")
}

/// Settings in a folder of their own, with the names of the files that they need.
fn all(directory: &Path) -> [(String, Vec<&'static str>); 3] {
    let mirror = "[volumes.disk]\nkind = \"mirror\"\nlegs = [\"a\", \"b\"]\ninitial = \"blank\"\n";
    let cache = "[volumes.disk]\nkind = \"writeback\"\nbacking = \"a\"\ncache = \"b\"\nsegment = \"64KiB\"\n";
    let two = [file("a", ""), file("b", "")].concat();
    [
        (format!("{}{}", file("disk", ""), exported("disk")), vec!["disk.img"]),
        (format!("{two}{mirror}{}", exported("disk")), vec!["a.img", "b.img"]),
        (format!("{two}{cache}{}", exported("disk")), vec!["a.img", "b.img"]),
    ]
    .map(|(settings, files)| (sockets(directory) + &settings, files))
}

fn begin(settings: &Path, flags: &[&str]) -> Child {
    let mut fathomd = Command::new(env!("CARGO_BIN_EXE_fathomd"));
    fathomd.args(flags).arg(settings).stderr(Stdio::null()).spawn().expect("the daemon was built")
}

fn create(settings: &Path) -> Output {
    let mut fathomd = Command::new(env!("CARGO_BIN_EXE_fathomd"));
    fathomd.arg("--create").arg(settings).output().expect("the daemon was built")
}

#[test]
fn of_two_at_once_neither_removes_what_the_other_has_made() {
    let directory = directory();
    let settings = directory.join("fathomd.toml");
    for (text, files) in all(&directory) {
        fs::write(&settings, text).expect("writable");
        for _ in 0..8 {
            let both = [begin(&settings, &["--create"]), begin(&settings, &["--create"])];
            let made = both.map(|mut child| child.wait().expect("it was ours").success());
            let there = files.iter().filter(|name| directory.join(name).exists()).count();
            assert!(!made.contains(&true) || there == files.len(), "{made:?}, {there} of {files:?}");
            files.iter().for_each(|name| fs::remove_file(directory.join(name)).unwrap_or_default());
        }
    }
    fs::remove_dir_all(directory).expect("writable");
}

#[test]
fn a_daemon_that_starts_beside_it_never_serves_a_file_that_is_removed() {
    let directory = directory();
    // The daemon has a file of its own.
    let settings = directory.join("create.toml");
    for (text, files) in all(&directory) {
        fs::write(&settings, &text).expect("writable");
        for turn in 0..8 {
            let mut creation = begin(&settings, &["--create"]);
            sleep(Duration::from_millis(2 * turn));
            let mut daemon = Daemon::start_in(&directory, &text);
            creation.wait().expect("it was ours");
            if daemon.log().contains("\"serving\"") {
                let mut client = Client::open(&daemon, "disk");
                client.write(1 << 20, &[7; 4096]);
                client.request(FLUSH, 3, 0, 0, &[]);
                assert_eq!(client.answer(), (0, 3));
                drop(client);
                assert!(files.iter().all(|name| directory.join(name).exists()), "{files:?}");
                assert!(daemon.stop().success());
            } else {
                daemon.wait();
            }
            std::mem::forget(daemon);
            files.iter().for_each(|name| fs::remove_file(directory.join(name)).unwrap_or_default());
        }
    }
    fs::remove_dir_all(directory).expect("writable");
}

#[test]
fn what_it_made_is_removed_again_and_what_others_have_is_not() {
    for allocation in ["sparse", "reserved", "written"] {
        let directory = directory();
        let settings = directory.join("fathomd.toml");
        let new = file("a", &format!("allocation = \"{allocation}\"\n"));
        let text = [sockets(&directory), new, file("b", ""), exported("a"), exported("b")].concat();
        fs::write(&settings, text).expect("writable");
        let other = File::create(directory.join("b.img")).expect("writable");
        other.set_len(8 << 20).expect("writable");
        // SAFETY: flock takes a descriptor and touches no memory.
        assert_eq!(unsafe { libc::flock(other.as_raw_fd(), libc::LOCK_EX) }, 0);
        let refused = create(&settings);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(1) && told.contains("has it locked"), "{told}");
        assert!(!directory.join("a.img").exists(), "{allocation}: {told}");
        assert!(directory.join("b.img").exists(), "it is another's: {told}");
        drop(other);
        success(env!("CARGO_BIN_EXE_fathomd"), &["--create", &settings.display().to_string()]);
        assert!(directory.join("a.img").exists());
        fs::remove_dir_all(directory).expect("writable");
    }
}

#[test]
fn one_that_is_killed_leaves_nothing_that_the_next_refuses() {
    let directory = directory();
    let settings = directory.join("fathomd.toml");
    let large = file("disk", "allocation = \"written\"\n").replace("8MiB", "96MiB");
    fs::write(&settings, [sockets(&directory), large, exported("disk")].concat()).expect("writable");
    for turn in 1..6 {
        let mut creation = begin(&settings, &["--create"]);
        sleep(Duration::from_millis(20 * turn));
        creation.kill().expect("it was ours");
        creation.wait().expect("it was ours");
        let again = create(&settings);
        assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
        let left: Vec<_> = fs::read_dir(&directory).expect("it is there").flatten().collect();
        assert_eq!(left.len(), 2, "the settings and the disk: {left:?}");
        fs::remove_file(directory.join("disk.img")).expect("it was made");
    }
    fs::remove_dir_all(directory).expect("writable");
}

#[test]
fn a_file_that_is_removed_while_a_start_waits_for_its_lock_is_not_served() {
    if program("flock", &["--version"]).is_none() {
        return;
    }
    let directory = directory();
    let disk = directory.join("disk.img");
    let made = File::create(&disk).and_then(|file| file.set_len(8 << 20));
    made.expect("writable");
    let held = format!("touch {0}.held; sleep 1; rm {0}", disk.display());
    let name = disk.display().to_string();
    let mut holder = Command::new("flock").args(["-s", &name, "-c", &held]).spawn().expect("it is there");
    crate::common::until("it is locked", || directory.join("disk.img.held").exists());
    let settings = [sockets(&directory), file("disk", ""), exported("disk")].concat();
    let mut daemon = Daemon::start_in(&directory, &settings);
    assert_eq!(daemon.wait().code(), Some(1), "{}", daemon.log());
    assert!(daemon.log().contains("cannot open"), "{}", daemon.log());
    holder.wait().expect("it was ours");
}

#[test]
fn a_refused_creation_carries_out_no_loss_of_another_group() {
    let directory = directory();
    let settings = |accepts: [&str; 2], lag: &str| {
        let group = |name: &str, more: &str| {
            format!(
                "{}{}[volumes.{name}]\nkind = \"writeback\"\nbacking = \"{name}-slow\"\ncache = \"{name}-fast\"\n\
                 segment = \"64KiB\"\n{lag}{more}{}",
                file(&format!("{name}-slow"), ""),
                file(&format!("{name}-fast"), ""),
                exported(name)
            )
        };
        format!("{}{}{}", sockets(&directory), group("one", accepts[0]), group("two", accepts[1]))
    };
    let lazy = "lag_target = \"100s\"\nlag_max = \"200s\"\n";
    let mut daemon = Daemon::make_in(&directory, &settings(["", ""], lazy));
    for name in ["one", "two"] {
        let mut client = Client::open(&daemon, name);
        client.write(8192, &[5; 4096]);
        client.request(FLUSH, 0, 0, 0, &[]);
        assert_eq!(client.answer(), (0, 0));
    }
    daemon.kill();
    std::mem::forget(daemon);
    for name in ["one", "two"] {
        fs::write(directory.join(format!("{name}-fast.img")), vec![0; 8 << 20]).expect("writable");
    }
    let bytes = || {
        let names = ["one-slow", "one-fast", "two-slow", "two-fast"];
        names.map(|name| fs::read(directory.join(format!("{name}.img"))).expect("it is there"))
    };
    let before = bytes();
    let incarnation = "accept_loss = 2\n";
    fs::write(directory.join("fathomd.toml"), settings([incarnation, ""], lazy)).expect("writable");
    let refused = create(&directory.join("fathomd.toml"));
    let told =
        String::from_utf8_lossy(&refused.stderr).into_owned() + &String::from_utf8_lossy(&refused.stdout);
    assert_eq!(refused.status.code(), Some(1), "{told}");
    assert!(told.contains("group `two`"), "the loss of the other one is accepted: {told}");
    assert!(bytes() == before, "a refused creation changed something");

    // Both are accepted: what was given up is told where it happens.
    fs::write(directory.join("fathomd.toml"), settings([incarnation, incarnation], lazy)).expect("writable");
    let made = create(&directory.join("fathomd.toml"));
    let told = String::from_utf8_lossy(&made.stderr).into_owned() + &String::from_utf8_lossy(&made.stdout);
    assert_eq!(made.status.code(), Some(0), "{told}");
    assert_eq!(told.matches("loss of the cache accepted").count(), 2, "{told}");
    fs::remove_dir_all(directory).expect("writable");
}

#[test]
fn mirrors_pools_and_caches_of_new_files_are_made_together() {
    let files: String = ["a", "b", "c", "d"].map(|name| file(name, "")).concat();
    let mirror = |name: &str, legs: [&str; 2]| {
        format!("[volumes.{name}]\nkind = \"mirror\"\nlegs = {legs:?}\ninitial = \"blank\"\n")
    };
    let mirrors = mirror("m", ["a", "b"]) + &mirror("n", ["c", "d"]);
    let over = [
        "[volumes.disk]\nkind = \"stripe\"\nmembers = [\"m\", \"n\"]\n",
        "[volumes.disk]\nkind = \"pool\"\nmembers = [\"m\", \"n\"]\nsize = \"4MiB\"\nextent = \"64KiB\"\n",
        "[volumes.disk]\nkind = \"mirror\"\nlegs = [\"m\", \"n\"]\ninitial = \"blank\"\n",
        "[volumes.disk]\nkind = \"writeback\"\nbacking = \"m\"\ncache = \"n\"\nsegment = \"64KiB\"\n",
    ];
    for over in over {
        let directory = directory();
        let settings = format!("{}{files}{mirrors}{over}{}", sockets(&directory), exported("disk"));
        let mut daemon = Daemon::make_in(&directory, &settings);
        assert!(daemon.log().contains("\"serving\""), "{over}: {}", daemon.log());
        // What is there already is looked at as it is.
        assert!(daemon.stop().success());
        let again = create(&directory.join("fathomd.toml"));
        assert!(again.status.success(), "{over}: {}", String::from_utf8_lossy(&again.stderr));
    }
}
