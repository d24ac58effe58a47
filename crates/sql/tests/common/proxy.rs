//! A network between a driver and its server that can be made a bad one: it stands still, it is slow, it breaks.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use fathom_job::{Address, Connection, Tls};
use fathom_runtime::{MILLISECOND, Nanos, Random, SECOND, monotonic};

/// What becomes of bytes on their way, in each direction.
///
/// Not Linux's netem, which a kernel may lack: TCP hides a lost segment behind a wait for its repetition, and that wait is what is
/// made here.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    /// How long everything takes.
    pub delay: Duration,
    /// How much longer at most; the order is kept.
    pub jitter: Duration,
    /// 0: as fast as it can.
    pub bytes_per_second: u64,
    /// Of a million segments of 1,448 bytes. What follows waits with it.
    pub lost_per_million: u32,
}

impl Link {
    /// No wait at all.
    pub const NONE: Self =
        Self { delay: Duration::ZERO, jitter: Duration::ZERO, bytes_per_second: 0, lost_per_million: 0 };
}

/// Linux repeats a segment after 200 ms at the earliest (`TCP_RTO_MIN`).
const REPEATED_AFTER: Nanos = 200 * MILLISECOND;

/// Bytes under way in one direction, at most.
const UNDER_WAY: usize = 1 << 20;

/// Passes bytes on between any number of connections and one server.
pub struct Proxy {
    /// Where it listens, on this machine.
    pub port: u16,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

struct State {
    stalls: AtomicBool,
    ends: AtomicBool,
    /// Every connection breaks once so many more bytes have come from the server.
    left: AtomicU64,
    link: Mutex<Link>,
}

impl Proxy {
    /// Before that server, and how it is reached through it: its certificate is not for this machine's name.
    pub fn before(to: &Connection) -> (Self, Connection) {
        let Address::Tcp(host, port) = &to.address else { panic!("it is reached by TCP") };
        let proxy = Self::to(host, *port);
        let tls = if to.tls() == Tls::Disable { Tls::Disable } else { Tls::Require };
        let address = Address::Tcp("localhost".into(), proxy.port);
        (proxy, Connection { address, tls: Some(tls), tls_ca: None, ..to.clone() })
    }

    /// For the server there.
    pub fn to(host: &str, server: u16) -> Self {
        let host = host.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let state = Arc::new(State {
            stalls: AtomicBool::new(false),
            ends: AtomicBool::new(false),
            left: AtomicU64::new(u64::MAX),
            link: Mutex::new(Link::NONE),
        });
        let shared = Arc::clone(&state);
        let thread = spawn(move || {
            let mut pumps = Vec::new();
            for stream in listener.incoming() {
                if shared.ends.load(Ordering::SeqCst) {
                    break;
                }
                let near = stream.expect("a driver connects");
                let far = TcpStream::connect((host.as_str(), server)).expect("the server is there");
                let number = pumps.len();
                near.set_nodelay(true).and_then(|()| far.set_nodelay(true)).expect("they are open");
                for (from, to, counts) in [(&near, &far, false), (&far, &near, true)] {
                    let from = from.try_clone().expect("a second handle");
                    let to = to.try_clone().expect("a second handle");
                    let state = Arc::clone(&shared);
                    pumps.push(spawn(move || pump(from, to, number * 2 + usize::from(counts), &state)));
                }
            }
            pumps.into_iter().for_each(|pump| pump.join().expect("it pumps"));
        });
        Self { port, state, thread: Some(thread) }
    }

    /// Nothing goes through any more, and nobody is told; or it does again.
    pub fn stall(&self, stalls: bool) {
        self.state.stalls.store(stalls, Ordering::SeqCst);
    }

