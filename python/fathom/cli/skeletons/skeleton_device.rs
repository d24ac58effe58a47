//! `skeleton-device`: answers at once and keeps nothing, for now.
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
//! kind = "skeleton-device"
//! size = "1GiB"
//! ```
//!
//! # Limits
//! Keeps no data, so it passes only those parts of the conformance suite that look at none.

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
    name: "skeleton-device",
    summary: "answers at once and keeps nothing",
    manual: manual!("skeleton_device.rs"),
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
pub struct SkeletonDevice {
    geometry: Geometry,
}

impl Volume for SkeletonDevice {
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
        Handle::new(
            &env.context,
            name,
            "skeleton-device",
            SkeletonDevice { geometry: Geometry::plain(self.size) },
        )
    }
}

#[cfg(test)]
mod tests {
    use fathom_conformance::Suite;
    use fathom_volume::Blueprint;

    use super::Config;

    #[test]
    fn it_conforms_but_for_its_content() {
        let config = Config { size: (4 << 20) + 512 };
        Suite::new(move |fixture| config.build(&fixture.env, "volume", Vec::new())).without_data().check();
    }
}
