//! `fathomd --check`: settings and caches, looked at and not touched.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::check::{check, refused, refused_as, text};
use crate::common::{Client, Daemon, MEMORY, directory, sockets};
use serde_json::Value;

fn cached() -> String {
    "[volumes.slow]\nkind = \"file\"\npath = \"slow.img\"\nsize = \"32MiB\"\n\
     [volumes.fast]\nkind = \"file\"\npath = \"fast.img\"\nsize = \"8MiB\"\n\
     [volumes.disk]\nkind = \"writeback\"\nbacking = \"slow\"\ncache = \"fast\"\nsegment = \"64KiB\"\nlag_target = \"10min\"\nlag_max = \"60min\"\n\
     [exports.disk]\nvolume = \"disk\"\n"
        .to_owned()
}

#[test]
fn settings_that_only_need_memory_are_checked_beside_their_daemon() {
    let daemon = Daemon::start(MEMORY);
    let found = check(&daemon.directory.join("fathomd.toml"), &[]);
    assert_eq!((found.status.code(), text(&found).contains("1 export, settings are sound")), (Some(0), true));
    fs::write(daemon.directory.join("wrong.toml"), "[daemon]\nsocket = 7\n").expect("writable");
    assert_eq!(check(&daemon.directory.join("wrong.toml"), &[]).status.code(), Some(2));
}

#[test]
fn a_killed_daemon_s_cache_is_verified_and_left_as_it_is() {
    let directory = directory();
    let mut daemon = Daemon::make_in(&directory, &format!("{}{}", sockets(&directory), cached()));
    let settings = directory.join("fathomd.toml");
    let mut client = Client::open(&daemon, "disk");
    client.write(8192, &[5; 4096]);
    let busy = check(&settings, &[]);
    assert_eq!(busy.status.code(), Some(3), "{}", text(&busy));
    assert!(text(&busy).contains("has it locked"), "{}", text(&busy));
    assert_eq!(check(&settings, &["--settings-only"]).status.code(), Some(0));
    daemon.kill();
    let before = ["slow.img", "fast.img"].map(|name| fs::read(directory.join(name)).expect("it is there"));
    let sound = check(&settings, &["--json"]);
    assert_eq!(sound.status.code(), Some(0), "{}", text(&sound));
    let json: Value = serde_json::from_slice(&sound.stdout).expect("one JSON object");
    let group = &json["writeback"][0];
    // Owner 1 made it, 2 serves it.
    assert_eq!(
        (&json["sound"], &group["owner"], &group["log_records"]),
        (&true.into(), &2.into(), &1.into())
    );
    let after = ["slow.img", "fast.img"].map(|name| fs::read(directory.join(name)).expect("it is there"));
    assert!(before == after, "the files are as they were");
    fs::write(directory.join("fast.img"), vec![0; 8 << 20]).expect("writable");
    let lost = check(&settings, &[]);
    assert_eq!(lost.status.code(), Some(1), "{}", text(&lost));
    assert!(text(&lost).contains("NOT sound") && text(&lost).contains("accept_loss = 2"), "{}", text(&lost));
}

#[test]
fn a_missing_cache_device_of_a_group_at_rest_is_told() {
    let directory = directory();
    let mirrored = cached().replace(
        "cache = \"fast\"\n",
        "cache = \"fast\"\ncache_copy = \"copy\"\ndurability = \"cache-mirrored\"\n",
    );
    let copy = "[volumes.copy]\nkind = \"file\"\npath = \"copy.img\"\nsize = \"8MiB\"\n";
    let settings = format!("{}{copy}{mirrored}", sockets(&directory));
    let mut daemon = Daemon::make_in(&directory, &settings);
    Client::open(&daemon, "disk").write(8192, &[5; 4096]);
    assert!(daemon.stop().success(), "{}", daemon.log());
    fs::remove_file(directory.join("copy.img")).expect("it was made");
    let found = check(&directory.join("fathomd.toml"), &[]);
    assert_eq!(found.status.code(), Some(0), "the other one serves: {}", text(&found));
    let told = text(&found);
    assert!(told.contains("copy.img") && told.contains("the other one counts"), "{told}");
}

