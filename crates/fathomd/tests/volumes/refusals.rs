//! Devices that are not what the daemon left behind: each start is refused, `--check --json` gives the advice, and the
//! advice carried out by a program keeps everything that can be kept.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::common::check::advice;
use crate::common::{Client, Daemon, FLUSH, directory, sockets};
use serde_json::Value;

const PAGE: u64 = 16 << 10;

/// Files under a daemon with a cache that destages only when it is told to.
struct Fixture {
    directory: PathBuf,
    fast: &'static str,
    slow: &'static str,
    daemon: Option<Daemon>,
    client: Option<Client>,
    written: u64,
}

impl Fixture {
    fn new(fast: &'static str, slow: &'static str) -> Self {
        let directory = directory();
        let mut fixture = Self { directory, fast, slow, daemon: None, client: None, written: 0 };
        let daemon = Daemon::make_in(&fixture.directory, &fixture.settings(""));
        fixture.client = Some(Client::open(&daemon, "disk"));
        fixture.daemon = Some(daemon);
        fixture
    }

    fn settings(&self, keys: &str) -> String {
        let Self { fast, slow, .. } = self;
        format!(
            "{}[volumes.slow]\nkind = \"file\"\npath = \"slow.img\"\nsize = \"{slow}\"\n\
             [volumes.fast]\nkind = \"file\"\npath = \"fast.img\"\nsize = \"{fast}\"\n\
             [volumes.disk]\nkind = \"writeback\"\nbacking = \"slow\"\ncache = \"fast\"\nsegment = \"1MiB\"\n\
             dirty_limit = \"100MiB\"\nring_size = \"96MiB\"\nlag_target = \"10min\"\nlag_max = \"60min\"\n\
             drain_target = \"10min\"\n{keys}\n\
             [exports.disk]\nvolume = \"disk\"\n",
            sockets(&self.directory)
        )
    }

    /// Writes so many pages, each with its number, and flushes after every tenth and at the end.
    fn write(&mut self, pages: u64) {
        let client = self.client.as_mut().expect("it runs");
        for page in self.written..self.written + pages {
            client.write(page * PAGE, &stamp(page));
            if page % 10 == 9 {
                flush(client);
            }
        }
        flush(client);
        self.written += pages;
    }

    fn drain(&self) {
        let (status, body) = self.daemon.as_ref().expect("it runs").ask("POST", "/drain");
        assert!(status.contains("200"), "{status} {body}");
    }

    /// What a file holds while nothing is under way.
    fn copy(&self, name: &str) -> Vec<u8> {
        fs::read(self.directory.join(name)).expect("it is there")
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        fs::write(self.directory.join(name), bytes).expect("it is writable");
    }

    /// Kills it when what was flushed is marked.
    #[allow(clippy::disallowed_methods, reason = "a mark is written by the real clock")]
    fn kill(&mut self) {
        std::thread::sleep(std::time::Duration::from_millis(200));
        self.client = None;
        self.daemon.as_mut().expect("it runs").kill();
    }

    fn zero(&self, name: &str, at: u64, length: usize) {
        let file = OpenOptions::new().write(true).open(self.directory.join(name)).expect("it is there");
        file.write_all_at(&vec![0; length], at).expect("it is writable");
    }

    /// Starts with these keys in the cache's settings; whether it serves.
    fn start(&mut self, keys: &str) -> bool {
        // The old one is forgotten without its directory: a killed daemon has nothing else to take apart.
        if let Some(old) = self.daemon.take() {
            std::mem::forget(old);
        }
        let daemon = Daemon::start_in(&self.directory, &self.settings(keys));
        let serves = daemon.log().contains("\"serving\"");
        self.client = serves.then(|| Client::open(&daemon, "disk"));
        self.daemon = Some(daemon);
        serves
    }

