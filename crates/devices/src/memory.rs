//! `memory`: a volume held in memory.
//!
//! # What it does
//! Stores what is written, in pieces of 64 KiB that are taken when first touched; what was never written, was trimmed
//! or zeroed reads as zeroes. Every request is answered at once, in both clocks. Its content ends with the process.
//!
//! # Why
//! The reference every other volume is compared with; the data behind a `model`; the fastest possible device to find
//! what the software above costs.
//!
//! # Parameters
//! - `size` (bytes): what the volume holds. Memory is used only for what is written.
//! - `logical_sector` (bytes, 512): offsets and lengths of requests are multiples of it.
//! - `physical_sector` (bytes, as `logical_sector`): only reported; no read-modify-write is modelled here, see `sector`.
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

use fathom_volume::{Buf, Geometry, Request, Result, Volume};

use crate::sparse::Sparse;

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
    use fathom_runtime::Runtime;
    use fathom_volume::{Handle, Pool, Request};

    use super::{Config, Memory};

    #[test]
    fn it_gives_back_what_was_written_and_zeroes_elsewhere() {
        let runtime = Runtime::virtual_time(1);
        let context = runtime.context();
        let pool = Pool::new(&context, 1 << 20);
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
            .block_on(async move {
                use fathom_volume::Volume;
                inner.write(&Request::new(0, 8192), pool.get(8192)).await
            })
            .expect("nothing waits")
            .expect("memory does not fail");
        assert_eq!(memory.resident(), 0);
    }
}
