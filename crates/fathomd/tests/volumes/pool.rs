//! A pool that a disk is added to: its extents move while a client writes, and the daemon is killed meanwhile.

#![allow(clippy::disallowed_methods, reason = "real processes are waited for by the real clock")]

use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{Client, Daemon, FLUSH, directory, sockets, status, until};

const BLOCK: u64 = 4096;
const BLOCKS: u64 = 24 * 256;

fn settings(folder: &Path, added: bool, limit: &str) -> String {
    let file = |name: &str| {
        let path = folder.join(name);
        format!("[volumes.{name}]\nkind = \"file\"\npath = \"{}\"\nsize = \"16MiB\"\n", path.display())
    };
    let (third, listed) = if added { (file("c"), "added = [\"c\"]\n") } else { (String::new(), "") };
    format!(
        "{}{}{}{third}[volumes.data]\nkind = \"pool\"\nmembers = [\"a\", \"b\"]\n{listed}size = \"24MiB\"\n\
         extent = \"64KiB\"\nresync_depth = 4\n{limit}[exports.data]\nvolume = \"data\"\n",
        sockets(folder),
        file("a"),
        file("b"),
    )
}

fn bytes(block: u64, round: u64) -> Vec<u8> {
    [block, round].map(u64::to_le_bytes).concat().repeat(256)
}

/// What the pool counts under that name.
fn counter(daemon: &Daemon, name: &str) -> u64 {
    let status = status(daemon);
    let volumes = status["volumes"].as_array().expect("volumes");
    let pool = volumes.iter().find(|volume| volume["name"] == "data").expect("the pool");
    pool["counters"][name].as_u64().expect("it is counted")
}

fn verify(daemon: &Daemon, rounds: &[u64]) {
    let mut client = Client::open(daemon, "data");
    for (number, rounds) in rounds.chunks(256).enumerate() {
        let found = client.read(number as u64 * 256 * BLOCK, 256 * BLOCK as u32);
        for (index, (found, round)) in found.chunks(BLOCK as usize).zip(rounds).enumerate() {
            let block = (number * 256 + index) as u64;
            assert!(found == bytes(block, *round), "block {block} of round {round}: {:?}", &found[..16]);
        }
    }
}

/// Starts the next life in the folder of the last one.
fn again(daemon: &mut Daemon, settings: &str) {
    let folder = daemon.directory.clone();
    std::mem::forget(std::mem::replace(daemon, Daemon::make_in(&folder, settings)));
}

#[test]
fn nothing_that_was_answered_is_lost_when_the_daemon_is_killed_while_extents_move_to_an_added_disk() {
    let folder = directory();
    let mut daemon = Daemon::make_in(&folder, &settings(&folder, false, ""));
    let mut rounds = vec![0; BLOCKS as usize];
    let mut client = Client::open(&daemon, "data");
    for block in 0..BLOCKS {
        client.write(block * BLOCK, &bytes(block, 0));
    }
    client.request(FLUSH, 0, 0, 0, &[]);
    assert_eq!(client.answer(), (0, 0));
    assert_eq!(counter(&daemon, "extents_left"), 0);
    drop(client);
    assert!(daemon.stop().success());

    for round in 1..=3 {
        again(&mut daemon, &settings(&folder, true, "resync_limit = \"2MB/s\"\n"));
        let mut client = Client::open(&daemon, "data");
        let begun = Instant::now();
        // Over all of the volume, so that extents are written before, while and after they move.
        for block in (0..BLOCKS).map(|step| step * 1151 % BLOCKS) {
            client.write(block * BLOCK, &bytes(block, round));
            rounds[block as usize] = round;
            if begun.elapsed() > Duration::from_millis(300) {
                break;
            }
        }
        if round == 1 {
            until("an extent has moved", || counter(&daemon, "extents_moved") > 0);
        }
        daemon.kill();
    }
    again(&mut daemon, &settings(&folder, true, ""));
    verify(&daemon, &rounds);
    until("all members are equally full", || counter(&daemon, "extents_left") == 0);
    verify(&daemon, &rounds);
    assert_eq!(counter(&daemon, "resync_errors"), 0);
    assert!(daemon.stop().success());
}

#[test]
fn a_pool_whose_added_disk_is_taken_out_again_is_refused_with_the_reason() {
    let folder = directory();
    let mut daemon = Daemon::make_in(&folder, &settings(&folder, true, ""));
    until("all members are equally full", || counter(&daemon, "extents_left") == 0);
    assert!(daemon.stop().success());
    std::mem::forget(std::mem::replace(
        &mut daemon,
        Daemon::start_in(&folder, &settings(&folder, false, "")),
    ));
    let log = daemon.log();
    assert!(
        log.contains("extents are on its member number 3, and the settings name 2: name every member"),
        "{log}"
    );
}
