//! The load of DVD Store: tables, rows of the population by the bulk path, keys and indexes, rules, statistics.

use crate::checksum::Checksum;
use crate::database::DatabaseKind;
use crate::error::Result;
use crate::load::{Keeping, Load, Step, insert, read_back, text};
use crate::session::Session;

use super::population::{Part, Population, Table};
use super::scale::Scale;
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
    let rules = texts.rules.blocks().map(|(name, body)| text(format!("rule/{name}"), defining, body));
    let procedures = texts.procedures.iter().flat_map(|procedures| procedures.definitions.blocks());
    let procedures = procedures.map(|(name, body)| text(format!("procedure/{name}"), defining, body));
    // References need the keys they refer to.
    let mut stages =
        vec![vec![tables], parts.collect(), indexes.collect(), rules.chain(procedures).collect()];
    let finish = texts.finish.blocks();
    stages.extend(finish.map(|(name, body)| vec![text(format!("finish/{name}"), Keeping::Afterwards, body)]));
    Load { identity, stages }
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
