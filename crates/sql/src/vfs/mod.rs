//! A SQLite file system (VFS) over a volume: real SQLite on any stack, in both clocks.
//!
//! SQLite's time, sleep and randomness come from the executor too, so that a simulation repeats. Interface:
//! <https://sqlite.org/vfs.html>, `sqlite3_vfs` and `sqlite3_io_methods` version 2.

mod locks;
mod methods;
mod store;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use fathom_runtime::{MICROSECOND, MILLISECOND, Random};
use rusqlite::ffi;
use rusqlite::{Connection, OpenFlags};

use locks::{FileLock, SharedMemory};
pub use store::{FileKind, Store};

/// The database's name within the volume; the log and the journal add their suffixes.
const DATABASE: &str = "main.db";
/// Julian day of 2000-01-01T00:00Z in ms, the wall-clock moment at which an executor's clock starts for SQLite.
const EPOCH_JULIAN_MS: i64 = 211_813_444_800_000;

/// What all connections on one volume share.
pub(crate) struct State<'r> {
    store: Store<'r>,
    lock: RefCell<FileLock>,
    memory: SharedMemory,
    random: RefCell<Random>,
    last_error: RefCell<Option<fathom_volume::Error>>,
    panic: RefCell<Option<Box<dyn Any + Send>>>,
    connections: Cell<u32>,
}

impl State<'_> {
    /// Answers SQLite with what `work` gives. SQLite's own frames cannot be unwound: a panic is kept until its calls have
    /// returned, and everything afterwards fails with `code`, so that nothing uses what it left half done.
    fn guarded(&self, code: c_int, work: impl FnOnce() -> c_int) -> c_int {
        if self.panic.borrow().is_some() {
            return code;
        }
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            *self.panic.borrow_mut() = Some(panic);
            code
        })
    }

    /// Notes a volume's error for a readable message later, and gives SQLite its code.
    fn fail(&self, error: fathom_volume::Error, code: c_int) -> c_int {
        let full = error.kind() == fathom_volume::ErrorKind::NoSpace;
        *self.last_error.borrow_mut() = Some(error);
        if full { ffi::SQLITE_FULL } else { code }
    }
}

/// A volume registered with SQLite under a name of its own. Connections must be closed before it is dropped. If the volume
/// panicked while SQLite worked on it, dropping it resumes that panic.
pub struct VolumeFileSystem<'r> {
    name: CString,
    vfs: *mut ffi::sqlite3_vfs,
    state: Rc<State<'r>>,
}

impl<'r> VolumeFileSystem<'r> {
    /// Registers a volume.
    ///
    /// # Errors
    /// SQLite's, if it refuses another file system.
    pub fn register(store: Store<'r>) -> rusqlite::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = CString::new(format!("fathom-{}", NEXT.fetch_add(1, Ordering::Relaxed)))
            .expect("a number holds no zero byte");
        let random = RefCell::new(store.runtime().context().random("sqlite"));
        let state = Rc::new(State {
            store,
            lock: RefCell::default(),
            memory: SharedMemory::default(),
            random,
            last_error: RefCell::default(),
            panic: RefCell::default(),
            connections: Cell::new(0),
        });
        let vfs = Box::into_raw(Box::new(ffi::sqlite3_vfs {
            iVersion: 2,
            szOsFile: methods::FILE_BYTES,
            mxPathname: 64,
            pNext: std::ptr::null_mut(),
            zName: name.as_ptr(),
            pAppData: Rc::as_ptr(&state).cast_mut().cast(),
            xOpen: Some(methods::open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_pathname),
            xDlOpen: None,
            xDlError: None,
            xDlSym: None,
            xDlClose: None,
            xRandomness: Some(randomness),
            xSleep: Some(sleep),
            xCurrentTime: Some(current_time),
            xGetLastError: Some(get_last_error),
            xCurrentTimeInt64: Some(current_time_int64),
            xSetSystemCall: None,
            xGetSystemCall: None,
            xNextSystemCall: None,
        }));
        // SAFETY: the structure, its name and its state live until Drop, which unregisters first.
        let code = unsafe { ffi::sqlite3_vfs_register(vfs, 0) };
        if code != ffi::SQLITE_OK {
            // SAFETY: made by Box::into_raw just above and not registered.
            drop(unsafe { Box::from_raw(vfs) });
            return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        }
        Ok(Self { name, vfs, state })
    }

    /// Opens the database on the volume, creating it if there is none.
    ///
    /// # Errors
    /// SQLite's.
    pub fn connect(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags_and_vfs(DATABASE, flags, self.name.as_c_str())
    }

    /// The files on the volume.
    pub fn store(&self) -> &Store<'r> {
        &self.state.store
    }

    /// The last error the volume gave, which SQLite's own message does not carry.
    pub fn last_error(&self) -> Option<fathom_volume::Error> {
        self.state.last_error.borrow().clone()
    }
}

