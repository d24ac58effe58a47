//! What is marked as done, in the table `load_steps`; and whether a load may begin or go on in a database.

use std::collections::BTreeMap;
use std::sync::Mutex;

use fathom_job::{Failure, Reason};

use super::{Done, Load, Report, Step};
use crate::database::{Database, DatabaseKind, Known};
use crate::error::{Error, ErrorKind, Result};
use crate::objects::{Object, found, in_the_way};
use crate::session::Session;
use crate::value::Value;

const TABLE: &str = "load_steps";
const DEFINITION: &str =
    "CREATE TABLE load_steps (name varchar(250) NOT NULL PRIMARY KEY, inserted bigint NOT NULL,
                                                  checksum bigint NOT NULL)";

/// The mark of a load that began after a look at what was there. Loads of earlier versions did not look.
const CHECKED: &str = "checked";

/// What is marked as done, by name.
pub(super) struct Marks {
    found: BTreeMap<String, Done>,
    set: Mutex<BTreeMap<String, Done>>,
}

impl Marks {
    /// Begins a load, or goes on with it.
    pub(super) fn open(database: &(dyn Database + Sync), load: &Load<'_>) -> Result<Self, Failure> {
        let mut session = database.connect()?;
        let (session, kind) = (&mut *session, database.kind());
        let marks = read(session, kind)?;
        let is_there = marks.is_some();
        let found = marks.unwrap_or_default();
        if found.is_empty() {
            begin(session, kind, load, is_there)?;
        } else {
            goes_on(session, kind, load, &found)?;
        }
        Ok(Self { found, set: Mutex::new(BTreeMap::new()) })
    }

    pub(super) fn holds(&self, name: &str) -> bool {
        self.found.contains_key(name)
    }

    pub(super) fn set(&self, name: &str, done: Done) {
        self.set.lock().expect("the lock is never poisoned").insert(name.to_owned(), done);
    }

    pub(super) fn report(self, retries: usize) -> Report {
        let set = self.set.into_inner().expect("the lock is never poisoned");
        let mut total = Done::default();
        for done in self.found.values().chain(set.values()) {
            total.rows += done.rows;
            total.checksum = total.checksum.wrapping_add(done.checksum);
        }
        // The identity is no step, and the look before the first one neither.
        let others = 1 + usize::from(self.found.contains_key(CHECKED));
        Report { found: self.found.len().saturating_sub(others), done: set.len(), retries, total }
    }
}

/// Makes sure that no name is taken, before anything is created.
fn begin(session: &mut dyn Session, kind: DatabaseKind, load: &Load<'_>, is_there: bool) -> Result<()> {
    let mut names: Vec<&str> = steps(load).flat_map(|step| step.creates.iter().copied()).collect();
    if !is_there {
        names.push(TABLE);
    }
    refuse(&found(session, kind, &names)?.iter().collect::<Vec<_>>())?;
    // Where a definition ends the transaction, it comes first: there are both marks or none.
    let alone = kind.dialect().commits_definitions;
    if alone && !is_there {
        session.batch(DEFINITION)?;
    }
    session.begin()?;
    if !alone && !is_there {
        session.batch(DEFINITION)?;
    }
    mark(session, CHECKED, Done::default())?;
    mark(session, &load.identity, Done::default())?;
    session.commit()
}

/// Makes sure that what is there is this load, and that no name of what it still creates is taken by somebody else.
fn goes_on(
    session: &mut dyn Session,
    kind: DatabaseKind,
    load: &Load<'_>,
    marks: &BTreeMap<String, Done>,
) -> Result<(), Failure> {
    if !marks.contains_key(&load.identity) {
        let other = marks.keys().find(|name| name.contains(' '));
        if other.is_none() {
            // A table that looks like a load's, and is none.
            refuse(&found(session, kind, &[TABLE])?.iter().collect::<Vec<_>>())?;
        }
        let other = other.map_or("without a name", String::as_str);
        let message = format!(
            "the database holds another load ({other}) than is asked for ({}); name an empty database, or change the \
             settings back",
            load.identity
        );
        return Err(Failure::new(Reason::Settings, message));
    }
    let open: Vec<&Step<'_>> = steps(load).filter(|step| !marks.contains_key(&step.name)).collect();
    if open.is_empty() {
        return Ok(());
    }
    if !marks.contains_key(CHECKED) {
        let message = "the database holds a part of this load, begun by a version of Fathom that did not look whether \
                       tables, functions and procedures of yours have the names of its own; name an empty database";
        return Err(Failure::new(Reason::Settings, message));
    }
    let names: Vec<&str> = open.iter().flat_map(|step| step.creates.iter().copied()).collect();
    let found = found(session, kind, &names)?;
    Ok(refuse(&found.iter().filter(|object| !object.own).collect::<Vec<_>>())?)
}

fn steps<'l, 's>(load: &'l Load<'s>) -> impl Iterator<Item = &'l Step<'s>> {
    load.stages.iter().flatten()
}

fn refuse(foreign: &[&Object]) -> Result<()> {
    if foreign.is_empty() { Ok(()) } else { Err(in_the_way(foreign, "that this load creates")) }
}

/// The marks; None if there is no such table. One of other columns is somebody else's.
pub(super) fn read(session: &mut dyn Session, kind: DatabaseKind) -> Result<Option<BTreeMap<String, Done>>> {
    let columns = session.query(kind.dialect().load_steps, &[])?;
    let columns = columns.first()?;
    if (columns.int(0)?, columns.int(1)?) != (3, 3) {
        return Ok(None);
    }
    let answer = session.query("SELECT name, inserted, checksum FROM load_steps", &[])?;
    let mark = |row: crate::rows::Row<'_>| {
        let done = Done { rows: row.int(1)?.unsigned_abs(), checksum: row.int(2)? as u64 };
        Ok((row.text(0)?.to_owned(), done))
    };
    answer.rows().map(mark).collect::<Result<_>>().map(Some)
}

pub(super) fn mark(session: &mut dyn Session, name: &str, done: Done) -> Result<()> {
    let rows =
        i64::try_from(done.rows).map_err(|_| Error::new(ErrorKind::Other, "too many rows to count"))?;
    // Names are the program's own: letters, digits, slashes.
    let statement = format!(
        "INSERT INTO load_steps (name, inserted, checksum) VALUES ('{name}', {rows}, {})",
        done.checksum as i64
    );
    session.query(&statement, &[] as &[Value<'_>]).map(drop)
}
