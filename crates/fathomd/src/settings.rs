//! The daemon's settings file: `[volumes.*]` as everywhere, `[exports.*]`, `[fuse]`, `[daemon]`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use fathom_catalogue::Catalogue;
use fathom_runtime::Clock;
use fathom_runtime::{Nanos, SECOND};
use fathom_settings::{Choice, Diagnostics, Reference, Section, Tree, VolumeName, to_text};
use fathom_stack::{Stack, Volumes};
use fathom_units::{Bytes, Span};
use fathom_volume::Site;
use fathom_wire::tls::{self, Identity, ServerConfig};

use crate::{folder_of, paths, ports, ublk};

/// The longest name of an export, in bytes (specification: strings of at most 4,096; longer ones are of no use).
const LONGEST_NAME: usize = 255;
/// The longest description, in bytes (the same): libnbd gives up on a longer one.
const LONGEST_DESCRIPTION: usize = 4096;
/// The largest N of `/dev/ublkbN`: minor numbers have 20 bits, 16 of them per N for partitions.
const LARGEST_DEVICE: u32 = 65_535;

/// The bounds of `client_memory`.
const LEAST_CLIENT_MEMORY: Bytes = Bytes::new(1 << 20);
const MOST_CLIENT_MEMORY: Bytes = Bytes::new(1 << 40);

/// A volume under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    pub name: String,
    pub volume: String,
    pub description: String,
    pub read_only: bool,
    /// Also served as `/dev/ublkbN` with this N.
    pub ublk: Option<u32>,
}

/// Where TLS finds its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Who signs clients' certificates; None to let every client in.
    pub client_authority: Option<PathBuf>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// A sentence that names the file and what is wrong with it.
    pub fn server(&self) -> Result<Arc<ServerConfig>, String> {
        let own = Identity { certificate: &self.certificate, key: &self.key };
        tls::server(&own, self.client_authority.as_deref())
    }
}

/// Where clients come by TCP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tcp {
    pub address: String,
    /// None: in the clear, by explicit wish.
    pub tls: Option<Tls>,
}

/// `[fuse]`: the exports as files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fuse {
    /// The folder they are mounted at.
    pub mount: PathBuf,
    /// Permissions of the files.
    pub mode: u32,
    /// Whether requests come through io_uring where the kernel offers it.
    pub io_uring: bool,
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
    /// By each door.
    pub most_clients: usize,
    /// What all clients' requests and answers may take, bytes; None for a part of the machine's memory.
    pub client_memory: Option<usize>,
    /// How long clients have to fetch their answers at a stop, ns.
    pub client_patience: Nanos,
    /// How long devices may complete nothing at a stop before it is given up, ns.
    pub stall_patience: Nanos,
    pub at_stop: AtStop,
    /// Whether waits that are likely to be short are spent spinning instead of sleeping.
    pub busy_poll: bool,
}

/// Why there are no settings.
pub enum Wrong {
    /// The file cannot be read.
    File(PathBuf, io::Error),
    /// What it says cannot be served.
    Text(Diagnostics),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, error) => writeln!(f, "error: {}: {error}", path.display()),
            Self::Text(diagnostics) => f.write_str(&to_text(diagnostics)),
        }
    }
}

/// Everything in the file.
pub struct Settings {
    pub daemon: Daemon,
    pub fuse: Option<Fuse>,
    pub exports: Vec<Export>,
    pub volumes: Volumes,
}

impl Settings {
    /// What would keep a start from listening or mounting: sockets and the mount, see [`paths::problems`], addresses, see
    /// [`ports::problems`], the keys of TLS, the driver of ublk.
    pub fn in_the_way(&self) -> Vec<String> {
        let mounted = self.fuse.as_ref().map(|fuse| fuse.mount.as_path());
        let mut found = paths::problems(&self.daemon.socket, self.daemon.status.as_deref(), mounted);
        let tls = self.daemon.tcp.as_ref().and_then(|tcp| tcp.tls.as_ref());
        found.extend(tls.and_then(|tls| tls.server().err()).map(|told| format!("[daemon.tls]: {told}")));
        found.extend(ports::problems(&self.daemon));
        if self.exports.iter().any(|export| export.ublk.is_some()) {
            found.extend(ublk::driver_is_missing());
        }
        found
    }

