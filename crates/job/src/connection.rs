//! How a workload reaches a database: the connection that provisioning hands it, for private and for existing servers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::database::DatabaseKind;
use crate::outcome::{Failure, Reason};

/// Where a database answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Address {
    /// A directory that holds the files: SQLite.
    Directory(PathBuf),
    /// A Unix socket. The socket itself; for PostgreSQL that is `DIRECTORY/.s.PGSQL.PORT`.
    Socket(PathBuf),
    /// Host name and TCP port.
    Tcp(String, u16),
}

/// Whether a connection is encrypted, and what of the server's certificate is checked: PostgreSQL's words (`sslmode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tls {
    /// In the clear.
    Disable,
    /// Encrypted if the server can; nothing is checked.
    Prefer,
    /// Encrypted or not at all; nothing is checked.
    Require,
    /// As `Require`, and who signed the certificate is checked.
    VerifyCa,
    /// As `VerifyCa`, and the certificate must be for that host.
    VerifyFull,
}

/// How a user proves who it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Login {
    /// By a password, or whatever the server asks for.
    #[default]
    Password,
    /// SQL Server: by the Kerberos ticket of the user who runs this.
    Windows,
}

/// One database as a workload sees it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// Which database it is.
    pub kind: DatabaseKind,
    /// Where it answers.
    pub address: Address,
    /// Who connects; empty for SQLite.
    #[serde(default)]
    pub user: String,
    /// What the user proves it with.
    #[serde(default)]
    pub password: Option<String>,
    /// How.
    #[serde(default)]
    pub login: Login,
    /// Name of the database within the server; it exists. Empty for SQLite.
    #[serde(default)]
    pub database: String,
    /// Whether it is encrypted; None: the kind's own way, see [`Self::tls`].
    #[serde(default)]
    pub tls: Option<Tls>,
    /// File with the authorities whose certificates are believed, PEM; None: those of the system.
    #[serde(default)]
    pub tls_ca: Option<PathBuf>,
    /// How long the server may stand still before a session gives up, ns; None: for ever, because a load or a checkpoint
    /// may well stall for minutes.
    #[serde(default)]
    pub timeout_ns: Option<u64>,
}

impl Connection {
    /// How long the server may take to let a session in if nothing else is said: as long as people's patience.
    pub const LOGIN: Duration = Duration::from_secs(30);

    /// How long the server may stall.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout_ns.map(Duration::from_nanos)
    }

    /// How long it may stall before a session has begun.
    pub fn login_timeout(&self) -> Duration {
        self.timeout().unwrap_or(Self::LOGIN)
    }

    /// Whether the connection is encrypted: as asked for, else as the kind's own tools do. A Unix socket never is.
    pub fn tls(&self) -> Tls {
        let Address::Tcp(host, _) = &self.address else { return Tls::Disable };
        // A fresh SQL Server signs its own certificate.
        let here = matches!(host.as_str(), "localhost" | "127.0.0.1" | "::1");
        self.tls.unwrap_or(match self.kind.offers().checks_certificates {
            true if here && self.tls_ca.is_none() => Tls::Require,
            true => Tls::VerifyFull,
            false => Tls::Prefer,
        })
    }
}

impl std::fmt::Debug for Connection {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at ", self.kind.name())?;
        match &self.address {
            Address::Tcp(host, port) => write!(f, "{host}:{port}")?,
            Address::Socket(path) => write!(f, "{}", path.display())?,
            Address::Directory(path) => write!(f, "{}", path.display())?,
        }
        write!(f, " as {:?}, database {:?}", self.user, self.database)
    }
}

/// The databases of a run by their names in the study.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Databases(pub BTreeMap<String, Connection>);

impl Databases {
    /// The database of that name.
    ///
    /// # Errors
    /// [`Reason::Settings`] if there is none.
    pub fn get(&self, name: &str) -> Result<&Connection, Failure> {
        self.0.get(name).ok_or_else(|| {
            let message =
                format!("workload.database: nothing provides the database `{name}`; add [databases.{name}]");
            Failure::new(Reason::Settings, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_read_as_they_are_written() {
        let text = r#"{"pg":{"kind":"postgresql","address":{"socket":"/s/.s.PGSQL.5432"},"user":"u","password":"secret","database":"d"},
            "my":{"kind":"mariadb","address":{"tcp":["host",3306]},"user":"u","database":"d"},
            "lite":{"kind":"sqlite","address":{"directory":"/data"}}}"#;
        let databases: Databases = serde_json::from_str(text).unwrap();
        assert_eq!(databases.get("my").unwrap().address, Address::Tcp("host".into(), 3306));
        let again = serde_json::to_string(&databases).unwrap();
        assert_eq!(serde_json::from_str::<Databases>(&again).unwrap(), databases);
        assert!(!format!("{databases:?}").contains("secret"));
        assert_eq!(databases.get("other").unwrap_err().reason, Reason::Settings);
    }
}
