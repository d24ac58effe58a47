//! `[volumes.*]` of a daemon's settings: read and checked as fathomd does before it opens anything.
#![no_main]

use fathom_catalogue::Catalogue;
use fathom_settings::{Diagnostics, Tree, to_text};
use fathom_stack::Volumes;
use libfuzzer_sys::fuzz_target;

thread_local! {
    static CATALOGUE: Catalogue = Catalogue::builtin();
}

fuzz_target!(|text: &str| {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("any.toml", text, &diagnostics);
    let mut root = tree.section(&diagnostics);
    let volumes = CATALOGUE.with(|catalogue| Volumes::read(&mut root, catalogue));
    volumes.check(&diagnostics);
    assert_eq!(to_text(&diagnostics).is_empty(), diagnostics.is_empty());
});
