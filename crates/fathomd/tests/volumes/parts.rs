//! Stripes of which a part is missing, or whose parts are in another order: nothing is made in their place.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::{Client, Daemon, FLUSH, directory, sockets};

const PAGE: u64 = 16 << 10;
const PAGES: u64 = 200;

/// A cache in front of two files, which does not destage by itself.
fn settings(directory: &Path, members: &str, keys: &str) -> String {
    let file = |name| format!("[volumes.{name}]\nkind = \"file\"\npath = \"{name}.img\"\nsize = \"64MiB\"\n");
    format!(
        "{}{}{}{}[volumes.both]\nkind = \"stripe\"\nmembers = {members}\n\
         [volumes.disk]\nkind = \"writeback\"\nbacking = \"both\"\ncache = \"fast\"\nsegment = \"1MiB\"\n\
         lag_target = \"10min\"\nlag_max = \"60min\"\n{keys}\n[exports.disk]\nvolume = \"disk\"\n",
        sockets(directory),
        file("a"),
        file("b"),
        file("fast")
    )
}

const IN_ORDER: &str = "[\"a\", \"b\"]";

/// The beginning stays zero, as a new volume's is.
fn write(daemon: &Daemon) {
    write_more(daemon, 0);
}

/// The same with so much more in each byte.
fn write_more(daemon: &Daemon, more: u64) {
    let mut client = Client::open(daemon, "disk");
    for page in 8..PAGES {
        client.write(page * PAGE, &vec![(page + more) as u8; PAGE as usize]);
    }
    client.request(FLUSH, 1, 0, 0, &[]);
    assert_eq!(client.answer(), (0, 1));
}

fn holds_all(daemon: &Daemon) -> bool {
    let mut client = Client::open(daemon, "disk");
    (8..PAGES).all(|page| client.read(page * PAGE, PAGE as u32) == vec![page as u8; PAGE as usize])
}

fn create(directory: &Path) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_fathomd"));
    program.arg("--create").arg(directory.join("fathomd.toml")).output().expect("the daemon was built")
}

#[test]
fn an_empty_member_is_not_made_beside_one_with_data() {
    let directory = directory();
    let settings = settings(&directory, IN_ORDER, "");
    let mut daemon = Daemon::make_in(&directory, &settings);
    write(&daemon);
    daemon.kill();
    for name in ["a", "b"] {
        let (path, away) = (directory.join(format!("{name}.img")), directory.join("away"));
        fs::rename(&path, &away).expect("it is there");
        let made = create(&directory);
        let told = String::from_utf8_lossy(&made.stderr).into_owned();
        assert!(!made.status.success() && told.contains(&format!("`{name}` is missing")), "{told}");
        assert!(told.contains("is its file system mounted"), "{told}");
        assert!(!path.exists(), "nothing was made in its place");
        fs::rename(&away, &path).expect("it is back");
    }
    std::mem::forget(daemon);
    let daemon = Daemon::start_in(&directory, &settings);
    assert!(holds_all(&daemon));
}

#[test]
fn a_lost_cache_is_made_beside_its_volumes() {
    let directory = directory();
    let settings = settings(&directory, IN_ORDER, "");
    let mut daemon = Daemon::make_in(&directory, &settings);
    write(&daemon);
    assert!(daemon.stop().success());
    std::mem::forget(daemon);
    fs::remove_file(directory.join("fast.img")).expect("it is there");
    assert!(create(&directory).status.success());
    let daemon = Daemon::start_in(&directory, &settings);
    assert!(holds_all(&daemon));
}

#[test]
fn a_volume_with_its_members_in_another_order_is_not_laid_out_anew() {
    let directory = directory();
    let in_order = settings(&directory, IN_ORDER, "");
    let mut daemon = Daemon::make_in(&directory, &in_order);
    write(&daemon);
    assert!(daemon.stop().success());
    std::mem::forget(daemon);
    let before = fs::read(directory.join("a.img")).expect("it is there");
    let swapped = |keys| settings(&directory, "[\"b\", \"a\"]", keys);
    let mut daemon = Daemon::start_in(&directory, &swapped(""));
    assert!(!daemon.wait().success(), "it is not the volume that the cache knows");
    let log = daemon.log();
    assert!(log.contains("`both` shows no superblock") && log.contains("in their order"), "{log}");
    assert!(log.contains("discard_cache = true"), "a new volume may have this cache: {log}");
    assert!(before == fs::read(directory.join("a.img")).expect("it is there"), "a refusal writes nothing");
    std::mem::forget(daemon);
    let mut daemon = Daemon::start_in(&directory, &in_order);
    assert!(holds_all(&daemon));
    assert!(daemon.stop().success());
    std::mem::forget(daemon);
    for name in ["a", "b"] {
        fs::write(directory.join(format!("{name}.img")), vec![0; 64 << 20]).expect("it is writable");
    }
    let mut daemon = Daemon::start_in(&directory, &settings(&directory, IN_ORDER, "discard_cache = true"));
    assert!(!holds_all(&daemon), "a new volume");
    assert!(daemon.stop().success());
}

