//! `nbd`: a volume of another host, over NBD.
//!
//! # What it does
//! Connects to an NBD server (fathomd, nbdkit, qemu-nbd, nbd-server) on a Unix socket or over TCP, encrypted if the
//! address says `nbds`. Sends up to `depth` requests at a time, over `connections` connections if the server says that
//! a flush on one covers the others. Sectors and the largest request are the server's. A write with FUA is sent as one,
//! or as a write and a flush if the server does not support FUA. Zeroes are sent as a length where the server can take
//! that. A trim is sent as zeroes that may be a hole, where the server can take those, so that it reads as zeroes everywhere;
//! otherwise as a trim, or not at all.
//!
//! # Why
//! A leg of a `mirror` on another host; a cache in front of a remote volume; other programs' images without their
//! formats.
//!
//! # Safety
//! NBD has no lock. A program of Fathom that writes to an export keeps others on the same host away from it; other hosts,
//! other programs and another address of the same server are not seen.
//!
//! # When the server is lost
//! A connection is lost when the server closes it, when the kernel gives it up, or when requests are unanswered and
//! nothing has arrived for `timeout`. The protocol does not tell whether a server has restarted, so the device assumes
//! that it has:
//!
//! 1. **Answered writes that no later flush has covered may be lost with it.** Then the volume is fenced: every request
//!    fails, at once and from then on. Reads fail too, because they could show older bytes than were read before. No
//!    flush that covers such writes is ever answered. Writes with FUA and trims do not count.
//! 2. **Otherwise requests wait** for up to `reconnect` and are sent again in their order, if the server itself ended
//!    its one connection. That is safe: an unanswered write that is done twice is the same write, and anything that
//!    overlaps it has overlapped it in flight. After silence, or with several connections, the server may execute an
//!    unanswered write, trim or write-zeroes at any later time, over newer bytes. Then the volume is fenced too.
//! 3. **A new connection is made only when the old ones are over**: the server has closed them, or the kernel has given
//!    them up, so that nothing sent before can still be executed. Attempts are 0.1 to 5 s apart and never stop.
//! 4. **Before anything is sent to a server that is back**, up to 64 of the places that were written and flushed last are read, up
//!    to 128 KiB of each. If it does not hold them, an older copy or something else is in its place: the volume is fenced.
//! 5. After `reconnect`, waiting requests fail, and new ones fail at once, until the server is back.
//!
//! A failed flush also fences, and so does a failed write with FUA that the server had begun. A fence holds until the
//! volume is built again, with one exception: a `mirror` that takes the leg back lifts it, because it copies all
//! regions that were written since all legs were flushed.
//!
//! # Example
//! ```toml
//! [volumes.host2]
//! kind = "nbd"
//! uri = "nbds://db2.example.org/data"
//! tls_authority = "/etc/fathom/ca.pem"
//! tls_certificate = "/etc/fathom/client.pem"
//! tls_key = "/etc/fathom/client-key.pem"
//! size = "500GiB"                # with these two it can be built while the server is away
//! logical_sector = "4KiB"
//! ```
//!
//! # Limits
//! Only in real time. A host's name is resolved once, when the volume is built. Without `size` and `logical_sector` the
//! server must be there at the start. A server without flush is refused. If the server's host is paused for longer than
//! the kernel repeats the end of a connection (about 15 min), the server can afterwards still execute what it was sent
//! before; nothing in the protocol prevents that.

mod connection;
mod hold;
mod job;
mod known;
mod reach;
mod session;
#[cfg(test)]
mod tests;
mod uri;
mod volume;

use std::net::ToSocketAddrs;
use std::path::PathBuf;

use fathom_nbd::client::Offered;
use fathom_runtime::{Nanos, RingSetup, Runtime, SECOND, Semaphore};
use fathom_settings::{Key, Section};
use fathom_units::Span;
use fathom_volume::{
    Blueprint, Env, Error, ErrorKind, Geometry, Handle, NamedExport, NodeKind, Result, manual,
};
use fathom_wire::Address;
use fathom_wire::tls::{self, Identity};

use crate::patience::Patience;
use crate::{memory, sectors};
use hold::Hold;
use reach::{Open, Target};
use session::{Session, Terms, too_short};
pub use uri::{Endpoint, Uri};
pub use volume::Nbd;

/// What a request carries where the server does not say, bytes (specification, "Block size constraints").
const USUAL_TRANSFER: u32 = 32 << 20;

