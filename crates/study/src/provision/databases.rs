//! `[databases.NAME]`: a private server on stated places with stated settings, or how to reach one that runs already.

use fathom_job::{DatabaseKind, Login, Tls};
use fathom_settings::{Choice, Data, FromValue, Key, Problem, Section};
use fathom_units::Span;
use serde_json::{Map, Value, json};

use super::{Place, check_name, check_place};

/// Every key the reader asks for.
pub const DATABASE_KEYS: &[Key] = &[
    Key::required("kind", "`sqlite`, `postgresql`, `mariadb`, `mysql` or `sqlserver`", "Which database."),
    Key::optional("place", "name of a place", "the run's scratch directory", "Where its data files are."),
    Key::optional("log_place", "name of a place", "with the data", "Where its log is."),
    Key::optional("temp_place", "name of a place", "with the data", "Where temporary tables and files are."),
    Key::optional("settings", "table", "the server's own", "Settings of the server, by their own names."),
    Key::optional(
        "cpus",
        "1 to 1024, or a list of CPUs such as `\"0,2,4-7\"`",
        "all",
        "On how many CPUs the server may run, or on which: to choose threads of one core or leave them out.",
    ),
    Key::optional(
        "background",
        "`none`, `backup`, `check` or `command`",
        "none",
        "What runs beside the workload, over and over until it ends: the database's own backup or consistency check, or a command.",
    ),
    Key::optional(
        "background_command",
        "list of words",
        "none",
        "Program and arguments, for `background = \"command\"`; no shell.",
    ),
    Key::optional(
        "restore",
        "list of words",
        "none",
        "Program and arguments that restore the data of a server that runs already, before every run; no shell.",
    ),
    Key::optional("connect", "table", "a private server", "How to reach a server that runs already."),
    Key::optional(
        "connect.socket",
        "path",
        "`host`",
        "Its Unix socket (PostgreSQL: the socket's directory).",
    ),
    Key::optional("connect.host", "text", "localhost", "Its host name."),
    Key::optional("connect.port", "1 to 65535", "the database's usual one", "Its TCP port."),
    Key::optional("connect.user", "text", "required for `login = \"password\"`", "Who connects."),
    Key::optional(
        "connect.password_env",
        "name of an environment variable",
        "no password",
        "Where the password is found; a study holds none.",
    ),
    Key::optional(
        "connect.login",
        "`password` or `windows`",
        "password",
        "SQL Server: `windows` logs in by the Kerberos ticket of whoever runs this (docs/SQLSERVER.md).",
    ),
    Key::optional(
        "connect.tls",
        "`disable`, `prefer`, `require`, `verify-ca` or `verify-full`",
        "`prefer`; SQL Server: `verify-full`",
        "Whether the connection is encrypted and what of the server's certificate is checked, in PostgreSQL's words.",
    ),
    Key::optional(
        "connect.tls_ca",
        "path",
        "the system's",
        "Authorities that may sign that certificate, PEM.",
    ),
    Key::optional(
        "connect.timeout",
        "1ms to 1d",
        "30 s to log in, then for ever",
        "How long the server may stall before the run ends with the reason `lost`.",
    ),
    Key::required("connect.database", "text", "Database within the server; it exists, and is written to."),
    Key::optional("standby", "table", "none", "PostgreSQL: a second server that follows the first."),
    Key::optional("standby.place", "name of a place", "the run's scratch directory", "Where its data is."),
    Key::optional("standby.log_place", "name of a place", "with its data", "Where its log is."),
    Key::optional(
        "standby.commit",
        "`remote_write`, `on` or `remote_apply`",
        "on",
        "What a commit waits for at the standby: received, durable, or visible.",
    ),
];

/// One database, read and checked on its own.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    pub name: String,
    pub kind: DatabaseKind,
    /// Names of the places it uses.
    pub places: Vec<String>,
    json: Value,
}

#[derive(Debug, Clone, Copy)]
struct TlsWord(Tls);

