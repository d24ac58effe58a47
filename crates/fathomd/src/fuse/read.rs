//! Requests by reading `/dev/fuse`: one task at a time reads and has requests done; one whose volume lets it wait passes
//! the turn on and stays with its request.
//!
//! Reading and answering are ordinary calls that never block, as for sockets (see `crate::net`): one poll by the ring
//! serves as many requests as there are.

use std::future::{Future, poll_fn};
use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use fathom_fuse::{HEADER, WRITE_HEAD, decode, opcode, reply};
use fathom_volume::Buf;

use crate::fuse::{Front, LARGEST};

/// Tasks, and with them requests on their way.
const MOST_READERS: usize = 256;
/// Requests answered at once before others than FUSE have a turn.
const STREAK: u32 = 64;

/// Reads and answers until the mount is over.
pub async fn work(front: Rc<Front>) {
    let mut streak = 0;
    loop {
        let turn = front.turn.acquire().await;
        loop {
            if streak == STREAK {
                // By way of the ring, so that disks and clients are heard.
                streak = 0;
                front.device.readable().await;
            }
            streak += 1;
            let data = front.pool.get(LARGEST as usize);
            let mut head = [0; WRITE_HEAD];
            let Some(length) = front.receive(&mut head, &data).await else { return };
            let mut answer = pin!(front.answer(head, length, data));
            if poll_fn(|task| Poll::Ready(poll_once(&mut answer, task))).await {
                continue;
            }
            drop(turn);
            if front.turn.waiting() == 0 && front.turn.free() > 0 && front.readers.get() < MOST_READERS {
                front.add_reader();
            }
            answer.await;
            break;
        }
    }
}

fn poll_once(future: &mut std::pin::Pin<&mut impl Future<Output = ()>>, task: &mut Context<'_>) -> bool {
    future.as_mut().poll(task).is_ready()
}

impl Front {
    /// Reads a request: header and fixed arguments apart from what follows them, so that a write's payload is aligned.
    /// None when the mount is over.
    async fn receive(&self, head: &mut [u8; WRITE_HEAD], data: &Buf) -> Option<usize> {
        loop {
            if self.over.get() {
                return None;
            }
            let read = data.with_mut(|data| {
                self.device.try_read_vectored(&mut [IoSliceMut::new(head), IoSliceMut::new(data)])
            });
            match read {
                Ok(length) => return Some(length),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.device.readable().await,
                // Its sender did not want to wait any longer.
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
                Err(error) => {
                    if error.raw_os_error() != Some(libc::ENODEV) {
                        tracing::error!(%error, "cannot read from /dev/fuse");
                    }
                    self.end();
                    return None;
                }
            }
        }
    }

    /// Answers a request of that many bytes.
    async fn answer(self: &Rc<Self>, head: [u8; WRITE_HEAD], length: usize, data: Buf) {
        let (header, arguments) = head.split_at(HEADER);
        let operation = u32::from_ne_bytes([head[4], head[5], head[6], head[7]]);
        let gathered;
        let body = if matches!(operation, opcode::READ | opcode::WRITE) {
            arguments
        } else {
            let (short, rest) = (length.min(WRITE_HEAD), length.saturating_sub(WRITE_HEAD));
            gathered = data.with(|data| [&arguments[..short.saturating_sub(HEADER)], &data[..rest]].concat());
            &gathered
        };
        let unique = u64::from_ne_bytes(head[8..16].try_into().expect("eight bytes"));
        let done = if operation == opcode::INIT {
            self.agree(body, &data)
        } else {
            match decode(header, body) {
                Ok(request) if !request.operation.is_answered() => return,
                Ok(request) => self.perform(&request, &data).await,
                Err(why) => Err(self.violated(why)),
            }
        };
        self.send(unique, done, &data);
    }

    fn send(&self, unique: u64, done: Result<usize, i32>, data: &Buf) {
        let (errno, payload) = done.map_or_else(|errno| (errno, 0), |payload| (0, payload));
        let header = reply::header(unique, errno, payload);
        let sent =
            data.with(|data| self.device.try_write(&[IoSlice::new(&header), IoSlice::new(&data[..payload])]));
        // ENOENT: the sender has gone. ENODEV: everybody has.
        if let Err(error) = sent
            && !matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENODEV))
        {
            tracing::error!(%error, unique, "the kernel does not take an answer");
        }
    }
}
