//! `skeleton-layer`: passes requests on, for now.
//!
//! # What it does
//! Hands every request to the volume it stands on.
//!
//! # Why
//! Say which question about a database's storage it answers.
//!
//! # Parameters
//! - `backing` (volume): what it stands on.
//!
//! # Example
//! ```toml
//! [volumes.data]
//! kind = "skeleton-layer"
//! backing = "disk"
//! ```
//!
//! # Limits
//! Say what it does not do.

use fathom_settings::{Key, Section, VolumeName};
use fathom_volume::{Blueprint, Buf, Env, Geometry, Handle, NodeKind, Request, Result, Volume, manual};

/// Settings of the layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Name of the volume it stands on.
    pub backing: String,
}

/// The registry's record.
pub const KIND: NodeKind = NodeKind {
    name: "skeleton-layer",
    summary: "passes requests on",
    manual: manual!("skeleton_layer.rs"),
    keys: &[Key::required("backing", "name of a volume", "The volume below.")],
    outside: false,
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Blueprint>),
};

impl Config {
    /// Reads the settings; None if anything is wrong.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        let VolumeName(backing) = section.required::<VolumeName>("backing")?;
        section.is_clean().then_some(Self { backing })
    }
}

/// A live layer.
pub struct SkeletonLayer {
    backing: Handle,
}

impl Volume for SkeletonLayer {
    fn geometry(&self) -> &Geometry {
        self.backing.geometry()
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        self.backing.read(request.part(request.offset, request.length), into).await
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        self.backing.write(request.part(request.offset, request.length), from).await
    }

    async fn flush(&self, request: &Request) -> Result<()> {
        self.backing.flush(request.flush_for()).await
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        self.backing.trim(request.part(request.offset, request.length)).await
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        self.backing.write_zeroes(request.part(request.offset, request.length)).await
    }
}

impl Blueprint for Config {
    fn children(&self) -> Vec<String> {
        vec![self.backing.clone()]
    }

    fn build(&self, env: &Env, name: &str, mut children: Vec<Handle>) -> Result<Handle> {
        let backing = children.pop().expect("the builder hands one volume per child");
        Handle::new(&env.context, name, "skeleton-layer", SkeletonLayer { backing })
    }
}

#[cfg(test)]
mod tests {
    use fathom_conformance::Suite;
    use fathom_volume::{Blueprint, Geometry};

    use super::Config;

    #[test]
    fn it_conforms_in_both_drivers() {
        let config = Config { backing: "disk".to_owned() };
        Suite::new(move |fixture| {
            let disk = fixture.disk("disk", Geometry::plain((2 << 20) + 512));
            config.build(&fixture.env, "volume", vec![disk])
        })
        .check();
    }
}
