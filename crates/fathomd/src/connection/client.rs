//! What the three parts of a connection share: the reader that cuts requests out of the stream, the workers that have
//! them done, the writer that sends the answers.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use fathom_nbd::{Command, Request};
use fathom_runtime::{Context, Queue};
use fathom_volume::{Buf, Pool};
use fathom_wire::Port;

use crate::connection::account::{Account, MOST_REQUESTS, Memory, Slot};
use crate::connection::pace::Pace;
use crate::connection::reply::Reply;
use crate::exports::Served;

/// A request with the payload it came with.
pub struct Job {
    pub request: Request,
    /// The bytes of a write.
    pub payload: Option<Buf>,
    /// Goes along with the answer.
    pub slot: Slot,
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
    jobs: Queue<Job>,
    workers: Cell<usize>,
    replies: Queue<Reply>,
    // Takes no answers any more.
    gone: Cell<bool>,
}

impl Client {
    pub fn new(
        context: Context,
        pool: Pool,
        served: Rc<Served>,
        structured: bool,
        allocation: Option<u32>,
        memory: &Rc<Memory>,
    ) -> Self {
        Self {
            context,
            pool,
            served,
            structured,
            allocation,
            pace: RefCell::new(Pace::new()),
            account: Account::new(memory),
            jobs: Queue::default(),
            workers: Cell::new(0),
            replies: Queue::default(),
            gone: Cell::new(false),
        }
    }

    /// Hands a request to a worker; true if one more worker is needed.
    #[must_use]
    pub fn put(&self, job: Job) -> bool {
        let more = !self.jobs.push(job) && self.workers.get() < MOST_REQUESTS;
        self.workers.set(self.workers.get() + usize::from(more));
        more
    }

    /// The next request; None when the connection is over.
    pub async fn take(&self) -> Option<Job> {
        self.jobs.pop().await
    }

    /// Queues an answer.
    pub fn answer(&self, reply: Reply) {
        self.replies.push(reply);
    }

    /// Waits for answers and moves them into `batch`, `most` at most; false when the connection is over.
    pub async fn answers(&self, batch: &mut Vec<Reply>, most: usize) -> bool {
        self.replies.pop_many(most, batch).await
    }

    /// Nobody takes answers any more. What the client has sent can still be read.
    pub fn leave(&self, port: &Port) {
        self.gone.set(true);
        port.end();
    }

    /// Whether a request is to be done: of a client that has gone only what changes the volume, or makes a change durable.
    pub fn wants(&self, request: &Request) -> bool {
        !self.gone.get() || !matches!(request.command, Command::Read { .. } | Command::BlockStatus { .. })
    }

    /// The connection is over: workers and writer end.
    pub fn close(&self) {
        self.jobs.close();
        self.replies.close();
    }
}