impl Choice for TlsWord {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("disable", Self(Tls::Disable)),
        ("prefer", Self(Tls::Prefer)),
        ("require", Self(Tls::Require)),
        ("verify-ca", Self(Tls::VerifyCa)),
        ("verify-full", Self(Tls::VerifyFull)),
    ];
}

#[derive(Debug, Clone, Copy)]
struct LoginWord(Login);

impl Choice for LoginWord {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("password", Self(Login::Password)), ("windows", Self(Login::Windows))];
}

#[derive(Debug, Clone, Copy)]
struct Commit(&'static str);

impl Choice for Commit {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("remote_write", Self("remote_write")), ("on", Self("on")), ("remote_apply", Self("remote_apply"))];
}

#[derive(Debug, Clone, Copy)]
struct Background(&'static str);

impl Choice for Background {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("none", Self("none")),
        ("backup", Self("backup")),
        ("check", Self("check")),
        ("command", Self("command")),
    ];
}

/// A program and its arguments.
#[derive(Debug, Clone)]
struct Words(Vec<String>);

impl FromValue for Words {
    fn from_value(value: &fathom_settings::Value) -> Result<Self, Problem> {
        let problem = || Problem::new("expected a list of words", "[\"program\", \"argument\"]");
        let Data::List(items) = &value.data else { return Err(problem()) };
        let word = |item: &fathom_settings::Value| match &item.data {
            Data::Text(text) if !text.contains('\0') => Ok(text.clone()),
            _ => Err(problem()),
        };
        let words: Vec<String> = items.iter().map(word).collect::<Result<_, _>>()?;
        match words.first() {
            Some(program) if !program.is_empty() => Ok(Self(words)),
            _ => Err(problem()),
        }
    }
}

/// A number of CPUs, or which.
#[derive(Debug, Clone)]
struct Cpus(Value);

impl FromValue for Cpus {
    fn from_value(value: &fathom_settings::Value) -> Result<Self, Problem> {
        let help = "2, or \"0,2,4-7\"";
        match &value.data {
            Data::Integer(count @ 1..=1024) => Ok(Self(json!(count))),
            Data::Integer(_) => Err(Problem::new("out of range: 1 to 1024", help)),
            Data::Text(list) if is_cpu_list(list) => Ok(Self(json!(list))),
            _ => Err(Problem::new("expected a number of CPUs, or a list of them", help)),
        }
    }
}

/// Numbers and ranges with commas between them, as `taskset --cpu-list` takes them.
fn is_cpu_list(list: &str) -> bool {
    let number = |text: &str| text.parse::<u32>().ok().filter(|cpu| *cpu < 8192 && !text.starts_with('+'));
    list.split(',').all(|part| match part.split_once('-') {
        None => number(part).is_some(),
        Some((first, last)) => {
            matches!((number(first), number(last)), (Some(first), Some(last)) if first <= last)
        }
    })
}

impl Database {
    /// Reads every table of `[databases]`.
    pub fn read_all(root: &mut Section<'_>, places: &[Place]) -> Vec<Self> {
        let read = |(name, mut section): (&str, Section<'_>)| {
            let fits = check_name(name, &section);
            let database = read(name, &mut section, places);
            let clean = section.finish();
            database.filter(|_| clean && fits)
        };
        root.named_sections("databases").into_iter().filter_map(read).collect()
    }

    /// A private server that has no table: everything as it comes, in the run's scratch directory.
    pub fn plain(kind: DatabaseKind) -> Option<Self> {
        kind.offers().private.then(|| Self {
            name: kind.name().to_owned(),
            kind,
            places: Vec::new(),
            json: json!({ "kind": kind.name(), "place": null, "log_place": null, "temp_place": null,
                "settings": {}, "cpus": null, "connect": null, "standby": null,
                "background": "none", "background_command": null, "restore": null }),
        })
    }

    /// Whether it is a server that runs already.
    pub fn is_connected(&self) -> bool {
        !self.json["connect"].is_null()
    }

