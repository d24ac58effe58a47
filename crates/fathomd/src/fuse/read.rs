//! Requests by reading `/dev/fuse`: one task at a time reads and executes requests; one that must wait for its volume passes
//! the turn on and stays with its request.
//!
//! Reading and answering are ordinary calls that never block, as for sockets (see `crate::connection`): one poll by the ring
//! serves as many requests as there are. A message is one piece of memory each way, its payload at [`PAYLOAD`] and what
//! stands before a payload in front of it: the kernel takes a list of pieces at a price, and looks up each piece's
//! pages again.

use std::future::{Future, poll_fn};
use std::io::{ErrorKind, IoSlice};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use fathom_fuse::{HEADER, Operation, WRITE_HEAD, decode, opcode, reply};
use fathom_volume::Buf;

use crate::fuse::operate::Done;
use crate::fuse::{LARGEST, Mount};

/// Where the payload lies in a message's memory: aligned for direct I/O.
const PAYLOAD: usize = 4096;
/// Tasks, and with them requests on their way.
const MOST_READERS: usize = 256;
/// Requests answered at once before others than FUSE have a turn.
const STREAK: u32 = 64;

/// Reads and answers until the mount is over.
pub async fn work(mount: Rc<Mount>) {
    let mut streak = 0;
    loop {
        let turn = mount.turn.acquire().await;
        loop {
            if streak == STREAK {
                // By way of the ring, so that disks and clients are heard.
                streak = 0;
                mount.device.readable().await;
            }
            streak += 1;
            let message = mount.pool.get(PAYLOAD + LARGEST as usize);
            let Some(length) = mount.receive(&message).await else { return };
            let mut answer = pin!(mount.answer(length, message));
            if poll_fn(|task| Poll::Ready(poll_once(&mut answer, task))).await {
                continue;
            }
            drop(turn);
            if mount.turn.waiting() == 0 && mount.turn.free() > 0 && mount.readers.get() < MOST_READERS {
                mount.add_reader();
            }
            answer.await;
            break;
        }
    }
}

fn poll_once(future: &mut std::pin::Pin<&mut impl Future<Output = ()>>, task: &mut Context<'_>) -> bool {
    future.as_mut().poll(task).is_ready()
}

impl Mount {
    /// Reads a request, header and fixed arguments before [`PAYLOAD`] and what follows them there; how many bytes. None
    /// when the mount is over.
    async fn receive(&self, message: &Buf) -> Option<usize> {
        loop {
            if self.over.get() {
                return None;
            }
            let read = message.with_mut(|bytes| self.device.try_read(&mut bytes[PAYLOAD - WRITE_HEAD..]));
            match read {
                Ok(length) => return Some(length),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.device.readable().await,
                // Its sender did not want to wait any longer.
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
                Err(error) => {
                    if error.raw_os_error() != Some(libc::ENODEV) {
                        tracing::error!(%error, "cannot read from /dev/fuse");
                    }
                    self.gone();
                    return None;
                }
            }
        }
    }

    /// Answers a request of that many bytes.
    async fn answer(self: &Rc<Self>, length: usize, message: Buf) {
        let mut head = [0; WRITE_HEAD];
        message.with(|bytes| head.copy_from_slice(&bytes[PAYLOAD - WRITE_HEAD..PAYLOAD]));
        let (header, arguments) = head.split_at(HEADER);
        let operation = u32::from_ne_bytes([head[4], head[5], head[6], head[7]]);
        let gathered;
        let body = if matches!(operation, opcode::READ | opcode::WRITE) {
            arguments
        } else {
            let end = PAYLOAD - WRITE_HEAD + length.max(HEADER);
            gathered = message.with(|bytes| bytes[PAYLOAD - WRITE_HEAD + HEADER..end].to_vec());
            &gathered
        };
        let unique = u64::from_ne_bytes(head[8..16].try_into().expect("eight bytes"));
        if operation == opcode::INIT {
            let done = self.agree(body, &message.slice(PAYLOAD..message.len()));
            return self.send(unique, done, &message);
        }
        let request = match decode(header, body) {
            Ok(request) => request,
            Err(why) => return self.send(unique, Err(self.violated(why)), &message),
        };
        if !request.operation.is_answered() {
            return;
        }
        let message = match request.operation {
            // Memory for just this, which disks know; what was read into has room for a write of any length.
            Operation::Read { length, .. } => self.pool.get(PAYLOAD + length.min(LARGEST) as usize),
            _ => message,
        };
        let done = self.perform(&request, &message.slice(PAYLOAD..message.len())).await;
        self.send(unique, done, &message);
    }

    fn send(&self, unique: u64, done: Result<Done, i32>, message: &Buf) {
        let sent = match done {
            Ok(Done::Payload(length)) => {
                let whole = message.slice(PAYLOAD - reply::HEADER..PAYLOAD + length);
                whole.slice(0..reply::HEADER).copy_from(&reply::header(unique, 0, length));
                whole.with(|bytes| self.device.try_write(&[IoSlice::new(bytes)]))
            }
            Ok(Done::Written(length)) => {
                let mut bytes = [0; reply::HEADER + reply::WRITTEN];
                bytes[..reply::HEADER].copy_from_slice(&reply::header(unique, 0, reply::WRITTEN));
                bytes[reply::HEADER..].copy_from_slice(&reply::written(length));
                self.device.try_write(&[IoSlice::new(&bytes)])
            }
            Err(errno) => self.device.try_write(&[IoSlice::new(&reply::header(unique, errno, 0))]),
        };
        // ENOENT: the sender has gone. ENODEV: everybody has.
        if let Err(error) = sent
            && !matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENODEV))
        {
            tracing::error!(%error, unique, "the kernel refuses an answer");
        }
    }
}
