//! A study's text: checked in every variant without a panic, every mistake within the text.
#![no_main]

use fathom_catalogue::Catalogue;
use fathom_study::CheckOptions;
use libfuzzer_sys::fuzz_target;

thread_local! {
    static CATALOGUE: Catalogue = Catalogue::builtin();
}

fuzz_target!(|text: &str| {
    let checked = CATALOGUE.with(|catalogue| fathom_study::check(text, "any.toml", &CheckOptions::default(), catalogue));
    let lines = text.split('\n').count().max(1);
    for diagnostic in checked.diagnostics.list() {
        assert!((1..=lines).contains(&(diagnostic.place.line as usize)));
        assert!(!diagnostic.message.is_empty());
    }
});
