//! Random values of every type, written by statements and by the bulk path, and read back.

use fathom_runtime::Random;
use fathom_sql::database::{Database, DatabaseKind, Known};
use fathom_sql::session::{Call, Target};
use fathom_sql::value::Value;

/// Rows by each of the two paths.
const ROWS: usize = 2_500;

/// What a column of a type can hold.
#[derive(Clone, Copy)]
enum Domain {
    Int(i64, i64),
    /// Digits, and how many of them behind the point.
    Decimal(u32, u8),
    Double,
    Single,
    /// So many letters of any kind.
    Text(usize),
    /// So many letters of ASCII: a code page has no others.
    Letters(usize),
    Bytes(usize),
    /// Microseconds that a time is a multiple of, after 1970.
    Time(i64),
    /// Whole days.
    Days,
}

use Domain::{Bytes, Days, Decimal, Double, Int, Letters, Single, Text, Time};

/// Every type with a reader; SQLite's five are what it has.
fn types(kind: DatabaseKind) -> Vec<(&'static str, Domain)> {
    let (all, int, small) =
        (Int(i64::MIN, i64::MAX), Int(i32::MIN as i64, i32::MAX as i64), Int(-32_768, 32_767));
    match kind {
        DatabaseKind::Sqlite => {
            vec![
                ("INTEGER", all),
                ("REAL", Double),
                ("TEXT", Text(60)),
                ("BLOB", Bytes(60)),
                ("INTEGER", Time(1)),
            ]
        }
        DatabaseKind::Postgresql => vec![
            ("bigint", all),
            ("integer", int),
            ("smallint", small),
            ("numeric(12, 2)", Decimal(12, 2)),
            ("numeric(18, 6)", Decimal(18, 6)),
            ("double precision", Double),
            ("real", Single),
            ("text", Text(60)),
            ("varchar(500)", Text(60)),
            ("bytea", Bytes(60)),
            ("timestamp", Time(1)),
            ("date", Days),
        ],
        DatabaseKind::Mariadb | DatabaseKind::Mysql => vec![
            ("bigint", all),
            ("int", int),
            ("smallint", small),
            ("tinyint", Int(-128, 127)),
            ("decimal(12, 2)", Decimal(12, 2)),
            ("decimal(18, 6)", Decimal(18, 6)),
            ("double", Double),
            ("varchar(500) CHARACTER SET utf8mb4", Text(60)),
            ("text CHARACTER SET utf8mb4", Text(60)),
            ("varbinary(500)", Bytes(60)),
            ("blob", Bytes(60)),
            ("datetime(6)", Time(1)),
            ("date", Days),
        ],
        DatabaseKind::Sqlserver => vec![
            ("bigint", all),
            ("int", int),
            ("smallint", small),
            ("tinyint", Int(0, 255)),
            ("bit", Int(0, 1)),
            ("decimal(12, 2)", Decimal(12, 2)),
            ("decimal(18, 6)", Decimal(18, 6)),
            ("float", Double),
            ("real", Single),
            ("nvarchar(500)", Text(60)),
            ("nvarchar(max)", Text(60)),
            ("varchar(500)", Letters(60)),
            ("varbinary(500)", Bytes(60)),
            ("varbinary(max)", Bytes(60)),
            ("datetime2(6)", Time(1)),
            ("datetime2(0)", Time(1_000_000)),
            ("datetime", Time(10_000)),
            ("date", Days),
        ],
    }
}

/// A value that outlives its borrowing.
enum Drawn {
    Null,
    Int(i64),
    Decimal(i64, u8),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    Time(i64),
}

impl Drawn {
    fn value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Int(value) => Value::Int(*value),
            Self::Decimal(units, scale) => Value::Decimal { units: *units, scale: *scale },
            Self::Float(value) => Value::Float(*value),
            Self::Text(text) => Value::Text(text),
            Self::Bytes(bytes) => Value::Bytes(bytes),
            Self::Time(micros) => Value::Time(*micros),
        }
    }

    /// One in ten is null, and one in ten at an end of the domain.
    fn of(domain: Domain, nulls: bool, random: &mut Random) -> Self {
        const DAY: i64 = 86_400_000_000;
        let edge = random.below(10);
        if edge == 0 && nulls {
            return Self::Null;
        }
        let between = |random: &mut Random, low: i64, high: i64| match edge {
            1 => [low, high][random.below(2) as usize],
            _ => {
                let span = high.wrapping_sub(low) as u64;
                let far = if span == u64::MAX { random.word() } else { random.below(span + 1) };
                low.wrapping_add(far as i64)
            }
        };
        let length = |random: &mut Random, most: usize| match edge {
            1 => [0, most][random.below(2) as usize],
            _ => random.below(most as u64 + 1) as usize,
        };
        match domain {
            Int(low, high) => Self::Int(between(random, low, high)),
            Decimal(digits, scale) => {
                let most = 10_i64.pow(digits) - 1;
                Self::Decimal(between(random, -most, most), scale)
            }
            // Neither infinite nor too small to be normal: SQL has no such numbers.
            Double => loop {
                let value = f64::from_bits(random.word());
                if value.is_normal() {
                    return Self::Float(value);
                }
            },
            Single => loop {
                let value = f32::from_bits(random.word() as u32);
                if value.is_normal() {
                    return Self::Float(value.into());
                }
            },
            Text(most) => {
                let letter = |random: &mut Random| loop {
                    // Common letters, and all others but the zero byte.
                    let top = [0x80, 0x800, 0x1_0000, 0x11_0000][random.below(4) as usize];
                    if let Some(letter) = char::from_u32(1 + random.below(top - 1) as u32) {
                        return letter;
                    }
                };
                Self::Text((0..length(random, most)).map(|_| letter(random)).collect())
            }
            Letters(most) => {
                let letter = |random: &mut Random| char::from(32 + random.below(95) as u8);
                Self::Text((0..length(random, most)).map(|_| letter(random)).collect())
            }
            Bytes(most) => Self::Bytes((0..length(random, most)).map(|_| random.word() as u8).collect()),
            // 1753 to 9999, the shortest of all databases' calendars; the very last microseconds round up.
            Time(step) => {
                let micros = between(random, -79_202 * DAY, 2_932_896 * DAY - 1_000_000);
                Self::Time(micros.div_euclid(step) * step)
            }
            Days => Self::Time(between(random, -79_202, 2_932_895) * DAY),
        }
    }
}

