//! The reader of a connection: cuts requests out of the stream and hands them to workers.

use std::io;
use std::rc::Rc;

use fathom_nbd::{Command, Decoded, Request, decode};
use fathom_runtime::yield_now;
use fathom_volume::Buf;
use fathom_wire::{Input, Wire};

use crate::connection::client::{Client, Job};
use crate::connection::execute::work;
use crate::connection::pace::NextRead;
use crate::connection::reply::Reply;

/// How a client left.
#[derive(Debug)]
pub enum Departure {
    /// It said goodbye.
    Politely,
    /// It closed the connection, or was cut off, between two requests.
    Silently,
    /// It was cut off within a request, which was not executed.
    Halfway,
    /// What it sent is no request.
    Nonsense(fathom_nbd::Violation),
    /// The connection failed.
    Failed(io::Error),
}

/// Takes requests in until the client leaves.
pub async fn run(client: &Rc<Client>, wire: &Wire, rest: &[u8]) -> Departure {
    let mut input = Input::new(rest);
    match requests(client, wire, &mut input).await {
        Ok(left) => left,
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Departure::Silently,
        Err(error) => Departure::Failed(error),
    }
}

async fn requests(client: &Rc<Client>, wire: &Wire, input: &mut Input) -> io::Result<Departure> {
    let mut found = 0;
    loop {
        match decode(input.bytes()) {
            Ok(Decoded::Request(request, payload)) => {
                input.skip(payload.start);
                found += 1;
                if request.command == Command::Disconnect {
                    return Ok(Departure::Politely);
                }
                if !take_in(client, wire, input, request, payload.len()).await? {
                    return Ok(Departure::Halfway);
                }
            }
            Ok(Decoded::Refused { cookie, errno, payload }) => {
                input.skip(payload.start);
                let slot = client.account.admit(0).await;
                if !skip(wire, input, payload.len()).await? {
                    return Ok(Departure::Halfway);
                }
                client.answer(Reply::error(cookie, client.structured, errno, "request not understood", slot));
            }
            Ok(Decoded::Incomplete) => {
                if input.bytes().is_empty() {
                    let found = std::mem::take(&mut found);
                    wait(client, wire, found).await;
                }
                let began = !input.bytes().is_empty();
                if !input.fill(wire).await? {
                    return Ok(if began { Departure::Halfway } else { Departure::Silently });
                }
            }
            Err(violation) => return Ok(Departure::Nonsense(violation)),
        }
    }
}

/// Waits until it is time to read again, after a read that found so many requests.
async fn wait(client: &Client, wire: &Wire, found: u32) {
    if client.pace.borrow().waits() {
        answered_at_once(client, wire).await;
    }
    let next = client.pace.borrow_mut().next(found, client.context.now());
    match next {
        NextRead::Now => {}
        NextRead::At(instant) => {
            client.context.sleep_until(instant).await;
            client.pace.borrow_mut().waited();
        }
        NextRead::WhenReadable => wire.readable().await,
    }
}

/// Waits until the answers are sent that take no device's time, so that a wait that follows does not spend itself on them. A
/// request that takes long keeps nobody waiting.
async fn answered_at_once(client: &Client, wire: &Wire) {
    // The workers' turn, then the writer's.
    for _ in 0..2 {
        if client.account.outstanding() == 0 {
            return;
        }
        yield_now().await;
    }
    if client.account.outstanding() > 0 {
        wire.port().ring().turn().await;
        yield_now().await;
    }
}

/// Hands one request to a worker; false if its payload ends halfway.
async fn take_in(
    client: &Rc<Client>,
    wire: &Wire,
    input: &mut Input,
    request: Request,
    payload: usize,
) -> io::Result<bool> {
    if !client.wants(&request) {
        return Ok(true);
    }
    let slot = client.account.admit(client.charge(&request)).await;
    if client.goes_in_pieces(&request) {
        drop(slot);
        client.answer_in_pieces(wire, &request).await?;
        return Ok(true);
    }
    let mut data = None;
    if payload > 0 {
        data = receive(client, wire, input, payload).await?;
        if data.is_none() {
            return Ok(false);
        }
    }
    if client.put(Job { request, payload: data, slot }) {
        client.context.spawn(work(Rc::clone(client)));
    }
    Ok(true)
}

/// A payload in a buffer of the pool; None if it ends halfway.
async fn receive(client: &Client, wire: &Wire, input: &mut Input, length: usize) -> io::Result<Option<Buf>> {
    if input.bytes().len() >= length {
        let buf = client.pool.copy_of(&input.bytes()[..length]);
        input.skip(length);
        return Ok(Some(buf));
    }
    let buf = client.pool.get(length);
    // SAFETY: the buffer is fresh and nobody else has a handle on it; it lives until the end of this function at least.
    let bytes = unsafe { std::slice::from_raw_parts_mut(buf.as_ptr(), length) };
    Ok(input.take(wire, bytes).await?.then_some(buf))
}

/// Passes over a payload; false if it ends halfway.
async fn skip(wire: &Wire, input: &mut Input, mut length: usize) -> io::Result<bool> {
    loop {
        let there = input.bytes().len().min(length);
        input.skip(there);
        length -= there;
        if length == 0 {
            return Ok(true);
        }
        if !input.fill(wire).await? {
            return Ok(false);
        }
    }
}
