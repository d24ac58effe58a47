//! The reader of a connection: cuts requests out of the stream and hands them to workers.

use std::io;
use std::rc::Rc;

use fathom_nbd::{Command, Decoded, Request, decode};
use fathom_volume::Buf;
use fathom_wire::{Input, Wire};

use crate::connection::client::{Client, Job};
use crate::connection::execute::work;
use crate::connection::pace::Pace;
use crate::connection::reply::Reply;

/// How a client left.
#[derive(Debug)]
pub enum Left {
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
pub async fn run(client: &Rc<Client>, wire: &Wire, rest: &[u8]) -> Left {
    let mut input = Input::new(rest);
    match requests(client, wire, &mut input).await {
        Ok(left) => left,
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Left::Silently,
        Err(error) => Left::Failed(error),
    }
}

async fn requests(client: &Rc<Client>, wire: &Wire, input: &mut Input) -> io::Result<Left> {
    let mut pace = Pace::new();
    let mut found = 0;
    loop {
        match decode(input.bytes()) {
            Ok(Decoded::Request(request, payload)) => {
                input.skip(payload.start);
                found += 1;
                if request.command == Command::Disconnect {
                    return Ok(Left::Politely);
                }
                if !take_in(client, wire, input, request, payload.len()).await? {
                    return Ok(Left::Halfway);
                }
            }
            Ok(Decoded::Refused { cookie, errno, payload }) => {
                input.skip(payload.start);
                client.admit(0).await;
                if !skip(wire, input, payload.len()).await? {
                    client.release(1, 0);
                    return Ok(Left::Halfway);
                }
                client.answer(Reply::error(cookie, client.structured, errno, "request not understood", 0));
            }
            Ok(Decoded::Incomplete) => {
                if input.bytes().is_empty() {
                    match pace.next(std::mem::take(&mut found), client.context.now()) {
                        Some(tick) => client.context.sleep_until(tick).await,
                        None => wire.readable().await,
                    }
                }
                let began = !input.bytes().is_empty();
                if !input.fill(wire).await? {
                    return Ok(if began { Left::Halfway } else { Left::Silently });
                }
            }
            Err(violation) => return Ok(Left::Nonsense(violation)),
        }
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
    let charge = client.charge(&request);
    client.admit(charge).await;
    let mut data = None;
    if payload > 0 {
        match receive(client, wire, input, payload).await {
            Ok(Some(buf)) => data = Some(buf),
            cut => {
                client.release(1, charge);
                return cut.map(|_| false);
            }
        }
    }
    if client.put(Job { request, payload: data }) {
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
