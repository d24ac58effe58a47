//! The daemon's settings file: `[volumes.*]` as everywhere, `[exports.*]`, `[daemon]`.

use std::path::PathBuf;

use fathom_catalogue::Catalogue;
use fathom_runtime::{Nanos, SECOND};
use fathom_settings::{Choice, Diagnostics, Reference, Section, Tree, VolumeName};
use fathom_stack::{Clock, Volumes};
use fathom_units::Span;

/// The longest name of an export, in bytes (specification: strings of at most 4,096; longer ones are of no use).
const LONGEST_NAME: usize = 255;

/// A volume under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    pub name: String,
    pub volume: String,
    pub description: String,
    pub read_only: bool,
}

/// Where TLS finds its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Who signs clients' certificates; None to let every client in.
    pub client_authority: Option<PathBuf>,
}

/// Where clients come by TCP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tcp {
    pub address: String,
    /// None: in the clear, by explicit wish.
    pub tls: Option<Tls>,
}

/// What a planned stop leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtStop {
    /// Backing volumes that are complete without their caches.
    Drain,
    /// Everything durable in the cache: the next start goes on from there.
    Keep,
}

impl Choice for AtStop {
    const CHOICES: &'static [(&'static str, Self)] = &[("drain", Self::Drain), ("keep", Self::Keep)];
}

/// `[daemon]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Daemon {
    pub socket: PathBuf,
    /// Permissions of the socket, as of a file.
    pub socket_mode: u32,
    pub status: Option<PathBuf>,
    /// An address for Prometheus beside the status socket.
    pub metrics: Option<String>,
    pub tcp: Option<Tcp>,
    pub most_clients: usize,
    /// How long clients have to fetch their answers at a stop, ns.
    pub client_patience: Nanos,
    pub at_stop: AtStop,
}

/// Everything in the file.
pub struct Settings {
    pub daemon: Daemon,
    pub exports: Vec<Export>,
    pub volumes: Volumes,
}

impl Settings {
    /// Reads a settings text; None if anything is wrong, which is then in the diagnostics. `file` is its name in
    /// messages.
    pub fn read(text: &str, file: &str, diagnostics: &Diagnostics) -> Option<Self> {
        let tree = Tree::parse(file, text, diagnostics);
        if !diagnostics.is_empty() {
            return None;
        }
        let root = &mut tree.section(diagnostics);
        let volumes = Volumes::read(root, &Catalogue::builtin());
        root.take_references();
        let mut exports = Vec::new();
        for (name, mut section) in root.named_sections("exports") {
            exports.extend(export(name, &mut section));
        }
        let roots = root.take_references();
        let daemon = root.required_section("daemon").and_then(|mut section| daemon(&mut section));
        if exports.is_empty() && diagnostics.is_empty() {
            root.error("nothing is served", "add an [exports.NAME] with `volume = \"…\"`");
        }
        let whole = root.finish();
        volumes.check(diagnostics);
        volumes.check_use(&distinct(roots), Clock::Real, diagnostics);
        daemon.filter(|_| whole && diagnostics.is_empty()).map(|daemon| Self { daemon, exports, volumes })
    }

    /// The volumes that are served, each once.
    pub fn roots(&self) -> Vec<String> {
        let mut roots: Vec<String> = self.exports.iter().map(|export| export.volume.clone()).collect();
        roots.sort();
        roots.dedup();
        roots
    }
}

/// A volume may be exported under several names: it still has one user, the daemon.
fn distinct(mut references: Vec<Reference>) -> Vec<Reference> {
    let mut seen: Vec<String> = Vec::new();
    references.retain(|reference| {
        let new = !seen.contains(&reference.name);
        seen.push(reference.name.clone());
        new
    });
    references
}

fn export(name: &str, section: &mut Section<'_>) -> Option<Export> {
    if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
        section.error(
            "this is no name for an export",
            format!("use 1 to {LONGEST_NAME} bytes without control characters"),
        );
    }
    let volume = section.required::<VolumeName>("volume");
    let description = section.or("description", String::new());
    let read_only = section.or("read_only", false);
    let clean = section.finish();
    volume.filter(|_| clean).map(|volume| Export {
        name: name.to_owned(),
        volume: volume.0,
        description,
        read_only,
    })
}

