//! A read whose answer does not fit into memory beside those that other clients do not fetch: it is read and sent piece by
//! piece. Its client waits for its own answers only.

use std::io;

use fathom_nbd::{Command, Request};
use fathom_wire::Wire;

use crate::connection::client::Client;
use crate::connection::reply::Reply;

/// Bytes of a piece: a whole number of any sectors.
const PIECE: u32 = 256 << 10;

impl Client {
    /// Whether this request, which was just taken in, is to be answered in pieces.
    pub fn goes_in_pieces(&self, request: &Request) -> bool {
        matches!(request.command, Command::Read { .. })
            && request.length > PIECE
            && request.length.is_multiple_of(self.served.export.block)
            && self.account.is_beyond()
    }

    /// Reads and answers, as fast as the client fetches it. Nothing else of the client is under way meanwhile: an answer's bytes
    /// follow each other.
    ///
    /// # Errors
    /// The volume's, once a piece is sent: the answer said that all is well, and the connection has to end.
    pub async fn answer_in_pieces(&self, wire: &Wire, request: &Request) -> io::Result<()> {
        let Request { cookie, mut offset, length, .. } = *request;
        let end = offset.saturating_add(u64::from(length));
        let mut is_first = true;
        loop {
            self.account.settled().await;
            if offset == end || !self.wants(request) {
                return Ok(());
            }
            let left = (end - offset) as u32;
            let piece = if self.account.has_room(left as usize) { left } else { left.min(PIECE) };
            let slot = self.account.admit(piece as usize).await;
            // The first one is checked as a whole.
            let ask = Request { offset, length: piece, ..*request };
            let done = match self.check(request) {
                Ok(()) => self.read(&ask).await,
                Err(no) => Err(no),
            };
            match done {
                Ok(data) if is_first => {
                    self.answer(Reply::beginning(cookie, self.structured, offset, length, data, slot));
                }
                Ok(data) => self.answer(Reply::rest(data, slot)),
                Err(no) if is_first => {
                    self.answer(no.reply(cookie, self.structured, slot));
                    return Ok(());
                }
                Err(no) => {
                    self.leave(wire.port());
                    return Err(io::Error::other(format!(
                        "an answer that had begun cannot be finished: {}",
                        no.1
                    )));
                }
            }
            offset += u64::from(piece);
            is_first = false;
        }
    }
}