/// Certificates of an encrypted connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// Who signed the server's certificate: a PEM file.
    pub authority: String,
    /// The client's certificate and its key: PEM files.
    pub identity: Option<(String, String)>,
    /// The name in the server's certificate.
    pub name: String,
}

/// Settings of a volume on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Server and export.
    pub uri: Uri,
    /// Bytes of it to use; None for all there is.
    pub size: Option<u64>,
    /// Bytes; requests are multiples of it. None for what the server says.
    pub logical_sector: Option<u32>,
    /// Bytes; only reported. None for what the server says.
    pub physical_sector: Option<u32>,
    /// Whether writes are refused.
    pub read_only: bool,
    /// Requests at a time.
    pub depth: usize,
    /// Connections, if the server allows for several.
    pub connections: usize,
    /// Silence that counts as a loss, ns.
    pub timeout: Nanos,
    /// How long requests wait for a lost server, ns.
    pub reconnect: Nanos,
    /// For an encrypted connection.
    pub tls: Option<Tls>,
}

/// The registry's record.
pub const KIND: NodeKind = NodeKind {
    name: "nbd",
    summary: "a volume of another host, over NBD",
    manual: manual!("mod.rs"),
    keys: &[
        Key::required(
            "uri",
            "NBD URI",
            "Server and export: `nbd://host[:port]/export`, `nbd+unix:///export?socket=PATH`, `nbds` for TLS.",
        ),
        Key::optional("size", "size", "all there is", "Bytes of it to use."),
        Key::optional(
            "logical_sector",
            "size",
            "the server's",
            "Offsets and lengths of requests are multiples of it.",
        ),
        Key::optional(
            "physical_sector",
            "size",
            "the server's",
            "What is written without reading first; only reported.",
        ),
        Key::optional("read_only", "true or false", "false", "Whether writes are refused."),
        Key::optional("depth", "count", "64", "Requests on their way at a time, 1 to 1,024."),
        Key::optional("connections", "count", "1", "Connections, 1 to 16, if the server allows for several."),
        Key::optional(
            "timeout",
            "time",
            "30s",
            "The server is lost after this long with unanswered requests and no byte received.",
        ),
        Key::optional(
            "reconnect",
            "time",
            "10s",
            "How long requests wait for a lost server before they fail; 0s for not at all.",
        ),
        Key::optional(
            "tls_authority",
            "path",
            "none",
            "PEM file: who signed the server's certificate; needed for `nbds`.",
        ),
        Key::optional("tls_certificate", "path", "none", "PEM file: the certificate shown to the server."),
        Key::optional("tls_key", "path", "none", "PEM file: the key of that certificate."),
        Key::optional("tls_name", "name", "the URI's host", "The name in the server's certificate."),
    ],
    outside: true,
    read: |section| Config::read(section).map(|config| Box::new(config) as Box<dyn Blueprint>),
};

impl Config {
    /// An export in the clear, with all else as usual.
    pub fn of_uri(uri: Uri) -> Self {
        Self {
            uri,
            size: None,
            logical_sector: None,
            physical_sector: None,
            read_only: false,
            depth: 64,
            connections: 1,
            timeout: 30 * SECOND,
            reconnect: 10 * SECOND,
            tls: None,
        }
    }

