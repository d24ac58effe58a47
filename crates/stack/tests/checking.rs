//! What is said about volumes that cannot be one tree.

use fathom_catalogue::Catalogue;
use fathom_runtime::Clock;
use fathom_settings::{Diagnostics, Tree, VolumeName};
use fathom_stack::{Stack, Volumes};
use fathom_volume::Site;

/// Every mistake in a text whose key `use` lists what is used, one line each.
fn mistakes(text: &str, clock: Clock) -> Vec<String> {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("v.toml", text, &diagnostics);
    let mut root = tree.section(&diagnostics);
    let volumes = Volumes::read(&mut root, &Catalogue::builtin());
    root.take_references();
    let roots = root.list::<VolumeName>("use").unwrap_or_default();
    let references = root.take_references();
    if volumes.check(&diagnostics) && volumes.check_use(&references, clock, &diagnostics) {
        let names: Vec<String> = roots.into_iter().map(|VolumeName(name)| name).collect();
        Stack::try_out(&volumes, &names, &Site::virtual_time(0, false), &diagnostics);
    }
    diagnostics.list().iter().map(ToString::to_string).collect()
}

fn one(text: &str, words: &str) {
    let found = mistakes(text, Clock::Virtual);
    assert!(found.len() == 1 && found[0].contains(words), "{found:#?} lacks {words}");
}

const DEVICES: &str =
    "[volumes.a]\nkind = \"memory\"\nsize = \"1MiB\"\n[volumes.b]\nkind = \"memory\"\nsize = \"2MiB\"\n";

#[test]
fn sound_volumes_are_not_complained_about() {
    let text = format!("use = [\"s\"]\n{DEVICES}[volumes.s]\nkind = \"stripe\"\nmembers = [\"a\", \"b\"]\n");
    assert_eq!(mistakes(&text, Clock::Virtual), [""; 0]);
}

#[test]
fn kinds_keys_and_names_are_refused_with_what_was_likely_meant() {
    one(
        "[volumes.a]\nkind = \"memroy\"\nsize = 1\n",
        "v.toml:2:8: volumes.a.kind: there is no kind \"memroy\" of volume; did you mean `memory`?",
    );
    one("[volumes.a]\nsize = \"1MiB\"\n", "volumes.a.kind: it is missing");
    one(
        "[volumes.a]\nkind = \"memory\"\nsize = \"1MiB\"\nsectors = 1\n",
        "v.toml:4:1: volumes.a.sectors: unknown key",
    );
    one(
        "[volumes.\"a.b\"]\nkind = \"memory\"\nsize = \"1MiB\"\n",
        "v.toml:1:1: volumes.\"a.b\": this is no name",
    );
    one("[volumes.workload]\nkind = \"memory\"\nsize = \"1MiB\"\n", "choose another name");
    one("[volumes]\na = 3\n", "v.toml:2:5: volumes.a: expected a table");
}

#[test]
fn references_lead_to_volumes() {
    one(
        &format!("{DEVICES}[volumes.s]\nkind = \"stripe\"\nmembers = [\"a\", \"bb\"]\n"),
        "v.toml:9:17: volumes.s.members.1: there is no volume `bb`; did you mean `b`?",
    );
    one(&format!("use = [\"aa\"]\n{DEVICES}"), "v.toml:1:8: use.0: there is no volume `aa`");
    let broken = "use = [\"s\"]\n[volumes.a]\nkind = \"memory\"\nsize = \"much\"\n[volumes.s]\nkind = \"sector\"\nbacking = \"a\"\n";
    one(broken, "v.toml:4:8: volumes.a.size");
}

#[test]
fn circles_are_named() {
    let layer =
        |name: &str, backing: &str| format!("[volumes.{name}]\nkind = \"sector\"\nbacking = \"{backing}\"\n");
    let text = layer("a", "b") + &layer("b", "c") + &layer("c", "a") + &layer("d", "a");
    one(&text, "v.toml:9:11: volumes.c.backing: volumes form a cycle: a -> b -> c -> a; put one");
    one(&layer("a", "a"), "cycle: a -> a");
    let two = layer("a", "b") + &layer("b", "a") + &layer("c", "d") + &layer("d", "c");
    assert_eq!(mistakes(&two, Clock::Virtual).len(), 2);
}

#[test]
fn towers_are_refused_once() {
    let layer =
        |level: usize| format!("[volumes.v{level}]\nkind = \"sector\"\nbacking = \"v{}\"\n", level - 1);
    let tower: String = (1..200).map(layer).collect();
    let text = format!("use = [\"v199\"]\n[volumes.v0]\nkind = \"memory\"\nsize = \"1MiB\"\n{tower}");
    one(&text, "volumes.v64: more than 64 volumes are stacked on each other");
}

