//! SQLite's file locks and shared memory, among connections of one thread.

use std::cell::RefCell;

use rusqlite::ffi;

/// Size of one region of shared memory; SQLite always asks for 32 KiB.
const REGION: usize = 32 << 10;

/// The lock of the database file, as SQLite's five states.
#[derive(Default)]
pub struct FileLock {
    shared: u32,
    reserved: bool,
    exclusive: bool,
}

impl FileLock {
    /// Raises a connection's lock from `held` to `wanted`; false if another connection is in the way.
    pub fn raise(&mut self, held: i32, wanted: i32) -> bool {
        let others = self.shared - u32::from(held >= ffi::SQLITE_LOCK_SHARED);
        let granted = match wanted {
            ffi::SQLITE_LOCK_SHARED => !self.exclusive,
            ffi::SQLITE_LOCK_RESERVED => !self.reserved || held >= ffi::SQLITE_LOCK_RESERVED,
            _ => others == 0 && (!self.reserved || held >= ffi::SQLITE_LOCK_RESERVED),
        };
        if granted {
            if held < ffi::SQLITE_LOCK_SHARED {
                self.shared += 1;
            }
            self.reserved |= wanted >= ffi::SQLITE_LOCK_RESERVED;
            self.exclusive |= wanted >= ffi::SQLITE_LOCK_EXCLUSIVE;
        }
        granted
    }

    /// Lowers a connection's lock from `held` to `wanted`.
    pub fn lower(&mut self, held: i32, wanted: i32) {
        if held >= ffi::SQLITE_LOCK_RESERVED && wanted < ffi::SQLITE_LOCK_RESERVED {
            self.reserved = false;
            self.exclusive = false;
        }
        if held >= ffi::SQLITE_LOCK_SHARED && wanted == ffi::SQLITE_LOCK_NONE {
            self.shared -= 1;
        }
    }

    /// Whether any connection intends to write.
    pub fn reserved(&self) -> bool {
        self.reserved
    }
}

/// The WAL index: shared memory on the heap, and its eight lock slots.
#[derive(Default)]
pub struct SharedMemory {
    regions: RefCell<Vec<Box<[u64]>>>,
    slots: RefCell<[Slot; ffi::SQLITE_SHM_NLOCK as usize]>,
}

#[derive(Default, Clone, Copy)]
struct Slot {
    shared: u32,
    exclusive: bool,
}

impl SharedMemory {
    /// The address of a region, made on demand if `extend`; null if it is not there.
    pub fn region(&self, index: usize, extend: bool) -> *mut core::ffi::c_void {
        let mut regions = self.regions.borrow_mut();
        while extend && regions.len() <= index {
            regions.push(vec![0_u64; REGION / 8].into());
        }
        regions.get_mut(index).map_or(std::ptr::null_mut(), |region| region.as_mut_ptr().cast())
    }

    /// Takes or gives back `count` slots from `first` on; false if another connection is in the way.
    pub fn lock(&self, first: usize, count: usize, flags: i32) -> bool {
        let mut slots = self.slots.borrow_mut();
        let range = &mut slots[first..first + count];
        let exclusive = flags & ffi::SQLITE_SHM_EXCLUSIVE != 0;
        if flags & ffi::SQLITE_SHM_UNLOCK != 0 {
            for slot in range {
                if exclusive {
                    slot.exclusive = false;
                } else {
                    slot.shared = slot.shared.saturating_sub(1);
                }
            }
            return true;
        }
        let free = range.iter().all(|slot| !slot.exclusive && (!exclusive || slot.shared == 0));
        if free {
            for slot in range {
                if exclusive {
                    slot.exclusive = true;
                } else {
                    slot.shared += 1;
                }
            }
        }
        free
    }

    /// Forgets the index, as deleting the file would.
    pub fn clear(&self) {
        self.regions.borrow_mut().clear();
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi::{
        SQLITE_LOCK_EXCLUSIVE, SQLITE_LOCK_NONE, SQLITE_LOCK_RESERVED, SQLITE_LOCK_SHARED,
        SQLITE_SHM_EXCLUSIVE, SQLITE_SHM_LOCK, SQLITE_SHM_SHARED, SQLITE_SHM_UNLOCK,
    };

    use super::{FileLock, SharedMemory};

    #[test]
    fn one_writer_waits_for_readers() {
        let mut lock = FileLock::default();
        assert!(lock.raise(SQLITE_LOCK_NONE, SQLITE_LOCK_SHARED));
        assert!(lock.raise(SQLITE_LOCK_NONE, SQLITE_LOCK_SHARED));
        assert!(lock.raise(SQLITE_LOCK_SHARED, SQLITE_LOCK_RESERVED));
        assert!(!lock.raise(SQLITE_LOCK_SHARED, SQLITE_LOCK_RESERVED), "one writer only");
        assert!(!lock.raise(SQLITE_LOCK_RESERVED, SQLITE_LOCK_EXCLUSIVE), "a reader is left");
        lock.lower(SQLITE_LOCK_SHARED, SQLITE_LOCK_NONE);
        assert!(lock.raise(SQLITE_LOCK_RESERVED, SQLITE_LOCK_EXCLUSIVE));
        assert!(!lock.raise(SQLITE_LOCK_NONE, SQLITE_LOCK_SHARED));
        lock.lower(SQLITE_LOCK_EXCLUSIVE, SQLITE_LOCK_NONE);
        assert!(lock.raise(SQLITE_LOCK_NONE, SQLITE_LOCK_SHARED) && !lock.reserved());
    }

    #[test]
    fn shared_slots_exclude_an_exclusive_one() {
        let memory = SharedMemory::default();
        assert!(memory.lock(3, 1, SQLITE_SHM_LOCK | SQLITE_SHM_SHARED));
        assert!(!memory.lock(0, 8, SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE));
        assert!(memory.lock(3, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_SHARED));
        assert!(memory.lock(0, 8, SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE));
        assert!(!memory.lock(3, 1, SQLITE_SHM_LOCK | SQLITE_SHM_SHARED));
    }
}
