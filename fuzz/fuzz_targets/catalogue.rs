//! A model's text: refused with its place, or all that can be asked of it has an answer.
#![no_main]

use fathom_catalogue::{Catalogue, Overrides};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Catalogue::default().with_text("any.toml", text) {
        Err(error) => assert!(error.to_string().contains("any.toml:")),
        Ok(catalogue) => {
            for entry in catalogue.list() {
                assert!(catalogue.explain(&entry.name).is_ok());
                let _ = catalogue.resolve(&entry.name, None, &Overrides::default());
            }
        }
    }
});
