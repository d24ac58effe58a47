//! The status socket: HTTP/1.1 over a Unix socket (`curl --unix-socket PATH http://fathomd/status`), and for Prometheus
//! over TCP. One request per connection.

use std::cell::Cell;
use std::rc::Rc;

use fathom_runtime::{Nanos, SECOND, within};
use fathom_wire::Port;
use serde_json::json;

use crate::cut::{Cancellation, CountGuard, UndecidedPeers};
use crate::state::State;
use crate::{metrics, status, stop};

/// A request that is not here by then is none, and a caller that has not taken its answer by then does not want it.
const PATIENCE: Nanos = 5 * SECOND;
/// Callers at a time: whoever comes when there are as many cuts off the one that has been there longest.
pub const MOST_CALLERS: usize = 16;
/// The largest request that is read.
const LARGEST: usize = 8 << 10;

/// What a caller may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read metrics.
    Metrics,
    /// Everything: the socket's permissions say who it is.
    All,
}

/// Answers callers until the daemon ends.
pub async fn serve(state: Rc<State>, listener: Rc<Port>, access: Access) {
    let undecided = UndecidedPeers::new(MOST_CALLERS);
    let draining = Rc::new(Cell::new(0));
    loop {
        let port = match listener.accept().await {
            Ok(taken) if access == Access::Metrics && state.descriptors.are_short_for_metrics(&taken) => {
                continue;
            }
            taken => taken.and_then(|taken| Port::new(taken, listener.ring())),
        };
        let port = match port {
            Ok(port) => port,
            Err(error) => {
                tracing::warn!(%error, "cannot let a caller in");
                state.context.sleep(SECOND).await;
                continue;
            }
        };
        let cut = Cancellation::default();
        let (presence, _) = undecided.enter(&cut);
        let (state, draining) = (Rc::clone(&state), Rc::clone(&draining));
        let context = state.context.clone();
        context.clone().spawn(async move {
            let Some(Some(line)) = cut.unless(within(&context, PATIENCE, request(&port))).await.flatten()
            else {
                return;
            };
            let reply = if access == Access::All && line.starts_with("POST /drain ") {
                // That takes as long as it takes, and nobody is crowded out of it.
                drop(presence);
                match CountGuard::one_of(&draining, MOST_CALLERS) {
                    Some(place) => drain(&state, place).await,
                    None => {
                        object("503 Service Unavailable", &json!({ "error": "too many wait for a drain" }))
                    }
                }
            } else {
                respond(&state, &line, access)
            };
            // A caller that has gone needs no answer.
            let answered = within(&context, PATIENCE, port.write_all(reply.as_bytes()));
            let _ = cut.unless(answered).await;
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

async fn drain(state: &Rc<State>, place: CountGuard) -> String {
    match stop::drain(state, place).await {
        Ok(()) => object("200 OK", &json!({ "drained": true })),
        Err((error, is_stalled)) => {
            let code = if is_stalled { "504 Gateway Timeout" } else { "500 Internal Server Error" };
            object(code, &json!({ "error": error, "stalled": is_stalled }))
        }
    }
}

fn respond(state: &Rc<State>, line: &str, access: Access) -> String {
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    match (method, path, access) {
        ("GET", "/metrics", _) => reply("200 OK", "text/plain; version=0.0.4", &metrics::text(state)),
        ("GET", "/status", Access::All) => object("200 OK", &status::report(state)),
        ("POST", "/stop", Access::All) => {
            state.ask_to_stop("status socket");
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
