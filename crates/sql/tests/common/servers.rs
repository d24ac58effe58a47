//! Private servers of the tests: in a temporary directory, reached by a Unix socket only, stopped when dropped.
//!
//! Those that are installed; or PostgreSQL's programs in the directory `FATHOM_TEST_POSTGRESQL`, MariaDB unpacked in
//! `FATHOM_TEST_MARIADB`, to test another version.
//!
//! Started as the package's own user where the tests run as root, because the servers refuse root. Durability is off:
//! what these tests look at does not need it.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fathom_job::{Address, Connection, DatabaseKind, Login};
use tempfile::TempDir;

/// A server with an empty database.
pub struct Server {
    /// How to reach it.
    pub connection: Connection,
    process: Child,
    command: Command,
    signal: i32,
    directory: TempDir,
}

impl Server {
    /// Starts PostgreSQL; `settings` are `name=value`.
    pub fn postgresql(settings: &[&str]) -> Self {
        let programs = postgresql_programs();
        let owner = Owner::of("postgres");
        let directory = owner.directory();
        let data = directory.path().join("data");
        let mut initdb = owner.command(&programs.join("initdb"));
        initdb.args([
            "--auth=trust",
            "--username=fathom",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "-D",
        ]);
        succeed(initdb.arg(&data));
        let mut server = owner.command(&programs.join("postgres"));
        server.arg("-D").arg(&data).arg("-k").arg(directory.path());
        for setting in ["listen_addresses=", "fsync=off", "shared_buffers=16MB"].iter().chain(settings) {
            server.args(["-c", setting]);
        }
        let socket = directory.path().join(".s.PGSQL.5432");
        let connection = connection(DatabaseKind::Postgresql, socket, "fathom", "postgres");
        // SIGINT: fast shutdown.
        Self {
            process: start(&mut server, &directory),
            command: server,
            connection,
            signal: libc::SIGINT,
            directory,
        }
    }

    /// Starts MariaDB; `settings` are `--name=value`.
    pub fn mariadb(settings: &[&str]) -> Self {
        let owner = Owner::of("mysql");
        let directory = owner.directory();
        let data = format!("--datadir={}", directory.path().join("data").display());
        // A server deletes the temporary tables that it finds in its directory for them when it starts, and so does the one
        // that fills a new data directory: in a shared one they would be those of another server at work.
        let temporary = format!("--tmpdir={}", owner.within(&directory, "temporary").display());
        let base = mariadb_base();
        let installer = base.as_ref().map(|base| base.join("scripts/mariadb-install-db"));
        let mut install = owner.command(installer.as_deref().unwrap_or("mariadb-install-db".as_ref()));
        // It must come first.
        install.arg("--no-defaults");
        install.args(base.iter().map(|base| format!("--basedir={}", base.display())));
        install.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
        install.args([&data, &temporary]);
        succeed(&mut install);
        let socket = directory.path().join("socket");
        let mut server = owner.command(&mariadb_program());
        server.args(["--no-defaults", "--skip-networking", &data, &temporary]);
        server.args(base.iter().map(|base| format!("--basedir={}", base.display())));
        server.arg(format!("--socket={}", socket.display()));
        server.arg(format!("--pid-file={}", directory.path().join("pid").display()));
        server.args([
            "--innodb-buffer-pool-size=32M",
            "--innodb-log-file-size=16M",
            "--performance-schema=off",
        ]);
        server.args(["--innodb-flush-log-at-trx-commit=0"]).args(settings);
        let connection = connection(DatabaseKind::Mariadb, socket, "root", "mysql");
        Self {
            process: start(&mut server, &directory),
            command: server,
            connection,
            signal: libc::SIGTERM,
            directory,
        }
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        self.process.kill().expect("it is ours");
        self.process.wait().expect("it ends");
    }

    /// Starts it again on the same files, after it was killed, until `ready` says that it answers. It refuses as long as
    /// anything of the killed one is left: PostgreSQL's other processes end a moment later.
    pub fn restart(&mut self, mut ready: impl FnMut() -> bool) {
        for _ in 0..2400 {
            if self.process.try_wait().is_ok_and(|ended| ended.is_some()) {
                self.process = start(&mut self.command, &self.directory);
            }
            if ready() {
                return;
            }
            pause();
        }
        panic!("the server does not start again within two minutes:\n{}", self.log());
    }

