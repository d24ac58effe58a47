//! A SQLite file system that forwards to the operating system's own and counts what passes: how many reads, writes and
//! syncs a transaction costs on a directory, and how long each takes.
//!
//! Interface: <https://sqlite.org/vfs.html>, "shim" VFS. Only the methods that move data are timed.

use std::ffi::{CString, c_int, c_void};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use fathom_runtime::Nanos;
use fathom_volume::{Kind, Statistics};
use rusqlite::ffi;

/// Reads the clock of the run, ns.
pub type Clock = Rc<dyn Fn() -> Nanos>;

/// What the files of one directory did.
pub struct Counters {
    /// The database file.
    pub database: Rc<Statistics>,
    /// The write-ahead log or rollback journal.
    pub log: Rc<Statistics>,
    clock: Clock,
    real: *mut ffi::sqlite3_vfs,
}

/// A counting file system, registered under a name of its own. Connections must be closed before it is dropped.
pub struct CountingFileSystem {
    name: CString,
    vfs: *mut ffi::sqlite3_vfs,
    counters: Rc<Counters>,
}

impl CountingFileSystem {
    /// Registers one over SQLite's default file system.
    ///
    /// # Errors
    /// SQLite's, if it refuses another file system.
    pub fn register(clock: Clock) -> rusqlite::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = CString::new(format!("fathom-counting-{}", NEXT.fetch_add(1, Ordering::Relaxed)))
            .expect("a number holds no zero byte");
        // SAFETY: initialising SQLite is idempotent; a null name asks for the default file system.
        let real = unsafe {
            ffi::sqlite3_initialize();
            ffi::sqlite3_vfs_find(std::ptr::null())
        };
        assert!(!real.is_null(), "SQLite is built with a file system");
        let counters = Rc::new(Counters { database: Rc::default(), log: Rc::default(), clock, real });
        // SAFETY: `real` is registered for the life of the process. All path, time and library methods are the real
        // one's and take their structure from the argument, so they are forwarded one by one below.
        let template = unsafe { *real };
        let vfs = Box::into_raw(Box::new(ffi::sqlite3_vfs {
            szOsFile: HEAD + template.szOsFile,
            pNext: std::ptr::null_mut(),
            zName: name.as_ptr(),
            pAppData: Rc::as_ptr(&counters).cast_mut().cast(),
            xOpen: Some(open),
            // The unix file system's other methods ignore the structure they are handed.
            ..template
        }));
        // SAFETY: the structure, its name and its counters live until Drop, which unregisters first.
        let code = unsafe { ffi::sqlite3_vfs_register(vfs, 0) };
        if code != ffi::SQLITE_OK {
            // SAFETY: made by Box::into_raw just above and not registered.
            drop(unsafe { Box::from_raw(vfs) });
            return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        }
        Ok(Self { name, vfs, counters })
    }

    /// The name to open connections with.
    pub fn name(&self) -> &std::ffi::CStr {
        &self.name
    }

    /// What was counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}

impl Drop for CountingFileSystem {
    fn drop(&mut self) {
        // SAFETY: registered in `register`; connections are closed by contract, so SQLite keeps no pointer to it.
        unsafe {
            ffi::sqlite3_vfs_unregister(self.vfs);
            drop(Box::from_raw(self.vfs));
        }
    }
}

#[repr(C)]
struct OpenFile {
    base: ffi::sqlite3_file,
    counters: *const Counters,
    log: bool,
}

// The real file follows ours in memory, aligned for any of its fields.
const HEAD: c_int = size_of::<OpenFile>().next_multiple_of(16) as c_int;

