//! The status socket: HTTP/1.1 over a Unix socket (`curl --unix-socket PATH http://fathomd/status`), and for Prometheus
//! over TCP. One request per connection.

use std::rc::Rc;

use fathom_runtime::{Nanos, SECOND};
use fathom_wire::{Port, within};
use serde_json::json;

use crate::daemon::Daemon;
use crate::{metrics, status};

/// A request that is not here by then is none, and a caller that has not taken its answer by then does not want it.
const PATIENCE: Nanos = 5 * SECOND;
/// The largest request that is read.
const LARGEST: usize = 8 << 10;

/// What a caller may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum May {
    /// Read metrics.
    Look,
    /// Everything: the socket's permissions say who it is.
    Command,
}

/// Answers callers until the daemon ends.
pub async fn serve(daemon: Rc<Daemon>, door: Rc<Port>, may: May) {
    loop {
        let taken = door.accept().await.and_then(|taken| Port::new(taken, door.ring()));
        let port = match taken {
            Ok(port) => port,
            Err(error) => {
                tracing::warn!(%error, "cannot let a caller in");
                daemon.context.sleep(SECOND).await;
                continue;
            }
        };
        let caller = Rc::clone(&daemon);
        daemon.context.spawn(async move {
            let context = &caller.context;
            let Some(Some(line)) = within(context, PATIENCE, request(&port)).await else { return };
            let reply = respond(&caller, &line, may).await;
            // A caller that has gone needs no answer.
            let _ = within(context, PATIENCE, port.write_all(reply.as_bytes())).await;
        });
    }
}

/// The first line of a request, once all of its head is there.
async fn request(port: &Port) -> Option<String> {
    let mut bytes = vec![0; LARGEST];
    let mut held = 0;
    while !bytes[..held].windows(4).any(|end| end == b"\r\n\r\n") {
        match port.read(&mut bytes[held..]).await {
            Ok(count) if count > 0 => held += count,
            _ => return None,
        }
    }
    let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
    Some(String::from_utf8_lossy(line).into_owned())
}

async fn respond(daemon: &Rc<Daemon>, line: &str, may: May) -> String {
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    match (method, path, may) {
        ("GET", "/metrics", _) => reply("200 OK", "text/plain; version=0.0.4", &metrics::text(daemon)),
        ("GET", "/status", May::Command) => object("200 OK", &status::report(daemon)),
        ("POST", "/drain", May::Command) => match daemon.lifecycle.drain().await {
            Ok(()) => object("200 OK", &json!({ "drained": true })),
            Err(error) => object("500 Internal Server Error", &json!({ "error": error.to_string() })),
        },
        ("POST", "/stop", May::Command) => {
            daemon.ask_to_stop("status socket");
            object("202 Accepted", &json!({ "stopping": true }))
        }
        _ => {
            object("404 Not Found", &json!({ "error": "GET /status, GET /metrics, POST /drain, POST /stop" }))
        }
    }
}

fn object(code: &str, body: &serde_json::Value) -> String {
    reply(code, "application/json", &format!("{body}\n"))
}

fn reply(code: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {code}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}
