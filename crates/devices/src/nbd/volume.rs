//! The volume at work: requests cut to what the server takes, and what it cannot do done otherwise.

use std::rc::Rc;

use fathom_nbd::client::{Offered, Question};
use fathom_runtime::{Context, Semaphore};
use fathom_volume::{Buf, Error, ErrorKind, Geometry, Kind, Pool, Request, Result, Volume};

use super::hold::Hold;
use super::job::Job;
use super::session::Session;

/// Zeroes are written in pieces of this size where the server knows no request for them, bytes.
const ZEROES: u64 = 1 << 20;
/// The longest trim or write-zeroes in one request: lengths have 32 bits.
const LONGEST: u64 = 1 << 30;

/// A volume on a server.
pub struct Nbd {
    pub(super) session: Rc<Session>,
    pub(super) geometry: Geometry,
    pub(super) context: Context,
    pub(super) pool: Pool,
    pub(super) places: Semaphore,
    pub(super) read_only: bool,
    pub(super) tls: bool,
    pub(super) uri: String,
    pub(super) _hold: Option<Hold>,
}

impl Nbd {
    fn check(&self, kind: Kind) -> Result<()> {
        if self.read_only && kind != Kind::Read {
            let why = format!("nbd: {}: {}: it is read_only", self.uri, kind.name());
            return Err(Error::new(ErrorKind::Misuse, why));
        }
        self.session.admit()
    }

    /// What the server can; all of it while it is not known, for then no request is sent anyhow.
    fn can(&self, what: fn(&Offered) -> bool) -> bool {
        self.session.offered().as_ref().is_none_or(what)
    }

    /// The longest piece of a request with data, bytes.
    fn piece(&self) -> u64 {
        let most = self.session.offered().map_or(self.geometry.max_transfer, |offered| offered.largest);
        let sector = u64::from(self.geometry.logical_sector);
        (u64::from(most) / sector * sector).max(sector)
    }

    /// Sends one request and waits for its answer.
    async fn ask(&self, request: &Request, question: Question, fua: bool, part: Part) -> Result<()> {
        let place = match self.places.try_acquire() {
            Some(place) => place,
            None => {
                let began = self.context.now();
                let place = self.places.acquire().await;
                request.waited(self.context.now() - began);
                place
            }
        };
        let range = (part.offset, part.length as u32);
        let job = Rc::new(Job::new((question, fua), range, part.buf, self.session.changed(), place));
        self.session.submit(&job)?;
        job.done().await
    }

    /// The request in pieces of `most` bytes, one after the other.
    async fn ask_all(
        &self,
        request: &Request,
        question: Question,
        buf: Option<&Buf>,
        most: u64,
    ) -> Result<()> {
        let fua = request.fua && self.can(Offered::can_fua);
        let mut offset = request.offset;
        while offset < request.end() {
            let length = (request.end() - offset).min(most);
            let start = (offset - request.offset) as usize;
            let buf = buf.map(|buf| buf.slice(start..start + length as usize));
            self.ask(request, question, fua, Part { offset, length, buf }).await?;
            offset += length;
        }
        if request.fua && !fua { self.flush(&request.flush_for()).await } else { Ok(()) }
    }
}

struct Part {
    offset: u64,
    length: u64,
    buf: Option<Buf>,
}

impl Volume for Nbd {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, request: &Request, into: Buf) -> Result<()> {
        self.check(Kind::Read)?;
        self.ask_all(request, Question::Read, Some(&into), self.piece()).await
    }

    async fn write(&self, request: &Request, from: Buf) -> Result<()> {
        self.check(Kind::Write)?;
        self.ask_all(request, Question::Write, Some(&from), self.piece()).await
    }

    async fn flush(&self, request: &Request) -> Result<()> {
        if self.read_only {
            return Ok(());
        }
        self.check(Kind::Flush)?;
        self.ask(request, Question::Flush, false, Part { offset: 0, length: 0, buf: None }).await
    }

    fn trims_to_zeroes(&self) -> bool {
        self.can(Offered::can_write_zeroes)
    }

    async fn trim(&self, request: &Request) -> Result<()> {
        self.check(Kind::Trim)?;
        // Zeroes may be a hole there as well, and all copies read alike after them.
        if self.can(Offered::can_write_zeroes) {
            return self.ask_all(request, Question::WriteZeroes, None, LONGEST).await;
        }
        // A trim is advice: a server that cannot take it has taken note.
        if !self.can(Offered::can_trim) {
            return Ok(());
        }
        self.ask_all(request, Question::Trim, None, LONGEST).await
    }

    async fn write_zeroes(&self, request: &Request) -> Result<()> {
        self.check(Kind::WriteZeroes)?;
        if self.can(Offered::can_write_zeroes) {
            return self.ask_all(request, Question::WriteZeroes, None, LONGEST).await;
        }
        let zeroes = self.pool.zeroes(request.length.min(ZEROES) as usize);
        let mut offset = request.offset;
        while offset < request.end() {
            let length = (request.end() - offset).min(ZEROES);
            let part = request.part(offset, length);
            self.ask_all(&part, Question::Write, Some(&zeroes.slice(0..length as usize)), self.piece())
                .await?;
            offset += length;
        }
        Ok(())
    }

    fn reopen(&self) {
        self.session.reopen();
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let tls = if self.tls { "yes" } else { "no" };
        let connections = self.session.connections().to_string();
        let server = format!("{} {}", self.uri, self.session.standing());
        let fenced = self.session.why_fenced().map(|why| ("fenced", why));
        let facts = [("server", server), ("tls", tls.to_owned()), ("connections", connections)];
        facts.into_iter().chain(fenced).collect()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let counts = self.session.counts();
        vec![
            ("connections_lost", counts.lost),
            ("reconnected", counts.reconnected),
            ("sent_again", counts.sent_again),
            ("away", u64::from(self.session.is_away())),
            ("fenced", u64::from(self.session.is_fenced())),
        ]
    }
}

impl Drop for Nbd {
    fn drop(&mut self) {
        self.session.close();
    }
}