/// What a cache holds is in no other place: whoever writes below it destroys both.
#[test]
fn what_is_below_a_cache_is_not_served_in_its_place() {
    let directory = directory();
    let raw = |volume: &str, more: &str| {
        let other = cached().replace("volume = \"disk\"", &format!("volume = \"{volume}\"\n{more}"));
        format!("{}{other}", sockets(&directory))
    };
    for below in ["slow", "fast"] {
        refused(
            &directory,
            &raw(below, ""),
            2,
            &format!("`{below}` is part of writeback `disk`, which is not served"),
        );
    }
    // By way of another layer.
    let over = "[volumes.over]\nkind = \"sector\"\nbacking = \"slow\"\n";
    refused(&directory, &(raw("over", "") + over), 2, "`over` is part of writeback `disk`");
    assert!(!directory.join("slow.img").exists(), "nothing was made");
    fs::write(directory.join("fathomd.toml"), raw("slow", "read_only = true\n")).expect("writable");
    let reading = check(&directory.join("fathomd.toml"), &["--settings-only"]);
    assert_eq!(reading.status.code(), Some(0), "{}", text(&reading));
}

#[test]
fn addresses_that_no_host_has_are_wrong_wherever_they_are_read() {
    let directory = directory();
    let with = |keys: &str| format!("{}{keys}\n{MEMORY}", sockets(&directory));
    for (keys, words) in [
        ("metrics = \"9750\"", "daemon.metrics: \"9750\" is not an address and a port"),
        ("metrics = \"127.0.0.1:99999\"", "like \"127.0.0.1:9750\""),
        ("tcp = \":10809\"\ntcp_in_the_clear = true", "like \"127.0.0.1:10809\""),
        ("tcp_in_the_clear = true", "daemon.tcp_in_the_clear: it has no effect here"),
        ("tls = { certificate = \"c\", key = \"k\" }", "daemon.tls: it has no effect here"),
        (
            "tcp = \"[::1]:10809\"\ntcp_in_the_clear = true\ntls = { certificate = \"c\", key = \"k\" }",
            "there is a table [daemon.tls], too",
        ),
    ] {
        fs::write(directory.join("fathomd.toml"), with(keys)).expect("writable");
        let found = check(&directory.join("fathomd.toml"), &["--settings-only"]);
        let told = String::from_utf8_lossy(&found.stderr).into_owned();
        assert!(found.status.code() == Some(2) && told.contains(words), "{keys}: {told}");
    }
    fs::remove_dir_all(directory).expect("writable");
}

#[test]
fn paths_at_which_nobody_can_listen_or_mount_are_refused_by_check_and_start() {
    let directory = directory();
    let at = |name: &str| directory.join(name).display().to_string();
    fs::write(at("plain"), "text").expect("writable");
    fs::create_dir(at("folder")).expect("writable");
    fs::create_dir_all(at("full/of_data")).expect("writable");
    std::os::unix::fs::symlink(at("folder"), at("link")).expect("writable");
    let long = at(&"long".repeat(40));
    let daemon = |socket: &str, status: &str| {
        format!("[daemon]\nsocket = \"{socket}\"\nstatus = \"{status}\"\n{MEMORY}")
    };
    let mounted = |mount: &str| format!("{}[fuse]\nmount = \"{mount}\"\n{MEMORY}", sockets(&directory));
    for (settings, code, words) in [
        (daemon(&at("one.sock"), &at("./one.sock")), 2, "this is the path of `socket`, too"),
        (daemon(&at("one.sock"), &at("one.sock.lock")), 2, "is the other one's lock"),
        (daemon(&at("one.sock"), &long), 2, "daemon.status: a path of"),
        (daemon(&long, &at("two.sock")), 2, "daemon.socket: a path of"),
        (daemon(&at("folder/one.sock"), &at("link/one.sock")), 1, "are one file"),
        (daemon(&at("none/one.sock"), &at("two.sock")), 1, "none does not exist: make it"),
        (daemon(&at("one.sock"), &at("plain/two.sock")), 1, "plain is no folder"),
        (daemon(&at("one.sock"), &at("plain")), 1, "plain exists and is not a socket: move it"),
        (mounted(&at("plain")), 1, "plain is no folder"),
        (mounted(&at("none/files")), 1, "none does not exist: make it"),
        (mounted(&at("full")), 1, "full is not empty, and a mount would hide what is in it"),
        (mounted(&directory.display().to_string()), 2, "the mount would hide the socket"),
    ] {
        refused(&directory, &settings, code, words);
        assert!(!directory.join("one.sock").exists(), "nothing is left of it");
    }
    assert!(!directory.join("one.sock.lock").exists(), "nothing was made");
    assert_eq!(fs::read(at("plain")).expect("it is there"), b"text");
    let json = check(&directory.join("fathomd.toml"), &["--json", "--settings-only"]);
    assert_eq!(json.status.code(), Some(2), "the last settings are wrong wherever they are read");
    let found: Value = serde_json::from_slice(&json.stdout).expect("one JSON object");
    let mistake = &found["mistakes"][0];
    let hidden = mistake["message"].as_str().expect("a sentence");
    assert!(hidden.contains("the mount would hide the socket"), "{found}");
    assert_eq!((&mistake["key"], &found["sound"]), (&"fuse.mount".into(), &false.into()), "{found}");
    assert!(mistake["line"].as_u64().is_some_and(|line| line > 1), "{found}");
    let none = check(&directory.join("none.toml"), &["--json"]);
    let found: Value = serde_json::from_slice(&none.stdout).expect("one JSON object");
    let told = found["mistakes"][0]["message"].as_str().expect("a sentence");
    assert!(none.status.code() == Some(2) && told.contains("No such file"), "{found}");
    fs::write(at("fathomd.toml"), daemon(&at("none/one.sock"), &at("two.sock"))).expect("writable");
    let settings = directory.join("fathomd.toml");
    assert_eq!(check(&settings, &["--settings-only"]).status.code(), Some(0), "a service makes its folder");
    let json: Value = serde_json::from_slice(&check(&settings, &["--json"]).stdout).expect("one JSON object");
    assert_eq!((&json["sound"], json["paths"].as_array().map(Vec::len)), (&false.into(), Some(1)));
    fs::remove_dir_all(directory).expect("writable");
}

