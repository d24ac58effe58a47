//! One connection at work: a writer that sends as many requests as there are with one call, a reader that hands answers
//! out. When either fails, or its owner gives the connection up, nothing more is sent, and the reader waits for the server
//! to end it: only then is it certain that nothing sent here is still to be done.

use std::cell::Cell;
use std::io::{self, ErrorKind, IoSlice};
use std::rc::Rc;

use fathom_nbd::client::{Answer, Chunk, LONGEST_CHUNK, Question, SIZE, decode};
use fathom_runtime::Queue;
use fathom_wire::{Input, Wire};

use super::job::Job;

/// Requests per call: two pieces each.
const BATCH: usize = 64;
/// What the kernel keeps in each direction, bytes.
const SOCKET_BUFFER: i32 = 2 << 20;
/// ESHUTDOWN as the protocol numbers it: the server is going away.
const SHUTDOWN: u32 = 108;

/// How a connection was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The server ended it: what it has not answered it will not do any more.
    Ended,
    /// Nobody knows what the server still does.
    Doubtful,
}

/// Who has the connection: what comes over it, and what becomes of it.
pub trait Owner {
    /// The unanswered request with this cookie.
    fn job(&self, cookie: u64) -> Option<Rc<Job>>;

    /// The server has answered a request.
    fn answered(&self, cookie: u64, errno: u32);

    /// Something has come from the server.
    fn hear(&self);

    /// The connection does not work any more.
    fn lose(self: &Rc<Self>, loss: Loss, why: &str);

    /// The server has ended it, or the kernel has given it up.
    fn over(&self);
}

/// One connection.
pub struct Connection {
    wire: Wire,
    queue: Queue<(u64, Rc<Job>)>,
    // Given up: what comes is not looked at, nothing is sent.
    given_up: Cell<bool>,
    over: Cell<bool>,
}

/// A request with its header, being sent.
struct Outgoing {
    header: [u8; SIZE],
    job: Rc<Job>,
}

impl Outgoing {
    fn len(&self) -> usize {
        SIZE + self.job.payload().map_or(0, fathom_volume::Buf::len)
    }

    /// Header and payload, to be looked at only until anything else runs.
    fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let payload = self.job.payload().map(|buf| {
            // SAFETY: the job holds the buffer, and who asked for the write does not run while these bytes are looked at.
            unsafe { std::slice::from_raw_parts(buf.as_ptr().cast_const(), buf.len()) }
        });
        std::iter::once(&self.header[..]).chain(payload)
    }
}

impl Connection {
    pub fn new(wire: Wire) -> Self {
        wire.port().set_buffers(SOCKET_BUFFER);
        Self { wire, queue: Queue::default(), given_up: Cell::new(false), over: Cell::new(false) }
    }

    /// Whether the server has ended it, or the kernel has given it up.
    pub fn is_over(&self) -> bool {
        self.over.get()
    }

    /// Queues a request to be sent.
    pub fn put(&self, cookie: u64, job: Rc<Job>) {
        self.queue.push((cookie, job));
    }

    /// Sends nothing more, from this moment on: half a request that was sent is never done by the server.
    pub fn give_up(&self) {
        self.given_up.set(true);
        self.queue.clear();
        self.wire.port().stop_writing();
        self.queue.close();
    }

    /// Says goodbye if nothing is on its way, and ends the connection.
    pub fn leave(&self, idle: bool) {
        if idle && !self.given_up.get() && !self.wire.is_encrypted() {
            let goodbye = Question::Disconnect.encode(false, 0, 0, 0);
            // Whether it arrives makes no difference: the connection ends here.
            let _ = self.wire.port().try_write(&[IoSlice::new(&goodbye)]);
        }
        self.give_up();
    }

    // What comes of a connection that was given up is no news, and the owner may have another by then.
    fn fail<U: Owner>(&self, owner: &Rc<U>, loss: Loss, why: &str) {
        if !self.given_up.get() {
            owner.lose(loss, why);
        }
    }

