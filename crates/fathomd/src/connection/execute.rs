//! A worker of a connection: has requests done by the volume, one at a time.
//!
//! A connection has as many workers as it ever had requests at once. A worker is one task for the life of the connection:
//! no memory is taken for a task per request.

use std::rc::Rc;

use fathom_nbd::{Command, Failure, Request};
use fathom_volume::{Buf, Error, ErrorKind, Request as Ask};

use crate::connection::account::Slot;
use crate::connection::client::{Client, Job};
use crate::connection::reply::Reply;

/// Works until the connection is over.
pub async fn work(client: Rc<Client>) {
    while let Some(job) = client.take().await {
        let reply = client.execute(job).await;
        client.answer(reply);
    }
}

/// Why a request is not done: the protocol's error number and words for people.
pub struct NbdError(u32, pub String);

impl NbdError {
    pub fn reply(&self, cookie: u64, structured: bool, slot: Slot) -> Reply {
        Reply::error(cookie, structured, self.0, &self.1, slot)
    }
}

impl Client {
    /// Bytes of memory a request takes until its answer is sent.
    pub fn charge(&self, request: &Request) -> usize {
        match request.command {
            Command::Read { .. } | Command::Write => request.length as usize,
            _ => 0,
        }
    }

    async fn execute(&self, job: Job) -> Reply {
        let Job { request, payload, slot } = job;
        let Request { cookie, offset, length, .. } = request;
        if !self.wants(&request) {
            // Goes nowhere, and gives the slot back.
            return Reply::done(cookie, self.structured, slot);
        }
        let done = match request.command {
            Command::Read { .. } => match self.read(&request).await {
                Ok(data) => return Reply::data(cookie, self.structured, offset, data, slot),
                Err(no) => Err(no),
            },
            Command::BlockStatus { .. } => match self.allocation(&request) {
                Ok(context) => return Reply::allocated(cookie, context, length, slot),
                Err(no) => Err(no),
            },
            Command::Write => self.write(&request, payload).await,
            Command::Flush => self.flush().await,
            Command::Trim => self.trim(&request).await,
            Command::WriteZeroes { .. } => self.write_zeroes(&request).await,
            Command::Cache => self.check(&request),
            Command::Disconnect => Ok(()),
        };
        match done {
            Ok(()) => Reply::done(cookie, self.structured, slot),
            Err(no) => no.reply(cookie, self.structured, slot),
        }
    }

    /// Range and permission; the seam checks alignment.
    pub fn check(&self, request: &Request) -> Result<(), NbdError> {
        let Request { command, offset, length, .. } = *request;
        let export = &self.served.export;
        let writes = matches!(command, Command::Write | Command::WriteZeroes { .. });
        if export.read_only && (writes || command == Command::Trim) {
            return Err(NbdError(Failure::Permission as u32, "this export is read-only".to_owned()));
        }
        if length == 0 {
            return Err(NbdError(Failure::Invalid as u32, "a request of no bytes".to_owned()));
        }
        if offset.checked_add(u64::from(length)).is_none_or(|end| end > export.size) {
            // Beyond the end there is no space for bytes; all other commands are wrong there (specification, "Error
            // values" and "Request types").
            let failure = if writes { Failure::NoSpace } else { Failure::Invalid };
            let message =
                format!("{length} bytes at offset {offset} do not lie within {} bytes", export.size);
            return Err(NbdError(failure as u32, message));
        }
        Ok(())
    }

    pub async fn read(&self, request: &Request) -> Result<Buf, NbdError> {
        self.check(request)?;
        let data = self.pool.get(request.length as usize);
        self.served.read(request.offset, &data).await.map_err(|error| self.failed(request, &error))?;
        Ok(data)
    }

    async fn write(&self, request: &Request, payload: Option<Buf>) -> Result<(), NbdError> {
        self.check(request)?;
        let Some(data) = payload else { return Ok(()) };
        let written = self.served.write(request.offset, &data, request.fua).await;
        written.map_err(|error| self.failed(request, &error))
    }

    async fn flush(&self) -> Result<(), NbdError> {
        self.served.volume.flush(Ask::flush()).await.map_err(|error| {
            self.served.complain("flush", &error);
            NbdError(errno(&error), error.to_string())
        })
    }

    async fn trim(&self, request: &Request) -> Result<(), NbdError> {
        self.check(request)?;
        let ask = Ask::new(request.offset, u64::from(request.length));
        self.served.volume.trim(ask).await.map_err(|error| self.failed(request, &error))?;
        if request.fua { self.flush().await } else { Ok(()) }
    }

    async fn write_zeroes(&self, request: &Request) -> Result<(), NbdError> {
        self.check(request)?;
        let ask = Ask::new(request.offset, u64::from(request.length)).with_fua(request.fua);
        self.served.volume.write_zeroes(ask).await.map_err(|error| self.failed(request, &error))
    }

    fn allocation(&self, request: &Request) -> Result<u32, NbdError> {
        self.check(request)?;
        self.allocation.ok_or_else(|| {
            NbdError(Failure::Invalid as u32, "no meta context was chosen for this connection".to_owned())
        })
    }

    fn failed(&self, request: &Request, error: &Error) -> NbdError {
        // A wrong request is its sender's business, not the operator's.
        if error.kind() != ErrorKind::Misuse {
            self.served.complain(name(request.command), error);
        }
        NbdError(errno(error), error.to_string())
    }
}

fn name(command: Command) -> &'static str {
    match command {
        Command::Read { .. } => "read",
        Command::Write => "write",
        Command::Flush => "flush",
        Command::Trim => "trim",
        Command::WriteZeroes { .. } => "write zeroes",
        Command::Cache => "cache",
        Command::BlockStatus { .. } => "block status",
        Command::Disconnect => "disconnect",
    }
}

/// The protocol knows few error numbers; what it has none for is an input/output error.
fn errno(error: &Error) -> u32 {
    let failure = match error.kind() {
        ErrorKind::Misuse => Failure::Invalid,
        ErrorKind::NoSpace => Failure::NoSpace,
        ErrorKind::Io | ErrorKind::Gone | ErrorKind::Corrupt | ErrorKind::Fenced => Failure::InputOutput,
    };
    failure as u32
}
