//! Connections on the executor: descriptors that wait through its ring, bytes in the clear or encrypted, what was received
//! and not used yet. The daemon serves through it, the `nbd` device asks through it.

mod connect;
mod input;
mod port;
pub mod tls;
mod wire;

pub use connect::Address;
pub use input::Input;
pub use port::Port;
pub use wire::Wire;
