//! A scripted peer that speaks enough of TDS 7.4 to hold the SQL Server driver to its protocol: it accepts any login, encrypted or
//! not, and answers each request as a function of the test says. It knows no SQL.
//!
//! Format: Microsoft, \[MS-TDS\]: Tabular Data Stream Protocol, sections 2.2.3 (packets), 2.2.6 (requests), 2.2.7 (tokens).

#![allow(dead_code, reason = "each test program uses its part")]

pub mod call;
pub mod kept;
pub mod loaded;
pub mod recorded;
pub mod tls;
pub mod types;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use fathom_job::{Address, Connection, DatabaseKind, Login, Tls};
use fathom_sql::drivers::sqlserver::Sqlserver;
use tls::Encrypts;

/// What a client asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// A text.
    Batch,
    /// A procedure by name.
    Call,
    /// Rows of a bulk copy.
    Bulk,
    /// Begin, commit or roll back.
    Transaction,
}

/// A request as it came.
pub struct Asked {
    /// Its kind.
    pub request: Request,
    /// Over which connection: 0 is the first.
    pub connection: usize,
    body: Vec<u8>,
}

impl Asked {
    /// Whether this text is in it, as the protocol writes text.
    pub fn holds(&self, text: &str) -> bool {
        let wanted: Vec<u8> = utf16(text);
        self.body.windows(wanted.len()).any(|window| window == wanted)
    }

    /// For messages.
    pub fn text(&self) -> String {
        let letters = self.body.iter().filter(|byte| (32..127).contains(*byte));
        letters.map(|byte| char::from(*byte)).collect()
    }
}

/// The peer, for any number of connections.
pub struct Peer {
    /// Where it listens, on this machine.
    pub port: u16,
    /// How the driver is told to come.
    tls: Tls,
    ends: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// What is answered to the token that a login brings; None: it is not let in.
pub type Accept = Arc<dyn Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync>;

impl Peer {
    /// Answers each request with the tokens that `answer` makes; None closes the connection.
    pub fn start(answer: impl FnMut(&Asked) -> Option<Vec<u8>> + Send + 'static) -> Self {
        Self::encrypted(Encrypts::Never, answer)
    }

    /// The same, encrypted as told.
    pub fn encrypted(
        encrypts: Encrypts,
        answer: impl FnMut(&Asked) -> Option<Vec<u8>> + Send + 'static,
    ) -> Self {
        Self::accepting(encrypts, None, answer)
    }

    /// The same; with `accept` nobody is let in without a token.
    pub fn accepting(
        encrypts: Encrypts,
        accept: Option<Accept>,
        answer: impl FnMut(&Asked) -> Option<Vec<u8>> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let tls = if matches!(encrypts, Encrypts::Never) { Tls::Disable } else { Tls::Require };
        let (ends, answer) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(answer)));
        let told = Arc::clone(&ends);
        let thread = spawn(move || {
            let mut conversations = Vec::new();
            for (connection, stream) in listener.incoming().enumerate() {
                if told.load(Ordering::SeqCst) {
                    break;
                }
                let (stream, answer) = (stream.expect("the driver connects"), Arc::clone(&answer));
                let one = move |asked: &Asked| (answer.lock().expect("the peer is content"))(asked);
                let (encrypts, accept) = (encrypts.clone(), accept.clone());
                conversations.push(spawn(move || greet(stream, &encrypts, accept.as_ref(), connection, one)));
            }
            for conversation in conversations {
                conversation.join().expect("the peer is content");
            }
        });
        Self { port, tls, ends, thread }
    }

    /// Waits for the end of all connections; fails if it found something wrong.
    pub fn end(self) {
        self.ends.store(true, Ordering::SeqCst);
        // Wakes the listener, which takes no more.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        self.thread.join().expect("the peer is content");
    }
}

#[expect(clippy::disallowed_methods, reason = "the other end of a blocking socket")]
fn spawn(work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    std::thread::spawn(work)
}

/// The pre-login, and the encryption that it came to.
fn greet(
    mut stream: TcpStream,
    encrypts: &Encrypts,
    accept: Option<&Accept>,
    connection: usize,
    answer: impl Fn(&Asked) -> Option<Vec<u8>>,
) {
    let Some((kind, body)) = receive(&mut stream) else { return };
    assert_eq!(kind, 0x12, "a connection begins with the pre-login");
    // Version; encryption; end.
    let word = encrypts.word(&body);
    send(&mut stream, &[0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xFF, 16, 0, 0, 0, 0, 0, word]);
    match encrypts.wanted(&body) {
        None => converse(&mut stream, accept, connection, answer),
        // A driver that believes nothing of it goes away.
        Some(config) => {
            if let Some(mut stream) = tls::handshake(stream, config) {
                converse(&mut stream, accept, connection, answer);
            }
        }
    }
}

