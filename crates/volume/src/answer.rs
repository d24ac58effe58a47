//! The answer to a request: a boxed future whose memory goes back to the node it came from.
//!
//! A stack is built from settings at run time, so each request through a seam is a boxed future. All futures of a node
//! have one type and one size; keeping their memory for the next ones makes the box a few instructions.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context as TaskContext, Poll};

use crate::error::Result;

/// The answer to a request, to be awaited. Dropping it abandons the request.
///
/// One fat pointer, so that it is handed over in registers.
#[must_use = "a request does nothing unless awaited"]
pub struct Answer<'a>(NonNull<Boxed<'a, dyn Future<Output = Result<()>> + 'a>>);

struct Boxed<'a, F: ?Sized> {
    home: &'a Spare,
    future: F,
}

impl<'a> Answer<'a> {
    /// Boxes a future in memory of `home`. The future is made in place: copying it costs more than making it.
    ///
    /// # Safety
    /// `home` must be given futures of one type only: memory of an earlier one is taken as large enough. It is not compared
    /// in an optimised build, since every request through a seam passes here.
    #[inline]
    pub(crate) unsafe fn new<F: Future<Output = Result<()>> + 'a>(
        home: &'a Spare,
        make: impl FnOnce() -> F,
    ) -> Self {
        let memory: NonNull<Boxed<'a, F>> = home.take(Layout::new::<Boxed<'a, F>>()).cast();
        // SAFETY: `take` gives memory that nobody else uses, of this layout by the caller's promise.
        unsafe { memory.write(Boxed { home, future: make() }) };
        Self(memory)
    }
}

impl Future for Answer<'_> {
    type Output = Result<()>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Result<()>> {
        // SAFETY: the future stays where `new` wrote it until `drop`, and only this handle refers to it.
        unsafe { Pin::new_unchecked(&mut self.0.as_mut().future) }.poll(task)
    }
}

impl Drop for Answer<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: written in `new`, dropped only here; afterwards nothing refers to the memory, which came from `home`.
        unsafe {
            let home = self.0.as_ref().home;
            (&raw mut (*self.0.as_ptr()).future).drop_in_place();
            home.give_back(self.0.cast());
        }
    }
}

/// Memory of futures of one type that are gone, for those to come.
pub(crate) struct Spare {
    // A list through the first word of each piece.
    first: Cell<Option<NonNull<Free>>>,
    layout: Cell<Option<Layout>>,
}

struct Free {
    next: Option<NonNull<Free>>,
}

impl Spare {
    pub fn new() -> Self {
        Self { first: Cell::new(None), layout: Cell::new(None) }
    }

    #[inline]
    fn take(&self, layout: Layout) -> NonNull<Free> {
        if let Some(free) = self.first.get() {
            debug_assert_eq!(
                self.layout.get(),
                Some(room_for_link(layout)),
                "one type of future for each node"
            );
            // SAFETY: pieces in the list are ours alone, and hold a `Free`.
            self.first.set(unsafe { free.as_ref() }.next);
            return free;
        }
        self.allocate(room_for_link(layout))
    }

    #[cold]
    fn allocate(&self, layout: Layout) -> NonNull<Free> {
        let known = self.layout.replace(Some(layout));
        assert!(known.is_none_or(|known| known == layout), "one type of future for each node");
        // SAFETY: the layout holds a `Free` at least, so it is not empty.
        let memory = unsafe { alloc(layout) };
        NonNull::new(memory.cast()).unwrap_or_else(|| handle_alloc_error(layout))
    }

    /// # Safety
    /// The piece came from `take` of this home, and nothing refers to it any more.
    #[inline]
    unsafe fn give_back(&self, memory: NonNull<Free>) {
        // SAFETY: by contract the piece is ours, and `room_for_link` made it large enough.
        unsafe { memory.write(Free { next: self.first.get() }) };
        self.first.set(Some(memory));
    }
}

/// The layout, widened so that a piece can be a link of the list.
fn room_for_link(layout: Layout) -> Layout {
    let free = Layout::new::<Free>();
    Layout::from_size_align(layout.size().max(free.size()), layout.align().max(free.align()))
        .expect("sizes of futures are far below the address space")
}

impl Drop for Spare {
    fn drop(&mut self) {
        let Some(layout) = self.layout.get() else { return };
        while let Some(free) = self.first.get() {
            // SAFETY: pieces in the list were allocated with this layout, and the borrow in `Answer` shows that none
            // is in use any more.
            unsafe {
                self.first.set(free.as_ref().next);
                dealloc(free.as_ptr().cast(), layout);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use fathom_runtime::Runtime;

    use super::{Answer, Spare};

    #[test]
    fn memory_is_used_again_and_each_future_dropped_once() {
        let runtime = Runtime::virtual_time(0);
        let home = Spare::new();
        let dropped = Rc::new(Cell::new(0));
        let future = |value: u64| {
            let guard = Guard(Rc::clone(&dropped));
            // SAFETY: `home` is given futures of this place alone.
            unsafe {
                Answer::new(&home, || async move {
                    let _guard = guard;
                    assert_eq!(value % 2, 0);
                    Ok(())
                })
            }
        };
        let first = future(0);
        let place = first.0.as_ptr().cast::<u8>();
        runtime.block_on(first).expect("nothing waits").expect("it succeeds");
        let second = future(2);
        assert_eq!(second.0.as_ptr().cast::<u8>(), place);
        let third = future(1);
        assert_ne!(third.0.as_ptr().cast::<u8>(), place);
        drop((second, third));
        assert_eq!(dropped.get(), 3);
    }

    struct Guard(Rc<Cell<u32>>);

    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
}
