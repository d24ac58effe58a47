//! `null`: answers at once and keeps nothing.
//!
//! # What it does
//! Every request succeeds without doing anything, in both clocks. A read leaves its buffer as it is: the content is
//! unspecified, and what was written is not given back.
//!
//! # Why
//! It shows what the layers above cost, and nothing else.
//!
//! # Parameters
//! - `size` (bytes): what the volume pretends to hold.
//!
//! # Example
//! ```toml
//! [volumes.nothing]
//! kind = "null"
//! size = "1TiB"
//! ```
//!
//! # Limits
//! Not for verified workloads or databases: use `memory`.

use fathom_volume::{Buf, Geometry, Request, Result, Volume};

/// Settings of a null volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Bytes it pretends to hold.
    pub size: u64,
}

/// A volume that keeps nothing.
pub struct Null {
    geometry: Geometry,
}

impl Null {
    /// A null volume.
    pub fn new(config: &Config) -> Self {
        Self { geometry: Geometry::plain(config.size) }
    }
}

impl Volume for Null {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, _: &Request, _: Buf) -> Result<()> {
        Ok(())
    }

    async fn write(&self, _: &Request, _: Buf) -> Result<()> {
        Ok(())
    }

    async fn flush(&self, _: &Request) -> Result<()> {
        Ok(())
    }

    async fn trim(&self, _: &Request) -> Result<()> {
        Ok(())
    }

    async fn write_zeroes(&self, _: &Request) -> Result<()> {
        Ok(())
    }
}