#[test]
fn volumes_of_one_write_back_group_share_its_cache_and_nothing_else() {
    let disk = |name: &str| format!("[volumes.{name}]\nkind = \"memory\"\nsize = \"1GiB\"\n");
    let cached = |name: &str, backing: &str, group: &str| {
        format!("[volumes.{name}]\nkind = \"writeback\"\nbacking = \"{backing}\"\ncache = \"nvme\"\n{group}")
    };
    let text = |log: &str| {
        let disks: String = ["nvme", "one", "two"].map(disk).concat();
        format!("use = [\"data\", \"log\"]\n{disks}{}{log}", cached("data", "one", "group = \"db\"\n"))
    };
    let shared = text(&cached("log", "two", "group = \"db\"\n"));
    assert_eq!(mistakes(&shared, Clock::Virtual), [""; 0]);
    let usual =
        text(&cached("log", "two", "group = \"db\"\ndurability = \"cache\"\nlag_target = \"5000ms\"\n"));
    assert_eq!(mistakes(&usual, Clock::Virtual), [""; 0], "left out or said, it is the same");
    for (log, told) in [
        (cached("log", "two", "group = \"other\"\n"), "volumes.log.cache: `nvme` is used by `data` already"),
        (cached("log", "two", ""), "volumes.log.cache: `nvme` is used by `data` already"),
        (cached("log", "one", "group = \"db\"\n"), "volumes.log.backing: `one` is used by `data` already"),
        (
            cached("log", "two", "group = \"db\"\ndurability = \"origin\"\n"),
            "volumes.log.durability: `durability` is origin here and cache in `data` of the same group; a group has one cache",
        ),
    ] {
        one(&text(&log), told);
    }
}

#[test]
fn a_request_goes_through_a_shared_gate_once() {
    let throttle = |name: &str, backing: &str, gate: &str| {
        format!(
            "[volumes.{name}]\nkind = \"throttle\"\nbacking = \"{backing}\"\niops = 100\nshared = \"{gate}\"\n"
        )
    };
    let stacked = |gate: &str| {
        format!("use = [\"u\"]\n{DEVICES}{}{}", throttle("t", "a", "x"), throttle("u", "t", gate))
    };
    one(
        &stacked("x"),
        "volumes.u.shared: `t` is below it and shares `x`, too: each request would count twice",
    );
    assert_eq!(mistakes(&stacked("y"), Clock::Virtual), [""; 0]);
    let beside =
        format!("use = [\"t\", \"u\"]\n{DEVICES}{}{}", throttle("t", "a", "x"), throttle("u", "b", "x"));
    assert_eq!(mistakes(&beside, Clock::Virtual), [""; 0]);
}

#[test]
fn a_volume_has_one_user_in_a_run() {
    let on = |name: &str| format!("[volumes.{name}]\nkind = \"sector\"\nbacking = \"a\"\n");
    let both = DEVICES.to_owned() + &on("x") + &on("y");
    assert_eq!(
        mistakes(&format!("use = [\"x\"]\n{both}"), Clock::Virtual),
        [""; 0],
        "one at a time is sound"
    );
    one(
        &format!("use = [\"x\", \"y\"]\n{both}"),
        "v.toml:13:11: volumes.y.backing: `a` is used by `x` already",
    );
    one(&format!("use = [\"x\", \"a\"]\n{both}"), "`a` is used by the workload already");
    assert_eq!(
        mistakes(&format!("use = [\"a\", \"a\"]\n{DEVICES}"), Clock::Virtual),
        [""; 0],
        "two jobs, one user"
    );
}

#[test]
fn what_does_not_fit_together_is_said_at_the_volume() {
    let text =
        format!("use = [\"s\"]\n{DEVICES}[volumes.m]\nkind = \"model\"\ndata = \"a\"\nsize = \"4MiB\"\n");
    let text = text.replace("use = [\"s\"]", "use = [\"m\"]") + "model = \"aws/r5d.4xlarge/nvme\"\n";
    one(&text, "v.toml:8:1: volumes.m");
}

/// Sizes that the settings give suffice: nothing has to be there.
#[test]
fn a_cache_on_files_that_are_not_there_is_tried_out_by_their_sizes() {
    let file = |name: &str, size: &str| {
        format!("[volumes.{name}]\nkind = \"file\"\npath = \"no/such/{name}\"\n{size}")
    };
    let text = |cache: &str, more: &str| {
        let (disk, nvme) = (file("disk", "size = \"1GiB\"\n"), file("nvme", cache));
        format!(
            "use = [\"w\"]\n{disk}{nvme}[volumes.w]\nkind = \"writeback\"\nbacking = \"disk\"\ncache = \"nvme\"\n{more}"
        )
    };
    let real = |cache: &str, more: &str| mistakes(&text(cache, more), Clock::Real);
    let small = "size = \"256MiB\"\n";
    assert_eq!(real(small, "size = \"128MiB\"\n"), [""; 0]);
    assert_eq!(real("", "size = \"9GiB\"\n"), [""; 0], "only the device itself knows");
    for (more, told) in [
        (
            "size = \"9GiB\"\n",
            "volumes.w.size: volume `w` (writeback): `size` is 9663676416 bytes, and cache device `nvme`",
        ),
        ("read_cache = \"250MiB\"\n", "volumes.w.read_cache: "),
    ] {
        let found = real(small, more);
        assert!(found.len() == 1 && found[0].contains(told), "{found:#?} lacks {told}");
    }
}
