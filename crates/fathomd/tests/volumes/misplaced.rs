//! Write-back groups whose settings name their volumes otherwise than they were made: each refusal names the way back, which
//! loses nothing, before any other.

use std::path::{Path, PathBuf};

use crate::common::check::{advice, check, text};
use crate::common::{Client, Daemon, FLUSH, directory, sockets};
use serde_json::Value;

/// A volume of the group with its backing volume.
type Volume = (&'static str, &'static str);
const MADE: [Volume; 3] = [("data", "x"), ("log", "y"), ("temp", "z")];

struct Group {
    folder: PathBuf,
}

fn settings(folder: &Path, volumes: &[Volume], keys: &str) -> String {
    let mut text = sockets(folder);
    for (name, size) in [("x", 64), ("y", 64), ("z", 64), ("fast", 64), ("own", 128), ("next", 128)] {
        text += &format!("[volumes.{name}]\nkind = \"file\"\npath = \"{name}.img\"\nsize = \"{size}MiB\"\n");
    }
    for (name, backing) in volumes {
        text += &format!(
            "[volumes.{name}]\nkind = \"writeback\"\nbacking = \"{backing}\"\ncache = \"fast\"\ngroup = \"g\"\nsegment = \"1MiB\"\n\
             lag_target = \"10min\"\nlag_max = \"60min\"\n{keys}[exports.{name}]\nvolume = \"{name}\"\n"
        );
    }
    text
}

impl Group {
    /// A group with writes in its cache, whose daemon was killed.
    fn new(volumes: &[Volume]) -> Self {
        let folder = directory();
        let mut daemon = Daemon::make_in(&folder, &settings(&folder, volumes, ""));
        for (name, _) in volumes {
            let mut client = Client::open(&daemon, name);
            client.write(1 << 20, &[name.as_bytes()[0]; 4096]);
            client.request(FLUSH, 3, 0, 0, &[]);
            assert_eq!(client.answer(), (0, 3));
        }
        daemon.kill();
        std::mem::forget(daemon);
        for ring in ["own.img", "next.img"] {
            std::fs::write(folder.join(ring), vec![0; 128 << 20]).expect("there is room");
        }
        Self { folder }
    }

    /// What a start with other settings is refused with; it must write nothing.
    fn refusal(&self, volumes: &[Volume], keys: &str) -> Value {
        let files = ["x", "y", "z", "fast", "own"];
        let held =
            || files.map(|name| std::fs::read(self.folder.join(format!("{name}.img"))).unwrap_or_default());
        let before = held();
        let mut daemon = Daemon::start_in(&self.folder, &settings(&self.folder, volumes, keys));
        assert!(!daemon.log().contains("\"serving\""), "{}", daemon.log());
        daemon.wait();
        std::mem::forget(daemon);
        assert!(before == held(), "a refusal writes nothing");
        let told = text(&check(&self.folder.join("fathomd.toml"), &[]));
        assert!(!told.contains("not made yet"), "the group was made: {told}");
        advice(&self.folder).expect("the check says why")
    }

    /// Whether the group has everything, under the first letters that its volumes were made with; it is stopped as planned.
    fn is_whole(&self, volumes: &[Volume], keys: &str) {
        let mut daemon = Daemon::start_in(&self.folder, &settings(&self.folder, volumes, keys));
        assert!(daemon.log().contains("\"serving\""), "{}", daemon.log());
        for (name, backing) in volumes {
            let made = MADE.iter().find(|(_, made)| made == backing).expect("it is one of them").0;
            let found = Client::open(&daemon, name).read(1 << 20, 4096);
            assert_eq!(found, [made.as_bytes()[0]; 4096], "{name}");
        }
        assert!(daemon.stop().success());
        std::mem::forget(daemon);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The first remedy, which must lose nothing.
fn first(refusal: &Value) -> &Value {
    let first = &refusal["remedies"][0];
    assert!(first.is_object() && first["loses"].is_null(), "{refusal}");
    first
}

#[test]
fn a_ring_that_was_added_to_a_group_is_taken_out_again() {
    let one = &MADE[..1];
    let group = Group::new(one);
    let refusal = group.refusal(one, "ring = \"own\"\n");
    assert_eq!(refusal["code"], "ring_added", "{refusal}");
    let expected = serde_json::json!({"ring": null});
    assert_eq!((&first(&refusal)["action"], &first(&refusal)["keys"]), (&"set".into(), &expected));
    group.is_whole(one, "");
    // After a planned stop a ring of its own can be had.
    group.is_whole(one, "ring = \"own\"\ndiscard_cache = true\n");
    group.is_whole(one, "ring = \"own\"\n");
}

#[test]
fn renamed_swapped_added_and_missing_volumes_are_named_and_the_way_back_loses_nothing() {
    let group = Group::new(&MADE);
    for (volumes, code, words) in [
        // The first two have changed places.
        (vec![("data", "y"), ("log", "x"), ("temp", "z")], "volumes_renamed", "`x`"),
        // The last two.
        (vec![("data", "x"), ("log", "z"), ("temp", "y")], "other_volumes", "was that of the volume `temp`"),
        // Renamed, so that another one is first.
        (vec![("zdata", "x"), ("log", "y"), ("temp", "z")], "volumes_renamed", "`zdata`"),
        // Renamed, and still first.
        (vec![("a", "x"), ("log", "y"), ("temp", "z")], "other_volumes", "`a` is none of them"),
        // Left out.
        (vec![("data", "x"), ("log", "y")], "other_volumes", "1 of them not named: one that showed"),
        (vec![("log", "y"), ("temp", "z")], "volumes_renamed", "the mark of the volume `log`"),
    ] {
        let refusal = group.refusal(&volumes, "");
        assert_eq!(refusal["code"], code, "{volumes:?}: {refusal}");
        assert!(!first(&refusal)["text"].as_str().unwrap_or_default().is_empty(), "{refusal}");
        let told = std::fs::read_to_string(group.folder.join("log")).expect("it is there");
        assert!(
            told.contains(words) && told.contains("nothing is lost"),
            "{volumes:?} lacks {words}: {told}"
        );
    }
    group.is_whole(&MADE, "");
    let renamed = [("zdata", "x"), ("log", "y"), ("temp", "z")];
    group.is_whole(&renamed, "ring = \"own\"\ndiscard_cache = true\n");
    group.is_whole(&renamed, "ring = \"own\"\n");
    // A group at rest is told the way, which is another ring; one whose log is dirty is not.
    let again = [("a", "x"), ("log", "y"), ("temp", "z")];
    let refusal = group.refusal(&again, "ring = \"own\"\ndiscard_cache = true\n");
    assert_eq!(refusal["code"], "other_volumes", "{refusal}");
    let remedies = refusal["remedies"].as_array().expect("they are listed");
    let new_ring = |remedy: &&Value| remedy["action"] == "add_ring" && remedy["loses"].is_null();
    assert!(remedies.iter().any(|remedy| new_ring(&remedy)), "{refusal}");
    group.is_whole(&again, "ring = \"next\"\ndiscard_cache = true\n");
    group.is_whole(&again, "ring = \"next\"\n");
}
