//! MariaDB, and MySQL as far as it speaks the same, by the crate `mysql`: prepared statements and bulk load by
//! `LOAD DATA LOCAL`.
//!
//! The protocol answers calls one by one, so a pipeline is sent call by call; a stored procedure that begins and commits by
//! itself saves the round trips. Definitions (`CREATE`, `DROP`) commit whatever is open: that is the database's way.

mod bulk;

use std::collections::BTreeMap;
use std::time::Duration;

use fathom_workload::{Address, Connection, Tls};
use mysql::consts::ColumnType;
use mysql::prelude::Queryable;
use mysql::{Column, Conn, DriverError, OptsBuilder, Params, SslOpts};

use crate::calendar::Moment;
use crate::database::{Database, DatabaseKind};
use crate::error::{Error, ErrorKind, Result};
use crate::rows::Answer;
use crate::session::{Bulk, Session, Statement, Target};
use crate::tls;
use crate::value::{Value, parse_decimal};
use bulk::MariadbBulk;

/// The character set of columns that hold bytes.
const BINARY: u16 = 63;

/// A MariaDB database.
#[derive(Debug, Clone)]
pub struct Mariadb {
    to: Connection,
}

impl Mariadb {
    /// The database that answers there.
    pub fn new(to: Connection) -> Self {
        Self { to }
    }

    fn options(&self) -> Result<OptsBuilder> {
        let options = OptsBuilder::new()
            .user(Some(&self.to.user))
            .pass(self.to.password.as_deref())
            .db_name(Some(&self.to.database))
            // Otherwise a TCP connection to this machine is changed into one by socket, unasked.
            .prefer_socket(false)
            .tcp_nodelay(true)
            .tcp_connect_timeout(Some(self.to.login_timeout()))
            .read_timeout(self.to.timeout())
            .write_timeout(self.to.timeout())
            // Statements live as long as the session; texts are told apart here.
            .stmt_cache_size(0)
            // Values that do not fit are errors, and times have no zone.
            .init(vec!["SET SESSION sql_mode = 'TRADITIONAL', time_zone = '+00:00'"]);
        match &self.to.address {
            Address::Socket(path) => Ok(options.socket(Some(path.to_string_lossy()))),
            Address::Tcp(host, port) => Ok(options.ip_or_hostname(Some(host)).tcp_port(*port)),
            Address::Directory(_) => {
                let message = "MariaDB: a server is reached by a socket or a host, not by a directory";
                Err(Error::new(ErrorKind::Refused, message))
            }
        }
    }
}

impl Mariadb {
    fn reach(&self) -> Result<Conn> {
        let (options, mode) = (self.options()?, self.to.tls());
        let encrypted = encryption(&self.to, mode)?;
        match Conn::new(options.clone().ssl_opts(encrypted)) {
            Err(mysql::Error::DriverError(DriverError::TlsNotSupported)) if mode == Tls::Prefer => {
                Conn::new(options).map_err(|failed| self.unreachable(&failed))
            }
            connected => connected.map_err(|failed| self.unreachable(&failed)),
        }
    }

    /// An error while connecting: what is lost later was refused here.
    fn unreachable(&self, failed: &mysql::Error) -> Error {
        match failed {
            mysql::Error::DriverError(DriverError::TlsNotSupported) => {
                let message = "MariaDB: the server does not encrypt; give it `ssl_cert` and `ssl_key`";
                Error::new(ErrorKind::Untrusted, message)
            }
            mysql::Error::IoError(io) if io.kind() == std::io::ErrorKind::PermissionDenied => {
                Error::new(ErrorKind::Permission, format!("MariaDB: {io}"))
            }
            mysql::Error::DriverError(DriverError::CouldNotConnect(_)) => {
                Error::new(ErrorKind::Refused, error(failed).to_string())
            }
            mysql::Error::IoError(io) => self.untrusted(io).unwrap_or_else(|| match error(failed) {
                late if late.kind() == ErrorKind::Timeout => late,
                other => Error::new(ErrorKind::Refused, other.to_string()),
            }),
            mysql::Error::CodecError(codec) => self.untrusted(codec).unwrap_or_else(|| error(failed)),
            _ => error(failed),
        }
    }

