//! MySQL: MariaDB's driver and SQL, and what differs.

use super::mariadb;
use crate::database::{DatabaseKind, Dialect};

pub static DIALECT: Dialect = Dialect {
    title: "MySQL",
    like: Some(DatabaseKind::Mariadb),
    questions: include_str!("watch.sql"),
    ..mariadb::DIALECT
};
