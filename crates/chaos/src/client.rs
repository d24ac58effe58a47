//! A user of the daemon's exports: requests in the order they are made, answers as they come.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

const READ: u16 = 0;
const WRITE: u16 = 1;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
const WRITE_ZEROES: u16 = 6;
const FUA: u16 = 1;

/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(100);

/// What is asked of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    Read,
    Write,
    Flush,
    Trim,
    WriteZeroes,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub cookie: u64,
    pub errno: u32,
    pub data: Vec<u8>,
}

/// Why there are no more answers.
#[derive(Debug, PartialEq, Eq)]
pub enum Gone {
    /// The connection is closed.
    Closed,
    /// Nothing came for a long time.
    Silent,
    /// What came is not an answer.
    Garbled(String),
}

/// One connection.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    /// Bytes of the export.
    pub size: u64,
    held: Vec<u8>,
    /// Reads in flight, with their length.
    reads: Vec<(u64, u32)>,
    /// Requests without an answer.
    pub outstanding: usize,
}

impl Client {
    /// Opens an export.
    pub fn open(socket: &Path, export: &str) -> std::io::Result<Self> {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting)?;
        let mut ask = 3_u32.to_be_bytes().to_vec();
        ask.extend(0x4948_4156_454F_5054_u64.to_be_bytes());
        ask.extend(1_u32.to_be_bytes());
        ask.extend((export.len() as u32).to_be_bytes());
        ask.extend(export.as_bytes());
        stream.write_all(&ask)?;
        let mut answer = [0; 10];
        stream.read_exact(&mut answer)?;
        let size = u64::from_be_bytes(answer[..8].try_into().expect("eight bytes"));
        Ok(Self { stream, size, held: Vec::new(), reads: Vec::new(), outstanding: 0 })
    }

    /// Sends a request.
    pub fn send(
        &mut self,
        ask: Ask,
        fua: bool,
        cookie: u64,
        range: (u64, u32),
        data: &[u8],
    ) -> Result<(), Gone> {
        let kind = match ask {
            Ask::Read => READ,
            Ask::Write => WRITE,
            Ask::Flush => FLUSH,
            Ask::Trim => TRIM,
            Ask::WriteZeroes => WRITE_ZEROES,
        };
        let mut bytes = Vec::with_capacity(28 + data.len());
        bytes.extend(0x2560_9513_u32.to_be_bytes());
        bytes.extend((if fua { FUA } else { 0 }).to_be_bytes());
        bytes.extend(kind.to_be_bytes());
        bytes.extend(cookie.to_be_bytes());
        bytes.extend(range.0.to_be_bytes());
        bytes.extend(range.1.to_be_bytes());
        bytes.extend(data);
        if ask == Ask::Read {
            self.reads.push((cookie, range.1));
        }
        self.outstanding += 1;
        self.stream.write_all(&bytes).map_err(|_| Gone::Closed)
    }

    /// The next answer that is there, without waiting.
    pub fn poll(&mut self) -> Result<Option<Answer>, Gone> {
        if let Some(answer) = self.cut()? {
            return Ok(Some(answer));
        }
        let mut poll = libc::pollfd { fd: self.stream.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor that is open, in a structure of this frame.
        if unsafe { libc::poll(&raw mut poll, 1, 0) } == 0 {
            return Ok(None);
        }
        self.fill()?;
        self.cut()
    }

    /// The next answer.
    pub fn wait(&mut self) -> Result<Answer, Gone> {
        let start = Instant::now();
        loop {
            if let Some(answer) = self.cut()? {
                return Ok(answer);
            }
            self.fill()?;
            if start.elapsed() > PATIENCE {
                return Err(Gone::Silent);
            }
        }
    }

    fn fill(&mut self) -> Result<(), Gone> {
        let mut bytes = [0; 64 << 10];
        match self.stream.read(&mut bytes) {
            Ok(0) => Err(Gone::Closed),
            Ok(got) => {
                self.held.extend(&bytes[..got]);
                Ok(())
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Err(Gone::Silent),
            Err(_) => Err(Gone::Closed),
        }
    }

    /// An answer out of what has come.
    fn cut(&mut self) -> Result<Option<Answer>, Gone> {
        let Some(head) = self.held.get(..16) else { return Ok(None) };
        if head[..4] != 0x6744_6698_u32.to_be_bytes() {
            return Err(Gone::Garbled(format!("an answer begins with {:02x?}", &head[..4])));
        }
        let errno = u32::from_be_bytes(head[4..8].try_into().expect("four bytes"));
        let cookie = u64::from_be_bytes(head[8..].try_into().expect("eight bytes"));
        let read = self.reads.iter().position(|(of, _)| *of == cookie);
        let length = read.filter(|_| errno == 0).map_or(0, |at| self.reads[at].1 as usize);
        if self.held.len() < 16 + length {
            return Ok(None);
        }
        let data = self.held[16..16 + length].to_vec();
        self.held.drain(..16 + length);
        if let Some(at) = read {
            self.reads.swap_remove(at);
        }
        let left = self.outstanding.checked_sub(1);
        self.outstanding = left.ok_or_else(|| Gone::Garbled("an answer to nothing".to_owned()))?;
        Ok(Some(Answer { cookie, errno, data }))
    }
}
