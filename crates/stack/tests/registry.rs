//! The registry: names, manuals, and that what a kind reads is what it documents.

use fathom_settings::{Diagnostics, Tree};
use fathom_stack::{kind, kinds};

#[test]
fn names_are_unique_and_sorted() {
    assert!(kinds().windows(2).all(|pair| pair[0].name < pair[1].name), "{:?}", kinds());
    assert!(kinds().iter().all(|found| kind(found.name).is_some()));
}

#[test]
fn every_kind_and_key_is_documented() {
    for kind in kinds() {
        assert!(!kind.summary.is_empty() && kind.manual.contains("# What it does"), "{kind:?}");
        for (index, key) in kind.keys.iter().enumerate() {
            assert!(!key.takes.is_empty() && !key.summary.is_empty(), "{kind:?} {}", key.name);
            assert!(
                kind.keys[..index].iter().all(|other| other.name != key.name),
                "{kind:?} has {} twice",
                key.name
            );
        }
    }
}

#[test]
fn a_kind_reads_no_key_that_it_does_not_document() {
    for kind in kinds() {
        let diagnostics = Diagnostics::new();
        let tree = Tree::parse("v.toml", "", &diagnostics);
        let mut section = tree.section(&diagnostics);
        assert!(
            (kind.read)(&mut section).is_none() || diagnostics.is_empty(),
            "{kind:?} reports a mistake and goes on"
        );
        for asked in section.asked() {
            assert!(kind.keys.iter().any(|key| key.name == asked), "{kind:?} reads {asked}");
        }
    }
}

/// Every key set to something no kind can use: what is said must be about the value, never that the key is unknown.
#[test]
fn a_kind_reads_every_key_that_it_documents() {
    for kind in kinds() {
        let text: String = kind.keys.iter().map(|key| format!("{} = 1979-05-27\n", key.name)).collect();
        let diagnostics = Diagnostics::new();
        let tree = Tree::parse("v.toml", &text, &diagnostics);
        let mut section = tree.section(&diagnostics);
        (kind.read)(&mut section);
        let unread: Vec<&str> = kind
            .keys
            .iter()
            .map(|key| key.name)
            .filter(|key| !section.asked().iter().any(|asked| asked == key))
            .collect();
        // Keys that belong to the catalogue's reader are read when `model` is there.
        let of_catalogue = ["model", "size", "iops", "throughput", "slack", "shared", "assumed"];
        assert!(unread.iter().all(|key| of_catalogue.contains(key)), "{kind:?} does not read {unread:?}");
    }
}