/// Writes and reads [`ROWS`] by each path; with nulls by the bulk path, and by statements where their parameters may be null.
pub fn values_come_back(database: &dyn Database, null_parameters: bool) {
    let kind = database.kind();
    let seed =
        std::env::var("FATHOM_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_123);
    eprintln!("random values: FATHOM_TEST_SEED={seed}");
    let mut random = Random::new(seed, "values of every type");
    let types = types(kind);
    let mut session = database.connect().expect("the server is there");
    let names: Vec<String> = (0..types.len()).map(|at| format!("c{at}")).collect();
    let null = if kind == DatabaseKind::Sqlserver { " NULL" } else { "" };
    let columns: Vec<String> =
        names.iter().zip(&types).map(|(name, (of_type, _))| format!("{name} {of_type}{null}")).collect();
    session.batch("DROP TABLE IF EXISTS drawn").expect("dropped");
    let whole = if kind == DatabaseKind::Sqlite { "INTEGER" } else { "bigint" };
    session
        .batch(&format!("CREATE TABLE drawn (id {whole} NOT NULL PRIMARY KEY, {})", columns.join(", ")))
        .expect("made");
    let mut all: Vec<&str> = vec!["id"];
    all.extend(names.iter().map(String::as_str));
    let rows: Vec<Vec<Drawn>> = (0..2 * ROWS)
        .map(|id| {
            let nulls = null_parameters || id >= ROWS;
            types.iter().map(|(_, domain)| Drawn::of(*domain, nulls, &mut random)).collect()
        })
        .collect();
    let values = |id: usize| -> Vec<Value<'_>> {
        let row = rows[id].iter().map(Drawn::value);
        std::iter::once(Value::Int(id as i64)).chain(row).collect()
    };

    let places: Vec<String> = (1..=all.len()).map(|number| kind.dialect().parameter(number)).collect();
    let text = format!("INSERT INTO drawn ({}) VALUES ({})", all.join(", "), places.join(", "));
    let insert = session.prepare(&text).expect("prepared");
    let written: Vec<Vec<Value<'_>>> = (0..ROWS).map(values).collect();
    let mut calls = vec![Call::Begin];
    calls.extend(written.iter().map(|row| Call::Run(insert, row)));
    calls.push(Call::Commit);
    session.pipeline(&calls, &mut Vec::new()).expect("written by statements");
    let mut bulk = session.bulk(&Target { table: "drawn", columns: &all }).expect("begun");
    (ROWS..2 * ROWS).try_for_each(|id| bulk.row(&values(id))).expect("taken");
    assert_eq!(bulk.finish().expect("written by the bulk path"), ROWS as u64);

    let found = session.query(&format!("SELECT {} FROM drawn ORDER BY id", all.join(", ")), &[]);
    let found = found.expect("read");
    assert_eq!(found.len(), 2 * ROWS);
    for (id, row) in found.rows().enumerate() {
        for ((found, drawn), (of_type, _)) in row.values().skip(1).zip(&rows[id]).zip(&types) {
            let wanted = drawn.value();
            let same = match wanted {
                Value::Null => found.is_null(),
                Value::Int(value) => found.int().ok() == Some(value),
                Value::Decimal { units, scale } => found.decimal(scale).ok() == Some(units),
                Value::Float(value) => found.float().ok() == Some(value),
                Value::Text(text) => found.text().ok() == Some(text),
                Value::Bytes(bytes) => found.bytes().ok() == Some(bytes),
                Value::Time(micros) => found.time().ok() == Some(micros),
                Value::Ints(_) => unreachable!("lists are parameters only"),
            };
            let path = if id < ROWS { "a statement" } else { "the bulk path" };
            assert!(same, "row {id}, {of_type}, by {path}: {wanted:?} came back as {found:?}");
        }
    }
}
