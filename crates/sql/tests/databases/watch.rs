//! What a server tells of its files, where it tells less than it might: no performance_schema, an older view.

use crate::common::servers::Server;
use fathom_job::DatabaseKind;
use fathom_sql::database::Database;
use fathom_sql::drive::Observer;
use fathom_sql::drivers::mariadb::Mariadb;
use fathom_sql::drivers::postgresql::Postgresql;
use fathom_sql::session::Session;
use fathom_sql::watch::Watch;

/// Begins, lets the session work, looks twice, and gives operations and bytes of a node.
fn watched(
    kind: DatabaseKind,
    session: &mut dyn Session,
    work: &mut dyn FnMut(&mut dyn Session),
) -> Watch<'static> {
    let mut watch = Watch::new(kind, None);
    watch.begin(session).expect("asked");
    work(session);
    watch.interval(session, 1).expect("asked");
    work(session);
    watch.end(session).expect("asked");
    watch
}

fn moved(watch: &Watch<'_>, node: &str, operation: &str) -> Vec<(u64, u64)> {
    let of = watch.samples.iter().filter(|sample| sample.node == node && sample.operation == operation);
    of.map(|sample| (sample.count, sample.bytes)).collect()
}

#[test]
fn mariadb_without_performance_schema_tells_its_files_together() {
    let mut server = Server::mariadb(&[]);
    server.wait_for(|connection| Mariadb::new(connection.clone()).connect().is_ok());
    let database = Mariadb::new(server.connection.clone());
    let mut session = database.connect().expect("the server is there");
    session.batch("CREATE TABLE filled (n int NOT NULL, t varchar(200))").expect("made");
    let watch = watched(DatabaseKind::Mariadb, &mut *session, &mut |session| {
        session.batch("INSERT INTO filled SELECT seq, repeat('x', 200) FROM seq_1_to_2000").expect("filled");
        // Pages on their way to their files, which otherwise happens whenever it likes.
        session.batch("FLUSH TABLES filled FOR EXPORT").expect("flushed");
        session.batch("UNLOCK TABLES").expect("unlocked");
    });
    for (node, least) in [("file all data files", 2000 * 200), ("file redo log", 2000 * 200)] {
        let written = moved(&watch, node, "write");
        assert_eq!(written.len(), 2, "one sample per interval of {node}: {:?}", watch.samples);
        for (count, bytes) in written {
            assert!(count > 0 && bytes > least, "{node}: {count} writes of {bytes} bytes");
        }
    }
    assert!(watch.samples.iter().all(|sample| sample.latency.is_none()), "there are no times");
    let words = watch.facts().into_iter().find(|(name, _)| name == "file_counters").expect("told").1;
    assert_eq!(words, "as totals without latency: this server counts no single files");
}

#[test]
fn mariadb_with_performance_schema_tells_each_file_and_the_log() {
    let mut server = Server::mariadb(&["--performance-schema=on"]);
    server.wait_for(|connection| Mariadb::new(connection.clone()).connect().is_ok());
    let database = Mariadb::new(server.connection.clone());
    let mut session = database.connect().expect("the server is there");
    session.batch("CREATE TABLE filled (n int NOT NULL, t varchar(200))").expect("made");
    let watch = watched(DatabaseKind::Mariadb, &mut *session, &mut |session| {
        session.batch("INSERT INTO filled SELECT seq, repeat('x', 200) FROM seq_1_to_2000").expect("filled");
        session.batch("FLUSH TABLES filled FOR EXPORT").expect("flushed");
        session.batch("UNLOCK TABLES").expect("unlocked");
    });
    let log = moved(&watch, "file redo log", "write");
    assert!(log.iter().all(|(count, bytes)| *count > 0 && *bytes > 2000 * 200), "{:?}", watch.samples);
    let table = watch
        .samples
        .iter()
        .find(|sample| sample.node.ends_with("/filled.ibd") && sample.operation == "write");
    assert!(table.is_some_and(|sample| sample.latency.is_some()), "{:?}", watch.samples);
    assert!(!watch.facts().iter().any(|(name, _)| name == "file_counters"), "{:?}", watch.facts());
}

/// PostgreSQL 16 and 17 do not know the question of version 18, and answer the next one at every look.
#[test]
fn a_question_of_a_newer_version_does_not_end_the_counting() {
    let mut server = Server::postgresql(&[]);
    server.wait_for(|connection| Postgresql::new(connection.clone()).connect().is_ok());
    let database = Postgresql::new(server.connection.clone());
    let mut session = database.connect().expect("the server is there");
    let version = session.query("SHOW server_version_num", &[]).expect("asked");
    let version: u32 = version
        .first()
        .and_then(|row| row.text(0).map(str::to_owned))
        .expect("it has one")
        .parse()
        .expect("a number");
    if version < 160_000 {
        // The columns of version 16, counted by a sequence: this version has no such view.
        session
            .batch(
                "CREATE SEQUENCE looks; CREATE VIEW pg_stat_io AS SELECT 'relation'::text AS object, \
                 10 * nextval('looks') AS reads, 8192::bigint AS op_bytes, 1.5::float8 * currval('looks') AS read_time, \
                 NULL::bigint AS writes, NULL::float8 AS write_time, NULL::bigint AS extends, \
                 NULL::float8 AS extend_time",
            )
            .expect("made");
    }
    let watch = watched(DatabaseKind::Postgresql, &mut *session, &mut |session| {
        session.batch("SELECT count(*) FROM pg_class").expect("read");
    });
    let read = moved(&watch, "file relation", "read");
    assert_eq!(read.len(), 2, "{:?}", watch.samples);
    if version < 160_000 {
        assert_eq!(read, [(10, 81920), (10, 81920)]);
    }
    assert!(!watch.facts().iter().any(|(name, _)| name == "file_counters"), "{:?}", watch.facts());
}
