//! Requests under way side by side, begun one after the other.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use fathom_runtime::{Context, Semaphore};
use fathom_volume::{Error, Result};

/// At most so many at once; the first error ends it.
pub struct Crew {
    context: Context,
    width: usize,
    places: Semaphore,
    failed: Rc<RefCell<Option<Error>>>,
}

impl Crew {
    pub fn new(context: &Context, width: usize) -> Self {
        Self { context: context.clone(), width, places: Semaphore::new(width), failed: Rc::default() }
    }

    /// Whether nothing has failed yet.
    pub fn goes_on(&self) -> bool {
        self.failed.borrow().is_none()
    }

    /// Begins a request as soon as there is a place.
    pub async fn start(&self, work: impl Future<Output = Result<()>> + 'static) {
        let place = self.places.acquire().await;
        let failed = Rc::clone(&self.failed);
        drop(self.context.spawn(async move {
            if let Err(error) = work.await {
                failed.borrow_mut().get_or_insert(error);
            }
            drop(place);
        }));
    }

    /// Waits for all; the error that came first, if any.
    pub async fn end(self) -> Result<()> {
        let mut places = Vec::with_capacity(self.width);
        for _ in 0..self.width {
            places.push(self.places.acquire().await);
        }
        self.failed.take().map_or(Ok(()), Err)
    }
}
