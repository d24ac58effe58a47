//! Legs of a mirror that were given up, went back, or are layers of which a disk is lost: what the other leg holds is never
//! written over, and what a refusal advises works.

#![allow(clippy::disallowed_methods, reason = "real processes are waited for by the real clock")]

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use crate::common::check::{check, text as told};
use crate::common::{Client, Daemon, FLUSH, directory, sockets, status, until};

const BLOCK: usize = 4096;
const MIB: u64 = 1 << 20;

fn file(folder: &Path, name: &str, mib: u64) -> String {
    let path = folder.join(name);
    format!("[volumes.{name}]\nkind = \"file\"\npath = \"{}\"\nsize = \"{mib}MiB\"\n", path.display())
}

/// A mirror `data` of `one` and `two`, above what `below` says.
fn mirror(folder: &Path, below: &str, told: &str) -> String {
    format!(
        "{}{below}[volumes.data]\nkind = \"mirror\"\nlegs = [\"one\", \"two\"]\ninitial = \"blank\"\nretry = \"100ms\"\n{told}\
         [exports.data]\nvolume = \"data\"\n",
        sockets(folder)
    )
}

/// Why the next life does not begin.
fn refusal(folder: &Path, settings: &str) -> String {
    let mut refused = Daemon::start_in(folder, settings);
    assert!(!refused.wait().success(), "{}", refused.log());
    let log = refused.log().replace("\\\"", "\"");
    std::mem::forget(refused);
    log
}

/// The settings with the `force` that the refusal of a start names.
fn forced(folder: &Path, below: &str) -> String {
    mirror(folder, below, &offered(&refusal(folder, &mirror(folder, below, "")), "force"))
}

/// The setting that a refusal offers.
fn offered(refusal: &str, key: &str) -> String {
    let (_, rest) = refusal.split_once(&format!("{key} = ")).expect("the refusal names its remedy");
    let is_value = |one: &char| one.is_alphanumeric() || ":-".contains(*one);
    let value: String = rest.trim_start_matches('"').chars().take_while(is_value).collect();
    if value.parse::<u64>().is_ok() { format!("{key} = {value}\n") } else { format!("{key} = \"{value}\"\n") }
}

fn write_all(daemon: &Daemon, byte: u8) {
    let mut client = Client::open(daemon, "data");
    for block in 0..64 {
        client.write(block * 16 * BLOCK as u64, &[byte; BLOCK]);
    }
    client.request(FLUSH, 0, 0, 0, &[]);
    assert_eq!(client.answer(), (0, 0));
}

/// Which bytes the blocks show: all the same.
fn shown(daemon: &Daemon) -> u8 {
    let mut client = Client::open(daemon, "data");
    let first = client.read(0, BLOCK as u32)[0];
    for block in 0..64 {
        assert_eq!(client.read(block * 16 * BLOCK as u64, BLOCK as u32), [first; BLOCK], "block {block}");
    }
    first
}

fn legs(daemon: &Daemon) -> Vec<String> {
    let legs = status(daemon)["mirrors"][0]["legs"].as_array().cloned().unwrap_or_default();
    legs.iter().map(|leg| leg["state"].as_str().unwrap_or_default().to_owned()).collect()
}

fn make_blank(folder: &Path, name: &str, mib: u64) {
    let made = fs::File::create(folder.join(name)).expect("the folder is writable");
    made.set_len(mib * MIB).expect("there is room");
}

#[test]
fn a_force_left_in_the_settings_does_not_open_the_leg_that_was_given_up() {
    let folder = directory();
    let below = file(&folder, "one", 16) + &file(&folder, "two", 16);
    let mut daemon = Daemon::make_in(&folder, &mirror(&folder, &below, ""));
    write_all(&daemon, 1);
    assert!(daemon.stop().success());
    let (two, aside) = (folder.join("two"), folder.join("aside"));
    fs::rename(&two, &aside).expect("the folder is writable");
    let forced = forced(&folder, &below);
    daemon.again(&forced);
    assert!(daemon.log().contains("take it out"), "{}", daemon.log());
    write_all(&daemon, 2);
    assert!(daemon.stop().success());
    let one = folder.join("one");
    fs::rename(&one, folder.join("away")).expect("the folder is writable");
    fs::rename(&aside, &two).expect("the folder is writable");
    let file = folder.join("fathomd.toml");
    assert!(!check(&file, &[]).status.success(), "{}", told(&check(&file, &[])));
    let log = refusal(&folder, &forced);
    assert!(log.contains("a leg is missing that was in sync"), "{log}");
    fs::rename(folder.join("away"), &one).expect("the folder is writable");
    daemon.again(&forced);
    assert_eq!(shown(&daemon), 2);
    until("the other leg is brought up to date", || legs(&daemon) == ["in-sync", "in-sync"]);
    assert!(daemon.stop().success());
}