    /// How many pages are there from the first on, and that no later one is.
    fn prefix(&mut self) -> u64 {
        let written = self.written;
        let client = self.client.as_mut().expect("it runs");
        let there: Vec<bool> =
            (0..written).map(|page| client.read(page * PAGE, PAGE as u32) == stamp(page)).collect();
        let prefix = there.iter().take_while(|there| **there).count();
        assert!(there[prefix..].iter().all(|there| !there), "what is there is no prefix of what was written");
        prefix as u64
    }

    /// The refusal that `--check --json` advises on, and that a start refuses for the same reason.
    fn refusal(&mut self) -> Value {
        assert!(!self.start(""), "it is refused");
        let log = self.daemon.as_ref().expect("it was started").log();
        let refusal = advice(&self.directory).expect("the check says why");
        let accept = |remedy: &Value| {
            remedy["text"].as_str().is_some_and(|text| !log.contains(&text.replace('"', "\\\"")))
        };
        let remedies = refusal["remedies"].as_array().expect("a list");
        assert!(
            !remedies.is_empty() && !remedies.iter().any(accept),
            "check and open agree: {refusal} {log}"
        );
        assert!(remedies[0]["loses"].is_null(), "what loses nothing comes first: {refusal}");
        refusal
    }
}

/// The keys of a remedy that sets some, as they are written in the settings.
fn keys(refusal: &Value, key: &str) -> Option<String> {
    let remedies = refusal["remedies"].as_array()?;
    let remedy = remedies.iter().find(|remedy| keys_of(remedy, key))?;
    let keys = remedy["keys"].as_object()?.iter();
    Some(keys.map(|(key, value)| format!("{key} = {value}\n")).collect())
}

fn keys_of(remedy: &Value, key: &str) -> bool {
    remedy["keys"].get(key).is_some()
}

fn stamp(page: u64) -> Vec<u8> {
    (page + 1).to_le_bytes().repeat(PAGE as usize / 8)
}

fn flush(client: &mut Client) {
    client.request(FLUSH, 3, 0, 0, &[]);
    assert_eq!(client.answer(), (0, 3));
}

/// Where the records of a log begin.
fn records(cache: &[u8]) -> Vec<usize> {
    (8192..cache.len()).step_by(4096).filter(|at| cache[*at..].starts_with(b"FTHMWLOG")).collect()
}

#[test]
fn a_hole_in_the_dirty_log_is_refused_and_what_stands_before_it_is_kept() {
    let mut fixture = Fixture::new("128MiB", "256MiB");
    fixture.write(1200);
    fixture.kill();
    let cache = fixture.copy("fast.img");
    let all = records(&cache);
    let hole = all[all.len() * 6 / 10];
    fixture.zero("fast.img", hole as u64, 5 << 20);
    let refusal = fixture.refusal();
    assert_eq!(refusal["code"], "log_broken", "{refusal}");
    let keys = keys(&refusal, "accept_loss").expect("it can be accepted");
    assert!(fixture.start(&keys), "the advice is followed");
    let prefix = fixture.prefix();
    let lost = refusal["remedies"][1]["loses"]["least_writes"].as_u64().expect("it is known");
    assert!(prefix >= 700 && prefix + lost == 1200, "{prefix} of 1200 are there, {lost} are said to be lost");
    // And it goes on from there: the log holds what was given up, and that is no news.
    let told =
        |fixture: &Fixture| fixture.daemon.as_ref().expect("it runs").log().contains("accepts nothing");
    assert!(!told(&fixture), "the loss was there");
    fixture.write(10);
    fixture.kill();
    assert!(fixture.start(&keys) && told(&fixture), "the key has no effect any more");
    fixture.kill();
    assert!(fixture.start("") && !told(&fixture));
}

#[test]
fn the_last_flushed_records_cannot_vanish_without_a_word() {
    for (count, gone) in [(8, "the last"), (40, "many")] {
        let mut fixture = Fixture::new("128MiB", "256MiB");
        fixture.write(200);
        fixture.kill();
        let all = records(&fixture.copy("fast.img"));
        for at in &all[all.len() - count..] {
            fixture.zero("fast.img", *at as u64, 4096);
        }
        let refusal = fixture.refusal();
        assert_eq!(refusal["code"], "log_short", "{gone}: {refusal}");
        let keys = keys(&refusal, "accept_loss").expect("it can be accepted");
        assert!(fixture.start(&keys));
        let lost = refusal["remedies"][1]["loses"]["least_writes"].as_u64().expect("it is known");
        assert_eq!(fixture.prefix() + lost, 200);
    }
}