/// The messages that answer a login: \[MS-TDS\] 2.2.6.4 (LOGIN7) and 2.2.7.22 (SSPI). None: it is not let in.
fn let_in(login: &[u8], accept: Option<&Accept>) -> Option<Vec<Vec<u8>>> {
    let mut messages = Vec::new();
    if let Some(accept) = accept {
        let short = |at: usize| usize::from(u16::from_le_bytes([login[at], login[at + 1]]));
        let (user, password, at, length) = (short(42), short(46), short(78), short(80));
        assert_eq!((user, password), (0, 0), "the token alone says who comes");
        // The proof is a message of its own, and the acknowledgement another, as Babelfish sends them.
        messages.push(token(0xED, &accept(&login[at..at + length])?));
    }
    messages.push([login_ack(), done(0xFD, None)].concat());
    Some(messages)
}

fn converse(
    stream: &mut (impl Read + Write),
    accept: Option<&Accept>,
    connection: usize,
    answer: impl Fn(&Asked) -> Option<Vec<u8>>,
) {
    while let Some((kind, body)) = receive(stream) {
        let request = match kind {
            0x10 => {
                let untrusted =
                    || vec![failed(18_452, "Login failed. The login is from an untrusted domain.")];
                for message in let_in(&body, accept).unwrap_or_else(untrusted) {
                    send(stream, &message);
                }
                continue;
            }
            1 => Request::Batch,
            3 => Request::Call,
            7 => Request::Bulk,
            14 => Request::Transaction,
            other => panic!("a packet of type {other}"),
        };
        match answer(&Asked { request, connection, body }) {
            Some(tokens) => send(stream, &tokens),
            None => return,
        }
    }
}

/// A message of one or several packets; None at the end of the connection.
fn receive(stream: &mut impl Read) -> Option<(u8, Vec<u8>)> {
    let mut body = Vec::new();
    loop {
        let mut head = [0; 8];
        stream.read_exact(&mut head).ok()?;
        let length = usize::from(u16::from_be_bytes([head[2], head[3]])) - head.len();
        let start = body.len();
        body.resize(start + length, 0);
        stream.read_exact(&mut body[start..]).ok()?;
        if head[1] & 1 == 1 {
            return Some((head[0], body));
        }
    }
}

/// In packets of the size that both begin with, 4096 bytes.
fn send(stream: &mut impl Write, tokens: &[u8]) {
    let pieces = tokens.chunks(4088);
    let last = pieces.len() - 1;
    let mut message = Vec::with_capacity(tokens.len() + 8 * (last + 1));
    for (number, piece) in pieces.enumerate() {
        let [high, low] = ((piece.len() + 8) as u16).to_be_bytes();
        message.extend([4, u8::from(number == last), high, low, 0, 0, 1, 0]);
        message.extend(piece);
    }
    // A driver that has gone away is the test's matter.
    let _ = stream.write_all(&message).and_then(|()| stream.flush());
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn short(text: &str) -> Vec<u8> {
    [vec![text.encode_utf16().count() as u8], utf16(text)].concat()
}

fn token(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], &(body.len() as u16).to_le_bytes()[..], body].concat()
}

fn login_ack() -> Vec<u8> {
    token(0xAD, &[&[1, 0x74, 0, 0, 4][..], &short("Peer"), &[16, 0, 0, 0]].concat())
}

fn done(kind: u8, rows: Option<u64>) -> Vec<u8> {
    let status: u16 = if rows.is_some() { 0x10 } else { 0 };
    [&[kind], &status.to_le_bytes()[..], &[0, 0], &rows.unwrap_or(0).to_le_bytes()].concat()
}

/// The end of a batch or of rows.
pub fn finished(rows: Option<u64>) -> Vec<u8> {
    done(0xFD, rows)
}

/// The end of a call, whose statement changed or returned so many rows.
pub fn returned(rows: u64) -> Vec<u8> {
    [done(0xFF, Some(rows)), vec![0x79, 0, 0, 0, 0], done(0xFE, None)].concat()
}