    /// Reads a settings text; None if anything is wrong, which is then in the diagnostics. `file` is its path, in whose folder
    /// relative ones begin.
    pub fn read(text: &str, file: &str, diagnostics: &Diagnostics) -> Option<Self> {
        let folder = folder_of(Path::new(file));
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
        let daemon = root.required_section("daemon").and_then(|mut section| daemon(&mut section, folder));
        for (at, export) in exports.iter().enumerate() {
            let same = |other: &&Export| other.ublk.is_some() && other.ublk == export.ublk;
            if let Some(other) = exports[..at].iter().find(same) {
                let message = format!(
                    "exports `{}` and `{}` are both ublk device {:?}",
                    other.name,
                    export.name,
                    export.ublk.unwrap_or_default()
                );
                root.error(message, "give each a number of its own");
            }
        }
        let fuse = root
            .section("fuse")
            .and_then(|mut section| fuse(&mut section, folder, &exports, daemon.as_ref()));
        if exports.is_empty() && diagnostics.is_empty() {
            root.error("nothing is served", "add an [exports.NAME] with `volume = \"…\"`");
        }
        let whole = root.finish();
        volumes.check(diagnostics);
        // Its clients are not promised what a file below refuses.
        exports.iter_mut().for_each(|export| export.read_only |= volumes.is_read_only(&export.volume));
        let writes = |reference: &Reference| {
            exports.iter().any(|export| export.volume == reference.name && !export.read_only)
        };
        let roots = distinct(roots);
        volumes.check_use(&roots, Clock::Real, diagnostics);
        let exported: Vec<_> = roots.into_iter().map(|root| (root.clone(), !writes(&root))).collect();
        volumes.check_bypassed(&exported, diagnostics);
        if diagnostics.is_empty() {
            Stack::try_out(&volumes, &names(&exports), &Site::virtual_time(0, false), diagnostics);
        }
        daemon.filter(|_| whole && diagnostics.is_empty()).map(|daemon| Self {
            daemon,
            fuse,
            exports,
            volumes,
        })
    }

    /// The volumes that are served, each once.
    pub fn roots(&self) -> Vec<String> {
        names(&self.exports)
    }

    /// Those that clients may write to.
    pub fn written_roots(&self) -> Vec<String> {
        let mut roots = self.roots();
        roots.retain(|root| self.exports.iter().any(|export| export.volume == *root && !export.read_only));
        roots
    }
}

fn names(exports: &[Export]) -> Vec<String> {
    let mut volumes: Vec<String> = exports.iter().map(|export| export.volume.clone()).collect();
    volumes.sort();
    volumes.dedup();
    volumes
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
            "this is not a valid export name",
            format!("use 1 to {LONGEST_NAME} bytes without control characters"),
        );
    }
    let volume = section.required::<VolumeName>("volume");
    let description = section.or("description", String::new());
    if description.len() > LONGEST_DESCRIPTION {
        let help = format!("use {LONGEST_DESCRIPTION} bytes at most: clients refuse longer texts");
        section.error_at("description", format!("it has {} bytes", description.len()), help);
    }
    let read_only = section.or("read_only", false);
    let ublk = section.optional::<u32>("ublk").inspect(|number| {
        if *number > LARGEST_DEVICE {
            section.error_at("ublk", "too large for a device's number", format!("use 0 to {LARGEST_DEVICE}"));
        }
    });
    let clean = section.finish();
    volume.filter(|_| clean).map(|volume| Export {
        name: name.to_owned(),
        volume: volume.0,
        description,
        read_only,
        ublk,
    })
}

/// Where a path of the settings leads; an empty one stays what it is, a mistake.
fn place(folder: &Path, written: String) -> PathBuf {
    if written.is_empty() { PathBuf::new() } else { folder.join(written) }
}

fn daemon(section: &mut Section<'_>, folder: &Path) -> Option<Daemon> {
    let socket = section.required::<String>("socket").map(|written| place(folder, written));
    let socket_mode = mode(section, "socket_mode");
    let status = section.optional::<String>("status").map(|written| place(folder, written));
    paths::check_sockets(section, socket.as_deref(), status.as_deref());
    let metrics = section.optional::<String>("metrics");
    ports::check_address(section, "metrics", metrics.as_deref());
    let most_clients = section.or_in("most_clients", 64, 1..=4096);
    let client_memory = section.optional_in("client_memory", LEAST_CLIENT_MEMORY..=MOST_CLIENT_MEMORY);
    let client_patience = section.or("client_patience", Span::from_secs(10)).as_nanos();
    let stall_patience = section.or("stall_patience", Span::from_secs(60)).as_nanos();
    let at_stop = section.or("at_stop", AtStop::Drain);
    let busy_poll = section.or("busy_poll", true);
    let tcp = tcp(section, folder);
    if client_patience > 3600 * SECOND {
        section.error_at("client_patience", "more than an hour", "10s is plenty for a living client");
    }
    if !(SECOND..=3600 * SECOND).contains(&stall_patience) {
        section.error_at(
            "stall_patience",
            "not between a second and an hour",
            "60s is plenty for a living device",
        );
    }
    let clean = section.finish();
    socket.filter(|_| clean).map(|socket| Daemon {
        socket,
        socket_mode,
        status,
        metrics,
        tcp,
        most_clients,
        client_memory: client_memory.map(|bytes| bytes.get() as usize),
        client_patience,
        stall_patience,
        at_stop,
        busy_poll,
    })
}