/// What a start refuses, a check finds, without a cache too.
#[test]
fn volumes_that_no_start_can_serve_are_not_called_sound() {
    let directory = directory();
    let at = |name: &str| directory.join(name);
    let wipe = |name: &str| fs::write(at(name), vec![0; 64 << 20]).expect("writable");
    let remove = |name: &str| fs::remove_file(at(name)).expect("it is there");
    let export = "[exports.disk]\nvolume = \"disk\"\n";
    let of = |made: &str| made_of_two(&directory, &format!("[volumes.disk]\n{made}\n{export}"));
    let fresh = |made: &str| {
        for name in ["a.img", "b.img", "fast.img"] {
            fs::remove_file(at(name)).unwrap_or_default();
        }
        let settings = of(made);
        let mut daemon = Daemon::make_in(&directory, &settings);
        let mut client = Client::open(&daemon, "disk");
        client.write(8192, &[5; 4096]);
        daemon.kill();
        std::mem::forget(daemon);
        let found = check(&at("fathomd.toml"), &[]);
        assert_eq!(found.status.code(), Some(0), "{}", text(&found));
        settings
    };
    let mirror = fresh("kind = \"mirror\"\nlegs = [\"a\", \"b\"]\ninitial = \"blank\"");
    wipe("b.img");
    refused_as(&directory, &mirror, (1, 1), "`b` has no superblock of a mirror");
    remove("b.img");
    refused_as(&directory, &mirror, (1, 1), "cannot open");
    remove("a.img");
    wipe("a.img");
    wipe("b.img");
    let found = check(&at("fathomd.toml"), &[]);
    assert_eq!(found.status.code(), Some(0), "{}", text(&found));
    assert!(text(&found).contains("mirror `disk`: sound\n  note: it was not made yet"), "{}", text(&found));

    let pool = |members: &str| {
        format!("kind = \"pool\"\nmembers = [{members}]\nsize = \"64MiB\"\nextent = \"64KiB\"")
    };
    let made = fresh(&pool("\"a\", \"b\""));
    refused_as(&directory, &of(&pool("\"b\", \"a\"")), (1, 1), "name the members in their order");
    wipe("b.img");
    refused_as(&directory, &made, (1, 1), "`b` holds nothing");

    let stripe = fresh("kind = \"stripe\"\nmembers = [\"a\", \"b\"]");
    remove("b.img");
    refused_as(&directory, &stripe, (1, 3), "b.img");
    std::os::unix::fs::symlink("/dev/null", at("b.img")).expect("writable");
    refused_as(&directory, &stripe, (1, 3), "neither a file nor a block device");
    remove("b.img");
    fs::write(at("b.img"), vec![0; 1 << 20]).expect("writable");
    refused_as(&directory, &stripe, (1, 1), "it holds 1048576 bytes, and");
    fs::remove_dir_all(directory).expect("writable");
}

