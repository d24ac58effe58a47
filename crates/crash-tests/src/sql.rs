//! Real SQLite on a group in virtual time: random transactions, the power cut or the cache lost at random moments. What is
//! opened then must be a sound database that holds a prefix of the transactions, and every one that was committed
//! durably.

use std::collections::BTreeMap;

use fathom_layers::writeback::{Durability, Group, Settings};
use fathom_runtime::Random;
use fathom_sql::vfs::{Store, VolumeFileSystem};
use rusqlite::{Connection, params};

use crate::Tally;
use crate::crash::{Media, Policy};
use crate::disk::Event;
use crate::group::Setup;
use crate::life::open_without_cache;
use crate::testbed::Testbed;

/// Longest service time of a disk while a life is recorded, ns.
const SLOWEST: u64 = 40_000;
/// Rows a table may have.
const IDS: u64 = 120;

/// A row: the transaction that wrote it last, and its payload.
type Rows = BTreeMap<i64, (i64, Vec<u8>)>;

/// What the table holds after each transaction, from that which makes it on.
struct Model {
    states: Vec<Rows>,
}

/// How a database is run: drawn from the seed.
#[derive(Debug, Clone, Copy)]
struct Mode {
    journal: &'static str,
    synchronous: &'static str,
    page: u32,
    // Whether a commit is durable when it returns.
    durable: bool,
}

impl Mode {
    fn of(seed: u64) -> Self {
        let (journal, synchronous, durable) = match seed % 5 {
            0 => ("WAL", "FULL", true),
            1 => ("DELETE", "EXTRA", true),
            2 => ("WAL", "NORMAL", false),
            3 => ("TRUNCATE", "FULL", true),
            // The deletion of the journal commits, and only EXTRA waits until that is durable.
            _ => ("DELETE", "FULL", false),
        };
        Self { journal, synchronous, page: [512, 1024, 4096][(seed / 5 % 3) as usize], durable }
    }

    fn prepare(self, connection: &Connection) -> rusqlite::Result<()> {
        connection.execute_batch(&format!(
            "PRAGMA page_size = {}; PRAGMA journal_mode = {}; PRAGMA synchronous = {}; PRAGMA wal_autocheckpoint = 12;
             PRAGMA cache_size = 8;",
            self.page, self.journal, self.synchronous
        ))
    }
}

/// The setup of a seed: one volume large enough for a small database, both durabilities, ring on the tail or on its own.
fn setup_of(seed: u64) -> Setup {
    let durability = if seed.is_multiple_of(3) { Durability::Origin } else { Durability::Cache };
    let small = Setup::small(Settings { durability, ..Settings::default() });
    let mut setup = Setup { sectors: 2048, segments: 8, ring: 512 << 10, own_ring: seed % 4 == 1, ..small };
    setup.settings.segment = 128 << 10;
    setup.settings.batch = 128 << 10;
    setup
}

/// Runs something on the database of an open group.
fn on_database<T>(
    testbed: &Testbed<Group>,
    work: impl FnOnce(&Connection) -> Result<T, String>,
) -> Result<T, String> {
    let store = Store::open(&testbed.runtime, testbed.volumes[0].clone(), testbed.pool.clone());
    let store = store.map_err(|error| format!("the files cannot be opened: {error}"))?;
    let files = VolumeFileSystem::register(store).map_err(|error| error.to_string())?;
    let connection = files.connect().map_err(|error| format!("the database cannot be opened: {error}"))?;
    let outcome = work(&connection);
    drop(connection);
    outcome.map_err(|why| match files.last_error() {
        Some(error) => format!("{why}; the volume said: {error}"),
        None => why,
    })
}

fn broken(what: &'static str) -> impl Fn(rusqlite::Error) -> String {
    move |error| format!("{what} fails: {error}")
}

/// One random transaction on the table and on its model.
fn transact(
    connection: &Connection,
    number: i64,
    random: &mut Random,
    rows: &mut Rows,
) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    for _ in 0..1 + random.below(6) {
        let id = random.below(IDS) as i64;
        if random.chance(0.2) {
            connection.execute("DELETE FROM rows WHERE id = ?1", params![id])?;
            rows.remove(&id);
        } else {
            let mut payload = vec![0; 10 + random.below(400) as usize];
            random.fill(&mut payload);
            connection.execute(
                "INSERT INTO rows VALUES (?1, ?2, ?3)
                 ON CONFLICT (id) DO UPDATE SET transaction_number = ?2, payload = ?3",
                params![id, number, payload],
            )?;
            rows.insert(id, (number, payload));
        }
    }
    connection.execute("UPDATE last SET transaction_number = ?1", params![number])?;
    connection.execute_batch("COMMIT")
}

fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "BEGIN IMMEDIATE;
         CREATE TABLE rows (id INTEGER PRIMARY KEY, transaction_number INTEGER NOT NULL, payload BLOB NOT NULL);
         CREATE INDEX by_transaction ON rows (transaction_number);
         CREATE TABLE last (transaction_number INTEGER NOT NULL);
         INSERT INTO last VALUES (0);
         COMMIT",
    )
}

