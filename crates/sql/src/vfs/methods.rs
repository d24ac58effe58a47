//! The file methods SQLite calls, each a few lines over [`Store`].

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_int, c_void};

use rusqlite::ffi;

use super::store::FileKind;
use super::{State, count, kind_of, state_of};

/// What SQLite allocates for an open file.
#[repr(C)]
pub(super) struct OpenFile {
    base: ffi::sqlite3_file,
    // None only while SQLite has not opened it.
    inner: Option<Box<Inner>>,
}

pub(super) const FILE_BYTES: c_int = size_of::<OpenFile>() as c_int;

struct Inner {
    // The volume's state, whose lifetime a C structure cannot carry; it outlives the file, as VolumeFileSystem's Drop insists.
    state: *const State<'static>,
    target: Target,
    lock: Cell<c_int>,
}

enum Target {
    Stored(FileKind),
    // SQLite's temporary files: nothing of them outlives the connection.
    Memory(RefCell<Vec<u8>>),
}

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

pub(super) unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes the registered structure, a name or null, and FILE_BYTES bytes for the file.
    unsafe {
        let state = state_of(vfs);
        let named = name as *const c_char;
        let target = match kind_of(named) {
            Some(kind) => {
                if !state.store.exists(kind) && flags & ffi::SQLITE_OPEN_CREATE == 0 {
                    (*file).pMethods = std::ptr::null();
                    return ffi::SQLITE_CANTOPEN;
                }
                state.store.create(kind);
                Target::Stored(kind)
            }
            None if named.is_null() || flags & ffi::SQLITE_OPEN_DELETEONCLOSE != 0 => {
                Target::Memory(RefCell::default())
            }
            None => {
                (*file).pMethods = std::ptr::null();
                return ffi::SQLITE_CANTOPEN;
            }
        };
        let inner = Some(Box::new(Inner {
            state: std::ptr::from_ref(state).cast(),
            target,
            lock: Cell::new(ffi::SQLITE_LOCK_NONE),
        }));
        file.cast::<OpenFile>()
            .write(OpenFile { base: ffi::sqlite3_file { pMethods: &raw const METHODS }, inner });
        count(state, 1);
        if !out_flags.is_null() {
            *out_flags = flags;
        }
    }
    ffi::SQLITE_OK
}

