//! The load of DVD Store: tables, rows of the population by the bulk path, keys and indexes, rules, statistics.

use crate::checksum::Checksum;
use crate::database::DatabaseKind;
use crate::error::Result;
use crate::load::{Load, part, read_back, steps};
use crate::session::Session;
use crate::texts::Texts;

use super::population::{Part, Population, Table};
use super::scale::Scale;

/// The load of a population into a database of that dialect.
pub fn load<'a>(
    population: &'a Population,
    identity: String,
    kind: DatabaseKind,
    texts: &'a Texts,
) -> Load<'a> {
    let rows = |one: Part| part(one.table.relation(), one.name(), move |sink| population.rows(one, sink));
    steps(identity, kind, texts, population.parts().into_iter().map(rows).collect())
}

/// The checksum over everything a fresh database holds, read back row by row.
///
/// # Errors
/// The database's; [`ErrorKind::Corrupt`](crate::error::ErrorKind::Corrupt) for a value of the wrong type.
pub fn checksum(session: &mut dyn Session, scale: &Scale) -> Result<Checksum> {
    let mut sum = Checksum::default();
    for table in Table::ALL {
        for slice in table.slices(scale) {
            read_back(session, &table.relation(), &slice, &mut sum)?;
        }
    }
    Ok(sum)
}