#[test]
fn an_older_backing_volume_is_no_lost_cache_and_is_rolled_forward() {
    let mut fixture = Fixture::new("128MiB", "256MiB");
    fixture.write(100);
    fixture.drain();
    let older = fixture.copy("slow.img");
    fixture.write(400);
    fixture.drain();
    fixture.write(50);
    fixture.kill();
    let newer = fixture.copy("slow.img");
    fixture.put("slow.img", &older);
    let refusal = fixture.refusal();
    assert_eq!(refusal["code"], "backing_older", "{refusal}");
    assert!(keys(&refusal, "accept_loss").is_none(), "the cache is not lost: {refusal}");
    let loses = refusal["remedies"].as_array().expect("a list").last().expect("one").clone();
    assert_eq!((&loses["loses"]["least_writes"], &loses["loses"]["most_writes"]), (&450.into(), &450.into()));
    assert!(loses["loses"]["torn"] == false, "its redo ring is of that moment, too: {refusal}");
    // By the first remedy, by the second, and by the last.
    let cache = fixture.copy("fast.img");
    fixture.put("slow.img", &newer);
    assert!(fixture.start("") && fixture.prefix() == 550);
    for (key, kept) in [("roll_forward", 550), ("accept_rollback", 100)] {
        fixture.kill();
        fixture.put("slow.img", &older);
        fixture.put("fast.img", &cache);
        let keys = keys(&refusal, key).unwrap_or_else(|| panic!("{key} is offered: {refusal}"));
        assert!(fixture.start(&keys), "{key}");
        assert_eq!(fixture.prefix(), kept, "{key}");
        fixture.client = None;
        fixture.drain();
    }
}

#[test]
fn an_older_backing_volume_whose_log_is_gone_costs_what_it_says() {
    let mut fixture = Fixture::new("8MiB", "256MiB");
    fixture.write(100);
    fixture.drain();
    let older = fixture.copy("slow.img");
    for _ in 0..10 {
        fixture.write(100);
        fixture.drain();
    }
    fixture.write(10);
    fixture.kill();
    fixture.put("slow.img", &older);
    let refusal = fixture.refusal();
    assert_eq!(refusal["code"], "backing_older", "{refusal}");
    assert!(keys(&refusal, "roll_forward").is_none(), "its log is gone: {refusal}");
    let keys = keys(&refusal, "accept_rollback").expect("it can be accepted");
    assert!(fixture.start(&keys));
    assert_eq!(fixture.prefix(), 100);
    assert!(refusal.to_string().contains("\"least_writes\":1010"), "{refusal}");
}

#[test]
fn devices_of_other_sizes_are_refused_with_a_way_out() {
    let mut fixture = Fixture::new("64MiB", "256MiB");
    fixture.write(300);
    fixture.kill();
    let (fast, slow) = (fixture.copy("fast.img"), fixture.copy("slow.img"));
    // A cache that was cut short.
    fixture.put("fast.img", &fast[..32 << 20]);
    fixture.fast = "32MiB";
    let refusal = fixture.refusal();
    assert_eq!(
        (&refusal["code"], &refusal["remedies"][0]["action"]),
        (&"cache_too_small".into(), &"resize".into())
    );
    let needed = refusal["remedies"][0]["bytes"].as_u64().expect("it is known");
    assert!(needed <= 64 << 20);
    let accepted = keys(&refusal, "accept_loss").expect("it can be accepted");
    assert!(fixture.start(&accepted), "also without what was cut off");
    fixture.client = None;
    fixture.daemon.as_mut().expect("it runs").kill();
    fixture.put("fast.img", &fast);
    fixture.put("slow.img", &slow);
    fixture.fast = "64MiB";
    assert!(fixture.start("") && fixture.prefix() == 300, "nothing is lost once it is whole again");
    fixture.kill();
    // A backing volume that grew.
    let slow = fixture.copy("slow.img");
    fixture.put("slow.img", &[slow, vec![0; 256 << 20]].concat());
    fixture.slow = "512MiB";
    let refusal = fixture.refusal();
    assert_eq!(refusal["code"], "backing_resized", "{refusal}");
    let keys = keys(&refusal, "backing_size").expect("it can be used as it was");
    assert!(fixture.start(&keys) && fixture.prefix() == 300, "used as it was");
    fixture.kill();
}

