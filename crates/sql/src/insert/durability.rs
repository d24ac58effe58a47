//! What a commit waits for: set for a run and restored afterwards.

use super::read::Config;
use crate::database::DatabaseKind;
use crate::error::Result;
use crate::session::Session;

/// A setting of the whole server that a run has changed.
pub struct Changed {
    name: &'static str,
    before: String,
}

impl Config {
    /// Sets what the study asks for; returns what is to be set back after the run. SQLite's is set on each connection.
    pub(super) fn set_durability(
        &self,
        session: &mut dyn Session,
        kind: DatabaseKind,
    ) -> Result<Option<Changed>> {
        match (kind, self.synchronous_commit, self.innodb_flush_log_at_trx_commit) {
            (DatabaseKind::Postgresql, Some(wanted), _) => {
                session.batch(&format!("SET synchronous_commit = '{}'", wanted.0))?;
                Ok(None)
            }
            (DatabaseKind::Mariadb | DatabaseKind::Mysql, _, Some(wanted)) => {
                let name = "innodb_flush_log_at_trx_commit";
                let answer = session.query(&format!("SELECT @@GLOBAL.{name}"), &[])?;
                let before = answer.first()?.int(0)?;
                session.batch(&format!("SET GLOBAL {name} = {wanted}"))?;
                Ok((before != i64::from(wanted)).then(|| Changed { name, before: before.to_string() }))
            }
            _ => Ok(None),
        }
    }
}

impl Changed {
    /// Sets it back.
    ///
    /// # Errors
    /// The database's.
    pub fn set_back(self, session: &mut dyn Session) -> Result<()> {
        session.batch(&format!("SET GLOBAL {} = {}", self.name, self.before))
    }
}
