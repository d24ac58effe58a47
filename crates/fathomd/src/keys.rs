//! Every key of the daemon's own tables, for `fathomd --keys`. Those of volumes are in the registry of their kinds.

use fathom_settings::Key;
use serde_json::{Value, json};

/// `[daemon]`, with `[daemon.tls]`.
pub const DAEMON: &[Key] = &[
    Key::required("socket", "path", "Where NBD clients connect."),
    Key::optional("socket_mode", "octal, as text", "0600", "Permissions of that socket."),
    Key::optional("status", "path", "none", "Status socket, always 0600."),
    Key::optional("metrics", "address", "none", "TCP address for Prometheus."),
    Key::optional("tcp", "address", "none", "TCP address for NBD clients."),
    Key::optional("tcp_in_the_clear", "true or false", "false", "TCP without TLS."),
    Key::optional("tls", "table", "none", "Keys of TLS, for `tcp`."),
    Key::required("tls.certificate", "path", "PEM file: the server's chain."),
    Key::required("tls.key", "path", "PEM file: the server's key."),
    Key::optional("tls.client_authority", "path", "none", "PEM file: who signs clients' certificates."),
    Key::optional("most_clients", "1 to 4096", "64", "Clients at once on each listener."),
    Key::optional(
        "client_memory",
        "1MiB to 1TiB",
        "a quarter of the memory, 1GiB at most",
        "What requests and answers of all clients may take.",
    ),
    Key::optional(
        "client_patience",
        "time",
        "10s",
        "How long clients have to fetch their answers at a stop.",
    ),
    Key::optional("stall_patience", "1s to 1h", "60s", "How long devices may complete nothing at a stop."),
    Key::optional("at_stop", "`drain` or `keep`", "drain", "What a planned stop leaves in the caches."),
    Key::optional("busy_poll", "true or false", "true", "Whether short waits are spent spinning."),
];

/// `[exports.NAME]`.
pub const EXPORT: &[Key] = &[
    Key::required("volume", "volume", "What is served."),
    Key::optional("description", "text", "empty", "Shown to clients."),
    Key::optional("read_only", "true or false", "false", "Whether clients may only read."),
    Key::optional("ublk", "0 to 65535", "none", "Also served as `/dev/ublkbN` with this N."),
];

/// `[fuse]`.
pub const FUSE: &[Key] = &[
    Key::required("mount", "path", "Where the exports are mounted, one file each."),
    Key::optional("mode", "octal, as text", "0600", "Permissions of the files."),
    Key::optional(
        "io_uring",
        "true or false",
        "true",
        "Whether requests come through io_uring where possible.",
    ),
];

/// All of them by table, as JSON.
pub fn to_json() -> Value {
    let key = |key: &Key| json!({ "name": key.name, "takes": key.takes, "default": key.default, "summary": key.summary });
    let table = |keys: &[Key]| keys.iter().map(key).collect::<Value>();
    json!({ "daemon": table(DAEMON), "exports": table(EXPORT), "fuse": table(FUSE) })
}