    /// What it wrote to its log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// Waits until `ready` says so; a busy machine may take a minute.
    pub fn wait_for(&mut self, mut ready: impl FnMut(&Connection) -> bool) {
        for _ in 0..2400 {
            if ready(&self.connection) {
                return;
            }
            if let Ok(Some(status)) = self.process.try_wait() {
                panic!("the server ended with {status}:\n{}", self.log());
            }
            pause();
        }
        panic!("the server does not answer after two minutes:\n{}", self.log());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SAFETY: a signal to a child that has not been waited for, so its number is still its own.
        unsafe { libc::kill(self.process.id() as i32, self.signal) };
        // It may have been killed already.
        let _ = self.process.wait();
    }
}

/// Whether a server answers there.
pub fn answers(to: &Connection) -> bool {
    fathom_sql::drivers::server(to).is_ok_and(|database| database.connect().is_ok())
}

#[expect(clippy::disallowed_methods, reason = "a test waits for another process")]
/// Long enough for another process to go on.
pub fn pause() {
    std::thread::sleep(Duration::from_millis(50));
}

fn connection(kind: DatabaseKind, socket: PathBuf, user: &str, database: &str) -> Connection {
    Connection {
        kind,
        address: Address::Socket(socket),
        user: user.into(),
        password: None,
        database: database.into(),
        tls: None,
        tls_ca: None,
        login: Login::default(),
        timeout_ns: None,
    }
}

fn start(server: &mut Command, directory: &TempDir) -> Child {
    let log = std::fs::File::create(directory.path().join("log")).expect("a log");
    server.stdin(Stdio::null()).stdout(log.try_clone().expect("a second handle")).stderr(log);
    server.spawn().unwrap_or_else(|error| panic!("{server:?}: {error}; run scripts/install-debian.sh"))
}

pub fn succeed(command: &mut Command) {
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}; run scripts/install-debian.sh"));
    assert!(output.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
}

fn postgresql_programs() -> PathBuf {
    if let Some(directory) = std::env::var_os("FATHOM_TEST_POSTGRESQL") {
        return directory.into();
    }
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest =
        versions.map(|version| version.path().join("bin")).filter(|bin| bin.join("initdb").exists()).max();
    newest.expect("PostgreSQL is installed; run scripts/install-debian.sh")
}

fn mariadb_base() -> Option<PathBuf> {
    std::env::var_os("FATHOM_TEST_MARIADB").map(PathBuf::from)
}

/// Not on every user's search path.
fn mariadb_program() -> PathBuf {
    if let Some(base) = mariadb_base() {
        return base.join("bin/mariadbd");
    }
    let folders = ["/usr/sbin", "/usr/bin", "/usr/libexec"];
    let program =
        folders.iter().map(|folder| Path::new(folder).join("mariadbd")).find(|program| program.exists());
    program.expect("MariaDB is installed; run scripts/install-debian.sh")
}

/// Who runs a server.
pub struct Owner(Option<(u32, u32)>);

impl Owner {
    /// The user of that name if the tests run as root, otherwise whoever runs them.
    pub fn of(name: &str) -> Self {
        // SAFETY: asks for a number and has no precondition.
        if unsafe { libc::geteuid() } != 0 {
            return Self(None);
        }
        let users = std::fs::read_to_string("/etc/passwd").expect("the list of users");
        let line = users.lines().find(|line| line.split(':').next() == Some(name));
        let line = line.unwrap_or_else(|| panic!("no user {name}; run scripts/install-debian.sh"));
        let number = |field: usize| line.split(':').nth(field).and_then(|field| field.parse().ok());
        Self(number(2).zip(number(3)))
    }

    pub fn directory(&self) -> TempDir {
        let directory =
            tempfile::Builder::new().prefix("fathom-sql-").tempdir().expect("a temporary directory");
        if let Some((user, group)) = self.0 {
            chown(directory.path(), Some(user), Some(group)).expect("root may");
        }
        directory
    }

    /// A new directory of it within one.
    fn within(&self, directory: &TempDir, name: &str) -> PathBuf {
        let path = directory.path().join(name);
        std::fs::create_dir(&path).expect("a directory of ours");
        if let Some((user, group)) = self.0 {
            chown(&path, Some(user), Some(group)).expect("root may");
        }
        path
    }

    /// Gives a file to it, which nobody else may read.
    pub fn give(&self, path: &Path) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
        if let Some((user, group)) = self.0 {
            chown(path, Some(user), Some(group)).expect("root may");
        }
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir("/");
        if let Some((user, group)) = self.0 {
            command.uid(user).gid(group);
        }
        command
    }
}
