//! Three files on one volume: what SQLite needs of a file system, and nothing more.
//!
//! The volume is cut into fixed regions for the database, its write-ahead log and its rollback journal. Each region
//! has two header sectors that are written in turn, so that a power cut leaves one of them whole: size and existence
//! of a file change atomically. Between syncs writes stay in a page cache, as they would under a kernel; a sync writes
//! the dirty pages, side by side, then the header if it changed, then flushes the volume.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use fathom_runtime::Runtime;
use fathom_volume::{Buf, Error, ErrorKind, Handle, Pool, Request, Result};
use futures_util::future::try_join_all;

/// The page of the cache, and the unit in which the volume is written.
const PAGE: u64 = 4096;
/// Where data of a region begins, after its two headers.
const HEADERS: u64 = 2 * PAGE;
/// Larger runs of dirty pages are cut into requests of this size; smaller ones where the volume takes less at once.
const LARGEST_WRITE: u64 = 1 << 20;
/// Requests of one sync in flight at once, as a kernel's writeback keeps several.
const WRITES_AT_ONCE: usize = 32;
/// Pages kept before clean ones are dropped and dirty ones written ahead of their sync: 256 MiB.
const CACHED_PAGES: usize = 65_536;
const MAGIC: [u8; 8] = *b"FTHMSQL1";

/// The files SQLite keeps beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// The database.
    Database,
    /// Its write-ahead log.
    Wal,
    /// Its rollback journal.
    Journal,
}

impl FileKind {
    const ALL: [Self; 3] = [Self::Database, Self::Wal, Self::Journal];

    /// The region's share of the volume, in sixteenths: a transaction that rewrites the whole database needs a log
    /// of its size.
    fn region(self) -> std::ops::Range<u64> {
        match self {
            Self::Database => 0..8,
            Self::Wal => 8..14,
            Self::Journal => 14..16,
        }
    }
}

struct Page {
    bytes: Box<[u8]>,
    dirty: bool,
}

struct File {
    kind: FileKind,
    start: u64,
    capacity: u64,
    size: Cell<u64>,
    exists: Cell<bool>,
    generation: Cell<u64>,
    header_changed: Cell<bool>,
    pages: RefCell<BTreeMap<u64, Page>>,
}

/// The three files. Every call runs the executor until the volume has answered: SQLite waits, as it would in a system
/// call, and in virtual time only the clock of the simulation moves.
pub struct Store<'r> {
    runtime: &'r Runtime,
    volume: Handle,
    pool: Pool,
    files: [File; 3],
}

impl<'r> Store<'r> {
    /// The smallest volume that can hold a database.
    pub const LEAST_BYTES: u64 = 1 << 20;

    /// Opens the files of a volume; one that holds none yet has three files that do not exist.
    ///
    /// # Errors
    /// If the volume is smaller than 1 MiB, runs without payload, or fails.
    pub fn open(runtime: &'r Runtime, volume: Handle, pool: Pool) -> Result<Self> {
        let misuse = |why: &str| Error::new(ErrorKind::Misuse, format!("volume `{}`: {why}", volume.name()));
        if pool.is_hollow() {
            return Err(misuse(
                "a database needs a stack that carries data, and this one carries lengths only",
            ));
        }
        let geometry = volume.geometry();
        if geometry.size < Self::LEAST_BYTES || u64::from(geometry.logical_sector) > PAGE {
            return Err(misuse("a SQLite database needs 1 MiB or more, in sectors of at most 4096 bytes"));
        }
        let sixteenth = geometry.size / 16 / PAGE * PAGE;
        let files = FileKind::ALL.map(|kind| File {
            kind,
            start: kind.region().start * sixteenth,
            capacity: (kind.region().end - kind.region().start) * sixteenth - HEADERS,
            size: Cell::new(0),
            exists: Cell::new(false),
            generation: Cell::new(0),
            header_changed: Cell::new(false),
            pages: RefCell::default(),
        });
        let store = Self { runtime, volume, pool, files };
        for file in &store.files {
            store.load_header(file)?;
        }
        Ok(store)
    }

