//! `memory`: a volume held in memory.
//!
//! # What it does
//! Stores what is written, in pieces of 64 KiB that are allocated when first touched. Data that was never written, was
//! trimmed or zeroed reads as zeroes. Every request is answered at once, in both clocks. The content ends with the
//! process. From 2 MiB on, memory is allocated in huge pages where the kernel has them; trimmed memory is kept for
//! later writes.
//!
//! # Why
//! The reference for every other volume; the data behind a `model`; the fastest device to measure what the software
//! above costs.
//!
//! # Example
//! ```toml
//! [volumes.scratch]
//! kind = "memory"
//! size = "1GiB"
//! ```
//!
//! # Limits
//! A run without payload (buffers with lengths only) stores nothing: requests are checked, counted and forgotten.

use std::cell::RefCell;

use fathom_settings::{Key, Section};
use fathom_volume::{Blueprint, Buf, Env, Geometry, Handle, NodeKind, Request, Result, Volume, manual};

use crate::sectors;
use crate::sparse::Sparse;

/// The registry's record.
pub const KIND: NodeKind = NodeKind {
    name: "memory",
    summary: "a volume held in memory",
    manual: manual!("memory.rs"),
    keys: &[
        Key::required("size", "size", "Bytes it holds; memory is used only for what is written."),
        sectors::LOGICAL,
        sectors::PHYSICAL,
    ],
    outside: false,
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Blueprint>),
};

/// Settings of a memory volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Bytes it holds.
    pub size: u64,
    /// Bytes; requests are multiples of it.
    pub logical_sector: u32,
    /// Bytes; only reported.
    pub physical_sector: u32,
}

impl Config {
    /// A memory volume of that size with 512-byte sectors.
    pub fn of_size(size: u64) -> Self {
        Self { size, logical_sector: 512, physical_sector: 512 }
    }

    /// Reads the settings; None if anything is wrong.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        let (logical_sector, physical_sector) = sectors::read(section);
        let size = sectors::required_size(section, logical_sector);
        section.is_clean().then_some(Self { size: size?, logical_sector, physical_sector })
    }
}

impl Blueprint for Config {
    fn children(&self) -> Vec<String> {
        Vec::new()
    }

    fn build(&self, env: &Env, name: &str, _: Vec<Handle>) -> Result<Handle> {
        Handle::new(&env.context, name, KIND.name, Memory::new(self))
    }
}

/// A volume held in memory.
pub struct Memory {
    geometry: Geometry,
    content: RefCell<Sparse>,
}

impl Memory {
    /// An empty volume.
    pub fn new(config: &Config) -> Self {
        let geometry = Geometry {
            logical_sector: config.logical_sector,
            physical_sector: config.physical_sector,
            // A write is one copy on one thread: nothing can tear it.
            atomic_write: Geometry::UNLIMITED_TRANSFER,
            ..Geometry::plain(config.size)
        };
        Self { geometry, content: RefCell::default() }
    }

    /// Bytes of memory its content takes.
    pub fn resident(&self) -> usize {
        self.content.borrow().resident()
    }
}

impl Volume for Memory {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        if into.has_bytes() {
            into.with_mut(|bytes| self.content.borrow().read(request.offset, bytes));
        }
        Ok(())
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        if from.has_bytes() {
            from.with(|bytes| self.content.borrow_mut().write(request.offset, bytes));
        }
        Ok(())
    }

    async fn flush(&self, _: &Request) -> Result<()> {
        Ok(())
    }

    fn trims_to_zeroes(&self) -> bool {
        true
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        self.write_zeroes(request).await
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        self.content.borrow_mut().zero(request.offset, request.length);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use fathom_conformance::Suite;
    use fathom_runtime::Runtime;
    use fathom_volume::{Blueprint, Handle, Pool, Request, Volume};

    use super::{Config, Memory};
    use crate::testing::read;

    #[test]
    fn it_conforms() {
        for (logical_sector, physical_sector) in [(512, 512), (512, 4096), (4096, 4096)] {
            let config = Config { size: (4 << 20) + 4096, logical_sector, physical_sector };
            Suite::new(move |bench| config.build(&bench.env, "volume", Vec::new())).check();
        }
    }

    #[test]
    fn settings_are_read_and_mistakes_named() {
        let config =
            read("size = \"1GiB\"\nlogical_sector = \"4KiB\"", Config::read).expect("sound settings");
        assert_eq!(config, Config { size: 1 << 30, logical_sector: 4096, physical_sector: 4096 });
        let mistakes = read("size = \"1001B\"\nphysical_sector = \"600B\"", Config::read).expect_err("two");
        assert_eq!(mistakes.len(), 2, "{mistakes:?}");
    }

    #[test]
    fn it_gives_back_what_was_written_and_zeroes_elsewhere() {
        let runtime = Runtime::virtual_time(1);
        let context = runtime.context();
        let pool = Pool::new(&context);
        let memory = Memory::new(&Config::of_size(1 << 40));
        let volume = Handle::new(&context, "m", "memory", memory).expect("the geometry is sound");
        let at = (1 << 40) - 1024;
        let done = runtime.block_on(async {
            volume.write(Request::new(at, 512), pool.copy_of(&[9; 512])).await?;
            let buf = pool.get(1024);
            volume.read(Request::new(at, 1024), buf.clone()).await?;
            buf.with(|bytes| assert_eq!((bytes[511], bytes[512]), (9, 0)));
            volume.trim(Request::new(at, 1024)).await?;
            volume.read(Request::new(at, 1024), buf.clone()).await?;
            buf.with(|bytes| assert!(bytes.iter().all(|byte| *byte == 0)));
            Ok::<_, fathom_volume::Error>(())
        });
        done.expect("nothing waits").expect("memory does not fail");
    }

    #[test]
    fn without_payload_it_stores_nothing() {
        let runtime = Runtime::virtual_time(1);
        let pool = Pool::hollow();
        let memory = std::rc::Rc::new(Memory::new(&Config::of_size(1 << 30)));
        let inner = std::rc::Rc::clone(&memory);
        runtime
            .block_on(async move { inner.write(&Request::new(0, 8192), pool.get(8192)).await })
            .expect("nothing waits")
            .expect("memory does not fail");
        assert_eq!(memory.resident(), 0);
    }
}
