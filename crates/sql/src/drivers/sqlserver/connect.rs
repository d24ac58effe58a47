//! How a connection is made: TCP, pre-login, TLS, login.

use std::sync::Arc;

use fathom_job::{Address, Connection, Login, Tls};
use tiberius::{AuthMethod, Client, Config, EncryptionLevel};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::errors::{connecting, is_unencrypted};
use super::session::SqlserverSession;
use super::socket::{Socket, Watch};
use crate::error::{Error, ErrorKind, Result};
use crate::session::Session;
use crate::tls;

/// A new session.
pub(super) fn open(to: &Connection) -> Result<SqlserverSession> {
    let Address::Tcp(host, port) = &to.address else {
        let message = "SQL Server: a server is reached by a host and a port";
        return Err(Error::new(ErrorKind::Refused, message));
    };
    // The library asks for the process's cryptography.
    let _ = tls::provider();
    let runtime = Builder::new_current_thread().enable_io().enable_time().build();
    let runtime: Runtime = runtime.map_err(|failed| refused(&failed))?;
    let within = async {
        match timeout(to.login_timeout(), in_mode(to, host, *port)).await {
            Ok(connected) => connected,
            Err(_) => {
                let message = format!("SQL Server: no session began within {:?}", to.login_timeout());
                Err(Error::new(ErrorKind::Timeout, message))
            }
        }
    };
    let (client, watch) = runtime.block_on(within)?;
    let mut session = SqlserverSession::new(client, watch, runtime);
    // An error rolls back the whole transaction; times and names mean the same on every server.
    session.set_timeout(Some(to.login_timeout()))?;
    session.batch("SET XACT_ABORT ON; SET NOCOUNT OFF; SET DATEFORMAT ymd; SET ANSI_WARNINGS ON")?;
    session.set_timeout(to.timeout())?;
    Ok(session)
}

fn refused(failed: &std::io::Error) -> Error {
    Error::new(ErrorKind::Refused, format!("SQL Server: {failed}"))
}

type Connected = (Client<Socket>, Arc<Watch>);

/// Encrypted as asked for.
async fn in_mode(to: &Connection, host: &str, port: u16) -> Result<Connected> {
    let mut config = Config::new();
    config.host(host);
    config.port(port);
    config.database(&to.database);
    config.application_name("fathom");
    config.authentication(match to.login {
        Login::Password => AuthMethod::sql_server(&to.user, to.password.as_deref().unwrap_or_default()),
        Login::Windows => by_ticket()?,
    });
    // Ours replace them, because they also limit sending.
    config.command_timeout(None);
    config.handshake_timeout(None);
    let mode = to.tls();
    match mode {
        // The password too goes over in the clear.
        Tls::Disable => config.encryption(EncryptionLevel::NotSupported),
        Tls::Prefer => config.encryption(EncryptionLevel::On),
        Tls::Require | Tls::VerifyFull => config.encryption(EncryptionLevel::Required),
        Tls::VerifyCa => {
            let message = "SQL Server: `verify-ca` is not supported; use `verify-full`";
            return Err(Error::new(ErrorKind::Untrusted, message));
        }
    }
    match (mode, &to.tls_ca) {
        (Tls::VerifyFull, Some(path)) => {
            // The library reads files by their extension only.
            tls::authorities(path)?;
            let read = std::fs::read(path).map_err(|failed| refused(&failed))?;
            config.trust_cert_ca_bundle(read);
        }
        (Tls::VerifyFull, None) => {}
        _ => config.trust_cert(),
    }
    let connected = match attempt(config.clone(), host, port, mode == Tls::Disable).await? {
        Err(failed) if mode == Tls::Prefer && is_unencrypted(&failed) => {
            config.encryption(EncryptionLevel::NotSupported);
            attempt(config, host, port, true).await?
        }
        connected => connected,
    };
    connected.map_err(|failed| connecting(&failed, host))
}

/// By the Kerberos ticket of whoever runs this.
#[cfg(feature = "windows-login")]
fn by_ticket() -> Result<AuthMethod> {
    Ok(AuthMethod::Integrated)
}

#[cfg(not(feature = "windows-login"))]
fn by_ticket() -> Result<AuthMethod> {
    let message = "SQL Server: this Fathom was built without Windows login (docs/SQLSERVER.md)";
    Err(Error::new(ErrorKind::Other, message))
}

/// The outer error is the network's.
async fn attempt(config: Config, host: &str, port: u16, plain: bool) -> Result<tiberius::Result<Connected>> {
    let stream = TcpStream::connect((host, port)).await.map_err(|failed| refused(&failed))?;
    stream.set_nodelay(true).map_err(|failed| refused(&failed))?;
    let watch = Arc::new(Watch::default());
    let socket = Socket::new(stream, Arc::clone(&watch), plain);
    Ok(Client::connect(config, socket).await.map(|client| (client, watch)))
}
