//! How many bytes of log a row and a transaction make, after SQL Server.

/// Bytes of a row besides its data: header, null bitmap, offsets of variable columns. From a published dump of a row of
/// four columns, 32 bytes for 23 bytes of data (sqlservercentral.com, Time Pass With Transaction Log, part 5, 2012).
const ROW_OVERHEAD: u64 = 9;

/// Bytes of an insert's log record besides the row: 125 for a row of 32 bytes in the same dump.
const RECORD_OVERHEAD: u64 = 93;

/// Data up to this size is in the row's page; more goes to pages of its own (Microsoft, Pages and Extents
/// Architecture Guide: 8,060 bytes a row).
const IN_ROW: u64 = 8000;

/// Data on one of those pages: 8,040 bytes, by general knowledge; the page holds 8,096 in all (same guide).
const PER_PAGE: u64 = 8040;

/// What stays in the row of data stored elsewhere: a pointer of 24 bytes, by general knowledge.
const POINTER: u64 = 24;

/// The records that begin and end a transaction (LOP_BEGIN_XACT, LOP_COMMIT_XACT), by general knowledge; their size
/// depends on the version and the transaction's name.
pub const BEGIN: u64 = 124;
/// See [`BEGIN`].
pub const COMMIT: u64 = 84;

/// Lengths of the log records of one row with that many bytes of data.
pub fn records(payload: u64) -> Vec<u64> {
    let record = |data: u64| data + RECORD_OVERHEAD;
    if payload <= IN_ROW {
        return vec![record(payload + ROW_OVERHEAD)];
    }
    let pages = payload.div_ceil(PER_PAGE);
    let of_page = |page: u64| record(PER_PAGE.min(payload - page * PER_PAGE));
    let mut records: Vec<u64> = (0..pages).map(of_page).collect();
    records.push(record(POINTER + ROW_OVERHEAD));
    records
}

#[cfg(test)]
mod tests {
    use super::records;

    #[test]
    fn a_row_is_one_record_until_its_data_leaves_the_page() {
        assert_eq!(records(23), [125]);
        assert_eq!(records(4000), [4102]);
        assert_eq!(records(8000).len(), 1);
        assert_eq!(records(8040).len(), 2);
        let large = records(20_000);
        assert_eq!(large.len(), 4);
        assert_eq!(large.iter().sum::<u64>(), 20_000 + 24 + 9 + 4 * 93);
    }
}