    /// Moves what is to be sent into `batch`; false when nothing will be any more.
    async fn next_batch(&self, batch: &mut Vec<Outgoing>) -> bool {
        let mut next = Vec::new();
        let goes_on = self.queue.pop_many(BATCH, &mut next).await && !self.given_up.get();
        batch.extend(next.into_iter().map(|(cookie, job)| Outgoing { header: job.header(cookie), job }));
        goes_on
    }

    async fn send(&self, batch: &[Outgoing]) -> io::Result<()> {
        let (mut first, mut skip) = (0, 0);
        while first < batch.len() && !self.given_up.get() {
            if self.wire.is_encrypted() {
                let request: Vec<u8> = batch[first].pieces().flatten().copied().collect();
                self.wire.write_all(&request).await?;
                first += 1;
                continue;
            }
            match self.wire.port().try_write(&gather(&batch[first..], skip)) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wire.port().writable().await,
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                sent => {
                    skip += sent?;
                    while first < batch.len() && skip >= batch[first].len() {
                        skip -= batch[first].len();
                        first += 1;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The pieces of these requests without the first `skip` bytes of the first.
fn gather(batch: &[Outgoing], skip: usize) -> Vec<IoSlice<'_>> {
    let mut skip = skip;
    let mut pieces = Vec::with_capacity(2 * batch.len());
    for piece in batch.iter().flat_map(Outgoing::pieces) {
        let taken = skip.min(piece.len());
        skip -= taken;
        if taken < piece.len() {
            pieces.push(IoSlice::new(&piece[taken..]));
        }
    }
    pieces
}

/// What an error of the kernel says about the other side.
fn certainty(error: &io::Error) -> Loss {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Loss::Ended,
        _ => Loss::Doubtful,
    }
}

/// Sends requests until the connection is given up.
pub async fn write<U: Owner>(owner: Rc<U>, connection: Rc<Connection>) {
    let mut batch = Vec::with_capacity(BATCH);
    while connection.next_batch(&mut batch).await {
        if let Err(error) = connection.send(&batch).await {
            connection.fail(&owner, certainty(&error), &format!("requests cannot be sent: {error}"));
        }
        batch.clear();
    }
}

/// Hands answers out until the connection fails or is given up, then waits for its end.
pub async fn read<U: Owner>(owner: Rc<U>, connection: Rc<Connection>, rest: Vec<u8>) {
    let mut input = Input::new(&rest);
    let (loss, why) = match connection.answers(&*owner, &mut input).await {
        Ok(end) => end,
        Err(error) => (certainty(&error), format!("the connection failed: {error}")),
    };
    connection.fail(&owner, loss, &why);
    // Whatever still comes is for nobody; an error means that the kernel has given the connection up.
    while matches!(connection.drop_input(&mut input).await, Ok(true)) {}
    connection.over.set(true);
    owner.over();
}

impl Connection {
    async fn drop_input(&self, input: &mut Input) -> io::Result<bool> {
        input.skip(input.bytes().len());
        input.fill(&self.wire).await
    }

    /// Hands answers out; how and why that ended.
    async fn answers(&self, owner: &impl Owner, input: &mut Input) -> io::Result<(Loss, String)> {
        let doubtful = |why: String| Ok((Loss::Doubtful, why));
        loop {
            if self.given_up.get() {
                return doubtful("it was given up".to_owned());
            }
            let (answer, size) = match decode(input.bytes()) {
                Ok(found) => found,
                Err(nonsense) => {
                    return doubtful(format!("the server does not speak the protocol: {nonsense}"));
                }
            };
            let heard = match answer {
                Answer::Incomplete => {
                    debug_assert!(
                        input.bytes().len() < LONGEST_CHUNK + 32,
                        "a decoder that never has enough"
                    );
                    if !input.fill(&self.wire).await? {
                        return Ok((Loss::Ended, "the server closed the connection".to_owned()));
                    }
                    owner.hear();
                    continue;
                }
                Answer::Simple { errno: SHUTDOWN, .. }
                | Answer::Chunk { chunk: Chunk::Failed { errno: SHUTDOWN }, .. } => {
                    return doubtful("the server is shutting down".to_owned());
                }
                Answer::Simple { cookie, errno } => {
                    input.skip(size);
                    self.simple(owner, input, cookie, errno).await?
                }
                Answer::Chunk { cookie, last, chunk } => {
                    input.skip(size);
                    self.chunk(owner, input, (cookie, last), chunk).await?
                }
            };
            if let Err(why) = heard {
                return doubtful(format!("the server does not speak the protocol: {why}"));
            }
        }
    }

    async fn simple(
        &self,
        owner: &impl Owner,
        input: &mut Input,
        cookie: u64,
        errno: u32,
    ) -> io::Result<Result<(), &'static str>> {
        let Some(job) = owner.job(cookie) else { return Ok(Err("an answer that nobody waits for")) };
        if errno == 0 && job.expects() > 0 && !self.receive(owner, input, &job, 0..job.length).await? {
            return Ok(Ok(()));
        }
        owner.answered(cookie, errno);
        Ok(Ok(()))
    }

    async fn chunk(
        &self,
        owner: &impl Owner,
        input: &mut Input,
        (cookie, last): (u64, bool),
        chunk: Chunk,
    ) -> io::Result<Result<(), &'static str>> {
        let Some(job) = owner.job(cookie) else { return Ok(Err("a chunk that nobody waits for")) };
        let within = |offset: u64, length: u32| {
            let start = offset.checked_sub(job.offset)?;
            let end = start.checked_add(u64::from(length))?;
            let fits = job.expects() > 0 && end <= u64::from(job.length);
            fits.then_some(start as u32..end as u32)
        };
        match chunk {
            Chunk::Done => {}
            Chunk::Failed { errno } => job.failed.set(errno),
            Chunk::Data { offset, length } => {
                let Some(range) = within(offset, length) else {
                    return Ok(Err("data that were not asked for"));
                };
                if !self.receive(owner, input, &job, range).await? {
                    return Ok(Ok(()));
                }
                job.filled.set(job.filled.get().saturating_add(length));
            }
            Chunk::Hole { offset, length } => {
                let Some(range) = within(offset, length) else {
                    return Ok(Err("zeroes that were not asked for"));
                };
                let buf = job.buf.as_ref().map(|buf| buf.slice(range.start as usize..range.end as usize));
                buf.inspect(|buf| buf.with_mut(|bytes| bytes.fill(0)));
                job.filled.set(job.filled.get().saturating_add(length));
            }
        }
        if last {
            // Chunks do not overlap (specification, "Structured reply chunk message"): as many bytes are all bytes.
            if job.failed.get() == 0 && job.filled.get() != job.expects() {
                return Ok(Err("an answer without all of the data"));
            }
            owner.answered(cookie, job.failed.get());
        }
        Ok(Ok(()))
    }

    /// Fills a part of a job's buffer; false if the connection was given up meanwhile. By way of the receive buffer: who
    /// was told that a request failed may use its memory for something else, while its answer is still on the way here.
    async fn receive(
        &self,
        owner: &impl Owner,
        input: &mut Input,
        job: &Job,
        range: std::ops::Range<u32>,
    ) -> io::Result<bool> {
        let (mut at, end) = (range.start as usize, range.end as usize);
        while at < end {
            if input.bytes().is_empty() {
                if !input.fill(&self.wire).await? {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
                owner.hear();
            }
            if self.given_up.get() {
                return Ok(false);
            }
            let count = input.bytes().len().min(end - at);
            if let Some(buf) = &job.buf {
                buf.slice(at..at + count).copy_from(&input.bytes()[..count]);
            }
            input.skip(count);
            at += count;
        }
        Ok(true)
    }
}
