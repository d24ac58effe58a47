//! Metadata that say anything at all, with checksums that are right: see `edited.rs`.

use fathom_crash_tests::edited::{Edit, cached, mirrored};
use proptest::prelude::*;

fn edit() -> impl Strategy<Value = Edit> {
    let value =
        prop_oneof![0..5_u64, Just(u64::MAX), Just(1 << 63), Just(4096), Just(u64::MAX - 4095), any::<u64>()];
    (any::<u8>(), any::<u8>(), any::<u16>(), any::<u8>(), value)
        .prop_map(|(disk, block, field, how, value)| Edit { disk, block, field, how, value })
}

fn config() -> ProptestConfig {
    let cases = std::env::var("FATHOM_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(2000);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_cached_group_is_refused_or_works(moment: u8, edits in prop::collection::vec(edit(), 0..4)) {
        cached(moment, &edits);
    }

    #[test]
    fn a_mirror_is_refused_or_works(there: u8, edits in prop::collection::vec(edit(), 0..4)) {
        mirrored(there, &edits);
    }
}
