//! Errors of a volume: few kinds, chosen by what the caller should do next.

use std::sync::Arc;

use thiserror::Error as ThisError;

use crate::refusal::Refusal;

/// What the caller should do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request is wrong (range, alignment, unsupported operation): mend the caller.
    Misuse,
    /// The device failed this request; others may succeed.
    Io,
    /// The device is gone and does not return without intervention.
    Gone,
    /// What was read is not what was written.
    Corrupt,
    /// No space is left below.
    NoSpace,
    /// The volume was fenced after an earlier failure: nothing succeeds until it is reopened.
    Fenced,
}

impl ErrorKind {
    /// The errno a host sees for this kind.
    #[cfg(feature = "real")]
    pub fn errno(self) -> i32 {
        match self {
            Self::Misuse => libc::EINVAL,
            Self::Io | Self::Fenced => libc::EIO,
            Self::Gone => libc::ENODEV,
            Self::Corrupt => libc::EBADMSG,
            Self::NoSpace => libc::ENOSPC,
        }
    }
}

/// An error of a volume. One word on the success path: the detail is on the heap.
#[derive(Debug, Clone, ThisError)]
#[error("{0}")]
pub struct Error(Box<Detail>);

#[derive(Debug, Clone, ThisError)]
#[error("{message}")]
struct Detail {
    kind: ErrorKind,
    message: String,
    key: Option<&'static str>,
    refusal: Option<Arc<Refusal>>,
}

impl Error {
    /// An error with a message that says what, where and, if known, what to do.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Detail { kind, message: message.into(), key: None, refusal: None }))
    }

    /// The kernel's answer to an I/O request, `errno` positive.
    #[cfg(feature = "real")]
    pub fn from_errno(errno: i32, what: &str) -> Self {
        let kind = match errno {
            libc::EINVAL => ErrorKind::Misuse,
            libc::ENOSPC | libc::EDQUOT => ErrorKind::NoSpace,
            libc::ENODEV | libc::ENXIO | libc::ESHUTDOWN => ErrorKind::Gone,
            libc::EBADMSG | libc::EILSEQ => ErrorKind::Corrupt,
            _ => ErrorKind::Io,
        };
        Self::new(kind, format!("{what}: {}", std::io::Error::from_raw_os_error(errno)))
    }

    /// What the caller should do next.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The setting to mend, where opening a volume failed for one.
    pub fn key(&self) -> Option<&'static str> {
        self.0.key
    }

    /// The same error, for the setting `key` of the volume: where the message is shown with the text, it is shown there.
    #[must_use]
    pub fn about(mut self, key: &'static str) -> Self {
        self.0.key = Some(key);
        self
    }

    /// What to do about it, where opening a volume was refused.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.0.refusal.as_deref()
    }

    /// The same error, with what can be done about it.
    #[must_use]
    pub fn advising(mut self, refusal: Refusal) -> Self {
        self.0.refusal = Some(Arc::new(refusal));
        self
    }

    /// The same error with more words at its end.
    #[must_use]
    pub fn ending(mut self, words: &str) -> Self {
        self.0.message.push_str(words);
        self
    }

    /// The same error, said to have happened at `place`.
    #[must_use]
    pub fn at(mut self, place: &str) -> Self {
        self.0.message = format!("{place}: {}", self.0.message);
        self
    }
}

/// Result of a volume's request.
pub type Result<T> = std::result::Result<T, Error>;
