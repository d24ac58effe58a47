//! Encrypted connections of the drivers with their own socket: what is checked of the server, and the errors when it
//! is not the one that was asked for. Modes are PostgreSQL's (`sslmode`), for every database.

use std::path::Path;
use std::sync::Arc;

use fathom_job::Tls;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::error::{Error, ErrorKind, Result};

/// The cryptography, for the whole process too: a library that asks for the process's finds this one.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    // Whoever installed one before had a reason.
    let _ = aws_lc_rs::default_provider().install_default();
    Arc::new(aws_lc_rs::default_provider())
}

/// The client's side of TLS 1.2 and 1.3. Without a file of authorities those of the system are believed.
pub(crate) fn client(mode: Tls, file: Option<&Path>) -> Result<Arc<ClientConfig>> {
    let provider = provider();
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|failed| untrusted(&failed.to_string()))?;
    let chain = match mode {
        Tls::Disable | Tls::Prefer | Tls::Require => None,
        Tls::VerifyCa | Tls::VerifyFull => {
            let roots = file.map_or_else(of_system, authorities)?;
            let verifier =
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
            Some(verifier.build().map_err(|failed| untrusted(&failed.to_string()))?)
        }
    };
    let checks = Checks { chain, name: mode == Tls::VerifyFull, provider };
    let config = builder.dangerous().with_custom_certificate_verifier(Arc::new(checks));
    Ok(Arc::new(config.with_no_client_auth()))
}

/// The name that a certificate must bear.
pub(crate) fn name(host: &str) -> Result<ServerName<'static>> {
    let name = ServerName::try_from(host.to_owned());
    name.map_err(|_| untrusted(&format!("{host:?} is not a valid name for a certificate")))
}

/// The authorities of a file.
pub(crate) fn authorities(path: &Path) -> Result<RootCertStore> {
    let wrong = |why: &dyn std::fmt::Display| untrusted(&format!("{}: {why}", path.display()));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|failed| wrong(&failed))? {
        let certificate = certificate.map_err(|failed| wrong(&failed))?;
        roots.add(certificate).map_err(|failed| wrong(&failed))?;
    }
    if roots.is_empty() {
        return Err(wrong(&"no certificate in it"));
    }
    Ok(roots)
}

/// The authorities of this system.
fn of_system() -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    // One that cannot be read is one less.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(untrusted("this system has no list of authorities; name a file by `tls_ca`"));
    }
    Ok(roots)
}

fn untrusted(why: &str) -> Error {
    Error::new(ErrorKind::Untrusted, why)
}

/// What went wrong while the connection was encrypted, in words; None if it was something else.
pub(crate) fn words(failed: &(dyn std::error::Error + 'static), host: &str) -> Option<String> {
    // An error of the socket hides what its reader said.
    let mut causes = std::iter::successors(Some(failed), |cause| cause.source());
    let socket = causes.find_map(|cause| cause.downcast_ref::<std::io::Error>())?;
    Some(match socket.get_ref()?.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(certificate) => match certificate {
            // The latter: by another key than that of the authority of this name.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => UNKNOWN_ISSUER.to_owned(),
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                wrong_name(host, certificate)
            }
            other => invalid(other),
        },
        other => format!("the connection could not be encrypted: {other}"),
    })
}

const UNKNOWN_ISSUER: &str =
    "the server's certificate is signed by none of the authorities of `tls_ca`, or of this system";

fn wrong_name(host: &str, why: &dyn std::fmt::Display) -> String {
    format!("the server's certificate is not for {host:?}: {why}")
}

/// Of an expired one the library reports how many seconds ago.
fn invalid(why: &dyn std::fmt::Display) -> String {
    let why = why.to_string();
    let ago = why.split_once("is not valid after").and_then(|(_, moment)| moment.split_once('('));
    let seconds = ago.and_then(|(_, ago)| ago.split(' ').next()?.parse::<u64>().ok());
    match seconds.map(|seconds| seconds / 86_400) {
        Some(0) => "the server's certificate expired within the last day".to_owned(),
        Some(days) => format!("the server's certificate expired {days} days ago"),
        None => format!("the server's certificate is not valid: {why}"),
    }
}

/// The same of a library that keeps the cause as text, with advice to programmers behind it.
pub(crate) fn words_of_text(message: &str, host: &str) -> String {
    let cause = message.split_once("TLS handshake: ").map_or(message, |(_, cause)| cause);
    let cause = cause.split(" To connect anyway").next().unwrap_or(cause).trim_end_matches('.');
    if cause.contains("UnknownIssuer") || cause.contains("BadSignature") {
        UNKNOWN_ISSUER.to_owned()
    } else if cause.contains("not valid for name") || cause.contains("NotValidForName") {
        wrong_name(host, &cause)
    } else if message.contains("certificate was rejected") {
        invalid(&cause)
    } else {
        format!("the connection could not be encrypted: {cause}")
    }
}

/// Checks as much of a certificate as a mode asks for; that the server has its key, always.
#[derive(Debug)]
struct Checks {
    /// Checks who signed it; None: unchecked.
    chain: Option<Arc<WebPkiServerVerifier>>,
    /// Whether it must bear the host's name.
    name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Checks {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The chain has been checked when the name is.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.name => Ok(ServerCertVerified::assertion()),
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