#[test]
fn of_two_cache_devices_one_that_was_cut_short_is_left_out() {
    let mut fixture = Fixture::new("64MiB", "256MiB");
    fixture.kill();
    fixture.put("fast1.img", &vec![0; 64 << 20]);
    let both = |size: &str| {
        format!(
            "durability = \"cache-mirrored\"\ncache_copy = \"fast1\"\n{size}[volumes.fast1]\nkind = \"file\"\n\
             path = \"fast1.img\""
        )
    };
    assert!(fixture.start(&both("")));
    fixture.drain();
    fixture.kill();
    assert!(fixture.start(&both("")), "a log that begins anew is on both");
    fixture.write(300);
    fixture.kill();
    let whole = ["fast.img", "fast1.img"].map(|name| fixture.copy(name));
    let slow = fixture.copy("slow.img");
    for (short, name) in ["fast.img", "fast1.img"].into_iter().enumerate() {
        for size in ["", "size = \"64MiB\"\n"] {
            for (copy, name) in whole.iter().zip(["fast.img", "fast1.img"]) {
                fixture.put(name, copy);
            }
            fixture.put("slow.img", &slow);
            fixture.put(name, &whole[short][..32 << 20]);
            fixture.fast = if short == 0 { "32MiB" } else { "64MiB" };
            fixture.written = 300;
            assert!(fixture.start(&both(size)) && fixture.prefix() == 300, "the other one has everything");
            fixture.write(10);
            fixture.kill();
            assert!(fixture.start(&both(size)) && fixture.prefix() == 310);
            fixture.kill();
        }
    }
    // It is whole again, and has missed what came since.
    fixture.put("fast1.img", &whole[1]);
    assert!(fixture.start(&both("")) && fixture.prefix() == 310);
    fixture.kill();
}

#[test]
fn a_blank_cache_device_is_claimed_before_it_holds_a_record() {
    let mut fixture = Fixture::new("128MiB", "256MiB");
    let both = "durability = \"cache-mirrored\"\ncache_copy = \"fast1\"\n[volumes.fast1]\nkind = \"file\"\npath = \"fast1.img\"";
    fixture.kill();
    fixture.put("fast1.img", &vec![0; 128 << 20]);
    assert!(fixture.start(both));
    fixture.write(4000);
    fixture.kill();
    fixture.put("fast1.img", &vec![0; 128 << 20]);
    assert!(fixture.start(both));
    // The device is being filled: this record is there, and what came before is not yet.
    fixture.write(1);
    let filling = fixture.copy("fast1.img");
    assert!(!records(&filling).is_empty(), "it takes part in writes");
    assert!(filling[..8192].windows(8).any(|bytes| bytes == b"FTHMWCHE"), "and says whose it is");
    // Here the power fails.
    fixture.kill();
    fixture.put("fast1.img", &filling);
    assert!(fixture.start(both) && fixture.prefix() == 4001, "the other device has everything");
    fixture.kill();
}

