//! Returns memory to the system when clients have gone.

use std::rc::Rc;

use fathom_runtime::{Nanos, SECOND};
use fathom_volume::Pool;

use crate::state::State;

/// How long nobody is connected before memory is given back: clients that come and go keep it.
const IDLE: Nanos = SECOND;

/// Gives back what large requests and many clients took, whenever the last client has been gone for a second. The pool
/// keeps every block it ever needed, and the allocator what lies between blocks in use: without this, a daemon holds
/// for good what its busiest moment took.
pub async fn give_back_when_idle(state: Rc<State>, pool: Pool) {
    loop {
        state.gone.wait().await;
        if !state.connections.borrow().is_empty() {
            continue;
        }
        state.context.sleep(IDLE).await;
        if state.connections.borrow().is_empty() {
            let bytes = pool.trim();
            // SAFETY: glibc may be asked at any time; other threads' arenas are locked one by one.
            #[cfg(target_env = "gnu")]
            let more = unsafe { libc::malloc_trim(0) } == 1;
            #[cfg(not(target_env = "gnu"))]
            let more = false;
            tracing::debug!(bytes, more, "memory given back");
        }
    }
}
