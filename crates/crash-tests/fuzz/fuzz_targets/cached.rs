//! A write-back group whose metadata say anything at all: it is refused, or works.
#![no_main]

use fathom_crash_tests::edited::{Edit, cached};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some((first, rest)) = bytes.split_first() {
        cached(*first, &Edit::all(rest));
    }
});
