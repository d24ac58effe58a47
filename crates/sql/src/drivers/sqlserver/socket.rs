//! The socket of a session: asynchronous, with a limit on how long the peer may stall. It also notes how the
//! connection gets encrypted, which the library does not report.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::io::{AsyncRead, AsyncWrite};
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// The packet of the pre-login, and of a TLS handshake: \[MS-TDS\] section 2.2.3.1.1.
const PRE_LOGIN: u8 = 0x12;
/// Bytes of a packet's header, and of a TLS record's.
const PACKET_HEAD: usize = 8;
const RECORD_HEAD: usize = 5;
/// A TLS record whose content is encrypted: within the handshake there are such in TLS 1.3 only.
const ENCRYPTED: u8 = 0x17;

/// How a connection is encrypted, in the words of the fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Encryption {
    None,
    Tls12,
    Tls13,
}

impl Encryption {
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Tls12 => "TLSv1.2",
            Self::Tls13 => "TLSv1.3",
        }
    }
}

/// State that a session shares with its socket; the library owns the socket.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Longest the peer may stall, in us; 0: for ever.
    limit: AtomicU64,
    /// A new call has begun: whatever was waited for before does not count.
    begun: AtomicBool,
    stalled: AtomicBool,
    encryption: AtomicU8,
}

impl Watch {
    pub fn set_limit(&self, limit: Option<Duration>) {
        let micros = |limit: Duration| u64::try_from(limit.as_micros()).unwrap_or(u64::MAX).max(1);
        self.limit.store(limit.map_or(0, micros), Ordering::Relaxed);
    }

    pub fn limit(&self) -> Option<Duration> {
        let micros = self.limit.load(Ordering::Relaxed);
        (micros > 0).then(|| Duration::from_micros(micros))
    }

    pub fn begin_call(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }

    /// Whether the limit has passed; nothing goes through the socket any more then.
    pub fn stalled(&self) -> bool {
        self.stalled.load(Ordering::Relaxed)
    }

    pub fn encryption(&self) -> Encryption {
        match self.encryption.load(Ordering::Relaxed) {
            0 => Encryption::None,
            1 => Encryption::Tls12,
            _ => Encryption::Tls13,
        }
    }
}

pub(super) struct Socket {
    stream: TcpStream,
    watch: Arc<Watch>,
    /// Runs while `waits`.
    timer: Pin<Box<Sleep>>,
    waits: bool,
    /// Whether the pre-login has gone out.
    greeted: bool,
    /// Whether it must not be encrypted.
    plain: bool,
}

impl Socket {
    /// Within a runtime. One that is `plain` refuses to be encrypted.
    pub fn new(stream: TcpStream, watch: Arc<Watch>, plain: bool) -> Self {
        let timer = Box::pin(sleep(Duration::ZERO));
        Self { stream, watch, timer, waits: false, greeted: false, plain }
    }

    /// A step's outcome, or an error if the peer stalls for too long.
    fn within<T>(&mut self, context: &mut Context<'_>, step: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if step.is_ready() {
            self.waits = false;
            return step;
        }
        let Some(limit) = self.watch.limit() else { return step };
        if self.watch.begun.swap(false, Ordering::Relaxed) || !self.waits {
            self.waits = true;
            self.timer.as_mut().reset(Instant::now() + limit);
        }
        ready!(self.timer.as_mut().poll(context));
        self.watch.stalled.store(true, Ordering::Relaxed);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn usable(&self) -> io::Result<()> {
        if self.watch.stalled() { Err(io::ErrorKind::NotConnected.into()) } else { Ok(()) }
    }

    /// Checks a packet of the handshake on its way out.
    fn check_handshake(&mut self, packet: &[u8]) -> io::Result<()> {
        if packet.first() != Some(&PRE_LOGIN) || !std::mem::replace(&mut self.greeted, true) {
            return Ok(());
        }
        if self.plain {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, FORCED));
        }
        self.watch.encryption.fetch_max(Encryption::Tls12 as u8, Ordering::Relaxed);
        let mut records = packet.get(PACKET_HEAD..).unwrap_or_default();
        while let Some((head, rest)) = records.split_at_checked(RECORD_HEAD) {
            if head[0] == ENCRYPTED {
                self.watch.encryption.fetch_max(Encryption::Tls13 as u8, Ordering::Relaxed);
            }
            let length = usize::from(u16::from_be_bytes([head[3], head[4]]));
            records = rest.get(length..).unwrap_or_default();
        }
        Ok(())
    }
}

/// What a `plain` socket says when the server insists.
pub(super) const FORCED: &str = "the server takes encrypted connections only";

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.usable()?;
        let mut into = ReadBuf::new(into);
        let step = Pin::new(&mut this.stream).poll_read(context, &mut into);
        let step = step.map_ok(|()| into.filled().len());
        this.within(context, step)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.usable()?;
        this.check_handshake(from)?;
        let step = Pin::new(&mut this.stream).poll_write(context, from);
        this.within(context, step)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