    /// The error of a server that is not believed, if it is one.
    fn untrusted(&self, failed: &(dyn std::error::Error + 'static)) -> Option<Error> {
        let Address::Tcp(host, _) = &self.to.address else { return None };
        let words = tls::words(failed, host)?;
        Some(Error::new(ErrorKind::Untrusted, format!("MariaDB: {words}")))
    }
}

/// What the crate is told. It believes the public authorities that Mozilla lists, beside those of the file.
fn encryption(to: &Connection, mode: Tls) -> Result<Option<SslOpts>> {
    tls::provider();
    match mode {
        Tls::Disable => Ok(None),
        Tls::Prefer | Tls::Require => Ok(Some(SslOpts::default().with_danger_accept_invalid_certs(true))),
        Tls::VerifyCa => {
            // Anybody has a certificate of a public authority: without the name that would prove nothing.
            let message = "MariaDB: `verify-ca` cannot be had; use `verify-full`";
            Err(Error::new(ErrorKind::Untrusted, message))
        }
        Tls::VerifyFull => {
            if let Some(path) = &to.tls_ca {
                tls::authorities(path)?;
            }
            Ok(Some(SslOpts::default().with_root_cert_path(to.tls_ca.clone())))
        }
    }
}

impl Database for Mariadb {
    fn kind(&self) -> DatabaseKind {
        DatabaseKind::Mariadb
    }

    fn connect(&self) -> Result<Box<dyn Session + '_>> {
        let conn = self.reach().map_err(|error| error.at(format!("{:?}", self.to)))?;
        Ok(Box::new(MariadbSession { conn, prepared: Vec::new(), in_transaction: false, over: false }))
    }

    fn facts(&self, session: &mut dyn Session) -> Result<BTreeMap<String, String>> {
        let text =
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'innodb_flush_log_at_trx_commit',
            'sync_binlog', 'log_bin', 'innodb_doublewrite', 'innodb_flush_method', 'innodb_data_file_buffering',
            'innodb_buffer_pool_size',
            'innodb_log_file_size', 'innodb_log_write_ahead_size', 'innodb_page_size')";
        let answer = session.query(text, &[])?;
        let mut facts = BTreeMap::new();
        for row in answer.rows() {
            let name = row.text(0)?.to_lowercase();
            let name = if name == "version" { "mariadb".to_owned() } else { name };
            facts.insert(name, row.text(1)?.to_owned());
        }
        let own = session.query("SHOW SESSION STATUS LIKE 'Ssl_version'", &[])?;
        let version = own.first()?.text(1)?;
        let version = if version.is_empty() { "none" } else { version };
        facts.insert("encryption".to_owned(), version.to_owned());
        Ok(facts)
    }
}

pub(super) struct MariadbSession {
    conn: Conn,
    prepared: Vec<(String, mysql::Statement)>,
    /// As far as this session's own calls go.
    in_transaction: bool,
    /// The server stood still for too long: its answer may come yet, and would be taken for another's.
    over: bool,
}

impl MariadbSession {
    /// Rolls back after an error of the server; a lost connection has rolled back by itself.
    fn ended<T>(&mut self, result: mysql::Result<T>) -> Result<T> {
        result.map_err(|failed| {
            let error = error(&failed);
            self.in_transaction = false;
            self.over |= error.kind() == ErrorKind::Timeout && error.code().is_none();
            // After an error of the socket nobody knows what still comes over it.
            if !matches!(failed, mysql::Error::IoError(_) | mysql::Error::CodecError(_)) {
                // The first error is the one to tell.
                let _ = self.conn.query_drop("ROLLBACK");
            }
            error
        })
    }

    fn usable(&self) -> Result<()> {
        if self.over {
            return Err(Error::new(ErrorKind::Lost, "MariaDB: the connection was given up after a timeout"));
        }
        Ok(())
    }

    /// Runs texts one after another, to the last one's end: a later one's error must not pass unseen.
    fn text(&mut self, text: &str) -> Result<()> {
        let run = |conn: &mut Conn| -> mysql::Result<()> {
            let mut result = conn.query_iter(text)?;
            while let Some(set) = result.iter() {
                for row in set {
                    row?;
                }
            }
            Ok(())
        };
        self.usable()?;
        let done = run(&mut self.conn);
        self.ended(done)
    }
}