#[test]
fn a_drained_volume_that_was_resized_is_not_laid_out_anew() {
    let mut fixture = Fixture::new("64MiB", "256MiB");
    // The beginning stays zero.
    fixture.written = 8;
    fixture.write(100);
    fixture.client = None;
    assert!(fixture.daemon.as_mut().expect("it runs").stop().success());
    let (slow, fast) = (fixture.copy("slow.img"), fixture.copy("fast.img"));
    let blank = vec![0; fast.len()];
    let doubled = [&slow[..], &vec![0; slow.len()]].concat();
    for (cache, code) in [(&fast, "backing_resized"), (&blank, "backing_in_use")] {
        fixture.put("slow.img", &doubled);
        fixture.put("fast.img", cache);
        fixture.slow = "512MiB";
        let refusal = fixture.refusal();
        assert_eq!(refusal["code"], code, "{refusal}");
        assert!(fixture.copy("slow.img") == doubled, "a refusal writes nothing");
        let keys = keys(&refusal, "backing_size").expect("it can be used as it was");
        assert!(fixture.start(&keys), "used as it was");
        let client = fixture.client.as_mut().expect("it runs");
        assert!((8..108).all(|page| client.read(page * PAGE, PAGE as u32) == stamp(page)));
        fixture.kill();
    }
    fixture.put("slow.img", &slow[..slow.len() / 2]);
    fixture.put("fast.img", &fast);
    fixture.slow = "128MiB";
    let refusal = fixture.refusal();
    assert_eq!(
        (&refusal["code"], &refusal["remedies"][0]["action"], &refusal["remedies"][0]["bytes"]),
        (&"backing_resized".into(), &"resize".into(), &(256 << 20).into())
    );
}

