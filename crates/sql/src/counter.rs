//! The counters of a server, in the order of the columns of its answer.

/// What `counters` answers, in the order of its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// Bytes of log written since the database was made.
    LogBytes,
    /// Pages written to the log as a whole.
    FullPageImages,
    /// Times the log was flushed.
    LogFlushes,
    /// Checkpoints.
    Checkpoints,
    /// Pages written back to the data files by checkpoints and cleaners.
    PagesWrittenBack,
    /// Pages changed in memory and not written back: a level, not a count.
    DirtyPages,
    /// Bytes of log since the last checkpoint: a level, not a count.
    LogSinceCheckpoint,
    /// Time of all writes to the log, waiting in queues included, ms.
    LogWriteStall,
    /// Time of all reads from the data files, waiting in queues included, ms.
    DataReadStall,
    /// Time that commits waited for the log, ms.
    LogWait,
    /// Time that pages were waited for, ms.
    PageWait,
}

/// What the facts hold for every interval: levels at its end, times as they grew in it.
pub(crate) const SERIES: [Counter; 6] = [
    Counter::DirtyPages,
    Counter::LogSinceCheckpoint,
    Counter::LogWriteStall,
    Counter::DataReadStall,
    Counter::LogWait,
    Counter::PageWait,
];

impl Counter {
    /// The word in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::LogBytes => "log_bytes",
            Self::FullPageImages => "full_page_images",
            Self::LogFlushes => "log_flushes",
            Self::Checkpoints => "checkpoints",
            Self::PagesWrittenBack => "pages_written_back",
            Self::DirtyPages => "dirty_pages",
            Self::LogSinceCheckpoint => "log_since_checkpoint",
            Self::LogWriteStall => "log_write_stall_ms",
            Self::DataReadStall => "data_read_stall_ms",
            Self::LogWait => "log_wait_ms",
            Self::PageWait => "page_wait_ms",
        }
    }

    pub(super) fn is_level(self) -> bool {
        matches!(self, Self::DirtyPages | Self::LogSinceCheckpoint)
    }
}
