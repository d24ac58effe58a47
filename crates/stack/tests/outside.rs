//! Volumes that touch the outside: no place in virtual time, errors with their place in real time, nothing touched by a
//! check.

use std::path::PathBuf;

use fathom_catalogue::Catalogue;
use fathom_runtime::{Clock, RingSetup};
use fathom_settings::{Diagnostics, Tree, VolumeName};
use fathom_stack::{BuildError, Stack, Volumes};
use fathom_volume::ErrorKind;
use fathom_volume::Site;

const ON_A_FILE: &str = "use = [\"s\"]\n[volumes.f]\nkind = \"file\"\npath = \"disk.img\"\nsize = \"1MiB\"\n\
                         [volumes.s]\nkind = \"sector\"\nbacking = \"f\"\n";

fn mistakes(text: &str, clock: Clock) -> Vec<String> {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("v.toml", text, &diagnostics);
    let mut root = tree.section(&diagnostics);
    let volumes = Volumes::read(&mut root, &Catalogue::builtin());
    root.take_references();
    let roots = root.required_list::<VolumeName>("use").expect("it is there");
    assert!(volumes.check(&diagnostics), "{:?}", diagnostics.list());
    if volumes.check_use(&root.take_references(), clock, &diagnostics) {
        let names: Vec<String> = roots.into_iter().map(|VolumeName(name)| name).collect();
        let site = Site::virtual_time(0, false);
        let stack = Stack::try_out(&volumes, &names, &site, &diagnostics);
        let of_known_size = if text.contains("size") { 2 } else { 0 };
        assert_eq!(
            stack.nodes().len(),
            of_known_size,
            "what stands on a file of unknown size cannot be tried out"
        );
    }
    diagnostics.list().iter().map(ToString::to_string).collect()
}

#[test]
fn the_outside_has_no_place_in_virtual_time() {
    let found = mistakes(ON_A_FILE, Clock::Virtual);
    let words = "v.toml:3:8: volumes.f.kind: `file` reaches outside of the simulation; in virtual time use kind = \"model\"";
    assert!(found.len() == 1 && found[0].starts_with(words), "{found:#?}");
}

#[test]
fn a_check_touches_nothing() {
    assert_eq!(mistakes(ON_A_FILE, Clock::Real), [""; 0]);
    assert_eq!(mistakes(&ON_A_FILE.replace("size = \"1MiB\"\n", ""), Clock::Real), [""; 0]);
    assert!(!PathBuf::from("disk.img").exists());
}

/// What building these volumes fails with.
fn refusal(text: &str) -> BuildError {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("v.toml", text, &diagnostics);
    let volumes = Volumes::read(&mut tree.section(&diagnostics), &Catalogue::builtin());
    let site = Site::real(RingSetup::default(), 1).expect("an io_uring").in_directory(&std::env::temp_dir());
    Stack::build(&volumes, &["s".to_owned()], &site).err().expect("it cannot be built")
}

#[test]
fn a_volume_that_cannot_be_built_says_which_key_to_mend_and_where_it_stands() {
    let missing = ON_A_FILE.replace("disk.img", "no/such/directory/disk.img");
    let null = "/dev/null";
    let table = [
        (missing.as_str(), "v.toml:4:8: volumes.f.path: ", "no/such/directory"),
        (&ON_A_FILE.replace("disk.img", null), "v.toml:4:8: volumes.f.path: ", "neither a file nor a block"),
        (
            "[volumes.s]\nkind = \"stripe\"\nchunk = \"64KiB\"\nmembers = [\"m\"]\n\
             [volumes.m]\nkind = \"memory\"\nsize = \"4KiB\"\n",
            "v.toml:3:9: volumes.s.chunk: ",
            "less than one chunk",
        ),
        (
            "[volumes.s]\nkind = \"writeback\"\nbacking = \"m\"\ncache = \"m2\"\n\
             [volumes.m]\nkind = \"memory\"\nsize = \"1GiB\"\n\
             [volumes.m2]\nkind = \"memory\"\nsize = \"64KiB\"\n",
            "v.toml:4:9: volumes.s.cache: ",
            "or a larger one",
        ),
    ];
    for (text, place, words) in table {
        let error = refusal(text);
        let said = error.to_string();
        assert!(said.starts_with(place) && said.contains(words), "{said}");
        assert!(matches!(error, BuildError { kind, .. } if kind != ErrorKind::Corrupt));
    }
}

#[test]
fn a_file_of_the_wrong_size_is_refused_at_its_size() {
    let place = std::env::temp_dir().join(format!("fathom-outside-{}", std::process::id()));
    std::fs::write(&place, [0; 4096]).expect("the scratch directory can be written");
    let error = refusal(&ON_A_FILE.replace("disk.img", place.to_str().expect("a plain name")));
    std::fs::remove_file(&place).expect("it was there");
    let words = error.to_string();
    assert!(
        words.starts_with("v.toml:5:8: volumes.f.size: ") && words.contains("holds 4096 bytes"),
        "{words}"
    );
}