    /// The form that provisioning reads.
    pub fn to_json(&self) -> Value {
        self.json.clone()
    }
}

fn read(name: &str, section: &mut Section<'_>, places: &[Place]) -> Option<Database> {
    let kind = section.required::<DatabaseKind>("kind");
    let mut named = Vec::new();
    let mut place = |section: &mut Section<'_>, key: &str| {
        let name = section.optional::<String>(key);
        check_place(section, key, name.as_ref(), places);
        named.extend(name.clone());
        name
    };
    let (data, log, temp) =
        (place(section, "place"), place(section, "log_place"), place(section, "temp_place"));
    let settings = section.section("settings").map(|mut settings| read_settings(&mut settings, kind));
    let cpus = section.optional::<Cpus>("cpus").map(|cpus| cpus.0);
    let background = section.or("background", Background("none")).0;
    let background_command = section.optional::<Words>("background_command").map(|words| words.0);
    let restore = section.optional::<Words>("restore").map(|words| words.0);
    if (background == "command") != background_command.is_some() {
        let help = "`background = \"command\"` and `background_command` go together";
        section.error_at("background_command", "one of the two is missing", help);
    }
    let connect = section.section("connect").map(|mut connect| read_connect(&mut connect, kind));
    let standby = section.section("standby").map(|mut standby| {
        let (data, log) = (place(&mut standby, "place"), place(&mut standby, "log_place"));
        let commit = standby.or("commit", Commit("on")).0;
        let _ = standby.finish();
        json!({ "place": data, "log_place": log, "commit": commit })
    });
    let kind = kind?;
    if connect.is_some() {
        for key in ["place", "log_place", "temp_place", "settings", "cpus", "standby"] {
            if section.value(key).is_some() {
                let help = "leave it out, or leave out `connect` to have a private server";
                section.error_at(key, "a server that runs already is used as it is", help);
            }
        }
        if matches!(background, "backup" | "check") {
            let help = "say how with background = \"command\" and `background_command`";
            section.error_at(
                "background",
                "how a server of yours is reached by its tools is not known",
                help,
            );
        }
    } else if restore.is_some() {
        let help = "leave it out: data of a private server is restored from a copy before every run";
        section.error_at("restore", "only a server that runs already is restored by a command", help);
    } else if !kind.offers().private {
        let help = format!("say how to reach one that runs: [databases.{name}.connect]");
        section.error_at(
            "kind",
            format!("no private server of kind \"{}\" can be started", kind.name()),
            help,
        );
    }
    for key in kind.offers().refused {
        if section.value(key).is_some() {
            section.error_at(key, format!("{} has none", kind.name()), kind.offers().refusal);
        }
    }
    let json = json!({ "kind": kind.name(), "place": data, "log_place": log, "temp_place": temp,
        "settings": settings.unwrap_or_default(), "cpus": cpus, "connect": connect, "standby": standby,
        "background": background, "background_command": background_command, "restore": restore });
    Some(Database { name: name.to_owned(), kind, places: named, json })
}

/// Settings of a server: names that are plain words, values that fit one line of its configuration.
fn read_settings(section: &mut Section<'_>, kind: Option<DatabaseKind>) -> Map<String, Value> {
    let mut settings = Map::new();
    for entry in section.entries() {
        let path = section.path().join(&entry.key);
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        if entry.key.is_empty() || !entry.key.bytes().all(plain) {
            let problem = Problem::new("this is no name of a setting", "letters, digits, `_`, `-` and `.`");
            section.refuse(entry.position, &path, problem);
            continue;
        }
        if let Some(problem) = kind.and_then(|kind| own_setting(kind, &entry.key, &entry.value.data)) {
            section.refuse(entry.position, &path, problem);
            continue;
        }
        match &entry.value.data {
            Data::Text(text) if text.contains(['\n', '\r', '\0']) => {
                section.refuse(entry.value.position, &path, Problem::new("it has more than one line", ""));
            }
            Data::Text(_) | Data::Integer(_) | Data::Float(_) | Data::Boolean(_) => {
                settings.insert(entry.key.clone(), entry.value.to_json());
            }
            _ => {
                let problem = Problem::new(
                    format!("expected a text, a number, true or false, found {}", entry.value.kind()),
                    "write it as the server's configuration would, in quotes",
                );
                section.refuse(entry.value.position, &path, problem);
            }
        }
    }
    settings
}

