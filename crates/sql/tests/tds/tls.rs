//! TLS as TDS 7.4 has it: the handshake goes over in packets of the pre-login, everything after it as it is. \[MS-TDS\] sections
//! 2.2.6.5 (the option ENCRYPTION) and 3.2.5.2.

use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion};

use super::receive;

/// What the peer says of encryption, and with which certificate.
#[derive(Clone)]
pub enum Encrypts {
    /// It cannot.
    Never,
    /// If asked to.
    Asked(Arc<ServerConfig>),
    /// Nobody comes in without.
    Always(Arc<ServerConfig>),
}

impl Encrypts {
    /// The byte of the pre-login, after a client's: one that cannot either is told that it will not be.
    pub fn word(&self, asked: &[u8]) -> u8 {
        match self {
            Self::Always(_) => 3,
            Self::Asked(_) if encryption(asked) != 2 => 1,
            Self::Asked(_) | Self::Never => 2,
        }
    }

    /// Whether it comes to that, after a client's pre-login.
    pub fn wanted(&self, asked: &[u8]) -> Option<Arc<ServerConfig>> {
        match self {
            Self::Never => None,
            Self::Always(config) => Some(Arc::clone(config)),
            Self::Asked(config) => matches!(encryption(asked), 1 | 3).then(|| Arc::clone(config)),
        }
    }
}

/// The option ENCRYPTION of a pre-login: options are a kind, a place and a length each.
fn encryption(asked: &[u8]) -> u8 {
    let option = asked.chunks_exact(5).find(|option| option[0] == 1).expect("the client tells");
    asked[usize::from(u16::from_be_bytes([option[1], option[2]]))]
}

/// With that certificate, in one version of the protocol. Version 1.3 sends so many tickets after the handshake.
pub fn config(
    certificate: &Path,
    key: &Path,
    version: &'static SupportedProtocolVersion,
    tickets: usize,
) -> Arc<ServerConfig> {
    let chain = CertificateDer::pem_file_iter(certificate).expect("a certificate");
    let chain = chain.collect::<Result<_, _>>().expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(key).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[version])
        .expect("it is supported")
        .with_no_client_auth();
    let mut config = config.with_single_cert(chain, key).expect("they belong together");
    config.send_tls13_tickets = tickets;
    Arc::new(config)
}

/// The ways of a peer that lets nobody in without, in each version of the protocol.
pub fn both(certificate: &Path, key: &Path) -> [Encrypts; 2] {
    [&TLS12, &TLS13].map(|version| Encrypts::Always(config(certificate, key, version, 2)))
}

/// None if the client goes away.
pub fn handshake(
    mut stream: TcpStream,
    config: Arc<ServerConfig>,
) -> Option<StreamOwned<ServerConnection, TcpStream>> {
    let mut connection = ServerConnection::new(config).expect("a connection");
    while connection.is_handshaking() {
        let (kind, records) = receive(&mut stream)?;
        assert_eq!(kind, 0x12, "the handshake is wrapped");
        let mut records = &records[..];
        while !records.is_empty() {
            connection.read_tls(&mut records).expect("from memory");
            connection.process_new_packets().ok()?;
        }
        let finished = !connection.is_handshaking();
        let mut flight = Vec::new();
        while connection.wants_write() {
            connection.write_tls(&mut flight).expect("to memory");
        }
        // What comes after the client's last word is no handshake any more: tickets, in version 1.3.
        let after = connection.protocol_version() == Some(rustls::ProtocolVersion::TLSv1_3) && finished;
        if !flight.is_empty() {
            let [high, low] = u16::try_from(flight.len() + 8).expect("it fits one packet").to_be_bytes();
            let head = [0x12, 1, high, low, 0, 0, 1, 0];
            let head = if after { &[][..] } else { &head[..] };
            stream.write_all(&[head, &flight].concat()).ok()?;
        }
    }
    Some(StreamOwned::new(connection, stream))
}
