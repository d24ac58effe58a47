//! Errors between a workload and its database: a closed list, by what the caller should do next.

use fathom_job::{Failure, Reason};

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Nobody answers there.
    Refused,
    /// The server, or its limit for this user or database, takes no more sessions.
    Crowded,
    /// The server does not accept the user or the password.
    Authentication,
    /// The server cannot show that it is the one that was asked for, or that no third party listens.
    Untrusted,
    /// The user, or the file's mode, does not allow it.
    Permission,
    /// Deadlock, serialisation failure or a lock not had in time: the same transaction may succeed if tried again.
    Conflict,
    /// The database has something else under the names that are to be created.
    Occupied,
    /// A key, a check or a type does not allow the value.
    Constraint,
    /// No space is left: disk, volume, table space or memory of the database.
    Full,
    /// The connection ended while it was used: server stopped, network gone.
    Lost,
    /// The answer did not come within the session's timeout.
    Timeout,
    /// The database says that its files are damaged.
    Corrupt,
    /// Everything else: a statement that is wrong, a bug.
    Other,
}

impl ErrorKind {
    /// Every kind; the order of the declaration.
    pub const ALL: [Self; 13] = [
        Self::Refused,
        Self::Crowded,
        Self::Authentication,
        Self::Untrusted,
        Self::Permission,
        Self::Conflict,
        Self::Occupied,
        Self::Constraint,
        Self::Full,
        Self::Lost,
        Self::Timeout,
        Self::Corrupt,
        Self::Other,
    ];

    /// The word used in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Crowded => "crowded",
            Self::Authentication => "authentication",
            Self::Untrusted => "untrusted",
            Self::Permission => "permission",
            Self::Conflict => "conflict",
            Self::Occupied => "occupied",
            Self::Constraint => "constraint",
            Self::Full => "full",
            Self::Lost => "lost",
            Self::Timeout => "timeout",
            Self::Corrupt => "corrupt",
            Self::Other => "other",
        }
    }

    /// What a person can do about it.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Refused => "start the server, or correct `host`, `port`, `socket` or `database`",
            Self::Crowded => {
                "use fewer `users` and `load_sessions`, or raise the limit of the server (`max_connections`) or of the user"
            }
            Self::Authentication => "correct `user` or `login`, or the variable that `password_env` names",
            Self::Untrusted => {
                "correct `host`, `tls` or `tls_ca`, or give the server a certificate for that name"
            }
            Self::Permission => "grant the user the right, or connect as another one",
            Self::Conflict => "run the transaction again",
            Self::Occupied => {
                "name an empty database, or give the user an empty schema of its own (PostgreSQL: alone on its `search_path`)"
            }
            Self::Constraint => "start from an empty database",
            Self::Full => "give the database's volume more space",
            Self::Lost => "check the server's log for the reason",
            Self::Timeout => "find out what the server waits for, or raise the timeout",
            Self::Corrupt => "restore the database, and find out what happened to its volume",
            Self::Other => "",
        }
    }
}

/// An error of a database.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    code: Option<String>,
}

/// How a connection ended, in words: libraries name the end of a stream in ways of their own.
pub(crate) fn ending(failed: &std::io::Error) -> String {
    match failed.kind() {
        std::io::ErrorKind::UnexpectedEof => "the server closed it".to_owned(),
        _ => failed.to_string(),
    }
}

/// What a call to a database yields.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error with a message that says what and where.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), code: None }
    }

    /// With the database's own code: SQLSTATE, MariaDB's number, SQLite's extended code.
    #[must_use]
    pub fn with_code(self, code: impl Into<String>) -> Self {
        Self { code: Some(code.into()), ..self }
    }

    /// With words in front that say where.
    #[must_use]
    pub fn at(self, place: impl std::fmt::Display) -> Self {
        Self { message: format!("{place}: {}", self.message), ..self }
    }

    /// What the caller should do next depends on this.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The database's own code.
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// Whether the server withholds an answer: the right to ask is missing, or (SQL Server's 207, 208, 195, 4121 and 2812)
    /// the column, view, function or procedure, which an older version or one in a cloud does not have.
    pub fn is_withheld(&self) -> bool {
        let lacks = |code| matches!(code, "207" | "208" | "195" | "4121" | "2812");
        self.kind == ErrorKind::Permission || self.code().is_some_and(lacks)
    }

    /// Whether an index or a reference of that name is there: MySQL has no `IF NOT EXISTS` for them.
    pub fn is_defined_already(&self) -> bool {
        self.code().is_some_and(|code| matches!(code, "1061" | "1826"))
    }

    /// Whether the same transaction may succeed if tried again.
    pub fn is_retryable(&self) -> bool {
        self.kind == ErrorKind::Conflict
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let reason = match error.kind {
            ErrorKind::Refused | ErrorKind::Crowded => Reason::Unavailable,
            ErrorKind::Occupied => Reason::Settings,
            ErrorKind::Authentication | ErrorKind::Untrusted | ErrorKind::Permission => Reason::Permission,
            ErrorKind::Full => Reason::NoSpace,
            ErrorKind::Lost | ErrorKind::Timeout => Reason::Lost,
            ErrorKind::Corrupt => Reason::Verification,
            ErrorKind::Conflict | ErrorKind::Constraint | ErrorKind::Other => Reason::InputOutput,
        };
        let remedy = error.kind.remedy();
        let code = error.code.map(|code| format!(" ({code})")).unwrap_or_default();
        let remedy = if remedy.is_empty() { String::new() } else { format!("; {remedy}") };
        Self::new(reason, format!("{}{code}{remedy}", error.message))
    }
}