/// The server's error.
pub fn failed(number: i32, message: &str) -> Vec<u8> {
    let length = (message.encode_utf16().count() as u16).to_le_bytes();
    let body = [
        &number.to_le_bytes()[..],
        &[1, 16],
        &length,
        &utf16(message),
        &short("peer"),
        &short(""),
        &[1, 0, 0, 0],
    ];
    [token(0xAA, &body.concat()), vec![0xFD, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]].concat()
}

/// A transaction began (8), was committed (9) or rolled back (10).
pub fn transaction(change: u8) -> Vec<u8> {
    let number = [8, 1, 2, 3, 4, 5, 6, 7, 8];
    let values = if change == 8 { [&number[..], &[0]].concat() } else { [&[0][..], &number].concat() };
    [token(0xE3, &[&[change][..], &values].concat()), finished(None)].concat()
}

/// A column that may be null.
#[derive(Clone, Copy)]
pub enum Column {
    /// bigint.
    Int(&'static str),
    /// nvarchar(100).
    Text(&'static str),
    /// decimal(12, 2).
    Cents(&'static str),
    /// money.
    Money(&'static str),
    /// smallmoney.
    SmallMoney(&'static str),
}

/// What columns the rows to come have.
pub fn columns(columns: &[Column]) -> Vec<u8> {
    let mut bytes = [&[0x81], &(columns.len() as u16).to_le_bytes()[..]].concat();
    for column in columns {
        // No user type; may be null, may be written.
        bytes.extend([0, 0, 0, 0, 5, 0]);
        match column {
            Column::Int(name) => bytes.extend([vec![0x26, 8], short(name)].concat()),
            Column::Text(name) => {
                bytes.extend([vec![0xE7, 200, 0, 0x09, 0x04, 0xD0, 0, 0x34], short(name)].concat());
            }
            Column::Cents(name) => bytes.extend([vec![0x6C, 9, 12, 2], short(name)].concat()),
            Column::Money(name) => bytes.extend([vec![0x6E, 8], short(name)].concat()),
            Column::SmallMoney(name) => bytes.extend([vec![0x6E, 4], short(name)].concat()),
        }
    }
    bytes
}

/// A value of a row.
#[derive(Clone, Copy)]
pub enum Cell {
    /// In a column of whole numbers; None: null.
    Int(Option<i64>),
    /// In a column of text.
    Text(&'static str),
    /// In a column of cents.
    Cents(i64),
    /// In a column of money, 1/10,000; None: null.
    Money(Option<i64>),
    /// In a column of smallmoney, 1/10,000.
    SmallMoney(i32),
}

/// A row.
pub fn row(cells: &[Cell]) -> Vec<u8> {
    let mut bytes = vec![0xD1];
    for cell in cells {
        match cell {
            Cell::Int(None) => bytes.push(0),
            Cell::Int(Some(value)) => bytes.extend([&[8], &value.to_le_bytes()[..]].concat()),
            Cell::Text(text) => {
                let text = utf16(text);
                bytes.extend([&(text.len() as u16).to_le_bytes()[..], &text].concat());
            }
            Cell::Money(None) => bytes.push(0),
            // The upper half first.
            Cell::Money(Some(units)) => {
                let (upper, lower) = ((units >> 32) as i32, *units as u32);
                bytes.extend([&[8], &upper.to_le_bytes()[..], &lower.to_le_bytes()].concat());
            }
            Cell::SmallMoney(units) => bytes.extend([&[4], &units.to_le_bytes()[..]].concat()),
            Cell::Cents(cents) => {
                bytes.extend([9, u8::from(*cents >= 0)]);
                bytes.extend(cents.unsigned_abs().to_le_bytes());
            }
        }
    }
    bytes
}

/// The driver, for that peer.
pub fn database(peer: &Peer) -> Sqlserver {
    Sqlserver::new(Connection { tls: Some(peer.tls), ..connection(peer.port) })
}

/// How that port is reached, in the clear.
pub fn connection(port: u16) -> Connection {
    let address = Address::Tcp("127.0.0.1".into(), port);
    let (user, password, database) = ("bench".into(), Some("secret".into()), "work".into());
    Connection {
        kind: DatabaseKind::Sqlserver,
        address,
        user,
        password,
        database,
        tls: Some(Tls::Disable),
        tls_ca: None,
        login: Login::default(),
        timeout_ns: None,
    }
}

/// One row of whole numbers.
pub fn numbers(values: &[i64]) -> Vec<u8> {
    let cells: Vec<Cell> = values.iter().map(|value| Cell::Int(Some(*value))).collect();
    [columns(&vec![Column::Int("n"); values.len()]), row(&cells), returned(1)].concat()
}
