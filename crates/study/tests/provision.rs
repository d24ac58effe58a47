//! What a check says about places and databases.

use fathom_catalogue::Catalogue;
use fathom_study::{CheckOptions, check};

/// Every mistake on a line of its own.
fn mistakes(text: &str) -> Vec<String> {
    let text = format!("title = \"t\"\n[workload]\nkind = \"insert\"\n{text}");
    let checked = check(&text, "s.toml", &CheckOptions::default(), &Catalogue::builtin());
    checked.diagnostics.list().iter().map(ToString::to_string).collect()
}

#[test]
fn places_and_databases_without_mistakes_pass() {
    let text = r#"
[volumes.disk]
kind = "memory"
size = "1GiB"
[volumes.log]
kind = "memory"
size = "1GiB"
[places.data]
kind = "volume"
volume = "disk"
filesystem = "xfs"
block_size = "64KiB"
mount_options = "noatime"
sector = 4096
[places.log]
kind = "volume"
volume = "log"
[places.temp]
path = "/tmp"
[databases.pg]
kind = "postgresql"
place = "data"
log_place = "log"
temp_place = "temp"
cpus = 2
settings = { shared_buffers = "1GB", fsync = true, max_connections = 50 }
standby = { place = "temp", commit = "remote_apply" }
[databases.there]
kind = "mariadb"
connect = { socket = "/run/mysqld/mysqld.sock", user = "fathom", password_env = "PW", database = "test" }
[databases.far]
kind = "postgresql"
connect = { host = "db1", user = "fathom", database = "test", tls = "verify-ca", tls_ca = "/etc/ca.pem" }
[databases.other]
kind = "sqlserver"
connect = { host = "db2", user = "fathom", database = "test", tls_ca = "/etc/ca.pem" }
"#;
    assert_eq!(mistakes(text), [""; 0]);
}

