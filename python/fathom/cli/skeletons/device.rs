//! `@name@`: answers at once and keeps nothing, for now.
//!
//! # What it does
//! Every request succeeds; a read leaves its buffer as it is.
//!
//! # Why
//! Say which device it stands for.
//!
//! # Parameters
//! - `size` (bytes): what it holds.
//!
//! # Example
//! ```toml
//! [volumes.disk]
//! kind = "@name@"
//! size = "1GiB"
//! ```
//!
//! # Limits
//! Keeps no data, so it does not pass the conformance suite yet.

use fathom_settings::{Key, Section};
use fathom_units::Bytes;
use fathom_volume::{Blueprint, Buf, Env, Geometry, Handle, NodeKind, Request, Result, Volume, manual};

/// Settings of the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Bytes it holds.
    pub size: u64,
}

/// The registry's record.
pub const KIND: NodeKind = NodeKind {
    name: "@name@",
    summary: "answers at once and keeps nothing",
    manual: manual!("@file@.rs"),
    keys: &[Key::required("size", "size", "What it holds.")],
    outside: false,
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Blueprint>),
};

impl Config {
    /// Reads the settings; None if anything is wrong.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        let size = section.required::<Bytes>("size")?.get();
        section.is_clean().then_some(Self { size })
    }
}

/// A live device.
pub struct @Type@ {
    geometry: Geometry,
}

impl Volume for @Type@ {
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

impl Blueprint for Config {
    fn children(&self) -> Vec<String> {
        Vec::new()
    }

    fn build(&self, env: &Env, name: &str, _: Vec<Handle>) -> Result<Handle> {
        Handle::new(&env.context, name, "@name@", @Type@ { geometry: Geometry::plain(self.size) })
    }
}
