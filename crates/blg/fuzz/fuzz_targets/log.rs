//! A damaged log is a fault or values, never a panic.
#![no_main]

use std::io::Cursor;

use fathom_blg::Log;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(mut log) = Log::open(Cursor::new(data)) else { return };
    while let Ok(Some(batch)) = log.batch(10_000) {
        assert!(batch.value.iter().all(|value| value.is_finite()));
    }
});