impl Session for MariadbSession {
    fn prepare(&mut self, text: &str) -> Result<Statement> {
        if let Some(known) = self.prepared.iter().position(|(known, _)| known == text) {
            return Ok(Statement(known as u32));
        }
        self.usable()?;
        let prepared = self.conn.prep(text);
        let prepared = self.ended(prepared)?;
        self.prepared.push((text.to_owned(), prepared));
        Ok(Statement(self.prepared.len() as u32 - 1))
    }

    fn run(&mut self, statement: Statement, parameters: &[Value<'_>], answer: &mut Answer) -> Result<()> {
        answer.clear();
        self.usable()?;
        let prepared = &self.prepared[statement.0 as usize].1;
        let parameters = match parameters {
            [] => Params::Empty,
            values => Params::Positional(values.iter().map(parameter).collect()),
        };
        let run = |conn: &mut Conn| -> mysql::Result<Result<()>> {
            let mut read = Ok(());
            let mut result = conn.exec_iter(prepared, parameters)?;
            while let Some(set) = result.iter() {
                answer.affected = set.affected_rows();
                let columns = set.columns().as_ref().to_vec();
                let wanted = answer.width() == 0 && !columns.is_empty();
                if wanted {
                    answer.set_width(columns.len());
                }
                for row in set {
                    let row = row?;
                    if wanted && read.is_ok() {
                        read = read_row(&row.unwrap(), &columns, answer);
                    }
                }
            }
            Ok(read)
        };
        let done = run(&mut self.conn);
        self.ended(done)??;
        if answer.width() > 0 && answer.affected == 0 {
            answer.affected = answer.len() as u64;
        }
        Ok(())
    }

    fn batch(&mut self, text: &str) -> Result<()> {
        self.text(text)
    }

    fn begin(&mut self) -> Result<()> {
        self.text("START TRANSACTION")?;
        self.in_transaction = true;
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.in_transaction = false;
        self.text("COMMIT")
    }

    fn rollback(&mut self) -> Result<()> {
        self.in_transaction = false;
        self.text("ROLLBACK")
    }

    fn bulk<'s>(&'s mut self, target: &Target<'_>) -> Result<Box<dyn Bulk + 's>> {
        self.usable()?;
        Ok(Box::new(MariadbBulk::begin(self, target)?))
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        let seconds = timeout.map_or(0.0, |timeout| timeout.as_secs_f64());
        let mariadb = self.conn.query_drop(format!("SET SESSION max_statement_time = {seconds}"));
        // MySQL's name for it, in milliseconds, and for queries only.
        let set = mariadb.or_else(|_| {
            let ms = (seconds * 1000.0).ceil() as u64;
            self.conn.query_drop(format!("SET SESSION max_execution_time = {ms}"))
        });
        self.ended(set)
    }
}

fn parameter(value: &Value<'_>) -> mysql::Value {
    match *value {
        Value::Null => mysql::Value::NULL,
        Value::Int(value) => mysql::Value::Int(value),
        Value::Float(value) => mysql::Value::Double(value),
        Value::Text(text) => mysql::Value::Bytes(text.as_bytes().to_vec()),
        Value::Bytes(bytes) => mysql::Value::Bytes(bytes.to_vec()),
        Value::Decimal { .. } | Value::Ints(_) => mysql::Value::Bytes(value.to_string().into_bytes()),
        Value::Time(micros) => {
            let Moment { year, month, day, hour, minute, second, micros } = Moment::of_micros(micros);
            mysql::Value::Date(year as u16, month, day, hour, minute, second, micros)
        }
    }
}

fn read_row(values: &[mysql::Value], columns: &[Column], answer: &mut Answer) -> Result<()> {
    for (value, column) in values.iter().zip(columns) {
        answer.push(value_of(value, column)?);
    }
    Ok(())
}

fn value_of<'v>(value: &'v mysql::Value, column: &Column) -> Result<Value<'v>> {
    let no_reader = || {
        let message = format!(
            "MariaDB: column {} of type {:?} has no reader; cast it in the statement",
            column.name_str(),
            column.column_type()
        );
        Error::new(ErrorKind::Other, message)
    };
    Ok(match value {
        mysql::Value::NULL => Value::Null,
        mysql::Value::Int(value) => Value::Int(*value),
        mysql::Value::UInt(value) => Value::Int(i64::try_from(*value).map_err(|_| no_reader())?),
        mysql::Value::Float(value) => Value::Float((*value).into()),
        mysql::Value::Double(value) => Value::Float(*value),
        mysql::Value::Date(year, month, day, hour, minute, second, micros) => {
            let (year, month, day) = (i32::from(*year), *month, *day);
            let moment =
                Moment { year, month, day, hour: *hour, minute: *minute, second: *second, micros: *micros };
            Value::Time(moment.to_micros())
        }
        mysql::Value::Bytes(bytes) => {
            let decimal = ColumnType::MYSQL_TYPE_NEWDECIMAL == column.column_type();
            match std::str::from_utf8(bytes) {
                Ok(text) if decimal => parse_decimal(text).ok_or_else(no_reader)?,
                Ok(text) if column.character_set() != BINARY => Value::Text(text),
                _ => Value::Bytes(bytes),
            }
        }
        mysql::Value::Time(..) => return Err(no_reader()),
    })
}

