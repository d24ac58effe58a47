//! Cancels polls on listening sockets at the end: the program could not exit while the ring waits.

use fathom_runtime::Ring;
use io_uring::{opcode, types::CancelBuilder};

/// Calls back every operation that is on its way. Call it when nothing that matters is.
pub async fn cancel_everything(ring: &Ring) {
    let entry = opcode::AsyncCancel2::new(CancelBuilder::any()).build();
    // SAFETY: a cancellation points to no memory.
    unsafe { ring.start(entry, None) }.await;
}
