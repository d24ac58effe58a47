//! Maps SQL Server's errors to this crate's.

use tiberius::error::{Error as Failed, IoErrorKind};

use super::socket::FORCED;
use crate::error::{Error, ErrorKind};
use crate::tls;

/// An error of a session.
pub(super) fn error(failed: &Failed) -> Error {
    let lost = |why: &dyn std::fmt::Display| {
        Error::new(ErrorKind::Lost, format!("SQL Server: the connection was lost: {why}"))
    };
    match failed {
        Failed::Server(server) => {
            let kind = kind_of(server.code());
            Error::new(kind, format!("SQL Server: {}", server.message())).with_code(server.code().to_string())
        }
        Failed::Io { kind: IoErrorKind::UnexpectedEof, .. } => lost(&"the server closed it"),
        Failed::Io { message, .. } => lost(message),
        Failed::Protocol(message) => lost(message),
        Failed::BulkInput(_) | Failed::Conversion(_) => {
            Error::new(ErrorKind::Constraint, format!("SQL Server: {failed}"))
        }
        _ => Error::new(ErrorKind::Other, format!("SQL Server: {failed}")),
    }
}

/// What the library says when the server does not encrypt and was asked to.
const DECLINED: &str = "Server does not allow the requested encryption level";

/// Whether the server does not encrypt.
pub(super) fn is_unencrypted(failed: &Failed) -> bool {
    matches!(failed, Failed::Protocol(message) if message.contains(DECLINED))
}

/// An error while a connection to that host is made.
pub(super) fn connecting(failed: &Failed, host: &str) -> Error {
    let untrusted = |why: String| Error::new(ErrorKind::Untrusted, format!("SQL Server: {why}"));
    match failed {
        _ if is_unencrypted(failed) => untrusted(
            "the server does not encrypt; `tls = \"disable\"` sends everything in the clear".to_owned(),
        ),
        Failed::Tls(message) => untrusted(tls::words_of_text(message, host)),
        Failed::Io { message, .. } if message.contains(FORCED) => {
            untrusted(format!("{FORCED}: `tls = \"disable\"` is not possible"))
        }
        Failed::Protocol(message) => {
            let words = format!("SQL Server: the peer is not a SQL Server: {message}");
            Error::new(ErrorKind::Refused, words)
        }
        // What the handshake finds wrong but the certificate.
        Failed::Io { kind: IoErrorKind::InvalidData, message } => {
            untrusted(format!("the connection could not be encrypted: {message}"))
        }
        #[cfg(feature = "windows-login")]
        Failed::Gssapi(message) => {
            let words = format!("Windows login: {message}; `kinit` gets a ticket, `klist` shows it");
            Error::new(ErrorKind::Authentication, format!("SQL Server: {words}"))
        }
        _ => error(failed),
    }
}

/// Numbers: `sys.messages`.
fn kind_of(code: u32) -> ErrorKind {
    match code {
        // Deadlock victim, lock request timeout, snapshot conflicts.
        1205 | 1222 | 3960 | 3961 | 41_302 | 41_305 | 41_325 => ErrorKind::Conflict,
        18_450..=18_470 | 18_486..=18_488 => ErrorKind::Authentication,
        // The last four: of procedures and commands that only administrators may run.
        229 | 230 | 262 | 297 | 300 | 3906 | 916 | 2571 | 15_003 | 15_247 | 8104 => ErrorKind::Permission,
        // Too many connections; in a cloud too many workers or sessions of a database, or of the pool it is in.
        17_809 | 10_928 | 10_936 => ErrorKind::Crowded,
        // No such database, starting or paused.
        4060 | 911 | 40_613 | 18_401 | 17_142 => ErrorKind::Refused,
        // Duplicate keys, null, check and foreign keys, truncation, overflow, conversion.
        2601 | 2627 | 515 | 547 | 8152 | 2628 | 220 | 8115 | 245 | 8114 | 4815 => ErrorKind::Constraint,
        // File group or log full, disk full, out of memory.
        1101 | 1105 | 9002 | 3257 | 701 | 802 | 8645 => ErrorKind::Full,
        6005 | 596 | 64 => ErrorKind::Lost,
        3617 | 8649 => ErrorKind::Timeout,
        // Wrong checksum, read or write error of a file, inconsistent pages.
        823 | 824 | 825 | 605 | 5242 | 8928 => ErrorKind::Corrupt,
        _ => ErrorKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::kind_of;
    use crate::error::ErrorKind;

    #[test]
    fn error_numbers_have_their_kinds() {
        assert_eq!(kind_of(1205), ErrorKind::Conflict);
        assert_eq!(kind_of(2627), ErrorKind::Constraint);
        assert_eq!(kind_of(18_456), ErrorKind::Authentication);
        assert_eq!(kind_of(9002), ErrorKind::Full);
        assert_eq!(kind_of(824), ErrorKind::Corrupt);
        assert_eq!(kind_of(102), ErrorKind::Other);
        assert_eq!(kind_of(17_809), ErrorKind::Crowded);
    }
}