fn mode(section: &mut Section<'_>, key: &str) -> u32 {
    let text = section.or(key, "0600".to_owned());
    let mode = u32::from_str_radix(&text, 8).ok().filter(|mode| *mode <= 0o777);
    if mode.is_none() {
        section.error_at(
            key,
            format!("\"{}\" is no file mode", text.escape_debug()),
            "write it in octal, like \"0600\" or \"0660\"",
        );
    }
    mode.unwrap_or(0o600)
}

fn fuse(
    section: &mut Section<'_>,
    folder: &Path,
    exports: &[Export],
    daemon: Option<&Daemon>,
) -> Option<Fuse> {
    let mount = section.required::<String>("mount").map(|written| place(folder, written));
    if let (Some(mount), Some(daemon)) = (&mount, daemon) {
        paths::check_mount(section, mount, &[Some(&daemon.socket), daemon.status.as_deref()]);
    }
    let mode = mode(section, "mode");
    let io_uring = section.or("io_uring", true);
    for Export { name, .. } in exports {
        if name.contains('/') || name == "." || name == ".." {
            section.error(
                format!("the export \"{}\" cannot be a file", name.escape_debug()),
                "give it a name without `/`, and neither `.` nor `..`",
            );
        }
    }
    let clean = section.finish();
    mount.filter(|_| clean).map(|mount| Fuse { mount, mode, io_uring })
}

fn tcp(section: &mut Section<'_>, folder: &Path) -> Option<Tcp> {
    let address = section.optional::<String>("tcp");
    ports::check_address(section, "tcp", address.as_deref());
    let in_the_clear = section.or("tcp_in_the_clear", false);
    let tls = section.section("tls").and_then(|mut section| tls(&mut section, folder));
    for (key, is_set) in [("tls", section.has("tls")), ("tcp_in_the_clear", in_the_clear)] {
        if !section.has("tcp") && is_set {
            section.error_at(key, "it has no effect here", "it goes with `tcp`: add it, or leave this out");
        }
    }
    if section.has("tls") && in_the_clear {
        section.error_at("tcp_in_the_clear", "there is a table [daemon.tls], too", "leave one of them out");
    }
    let address = address?;
    if !section.has("tls") && !in_the_clear {
        section.error_at(
            "tcp",
            "TCP without encryption: anyone on the network path can read and change the data",
            "add [daemon.tls] with `certificate` and `key`, or `tcp_in_the_clear = true` on a network you trust",
        );
    }
    Some(Tcp { address, tls })
}

