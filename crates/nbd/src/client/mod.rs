//! The client's side: an export is opened, requests are written, answers are cut out of a receive buffer.
//!
//! Implemented: the fixed newstyle handshake with STARTTLS, STRUCTURED_REPLY, GO (with block sizes) and, to name what there is
//! when an export is not, LIST; in transmission read, write, flush, trim, write-zeroes and disconnect with simple and
//! structured answers. A server that knows no GO (before 2016) is refused.

mod answer;
mod opening;
mod question;

pub use answer::{Answer, Chunk, LONGEST_CHUNK, ProtocolError, decode};
pub use opening::{Offered, Opening, Step};
pub use question::{Question, SIZE};

#[cfg(test)]
mod tests;