#[test]
fn a_cache_that_went_back_is_copied_from_the_leg_that_holds_everything() {
    let folder = directory();
    let cached = |accepted: &str| {
        let layer = |name: &str, told: &str| {
            format!(
                "[volumes.{name}]\nkind = \"writeback\"\nbacking = \"{name}-disk\"\ncache = \"{name}-fast\"\n{told}"
            )
        };
        let files =
            ["one-disk", "one-fast", "two-disk", "two-fast"].map(|name| file(&folder, name, 128)).concat();
        mirror(&folder, &(files + &layer("one", accepted) + &layer("two", "")), "")
    };
    let mut daemon = Daemon::make_in(&folder, &cached(""));
    write_all(&daemon, 1);
    assert_eq!(daemon.ask("POST", "/drain").0, "HTTP/1.1 200 OK");
    // As long as no bit is cleared and set again, the legs' bitmaps are equally old.
    write_all(&daemon, 2);
    daemon.kill();
    make_blank(&folder, "one-fast", 128);
    let accepted = offered(&refusal(&folder, &cached("")), "accept_loss");
    daemon.again(&cached(&accepted));
    until("the leg that went back is copied", || legs(&daemon) == ["in-sync", "in-sync"]);
    until("the log names it", || daemon.log().contains("\"leg\":\"one\""));
    assert_eq!((shown(&daemon), status(&daemon)["mirrors"][0]["old_legs"].as_u64()), (2, Some(1)));
    assert!(daemon.stop().success());
    // Without the other leg: the copy is whole.
    daemon.again(&cached(""));
    assert_eq!(shown(&daemon), 2);
    assert!(daemon.stop().success());
}

/// Writes zeroes over the first and the last MiB of a file.
fn blank_ends(folder: &Path, name: &str) {
    let file = fs::File::options().write(true).open(folder.join(name)).expect("it is there");
    let size = file.metadata().expect("it has a size").len();
    [0, size - MIB]
        .iter()
        .for_each(|at| file.write_all_at(&vec![0; MIB as usize], *at).expect("there is room"));
}

#[test]
fn a_mirror_of_pools_does_without_one_that_lost_a_disk_and_copies_it_when_it_was_made_anew() {
    // The superblocks of the mirror lie at the end of the pools, which is in the middle of the second disks.
    for lost in ["a", "b"] {
        let folder = directory();
        let pool = |name: &str, members: [&str; 2]| {
            let files = members.map(|member| file(&folder, member, 16)).concat();
            let [first, second] = members;
            format!(
                "{files}[volumes.{name}]\nkind = \"pool\"\nmembers = [\"{first}\", \"{second}\"]\nsize = \"24MiB\"\n\
                 extent = \"1MiB\"\n"
            )
        };
        let below = pool("one", ["a", "b"]) + &pool("two", ["c", "d"]);
        let settings = mirror(&folder, &below, "");
        let mut daemon = Daemon::make_in(&folder, &settings);
        write_all(&daemon, 1);
        assert!(daemon.stop().success());
        make_blank(&folder, lost, 16);
        let forced = forced(&folder, &below);
        daemon.again(&forced);
        assert_eq!((shown(&daemon), legs(&daemon)), (1, vec!["away".to_owned(), "in-sync".to_owned()]));
        Client::open(&daemon, "data").write(20 * MIB, &[2; BLOCK]);
        assert!(daemon.stop().success());
        let checked = check(&folder.join("fathomd.toml"), &[]);
        let said = told(&checked);
        assert!(checked.status.success() && said.contains("has to do without it"), "{said}");
        ["a", "b"].iter().for_each(|name| blank_ends(&folder, name));
        daemon.again(&settings);
        until("the new pool is copied", || legs(&daemon) == ["in-sync", "in-sync"]);
        assert!(daemon.stop().success());
        // By itself: it holds all of it.
        let alone = format!("{}{below}[exports.data]\nvolume = \"one\"\n", sockets(&folder));
        daemon.again(&alone);
        assert_eq!(shown(&daemon), 1, "{lost} was lost");
        assert_eq!(Client::open(&daemon, "data").read(20 * MIB, BLOCK as u32), [2; BLOCK]);
        assert!(daemon.stop().success());
    }
}

#[test]
fn what_stands_in_the_place_of_a_missing_leg_is_told() {
    let folder = directory();
    let below = file(&folder, "one", 16) + &file(&folder, "two", 16);
    let settings = mirror(&folder, &below, "");
    let mut daemon = Daemon::make_in(&folder, &settings);
    assert!(daemon.stop().success());
    fs::remove_file(folder.join("two")).expect("it is there");
    let forced = forced(&folder, &below);
    daemon.again(&forced);
    assert_eq!(legs(&daemon), ["in-sync", "away"]);
    fs::write(folder.join("two"), vec![7; 16 << 20]).expect("there is room");
    let why = "is no leg of a mirror";
    until("the log has the reason", || daemon.log().contains(why));
    let away = status(&daemon)["mirrors"][0]["legs"][1]["away_because"].clone();
    assert!(away.as_str().is_some_and(|told| told.contains(why)), "{away}");
    assert!(daemon.stop().success());
}

#[test]
fn a_mirror_of_stripes_is_told_to_be_blind_for_its_disks() {
    let folder = directory();
    let stripe = |name: &str, members: [&str; 2]| {
        let files = members.map(|member| file(&folder, member, 16)).concat();
        let [first, second] = members;
        format!("{files}[volumes.{name}]\nkind = \"stripe\"\nmembers = [\"{first}\", \"{second}\"]\n")
    };
    let below = stripe("one", ["a", "b"]) + &stripe("two", ["c", "d"]);
    let mut daemon = Daemon::make_in(&folder, &mirror(&folder, &below, ""));
    assert!(daemon.log().contains("lies on stripe"), "{}", daemon.log());
    assert!(daemon.stop().success());
    let checked = check(&folder.join("fathomd.toml"), &[]);
    assert!(
        checked.status.success() && told(&checked).contains("leg `two` lies on stripe `two`"),
        "{}",
        told(&checked)
    );
}
