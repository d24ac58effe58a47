//! What the three parts of a connection share: the reader that cuts requests out of the stream, the workers that have
//! them done, the writer that sends the answers.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use fathom_nbd::Request;
use fathom_runtime::Context;
use fathom_volume::{Buf, Pool};

use crate::connection::account::{Account, MOST_REQUESTS, Place};
use crate::connection::pace::Pace;
use crate::connection::reply::Reply;
use crate::exports::Served;

/// A request with the payload it came with.
pub struct Job {
    pub request: Request,
    /// The bytes of a write.
    pub payload: Option<Buf>,
    /// Goes along with the answer.
    pub place: Place,
}

/// One client in transmission.
pub struct Client {
    pub context: Context,
    pub pool: Pool,
    pub served: Rc<Served>,
    /// Whether replies are structured.
    pub structured: bool,
    /// The number of the allocation context, if the client chose it.
    pub allocation: Option<u32>,
    /// When the reader looks for requests; the writer tells it what came of a wait.
    pub pace: RefCell<Pace>,
    /// Requests on their way: taken in, and their answers not sent yet.
    pub account: Rc<Account>,
    jobs: RefCell<VecDeque<Job>>,
    idle: RefCell<Vec<Waker>>,
    workers: Cell<usize>,
    replies: RefCell<VecDeque<Reply>>,
    writer: RefCell<Option<Waker>>,
    closed: Cell<bool>,
}

impl Client {
    pub fn new(
        context: Context,
        pool: Pool,
        served: Rc<Served>,
        structured: bool,
        allocation: Option<u32>,
    ) -> Self {
        Self {
            context,
            pool,
            served,
            structured,
            allocation,
            pace: RefCell::new(Pace::new()),
            account: Rc::default(),
            jobs: RefCell::default(),
            idle: RefCell::default(),
            workers: Cell::new(0),
            replies: RefCell::default(),
            writer: RefCell::default(),
            closed: Cell::new(false),
        }
    }

    /// Hands a request to a worker; true if one more worker is needed.
    #[must_use]
    pub fn put(&self, job: Job) -> bool {
        self.jobs.borrow_mut().push_back(job);
        let idle = self.idle.borrow_mut().pop();
        match idle {
            Some(worker) => {
                worker.wake();
                false
            }
            None => {
                let more = self.workers.get() < MOST_REQUESTS;
                self.workers.set(self.workers.get() + usize::from(more));
                more
            }
        }
    }

    /// The next request; None when the connection is over.
    pub async fn take(&self) -> Option<Job> {
        poll_fn(|task| {
            if let Some(job) = self.jobs.borrow_mut().pop_front() {
                return Poll::Ready(Some(job));
            }
            if self.closed.get() {
                return Poll::Ready(None);
            }
            self.idle.borrow_mut().push(task.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Queues an answer.
    pub fn answer(&self, reply: Reply) {
        self.replies.borrow_mut().push_back(reply);
        if let Some(writer) = self.writer.borrow_mut().take() {
            writer.wake();
        }
    }

    /// Waits for answers and moves them into `batch`, `most` at most; false when the connection is over.
    pub async fn answers(&self, batch: &mut Vec<Reply>, most: usize) -> bool {
        poll_fn(|task| {
            let mut replies = self.replies.borrow_mut();
            if !replies.is_empty() {
                let count = replies.len().min(most);
                batch.extend(replies.drain(..count));
                return Poll::Ready(true);
            }
            if self.closed.get() {
                return Poll::Ready(false);
            }
            *self.writer.borrow_mut() = Some(task.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// The connection is over: workers and writer end.
    pub fn close(&self) {
        self.closed.set(true);
        std::mem::take(&mut *self.idle.borrow_mut()).into_iter().for_each(Waker::wake);
        if let Some(writer) = self.writer.borrow_mut().take() {
            writer.wake();
        }
    }
}
