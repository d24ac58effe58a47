//! Quantities as types: a length cannot be taken for a duration, nor MB/s for MiB/s.
//!
//! | type | holds | reads | prints |
//! |---|---|---|---|
//! | [`Bytes`] | whole bytes | `4KiB`, `1 MB`, `512`, `4TiB` | `4 KiB`, `1 MB` |
//! | [`Span`] | whole nanoseconds | `1ms`, `250us`, `5s`, `10min` | `1 ms`, `12.5 ms` |
//! | [`Rate`] | whole bytes per second | `125MiB/s`, `593.75MB/s` | `125 MiB/s`, `594 MB/s` |
//! | [`Iops`] | events per second | `3000`, `3_000/s` | `3000/s` |
//! | [`Percent`] | 0 to 100 % | `2%` | `2%` |
//!
//! Decimal units (kB, MB, GB) and binary ones (KiB, MiB, GiB) are kept apart: neither is ever read as the other.
//!
//! Each type prints in two forms. `{}` is for people: short, rounded to three significant digits where it must be.
//! `{:#}` is exact: what it prints is read back as the same value.
//!
//! ```
//! use fathom_units::{Bytes, Rate};
//! let size: Bytes = "4TiB".parse().unwrap();
//! assert_eq!(size.get(), 4 << 40);
//! let rate: Rate = "593.75MB/s".parse().unwrap();
//! assert_eq!(format!("{rate}"), "594 MB/s");
//! assert_eq!(format!("{rate:#}"), "593.75MB/s");
//! ```

mod bytes;
mod error;
mod iops;
mod number;
mod percent;
mod rate;
#[cfg(feature = "serde")]
mod serde;
mod span;

pub use bytes::Bytes;
pub use error::{ErrorKind, UnitError};
pub use iops::Iops;
pub use percent::Percent;
pub use rate::Rate;
pub use span::Span;
