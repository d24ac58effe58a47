//! MariaDB and MySQL, by the crate `mysql`: prepared statements and bulk load by `LOAD DATA LOCAL`.
//!
//! The protocol answers calls one by one, so a pipeline is sent call by call; a stored procedure that begins and commits by
//! itself saves the round trips. Definitions (`CREATE`, `DROP`) commit whatever is open: that is the databases' way.
//!
//! Both get the same SQL. What only MariaDB knows is in its own comments (`/*M! IF NOT EXISTS */`), or the driver makes
//! up for it (`RETURNING`, [`session`]).

mod dialect;
mod errors;
mod session;
mod values;

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread;

use fathom_job::{Address, Connection, Tls};
use mysql::prelude::Queryable;
use mysql::{Conn, DriverError, OptsBuilder, SslOpts};

use crate::database::{Database, DatabaseKind, Known};
use crate::error::{Error, ErrorKind, Result};
use crate::session::Session;
use crate::tls;
use errors::error;
use session::MariadbSession;

pub(super) use dialect::DIALECT;

/// A database of MariaDB or MySQL.
#[derive(Debug, Clone)]
pub struct Mariadb {
    to: Connection,
}

impl Mariadb {
    /// The database that answers there.
    pub fn new(to: Connection) -> Self {
        Self { to }
    }

    fn title(&self) -> &'static str {
        self.to.kind.dialect().title
    }

    fn options(&self) -> Result<OptsBuilder> {
        // Values that do not fit are errors, and times have no zone.
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
            // Statements live as long as the session; texts are distinguished here.
            .stmt_cache_size(0);
        let options = options.init(vec!["SET SESSION sql_mode = 'TRADITIONAL', time_zone = '+00:00'"]);
        match &self.to.address {
            Address::Socket(path) => Ok(options.socket(Some(path.to_string_lossy()))),
            Address::Tcp(host, port) => Ok(options.ip_or_hostname(Some(host)).tcp_port(*port)),
            Address::Directory(_) => {
                let message = format!(
                    "{}: a server is reached by a socket or a host, not by a directory",
                    self.title()
                );
                Err(Error::new(ErrorKind::Refused, message))
            }
        }
    }

    fn reach(&self) -> Result<Conn> {
        let (options, mode) = (self.options()?, self.to.tls());
        let encrypted = self.encryption(mode)?;
        let mut opened = self.log_in(options.clone().ssl_opts(encrypted))?;
        if mode == Tls::Prefer
            && matches!(opened, Err(mysql::Error::DriverError(DriverError::TlsNotSupported)))
        {
            opened = self.log_in(options)?;
        }
        let mut conn = opened.map_err(|failed| self.unreachable(&failed))?;
        self.check_kind(&mut conn)?;
        if self.to.kind == DatabaseKind::Mysql {
            // Sizes of tables are otherwise those of a day ago. Not before it is known who answers: MariaDB has no such variable.
            let set = conn.query_drop("SET SESSION information_schema_stats_expiry = 0");
            set.map_err(|failed| error(self.title(), &failed))?;
        }
        Ok(conn)
    }

    /// What the crate answers, or an error after the time for a login. The server speaks first: at the port of one whose
    /// client does (PostgreSQL), both would wait for ever. The crate has one limit for every answer, and a statement may
    /// take long, so that a login waits on a thread of its own, which is left behind with its socket if nothing comes.
    fn log_in(&self, options: OptsBuilder) -> Result<mysql::Result<Conn>> {
        let (tell, told) = mpsc::channel();
        let begun =
            thread::Builder::new().name("login".to_owned()).spawn(move || tell.send(Conn::new(options)));
        begun.map_err(|failed| Error::new(ErrorKind::Other, format!("{}: {failed}", self.title())))?;
        let limit = self.to.login_timeout();
        told.recv_timeout(limit).map_err(|_| {
            let (title, waited) = (self.title(), limit.as_secs_f64());
            let message = format!(
                "{title}: no session began within {waited} s: does another kind of server listen there?"
            );
            Error::new(ErrorKind::Timeout, message)
        })
    }

    /// The two count and time out differently: which one it is must be right.
    fn check_kind(&self, conn: &mut Conn) -> Result<()> {
        let version: Option<String> =
            conn.query_first("SELECT version()").map_err(|failed| error(self.title(), &failed))?;
        let version = version.unwrap_or_default();
        let found = if version.contains("MariaDB") { DatabaseKind::Mariadb } else { DatabaseKind::Mysql };
        if found == self.to.kind {
            return Ok(());
        }
        let message = format!(
            "{}: the server is {} ({version}): set kind = \"{}\"",
            self.title(),
            found.dialect().title,
            found.name()
        );
        Err(Error::new(ErrorKind::Refused, message))
    }

    /// An error while connecting: what is lost later was refused here.
    fn unreachable(&self, failed: &mysql::Error) -> Error {
        let title = self.title();
        match failed {
            mysql::Error::DriverError(DriverError::TlsNotSupported) => {
                let message =
                    format!("{title}: the server does not encrypt; give it `ssl_cert` and `ssl_key`");
                Error::new(ErrorKind::Untrusted, message)
            }
            mysql::Error::IoError(io) if io.kind() == std::io::ErrorKind::PermissionDenied => {
                Error::new(ErrorKind::Permission, format!("{title}: {io}"))
            }
            mysql::Error::DriverError(DriverError::CouldNotConnect(_)) => {
                Error::new(ErrorKind::Refused, error(title, failed).to_string())
            }
            mysql::Error::IoError(io) => self.untrusted(io).unwrap_or_else(|| match error(title, failed) {
                late if late.kind() == ErrorKind::Timeout => late,
                other => Error::new(ErrorKind::Refused, other.to_string()),
            }),
            mysql::Error::CodecError(codec) => self.untrusted(codec).unwrap_or_else(|| error(title, failed)),
            _ => error(title, failed),
        }
    }

    /// The error of a server that is not believed, if it is one.
    fn untrusted(&self, failed: &(dyn std::error::Error + 'static)) -> Option<Error> {
        let Address::Tcp(host, _) = &self.to.address else { return None };
        let words = tls::words(failed, host)?;
        Some(Error::new(ErrorKind::Untrusted, format!("{}: {words}", self.title())))
    }

    /// Options for the crate. It trusts Mozilla's list of public authorities and those of the file.
    fn encryption(&self, mode: Tls) -> Result<Option<SslOpts>> {
        tls::provider();
        match mode {
            Tls::Disable => Ok(None),
            Tls::Prefer | Tls::Require => Ok(Some(SslOpts::default().with_danger_accept_invalid_certs(true))),
            Tls::VerifyCa => {
                // Anybody has a certificate of a public authority: without the name that would prove nothing.
                let message = format!("{}: `verify-ca` is not supported; use `verify-full`", self.title());
                Err(Error::new(ErrorKind::Untrusted, message))
            }
            Tls::VerifyFull => {
                if let Some(path) = &self.to.tls_ca {
                    tls::authorities(path)?;
                }
                Ok(Some(SslOpts::default().with_root_cert_path(self.to.tls_ca.clone())))
            }
        }
    }
}