/// docs/WRITEBACK.md, "An older member of a stripe": what is noticed, and what the advice does.
#[test]
fn an_older_copy_of_a_member_is_refused_and_so_is_another_chunk_or_order() {
    let directory = directory();
    let at = |name: &str| directory.join(format!("{name}.img"));
    let settings = |keys: &str| settings(&directory, IN_ORDER, keys);
    let mut daemon = Daemon::make_in(&directory, &settings(""));
    let drain = |daemon: &Daemon| assert!(daemon.ask("POST", "/drain").0.contains("200"));
    write(&daemon);
    drain(&daemon);
    let older = ["a", "b"].map(|name| fs::read(at(name)).expect("it is there"));
    write_more(&daemon, 1);
    drain(&daemon);
    daemon.kill();
    let newer = ["a", "b", "fast"].map(|name| fs::read(at(name)).expect("it is there"));
    let restore = |older: [Option<&[u8]>; 2]| {
        for (name, bytes) in ["a", "b", "fast"].iter().zip(&newer) {
            fs::write(at(name), bytes).expect("it is writable");
        }
        for (name, bytes) in ["a", "b"].iter().zip(older) {
            bytes.map_or(Ok(()), |bytes| fs::write(at(name), bytes)).expect("it is writable");
        }
    };
    // By page: 0 as it was first, 1 as it was written over.
    let shown = |daemon: &Daemon| {
        let mut client = Client::open(daemon, "disk");
        let first = |page: u64| client.read(page * PAGE, PAGE as u32)[0].wrapping_sub(page as u8);
        (8..PAGES).map(first).collect::<Vec<u8>>()
    };
    let refused = |first, last| {
        restore([first, last]);
        let mut daemon = Daemon::start_in(&directory, &settings(""));
        assert!(!daemon.wait().success());
        let log = daemon.log();
        std::mem::forget(daemon);
        log
    };
    std::mem::forget(daemon);
    let log = refused(None, Some(&older[1][..]));
    assert!(log.contains("the redo ring on `both` is damaged"), "{log}");
    // The advice for both: all members of one moment, and the log.
    let log = refused(Some(&older[0][..]), Some(&older[1][..]));
    let number = log.split_once("roll_forward = ").expect("the advice").1;
    let number: String = number.chars().take_while(char::is_ascii_digit).collect();
    let mut daemon = Daemon::start_in(&directory, &settings(&format!("roll_forward = {number}")));
    assert!(shown(&daemon).iter().all(|more| *more == 1), "all is there again");
    daemon.kill();
    std::mem::forget(daemon);
    let log = refused(Some(&older[0][..]), None);
    assert!(log.contains("`both` does not hold what the group put in place on it last"), "{log}");
    // Another way to put the same members together.
    restore([None, None]);
    for (members, keys) in [("[\"b\", \"a\"]", ""), (IN_ORDER, "chunk = \"32KiB\"\n")] {
        let other =
            self::settings(&directory, members, "").replace("members = ", &format!("{keys}members = "));
        let mut daemon = Daemon::start_in(&directory, &other);
        assert!(!daemon.wait().success(), "{members} {keys}");
        let log = daemon.log();
        let is_told = [
            "does not hold what the group put in place",
            "the redo ring on `both` is damaged",
            "shows no superblock",
        ];
        assert!(is_told.iter().any(|words| log.contains(words)), "{log}");
        std::mem::forget(daemon);
    }
    let daemon = Daemon::start_in(&directory, &settings(""));
    assert!(shown(&daemon).iter().all(|more| *more == 1), "nothing was written meanwhile");
}

