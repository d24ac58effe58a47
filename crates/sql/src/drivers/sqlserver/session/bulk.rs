//! Bulk copy (`INSERT BULK`): rows are kept in memory and sent in parts, with a lock on the table.

use tiberius::{ColumnData, SqlBulkCopyOption, TokenRow};

use super::SqlserverSession;
use crate::drivers::sqlserver::values::data_of;
use crate::error::{Error, ErrorKind, Result};
use crate::session::{Bulk, Session, Target};
use crate::value::Value;

/// Rows of a part.
const PART: usize = 10_000;

pub(super) struct SqlserverBulk<'s> {
    session: &'s mut SqlserverSession,
    table: String,
    columns: Vec<String>,
    /// The columns' types as SQL Server writes them.
    types: Vec<String>,
    part: Vec<Vec<ColumnData<'static>>>,
    rows: u64,
    own_transaction: bool,
    over: bool,
}

impl<'s> SqlserverBulk<'s> {
    pub fn begin(session: &'s mut SqlserverSession, target: &Target<'_>) -> Result<Self> {
        session.watch.begin_call();
        let described =
            session.runtime.block_on(session.client.column_metadata(target.table, target.columns));
        let described = session.ended(described)?;
        // A column prints as `[name] type`.
        let word = |column: String| {
            column.rsplit_once("] ").map(|(_, of_type)| of_type.to_owned()).unwrap_or_default()
        };
        let types = described.iter().map(|column| word(column.to_string())).collect();
        let own_transaction = !session.in_transaction;
        if own_transaction {
            session.begin()?;
        }
        let columns = target.columns.iter().map(|column| (*column).to_owned()).collect();
        let table = target.table.to_owned();
        Ok(Self { session, table, columns, types, part: Vec::new(), rows: 0, own_transaction, over: false })
    }

    fn send_part(&mut self) -> Result<()> {
        if self.part.is_empty() {
            return Ok(());
        }
        let columns: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        let part = std::mem::take(&mut self.part);
        let (client, table) = (&mut self.session.client, self.table.as_str());
        self.session.watch.begin_call();
        let sent = self.session.runtime.block_on(async {
            // Rows bring the numbers of identity columns with them, as on every other database.
            let options =
                SqlBulkCopyOption::TableLock | SqlBulkCopyOption::KeepNulls | SqlBulkCopyOption::KeepIdentity;
            let mut request = client.bulk_insert_with_options(table, &columns, options, &[]).await?;
            for values in part {
                let mut row = TokenRow::with_capacity(values.len());
                values.into_iter().for_each(|value| row.push(value));
                request.send(row).await?;
            }
            request.finalize().await
        });
        self.rows += self.session.ended(sent)?.total();
        Ok(())
    }
}

impl Bulk for SqlserverBulk<'_> {
    fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        if values.len() != self.types.len() {
            let message =
                format!("SQL Server: a row has {} values for {} columns", values.len(), self.types.len());
            return Err(Error::new(ErrorKind::Other, message));
        }
        let row = values.iter().zip(&self.types).map(|(value, of_type)| data_of(value, of_type));
        self.part.push(row.collect::<Result<_>>()?);
        if self.part.len() < PART {
            return Ok(());
        }
        self.send_part().inspect_err(|_| self.over = true)
    }

    fn finish(mut self: Box<Self>) -> Result<u64> {
        let sent = self.send_part();
        self.over = true;
        sent?;
        if self.own_transaction {
            self.session.commit()?;
        }
        Ok(self.rows)
    }
}

impl Drop for SqlserverBulk<'_> {
    fn drop(&mut self) {
        if !self.over {
            // If the connection is gone, so is the transaction.
            let _ = self.session.rollback();
        }
    }
}