    /// Reads the settings; None if anything is wrong.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        let uri = section.required::<String>("uri").and_then(|text| {
            Uri::parse(&text).map_err(|(what, help)| section.error_at("uri", what, help)).ok()
        });
        let (known, (logical, physical)) = (section.has("logical_sector"), sectors::read(section));
        let told = section.has("physical_sector");
        let size = sectors::optional_size(section, logical);
        let read_only = section.or("read_only", false);
        let depth = section.or_in("depth", 64, 1..=1024);
        let connections = section.or_in("connections", 1, 1..=16);
        let timeout = section.or("timeout", Span::from_secs(30)).as_nanos();
        let reconnect = section.or("reconnect", Span::from_secs(10)).as_nanos();
        if timeout == 0 {
            section.error_at(
                "timeout",
                "no time at all",
                "give more than the longest flush takes, such as \"30s\"",
            );
        }
        let tls = read_tls(section, uri.as_ref());
        section.is_clean().then_some(Self {
            uri: uri?,
            size,
            logical_sector: known.then_some(logical),
            physical_sector: told.then_some(physical),
            read_only,
            depth,
            connections,
            timeout,
            reconnect,
            tls,
        })
    }

    fn target(&self, env: &Env, name: &str) -> Result<Target> {
        let fail = |what: String| misuse(name, &format!("{}: {what}", self.uri.text));
        let addresses = match &self.uri.place {
            Endpoint::Unix(path) => vec![Address::Unix(env.path(path))],
            Endpoint::Tcp(host, port) => {
                let found = (host.as_str(), *port).to_socket_addrs();
                let found = found.map_err(|error| fail(format!("its name cannot be looked up: {error}")))?;
                found.map(Address::Tcp).collect()
            }
        };
        let tls = match &self.tls {
            None => None,
            Some(Tls { authority, identity, name }) => {
                let files: Option<(PathBuf, PathBuf)> =
                    identity.as_ref().map(|(certificate, key)| (env.path(certificate), env.path(key)));
                let own: Option<Identity<'_>> =
                    files.as_ref().map(|(certificate, key)| Identity { certificate, key });
                let config = tls::client(&env.path(authority), own.as_ref()).map_err(fail)?;
                Some((config, name.clone()))
            }
        };
        Ok(Target { uri: self.uri.text.clone(), addresses, export: self.uri.export.clone(), tls })
    }

    /// Keeps others away from what is written to; a look takes it and gives it back.
    fn hold(&self, env: &Env, target: &Target) -> std::result::Result<Option<Hold>, String> {
        if self.read_only {
            return Ok(None);
        }
        let place = match &self.uri.place {
            Endpoint::Unix(path) => {
                let path = env.path(path);
                path.canonicalize().unwrap_or(path).display().to_string()
            }
            Endpoint::Tcp(_, port) => {
                let hosts = target.addresses.iter().filter_map(|address| match address {
                    Address::Tcp(address) => Some(address.ip().to_string()),
                    Address::Unix(_) => None,
                });
                format!("{}:{port}", hosts.min().unwrap_or_default())
            }
        };
        let is_look = env.is_for_reading();
        let patience = if is_look { Patience::Short } else { Patience::Usual };
        let held = Hold::take(&format!("{place} {}", self.uri.export), patience)?;
        Ok((!is_look).then_some(held))
    }

    /// What the volume shows, from the settings and from what a server offers, if it is there.
    fn geometry(&self, offered: Option<&Offered>) -> Geometry {
        let least = |block: u32| block.clamp(512, sectors::LARGEST as u32);
        let logical_sector =
            self.logical_sector.unwrap_or_else(|| offered.map_or(512, |offered| least(offered.block)));
        let preferred = offered.map_or(logical_sector, |offered| least(offered.preferred));
        let all = offered.map_or(0, |offered| offered.size);
        Geometry {
            logical_sector,
            physical_sector: self.physical_sector.unwrap_or(preferred).max(logical_sector),
            max_transfer: USUAL_TRANSFER,
            queue_depth: self.depth as u32,
            // Nothing tells what becomes of a server's memory.
            volatile_cache: true,
            atomic_write: logical_sector,
            ..Geometry::plain(
                self.size.unwrap_or(all / u64::from(logical_sector) * u64::from(logical_sector)),
            )
        }
    }
}

fn read_tls(section: &mut Section<'_>, uri: Option<&Uri>) -> Option<Tls> {
    let authority = section.optional::<String>("tls_authority");
    let certificate = section.optional::<String>("tls_certificate");
    let key = section.optional::<String>("tls_key");
    let name = section.optional::<String>("tls_name");
    let keys = ["tls_authority", "tls_certificate", "tls_key", "tls_name"];
    let uri = uri?;
    if !uri.tls {
        for given in keys.into_iter().filter(|key| section.has(key)) {
            section.error_at(
                given,
                "the connection is not encrypted",
                "write the address with nbds, or take this out",
            );
        }
        return None;
    }
    if !section.has("tls_authority") {
        section.error(
            "nothing verifies the server's certificate",
            "add `tls_authority = …`, a PEM file with the authority that signed it",
        );
    }
    if certificate.is_some() != key.is_some() {
        section.error(
            "a certificate goes with its key",
            "give both `tls_certificate` and `tls_key`, or neither",
        );
    }
    let host = match &uri.place {
        Endpoint::Tcp(host, _) => Some(host.clone()),
        Endpoint::Unix(_) => None,
    };
    let Some(name) = name.or(host) else {
        section.error(
            "a Unix socket does not tell the server's name",
            "add `tls_name = …`, as in its certificate",
        );
        return None;
    };
    if !tls::is_name(&name) {
        section.error_at(
            "tls_name",
            format!("no certificate is made out for \"{}\"", name.escape_debug()),
            "give a host's name or address",
        );
    }
    Some(Tls { authority: authority?, identity: certificate.zip(key), name })
}

