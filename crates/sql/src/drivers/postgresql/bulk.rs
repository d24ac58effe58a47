//! Bulk load by binary `COPY`: rows are packed into messages of 64 KiB in one buffer, with no allocation per row.

use bytes::{BufMut, BytesMut};
use postgres_protocol::message::frontend;

use super::types::{Oid, encode};
use super::{PostgresqlSession, startup, wire};
use crate::error::{Error, ErrorKind, Result};
use crate::session::{Bulk, Target};
use crate::value::Value;

/// A message is sent when it is at least so long.
const MESSAGE: usize = 64 << 10;

/// `PGCOPY\n\377\r\n\0`, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xFF\r\n\0\0\0\0\0\0\0\0\0";

pub(super) struct PostgresqlBulk<'s> {
    session: &'s mut PostgresqlSession,
    types: Vec<Oid>,
    /// One message under way: tag, length, rows.
    message: BytesMut,
    over: bool,
}

impl<'s> PostgresqlBulk<'s> {
    pub fn begin(session: &'s mut PostgresqlSession, target: &Target<'_>) -> Result<Self> {
        let columns = target.columns.join(", ");
        let probe = format!("SELECT {columns} FROM {} LIMIT 0", target.table);
        let statement = session.prepare_text(&probe)?;
        let types = session.column_types(statement);
        let copy = format!("COPY {} ({columns}) FROM STDIN (FORMAT binary)", target.table);
        frontend::query(&copy, &mut session.wire.out).map_err(startup::unsendable)?;
        session.wire.send()?;
        match session.wire.receive()? {
            (b'G', _) => {}
            (b'E', body) => {
                let error = wire::server_error(body);
                return Err(session.after_error(error));
            }
            (tag, _) => return Err(super::unexpected(tag)),
        }
        let mut bulk = Self { session, types, message: BytesMut::with_capacity(2 * MESSAGE), over: false };
        bulk.open_message();
        bulk.message.put_slice(HEADER);
        Ok(bulk)
    }

    fn open_message(&mut self) {
        self.message.clear();
        self.message.put_u8(b'd');
        self.message.put_u32(0);
    }

    fn send_message(&mut self) -> Result<()> {
        let length = (self.message.len() - 1) as u32;
        self.message[1..5].copy_from_slice(&length.to_be_bytes());
        self.session.wire.send_bytes(&self.message)?;
        self.open_message();
        Ok(())
    }

    /// Tells the server that nothing of it counts.
    fn give_up(&mut self) -> Result<()> {
        self.over = true;
        frontend::copy_fail("the load was given up", &mut self.session.wire.out)
            .map_err(startup::unsendable)?;
        self.session.wire.send()?;
        self.end().map(drop)
    }

    /// Reads the answer to the whole copy.
    fn end(&mut self) -> Result<u64> {
        let rows = match self.session.wire.receive()? {
            (b'C', body) => super::affected(body),
            (b'E', body) => {
                let error = wire::server_error(body);
                return Err(self.session.after_error(error));
            }
            (tag, _) => return Err(super::unexpected(tag)),
        };
        self.session.until_ready()?;
        Ok(rows)
    }
}

impl Bulk for PostgresqlBulk<'_> {
    fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        let start = self.message.len();
        self.message.put_u16(values.len() as u16);
        let encoded = match values.len() == self.types.len() {
            true => values
                .iter()
                .zip(&self.types)
                .try_for_each(|(value, oid)| encode(value, *oid, &mut self.message)),
            false => {
                let message =
                    format!("PostgreSQL: a row has {} values for {} columns", values.len(), self.types.len());
                Err(Error::new(ErrorKind::Other, message))
            }
        };
        if let Err(error) = encoded {
            self.message.truncate(start);
            // Report the row's error; the server only answers that the copy was aborted.
            let _ = self.give_up();
            return Err(error);
        }
        if self.message.len() >= MESSAGE { self.send_message() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<u64> {
        self.message.put_i16(-1);
        self.send_message()?;
        self.over = true;
        frontend::copy_done(&mut self.session.wire.out);
        self.session.wire.send()?;
        self.end()
    }
}

impl Drop for PostgresqlBulk<'_> {
    fn drop(&mut self) {
        if !self.over && !self.session.wire.is_broken() {
            // It answers with an error, which is what was asked for.
            let _ = self.give_up();
        }
    }
}