/// The real file behind ours.
///
/// # Safety
/// `file` must point to HEAD + szOsFile bytes that SQLite allocated for this file system.
unsafe fn real(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: the caller's promise.
    unsafe { file.cast::<u8>().add(HEAD as usize).cast() }
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes the registered structure and enough room for both files; the real open gets its own
    // structure and the room behind ours.
    unsafe {
        let counters = (*vfs).pAppData.cast::<Counters>();
        let below = (*counters).real;
        let Some(open_real) = (*below).xOpen else { return ffi::SQLITE_CANTOPEN };
        let code = open_real(below, name, real(file), flags, out_flags);
        let has_methods = code == ffi::SQLITE_OK && !(*real(file)).pMethods.is_null();
        if !has_methods {
            (*file).pMethods = std::ptr::null();
            return code;
        }
        let log = flags & (ffi::SQLITE_OPEN_WAL | ffi::SQLITE_OPEN_MAIN_JOURNAL) != 0;
        let base = ffi::sqlite3_file { pMethods: &raw const METHODS };
        file.cast::<OpenFile>().write(OpenFile { base, counters, log });
        code
    }
}

// Each method must be forwarded, for the real ones expect their own structure. Version 2: no memory-mapped reads, which
// would pass uncounted.
static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// Calls the real file's method of that name.
macro_rules! forward {
    ($file:expr, $method:ident $(, $argument:expr)*) => {{
        let below = real($file);
        match (*(*below).pMethods).$method {
            Some(method) => method(below $(, $argument)*),
            None => unreachable!("SQLite's own file system has every method of its version"),
        }
    }};
}

/// Times a call and counts it for the file it was made on.
///
/// # Safety
/// `file` must be open.
unsafe fn counted(
    file: *mut ffi::sqlite3_file,
    kind: Kind,
    bytes: u64,
    call: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the caller's promise; counters outlive open files.
    let (counters, log) = unsafe {
        let own = &*file.cast::<OpenFile>();
        (&*own.counters, own.log)
    };
    let start = (counters.clock)();
    let code = call();
    let end = (counters.clock)();
    let statistics = if log { &counters.log } else { &counters.database };
    statistics.observe(kind, bytes, start, end);
    code
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: here and in every method below, SQLite passes a file that `open` filled in.
    unsafe {
        let code = forward!(file, xClose);
        (*file).pMethods = std::ptr::null();
        code
    }
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    into: *mut c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: see `close`.
    unsafe { counted(file, Kind::Read, amount as u64, || forward!(file, xRead, into, amount, offset)) }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: see `close`.
    unsafe { counted(file, Kind::Write, amount as u64, || forward!(file, xWrite, from, amount, offset)) }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: see `close`.
    unsafe { counted(file, Kind::Flush, 0, || forward!(file, xSync, flags)) }
}

/// Methods that are passed on and not counted.
macro_rules! pass_on {
    ($($name:ident => $method:ident ( $($argument:ident : $type:ty),* ) -> $result:ty;)*) => {$(
        unsafe extern "C" fn $name(file: *mut ffi::sqlite3_file $(, $argument: $type)*) -> $result {
            // SAFETY: see `close`.
            unsafe { forward!(file, $method $(, $argument)*) }
        }
    )*};
}

pass_on! {
    truncate => xTruncate(size: i64) -> c_int;
    file_size => xFileSize(out: *mut i64) -> c_int;
    lock => xLock(wanted: c_int) -> c_int;
    unlock => xUnlock(wanted: c_int) -> c_int;
    check_reserved_lock => xCheckReservedLock(out: *mut c_int) -> c_int;
    file_control => xFileControl(operation: c_int, argument: *mut c_void) -> c_int;
    sector_size => xSectorSize() -> c_int;
    device_characteristics => xDeviceCharacteristics() -> c_int;
    shm_map => xShmMap(region: c_int, size: c_int, extend: c_int, out: *mut *mut c_void) -> c_int;
    shm_lock => xShmLock(first: c_int, number: c_int, flags: c_int) -> c_int;
    shm_barrier => xShmBarrier() -> ();
    shm_unmap => xShmUnmap(delete: c_int) -> c_int;
}
