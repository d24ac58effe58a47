//! The disk's side of the protocol: a thread for each connection, requests in their order.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;

use fathom_nbd::{Command, Decoded, Export, Failure, Handshake, Progress, Request, Security, decode, reply};

use super::{Fault, Shared, State, Volatile};

/// Answers are sent when they have this many bytes, at the latest.
const MOST_ANSWERS: usize = 1 << 20;

/// Listens.
pub fn listen(shared: &Arc<Shared>) -> std::io::Result<()> {
    let _ = std::fs::remove_file(&shared.socket);
    let listener = UnixListener::bind(&shared.socket)?;
    let shared = shared.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            {
                let mut state = shared.state();
                if !state.online {
                    return;
                }
                state.connections += 1;
            }
            let shared = shared.clone();
            std::thread::spawn(move || {
                if let Ok(stream) = stream {
                    // However a connection ends, what it asked for before has been done.
                    let _ = talk(&shared, stream);
                }
                shared.state().connections -= 1;
                shared.ended.notify_all();
            });
        }
    });
    Ok(())
}

/// Wakes the listening thread, which then sees that it must end.
pub fn wake(shared: &Shared) {
    let _ = UnixStream::connect(&shared.socket);
    let _ = std::fs::remove_file(&shared.socket);
}

fn talk(shared: &Shared, mut stream: UnixStream) -> std::io::Result<()> {
    let export = Export {
        name: String::new(),
        description: String::new(),
        size: shared.state().disk.visible().size(),
        block: shared.sector,
        preferred: 4096,
        largest: 32 << 20,
        read_only: false,
        multi_connection: false,
    };
    let exports = [export];
    let mut handshake = Handshake::new(Security::Plain);
    let mut input = vec![0; 64 << 10];
    let session = loop {
        stream.write_all(&std::mem::take(&mut handshake.output))?;
        let got = stream.read(&mut input)?;
        if got == 0 {
            return Ok(());
        }
        match handshake.feed(&input[..got], &exports) {
            Progress::More => {}
            Progress::Ready(session) => break session,
            Progress::StartTls | Progress::Close(_) => return Ok(()),
        }
    };
    stream.write_all(&std::mem::take(&mut handshake.output))?;
    let mut held = handshake.rest();
    let mut answers = Vec::new();
    loop {
        let mut at = 0;
        loop {
            match decode(&held[at..]) {
                Ok(Decoded::Request(request, payload)) if held.len() - at >= payload.end => {
                    if request.command == Command::Disconnect {
                        return stream.write_all(&answers);
                    }
                    let data = &held[at + payload.start..at + payload.end];
                    if !serve(shared, &request, data, session.structured, &mut answers) {
                        return Ok(());
                    }
                    at += payload.end;
                }
                Ok(Decoded::Refused { cookie, errno, payload }) if held.len() - at >= payload.end => {
                    answers.extend(reply::simple(cookie, errno));
                    at += payload.end;
                }
                Ok(_) => break,
                Err(violation) => return Err(std::io::Error::other(violation.to_string())),
            }
            if answers.len() > MOST_ANSWERS {
                stream.write_all(&std::mem::take(&mut answers))?;
            }
        }
        held.drain(..at);
        stream.write_all(&std::mem::take(&mut answers))?;
        let got = stream.read(&mut input)?;
        if got == 0 {
            return Ok(());
        }
        held.extend(&input[..got]);
    }
}

/// What a failing request still changes on the disk.
fn fail(disk: &mut Volatile, fault: &mut Fault, request: &Request, data: &[u8], sector: u64) {
    match request.command {
        Command::Write | Command::Trim | Command::WriteZeroes { .. } => {
            let part = fault.part(u64::from(request.length), sector);
            if !part.is_empty() {
                let (at, length) = (request.offset + part.start, part.end - part.start);
                let data = data.get(part.start as usize..part.end as usize);
                disk.write(at, length, data, false);
            }
        }
        Command::Flush if fault.forgets => disk.forget(),
        _ => {}
    }
}

/// Does one request; false if there is no power for it.
fn serve(shared: &Shared, request: &Request, data: &[u8], structured: bool, answers: &mut Vec<u8>) -> bool {
    let Request { cookie, offset, length, fua, .. } = *request;
    let mut state = shared.state();
    if shared.power.is_off() {
        return false;
    }
    let bytes = u64::from(length);
    let State { disk, fault, .. } = &mut *state;
    let within = offset.checked_add(bytes).is_some_and(|end| end <= disk.visible().size());
    let failure = match request.command {
        _ if !within => Some(Failure::Invalid),
        _ if fault.as_mut().is_some_and(|fault| fault.hits(request.command)) => {
            let fault = fault.as_mut().expect("it hits");
            fail(disk, fault, request, data, u64::from(shared.sector));
            (!fault.silent).then_some(Failure::InputOutput)
        }
        Command::Read { .. } => {
            if structured {
                answers.extend(reply::data(cookie, offset, length));
            } else {
                answers.extend(reply::simple(cookie, 0));
            }
            let from = answers.len();
            answers.resize(from + length as usize, 0);
            disk.visible().read(offset, &mut answers[from..]);
            drop(state);
            shared.power.count();
            return !shared.power.is_off();
        }
        Command::Write => {
            disk.write(offset, bytes, Some(data), fua);
            None
        }
        Command::Trim | Command::WriteZeroes { .. } => {
            disk.write(offset, bytes, None, fua);
            None
        }
        Command::Flush => {
            disk.flush();
            None
        }
        Command::Cache => None,
        Command::BlockStatus { .. } | Command::Disconnect => Some(Failure::Invalid),
    };
    drop(state);
    // The request at which the power fails may have been done; it is not answered.
    shared.power.count();
    if shared.power.is_off() {
        return false;
    }
    match (failure, structured) {
        (Some(failure), true) => answers.extend(reply::error(cookie, failure as u32, "")),
        (failure, false) => {
            answers.extend(reply::simple(cookie, failure.map_or(0, |failure| failure as u32)))
        }
        (None, true) => answers.extend(reply::done(cookie)),
    }
    true
}