    /// The executor that serves the volume.
    pub fn runtime(&self) -> &'r Runtime {
        self.runtime
    }

    /// The volume below.
    pub fn volume(&self) -> &Handle {
        &self.volume
    }

    /// Whether the file exists.
    pub fn exists(&self, kind: FileKind) -> bool {
        self.file(kind).exists.get()
    }

    /// Its size in bytes.
    pub fn size(&self, kind: FileKind) -> u64 {
        self.file(kind).size.get()
    }

    /// Creates the file, empty, if it does not exist; as in a kernel, durable with the next sync.
    pub fn create(&self, kind: FileKind) {
        let file = self.file(kind);
        if !file.exists.replace(true) {
            file.size.set(0);
            file.header_changed.set(true);
        }
    }

    /// Deletes the file. With `durable` the deletion has reached the volume when this returns: in rollback mode that
    /// is the moment of commit.
    ///
    /// # Errors
    /// The volume's.
    pub fn delete(&self, kind: FileKind, durable: bool) -> Result<()> {
        let file = self.file(kind);
        if file.exists.replace(false) {
            file.size.set(0);
            file.pages.borrow_mut().clear();
            file.header_changed.set(true);
        }
        if durable { self.sync(kind) } else { Ok(()) }
    }

    /// Reads into `into`; returns how many bytes the file had.
    ///
    /// # Errors
    /// The volume's.
    pub fn read(&self, kind: FileKind, offset: u64, into: &mut [u8]) -> Result<usize> {
        let file = self.file(kind);
        let have = (file.size.get().saturating_sub(offset)).min(into.len() as u64) as usize;
        self.load_pages(file, offset, have as u64)?;
        let pages = file.pages.borrow();
        for (page, within, range) in pieces(offset, have) {
            let bytes = &pages.get(&page).expect("pages of the range were loaded").bytes;
            into[range.clone()].copy_from_slice(&bytes[within..within + range.len()]);
        }
        into[have..].fill(0);
        Ok(have)
    }

    /// Writes into the page cache.
    ///
    /// # Errors
    /// [`ErrorKind::NoSpace`] beyond the file's region; the volume's where a page must be read first.
    pub fn write(&self, kind: FileKind, offset: u64, from: &[u8]) -> Result<()> {
        let file = self.file(kind);
        let end = offset + from.len() as u64;
        if end > file.capacity {
            return Err(Error::new(
                ErrorKind::NoSpace,
                format!(
                    "volume `{}`: the {:?} file has room for {} bytes and {end} are needed; give the volume more size",
                    self.volume.name(),
                    file.kind,
                    file.capacity
                ),
            ));
        }
        for (page, within, range) in pieces(offset, from.len()) {
            if range.len() < PAGE as usize && page * PAGE < file.size.get() {
                self.load_pages(file, page * PAGE, 1)?;
            }
            let mut pages = file.pages.borrow_mut();
            let entry = pages
                .entry(page)
                .or_insert_with(|| Page { bytes: vec![0; PAGE as usize].into(), dirty: true });
            entry.bytes[within..within + range.len()].copy_from_slice(&from[range]);
            entry.dirty = true;
        }
        if end > file.size.get() {
            file.size.set(end);
            file.header_changed.set(true);
        }
        if file.pages.borrow().len() > CACHED_PAGES {
            self.write_dirty(file)?;
            file.pages.borrow_mut().clear();
        }
        Ok(())
    }

    /// Cuts the file.
    pub fn truncate(&self, kind: FileKind, size: u64) {
        let file = self.file(kind);
        if size >= file.size.get() {
            return;
        }
        let mut pages = file.pages.borrow_mut();
        drop(pages.split_off(&size.div_ceil(PAGE)));
        if let Some(last) = pages.get_mut(&(size / PAGE)) {
            last.bytes[(size % PAGE) as usize..].fill(0);
            last.dirty = true;
        }
        file.size.set(size);
        file.header_changed.set(true);
    }

    /// Makes everything written to the file durable.
    ///
    /// # Errors
    /// The volume's; nothing written since the last sync may then be taken as durable.
    pub fn sync(&self, kind: FileKind) -> Result<()> {
        let file = self.file(kind);
        self.settle_deletions(kind)?;
        self.write_dirty(file)?;
        if file.header_changed.get() {
            self.write_header(file)?;
        }
        self.wait(self.volume.flush(Request::flush()))
    }

    /// Makes earlier deletions of other files durable, as a journaling file system would, before anything later is: a
    /// rollback journal that came back behind a newer write-ahead log would undo what that had committed.
    fn settle_deletions(&self, kind: FileKind) -> Result<()> {
        let gone = |file: &&File| file.kind != kind && !file.exists.get() && file.header_changed.get();
        let mut gone = self.files.iter().filter(gone).peekable();
        if gone.peek().is_none() {
            return Ok(());
        }
        gone.try_for_each(|file| self.write_header(file))?;
        self.wait(self.volume.flush(Request::flush()))
    }

    fn file(&self, kind: FileKind) -> &File {
        &self.files[kind as usize]
    }

    fn wait<T>(&self, future: impl Future<Output = Result<T>>) -> Result<T> {
        let deadlock = |why: fathom_runtime::Deadlock| Error::new(ErrorKind::Io, why.to_string());
        self.runtime.block_on(future).map_err(deadlock)?
    }

    /// Brings the pages of a range into the cache, neighbours in one request.
    fn load_pages(&self, file: &File, offset: u64, length: u64) -> Result<()> {
        if length == 0 {
            return Ok(());
        }
        let missing: Vec<u64> = {
            let pages = file.pages.borrow();
            (offset / PAGE..=(offset + length - 1) / PAGE).filter(|page| !pages.contains_key(page)).collect()
        };
        for run in runs(&missing) {
            let length = (run.end - run.start) * PAGE;
            let buf = self.pool.get(length as usize);
            self.fill(file.start + HEADERS + run.start * PAGE, &buf)?;
            let mut pages = file.pages.borrow_mut();
            buf.with(|bytes| {
                for (page, bytes) in run.zip(bytes.chunks_exact(PAGE as usize)) {
                    pages.insert(page, Page { bytes: bytes.into(), dirty: false });
                }
            });
        }
        Ok(())
    }

    fn write_dirty(&self, file: &File) -> Result<()> {
        let writes: Vec<(u64, Buf)> = {
            let pages = file.pages.borrow();
            let dirty: Vec<u64> =
                pages.iter().filter(|(_, page)| page.dirty).map(|(number, _)| *number).collect();
            let write = |run: std::ops::Range<u64>| {
                self.parts(file.start + HEADERS + run.start * PAGE, &self.gather(&pages, run))
            };
            runs(&dirty).into_iter().flat_map(write).collect()
        };
        self.write_all(&writes)?;
        // Only now: pages of a failed write stay dirty and are tried again by the next sync.
        file.pages.borrow_mut().values_mut().for_each(|page| page.dirty = false);
        Ok(())
    }

    fn gather(&self, pages: &BTreeMap<u64, Page>, run: std::ops::Range<u64>) -> Buf {
        let buf = self.pool.get(((run.end - run.start) * PAGE) as usize);
        buf.with_mut(|bytes| {
            for (page, into) in run.zip(bytes.chunks_exact_mut(PAGE as usize)) {
                into.copy_from_slice(&pages[&page].bytes);
            }
        });
        buf
    }

    /// Cuts a transfer into requests that the volume takes.
    fn parts(&self, offset: u64, whole: &Buf) -> Vec<(u64, Buf)> {
        let geometry = self.volume.geometry();
        let most = (geometry.max_transfer - geometry.max_transfer % geometry.logical_sector) as usize;
        let part = |at: usize| (offset + at as u64, whole.slice(at..(at + most).min(whole.len())));
        (0..whole.len()).step_by(most).map(part).collect()
    }

    fn fill(&self, offset: u64, into: &Buf) -> Result<()> {
        let read = |(at, buf): (u64, Buf)| self.volume.read(Request::new(at, buf.len() as u64), buf);
        self.wait(try_join_all(self.parts(offset, into).into_iter().map(read))).map(drop)
    }

    fn write_all(&self, writes: &[(u64, Buf)]) -> Result<()> {
        for batch in writes.chunks(WRITES_AT_ONCE) {
            let write =
                |(at, buf): &(u64, Buf)| self.volume.write(Request::new(*at, buf.len() as u64), buf.clone());
            self.wait(try_join_all(batch.iter().map(write)))?;
        }
        Ok(())
    }

    fn load_header(&self, file: &File) -> Result<()> {
        let buf = self.pool.get(HEADERS as usize);
        self.fill(file.start, &buf)?;
        let newest = buf.with(|bytes| {
            bytes.chunks_exact(PAGE as usize).filter_map(Header::decode).max_by_key(|h| h.generation)
        });
        if let Some(header) = newest {
            file.generation.set(header.generation);
            file.exists.set(header.exists);
            file.size.set(header.size);
        }
        Ok(())
    }

    fn write_header(&self, file: &File) -> Result<()> {
        let generation = file.generation.get() + 1;
        let header = Header { generation, exists: file.exists.get(), size: file.size.get() };
        let buf = self.pool.zeroes(PAGE as usize);
        buf.with_mut(|bytes| header.encode(bytes));
        let offset = file.start + (generation % 2) * PAGE;
        // Its first sector has all that counts.
        self.write_all(&self.parts(offset, &buf))?;
        file.generation.set(generation);
        file.header_changed.set(false);
        Ok(())
    }
}

