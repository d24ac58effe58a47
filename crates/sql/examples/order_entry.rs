//! Loads or runs TPROC-C against a PostgreSQL or MariaDB socket from the command line, and prints one line of JSON; what
//! `benches/tprocc.py` measures.
//!
//! `order_entry (postgresql|mariadb) SOCKET USER DATABASE KEY=VALUE...`, the keys being those of `[workload]`. The first run
//! loads; `duration=1ms` does little else.

use std::process::ExitCode;

use fathom_job::{Address, Connection, DatabaseKind, Databases, Job, Login, RunEnvironment};
use fathom_runtime::Clock;
use fathom_settings::{Diagnostics, Tree, to_text};
use fathom_sql::tprocc::Config;

fn main() -> ExitCode {
    match entered(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn entered(arguments: &[String]) -> Result<String, String> {
    let [kind, socket, user, database, keys @ ..] = arguments else {
        return Err("order_entry (postgresql|mariadb) SOCKET USER DATABASE KEY=VALUE...".to_owned());
    };
    let kind = DatabaseKind::of(kind).ok_or_else(|| format!("{kind}: no such database"))?;
    let text = keys.iter().fold("database = \"it\"\n".to_owned(), |text, key| text + key + "\n");
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("command line", &text, &diagnostics);
    let mut section = tree.section(&diagnostics);
    let config = Config::read(&mut section).filter(|_| section.finish());
    let config = config.ok_or_else(|| to_text(&diagnostics))?;
    let connection = Connection {
        kind,
        address: Address::Socket(socket.into()),
        user: user.clone(),
        password: None,
        database: database.clone(),
        tls: None,
        tls_ca: None,
        login: Login::default(),
        timeout_ns: None,
    };
    let databases = Databases([("it".to_owned(), connection)].into());
    let scratch = std::env::temp_dir();
    let environment = RunEnvironment {
        storage: None,
        databases: &databases,
        scratch: &scratch,
        clock: Clock::Real,
        seed: 1,
    };
    let outcome = config.run(&environment, &mut ()).map_err(|failure| failure.message)?;
    let mut pairs: Vec<String> = Vec::new();
    for (name, value) in &outcome.metrics {
        pairs.push(format!("\"{name}\": {}", value.map_or("null".to_owned(), |value| value.to_string())));
    }
    for (name, value) in &outcome.facts {
        pairs.push(format!("\"{name}\": {value:?}"));
    }
    Ok(format!("{{{}}}", pairs.join(", ")))
}
