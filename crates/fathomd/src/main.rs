//! fathomd: serves volumes to hosts over NBD and FUSE. The only program of the project that
//! listens at sockets.
//!
//! One thread runs everything, see `fathom_runtime`: clients, volumes, status. docs/FATHOMD.md is the manual.

mod blocking;
mod cancel;
mod check;
mod connection;
mod create;
mod cut;
mod daemon;
mod descriptors;
mod exports;
mod fences;
mod fuse;
mod http;
mod keys;
mod legs;
mod listen;
mod listeners;
mod log;
mod memory;
mod metrics;
mod names;
mod notify;
mod paths;
mod ports;
mod settings;
mod signals;
mod state;
mod status;
mod stop;
mod ublk;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use fathom_settings::Diagnostics;

use crate::daemon::Purpose;
use crate::log::{Log, tell};
use crate::settings::{Settings, Wrong};
use crate::signals::EarlySignals;

/// Serves volumes over NBD and FUSE as a settings file says.
#[derive(Debug, Parser)]
#[command(name = "fathomd", version)]
struct Arguments {
    /// The settings file: [volumes.*], [exports.*], [fuse], [daemon].
    #[arg(required_unless_present = "keys", conflicts_with = "keys")]
    settings: Option<PathBuf>,
    /// Print every key of [daemon], [exports.*] and [fuse] as JSON, and exit.
    #[arg(long)]
    keys: bool,
    /// Check the settings, verify the devices of write-back caches bit by bit, and exit. Writes nothing.
    #[arg(long)]
    check: bool,
    /// With --check: open nothing, so that a running daemon does not mind.
    #[arg(long, requires = "check")]
    settings_only: bool,
    /// With --check: print one JSON object.
    #[arg(long, requires = "check")]
    json: bool,
    /// Make the volumes (files that are not there, superblocks of caches) and exit.
    #[arg(long, conflicts_with = "check")]
    create: bool,
    /// Say whether a cache, a mirror or a pool would refuse the start, or the creation, and exit. Writes nothing; the daemon asks
    /// itself.
    #[arg(long, hide = true, conflicts_with = "check")]
    foresee: bool,
    /// How the log is written to standard error.
    #[arg(long, value_enum, default_value = "text")]
    log: LogFormat,
    /// What is logged.
    #[arg(long, default_value = "info")]
    log_level: tracing::Level,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Wrong settings or arguments.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    signals::block();
    let code = run(&Arguments::parse());
    Log::get().flush();
    code
}

fn run(arguments: &Arguments) -> ExitCode {
    log::tell_panics();
    signals::ignore_limits();
    let log = tracing_subscriber::fmt()
        .with_writer(Log::get())
        .with_max_level(arguments.log_level)
        .with_target(false)
        .with_ansi(false);
    match arguments.log {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
    let serves = !(arguments.keys || arguments.check || arguments.create || arguments.foresee);
    let early = match serves.then(EarlySignals::begin).transpose() {
        Ok(early) => early,
        Err(error) => {
            tracing::error!("{}", daemon::cannot_listen(&error));
            return check::FAILED.into();
        }
    };
    if early.is_none() {
        signals::unblock();
    }
    let (Some(file), false) = (&arguments.settings, arguments.keys) else {
        return print(&format!("{:#}\n", keys::to_json()), 0);
    };
    let settings = match read(file) {
        Ok(settings) => settings,
        Err(wrong) => {
            tell(&wrong.to_string());
            let file = file.display().to_string();
            let json = if arguments.json { check::mistakes_to_json(&file, &wrong) } else { String::new() };
            return print(&json, USAGE);
        }
    };
    if arguments.check {
        let found = check::check(&settings, folder_of(file), arguments.settings_only);
        let file = file.display().to_string();
        let text = if arguments.json { check::to_json(&file, &found) } else { check::to_text(&file, &found) };
        return print(&text, found.code());
    }
    descriptors::raise(&settings.daemon);
    if arguments.foresee {
        let to = if arguments.create { Purpose::Create } else { Purpose::Serve };
        return daemon::foresee(&settings, folder_of(file), to)
            .map_or_else(|why| print(&why, check::FAILED), |()| 0.into());
    }
    let done = match early {
        Some(early) => daemon::run(settings, file, early),
        None => create::create(&settings, file),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            check::FAILED.into()
        }
    }
}

/// The folder in which relative paths of a settings file begin.
fn folder_of(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new(""))
}

/// Prints what was asked for; the exit code. Whoever reads has seen enough if the pipe is closed; a full disk is told.
fn print(text: &str, code: u8) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            tell(&format!("error: cannot print what was asked for: {error}\n"));
            check::FAILED.into()
        }
        _ => code.into(),
    }
}

/// More is no settings file, and `/dev/zero` has no end.
const LARGEST: u64 = 16 << 20;

fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    if File::open(path)?.take(LARGEST + 1).read_to_string(&mut text)? as u64 > LARGEST {
        return Err(io::Error::other("it has more than 16 MiB: this is no settings file"));
    }
    Ok(text)
}

fn read(path: &Path) -> Result<Settings, Wrong> {
    let text = read_text(path).map_err(|error| Wrong::File(path.to_owned(), error))?;
    let diagnostics = Diagnostics::new();
    let settings = Settings::read(&text, &path.display().to_string(), &diagnostics);
    let one_user =
        |settings: &Settings| settings.volumes.check_files(&settings.roots(), folder_of(path), &diagnostics);
    settings.filter(one_user).ok_or(Wrong::Text(diagnostics))
}