fn misuse(name: &str, what: &str) -> Error {
    Error::new(ErrorKind::Misuse, format!("nbd `{name}`: {what}")).about("uri")
}

impl Blueprint for Config {
    fn children(&self) -> Vec<String> {
        Vec::new()
    }

    fn stand_in(&self) -> Option<Box<dyn Blueprint>> {
        let logical_sector = self.logical_sector?;
        let physical_sector = self.physical_sector.unwrap_or(logical_sector).max(logical_sector);
        Some(Box::new(memory::Config { size: self.size?, logical_sector, physical_sector }))
    }

    fn remote(&self) -> Option<NamedExport> {
        Some(NamedExport { key: "uri", at: self.uri.server_and_export(), read_only: self.read_only })
    }

    fn build(&self, env: &Env, name: &str, _: Vec<Handle>) -> Result<Handle> {
        let Some(ring) = env.context.ring() else {
            return Err(misuse(name, "there are no servers in virtual time; use `model`"));
        };
        if env.pool.is_hollow() {
            return Err(misuse(name, "a server needs buffers with bytes, and this run is without payload"));
        }
        let target = self.target(env, name)?;
        let found = first(&target, self.connections).map_err(|why| format!("{}: {why}", self.uri.text));
        let known = self.size.is_some() && self.logical_sector.is_some();
        let (open, found) = match found {
            Ok(open) => {
                let offered = open[0].offered;
                match self.size.filter(|size| known && env.may_be_absent() && offered.size < *size) {
                    // As a leg of a mirror that lacks what it must hold: it begins without it.
                    Some(size) => (None, Err(too_short(&offered, size))),
                    None => (Some(open), Ok(offered)),
                }
            }
            // Sizes are known: a mirror can begin without this leg.
            Err(why) if known => (None, Err(why)),
            Err(why) => {
                let remedy = "bring its server back; with `size` and `logical_sector` a mirror, a stripe or the volume alone can start \
                     without it, but a cache or a pool above it reads it first";
                return Err(
                    Error::new(ErrorKind::Gone, format!("nbd `{name}`: {why}; {remedy}")).about("uri")
                );
            }
        };
        let hold =
            self.hold(env, &target).map_err(|why| misuse(name, &format!("{}: {why}", self.uri.text)))?;
        let geometry = self.geometry(found.as_ref().ok());
        let read_only = self.read_only || env.is_for_reading();
        let terms = Terms {
            target,
            size: geometry.size,
            logical_sector: geometry.logical_sector,
            // A check writes nothing, and tells what a start would be told.
            read_only: self.read_only,
            connections: self.connections,
            timeout: self.timeout,
            reconnect: self.reconnect,
        };
        if let Ok(offered) = &found {
            terms.fit(offered).map_err(|why| misuse(name, &format!("{}: {why}", self.uri.text)))?;
        }
        let session = Session::new(name, (&env.context, ring, &env.pool), terms, found);
        let on_ring = |open: Open| Open { wire: open.wire.on(ring), ..open };
        let open = open.map(|open| open.into_iter().map(on_ring).collect());
        let volume = Nbd {
            session: session.clone(),
            geometry,
            context: env.context.clone(),
            pool: env.pool.clone(),
            places: Semaphore::new(self.depth),
            read_only,
            tls: self.tls.is_some(),
            uri: self.uri.text.clone(),
            _hold: hold,
        };
        let handle = Handle::new(&env.context, name, KIND.name, volume)?;
        env.context.spawn(session.keep(open));
        Ok(handle)
    }
}

/// The first connections, made before the stack's executor runs: what a volume shows must be known when it is built.
fn first(target: &Target, connections: usize) -> std::result::Result<Vec<Open>, String> {
    let setup = RingSetup { entries: 16, files: 0, buffers: 0, ..RingSetup::default() };
    let runtime = Runtime::real(setup, 0).map_err(|error| error.to_string())?;
    let context = runtime.context();
    let ring = context.ring().ok_or("no ring")?;
    let opened = runtime.block_on(target.open_all(&context, ring, connections));
    opened.map_err(|deadlock| deadlock.to_string())?
}