fn daemon(section: &mut Section<'_>) -> Option<Daemon> {
    let socket = section.required::<String>("socket").map(PathBuf::from);
    let socket_mode = mode(section);
    let status = section.optional::<String>("status").map(PathBuf::from);
    let metrics = section.optional::<String>("metrics");
    let most_clients = section.or_in("most_clients", 64, 1..=4096);
    let client_patience = section.or("client_patience", Span::from_secs(10)).as_nanos();
    let at_stop = section.or("at_stop", AtStop::Drain);
    let tcp = tcp(section);
    if client_patience > 3600 * SECOND {
        section.error_at("client_patience", "more than an hour", "10s is plenty for a living client");
    }
    let clean = section.finish();
    socket.filter(|_| clean).map(|socket| Daemon {
        socket,
        socket_mode,
        status,
        metrics,
        tcp,
        most_clients,
        client_patience,
        at_stop,
    })
}

fn mode(section: &mut Section<'_>) -> u32 {
    let text = section.or("socket_mode", "0600".to_owned());
    let mode = u32::from_str_radix(&text, 8).ok().filter(|mode| *mode <= 0o777);
    if mode.is_none() {
        section.error_at(
            "socket_mode",
            format!("\"{}\" is no file mode", text.escape_debug()),
            "write it in octal, like \"0600\" or \"0660\"",
        );
    }
    mode.unwrap_or(0o600)
}

fn tcp(section: &mut Section<'_>) -> Option<Tcp> {
    let address = section.optional::<String>("tcp");
    let in_the_clear = section.or("tcp_in_the_clear", false);
    let tls = section.section("tls").and_then(|mut tls| {
        let certificate = tls.required::<String>("certificate");
        let key = tls.required::<String>("key");
        let client_authority = tls.optional::<String>("client_authority").map(PathBuf::from);
        let clean = tls.finish();
        let files = certificate.zip(key).filter(|_| clean);
        files.map(|(certificate, key)| Tls {
            certificate: certificate.into(),
            key: key.into(),
            client_authority,
        })
    });
    let address = address?;
    if !section.has("tls") && !in_the_clear {
        section.error_at(
            "tcp",
            "TCP without encryption: anybody on the way can read and change the data",
            "add [daemon.tls] with `certificate` and `key`, or `tcp_in_the_clear = true` on a network you trust",
        );
    }
    Some(Tcp { address, tls: tls.filter(|_| !in_the_clear) })
}

#[cfg(test)]
mod tests {
    use fathom_settings::{Diagnostics, to_text};

    use super::Settings;

    fn read(text: &str) -> Result<Settings, String> {
        let diagnostics = Diagnostics::new();
        Settings::read(text, "fathomd.toml", &diagnostics).ok_or_else(|| to_text(&diagnostics))
    }

    const VOLUME: &str = "[volumes.disk]\nkind = \"memory\"\nsize = \"1GiB\"\n";

    #[test]
    fn a_volume_can_be_served_under_two_names() {
        let text = format!(
            "{VOLUME}[daemon]\nsocket = \"s\"\nsocket_mode = \"0660\"\n[exports.data]\nvolume = \"disk\"\n\
             [exports.copy]\nvolume = \"disk\"\nread_only = true\n"
        );
        let settings = read(&text).expect("sound settings");
        assert_eq!((settings.daemon.socket_mode, settings.exports.len()), (0o660, 2));
        assert_eq!(settings.roots(), ["disk"]);
    }

    #[test]
    fn mistakes_are_all_named() {
        let text = format!(
            "{VOLUME}[daemon]\nsocket = \"s\"\nsocket_mode = \"rw\"\ntcp = \"0.0.0.0:10809\"\nlisten = 1\n\
             [exports.data]\nvolume = \"dsk\"\n"
        );
        let told = read(&text).err().expect("four mistakes");
        for part in ["no file mode", "TCP without encryption", "daemon.listen", "there is no volume `dsk`"] {
            assert!(told.contains(part), "{part} is missing in {told}");
        }
    }

    #[test]
    fn a_daemon_that_serves_nothing_is_a_mistake() {
        let told = read(&format!("{VOLUME}[daemon]\nsocket = \"s\"\n")).err().expect("no exports");
        assert!(told.contains("nothing is served"), "{told}");
    }
}
