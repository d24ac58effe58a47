//! The receive buffer of a connection: one call takes in many requests.

use std::io;
use std::ops::Range;

use crate::wire::Wire;

/// Bytes taken in by one call: 64 reads fit many times, 30 writes of 8 KiB once.
const CAPACITY: usize = 256 << 10;

/// Bytes received and not used yet.
pub struct Input {
    bytes: Box<[u8]>,
    held: Range<usize>,
}

impl Input {
    /// Begins with what was received behind the handshake.
    pub fn new(rest: &[u8]) -> Self {
        let mut bytes = vec![0; CAPACITY.max(rest.len())].into_boxed_slice();
        bytes[..rest.len()].copy_from_slice(rest);
        Self { bytes, held: 0..rest.len() }
    }

    /// What is there.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.held.clone()]
    }

    /// Takes that many bytes off the front.
    pub fn skip(&mut self, count: usize) {
        self.held.start += count;
        assert!(self.held.start <= self.held.end, "only bytes that are there can be taken");
    }

    /// Receives more; false at the end.
    ///
    /// # Errors
    /// The connection's.
    pub async fn fill(&mut self, wire: &Wire) -> io::Result<bool> {
        // What is left is less than a header or the beginning of a small payload: moving it costs little.
        self.bytes.copy_within(self.held.clone(), 0);
        self.held = 0..self.held.len();
        let count = wire.read(&mut self.bytes[self.held.end..]).await?;
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