#[test]
fn a_mirror_takes_no_tail_of_a_file_system_on_its_first_leg() {
    let directory = directory();
    let made =
        "[volumes.disk]\nkind = \"mirror\"\nlegs = [\"a\", \"b\"]\n[exports.disk]\nvolume = \"disk\"\n";
    let settings = made_of_two(&directory, made);
    let first = directory.join("a.img");
    for name in ["a.img", "b.img"] {
        let file = fs::File::create(directory.join(name)).expect("writable");
        file.set_len(64 << 20).expect("writable");
    }
    let run = |program: &str, arguments: &[&str]| {
        let done = Command::new(format!("/sbin/{program}")).args(arguments).arg(&first).output();
        assert!(done.is_ok_and(|done| done.status.success()), "{program} of e2fsprogs");
    };
    run("mkfs.ext4", &["-q"]);
    let before = fs::read(&first).expect("it is there");
    refused(&directory, &settings, 1, "leg `a` holds an ext4 file system of 67108864 bytes");
    assert!(fs::read(&first).expect("it is there") == before, "nothing was written");
    run("resize2fs", &["-M"]);
    // It has cut the file as well.
    let file = fs::OpenOptions::new().write(true).open(&first).expect("writable");
    file.set_len(64 << 20).expect("writable");
    let daemon = Daemon::start_in(&directory, &settings);
    assert!(daemon.log().contains("\"serving\""), "{}", daemon.log());
}

/// Two legs or members, and what is made of them.
fn made_of_two(directory: &Path, made: &str) -> String {
    let file = |name| format!("[volumes.{name}]\nkind = \"file\"\npath = \"{name}.img\"\nsize = \"64MiB\"\n");
    format!("{}{}{}{}{made}", sockets(directory), file("a"), file("b"), file("fast"))
}

#[test]
fn what_a_volume_is_made_of_is_not_served_beside_it_under_whichever_name() {
    let directory = directory();
    let raw =
        |volume: &str| format!("[exports.disk]\nvolume = \"disk\"\n[exports.raw]\nvolume = \"{volume}\"\n");
    let again = |path: &str, more: &str| {
        format!("[volumes.again]\nkind = \"file\"\npath = \"{path}\"\nsize = \"64MiB\"\n{more}")
    };
    let whole = directory.join("a.img").display().to_string();
    let file = fs::File::create(directory.join("a.img")).expect("writable");
    file.set_len(64 << 20).expect("writable");
    std::os::unix::fs::symlink(directory.join("a.img"), directory.join("link.img")).expect("writable");
    for made in [
        "kind = \"mirror\"\nlegs = [\"a\", \"b\"]\n",
        "kind = \"stripe\"\nmembers = [\"a\", \"b\"]\n",
        "kind = \"pool\"\nmembers = [\"a\", \"b\"]\nsize = \"64MiB\"\nextent = \"64KiB\"\n",
        "kind = \"writeback\"\nbacking = \"a\"\ncache = \"fast\"\nsegment = \"64KiB\"\n",
        "kind = \"writeback\"\nbacking = \"b\"\ncache = \"a\"\nsegment = \"64KiB\"\n",
    ] {
        let made = format!("[volumes.disk]\n{made}");
        let settings = |more: &str| made_of_two(&directory, &format!("{made}{more}"));
        let told = "`a` is used by the export `raw` already";
        refused(&directory, &settings(&raw("a")), 2, told);
        for path in ["a.img", "./a.img", &whole, "link.img"] {
            for more in ["", "read_only = true\n"] {
                let settings = settings(&format!("{}{}", again(path, more), raw("again")));
                refused(&directory, &settings, 2, "`a`, too");
            }
        }
    }
    // Two readers of one file are no harm.
    let reader = |name: &str, path: &str| {
        format!(
            "[volumes.{name}]\nkind = \"file\"\npath = \"{path}\"\nsize = \"64MiB\"\nread_only = true\n\
             [exports.{name}]\nvolume = \"{name}\"\n"
        )
    };
    let two = format!("{}{}{}", sockets(&directory), reader("one", "a.img"), reader("two", "link.img"));
    let daemon = Daemon::start_in(&directory, &two);
    assert!(daemon.log().contains("\"serving\""), "{}", daemon.log());
}
