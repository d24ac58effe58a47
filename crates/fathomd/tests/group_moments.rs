//! Volumes of one group that are put back to an earlier moment, one of them or all: a start is refused and `--check --json`
//! says which device is older, and the ways out keep what they say.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::check::advice;
use common::{Client, Daemon, FLUSH, directory, sockets};
use serde_json::Value;

const PAGE: u64 = 16 << 10;
const VOLUMES: [&str; 2] = ["data", "log"];

/// Two volumes on files, with one cache, that destage only when they are told to.
struct Fixture {
    directory: PathBuf,
    daemon: Option<Daemon>,
    clients: Vec<Client>,
    written: u64,
}

impl Fixture {
    fn new() -> Self {
        let directory = directory();
        let daemon = Daemon::make_in(&directory, &settings(&directory, ""));
        let clients = VOLUMES.map(|name| Client::open(&daemon, name)).into();
        Self { directory, daemon: Some(daemon), clients, written: 0 }
    }

    /// Writes so many pages, each with its number, to one volume after the other, and flushes.
    fn write(&mut self, pages: u64) {
        for page in self.written..self.written + pages {
            self.clients[page as usize % 2].write(page * PAGE, &stamp(page));
        }
        let client = &mut self.clients[0];
        client.request(FLUSH, 3, 0, 0, &[]);
        assert_eq!(client.answer(), (0, 3));
        self.written += pages;
    }

    fn drain(&self) {
        let (status, body) = self.daemon.as_ref().expect("it runs").ask("POST", "/drain");
        assert!(status.contains("200"), "{status} {body}");
    }

    /// Kills it when what was flushed is marked.
    #[allow(clippy::disallowed_methods, reason = "a mark is written by the real clock")]
    fn kill(&mut self) {
        std::thread::sleep(std::time::Duration::from_millis(200));
        self.clients.clear();
        self.daemon.as_mut().expect("it runs").kill();
    }

    fn stop(&mut self) {
        self.clients.clear();
        assert!(self.daemon.as_mut().expect("it runs").stop().success());
    }

    /// What the files hold while nothing is under way.
    fn copy(&self) -> Vec<(&'static str, Vec<u8>)> {
        let read = |name| (name, fs::read(self.directory.join(name)).expect("it is there"));
        ["data.img", "log.img", "fast.img"].map(read).into()
    }

