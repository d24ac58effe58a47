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
    FlushDoesNothing: "a flush is answered without doing anything",
    SkipCacheFlush: "a flush is answered without flushing the cache device",
    FuaIsPlain: "a write with FUA is answered as one without",
    JoinsRunningFlush: "a flush joins the one in flight, which may have begun before its writes were answered",
    AckBeforeLog: "a write is answered before it is in the log",
    AckOutOfOrder: "a write is answered although an earlier record is not on the device",
    TrimNotLogged: "a trim bypasses the log",
    TrimNotDestaged: "a trim never reaches the backing volume",
    ZeroesAsTrim: "write-zeroes is logged as a trim",
    LastSectorForgotten: "the last sector of a write is not logged",
    AllToFirstVolume: "every write goes to the first volume of the group",
    ReadPastTheLog: "reads go to the backing volume although the log is newer",
    ReadWithoutChecksum: "checksums of the payload are not looked at",
    TailOfASplitNotMoved: "the second half of a split extent points at the first half's bytes",
    FirstWriterWins: "of several writes to one place in a batch the first wins",
    DestagesUnwritten: "a batch holds records that are not in the log yet",
    LogEndsBeforeBatch: "a batch is committed although the log is not flushed so far",
    SkipPayloadFlush: "the payload of a batch is not flushed before its commit block",
    CommitBeforePayload: "commit block and payload are written in the wrong order",
    CommitWithoutFua: "the commit block is not durable when the batch is put in place",
    SkipApplyFlush: "backing volumes are not flushed before the tails advance",
    FirstOriginFlushedOnly: "only the first volume of a group is flushed",
    NewestBatchFirst: "batch k+1 is put in place before batch k",
    LastInPlaceForgotten: "the last write of a batch is not put in place",
    TailBeforeApply: "the tails advance before the batch is in place",
    TailBatchNotCounted: "the superblock names the batch before the next one",
    LogTailTooFar: "the log's tail in the superblock is one block too far",
    OriginFlushSkipsRedo: "durability `origin` does not wait for the redo ring",
    ReplaySkipped: "an open does not apply the batches of the redo ring",
    ReplayFirstOnly: "an open applies only the first batch of the redo ring",
    ReplayNotFlushed: "an open does not flush what it applied from the redo ring",
    ReplayAnyBatch: "an open takes a batch of an earlier lap of the redo ring",
    OpenDoesNotFlush: "an open does not flush what it found before it relies on it",
    ScanWithoutChain: "an open takes records whose predecessor is another",
    ScanWithoutPosition: "an open takes records of an earlier log, wherever they stood in it",
    ScanWithoutBase: "an open takes records of an earlier log that stand where the new one's would",
    ScanWithoutPayload: "an open takes records whose payload is not whole",
    ScanStopsAtSegment: "an open does not look for the log's next record in the next segment",
    ScanTakesNearest: "an open prefers a left-over record to the live one in the next segment",
    ScanSkipsFirst: "an open loses the first record of the log",
    ScanAppliedAgain: "an open takes records that are on the backing volumes for dirty ones",
    IncarnationNotBumped: "an open keeps the incarnation of the one before",
    IncarnationNotChecked: "a cache of an earlier incarnation is accepted",
    GenerationNotChecked: "a cache from before an accepted loss is accepted",
    GenerationNotBumped: "an accepted loss does not bump the generation",
    UuidNotChecked: "a cache of another group is accepted",
    MissingCacheAccepted: "a missing cache is accepted without being told to",
    OwnerNotMarked: "the owner mark is not set on open",
    CleanBeforeDrained: "a close clears the owner mark before everything is destaged",
    CloseForgetsLast: "a close does not wait for the last record",
    SuperblockInOnePlace: "superblocks are always written over the newest copy",
    SuperblockOldestWins: "of two superblocks the older one counts",
    SuperblockWithoutFua: "superblocks are not durable when they count",
    HeadReusesTail: "a reopened log goes on one record too early",
    SequenceStartsOver: "a reopened log numbers its records from one again",
    LegLostUnrecorded: "a write is answered before the backing side knows that a cache device missed it",
    LegBehindAccepted: "a cache device that missed writes is taken for one that has them",
    LegReturnsUncopied: "a returning cache device counts before it was brought the log",
    LegReturnsWithoutWrites: "a returning cache device does not get the writes that are made meanwhile",
    LegNotFlushed: "only the first cache device is flushed",
    LineNotDropped: "a write leaves the read cache as it is",
    FenceIgnored: "requests are served after a failed flush",
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