/// A mirror and a pool write on their own open: not before the cache above them agrees.
#[test]
fn a_refused_start_leaves_a_mirror_and_a_pool_below_the_cache_as_they_were() {
    for (kind, keys) in [
        // A bit that was cleared and set again tells the mirror that the leg is old: then it is copied.
        ("mirror", "legs = [\"a\", \"b\"]\nclean_after = \"1h\""),
        ("pool", "members = [\"a\", \"b\"]\nsize = \"64MiB\"\nextent = \"1MiB\""),
    ] {
        let directory = directory();
        let settings = settings(&directory, IN_ORDER, "")
            .replace("kind = \"stripe\"\nmembers = [\"a\", \"b\"]", &format!("kind = \"{kind}\"\n{keys}"));
        let files = || {
            ["a", "b", "fast"]
                .map(|name| fs::read(directory.join(format!("{name}.img"))).expect("it is there"))
        };
        let put = |bytes: &[u8]| fs::write(directory.join("a.img"), bytes).expect("it is writable");
        let mut daemon = Daemon::make_in(&directory, &settings);
        let drain = |daemon: &Daemon| assert!(daemon.ask("POST", "/drain").0.contains("200"));
        write(&daemon);
        drain(&daemon);
        let [older, ..] = files();
        write_more(&daemon, 1);
        drain(&daemon);
        daemon.kill();
        std::mem::forget(daemon);
        let [newest, ..] = files();
        put(&older);
        let before = files();
        let mut daemon = Daemon::start_in(&directory, &settings);
        assert!(!daemon.wait().success(), "{kind}");
        assert!(
            daemon.log().contains("does not hold what") || daemon.log().contains("older copy"),
            "{}",
            daemon.log()
        );
        std::mem::forget(daemon);
        assert!(before == files(), "a refusal over a {kind} writes nothing");
        put(&newest);
        let daemon = Daemon::start_in(&directory, &settings);
        let mut client = Client::open(&daemon, "disk");
        let is_newest =
            |page: u64| client.read(page * PAGE, PAGE as u32) == vec![(page + 1) as u8; PAGE as usize];
        assert!((8..PAGES).all(is_newest), "{kind}: what the refusal advises keeps everything");
    }
}

/// What is said of one cache is not done while another refuses: with both caches back, nothing is lost.
#[test]
fn a_start_that_one_cache_refuses_carries_out_no_loss_of_another() {
    let directory = directory();
    let group = |name: &str, keys: &str| {
        let file = |name: &str| {
            format!("[volumes.{name}]\nkind = \"file\"\npath = \"{name}.img\"\nsize = \"64MiB\"\n")
        };
        format!(
            "{}{}[volumes.{name}]\nkind = \"writeback\"\nbacking = \"{name}-back\"\ncache = \"{name}-fast\"\n\
             segment = \"1MiB\"\nlag_target = \"10min\"\nlag_max = \"60min\"\n{keys}\n[exports.{name}]\nvolume = \"{name}\"\n",
            file(&format!("{name}-back")),
            file(&format!("{name}-fast"))
        )
    };
    let settings =
        |keys: &str| format!("{}{}{}", sockets(&directory), group("disk", keys), group("other", ""));
    let names = ["disk-back", "disk-fast", "other-back", "other-fast"];
    let path = |name: &str| directory.join(format!("{name}.img"));
    let files = || names.map(|name| fs::read(path(name)).expect("it is there"));
    let mut daemon = Daemon::make_in(&directory, &settings(""));
    write(&daemon);
    daemon.kill();
    std::mem::forget(daemon);
    let kept = files();
    for fast in [1, 3] {
        fs::write(path(names[fast]), vec![0; 64 << 20]).expect("it is writable");
    }
    let before = files();
    let refused = |keys: &str| {
        let mut daemon = Daemon::start_in(&directory, &settings(keys));
        assert!(!daemon.wait().success(), "{keys}");
        let log = daemon.log();
        std::mem::forget(daemon);
        assert!(before == files(), "a refusal writes nothing");
        log
    };
    let log = refused("");
    let (_, named) = log.split_once("set `").expect("a way out is named");
    let (key, _) = named.split_once('`').expect("it is quoted");
    assert!(key.starts_with("accept_loss = "), "{log}");
    let log = refused(key);
    assert!(log.contains("group `other`"), "{log}");
    for fast in [1, 3] {
        fs::write(path(names[fast]), &kept[fast]).expect("it is writable");
    }
    let daemon = Daemon::start_in(&directory, &settings(""));
    let mut client = Client::open(&daemon, "disk");
    let is_there = |page: u64| client.read(page * PAGE, PAGE as u32) == vec![page as u8; PAGE as usize];
    assert!((8..PAGES).all(is_there));
}
