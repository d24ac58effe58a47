//! Items from tasks that have work to tasks that do it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// A queue of any length: first in, first out. Each item wakes one of the tasks that wait, the one that came last: its
/// memory is the warmest.
pub struct Queue<T> {
    items: RefCell<VecDeque<T>>,
    idle: RefCell<Vec<Waker>>,
    closed: Cell<bool>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { items: RefCell::default(), idle: RefCell::default(), closed: Cell::new(false) }
    }
}

impl<T> Queue<T> {
    /// Adds an item; true if a task waited for one.
    pub fn push(&self, item: T) -> bool {
        self.items.borrow_mut().push_back(item);
        let idle = self.idle.borrow_mut().pop();
        let waited = idle.is_some();
        if let Some(waker) = idle {
            waker.wake();
        }
        waited
    }

    /// The next item; None once the queue is closed and empty.
    pub async fn pop(&self) -> Option<T> {
        self.wait_for(|items| items.pop_front()).await
    }

    /// Waits for items and moves up to `most` of them into `batch`; false once the queue is closed and empty.
    pub async fn pop_many(&self, most: usize, batch: &mut Vec<T>) -> bool {
        let moved = self.wait_for(|items| {
            let count = items.len().min(most);
            batch.extend(items.drain(..count));
            (count > 0).then_some(())
        });
        moved.await.is_some()
    }

    async fn wait_for<R>(&self, mut take: impl FnMut(&mut VecDeque<T>) -> Option<R>) -> Option<R> {
        poll_fn(|task| {
            let taken = take(&mut self.items.borrow_mut());
            if taken.is_some() || self.closed.get() {
                return Poll::Ready(taken);
            }
            // Once each: a wake-up that nobody needs would be missing elsewhere.
            let mut idle = self.idle.borrow_mut();
            if !idle.iter().any(|waker| waker.will_wake(task.waker())) {
                idle.push(task.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    /// Closes the queue: waits end, and items that are in it or still arrive can be taken.
    pub fn close(&self) {
        self.closed.set(true);
        std::mem::take(&mut *self.idle.borrow_mut()).into_iter().for_each(Waker::wake);
    }

    /// Drops the items that were not taken.
    pub fn clear(&self) {
        self.items.borrow_mut().clear();
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::Queue;
    use crate::Runtime;

    #[test]
    fn items_come_in_order_and_the_end_is_told() {
        let runtime = Runtime::virtual_time(1);
        let context = runtime.context();
        let queue = Rc::new(Queue::default());
        assert!(!queue.push(1));
        let (giver, later) = (Rc::clone(&queue), context.clone());
        context.spawn(async move {
            later.sleep(10).await;
            assert!(giver.push(2), "somebody waits");
            for item in 3..6 {
                giver.push(item);
            }
            giver.close();
            giver.push(6);
        });
        let all = runtime.block_on(async {
            let (mut batch, first, second) = (Vec::new(), queue.pop().await, queue.pop().await);
            let at = context.now();
            while queue.pop_many(2, &mut batch).await {}
            (first, second, at, batch, queue.pop().await)
        });
        assert_eq!(all, Ok((Some(1), Some(2), 10, vec![3, 4, 5, 6], None)));
    }

    #[test]
    fn each_item_wakes_one_and_the_end_wakes_all() {
        let runtime = Runtime::virtual_time(1);
        let context = runtime.context();
        let queue = Rc::new(Queue::default());
        let worker = |_| {
            let queue = Rc::clone(&queue);
            context.spawn(async move { queue.pop().await })
        };
        let workers: Vec<_> = (0..3).map(worker).collect();
        let done = runtime.block_on(async {
            context.sleep(1).await;
            queue.push('a');
            context.sleep(1).await;
            let done = workers.iter().filter(|worker| worker.is_done()).count();
            queue.close();
            let mut items = Vec::new();
            for worker in workers {
                items.push(worker.await);
            }
            items.sort_unstable();
            (done, items)
        });
        assert_eq!(done, Ok((1, vec![None, None, Some('a')])));
    }
}
