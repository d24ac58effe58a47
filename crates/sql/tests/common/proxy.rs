//! A network between a driver and its server that can be made a bad one: it stands still, it is slow, it breaks.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Passes bytes on between any number of connections and one server.
pub struct Proxy {
    /// Where it listens, on this machine.
    pub port: u16,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    stalls: AtomicBool,
    ends: AtomicBool,
    /// Every connection breaks once so many more bytes have come from the server.
    left: AtomicU64,
    delay_us: AtomicU64,
}

impl Proxy {
    /// For the server at that port of this machine.
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let state = Arc::new(State { left: AtomicU64::new(u64::MAX), ..State::default() });
        let shared = Arc::clone(&state);
        let thread = spawn(move || {
            let mut pumps = Vec::new();
            for stream in listener.incoming() {
                if shared.ends.load(Ordering::SeqCst) {
                    break;
                }
                let near = stream.expect("a driver connects");
                let far = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).expect("the server is there");
                for (from, to, counts) in [(&near, &far, false), (&far, &near, true)] {
                    let from = from.try_clone().expect("a second handle");
                    let to = to.try_clone().expect("a second handle");
                    let state = Arc::clone(&shared);
                    pumps.push(spawn(move || pump(from, to, counts, &state)));
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

    /// How long everything takes in each direction.
    pub fn delay(&self, delay: Duration) {
        self.state.delay_us.store(delay.as_micros() as u64, Ordering::SeqCst);
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

fn pump(mut from: TcpStream, mut to: TcpStream, counts: bool, state: &State) {
    from.set_read_timeout(Some(Duration::from_millis(20))).expect("it is open");
    let mut piece = vec![0; 64 << 10];
    while !state.ends.load(Ordering::SeqCst) {
        if state.stalls.load(Ordering::SeqCst) {
            wait(Duration::from_millis(5));
            continue;
        }
        let mut count = match from.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(failed) if matches!(failed.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
            Err(_) => break,
        };
        wait(Duration::from_micros(state.delay_us.load(Ordering::SeqCst)));
        // What was read a moment before it came to a stand must not slip through.
        while state.stalls.load(Ordering::SeqCst) && !state.ends.load(Ordering::SeqCst) {
            wait(Duration::from_millis(5));
        }
        let left = state.left.load(Ordering::SeqCst);
        let cut = counts && left != u64::MAX && left < count as u64;
        if cut {
            count = left as usize;
        }
        if to.write_all(&piece[..count]).is_err() || cut {
            break;
        }
        if counts && left != u64::MAX {
            state.left.fetch_sub(count as u64, Ordering::SeqCst);
        }
    }
    // One of them may be closed already.
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
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
