//! The load of TPROC-C: tables, rows of the population by the bulk path, keys and indexes, procedures, statistics.

use crate::checksum::Checksum;
use crate::database::DatabaseKind;
use crate::error::Result;
use crate::load::{Keeping, Load, Step, insert, read_back, text};
use crate::session::Session;

use super::population::{Part, Population, Table};
use super::texts::Texts;

/// The load of a population into a database of that dialect.
pub fn load<'a>(
    population: &'a Population,
    identity: String,
    kind: DatabaseKind,
    texts: &'a Texts,
) -> Load<'a> {
    // MariaDB commits at every definition, so that its mark can only follow.
    let defining = if kind == DatabaseKind::Mariadb { Keeping::Afterwards } else { Keeping::Together };
    let rows = |part: Part| Step {
        name: part.name(),
        keeping: Keeping::Together,
        work: Box::new(move |session: &mut dyn Session| {
            insert(&part.table.relation(), &part.name(), session, |sink| population.rows(part, sink))
        }),
    };
    let tables = text("tables".to_owned(), defining, texts.tables);
    let parts = population.parts().into_iter().map(rows);
    let indexes = texts.indexes.blocks().map(|(name, body)| text(format!("index/{name}"), defining, body));
    let procedures = texts.procedures.iter().flat_map(|procedures| procedures.definitions.blocks());
    let procedures = procedures.map(|(name, body)| text(format!("procedure/{name}"), defining, body));
    let finish = texts.finish.blocks();
    let finish = finish.map(|(name, body)| vec![text(format!("finish/{name}"), Keeping::Afterwards, body)]);
    let mut stages = vec![vec![tables], parts.collect(), indexes.chain(procedures).collect()];
    stages.extend(finish);
    Load { identity, stages }
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
