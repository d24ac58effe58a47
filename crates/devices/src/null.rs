//! `null`: answers at once and keeps nothing.
//!
//! # What it does
//! Every request succeeds without doing anything, in both clocks. Written data is not returned: a read gives zeroes, because
//! its buffer may hold what another volume's request left there.
//!
//! # Why
//! It shows the cost of the layers above, and nothing else.
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

use fathom_settings::{Key, Section};
use fathom_volume::{Blueprint, Buf, Env, Geometry, Handle, NodeKind, Request, Result, Volume, manual};

use crate::sectors;

/// The registry's record.
pub const KIND: NodeKind = NodeKind {
    name: "null",
    summary: "answers at once and keeps nothing",
    manual: manual!("null.rs"),
    keys: &[Key::required("size", "size", "Bytes it pretends to hold.")],
    outside: false,
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Blueprint>),
};

/// Settings of a null volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Bytes it pretends to hold.
    pub size: u64,
}

impl Config {
    /// Reads the settings; None if anything is wrong.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        let size = sectors::required_size(section, 512);
        section.is_clean().then_some(Self { size: size? })
    }
}

impl Blueprint for Config {
    fn children(&self) -> Vec<String> {
        Vec::new()
    }

    fn build(&self, env: &Env, name: &str, _: Vec<Handle>) -> Result<Handle> {
        Handle::new(&env.context, name, KIND.name, Null::new(self))
    }
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

    async fn read(&self, _: &Request, into: Buf) -> Result<()> {
        into.with_mut(|bytes| bytes.fill(0));
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

#[cfg(test)]
mod tests {
    use fathom_conformance::Suite;
    use fathom_runtime::Runtime;
    use fathom_volume::{Blueprint, Env, Pool, Request};

    use super::Config;
    use crate::testing::read;

    #[test]
    fn it_conforms_but_for_its_content() {
        let config = Config { size: (4 << 20) + 512 };
        Suite::new(move |bench| config.build(&bench.env, "volume", Vec::new())).without_data().check();
    }

    #[test]
    fn a_read_shows_nothing_of_what_its_buffer_held() {
        let runtime = Runtime::virtual_time(1);
        let context = runtime.context();
        let env = Env::new(context.clone(), Pool::new(&context));
        let volume = Config { size: 1 << 20 }.build(&env, "volume", Vec::new()).expect("it needs nothing");
        let held = env.pool.copy_of(&[7; 4096]);
        let read = volume.read(Request::new(0, 4096), held.clone());
        runtime.block_on(read).expect("it answers").expect("it never fails");
        held.with(|bytes| assert_eq!(bytes, [0; 4096]));
    }

    #[test]
    fn settings_are_read_and_mistakes_named() {
        assert_eq!(read("size = \"1TiB\"", Config::read), Ok(Config { size: 1 << 40 }));
        let mistakes = read("size = \"0B\"\nsice = 1", Config::read).expect_err("two");
        assert_eq!(mistakes.len(), 2, "{mistakes:?}");
    }
}