/// The open file behind SQLite's pointer, and the state of its volume.
///
/// # Safety
/// `file` must have been opened by [`open`] and not yet closed.
unsafe fn parts<'a>(file: *mut ffi::sqlite3_file) -> (&'a Inner, &'a State<'a>) {
    // SAFETY: `open` wrote an OpenFile there; SQLite calls from one thread at a time, and no method calls another.
    let inner = unsafe { (*file.cast::<OpenFile>()).inner.as_deref() }
        .expect("SQLite uses a file between open and close");
    // SAFETY: the state outlives every open file: VolumeFileSystem's Drop insists on it.
    (inner, unsafe { &*inner.state })
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes each opened file once.
    unsafe {
        let (inner, state) = parts(file);
        state.lock.borrow_mut().lower(inner.lock.get(), ffi::SQLITE_LOCK_NONE);
        count(state, -1);
        (*file.cast::<OpenFile>()).inner = None;
        (*file).pMethods = std::ptr::null();
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    into: *mut c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: SQLite passes an open file and `amount` writable bytes.
    let (inner, state, into) = unsafe {
        let (inner, state) = parts(file);
        (inner, state, std::slice::from_raw_parts_mut(into.cast::<u8>(), amount as usize))
    };
    let wanted = into.len();
    let answer = |have: usize| if have == wanted { ffi::SQLITE_OK } else { ffi::SQLITE_IOERR_SHORT_READ };
    match &inner.target {
        Target::Stored(kind) => {
            state.guarded(ffi::SQLITE_IOERR_READ, || match state.store.read(*kind, offset as u64, into) {
                Ok(have) => answer(have),
                Err(error) => state.fail(error, ffi::SQLITE_IOERR_READ),
            })
        }
        Target::Memory(bytes) => {
            let bytes = bytes.borrow();
            let rest = bytes.get(offset as usize..).unwrap_or(&[]);
            let have = rest.len().min(into.len());
            into[..have].copy_from_slice(&rest[..have]);
            into[have..].fill(0);
            answer(have)
        }
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: SQLite passes an open file and `amount` readable bytes.
    let (inner, state, from) = unsafe {
        let (inner, state) = parts(file);
        (inner, state, std::slice::from_raw_parts(from.cast::<u8>(), amount as usize))
    };
    match &inner.target {
        Target::Stored(kind) => {
            state.guarded(ffi::SQLITE_IOERR_WRITE, || match state.store.write(*kind, offset as u64, from) {
                Ok(()) => ffi::SQLITE_OK,
                Err(error) => state.fail(error, ffi::SQLITE_IOERR_WRITE),
            })
        }
        Target::Memory(bytes) => {
            let mut bytes = bytes.borrow_mut();
            let end = offset as usize + from.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[offset as usize..end].copy_from_slice(from);
            ffi::SQLITE_OK
        }
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    // SAFETY: SQLite passes an open file.
    let (inner, state) = unsafe { parts(file) };
    match &inner.target {
        Target::Stored(kind) => state.store.truncate(*kind, size as u64),
        Target::Memory(bytes) => bytes.borrow_mut().truncate(size as usize),
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    let (inner, state) = unsafe { parts(file) };
    let Target::Stored(kind) = inner.target else { return ffi::SQLITE_OK };
    state.guarded(ffi::SQLITE_IOERR_FSYNC, || match state.store.sync(kind) {
        Ok(()) => ffi::SQLITE_OK,
        Err(error) => state.fail(error, ffi::SQLITE_IOERR_FSYNC),
    })
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, out: *mut i64) -> c_int {
    // SAFETY: SQLite passes an open file and a place for the answer.
    unsafe {
        let (inner, state) = parts(file);
        *out = match &inner.target {
            Target::Stored(kind) => state.store.size(*kind) as i64,
            Target::Memory(bytes) => bytes.borrow().len() as i64,
        };
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, wanted: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    let (inner, state) = unsafe { parts(file) };
    if wanted <= inner.lock.get() {
        return ffi::SQLITE_OK;
    }
    if !state.lock.borrow_mut().raise(inner.lock.get(), wanted) {
        return ffi::SQLITE_BUSY;
    }
    inner.lock.set(wanted);
    ffi::SQLITE_OK
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, wanted: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    let (inner, state) = unsafe { parts(file) };
    state.lock.borrow_mut().lower(inner.lock.get(), wanted);
    inner.lock.set(wanted);
    ffi::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, out: *mut c_int) -> c_int {
    // SAFETY: SQLite passes an open file and a place for the answer.
    unsafe { *out = c_int::from(parts(file).1.lock.borrow().reserved()) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_control(_: *mut ffi::sqlite3_file, _: c_int, _: *mut c_void) -> c_int {
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe { parts(file) }.1.store.volume().geometry().physical_sector as c_int
}

unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // The store writes whole 4 KiB pages: where the volume never tears one, an overwrite harms no neighbouring bytes.
    // SAFETY: SQLite passes an open file.
    let whole_pages = unsafe { parts(file) }.1.store.volume().geometry().atomic_write >= 4096;
    if whole_pages { ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE } else { 0 }
}

unsafe extern "C" fn shm_map(
    file: *mut ffi::sqlite3_file,
    region: c_int,
    _: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite passes an open file and a place for the address; regions stay where they are until `clear`.
    unsafe { *out = parts(file).1.memory.region(region as usize, extend != 0) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn shm_lock(
    file: *mut ffi::sqlite3_file,
    first: c_int,
    number: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: SQLite passes an open file and slots within its eight.
    let (_, state) = unsafe { parts(file) };
    if state.memory.lock(first as usize, number as usize, flags) { ffi::SQLITE_OK } else { ffi::SQLITE_BUSY }
}

unsafe extern "C" fn shm_barrier(_: *mut ffi::sqlite3_file) {
    // One thread: its own program order is barrier enough.
}

unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    if delete != 0 {
        // SAFETY: SQLite passes an open file and asks for deletion when the last connection lets go.
        unsafe { parts(file) }.1.memory.clear();
    }
    ffi::SQLITE_OK
}