/// Looks at a database after a power cut: how many states of the model it has been through, 0 if it does not exist yet.
fn check_rows(connection: &Connection, mode: Mode, model: &Model) -> Result<usize, String> {
    mode.prepare(connection).map_err(broken("setting it up"))?;
    let check: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .map_err(broken("the integrity check"))?;
    if check != "ok" {
        return Err(format!("the database is damaged: {check}"));
    }
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))
        .map_err(broken("reading the schema"))?;
    if tables == 0 {
        return Ok(0);
    }
    let last: i64 = connection
        .query_row("SELECT transaction_number FROM last", [], |row| row.get(0))
        .map_err(broken("reading the last transaction"))?;
    let mut statement = connection
        .prepare("SELECT id, transaction_number, payload FROM rows ORDER BY id")
        .map_err(broken("reading the rows"))?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))));
    let rows: Rows = rows.and_then(Iterator::collect).map_err(broken("reading the rows"))?;
    match model.states.get(last as usize) {
        Some(expected) if *expected == rows => Ok(last as usize + 1),
        _ => Err(format!("the rows are not those after transaction {last}, which it says was its last")),
    }
}

/// Opens disks: at least `required` states must be there. Sometimes the power is cut again during the recovery.
fn check(
    case: &Case<'_>,
    media: &Media,
    required: usize,
    random: &mut Random,
    depth: u32,
    tally: &mut Tally,
) -> Result<usize, String> {
    tally.databases += 1;
    let Case { setup, mode, model } = case;
    let testbed = Testbed::group(setup, media.shown(), setup.settings.clone(), 0, random.word());
    testbed.open().map_err(|error| format!("the open is refused: {error}"))?;
    let found = on_database(&testbed, |connection| check_rows(connection, *mode, model))?;
    if found < required {
        return Err(format!("only {found} of {required} states are there that were durable"));
    }
    if depth > 0 && random.chance(0.2) {
        let trace = testbed.trace.borrow().clone();
        let mut media = media.clone();
        (0..=random.below(trace.len() as u64)).for_each(|_| {
            media.step(&trace);
        });
        let cut = media.after_cut(Policy::ALL[random.below(4) as usize], random);
        tally.recoveries += 1;
        check(case, &cut, required, random, depth - 1, tally).map_err(|why| format!("cut again: {why}"))?;
    }
    Ok(found)
}

/// Opens disks whose cache is gone, and checks them.
fn check_loss(case: &Case<'_>, media: &Media, required: usize, tally: &mut Tally) -> Result<(), String> {
    tally.databases += 1;
    tally.losses += 1;
    let (testbed, lost) = open_without_cache(case.setup, &media.shown())?;
    let found = on_database(&testbed, |connection| check_rows(connection, case.mode, case.model))?;
    // What was durable is lost with the cache, unless durability `origin` was promised.
    if found < required && (!lost || case.setup.settings.durability == Durability::Origin) {
        return Err(format!("only {found} of {required} states are there that were durable"));
    }
    Ok(())
}

struct Case<'a> {
    setup: &'a Setup,
    mode: Mode,
    model: &'a Model,
}

/// Several lives of one database, each of so many transactions and each beginning where the one before was cut; `cuts`
/// moments of each are looked at.
///
/// # Errors
/// The first violation.
pub fn lives(
    seed: u64,
    lives: usize,
    transactions: usize,
    cuts: usize,
    tally: &mut Tally,
) -> Result<(), String> {
    let (setup, mode) = (setup_of(seed), Mode::of(seed));
    let mut random = Random::new(seed, "database");
    let mut media = Media::new(&setup.blank());
    let mut model = Model { states: Vec::new() };
    let mut promised = 0;
    for life in 0..lives {
        let at = |why: String| format!("database of seed {seed}, {mode:?}, life {life}: {why}");
        let testbed = Testbed::group(&setup, media.shown(), setup.settings.clone(), SLOWEST, random.word());
        testbed.open().map_err(|error| at(format!("the open is refused: {error}")))?;
        testbed.note(Event::Opened);
        let before = model.states.len();
        on_database(&testbed, |connection| {
            mode.prepare(connection).map_err(broken("setting it up"))?;
            if model.states.is_empty() {
                create(connection).map_err(broken("creating the tables"))?;
                model.states.push(Rows::new());
                testbed.note(Event::UserFlushed(model.states.len() as u32));
            }
            for _ in 0..transactions {
                let mut rows = model.states.last().expect("the empty table").clone();
                let number = model.states.len() as i64;
                transact(connection, number, &mut random, &mut rows).map_err(broken("a transaction"))?;
                model.states.push(rows);
                testbed.note(Event::UserFlushed(model.states.len() as u32));
            }
            Ok(())
        })
        .map_err(at)?;
        let trace = testbed.trace.borrow().clone();
        drop(testbed);
        let mut moments: Vec<usize> = (0..cuts).map(|_| random.below(trace.len() as u64) as usize).collect();
        moments.sort_unstable();
        let case = Case { setup: &setup, mode, model: &model };
        // What a power cut left when the life began is durable, whatever the mode; on the cache device, that is.
        let (mut durable, mut next) = (before, None);
        let mut moments = moments.into_iter().peekable();
        for (index, event) in trace.iter().enumerate() {
            media.step(&trace);
            if let Event::UserFlushed(states) = event
                && mode.durable
            {
                (durable, promised) = (*states as usize, *states as usize);
            }
            while moments.next_if(|moment| *moment == index).is_some() {
                let policy = Policy::ALL[random.below(4) as usize];
                let cut = media.after_cut(policy, &mut random);
                let place =
                    |why| at(format!("power cut after event {index} of {}, {policy:?}: {why}", trace.len()));
                let found = check(&case, &cut, durable, &mut random, 2, tally).map_err(place)?;
                check_loss(&case, &cut, promised, tally)
                    .map_err(|why| place(format!("cache lost: {why}")))?;
                next = Some((cut, found, promised.min(found)));
            }
        }
        let (cut, found, kept) = next.expect("every life is cut");
        (media, promised) = (cut, kept);
        model.states.truncate(found);
    }
    Ok(())
}
