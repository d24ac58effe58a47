//! The kinds of database, and what a study may ask of each. Their drivers hold the rest.

use fathom_settings::Choice;
use serde::{Deserialize, Serialize};

/// The kinds of database there are drivers for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DatabaseKind {
    /// In this process; a directory is all it needs.
    Sqlite,
    /// PostgreSQL.
    Postgresql,
    /// MariaDB.
    Mariadb,
    /// MySQL, 8.0 or later.
    Mysql,
    /// Microsoft SQL Server.
    Sqlserver,
}

impl Choice for DatabaseKind {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("sqlite", Self::Sqlite),
        ("postgresql", Self::Postgresql),
        ("mariadb", Self::Mariadb),
        ("mysql", Self::Mysql),
        ("sqlserver", Self::Sqlserver),
    ];
}

/// What a study may ask of a kind of database.
#[derive(Debug, Clone, Copy)]
pub struct Offers {
    /// Whether a private server of it can be started for a run.
    pub private: bool,
    /// Keys of `[databases.NAME]` that mean nothing to it.
    pub refused: &'static [&'static str],
    /// Why, behind "leave it out".
    pub refusal: &'static str,
    /// Whether the server's certificate is checked if the study does not say.
    pub checks_certificates: bool,
    /// Whether its driver can check a certificate and leave the name in it unchecked.
    pub verify_ca: bool,
    /// Whether its driver logs in by a Kerberos ticket.
    pub windows_login: bool,
}

impl Offers {
    const SERVER: Self = Self {
        private: false,
        refused: &[],
        refusal: "",
        checks_certificates: false,
        verify_ca: false,
        windows_login: false,
    };
}

impl DatabaseKind {
    /// Every kind.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::CHOICES.iter().map(|(_, kind)| *kind)
    }

    /// The word used in studies.
    pub fn name(self) -> &'static str {
        let found = Self::CHOICES.iter().find(|(_, kind)| *kind == self);
        found.map_or("", |(name, _)| name)
    }

    /// Keys of workloads that mean something to this kind alone; what a commit waits for is the first.
    pub fn own_keys(self) -> &'static [&'static str] {
        match self {
            Self::Sqlite => &["synchronous", "journal", "page_size", "cpu_per_row"],
            Self::Postgresql => &["synchronous_commit"],
            Self::Mariadb | Self::Mysql => &["innodb_flush_log_at_trx_commit"],
            Self::Sqlserver => &[],
        }
    }

    /// The kind of that name.
    pub fn of(name: &str) -> Option<Self> {
        Self::CHOICES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    /// What a study may ask of it.
    pub fn offers(self) -> Offers {
        match self {
            Self::Sqlite => Offers {
                private: true,
                refused: &["log_place", "temp_place", "settings", "cpus", "connect", "standby", "restore"],
                refusal: "SQLite has one place; its settings are keys of the workload",
                ..Offers::SERVER
            },
            Self::Postgresql => Offers { private: true, verify_ca: true, ..Offers::SERVER },
            Self::Mariadb => Offers { private: true, ..Self::Mysql.offers() },
            Self::Mysql => {
                Offers { refused: &["standby"], refusal: "only PostgreSQL has one here", ..Offers::SERVER }
            }
            Self::Sqlserver => Offers { checks_certificates: true, windows_login: true, ..Offers::SERVER },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DatabaseKind;

    #[test]
    fn kinds_have_one_name_each() {
        for kind in DatabaseKind::all() {
            assert_eq!(DatabaseKind::of(kind.name()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}
