//! Disks that hold something already: no layer may take them for blank ones, and legs of another size are no new legs.

use std::fs::{self, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::common::check::refused;
use crate::common::{Client, Daemon, FLUSH, directory, sockets};

const MIB: u64 = 1 << 20;
/// More than is read whole.
const SIZE: u64 = 257 * MIB;

/// Where formats have their marks, from the beginning or (negative) from the end, and what is there.
const MARKS: [(&str, i64, &[u8]); 9] = [
    ("ext4", 1080, &[0x53, 0xEF]),
    ("bcache", 4096 + 24, &[0xC6, 0x85, 0x73, 0xF6]),
    ("btrfs", 0x10040, b"_BHRfS_M"),
    ("UFS2", 0x40000 + 1372, &[0x19, 0x01, 0x54, 0x19]),
    ("ZFS, a label of the first two", 384 << 10, &[0x0C, 0xB1, 0xBA]),
    ("ZFS, a label of the last two", -(384 << 10), &[0x0C, 0xB1, 0xBA]),
    ("md 0.90", -(64 << 10), &[0xFC, 0x4E, 0x2B, 0xA9]),
    ("md 1.0", -(8 << 10), &[0xFC, 0x4E, 0x2B, 0xA9]),
    ("the second GPT", -512, b"EFI PART"),
];

fn file(folder: &Path, name: &str) -> String {
    format!("[volumes.{name}]\nkind = \"file\"\npath = \"{}\"\n", folder.join(name).display())
}

fn make(folder: &Path, name: &str, size: u64) {
    let made = fs::File::create(folder.join(name)).and_then(|file| file.set_len(size));
    made.expect("the folder is writable");
}

fn put(folder: &Path, name: &str, at: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(folder.join(name)).expect("it is there");
    file.write_all_at(bytes, at).expect("it is writable");
}

/// The pages of a file that are not zero, with their places. Holes are not read.
fn held(folder: &Path, name: &str) -> Vec<(i64, Vec<u8>)> {
    let file = fs::File::open(folder.join(name)).expect("it is there");
    let seek = |from: i64, whence| {
        // SAFETY: no memory is handed over.
        unsafe { libc::lseek(file.as_raw_fd(), from, whence) }
    };
    let mut pages = Vec::new();
    let mut at = seek(0, libc::SEEK_DATA);
    while at >= 0 {
        let end = seek(at, libc::SEEK_HOLE);
        for place in (at..end).step_by(4096) {
            let mut page = vec![0; usize::try_from(end - place).map_or(4096, |left| left.min(4096))];
            file.read_exact_at(&mut page, place.unsigned_abs()).expect("it is readable");
            if page.iter().any(|byte| *byte != 0) {
                pages.push((place / 4096, page));
            }
        }
        at = seek(end, libc::SEEK_DATA);
    }
    pages
}

/// Layers that take `b` for a blank disk.
const LAYERS: [(&str, &str); 6] = [
    ("a new mirror", "kind = \"mirror\"\nlegs = [\"a\", \"b\"]\n"),
    ("a new mirror of blank legs", "kind = \"mirror\"\nlegs = [\"a\", \"b\"]\ninitial = \"blank\"\n"),
    ("a new pool", "kind = \"pool\"\nmembers = [\"a\", \"b\"]\nsize = \"64MiB\"\nextent = \"1MiB\"\n"),
    ("the backing volume of a cache", "kind = \"writeback\"\nbacking = \"b\"\ncache = \"a\"\n"),
    ("a cache device", "kind = \"writeback\"\nbacking = \"a\"\ncache = \"b\"\n"),
    ("the ring of a cache", "kind = \"writeback\"\nbacking = \"c\"\ncache = \"a\"\nring = \"b\"\n"),
];

#[test]
fn a_disk_with_contents_is_never_taken_for_a_blank_one() {
    for (layer, keys) in LAYERS {
        // One check serves all layers: each mark with the first, and with the others those that were overlooked.
        let all = keys == LAYERS[0].1;
        for (format, at, mark) in MARKS.into_iter().filter(|(_, at, _)| all || [0x10040, -512].contains(at)) {
            let folder = directory();
            for name in ["a", "b", "c"] {
                make(&folder, name, SIZE);
            }
            let at = if at < 0 { SIZE - at.unsigned_abs() } else { at.unsigned_abs() };
            put(&folder, "b", at, mark);
            let (before, other) =
                (held(&folder, "b"), if keys.contains("\"c\"") { file(&folder, "c") } else { String::new() });
            let settings = format!(
                "{}{}{}{other}[volumes.data]\n{keys}[exports.data]\nvolume = \"data\"\n",
                sockets(&folder),
                file(&folder, "a"),
                file(&folder, "b"),
            );
            println!("{layer} on {format}");
            refused(&folder, &settings, 1, "`b`");
            assert!(held(&folder, "b") == before, "{layer} wrote over {format}");
            assert!(held(&folder, "a").is_empty(), "{layer} wrote elsewhere before it refused {format}");
            fs::remove_dir_all(&folder).expect("it is ours");
        }
    }
}

#[test]
fn a_disk_with_contents_is_neither_added_to_a_pool_nor_given_to_a_mirror_in_place_of_a_leg() {
    let pool = "kind = \"pool\"\nsize = \"64MiB\"\nextent = \"1MiB\"\nmembers = [\"a\", \"c\"]\n";
    let mirror = |leg: &str| format!("kind = \"mirror\"\nlegs = [\"a\", \"{leg}\"]\ninitial = \"blank\"\n");
    for (made, changed, disks) in [
        (pool.to_owned(), format!("{pool}added = [\"b\"]\n"), vec!["a", "b", "c"]),
        (mirror("c"), mirror("b"), vec!["a", "b"]),
    ] {
        let folder = directory();
        let settings = |disks: &[&str], keys: &str| {
            let disks: String = disks.iter().map(|name| file(&folder, name)).collect();
            format!("{}{disks}[volumes.data]\n{keys}[exports.data]\nvolume = \"data\"\n", sockets(&folder))
        };
        for name in ["a", "b", "c"] {
            make(&folder, name, SIZE);
        }
        put(&folder, "b", 0x10040, b"_BHRfS_M");
        let before = held(&folder, "b");
        let mut daemon = Daemon::make_in(&folder, &settings(&["a", "c"], &made));
        Client::open(&daemon, "data").write(MIB, &[7; 4096]);
        assert!(daemon.stop().success(), "{}", daemon.log());
        std::mem::forget(daemon);
        let mut changed = changed;
        if changed.contains("mirror") {
            // The leg that is missed is given up first.
            refused(&folder, &settings(&disks, &changed), 1, "`b` has no superblock of a mirror");
            let told = fs::read_to_string(folder.join("log")).expect("it is there");
            let (_, force) = told.split_once("force = \\\"").expect("the refusal names the generation");
            changed += &format!("force = \"{}\"\n", force.split('\\').next().unwrap_or_default());
        }
        refused(&folder, &settings(&disks, &changed), 1, "holds data at byte 65600");
        assert!(held(&folder, "b") == before, "{changed}");
        fs::remove_dir_all(&folder).expect("it is ours");
    }
}

#[test]
fn legs_that_were_both_enlarged_are_no_new_legs_and_open_with_the_size_they_had() {
    for (had, has) in
        [(64 * MIB, 200 * MIB), (64 * MIB, 512 * MIB), (300 * MIB, 500 * MIB), (299 * MIB, 300 * MIB)]
    {
        let folder = directory();
        let settings = |size: &str| {
            let legs: String = ["a", "b"].map(|name| file(&folder, name) + size).concat();
            format!(
                "{}{legs}[volumes.data]\nkind = \"mirror\"\nlegs = [\"a\", \"b\"]\nretry = \"0s\"\n[exports.data]\nvolume = \"data\"\n",
                sockets(&folder)
            )
        };
        make(&folder, "a", had);
        make(&folder, "b", had);
        let mut daemon = Daemon::make_in(&folder, &settings(""));
        crate::common::until("both legs are in sync", || {
            crate::common::status(&daemon)["mirrors"][0]["legs"]
                .as_array()
                .is_some_and(|legs| legs.iter().all(|leg| leg["state"] == "in-sync"))
        });
        let mut client = Client::open(&daemon, "data");
        client.write(3 * MIB, &[7; 4096]);
        client.request(FLUSH, 0, 0, 0, &[]);
        assert_eq!(client.answer(), (0, 0));
        drop(client);
        assert!(daemon.stop().success(), "{}", daemon.log());
        std::mem::forget(daemon);
        // The first leg is older: the copy would go the wrong way.
        put(&folder, "a", 3 * MIB, &[6; 4096]);
        for name in ["a", "b"] {
            let opened = OpenOptions::new().write(true).open(folder.join(name)).expect("it is there");
            opened.set_len(has).expect("there is room");
        }
        let before = held(&folder, "b");
        refused(&folder, &settings(""), 1, "the legs were resized");
        assert!(held(&folder, "b") == before, "legs of {has} bytes that had {had}");
        let told = fs::read_to_string(folder.join("log")).expect("it is there");
        let (_, size) = told.split_once("size = \\\"").expect("the refusal names the size");
        let size = format!("size = \"{}\"\n", size.split('\\').next().unwrap_or_default());
        let mut daemon = Daemon::start_in(&folder, &settings(&size));
        assert!(daemon.log().contains("\"serving\""), "{size}: {}", daemon.log());
        assert!(daemon.stop().success(), "{}", daemon.log());
    }
}

#[test]
fn what_a_creation_that_was_cut_off_has_left_is_no_content() {
    let mib = MIB as usize;
    for (keys, superblocks) in [
        // Before the superblocks the bitmap is written, behind them; and the map of a pool, on the first member.
        (
            "kind = \"mirror\"\nlegs = [\"a\", \"b\"]\ninitial = \"blank\"\n",
            64 * mib - 3 * 4096..64 * mib - 4096,
        ),
        ("kind = \"pool\"\nmembers = [\"a\", \"b\"]\nsize = \"64MiB\"\nextent = \"1MiB\"\n", 0..8192),
    ] {
        let folder = directory();
        let disks = ["a", "b"].map(|name| file(&folder, name)).concat();
        let settings =
            format!("{}{disks}[volumes.data]\n{keys}[exports.data]\nvolume = \"data\"\n", sockets(&folder));
        for name in ["a", "b"] {
            make(&folder, name, 64 * MIB);
        }
        let mut daemon = Daemon::make_in(&folder, &settings);
        daemon.kill();
        std::mem::forget(daemon);
        for name in ["a", "b"] {
            put(&folder, name, superblocks.start as u64, &vec![0; superblocks.len()]);
        }
        assert!(!held(&folder, "a").is_empty(), "{keys}: bitmap or map are left");
        let daemon = Daemon::start_in(&folder, &settings);
        assert!(daemon.log().contains("\"serving\""), "{keys}: {}", daemon.log());
        Client::open(&daemon, "data").write(MIB, &[7; 4096]);
    }
}