impl Drop for VolumeFileSystem<'_> {
    fn drop(&mut self) {
        assert_eq!(self.state.connections.get(), 0, "connections are closed before their file system goes");
        // SAFETY: registered in `register`; no file is open, so SQLite keeps no pointer to it afterwards.
        unsafe {
            ffi::sqlite3_vfs_unregister(self.vfs);
            drop(Box::from_raw(self.vfs));
        }
        let panic = self.state.panic.take();
        if let Some(panic) = panic.filter(|_| !std::thread::panicking()) {
            resume_unwind(panic);
        }
    }
}

/// The state behind a registered file system.
///
/// # Safety
/// `vfs` must be one that [`VolumeFileSystem::register`] made and that is still registered.
unsafe fn state_of<'a>(vfs: *mut ffi::sqlite3_vfs) -> &'a State<'a> {
    // SAFETY: pAppData points into the Rc that the VolumeFileSystem holds while it is registered.
    unsafe { &*(*vfs).pAppData.cast::<State>() }
}

/// Which file a name means; None for a name that is not one of the three.
///
/// # Safety
/// `name` must be null or a string that ends in zero.
unsafe fn kind_of(name: *const c_char) -> Option<FileKind> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) }.to_str().ok()?;
    match name.strip_prefix(DATABASE)? {
        "" => Some(FileKind::Database),
        "-wal" => Some(FileKind::Wal),
        "-journal" => Some(FileKind::Journal),
        _ => None,
    }
}

unsafe extern "C" fn delete(vfs: *mut ffi::sqlite3_vfs, name: *const c_char, sync_directory: c_int) -> c_int {
    // SAFETY: SQLite passes the registered structure and a string.
    let (state, kind) = unsafe { (state_of(vfs), kind_of(name)) };
    let Some(kind) = kind else { return ffi::SQLITE_IOERR_DELETE };
    state.guarded(ffi::SQLITE_IOERR_DELETE, || match state.store.delete(kind, sync_directory != 0) {
        Ok(()) => ffi::SQLITE_OK,
        Err(error) => state.fail(error, ffi::SQLITE_IOERR_DELETE),
    })
}

unsafe extern "C" fn access(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    _: c_int,
    found: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes the registered structure, a string and a valid place for the answer.
    unsafe {
        *found = c_int::from(kind_of(name).is_some_and(|kind| state_of(vfs).store.exists(kind)));
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn full_pathname(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    room: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes a string and `room` bytes to put its full form in.
    unsafe {
        let bytes = CStr::from_ptr(name).to_bytes_with_nul();
        if bytes.len() > room as usize {
            return ffi::SQLITE_CANTOPEN;
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), out, bytes.len());
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn randomness(vfs: *mut ffi::sqlite3_vfs, count: c_int, out: *mut c_char) -> c_int {
    // SAFETY: SQLite passes the registered structure and `count` writable bytes.
    unsafe {
        let bytes = std::slice::from_raw_parts_mut(out.cast::<u8>(), count as usize);
        state_of(vfs).random.borrow_mut().fill(bytes);
    }
    count
}

unsafe extern "C" fn sleep(vfs: *mut ffi::sqlite3_vfs, micros: c_int) -> c_int {
    // SAFETY: SQLite passes the registered structure.
    let state = unsafe { state_of(vfs) };
    state.guarded(micros, || {
        let context = state.store.runtime().context();
        // A sleep cannot deadlock: its own timer is pending.
        let _ = state.store.runtime().block_on(context.sleep(micros.unsigned_abs() as u64 * MICROSECOND));
        micros
    })
}

unsafe extern "C" fn current_time_int64(vfs: *mut ffi::sqlite3_vfs, out: *mut ffi::sqlite3_int64) -> c_int {
    // SAFETY: SQLite passes the registered structure and a place for the answer.
    unsafe {
        let now = state_of(vfs).store.runtime().context().now();
        *out = EPOCH_JULIAN_MS + (now / MILLISECOND) as i64;
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn current_time(vfs: *mut ffi::sqlite3_vfs, out: *mut f64) -> c_int {
    let mut ms = 0;
    // SAFETY: as above; `out` is a valid place.
    unsafe {
        current_time_int64(vfs, &raw mut ms);
        *out = ms as f64 / 86_400_000.0;
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn get_last_error(_: *mut ffi::sqlite3_vfs, _: c_int, _: *mut c_char) -> c_int {
    ffi::SQLITE_OK
}

/// Keeps a connection count for a file that opens and closes.
fn count(state: &State<'_>, change: i32) {
    state.connections.set(state.connections.get().wrapping_add_signed(change));
}
