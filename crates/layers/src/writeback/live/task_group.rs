//! A bounded group of concurrent requests, started in order.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use fathom_runtime::{Context, Semaphore};
use fathom_volume::{Error, Result};

/// Runs at most `width` requests at once; the first error is the group's.
pub struct TaskGroup {
    context: Context,
    width: usize,
    places: Semaphore,
    failed: Rc<RefCell<Option<Error>>>,
}

impl TaskGroup {
    pub fn new(context: &Context, width: usize) -> Self {
        Self { context: context.clone(), width, places: Semaphore::new(width), failed: Rc::default() }
    }

    /// Whether none has failed yet.
    pub fn goes_on(&self) -> bool {
        self.failed.borrow().is_none()
    }

    /// Starts a request as soon as fewer than `width` run.
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

    /// Waits for all; the first error, if any.
    pub async fn end(self) -> Result<()> {
        let mut places = Vec::with_capacity(self.width);
        for _ in 0..self.width {
            places.push(self.places.acquire().await);
        }
        self.failed.take().map_or(Ok(()), Err)
    }
}
