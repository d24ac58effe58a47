//! The receive buffer of a connection: one call takes in many requests.

use std::io;
use std::ops::Range;

use fathom_volume::{Buf, Pool};

use crate::wire::Wire;

/// Bytes taken in by one call: 64 reads fit many times, 30 writes of 8 KiB once.
const CAPACITY: usize = 256 << 10;

/// Bytes received and not used yet. They lie in a block of the pool, so that a payload can be handed on where it was
/// received, as a part of that block.
pub struct Input {
    pool: Pool,
    block: Buf,
    held: Range<usize>,
}

impl Input {
    /// Begins with what was received behind the handshake.
    pub fn new(pool: &Pool, rest: &[u8]) -> Self {
        let block = pool.get(CAPACITY.max(rest.len()));
        block.slice(0..rest.len()).copy_from(rest);
        Self { pool: pool.clone(), block, held: 0..rest.len() }
    }

    /// What is there.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the block has bytes, which are initialised, and they live as long as it does. What is held was handed to
        // nobody, and only this connection writes to it, by `&mut self`.
        unsafe { std::slice::from_raw_parts(self.block.as_ptr().add(self.held.start), self.held.len()) }
    }

    /// Takes that many bytes off the front.
    pub fn skip(&mut self, count: usize) {
        self.held.start += count;
        assert!(self.held.start <= self.held.end, "only bytes that are there can be taken");
    }

    /// Takes that many bytes off the front as a buffer, which lies wherever in memory they were received and keeps the
    /// whole block from being used again; None if they are not all there.
    pub fn part(&mut self, count: usize) -> Option<Buf> {
        if self.held.len() < count {
            return None;
        }
        let part = self.block.slice(self.held.start..self.held.start + count);
        self.skip(count);
        Some(part)
    }

    /// Receives more; false at the end.
    ///
    /// # Errors
    /// The connection's.
    pub async fn fill(&mut self, wire: &Wire) -> io::Result<bool> {
        // What is left is less than a header or the beginning of a payload: moving it costs little.
        if self.block.is_unique() {
            self.block.with_mut(|bytes| bytes.copy_within(self.held.clone(), 0));
        } else {
            let next = self.pool.get(CAPACITY.max(self.held.len() + 1));
            next.slice(0..self.held.len()).copy_from(self.bytes());
            self.block = next;
        }
        self.held = 0..self.held.len();
        let room = self.block.len() - self.held.end;
        // SAFETY: the rest of the block, which nobody else has a part of: parts were taken off the front of what was held.
        let rest = unsafe { std::slice::from_raw_parts_mut(self.block.as_ptr().add(self.held.end), room) };
        let count = wire.read(rest).await?;
        self.held.end += count;
        Ok(count > 0)
    }

    /// Fills `into` with the next bytes: with what is there, and what is missing straight from the connection. False if it
    /// ends before.
    ///
    /// # Errors
    /// The connection's.
    pub async fn take(&mut self, wire: &Wire, into: &mut [u8]) -> io::Result<bool> {
        let there = self.held.len().min(into.len());
        into[..there].copy_from_slice(&self.bytes()[..there]);
        self.skip(there);
        let mut rest = &mut into[there..];
        while !rest.is_empty() {
            match wire.read(rest).await? {
                0 => return Ok(false),
                count => rest = &mut rest[count..],
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use fathom_runtime::{RingSetup, Runtime};
    use fathom_volume::Pool;

    use super::{CAPACITY, Input};
    use crate::{Port, Wire};

    #[test]
    fn a_part_stays_as_it_was_received_and_the_block_is_used_again_when_it_is_gone() {
        let runtime = Runtime::real(RingSetup::default(), 1).expect("the tests need an io_uring");
        let context = runtime.context();
        let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
        let wire =
            Wire::plain(Port::new(ours, context.ring().expect("the real driver has one")).expect("a socket"));
        let pool = Pool::new(&context, 0);
        let mut input = Input::new(&pool, b"rest");
        let receive =
            |input: &mut Input| runtime.block_on(input.fill(&wire)).expect("it answers").expect("it reads");

        theirs.write_all(&[7; 5000]).expect("there is room");
        assert!(receive(&mut input));
        input.skip(4);
        let part = input.part(4096).expect("it is there");
        assert!(input.part(4096).is_none(), "only what has come");
        assert_eq!(input.bytes(), [7; 904]);
        theirs.write_all(&[8; 5000]).expect("there is room");
        assert!(receive(&mut input));
        part.with(|bytes| assert_eq!(bytes, [7; 4096]));
        assert_eq!(input.bytes()[..904], [7; 904]);
        assert_eq!(input.bytes()[904..], [8; 5000]);

        let block = input.bytes().as_ptr();
        drop((part, input.part(5904)));
        theirs.write_all(&[9; 100]).expect("there is room");
        assert!(receive(&mut input));
        assert_eq!((input.bytes(), input.bytes().as_ptr()), (&[9; 100][..], block));
        drop(theirs);
        assert!(!receive(&mut input), "the other side has gone");
        drop(input);
        assert_eq!(pool.trim(), 2 * CAPACITY, "one block while a part was held, and one beside it");
    }
}
