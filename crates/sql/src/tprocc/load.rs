//! The load of TPROC-C: tables, rows of the population by the bulk path, keys and indexes, procedures, statistics.

use crate::checksum::Checksum;
use crate::database::DatabaseKind;
use crate::error::Result;
use crate::load::{Load, part, read_back, steps};
use crate::session::Session;
use crate::texts::Texts;

use super::population::{Part, Population, Table};

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

/// The checksum over everything a database holds, read back row by row.
///
/// # Errors
/// The database's; [`ErrorKind::Corrupt`](crate::error::ErrorKind::Corrupt) for a value of the wrong type.
pub fn checksum(session: &mut dyn Session, warehouses: u32) -> Result<Checksum> {
    let mut sum = Checksum::default();
    for table in Table::ALL {
        let relation = table.relation();
        if table == Table::Item {
            read_back(session, &relation, "", &mut sum)?;
            continue;
        }
        // One warehouse at a time: an answer is kept in memory as a whole.
        for warehouse in 1..=warehouses {
            let home = owner(table);
            read_back(session, &relation, &format!("WHERE {home} = {warehouse}"), &mut sum)?;
        }
    }
    Ok(sum)
}

/// The column that says whose row it is.
fn owner(table: Table) -> &'static str {
    let named = |name: &&str| name.ends_with("_w_id") || *name == "w_id";
    let mut columns = table.columns().iter().map(|column| column.name);
    columns.find(named).expect("every table but `item` names a warehouse")
}
