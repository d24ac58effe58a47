//! NBD's addresses for people: `nbd://host[:port]/export`, `nbd+unix:///export?socket=PATH`, with `nbds` for TLS.
//!
//! Source: the NBD URI specification (`doc/uri.md` of the NetworkBlockDevice project), without vsock and ssh.

/// The port that IANA has given to NBD.
const PORT: u16 = 10809;
/// The longest name of an export, in bytes (specification: strings of at most 4,096).
const LONGEST_NAME: usize = 4096;

/// A server and one of its exports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uri {
    /// As it was written.
    pub text: String,
    /// Where the server listens.
    pub place: Endpoint,
    /// The export's name; empty for the server's default.
    pub export: String,
    /// Whether the connection is encrypted.
    pub tls: bool,
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// At a Unix socket with this path.
    Unix(String),
    /// At a TCP port of a host: a name or an address.
    Tcp(String, u16),
}

impl Uri {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it, and what to do.
    pub fn parse(text: &str) -> Result<Self, (String, &'static str)> {
        const USUAL: &str =
            "write nbd://host/export or nbd+unix:///export?socket=/run/fathomd/nbd.sock; nbds for TLS";
        let wrong = |what: &str| (what.to_owned(), USUAL);
        let (scheme, rest) =
            text.split_once("://").ok_or_else(|| wrong("this is no address of an NBD export"))?;
        let (unix, tls) = match scheme {
            "nbd" => (false, false),
            "nbds" => (false, true),
            "nbd+unix" => (true, false),
            "nbds+unix" => (true, true),
            _ => return Err(wrong("NBD is not spoken by addresses of this kind")),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (host, export) = rest.split_once('/').unwrap_or((rest, ""));
        let export =
            decoded(export).ok_or_else(|| wrong("the export's name is not written in UTF-8 and %XX"))?;
        if export.len() > LONGEST_NAME {
            return Err(wrong("the export's name is longer than the protocol allows"));
        }
        let mut socket = None;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("socket", path)) if unix => {
                    socket = decoded(path).filter(|path| !path.is_empty() && !path.contains('\0'));
                }
                _ => return Err((format!("`{}` has no meaning here", pair.escape_debug()), USUAL)),
            }
        }
        let place = if unix {
            if !host.is_empty() {
                return Err(wrong("a Unix socket has no host"));
            }
            Endpoint::Unix(socket.ok_or_else(|| wrong("a Unix socket needs its path"))?)
        } else {
            let (host, port) = host_and_port(host).ok_or_else(|| wrong("host or port cannot be read"))?;
            Endpoint::Tcp(host, port)
        };
        Ok(Self { text: text.to_owned(), place, export, tls })
    }

    /// The same for every way to write it; a host may still have several names.
    pub fn server_and_export(&self) -> String {
        match &self.place {
            Endpoint::Unix(path) => format!("{path} {}", self.export),
            Endpoint::Tcp(host, port) => format!("{}:{port} {}", host.to_ascii_lowercase(), self.export),
        }
    }
}

/// `host`, `host:port`, `[v6]`, `[v6]:port`.
fn host_and_port(text: &str) -> Option<(String, u16)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
        }
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map_or(Some(PORT), |port| port.parse().ok().filter(|port| *port > 0))?;
    let usual =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_' | ':' | '%');
    (!host.is_empty() && host.chars().all(usual)).then(|| (host.to_owned(), port))
}

/// Text in which `%XX` stands for a byte.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(behind.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &behind[2..];
        } else {
            bytes.push(*first);
            rest = behind;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, Uri};

    #[test]
    fn every_kind_of_address_is_read() {
        let tcp = |host: &str, port| Endpoint::Tcp(host.to_owned(), port);
        for (text, place, export, tls) in [
            ("nbd://db2", tcp("db2", 10809), "", false),
            ("nbds://db2.example.org:1234/data", tcp("db2.example.org", 1234), "data", true),
            ("nbd://[::1]:7/a%20b%2fc", tcp("::1", 7), "a b/c", false),
            ("nbd://[fe80::1%25eth0]/", tcp("fe80::1%25eth0", 10809), "", false),
            ("nbd+unix:///data?socket=/run/x.sock", Endpoint::Unix("/run/x.sock".to_owned()), "data", false),
            ("nbds+unix:///?socket=a%3Db", Endpoint::Unix("a=b".to_owned()), "", true),
        ] {
            let uri = Uri::parse(text).unwrap_or_else(|why| panic!("{text}: {why:?}"));
            assert_eq!((uri.place, uri.export.as_str(), uri.tls), (place, export, tls), "{text}");
        }
    }

    #[test]
    fn what_is_none_is_told() {
        for (text, words) in [
            ("/dev/nbd0", "no address"),
            ("http://db2/data", "not spoken"),
            ("nbd+unix:///data", "needs its path"),
            ("nbd+unix://db2/data?socket=x", "no host"),
            ("nbd://db2/data?socket=x", "no meaning"),
            ("nbds://db2/data?tls-certificates=x", "no meaning"),
            ("nbd://db2:99999/data", "host or port"),
            ("nbd:///data", "host or port"),
            ("nbd://db2/%zz", "UTF-8"),
        ] {
            let (what, help) = Uri::parse(text).expect_err(text);
            assert!(what.contains(words) && help.contains("nbd://"), "{text}: {what}");
        }
    }
}
