//! What a driver must do when the network stands still or breaks, in one body: right reasons in the stated time, and never an
//! answer that is not the asked-for one.

use std::time::Duration;

use fathom_job::Connection;
use fathom_runtime::monotonic;
use fathom_sql::drivers;
use fathom_sql::error::{Error, ErrorKind};
use fathom_sql::session::Target;
use fathom_sql::value::Value;

use crate::common::proxy::Proxy;

fn timed(work: impl FnOnce() -> Result<(), Error>) -> (Duration, Error) {
    let began = monotonic();
    let error = work().expect_err("nothing comes through");
    (Duration::from_nanos(monotonic() - began), error)
}

fn was_the_timeout((took, error): (Duration, Error)) {
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!((Duration::from_millis(1_400)..Duration::from_secs(20)).contains(&took), "{took:?}: {error}");
}

/// A server reached through that proxy that answers nothing any more.
pub fn stands_still(proxy: &Proxy, to: &Connection) {
    let to = Connection { timeout_ns: Some(1_500_000_000), ..to.clone() };
    let database = drivers::server(&to).expect("it has a driver");
    proxy.stall(true);
    was_the_timeout(timed(|| database.connect().map(drop)));
    proxy.stall(false);
    let mut session = database.connect().expect("it answers");
    session.query("SELECT 1", &[]).expect("answered");
    proxy.stall(true);
    was_the_timeout(timed(|| session.query("SELECT 2", &[]).map(drop)));
    proxy.stall(false);
    // The answer to that comes now, and must not be taken for another's.
    let late = session.query("SELECT 1", &[]).expect_err("the connection was given up");
    assert_eq!(late.kind(), ErrorKind::Lost, "{late}");
    let mut session = database.connect().expect("a new one");
    session.batch("CREATE TABLE filled (t varchar(200))").expect("made");
    let mut bulk = session.bulk(&Target { table: "filled", columns: &["t"] }).expect("begun");
    let wide = "z".repeat(190);
    proxy.stall(true);
    was_the_timeout(timed(|| {
        (0..300_000).try_for_each(|_| bulk.row(&[Value::Text(&wide)]))?;
        bulk.finish().map(drop)
    }));
    proxy.stall(false);
    let mut session = database.connect().expect("a new one");
    let count = session.query("SELECT count(*) FROM filled", &[]).expect("counted");
    assert_eq!(count.first().and_then(|row| row.int(0)).expect("a number"), 0, "nothing of it is kept");
}

/// A server reached through that proxy whose connections end in mid-answer.
pub fn breaks(proxy: &Proxy, to: &Connection) {
    let database = drivers::server(to).expect("it has a driver");
    let wide = "w".repeat(100_000);
    for bytes in [0, 1, 4, 5, 6, 30, 1_000, 20_000, 99_000] {
        let mut session = database.connect().expect("it answers");
        session.query("SELECT 1", &[]).expect("answered");
        proxy.cut_after(Some(bytes));
        let lost = session.query(&format!("SELECT '{wide}'"), &[]).expect_err("it breaks");
        assert_eq!(lost.kind(), ErrorKind::Lost, "after {bytes} bytes: {lost}");
        proxy.cut_after(None);
    }
    // Wherever a login breaks, it says that it did.
    for bytes in [0, 1, 2, 10, 100, 500] {
        proxy.cut_after(Some(bytes));
        let broken = database.connect().err().expect("it breaks");
        let kinds = [ErrorKind::Lost, ErrorKind::Refused, ErrorKind::Untrusted];
        assert!(kinds.contains(&broken.kind()), "after {bytes} bytes: {:?} {broken}", broken.kind());
        proxy.cut_after(None);
    }
}