    /// Puts those files back whose names begin so.
    fn put(&self, copy: &[(&'static str, Vec<u8>)], which: &str) {
        for (name, bytes) in copy.iter().filter(|(name, _)| name.starts_with(which)) {
            fs::write(self.directory.join(name), bytes).expect("it is writable");
        }
    }

    /// Starts with these keys in the settings of both; whether it serves.
    fn start(&mut self, keys: &str) -> bool {
        // The old one is forgotten without its directory: a killed daemon has nothing else to take apart.
        if let Some(old) = self.daemon.take() {
            std::mem::forget(old);
        }
        let daemon = Daemon::start_in(&self.directory, &settings(&self.directory, keys));
        let serves = daemon.log().contains("\"serving\"");
        self.clients =
            if serves { VOLUMES.map(|name| Client::open(&daemon, name)).into() } else { Vec::new() };
        self.daemon = Some(daemon);
        serves
    }

    /// How many pages are there from the first on, and that no later one is.
    fn prefix(&mut self) -> u64 {
        let is_there =
            |page: u64| self.clients[page as usize % 2].read(page * PAGE, PAGE as u32) == stamp(page);
        let there: Vec<bool> = (0..self.written).map(is_there).collect();
        let prefix = there.iter().take_while(|there| **there).count();
        assert!(there[prefix..].iter().all(|there| !there), "what is there is no prefix of what was written");
        prefix as u64
    }

    /// The refusal that `--check --json` advises on, with its code and the devices that are to be brought back; a start is
    /// refused, too, and nothing is written.
    fn refusal(&mut self) -> (String, Vec<String>, Value) {
        let before = self.copy();
        assert!(!self.start(""), "it is refused");
        let refusal = advice(&self.directory).expect("the check says why");
        assert!(before == self.copy(), "a refusal writes nothing");
        let remedies = refusal["remedies"].as_array().expect("a list").iter();
        let back = remedies.filter(|remedy| remedy["action"] == "bring_back");
        let back = back.map(|remedy| remedy["device"].as_str().expect("a name").to_owned()).collect();
        (refusal["code"].as_str().expect("a word").to_owned(), back, refusal)
    }
}

fn settings(directory: &Path, keys: &str) -> String {
    let volume = |name: &str| {
        format!(
            "[volumes.slow-{name}]\nkind = \"file\"\npath = \"{name}.img\"\nsize = \"32MiB\"\n\
             [volumes.{name}]\nkind = \"writeback\"\nbacking = \"slow-{name}\"\ncache = \"fast\"\ngroup = \"db\"\n\
             segment = \"1MiB\"\ndirty_limit = \"24MiB\"\nring_size = \"8MiB\"\nlag_target = \"10min\"\n\
             lag_max = \"60min\"\n{keys}[exports.{name}]\nvolume = \"{name}\"\n"
        )
    };
    format!(
        "{}[volumes.fast]\nkind = \"file\"\npath = \"fast.img\"\nsize = \"64MiB\"\n{}{}",
        sockets(directory),
        volume("data"),
        volume("log")
    )
}

/// A key of a remedy that sets some, as it is written in the settings.
fn key(refusal: &Value, key: &str) -> Option<String> {
    let remedies = refusal["remedies"].as_array()?;
    let value = remedies.iter().find_map(|remedy| remedy["keys"].get(key))?;
    Some(format!("{key} = {value}\n"))
}

fn stamp(page: u64) -> Vec<u8> {
    (page + 1).to_le_bytes().repeat(PAGE as usize / 8)
}

#[test]
fn an_older_volume_of_a_group_is_refused_and_the_first_is_rolled_forward() {
    let mut fixture = Fixture::new();
    fixture.write(100);
    fixture.drain();
    let older = fixture.copy();
    fixture.write(100);
    fixture.drain();
    fixture.write(50);
    fixture.kill();
    let newest = fixture.copy();
    // The second volume alone: only it can be brought back.
    fixture.put(&older, "log");
    let (code, back, refusal) = fixture.refusal();
    assert_eq!((&*code, &*back), ("member_older", &["slow-log".to_owned()][..]), "{refusal}");
    assert_eq!(refusal["remedies"].as_array().map(Vec::len), Some(1), "{refusal}");
    fixture.put(&newest, "log");
    assert!(fixture.start("") && fixture.prefix() == 250, "the advice is followed");
    fixture.kill();
    // The first alone: the log brings it up to date, and there is no way back without the other one.
    fixture.put(&newest, "");
    fixture.put(&older, "data");
    let (code, back, refusal) = fixture.refusal();
    assert_eq!((&*code, &*back), ("backing_older", &["slow-data".to_owned()][..]), "{refusal}");
    assert!(key(&refusal, "accept_rollback").is_none(), "{refusal}");
    let forward = key(&refusal, "roll_forward").expect("the log has everything");
    assert!(!fixture.start(&forward.replace("roll_forward", "accept_rollback")), "it is not done either");
    assert!(fixture.start(&forward) && fixture.prefix() == 250, "the advice is followed");
    fixture.drain();
    fixture.stop();
    assert!(fixture.start("") && fixture.prefix() == 250);
    fixture.kill();
    // Both, from one moment.
    fixture.put(&newest, "");
    fixture.put(&older, "data");
    fixture.put(&older, "log");
    let (code, _, refusal) = fixture.refusal();
    assert_eq!(code, "backing_older");
    let back = key(&refusal, "accept_rollback").expect("both are from that moment");
    assert!(fixture.start(&back) && fixture.prefix() == 100, "the advice is followed");
    fixture.kill();
    assert!(fixture.start("") && fixture.prefix() == 100);
    fixture.kill();
}

#[test]
fn volumes_of_a_group_that_was_stopped_as_planned_are_from_one_moment() {
    let mut fixture = Fixture::new();
    fixture.write(60);
    fixture.stop();
    let older = fixture.copy();
    assert!(fixture.start(""));
    fixture.write(60);
    fixture.stop();
    let newest = fixture.copy();
    for (which, wanted, device) in
        [("log", "member_older", "slow-log"), ("data", "backing_older", "slow-data")]
    {
        fixture.put(&older, which);
        let (code, back, refusal) = fixture.refusal();
        assert_eq!((&*code, &*back), (wanted, &[device.to_owned()][..]), "{refusal}");
        fixture.put(&newest, which);
        assert!(fixture.start("") && fixture.prefix() == 120, "the advice is followed");
        fixture.stop();
        fixture.put(&newest, "");
    }
    fixture.put(&older, "data");
    fixture.put(&older, "log");
    assert!(fixture.start("") && fixture.prefix() == 60, "all of them were put back");
    fixture.stop();
}