#[test]
fn a_log_under_two_damaged_superblocks_is_kept() {
    let mut fixture = Fixture::new("128MiB", "256MiB");
    fixture.write(100);
    fixture.drain();
    fixture.write(100);
    fixture.kill();
    let cache = fixture.copy("fast.img");
    // A field, the magic, the checksum, everything, with nothing, ones or noise in its place.
    let noise: Vec<u8> = (0..4096_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let damages = [
        (40, vec![0; 100]),
        (0, vec![7]),
        (8, vec![7; 4]),
        (0, vec![0; 4096]),
        (0, vec![255; 4096]),
        (0, noise),
    ];
    for (at, bytes) in damages {
        let mut damaged = cache.clone();
        for copy in [0, 4096] {
            damaged[copy + at..][..bytes.len()].copy_from_slice(&bytes);
        }
        for also in ["", "discard_cache = true\n"] {
            fixture.put("fast.img", &damaged);
            let backing = fixture.copy("slow.img");
            let refusal = fixture.refusal();
            assert_eq!(refusal["code"], "cache_superblocks_damaged", "{refusal}");
            let keys = keys(&refusal, "accept_loss").expect("it can be accepted");
            assert!(fixture.start(&(keys + also)) && fixture.prefix() == 200, "{at}: the log is kept");
            fixture.kill();
            fixture.put("slow.img", &backing);
        }
    }
}

#[test]
fn a_cache_of_which_nothing_can_be_told_is_not_written_to() {
    let mut fixture = Fixture::new("128MiB", "256MiB");
    fixture.write(10);
    fixture.client = None;
    assert!(fixture.daemon.as_mut().expect("it runs").stop().success());
    let mut cache = fixture.copy("fast.img");
    cache[..8192].fill(255);
    fixture.put("fast.img", &cache);
    let refusal = fixture.refusal();
    assert_eq!(refusal["code"], "cache_unknown", "{refusal}");
    assert!(fixture.copy("fast.img") == cache, "a refusal writes nothing");
    let keys = keys(&refusal, "discard_cache").expect("it can be used all the same");
    assert!(fixture.start(&keys) && fixture.prefix() == 10);
    fixture.kill();
}

#[test]
fn what_takes_the_place_of_a_missed_log_is_given_up_with_it_in_one_step() {
    let mut fixture = Fixture::new("128MiB", "256MiB");
    fixture.write(100);
    fixture.drain();
    fixture.write(100);
    fixture.kill();
    let size = fixture.copy("fast.img").len();
    let mut damaged = vec![0; size];
    [0, 4096].iter().for_each(|copy| damaged[*copy..copy + 8].copy_from_slice(b"FTHMWCHE"));
    for (bytes, code) in [(vec![0x55; size], "cache_unknown"), (damaged, "cache_superblocks_damaged")] {
        fixture.put("fast.img", &bytes);
        let backing = fixture.copy("slow.img");
        let refusal = fixture.refusal();
        assert_eq!(refusal["code"], code, "{refusal}");
        assert!(fixture.copy("fast.img") == bytes, "a refusal writes nothing");
        let keys = keys(&refusal, "accept_loss").expect("it can be accepted");
        assert!(keys.contains("discard_cache") && fixture.start(&keys) && fixture.prefix() == 100, "{keys}");
        fixture.kill();
        fixture.put("slow.img", &backing);
    }
}

#[test]
fn a_backing_volume_without_its_superblocks_can_be_adopted() {
    let mut fixture = Fixture::new("128MiB", "256MiB");
    fixture.write(100);
    fixture.drain();
    fixture.write(100);
    fixture.kill();
    let size = fixture.copy("slow.img").len();
    let file = OpenOptions::new().write(true).open(fixture.directory.join("slow.img")).expect("it is there");
    file.write_all_at(&[0; 8192], size as u64 - 8192).expect("it is writable");
    fixture.refusal();
    let log = fixture.daemon.as_ref().expect("it was started").log();
    assert!(
        log.contains("shows no superblock of the group") && !log.contains("is blank"),
        "it has data: {log}"
    );
    file.write_all_at(&[255; 8192], size as u64 - 8192).expect("it is writable");
    let refusal = fixture.refusal();
    assert_eq!(refusal["code"], "backing_unknown", "{refusal}");
    let remedies = refusal["remedies"].as_array().expect("a list");
    let adopt = remedies.iter().find(|remedy| remedy["action"] == "add_ring").expect("it can be adopted");
    assert!(
        !adopt["loses"].is_null() && !remedies.iter().any(|remedy| remedy["action"] == "set"),
        "{refusal}"
    );
    let ring = format!("[volumes.ring]\nkind = \"memory\"\nsize = \"{}B\"\n", adopt["bytes"]);
    let keys = keys(&refusal, "discard_cache").expect("the writes in the cache are given up");
    assert!(fixture.start(&format!("{keys}ring = \"ring\"\n{ring}")), "the advice is followed");
    assert_eq!(fixture.prefix(), 100);
    // The redo ring is gone, which would have completed a batch that was in place in part.
    assert!(adopt["loses"]["torn"] == true && adopt["loses"]["unless"].is_null(), "{refusal}");
    assert!(adopt["text"].as_str().expect("a text").contains("of no one moment"), "{refusal}");
    let log = fixture.daemon.as_ref().expect("it runs").log();
    assert!(log.contains("parts of later ones, up to write 200") && !log.contains("stand at write"), "{log}");
    fixture.kill();
}

#[test]
fn a_rollback_beside_a_ring_of_its_own_says_on_what_it_depends() {
    let ring = "ring = \"ring\"\n[volumes.ring]\nkind = \"file\"\npath = \"ring.img\"\nsize = \"128MiB\"\n";
    let (directory, fast, slow) = (directory(), "128MiB", "256MiB");
    let mut fixture = Fixture { directory, fast, slow, daemon: None, client: None, written: 0 };
    let daemon = Daemon::make_in(&fixture.directory, &fixture.settings(ring));
    fixture.client = Some(Client::open(&daemon, "disk"));
    fixture.daemon = Some(daemon);
    fixture.write(100);
    fixture.drain();
    let older = fixture.copy("ring.img");
    fixture.write(400);
    fixture.drain();
    fixture.write(50);
    fixture.kill();
    fixture.put("ring.img", &older);
    assert!(!fixture.start(ring));
    let refusal = advice(&fixture.directory).expect("the check says why");
    assert_eq!(refusal["code"], "backing_older", "{refusal}");
    let remedies = refusal["remedies"].as_array().expect("a list");
    let rollback = remedies.iter().find(|remedy| keys_of(remedy, "accept_rollback")).expect("it is offered");
    let loses = &rollback["loses"];
    assert!(loses["torn"] == true && loses["unless"] == "all_restored", "the volumes are later: {refusal}");
}
