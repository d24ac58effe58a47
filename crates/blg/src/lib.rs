//! Reads Windows performance logs (`.blg`) without Windows: counter values over time.
//!
//! A BLG is an event trace file. Its events carry the counters' raw values, so that every average is exact for the
//! interval between two samples. The layout was read from logs themselves; Microsoft does not document it. The blocks of
//! object mode and the formulas of the counter types are documented (winperf.h; "Performance Counters" in Microsoft's
//! Win32 documentation, page "Counter types").
//!
//! ```text
//! file   = buffers of equal size, ordered by sequence number          container.rs
//! buffer = header, events                                             container.rs
//! record = the parts of one or more events, joined                    record.rs
//!   0x20 list of what is logged                                       list.rs
//!   0x24 names by index (object mode)                                 names.rs
//!   0x22 one sample of everything                                     sample.rs, perfdata.rs
//! value  = two samples of one counter, by the counter's type          formula.rs
//! ```
//!
//! What is not understood is an error with its offset, never a guess. A raw value carries no checksum: a flipped bit in
//! one is indistinguishable from another value.

mod bytes;
mod container;
mod fault;
mod formula;
mod list;
mod log;
mod names;
mod perfdata;
mod record;
mod sample;
mod zone;

pub use container::{Facts, recognise};
pub use fault::Fault;
pub use log::{Batch, Log, Series};