struct Header {
    generation: u64,
    exists: bool,
    size: u64,
}

impl Header {
    fn encode(&self, bytes: &mut [u8]) {
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.generation.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.size.to_le_bytes());
        bytes[24] = u8::from(self.exists);
        let sum = crc32fast::hash(&bytes[..25]);
        bytes[28..32].copy_from_slice(&sum.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let sum = u32::from_le_bytes(bytes[28..32].try_into().expect("four bytes"));
        let whole = bytes[..8] == MAGIC && crc32fast::hash(&bytes[..25]) == sum;
        whole.then(|| Self { generation: word(8), size: word(16), exists: bytes[24] == 1 })
    }
}

/// Cuts a range into (page, offset within it, range of the caller's bytes).
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        (done < length).then(|| {
            let at = offset + done as u64;
            let within = (at % PAGE) as usize;
            let count = (PAGE as usize - within).min(length - done);
            done += count;
            (at / PAGE, within, done - count..done)
        })
    })
}

/// Groups ascending page numbers into runs of neighbours no longer than the largest write.
fn runs(pages: &[u64]) -> Vec<std::ops::Range<u64>> {
    let mut runs: Vec<std::ops::Range<u64>> = Vec::new();
    for page in pages {
        match runs.last_mut() {
            Some(run) if run.end == *page && (run.end - run.start) * PAGE < LARGEST_WRITE => run.end += 1,
            _ => runs.push(*page..*page + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::{Header, PAGE, pieces, runs};

    #[test]
    fn a_range_is_cut_at_page_borders_and_nowhere_else() {
        let cut: Vec<_> = pieces(4000, 5000).collect();
        assert_eq!(cut, vec![(0, 4000, 0..96), (1, 0, 96..4192), (2, 0, 4192..5000)]);
        assert_eq!(pieces(0, 0).count(), 0);
    }

    #[test]
    fn runs_join_neighbours_up_to_the_largest_write() {
        assert_eq!(runs(&[1, 2, 3, 7, 9, 10]), vec![1..4, 7..8, 9..11]);
        let many: Vec<u64> = (0..300).collect();
        assert_eq!(runs(&many), vec![0..256, 256..300]);
    }

    #[test]
    fn a_torn_header_is_not_a_header() {
        let mut bytes = vec![0; PAGE as usize];
        Header { generation: 7, exists: true, size: 12_345 }.encode(&mut bytes);
        assert_eq!(Header::decode(&bytes).map(|header| (header.generation, header.size)), Some((7, 12_345)));
        for at in 0..32 {
            let mut torn = bytes.clone();
            torn[at] ^= 1;
            // Bytes 25 to 27 are padding.
            assert_eq!(Header::decode(&torn).is_none(), !(25..28).contains(&at), "byte {at}");
        }
    }
}
