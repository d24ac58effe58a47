//! Keys and certificates for TLS 1.2 and 1.3, both sides. Errors are sentences that name the file and what is wrong with
//! it.

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConnection, RootCertStore, ServerConnection};

pub use rustls::{ClientConfig, Connection, ServerConfig};

/// Where a side finds the certificate it shows and the key to it: PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity<'a> {
    /// The chain, its own certificate first.
    pub certificate: &'a Path,
    /// The key of the first certificate.
    pub key: &'a Path,
}

/// The server's side. With a client authority, clients must show a certificate it signed.
///
/// # Errors
/// A sentence that names the file and what is wrong with it.
pub fn server(own: &Identity<'_>, client_authority: Option<&Path>) -> Result<Arc<ServerConfig>, String> {
    let provider = provider();
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match client_authority {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(roots(path)?, provider)
                .build()
                .map_err(|error| wrong(path, &error))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let (chain, key) = own.read()?;
    let config = builder.with_single_cert(chain, key).map_err(|error| wrong(own.certificate, &error))?;
    Ok(Arc::new(config))
}

/// The client's side: the server must show a certificate that the authority signed for its name.
///
/// # Errors
/// A sentence that names the file and what is wrong with it.
pub fn client(authority: &Path, own: Option<&Identity<'_>>) -> Result<Arc<ClientConfig>, String> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots(authority)?);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some(own) => {
            let (chain, key) = own.read()?;
            builder.with_client_auth_cert(chain, key).map_err(|error| wrong(own.certificate, &error))?
        }
    };
    Ok(Arc::new(config))
}

/// A connection's server side.
///
/// # Errors
/// If the configuration contradicts itself.
pub fn accept(config: &Arc<ServerConfig>) -> std::io::Result<Connection> {
    ServerConnection::new(Arc::clone(config)).map(Connection::from).map_err(std::io::Error::other)
}

/// A connection's client side, to a server that must prove to have this name or address.
///
/// # Errors
/// If that is no name.
pub fn connect(config: &Arc<ClientConfig>, name: &str) -> std::io::Result<Connection> {
    let name = ServerName::try_from(name.to_owned()).map_err(std::io::Error::other)?;
    ClientConnection::new(Arc::clone(config), name).map(Connection::from).map_err(std::io::Error::other)
}

/// Whether a certificate could be made out for that name.
pub fn is_name(name: &str) -> bool {
    ServerName::try_from(name).is_ok()
}

impl Identity<'_> {
    fn read(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
        is_file(self.key)?;
        let key = PrivateKeyDer::from_pem_file(self.key).map_err(|error| wrong(self.key, &error))?;
        Ok((certificates(self.certificate)?, key))
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn wrong(path: &Path, why: &dyn Display) -> String {
    format!("{}: {why}", path.display())
}

/// Refuses what is no regular file: to open a FIFO waits for a writer, and a device may never end.
fn is_file(path: &Path) -> Result<(), String> {
    match std::fs::metadata(path) {
        Ok(there) if !there.is_file() => Err(wrong(path, &"this is no regular file: name a PEM file")),
        // What cannot be looked at is told by whoever opens it.
        _ => Ok(()),
    }
}

fn roots(path: &Path) -> Result<Arc<RootCertStore>, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| wrong(path, &error))?;
    }
    Ok(Arc::new(roots))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    is_file(path)?;
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(list) if list.is_empty() => Err(format!("{}: no certificate in it", path.display())),
        Ok(list) => Ok(list),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}