/// What is wrong with a setting that Fathom makes itself; None for one of the study's.
fn own_setting(kind: DatabaseKind, written: &str, value: &Data) -> Option<Problem> {
    let (name, own) = kind.own_setting(written)?;
    if own.names_allowed && !matches!(value, Data::Text(text) if text.contains('/')) {
        return None;
    }
    let also = if name.eq_ignore_ascii_case(&written.replace('-', "_")) {
        String::new()
    } else {
        format!(" (it means `{name}`)")
    };
    let message =
        format!("where a private server writes and how it is reached is not the study's to set{also}");
    Some(Problem::new(message, own.instead))
}

fn read_connect(section: &mut Section<'_>, kind: Option<DatabaseKind>) -> Value {
    let socket = section.optional::<String>("socket");
    let host = section.optional::<String>("host");
    let port = section.optional_in("port", 1..=u16::MAX);
    let login = section.or("login", LoginWord(Login::Password)).0;
    let user = match login {
        Login::Password => section.required::<String>("user"),
        Login::Windows => section.optional::<String>("user").or(Some(String::new())),
    };
    let password_env = section.optional::<String>("password_env");
    let database = section.required::<String>("database");
    let tls = section.optional::<TlsWord>("tls").map(|word| word.0);
    let tls_ca = section.optional::<String>("tls_ca");
    let timeout = section.optional_in("timeout", Span::from_millis(1)..=Span::from_secs(86_400));
    let checked = match tls {
        Some(mode) => matches!(mode, Tls::VerifyCa | Tls::VerifyFull),
        None => kind.is_some_and(|kind| kind.offers().checks_certificates),
    };
    if socket.is_some() && (tls.is_some() || tls_ca.is_some()) {
        let key = if tls.is_some() { "tls" } else { "tls_ca" };
        section.error_at(key, "a Unix socket is not encrypted", "leave it out, or give `host`");
    } else if tls_ca.is_some() && !checked {
        section.error_at("tls_ca", "no certificate is checked", "set tls = \"verify-full\"");
    }
    if tls == Some(Tls::VerifyCa) && kind.is_some_and(|kind| !kind.offers().verify_ca) {
        let help = "use \"verify-full\": the certificate must be for that host too";
        section.error_at("tls", "only PostgreSQL's driver can leave the name unchecked", help);
    }
    if login == Login::Windows {
        check_ticket(section, kind);
    }
    if socket.is_some() && host.is_some() {
        section.error_at("host", "the server is named twice", "give `socket` or `host`");
    }
    let _ = section.finish();
    json!({ "socket": socket, "host": host, "port": port, "user": user, "password_env": password_env,
        "login": login, "database": database, "tls": tls, "tls_ca": tls_ca,
        "timeout_ns": timeout.map(Span::as_nanos) })
}

/// What does not go with a ticket.
fn check_ticket(section: &mut Section<'_>, kind: Option<DatabaseKind>) {
    if kind.is_some_and(|kind| !kind.offers().windows_login) {
        let help = "leave it out: this is SQL Server's";
        section.error_at("login", "only SQL Server's driver logs in by a Windows ticket", help);
    } else if !cfg!(feature = "windows-login") {
        let help =
            "build it with the feature `windows-login` (docs/SQLSERVER.md), or use a login of SQL Server";
        section.error_at("login", "this Fathom was built without Windows login", help);
    }
    for key in ["user", "password_env"] {
        if section.value(key).is_some() {
            section.error_at(key, "the ticket says who connects", "leave it out");
        }
    }
}
