//! The writer of a connection: sends as many answers as there are with one call.

use std::io::{self, ErrorKind, IoSlice};
use std::rc::Rc;

use fathom_wire::Wire;

use crate::connection::client::Client;
use crate::connection::reply::Reply;

/// Answers per call: two pieces each.
const BATCH: usize = 64;

/// Sends answers until the connection is over. After an error the rest is dropped: there is nobody to take it.
pub async fn run(client: Rc<Client>, wire: Rc<Wire>) {
    let mut batch = Vec::with_capacity(BATCH);
    let mut broken = false;
    while client.answers(&mut batch, BATCH).await {
        client.pace.borrow_mut().answers(|| wire.port().unread() > 0);
        if !broken && let Err(error) = send(&wire, &batch).await {
            tracing::debug!(export = client.served.export.name, %error, "the client takes no answers");
            broken = true;
            // The reader may wait for more, and requests to be done: reads that have not begun are dropped.
            client.leave(wire.port());
        }
        // Each gives its slot back.
        batch.clear();
    }
}

async fn send(wire: &Wire, batch: &[Reply]) -> io::Result<()> {
    if wire.is_encrypted() {
        return wire.write_encrypted(batch.iter().flat_map(Reply::pieces)).await;
    }
    let (mut first, mut skip) = (0, 0);
    while first < batch.len() {
        match wire.port().try_write(&gather(&batch[first..], skip)) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => wire.port().writable().await,
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            sent => {
                skip += sent?;
                while first < batch.len() && skip >= batch[first].len() {
                    skip -= batch[first].len();
                    first += 1;
                }
            }
        }
    }
    Ok(())
}

/// The pieces of these answers without the first `skip` bytes of the first answer.
fn gather(batch: &[Reply], skip: usize) -> impl std::ops::Deref<Target = [IoSlice<'_>]> {
    let mut pieces = Pieces { slices: [IoSlice::new(&[]); 2 * BATCH], count: 0 };
    let mut skip = skip;
    for piece in batch.iter().flat_map(Reply::pieces) {
        let taken = skip.min(piece.len());
        skip -= taken;
        if taken < piece.len() {
            let mut rest = piece;
            rest.advance(taken);
            pieces.slices[pieces.count] = rest;
            pieces.count += 1;
        }
    }
    pieces
}

struct Pieces<'a> {
    slices: [IoSlice<'a>; 2 * BATCH],
    count: usize,
}

impl<'a> std::ops::Deref for Pieces<'a> {
    type Target = [IoSlice<'a>];

    fn deref(&self) -> &Self::Target {
        &self.slices[..self.count]
    }
}
