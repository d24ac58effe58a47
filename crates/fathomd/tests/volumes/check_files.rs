//! Files that `fathomd --check` can read and a start cannot have, or not twice.
#![allow(clippy::disallowed_methods, reason = "real processes are waited for by the real clock")]

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{sleep, spawn};
use std::time::Duration;

use crate::common::check::{check, refused, refused_as, text};
use crate::common::{Client, Daemon, MEMORY, WRITE, directory, host, sockets, success, until};
use serde_json::Value;

/// One file, exported as it is.
fn exported(directory: &Path, path: &str, more: &str) -> String {
    format!(
        "{}[volumes.disk]\nkind = \"file\"\npath = \"{path}\"\n{more}[exports.disk]\nvolume = \"disk\"\n",
        sockets(directory)
    )
}

fn of_zeroes(path: &Path) {
    let made = File::create(path).and_then(|file| file.set_len(8 << 20));
    made.expect("writable");
}

/// Undone when dropped, also by a failed test.
struct Undo(&'static str, Vec<String>);

impl Drop for Undo {
    fn drop(&mut self) {
        let undone = Command::new(self.0).args(&self.1).status();
        assert!(undone.is_ok_and(|status| status.success()), "{} {:?}", self.0, self.1);
    }
}

fn is_root() -> bool {
    let root = Command::new("id").arg("-u").output().is_ok_and(|told| told.stdout == b"0\n");
    if !root {
        println!("skipped: this needs root");
    }
    root
}

#[test]
fn a_file_that_can_be_read_and_not_written_is_refused() {
    let directory = directory();
    if !is_root() {
        return;
    }
    let at = |name: &str| directory.join(name);
    let name = |path: PathBuf| path.display().to_string();
    of_zeroes(&at("a.img"));
    let readable = |path: &str| {
        let sound = exported(&directory, path, "read_only = true\n");
        fs::write(at("fathomd.toml"), sound).expect("writable");
        let found = check(&at("fathomd.toml"), &[]);
        assert_eq!(found.status.code(), Some(0), "{}", text(&found));
    };

    fs::create_dir(at("bound")).expect("writable");
    let bound = name(at("bound"));
    success("mount", &["--bind", &directory.display().to_string(), &bound]);
    let mounted = Undo("umount", vec![bound.clone()]);
    success("mount", &["-o", "remount,bind,ro", &bound]);
    refused_as(&directory, &exported(&directory, "bound/a.img", ""), (1, 1), "Read-only file system");
    readable("bound/a.img");
    drop(mounted);

    if Command::new("chattr").arg("+i").arg(at("a.img")).status().is_ok_and(|status| status.success()) {
        let _mutable = Undo("chattr", vec!["-i".to_owned(), name(at("a.img"))]);
        refused_as(&directory, &exported(&directory, "a.img", ""), (1, 1), "chattr -i");
        readable("a.img");
    } else {
        println!("skipped: no immutable files here");
    }

    let Some(device) = host::Loop::attach(&at("a.img"), 512) else { return };
    success("blockdev", &["--setro", &device.0]);
    refused_as(&directory, &exported(&directory, &device.0, ""), (1, 1), "this block device is read-only");
    success("blockdev", &["--setrw", &device.0]);
    let daemon = Daemon::start_in(&directory, &exported(&directory, &device.0, ""));
    assert!(daemon.log().contains("\"serving\""), "{}", daemon.log());
    // What another program has for itself alone is no file that nobody may write.
    let busy = check(&at("fathomd.toml"), &[]);
    assert_eq!(busy.status.code(), Some(3), "{}", text(&busy));
    drop(daemon);
    drop(device);
}

#[test]
fn a_mounted_disk_is_refused() {
    let directory = directory();
    if !is_root() {
        return;
    }
    of_zeroes(&directory.join("a.img"));
    let Some(device) = host::Loop::attach(&directory.join("a.img"), 512) else { return };
    let Some(_mounted) = host::Mounted::make(&device, "ext4", directory.join("mounted")) else { return };
    refused_as(&directory, &exported(&directory, &device.0, ""), (1, 1), "it is mounted or in use");
    refused_as(
        &directory,
        &exported(&directory, "a.img", ""),
        (1, 1),
        "a loop device over it and is mounted",
    );
}

#[test]
fn two_volumes_on_one_file_are_refused_under_whichever_names() {
    let directory = directory();
    of_zeroes(&directory.join("a.img"));
    fs::hard_link(directory.join("a.img"), directory.join("hard.img")).expect("writable");
    std::os::unix::fs::symlink("hard.img", directory.join("soft.img")).expect("writable");
    let two = |first: &str, second: &str| {
        let more = format!(
            "[volumes.second]\nkind = \"file\"\npath = \"{second}\"\n[exports.second]\nvolume = \"second\"\n"
        );
        format!("{}{more}", exported(&directory, first, ""))
    };
    for path in ["hard.img", "soft.img", "./a.img"] {
        refused(&directory, &two("a.img", path), 2, "`disk`, too, which calls it `a.img`");
    }
    if !is_root() {
        return;
    }
    let Some(device) = host::Loop::attach(&directory.join("a.img"), 512) else { return };
    let by_loop = "lead to the same bytes by a loop device";
    {
        let another = host::Loop::attach(&directory.join("a.img"), 512).expect("there was one");
        let over = host::Loop::attach(Path::new(&another.0), 512).expect("there was one");
        let pairs =
            [("a.img", &*device.0), (&device.0, "hard.img"), (&device.0, &another.0), ("a.img", &over.0)];
        for (first, second) in pairs {
            refused(&directory, &two(first, second), 2, by_loop);
        }
        // Two daemons, too: the lock goes down to the file.
        let mut first = Daemon::start_in(&directory, &exported(&directory, "a.img", ""));
        let apart = directory.join("apart");
        fs::create_dir(&apart).expect("writable");
        refused_as(&apart, &exported(&apart, &over.0, ""), (1, 3), "has it locked");
        assert!(first.stop().success());
        std::mem::forget(first);
    }
    if success("addpart", &[&device.0, "1", "2048", "6144"]).is_none() {
        return;
    }
    let _gone = Undo("delpart", vec![device.0.clone(), "1".to_owned()]);
    let part = format!("{}p1", device.0);
    for (first, second) in [(&device.0, &part), (&part, &device.0)] {
        refused(&directory, &two(first, second), 2, "are a disk and its partition");
    }
    refused(&directory, &two("a.img", &part), 2, by_loop);
}

#[test]
fn two_volumes_on_one_export_are_refused_however_it_is_written() {
    let directory = directory();
    let served = Daemon::start(MEMORY);
    let socket = served.socket().display().to_string();
    let legs = |first: &str, second: &str| {
        let leg = |name: &str, uri: &str| format!("[volumes.{name}]\nkind = \"nbd\"\nuri = \"{uri}\"\n");
        format!(
            "{}{}{}[volumes.disk]\nkind = \"mirror\"\nlegs = [\"a\", \"b\"]\n[exports.disk]\nvolume = \"disk\"\n",
            sockets(&directory),
            leg("a", first),
            leg("b", second)
        )
    };
    let uri = |export: &str| format!("nbd+unix:///{export}?socket={socket}");
    refused(&directory, &legs(&uri("disk"), &uri("%64isk")), 2, "this is the export of `a`, too");
    refused(&directory, &legs("nbd://Db2/data", "nbd://db2:10809/data"), 2, "this is the export of `a`, too");
}

/// The volume that was made of it is named by the layer above; the device, and the size it needs, are what a person can mend.
#[test]
fn of_a_stripe_or_a_pool_the_device_that_was_cut_short_is_named_with_its_size() {
    let striped = "[volumes.striped]\nkind = \"stripe\"\nmembers = [\"a\", \"b\"]\n[volumes.disk]\n";
    let larger = "give `b` at least 8MiB (8388608 bytes) with what it held";
    for (made, words) in [
        (format!("{striped}kind = \"writeback\"\nbacking = \"striped\"\ncache = \"c\"\nsegment = \"64KiB\"\n"), larger),
        (format!("{striped}kind = \"writeback\"\nbacking = \"c\"\ncache = \"striped\"\nsegment = \"64KiB\"\n"), "give `b` at least"),
        (format!("{striped}kind = \"mirror\"\nlegs = [\"striped\", \"c\"]\ninitial = \"blank\"\n"), larger),
        (
            "[volumes.disk]\nkind = \"pool\"\nmembers = [\"a\", \"b\"]\nsize = \"12MiB\"\nextent = \"64KiB\"\n".to_owned(),
            "`b` has 4194304 bytes: the volume has become smaller",
        ),
    ] {
        let directory = directory();
        let of = |name: &str, size: u64| {
            let file = File::options().create(true).truncate(false).write(true).open(directory.join(format!("{name}.img")));
            file.and_then(|file| file.set_len(size)).expect("writable");
            format!("[volumes.{name}]\nkind = \"file\"\npath = \"{name}.img\"\n")
        };
        let files = [of("a", 8 << 20), of("b", 8 << 20), of("c", 16 << 20)].concat();
        let settings = format!("{}{files}{made}[exports.disk]\nvolume = \"disk\"\n", sockets(&directory));
        let mut daemon = Daemon::make_in(&directory, &settings);
        assert!(daemon.log().contains("\"serving\""), "{}", daemon.log());
        Client::open(&daemon, "disk").write(8192, &[5; 4096]);
        daemon.kill();
        std::mem::forget(daemon);
        of("b", 4 << 20);
        refused(&directory, &settings, 1, words);
        let found = check(&directory.join("fathomd.toml"), &["--json"]);
        let found: Value = serde_json::from_slice(&found.stdout).expect("one JSON object");
        let refusals = found["writeback"].as_array().into_iter().flatten();
        let mut findings = refusals.flat_map(|group| group["findings"].as_array().cloned().unwrap_or_default());
        if let Some(finding) = findings.find(|finding| !finding["refusal"].is_null()) {
            let first = &finding["refusal"]["remedies"][0];
            assert_eq!((&first["action"], &first["device"]), (&"resize".into(), &"b".into()), "{finding}");
        }
        fs::remove_dir_all(directory).expect("writable");
    }
}

/// A check has shared locks for as long as it looks.
#[test]
fn a_start_waits_for_a_check() {
    let directory = directory();
    of_zeroes(&directory.join("a.img"));
    let looked_at = File::open(directory.join("a.img")).expect("it is there");
    // SAFETY: flock takes a descriptor and touches no memory.
    assert_eq!(unsafe { libc::flock(looked_at.as_raw_fd(), libc::LOCK_SH) }, 0);
    let looking = spawn(move || {
        sleep(Duration::from_millis(1500));
        drop(looked_at);
    });
    let daemon = Daemon::start_in(&directory, &exported(&directory, "a.img", ""));
    assert!(daemon.log().contains("\"serving\""), "{}", daemon.log());
    looking.join().expect("it ends");
    let settings = directory.join("fathomd.toml");
    assert_eq!(check(&settings, &[]).status.code(), Some(3), "and two daemons have no file together");
    let socket = sockets(&directory).replace(".sock", "2.sock");
    let second = fs::read_to_string(&settings).expect("it is there").replace(&sockets(&directory), &socket);
    fs::write(directory.join("second.toml"), second).expect("writable");
    let program = Command::new(env!("CARGO_BIN_EXE_fathomd")).arg(directory.join("second.toml")).output();
    let program = program.expect("the daemon was built");
    assert!(String::from_utf8_lossy(&program.stderr).contains("has it locked"), "{program:?}");
}

#[test]
fn a_device_without_a_medium_or_that_has_become_shorter_is_called_so() {
    let directory = directory();
    if !is_root() {
        return;
    }
    File::create(directory.join("empty.img")).expect("writable");
    let Some(device) = host::Loop::attach(&directory.join("empty.img"), 512) else { return };
    refused_as(&directory, &exported(&directory, &device.0, ""), (1, 3), "a device without a medium: attach");
    drop(device);
    of_zeroes(&directory.join("a.img"));
    let device = host::Loop::attach(&directory.join("a.img"), 512).expect("there was one");
    let daemon = Daemon::start_in(&directory, &exported(&directory, &device.0, ""));
    File::options()
        .write(true)
        .open(directory.join("a.img"))
        .and_then(|file| file.set_len(4 << 20))
        .expect("writable");
    success("losetup", &["-c", &device.0]);
    let mut client = Client::open(&daemon, "disk");
    client.request(WRITE, 1, 6 << 20, 4096, &[1; 4096]);
    assert_eq!(client.answer(), (28, 1));
    until("the log tells", || daemon.log().contains("the device has become shorter than it was"));
    drop(daemon);
    drop(device);
}

#[test]
fn a_cache_over_a_server_that_is_away_is_told_what_helps_there() {
    let directory = directory();
    of_zeroes(&directory.join("a.img"));
    let settings = format!(
        "{}[volumes.far]\nkind = \"nbd\"\nuri = \"nbd+unix:///far?socket=none.sock\"\n\
         [volumes.fast]\nkind = \"file\"\npath = \"a.img\"\n\
         [volumes.disk]\nkind = \"writeback\"\nbacking = \"far\"\ncache = \"fast\"\nsegment = \"1MiB\"\n\
         [exports.disk]\nvolume = \"disk\"\n",
        sockets(&directory)
    );
    refused_as(&directory, &settings, (1, 3), "a cache or a pool above it reads it first");
}
