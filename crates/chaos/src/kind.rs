//! The kinds of mishaps.

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    LoseCache,
    StaleCache,
    StaleBacking,
    Snapshot,
    HoleInCache,
    FlipInCache,
    GarbageSuperblocks,
    DamagedTail,
    HalveCache,
    DoubleCache,
    HalveBacking,
    DoubleBacking,
    SwapCaches,
    SwapCacheAndBacking,
    UsedCache,
    StaleLeg,
    BlankLeg,
    AbsentLeg,
    DamagedLegTail,
    SwapLegs,
}

/// All of them, and how often each is drawn.
pub const KINDS: [(Kind, u64); 20] = [
    (Kind::LoseCache, 4),
    (Kind::StaleCache, 4),
    (Kind::StaleBacking, 4),
    (Kind::Snapshot, 3),
    (Kind::HoleInCache, 6),
    (Kind::FlipInCache, 3),
    (Kind::GarbageSuperblocks, 1),
    (Kind::DamagedTail, 2),
    (Kind::HalveCache, 1),
    (Kind::DoubleCache, 1),
    (Kind::HalveBacking, 1),
    (Kind::DoubleBacking, 1),
    (Kind::SwapCaches, 2),
    (Kind::SwapCacheAndBacking, 1),
    (Kind::UsedCache, 1),
    (Kind::StaleLeg, 6),
    (Kind::BlankLeg, 3),
    (Kind::AbsentLeg, 4),
    (Kind::DamagedLegTail, 2),
    (Kind::SwapLegs, 1),
];
