//! The log: lines to standard error, by a thread of their own. Whoever reads them may be slow or gone, and the disk below may
//! be full; neither may keep the one thread that serves everybody, nor end the daemon. Lines that nobody fetches are dropped
//! and counted.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

/// Bytes of lines that wait to be written. Beyond that, lines are dropped.
const MOST_WAITING: usize = 1 << 20;
/// How long an end waits for the last lines.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Where lines go: the one log of the process.
#[derive(Clone)]
pub struct Log(Arc<Shared>);

#[derive(Default)]
struct Shared {
    lines: Mutex<Lines>,
    /// A line waits.
    filled: Condvar,
    /// All lines are written.
    written: Condvar,
}

#[derive(Default)]
struct Lines {
    waiting: VecDeque<Vec<u8>>,
    bytes: usize,
    /// The thread has one that is not written yet.
    writing: bool,
    /// How many were dropped since that was told last.
    dropped: u64,
}

static LOG: OnceLock<Log> = OnceLock::new();

impl Log {
    /// The log; its thread runs from the first call on.
    pub fn get() -> Self {
        LOG.get_or_init(|| {
            let log = Self(Arc::default());
            let own = log.clone();
            let run = move || own.write_lines();
            let started = without_signals(|| std::thread::Builder::new().name("log".to_owned()).spawn(run));
            if let Err(error) = started {
                tell(&format!("error: no thread for the log: {error}\n"));
            }
            log
        })
        .clone()
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, line: Vec<u8>) {
        let mut lines = self.lines();
        if lines.bytes + line.len() > MOST_WAITING {
            lines.dropped += 1;
            return;
        }
        lines.bytes += line.len();
        lines.waiting.push_back(line);
        self.0.filled.notify_one();
    }

    fn write_lines(&self) {
        let mut lines = self.lines();
        loop {
            let Some(line) = lines.waiting.pop_front() else {
                lines.writing = false;
                self.0.written.notify_all();
                lines = self.0.filled.wait(lines).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            lines.bytes -= line.len();
            lines.writing = true;
            drop(lines);
            let written = io::stderr().write_all(&line).is_ok();
            lines = self.lines();
            // Where nothing can be written, nor can that.
            if written && lines.dropped > 0 && lines.waiting.is_empty() {
                let dropped = std::mem::take(&mut lines.dropped);
                drop(lines);
                tracing::warn!(dropped, "lines of the log were dropped: standard error is read too slowly");
                lines = self.lines();
            }
        }
    }

    /// Waits until all lines are written, but no longer than a second.
    pub fn flush(&self) {
        let left = |lines: &mut Lines| lines.writing || !lines.waiting.is_empty();
        // Whatever is left then is lost.
        let _ = self.0.written.wait_timeout_while(self.lines(), LAST_LINES, left);
    }
}

/// Ends the process once the log is written.
pub fn exit(code: i32) -> ! {
    Log::get().flush();
    std::process::exit(code);
}

/// Writes to standard error what belongs to no log. There is nobody to tell that it failed.
pub fn tell(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// A panic is told by the log, too: the usual way waits for whoever reads standard error.
pub fn tell_panics() {
    std::panic::set_hook(Box::new(|panic| {
        Log::get().put(format!("{panic}\n").into_bytes());
        Log::get().flush();
    }));
}

/// Does it with every signal blocked: a thread that is started takes none that is meant for the executor.
fn without_signals<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: `all` is initialised by sigfillset and `before` by pthread_sigmask before they are used; both live for all calls.
    let before = unsafe {
        let mut all = std::mem::zeroed();
        let mut before = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
        before
    };
    let done = work();
    // SAFETY: as above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    done
}

/// One line as it is put together.
pub struct Line {
    log: Log,
    bytes: Vec<u8>,
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.log.put(std::mem::take(&mut self.bytes));
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Line;

    fn make_writer(&self) -> Line {
        Line { log: self.clone(), bytes: Vec::new() }
    }
}
