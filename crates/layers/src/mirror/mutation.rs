//! Bugs made on purpose, one at a time, to prove that the crash campaign sees them. Without the feature `mutations`
//! every question is answered with a constant no, and nothing of this is left in the program.

macro_rules! mutations {
    ($($name:ident: $what:literal,)*) => {
        /// A bug made on purpose.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Mutation {
            $(#[doc = $what] $name,)*
        }

        impl Mutation {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The bug in words.
            pub fn what(self) -> &'static str {
                match self { $(Self::$name => $what,)* }
            }
        }
    };
}

mutations! {
    IntentNotWritten: "the bit of a region is not set before the region is written",
    IntentWithoutFua: "the bit of a region is not durable when the region is written",
    IntentOnFirstLegOnly: "the bit of a region is set on the first leg only",
    IntentForFirstRegionOnly: "a write across two regions sets the bit of the first one",
    ClearedWhileBusy: "the bit of a region is cleared although a write to it is in flight",
    ClearedWithoutFlush: "the bit of a region is cleared without flushing the legs",
    ClearedWhileDegraded: "bits are cleared although a leg is away",
    ClearedBeforeCopied: "the bit of a region is cleared before resync has copied it",
    DamagedBitmapTakenForClean: "a damaged block of the bitmap counts as clean",
    BitmapNotRead: "an open takes every region for clean",
    BitmapNotGivenToReturned: "a leg that returns is not given the bitmap",
    WriteToOneLeg: "a write goes to the first leg only",
    AckAfterFirstLeg: "a write is answered although it failed on a leg",
    FlushToOneLeg: "a flush goes to the first leg only",
    FuaIsPlain: "a write with FUA is passed on without",
    FailedFlushIgnored: "a leg whose flush failed stays in sync",
    DropNotPersisted: "a write is answered before the survivors have noted that a leg is gone",
    GenerationNotBumped: "the generation stays when a leg is dropped",
    GenerationNotBumpedOnOpen: "an open keeps the generation of the one before",
    StaleLegAccepted: "a leg that others have left behind counts as in sync",
    StaleLegOpensAlone: "a leg that knows that it is stale opens by itself",
    MissingLegAccepted: "a missing leg that was in sync is not asked for",
    SplitBrainAccepted: "of two legs that went on by themselves one is taken",
    UncleanNotCopied: "legs count as equal after a crash with dirty regions",
    OldestSuperblockWins: "of two superblocks the older one counts",
    SuperblockWithoutFua: "superblocks are not durable when they count",
    SuperblockInOnePlace: "superblocks are always written over the newest copy",
    ReadFromStale: "reads go to a leg that is being rebuilt",
    ResyncOverNewerWrite: "resync copies a region without locking it",
    ResyncSkipsLast: "resync forgets the last region",
    ResyncFromStale: "resync copies from a leg that is being rebuilt",
    WriteSkipsRebuilt: "a write does not go to the copied part of a leg that is being rebuilt",
    BackWithoutFlush: "a rebuilt leg is in sync before it was flushed",
    BackBeforeCopied: "a rebuilt leg is in sync before everything was copied",
    UnconfirmedLegCounts: "a rebuilt leg goes on alone before the others know that it is in sync",
    OverlapsNotOrdered: "overlapping writes reach the legs in different orders",
    NewLegNotCopied: "a blank leg counts as a stale one whose regions are known",
    RepairWithoutLock: "a repaired sector is written over a newer write",
}

#[cfg(feature = "mutations")]
thread_local! {
    static ACTIVE: std::cell::Cell<Option<Mutation>> = const { std::cell::Cell::new(None) };
}

/// Whether this bug is switched on for this thread.
#[cfg(feature = "mutations")]
#[inline]
pub fn mutated(mutation: Mutation) -> bool {
    ACTIVE.get() == Some(mutation)
}

/// Whether this bug is switched on: never.
#[cfg(not(feature = "mutations"))]
#[inline(always)]
pub const fn mutated(_: Mutation) -> bool {
    false
}

/// Switches a bug on for this thread, or all off.
#[cfg(feature = "mutations")]
pub fn mutate(mutation: Option<Mutation>) {
    ACTIVE.set(mutation);
}