#[test]
fn encryption_that_would_not_be_what_it_says_is_refused() {
    let refused = |kind: &str, keys: &str| {
        let connect = format!("connect = {{ user = \"fathom\", database = \"test\", {keys} }}");
        mistakes(&format!("[databases.db]\nkind = \"{kind}\"\n{connect}\n")).join("\n")
    };
    let none_checked = refused("postgresql", r#"host = "db1", tls_ca = "/etc/ca.pem""#);
    assert!(none_checked.contains("no certificate is checked"), "{none_checked}");
    let socket = refused("mariadb", r#"socket = "/run/mysqld.sock", tls = "require""#);
    assert!(socket.contains("a Unix socket is not encrypted"), "{socket}");
    let unnamed = refused("mariadb", r#"host = "db1", tls = "verify-ca""#);
    assert!(unnamed.contains("only PostgreSQL's driver"), "{unnamed}");
    let unknown = refused("postgresql", r#"host = "db1", tls = "on""#);
    assert!(unknown.contains("verify-full"), "{unknown}");
}

#[test]
fn a_timeout_is_a_time_span_from_a_millisecond_to_a_day() {
    let said = |timeout: &str| {
        let connect =
            format!("connect = {{ host = \"db1\", user = \"u\", database = \"d\", timeout = {timeout} }}");
        mistakes(&format!("[databases.db]\nkind = \"postgresql\"\n{connect}\n")).join("\n")
    };
    for right in ["\"1ms\"", "\"90s\"", "\"24h\""] {
        assert_eq!(said(right), "", "{right}");
    }
    for wrong in ["\"0s\"", "\"25h\"", "30", "\"soon\""] {
        let said = said(wrong);
        assert!(said.contains("databases.db.connect.timeout: "), "{wrong}: {said}");
    }
}

#[test]
fn a_ticket_is_sql_servers_and_says_by_itself_who_comes() {
    let said = |kind: &str, keys: &str| {
        let connect = format!("connect = {{ host = \"db1\", database = \"d\", {keys} }}");
        mistakes(&format!("[databases.db]\nkind = \"{kind}\"\n{connect}\n")).join("\n")
    };
    let ticket = said("sqlserver", "login = \"windows\"");
    match cfg!(feature = "windows-login") {
        true => assert_eq!(ticket, ""),
        false => assert!(ticket.contains("was built without Windows login"), "{ticket}"),
    }
    let named = said("sqlserver", "login = \"windows\", user = \"u\"");
    assert!(named.contains("connect.user: the ticket says who connects"), "{named}");
    let elsewhere = said("postgresql", "login = \"windows\"");
    assert!(elsewhere.contains("only SQL Server's driver"), "{elsewhere}");
    let nobody = said("mysql", "login = \"password\"");
    assert!(nobody.contains("connect.user: it is missing"), "{nobody}");
}

#[test]
fn a_mysql_server_is_only_reached() {
    let alone = mistakes("[databases.db]\nkind = \"mysql\"\n").join("\n");
    assert!(alone.contains("no private server of kind \"mysql\""), "{alone}");
    let reached =
        "[databases.db]\nkind = \"mysql\"\nconnect = { host = \"db\", user = \"u\", database = \"d\" }\n";
    assert_eq!(mistakes(reached), [""; 0]);
}

#[test]
fn a_statement_that_a_database_would_refuse_is_refused_here() {
    let said = |method: u32| {
        let keys = "database = \"ms\"\ntable = \"trade\"\ntransaction = \"whole-batch\"";
        let server = "[databases.ms]\nkind = \"sqlserver\"\nconnect = { host = \"db\", user = \"u\", database = \"d\" }";
        mistakes(&format!("{keys}\nmethod = {method}\n{server}\n")).join("\n")
    };
    assert_eq!(said(139), "");
    let parameters = "workload.method: a statement of 140 rows has 2100 parameters, and SQL Server takes 2098; at most 139";
    assert!(said(140).ends_with(parameters), "{}", said(140));
    let rows = "workload.method: SQL Server takes 1000 rows in one statement, not 1001; at most 139";
    assert!(said(1001).ends_with(rows), "{}", said(1001));
}

#[test]
fn settings_that_lead_to_other_data_or_away_from_fathom_are_refused() {
    let said = |kind: &str, setting: &str| {
        mistakes(&format!("[databases.db]\nkind = \"{kind}\"\nsettings = {{ {setting} }}\n")).join("\n")
    };
    let words = "is not the study's to set";
    for (kind, setting, instead) in [
        ("mariadb", "datadir = \"/some/existing\"", "name the `place` of the data"),
        ("mariadb", "loose-innodb-log-group-home-dir = \"/x\"", "name the `log_place`"),
        ("mariadb", "innodb_undo_dir = \"/x\"", "(it means `innodb_undo_directory`)"),
        ("mariadb", "socket = \"/x\"", "`connect` is for one that runs already"),
        ("mariadb", "log_bin = \"/x/bin\"", "a name without `/`"),
        ("postgresql", "data_directory = \"/some/existing\"", "name the `place` of the data"),
        ("postgresql", "Unix_Socket_Directories = \"/x\"", "`connect` is for one that runs already"),
        ("postgresql", "include = \"/x.conf\"", "write each setting here"),
    ] {
        let said = said(kind, setting);
        assert!(said.starts_with("s.toml:6:14: databases.db.settings."), "{said}");
        assert!(said.contains(words) && said.contains(instead), "{said}");
    }
    for (kind, setting) in [
        ("mariadb", "log_bin = \"bin\", skip_log_bin = true, log_error = \"/x/err\", port = 3307"),
        ("postgresql", "log_directory = \"/x/log\", listen_addresses = \"*\""),
    ] {
        assert_eq!(said(kind, setting), "");
    }
}

#[test]
fn a_table_with_a_mistake_is_no_missing_table() {
    let said = |kind: &str| {
        mistakes(&format!(
            "database = \"db\"\ntransaction = \"per-row\"\n[databases.db]\nkind = \"{kind}\"\n"
        ))
    };
    for kind in ["mysql", "postgrsql"] {
        let said = said(kind);
        assert!(said.len() == 1 && said[0].contains("databases.db.kind: "), "{said:#?}");
    }
}

#[test]
fn mistakes_point_at_their_lines() {
    let text = r#"[places.data]
kind = "volume"
volume = "disk"
block_size = "48KiB"
sector = 520
[databases.pg]
kind = "postgresql"
place = "dato"
settings = { shared_buffers = [1] }
connect = { user = "u", database = "d" }
[databases.lite]
kind = "sqlite"
cpus = 1
[databases.ms]
kind = "sqlserver"
"#;
    assert_eq!(
        mistakes(text),
        [
            "s.toml:6:10: places.data.volume: there is no volume `disk`; there are no volumes here",
            "s.toml:7:14: places.data.block_size: ext4 has no blocks of 48 KiB; a power of two from 1 KiB to 64 KiB",
            "s.toml:8:10: places.data.sector: no disk has sectors of 520 bytes; 512 or 4096",
            "s.toml:11:9: databases.pg.place: there is no place `dato`; did you mean `data`?",
            "s.toml:11:9: databases.pg.place: a server that runs already is used as it is; leave it out, or leave out \
             `connect` to have a private server",
            "s.toml:12:12: databases.pg.settings: a server that runs already is used as it is; leave it out, or leave out \
             `connect` to have a private server",
            "s.toml:12:31: databases.pg.settings.shared_buffers: expected a text, a number, true or false, found a list; \
             write it as the server's configuration would, in quotes",
            "s.toml:16:8: databases.lite.cpus: sqlite has none; SQLite has one place; its settings are keys of the workload",
            "s.toml:18:8: databases.ms.kind: no private server of kind \"sqlserver\" can be started; say how to reach one \
             that runs: [databases.ms.connect]",
        ]
    );
}

#[test]
fn what_runs_beside_and_what_restores_is_read_and_refused_where_it_makes_no_sense() {
    let text = r#"[databases.a]
kind = "postgresql"
cpus = "0,2-3"
background = "backup"
[databases.b]
kind = "postgresql"
cpus = "3-1"
background = "command"
restore = ["true"]
[databases.c]
kind = "sqlserver"
background = "check"
restore = []
[databases.c.connect]
user = "u"
database = "d"
"#;
    let said = mistakes(text);
    let expected = [
        "databases.b.cpus: expected a number of CPUs, or a list of them; 2, or \"0,2,4-7\"",
        "databases.b.background_command: one of the two is missing",
        "databases.b.restore: only a server that runs already is restored by a command",
        "databases.c.restore: expected a list of words; [\"program\", \"argument\"]",
        "databases.c.background: how a server of yours is reached by its tools is not known",
    ];
    for words in expected {
        assert!(said.iter().any(|line| line.contains(words)), "{words}: {said:#?}");
    }
    assert_eq!(said.len(), expected.len(), "{said:#?}");
}

#[test]
fn what_is_not_seen_of_a_server_that_runs_already_is_no_metric() {
    let said = |kind: &str, connect: &str, metric: &str| {
        let text = format!(
            "title = \"t\"\nclock = \"real\"\n[workload]\nkind = \"insert\"\ndatabase = \"db\"\n\
             [databases.db]\nkind = \"{kind}\"\n{connect}\n[goals]\n{metric} = \"< 5\"\n"
        );
        let checked = check(&text, "s.toml", &CheckOptions::default(), &Catalogue::builtin());
        checked.diagnostics.list().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let there = "connect = { host = \"h\", user = \"u\", database = \"d\" }";
    for metric in ["place_write_latency_ms", "average_write_kib", "place_kib_per_transaction"] {
        let refused = said("postgresql", there, metric);
        assert!(refused.contains("where its files lie is not known"), "{metric}: {refused}");
        assert_eq!(said("postgresql", "", metric), "");
    }
    for metric in ["log_mb_per_s", "checkpoints"] {
        assert_eq!(said("postgresql", there, metric), "");
        assert_eq!(said("mariadb", there, metric), "");
        let refused = said("mysql", there, metric);
        assert!(refused.contains("not read of a server of kind `mysql`"), "{metric}: {refused}");
    }
    let of_files = said("mysql", there, "log_file_write_iops");
    assert!(!of_files.contains("not read"), "{of_files}");
}