    /// Connections break after so many more bytes from the server; None: none does.
    pub fn cut_after(&self, bytes: Option<u64>) {
        self.state.left.store(bytes.unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    /// What the network is like from now on.
    pub fn is(&self, link: Link) {
        *self.state.link.lock().expect("no pump panicked") = link;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.ends.store(true, Ordering::SeqCst);
        // Wakes the listener, which takes no more.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        if let Some(thread) = self.thread.take() {
            // A pump's panic has failed the test already.
            let _ = thread.join();
        }
    }
}

/// Pieces on their way, and when each arrives.
struct Line {
    under_way: VecDeque<(Nanos, Vec<u8>)>,
    bytes: usize,
    /// When the wire is free again, and when the last piece arrives.
    free: Nanos,
    last: Nanos,
    random: Random,
}

impl Line {
    fn send(&mut self, piece: &[u8], link: &Link) {
        let now = monotonic();
        let sending = match link.bytes_per_second {
            0 => 0,
            rate => piece.len() as u64 * SECOND / rate,
        };
        self.free = self.free.max(now) + sending;
        let mut arrives = self.free + link.delay.as_nanos() as u64;
        arrives += (self.random.fraction() * link.jitter.as_nanos() as f64) as u64;
        let kept = 1.0 - f64::from(link.lost_per_million) / 1e6;
        if self.random.chance(1.0 - kept.powi(piece.len().div_ceil(1448) as i32)) {
            arrives += REPEATED_AFTER;
        }
        self.last = self.last.max(arrives);
        self.bytes += piece.len();
        self.under_way.push_back((self.last, piece.to_vec()));
    }

    /// How long until the next piece arrives.
    fn next(&self) -> Option<Duration> {
        let (at, _) = self.under_way.front()?;
        Some(Duration::from_nanos(at.saturating_sub(monotonic())))
    }
}

/// Passes on what comes from one end; odd numbers count what comes from the server.
fn pump(mut from: TcpStream, mut to: TcpStream, number: usize, state: &State) {
    /// A socket's limit is rounded up to the kernel's ticks.
    const TICKS: Duration = Duration::from_millis(10);
    let counts = number % 2 == 1;
    let random = Random::new(number as u64, "line");
    let mut line = Line { under_way: VecDeque::new(), bytes: 0, free: 0, last: 0, random };
    let mut piece = vec![0; 64 << 10];
    let mut open = true;
    while !state.ends.load(Ordering::SeqCst) && (open || !line.under_way.is_empty()) {
        // What was under way when it came to a stand must not slip through.
        if state.stalls.load(Ordering::SeqCst) {
            wait(Duration::from_millis(5));
            continue;
        }
        let next = line.next();
        if next == Some(Duration::ZERO) {
            let (_, bytes) = line.under_way.pop_front().expect("it has arrived");
            line.bytes -= bytes.len();
            if !deliver(&bytes, &mut to, counts, state) {
                break;
            }
        } else if !open || line.bytes >= UNDER_WAY || next.is_some_and(|next| next < TICKS) {
            wait(next.unwrap_or(TICKS).min(TICKS));
        } else {
            from.set_read_timeout(Some(next.map_or(2 * TICKS, |next| next - TICKS / 2))).expect("it is open");
            match from.read(&mut piece) {
                Ok(0) => open = false,
                Ok(count) => line.send(&piece[..count], &state.link.lock().expect("no pump panicked")),
                Err(failed) if matches!(failed.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => break,
            }
        }
    }
    // One of them may be closed already.
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// Hands over what arrived; false if the connection breaks.
fn deliver(bytes: &[u8], to: &mut TcpStream, counts: bool, state: &State) -> bool {
    let left = state.left.load(Ordering::SeqCst);
    if !counts || left == u64::MAX {
        return to.write_all(bytes).is_ok();
    }
    let kept = bytes.len().min(left as usize);
    state.left.store(left - kept as u64, Ordering::SeqCst);
    to.write_all(&bytes[..kept]).is_ok() && kept == bytes.len()
}

#[expect(clippy::disallowed_methods, reason = "a slow network takes time")]
fn wait(time: Duration) {
    if !time.is_zero() {
        std::thread::sleep(time);
    }
}

#[expect(clippy::disallowed_methods, reason = "the other end of a blocking socket")]
fn spawn(work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    std::thread::spawn(work)
}
