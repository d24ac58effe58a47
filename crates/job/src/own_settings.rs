//! Settings of a private server that a study may not have: they say where it writes and how it is reached, and Fathom
//! answers both. One that led to the data of another server would write into them.

use crate::DatabaseKind;

/// Settings that are Fathom's own.
#[derive(Debug, Clone, Copy)]
pub struct OwnSettings {
    /// By the server's own names.
    pub names: &'static [&'static str],
    /// What to do instead.
    pub instead: &'static str,
    /// Whether a value that stays within the server's data directory, one without `/`, is the study's to choose.
    pub names_allowed: bool,
}

const DATA: &str = "leave it out, and name the `place` of the data";
const LOG: &str = "leave it out, and name the `log_place`";
const TEMP: &str = "leave it out, and name the `temp_place`";
const WITHIN: &str = "leave it out: a private server writes within its places only";
const REACHED: &str = "leave it out: a private server is reached at a socket of its own; \
                       `connect` is for one that runs already";
const STATED: &str = "leave it out, and write each setting here";
const STARTED: &str = "leave it out: Fathom starts the server";

const fn own(names: &'static [&'static str], instead: &'static str) -> OwnSettings {
    OwnSettings { names, instead, names_allowed: false }
}

const POSTGRESQL: &[OwnSettings] = &[
    own(&["data_directory"], DATA),
    own(&["external_pid_file", "stats_temp_directory"], WITHIN),
    own(&["unix_socket_directories", "hba_file", "ident_file"], REACHED),
    own(&["config_file", "include", "include_dir", "include_if_exists"], STATED),
];

const MARIADB: &[OwnSettings] = &[
    own(&["datadir", "ldata", "innodb_data_home_dir"], DATA),
    own(&["innodb_log_group_home_dir"], LOG),
    own(&["tmpdir", "innodb_tmpdir", "slave_load_tmpdir"], TEMP),
    own(&["innodb_undo_directory", "aria_log_dir_path", "wsrep_data_home_dir", "pid_file", "chroot"], WITHIN),
    own(&["socket"], REACHED),
    own(&["defaults_file", "defaults_extra_file", "defaults_group_suffix"], STATED),
    own(&["basedir", "srcdir", "builddir", "user", "init_file"], STARTED),
    OwnSettings {
        names: &[
            "log_bin",
            "log_bin_index",
            "relay_log",
            "relay_log_index",
            "relay_log_info_file",
            "master_info_file",
            "log_tc",
            "innodb_data_file_path",
            "innodb_temp_data_file_path",
            "innodb_buffer_pool_filename",
            "rocksdb_datadir",
            "rocksdb_wal_dir",
        ],
        instead: "a name without `/`: a private server writes within its places only",
        names_allowed: true,
    },
];

/// What MariaDB takes in front of an option.
const PREFIXES: [&str; 6] = ["loose_", "skip_", "disable_", "enable_", "maximum_", "autoset_"];

impl DatabaseKind {
    /// The settings that Fathom makes itself, and those that a name, as a server takes it, means among them.
    pub fn own_setting(self, written: &str) -> Option<(&'static str, &'static OwnSettings)> {
        let written = written.to_ascii_lowercase();
        match self {
            Self::Postgresql => named(POSTGRESQL, &written),
            Self::Mariadb => of_option(&written.replace('-', "_")),
            Self::Sqlite | Self::Mysql | Self::Sqlserver => None,
        }
    }
}

fn every(list: &'static [OwnSettings]) -> impl Iterator<Item = (&'static str, &'static OwnSettings)> {
    list.iter().flat_map(|own| own.names.iter().map(move |name| (*name, own)))
}

fn named(list: &'static [OwnSettings], written: &str) -> Option<(&'static str, &'static OwnSettings)> {
    every(list).find(|(name, _)| *name == written)
}

/// MariaDB takes an option's beginning as well if no other option begins so, and prefixes before it.
fn of_option(written: &str) -> Option<(&'static str, &'static OwnSettings)> {
    let behind = || PREFIXES.iter().find_map(|prefix| of_option(written.strip_prefix(prefix)?));
    named(MARIADB, written).or_else(|| begun(written)).or_else(behind)
}

fn begun(written: &str) -> Option<(&'static str, &'static OwnSettings)> {
    let mut begins = every(MARIADB).filter(|(name, _)| name.starts_with(written));
    begins.next().filter(|_| begins.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::DatabaseKind;

    #[test]
    fn an_option_is_known_however_mariadb_takes_it() {
        for (written, meant) in [
            ("datadir", "datadir"),
            ("data", "datadir"),
            ("loose-datadir", "datadir"),
            ("innodb-data-h", "innodb_data_home_dir"),
            ("Pid_File", "pid_file"),
            ("enable-loose_pid-file", "pid_file"),
            ("log-bin", "log_bin"),
        ] {
            assert_eq!(
                DatabaseKind::Mariadb.own_setting(written).map(|(name, _)| name),
                Some(meant),
                "{written}"
            );
        }
    }

    #[test]
    fn settings_of_the_study_pass() {
        for written in
            ["innodb_buffer_pool_size", "innodb", "skip_name_resolve", "log_error", "skip_networking", "port"]
        {
            assert!(DatabaseKind::Mariadb.own_setting(written).is_none(), "{written}");
        }
        for written in ["shared_buffers", "log_directory", "listen_addresses", "port", "archive_command"] {
            assert!(DatabaseKind::Postgresql.own_setting(written).is_none(), "{written}");
        }
        assert!(DatabaseKind::Postgresql.own_setting("DATA_DIRECTORY").is_some());
    }
}