fn tls(section: &mut Section<'_>, folder: &Path) -> Option<Tls> {
    let certificate = section.required::<String>("certificate");
    let key = section.required::<String>("key");
    let client_authority =
        section.optional::<String>("client_authority").map(|written| place(folder, written));
    let clean = section.finish();
    let files = certificate.zip(key).filter(|_| clean);
    files.map(|(certificate, key)| Tls {
        certificate: place(folder, certificate),
        key: place(folder, key),
        client_authority,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fathom_settings::{Diagnostics, Key, Section, Tree, to_text};

    use super::{Settings, daemon, export, fuse, tls};
    use crate::keys::{DAEMON, EXPORT, FUSE};

    #[test]
    fn every_key_that_is_read_is_listed_and_no_other() {
        let asked = |read: fn(&mut Section<'_>)| {
            let diagnostics = Diagnostics::new();
            let tree = Tree::parse("fathomd.toml", "", &diagnostics);
            let mut section = tree.section(&diagnostics);
            read(&mut section);
            let mut asked = section.asked().to_vec();
            asked.sort();
            asked.dedup();
            asked
        };
        let listed = |keys: &[Key], of_tls: bool| {
            let names = keys.iter().filter(|key| key.name.contains('.') == of_tls);
            let mut names: Vec<_> = names.map(|key| key.name.trim_start_matches("tls.").to_owned()).collect();
            names.sort();
            names
        };
        assert_eq!(asked(|section| drop(daemon(section, Path::new("")))), listed(DAEMON, false));
        assert_eq!(asked(|section| drop(tls(section, Path::new("")))), listed(DAEMON, true));
        assert_eq!(asked(|section| drop(export("data", section))), listed(EXPORT, false));
        assert_eq!(asked(|section| drop(fuse(section, Path::new(""), &[], None))), listed(FUSE, false));
    }

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
    fn relative_paths_begin_in_the_folder_of_the_settings() {
        let text = format!(
            "{VOLUME}[exports.data]\nvolume = \"disk\"\n[fuse]\nmount = \"files\"\n\
             [daemon]\nsocket = \"nbd.sock\"\nstatus = \"/run/status.sock\"\ntcp = \"127.0.0.1:10809\"\n\
             [daemon.tls]\ncertificate = \"a.pem\"\nkey = \"keys/a.pem\"\n"
        );
        let read = |file| Settings::read(&text, file, &Diagnostics::new()).expect("sound settings");
        let paths = |settings: &Settings| {
            let tls = settings.daemon.tcp.as_ref().and_then(|tcp| tcp.tls.clone()).expect("there is one");
            let paths = [
                Some(settings.daemon.socket.clone()),
                settings.daemon.status.clone(),
                settings.fuse.as_ref().map(|fuse| fuse.mount.clone()),
                Some(tls.certificate),
                Some(tls.key),
            ];
            paths.map(|path| path.expect("given").display().to_string())
        };
        let placed =
            ["/etc/x/nbd.sock", "/run/status.sock", "/etc/x/files", "/etc/x/a.pem", "/etc/x/keys/a.pem"];
        assert_eq!(paths(&read("/etc/x/fathomd.toml")), placed);
        let here = ["nbd.sock", "/run/status.sock", "files", "a.pem", "keys/a.pem"];
        assert_eq!(paths(&read("fathomd.toml")), here);
    }

    #[test]
    fn an_export_promises_no_writes_that_its_file_refuses() {
        let text = "[volumes.disk]\nkind = \"file\"\npath = \"/no/such\"\nsize = \"1GiB\"\nread_only = true\n\
                    [daemon]\nsocket = \"s\"\n[exports.data]\nvolume = \"disk\"\n";
        assert!(read(text).expect("sound settings").exports[0].read_only);
        assert!(!read(&text.replace("read_only = true\n", "")).expect("sound settings").exports[0].read_only);
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
    fn the_number_of_a_block_device_is_one_that_the_kernel_has() {
        let text = |number: u32| {
            format!("{VOLUME}[daemon]\nsocket = \"s\"\n[exports.data]\nvolume = \"disk\"\nublk = {number}\n")
        };
        assert_eq!(read(&text(3)).expect("sound settings").exports[0].ublk, Some(3));
        let told = read(&text(70_000)).err().expect("no such number");
        assert!(told.contains("use 0 to 65535"), "{told}");
    }

    #[test]
    fn two_exports_cannot_be_one_block_device() {
        let text = format!(
            "{VOLUME}[daemon]\nsocket = \"s\"\n[exports.a]\nvolume = \"disk\"\nublk = 1\n\
             [exports.b]\nvolume = \"disk\"\nublk = 1\n"
        );
        let told = read(&text).err().expect("one number for two");
        assert!(told.contains("`a` and `b`"), "{told}");
    }

    #[test]
    fn files_of_a_mount_are_the_owner_s_and_have_names_that_files_can_have() {
        let text = |export: &str| {
            format!(
                "{VOLUME}[daemon]\nsocket = \"s\"\n[fuse]\nmount = \"/m\"\n[exports.\"{export}\"]\nvolume = \"disk\"\n"
            )
        };
        let fuse = read(&text("data")).expect("sound settings").fuse.expect("a mount");
        assert_eq!((fuse.mode, fuse.io_uring), (0o600, true));
        let told = read(&text("a/b")).err().expect("no name for a file");
        assert!(told.contains("cannot be a file"), "{told}");
    }

    #[test]
    fn a_daemon_that_serves_nothing_is_a_mistake() {
        let told = read(&format!("{VOLUME}[daemon]\nsocket = \"s\"\n")).err().expect("no exports");
        assert!(told.contains("nothing is served"), "{told}");
    }
}