impl Database for Mariadb {
    fn kind(&self) -> DatabaseKind {
        self.to.kind
    }

    fn connect(&self) -> Result<Box<dyn Session + '_>> {
        let conn = self.reach().map_err(|error| error.at(format!("{:?}", self.to)))?;
        Ok(Box::new(MariadbSession::new(conn, self.to.kind)))
    }

    fn facts(&self, session: &mut dyn Session) -> Result<BTreeMap<String, String>> {
        let text =
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'innodb_flush_log_at_trx_commit',
            'sync_binlog', 'log_bin', 'innodb_doublewrite', 'innodb_flush_method', 'innodb_data_file_buffering',
            'innodb_buffer_pool_size', 'innodb_log_file_size', 'innodb_redo_log_capacity',
            'innodb_log_write_ahead_size', 'innodb_page_size', 'large_pages')";
        let answer = session.query(text, &[])?;
        let mut facts = BTreeMap::new();
        for row in answer.rows() {
            let name = row.text(0)?.to_lowercase();
            let name = if name == "version" { self.to.kind.name().to_owned() } else { name };
            facts.insert(name, row.text(1)?.to_owned());
        }
        let own = session.query("SHOW SESSION STATUS LIKE 'Ssl_version'", &[])?;
        let version = own.first()?.text(1)?;
        let version = if version.is_empty() { "none" } else { version };
        facts.insert("encryption".to_owned(), version.to_owned());
        Ok(facts)
    }
}
