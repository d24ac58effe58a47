//! Reaching a server: connection, TLS, handshake. Failures are sentences, for logs and refusals.

use std::sync::Arc;

use fathom_nbd::client::{Offered, Opening, Step};
use fathom_runtime::{Context, Nanos, Ring, SECOND, within};
use fathom_wire::tls::{self, ClientConfig};
use fathom_wire::{Address, Wire};

/// A server that has not agreed by then is not there.
const PATIENCE: Nanos = 10 * SECOND;

/// A server and how it is spoken to.
#[derive(Debug)]
pub struct Target {
    /// As written in the settings.
    pub uri: String,
    /// Tried in turn.
    pub addresses: Vec<Address>,
    pub export: String,
    /// With the name that the server's certificate must bear.
    pub tls: Option<(Arc<ClientConfig>, String)>,
}

/// A connection over which the export is open.
pub struct Open {
    pub wire: Wire,
    pub offered: Offered,
    /// Bytes that came behind the handshake.
    pub rest: Vec<u8>,
}

impl Target {
    /// Connects, and opens the export.
    ///
    /// # Errors
    /// Why that is not available.
    pub async fn open(&self, context: &Context, ring: &Ring) -> Result<Open, String> {
        let mut first = None;
        for address in &self.addresses {
            let opened = within(context, PATIENCE, self.open_at(address, ring)).await;
            match opened.unwrap_or_else(|| Err(format!("no answer within {} s", PATIENCE / SECOND))) {
                Ok(open) => return Ok(open),
                Err(why) => first = first.or(Some(why)),
            }
        }
        Err(first.unwrap_or_else(|| "its name has no address".to_owned()))
    }

    /// As many connections as are wanted and the server allows.
    ///
    /// # Errors
    /// As [`Target::open`].
    pub async fn open_all(&self, context: &Context, ring: &Ring, most: usize) -> Result<Vec<Open>, String> {
        let mut all = vec![self.open(context, ring).await?];
        while all.len() < most && all[0].offered.can_multi_connection() {
            all.push(self.open(context, ring).await?);
            if all.last().map(|open| open.offered) != Some(all[0].offered) {
                return Err("it offers each connection something else".to_owned());
            }
        }
        Ok(all)
    }

    async fn open_at(&self, address: &Address, ring: &Ring) -> Result<Open, String> {
        let port = address.connect(ring).await.map_err(|error| format!("cannot connect: {error}"))?;
        let mut wire = Wire::plain(port);
        let mut opening = Opening::new(&self.export, self.tls.is_some());
        let mut bytes = [0; 4096];
        let broken = |error: std::io::Error| format!("the handshake failed: {error}");
        loop {
            let count = wire.read(&mut bytes).await.map_err(broken)?;
            if count == 0 {
                return Err("it closed the connection during the handshake".to_owned());
            }
            let step = opening.feed(&bytes[..count]);
            match step {
                Step::More => {}
                Step::Refused(why) => return Err(why),
                Step::Ready(offered) => return Ok(Open { wire, offered, rest: opening.rest() }),
                Step::StartTls => {
                    let Some((config, name)) = &self.tls else {
                        return Err("it begins TLS unasked".to_owned());
                    };
                    let secure = |error: std::io::Error| format!("TLS as `{name}`: {error}");
                    let tls = tls::connect(config, name).map_err(secure)?;
                    wire = wire.encrypt(tls).await.map_err(secure)?;
                    opening = opening.encrypted();
                }
            }
            let said = std::mem::take(&mut opening.output);
            wire.write_all(&said).await.map_err(broken)?;
        }
    }
}
