//! What stands for the real driver in a build without it: types that have no value, so that nothing can be done with them
//! and every use of one is unreachable by construction.

use crate::Nanos;
use crate::timer::Wakes;

/// The ring of a build without the real driver: there is none.
#[derive(Debug, Clone)]
pub enum Ring {}

impl Ring {
    /// See the real driver's.
    pub fn in_flight(&self) -> usize {
        match *self {}
    }

    /// See the real driver's.
    ///
    /// # Safety
    /// Nobody can call it.
    pub unsafe fn register_buffer(&self, _start: *mut u8, _length: usize) -> Option<u16> {
        match *self {}
    }

    /// See the real driver's.
    pub fn unregister_buffer(&self, _index: u16) {
        match *self {}
    }

    pub(crate) fn poll(&self) {
        match *self {}
    }

    pub(crate) fn wait(&self, _span: Option<Nanos>) {
        match *self {}
    }

    pub(crate) fn reap(&self, _most: usize, _wake: impl FnMut(Wakes)) {
        match *self {}
    }
}

/// As [`Ring`].
#[derive(Debug)]
pub(crate) enum BusyPoll {}

impl BusyPoll {
    pub fn spin(&self, _ring: &Ring, _span: Option<Nanos>) -> bool {
        match *self {}
    }
}
