//! Maps the databases' errors to this crate's.

use mysql::DriverError;

use crate::error::{Error, ErrorKind, ending};

/// What befell the socket; an encrypted one hides it below an error of its own.
fn of_socket(failed: &mysql::Error) -> Option<&std::io::Error> {
    let first: &(dyn std::error::Error + 'static) = match failed {
        mysql::Error::IoError(io) => io,
        mysql::Error::CodecError(codec) => codec,
        _ => return None,
    };
    let mut causes = std::iter::successors(Some(first), |cause| cause.source());
    causes.find_map(|cause| cause.downcast_ref::<std::io::Error>())
}

/// Whether the socket's limit has passed.
fn is_late(failed: &mysql::Error) -> bool {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    of_socket(failed).is_some_and(|io| matches!(io.kind(), WouldBlock | TimedOut))
}

/// An error of the database of that title.
pub(super) fn error(title: &str, failed: &mysql::Error) -> Error {
    match failed {
        _ if is_late(failed) => Error::new(ErrorKind::Timeout, format!("{title}: no answer came in time")),
        mysql::Error::MySqlError(server) => {
            let kind = kind_of(server.code, &server.message);
            let remedy = match server.code {
                1148 | 3948 => "; set `local_infile = ON` on the server",
                _ => "",
            };
            Error::new(kind, format!("{title}: {}{remedy}", server.message))
                .with_code(server.code.to_string())
        }
        mysql::Error::IoError(_) | mysql::Error::CodecError(_) => {
            let how = match (of_socket(failed), failed) {
                (Some(socket), _) => ending(socket),
                (None, mysql::Error::CodecError(codec)) => codec.to_string(),
                _ => failed.to_string(),
            };
            Error::new(ErrorKind::Lost, format!("{title}: the connection was lost: {how}"))
        }
        mysql::Error::DriverError(driver) => {
            let late = matches!(driver, DriverError::ConnectTimeout | DriverError::Timeout);
            let kind = if late { ErrorKind::Timeout } else { ErrorKind::Other };
            Error::new(kind, format!("{title}: {driver}"))
        }
        _ => Error::new(ErrorKind::Other, format!("{title}: {failed}")),
    }
}

/// Numbers: MariaDB's `errmsg-utf8.txt`; below 1900 MySQL has the same, from 3000 on its own (MySQL Error Message Reference).
fn kind_of(code: u16, message: &str) -> ErrorKind {
    match code {
        // Deadlock, lock wait timeout, record changed since it was read, lock not had at once.
        1213 | 1205 | 1020 | 3572 => ErrorKind::Conflict,
        // Encrypted connections only.
        3159 => ErrorKind::Untrusted,
        1045 | 1698 | 1820 | 1862 | 1251 | 1524 | 3118 => ErrorKind::Authentication,
        // Database, table, column, procedure, command, privilege; read-only server; LOAD DATA LOCAL not allowed.
        1044 | 1142 | 1143 | 1370 | 1227 | 1290 | 1836 | 1148 | 4166 | 3948 => ErrorKind::Permission,
        // Too many connections of all or of one user.
        1040 | 1203 | 1226 => ErrorKind::Crowded,
        // No such database, host not allowed or blocked.
        1049 | 1129 | 1130 => ErrorKind::Refused,
        // Keys, null, range, length, check, foreign keys, wrong values.
        1022 | 1048 | 1062 | 1169 | 1216 | 1217 | 1264 | 1265 | 1292 | 1364 | 1366 | 1406 | 1451 | 1452
        | 3819 | 4025 => ErrorKind::Constraint,
        1021 | 1037 | 1038 | 1041 | 1114 | 1206 => ErrorKind::Full,
        // Failed file operations name the system's error: 28 is "no space left on device".
        3 | 1005 | 1026 | 1030 | 1105 if message.contains("28") => ErrorKind::Full,
        // The last two: ended by an administrator, and for not having asked anything.
        1053 | 1927 | 2006 | 2013 | 3169 | 4031 => ErrorKind::Lost,
        1969 | 3024 | 1317 => ErrorKind::Timeout,
        1034 | 1035 | 1194 | 1195 | 1712 | 1877 => ErrorKind::Corrupt,
        _ => ErrorKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::kind_of;
    use crate::error::ErrorKind;

    #[test]
    fn error_numbers_have_their_kinds() {
        assert_eq!(kind_of(1213, ""), ErrorKind::Conflict);
        assert_eq!(kind_of(1062, ""), ErrorKind::Constraint);
        assert_eq!(kind_of(1026, "Error writing file './x' (Errcode: 28)"), ErrorKind::Full);
        assert_eq!(kind_of(1026, "Error writing file './x' (Errcode: 5)"), ErrorKind::Other);
        assert_eq!(kind_of(1064, ""), ErrorKind::Other);
        for many in [1040, 1203, 1226] {
            assert_eq!(kind_of(many, ""), ErrorKind::Crowded);
        }
    }
}
