//! Names of objects and counters by their index, a list for each machine.

use std::collections::BTreeMap;

use crate::bytes::Bytes;
use crate::fault::Fault;

/// Names by machine and index.
#[derive(Default)]
pub(crate) struct Names {
    of: BTreeMap<String, BTreeMap<u32, String>>,
}

impl Names {
    /// Adds a record: the machine, then pairs of index and name, each text ended by a zero.
    pub(crate) fn add(&mut self, record: &Bytes<'_>) -> Result<(), Fault> {
        let machine = record.text(0)?;
        if !machine.starts_with(r"\\") {
            return Err(record.fault(0, "names without a machine"));
        }
        let mut at = width(&machine);
        let names = self.of.entry(machine).or_default();
        // A last lone zero ends the list; before it come pairs.
        while at + 4 < record.len() {
            let digits = record.text(at)?;
            if digits.is_empty() {
                break;
            }
            let index =
                digits.parse().map_err(|_| record.fault(at, format!("{digits:?} is no index of a name")))?;
            at += width(&digits);
            let name = record.text(at)?;
            at += width(&name);
            names.insert(index, name);
        }
        Ok(())
    }

    pub(crate) fn get(&self, machine: &str, index: u32) -> Option<&str> {
        self.of.get(machine)?.get(&index).map(String::as_str)
    }
}

fn width(text: &str) -> usize {
    2 * (text.encode_utf16().count() + 1)
}