/// Whether the socket's limit has passed; an encrypted one hides it below an error of its own.
fn is_late(failed: &mysql::Error) -> bool {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    let first: &(dyn std::error::Error + 'static) = match failed {
        mysql::Error::IoError(io) => io,
        mysql::Error::CodecError(codec) => codec,
        _ => return false,
    };
    let mut causes = std::iter::successors(Some(first), |cause| cause.source());
    let socket = causes.find_map(|cause| cause.downcast_ref::<std::io::Error>());
    socket.is_some_and(|io| matches!(io.kind(), WouldBlock | TimedOut))
}

/// MariaDB's error as ours.
fn error(failed: &mysql::Error) -> Error {
    match failed {
        _ if is_late(failed) => Error::new(ErrorKind::Timeout, "MariaDB: no answer came in time"),
        mysql::Error::MySqlError(server) => {
            let kind = kind_of(server.code, &server.message);
            Error::new(kind, format!("MariaDB: {}", server.message)).with_code(server.code.to_string())
        }
        mysql::Error::IoError(_) | mysql::Error::CodecError(_) => {
            Error::new(ErrorKind::Lost, format!("MariaDB: the connection was lost: {failed}"))
        }
        mysql::Error::DriverError(DriverError::ConnectTimeout | DriverError::Timeout) => {
            Error::new(ErrorKind::Timeout, format!("MariaDB: {failed}"))
        }
        _ => Error::new(ErrorKind::Other, format!("MariaDB: {failed}")),
    }
}

/// Numbers: MariaDB's `errmsg-utf8.txt`; below 1900 MySQL has the same.
fn kind_of(code: u16, message: &str) -> ErrorKind {
    match code {
        // Deadlock, lock wait timeout, record changed since it was read.
        1213 | 1205 | 1020 => ErrorKind::Conflict,
        1045 | 1698 | 1862 | 1251 | 1524 => ErrorKind::Authentication,
        // Database, table, column, procedure, command, privilege; read-only server; LOAD DATA LOCAL not allowed.
        1044 | 1142 | 1143 | 1370 | 1227 | 1290 | 1148 | 4166 | 3948 => ErrorKind::Permission,
        // Too many connections of all or of one user, no such database, host not allowed or blocked.
        1040 | 1203 | 1226 | 1049 | 1129 | 1130 => ErrorKind::Refused,
        // Keys, null, range, length, check, foreign keys, wrong values.
        1022 | 1048 | 1062 | 1169 | 1216 | 1217 | 1264 | 1265 | 1292 | 1364 | 1366 | 1406 | 1451 | 1452
        | 3819 | 4025 => ErrorKind::Constraint,
        1021 | 1037 | 1038 | 1041 | 1114 | 1206 => ErrorKind::Full,
        // Failed file operations name the system's error: 28 is "no space left on device".
        3 | 1005 | 1026 | 1030 | 1105 if message.contains("28") => ErrorKind::Full,
        1053 | 1927 | 2006 | 2013 => ErrorKind::Lost,
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
    }
}
