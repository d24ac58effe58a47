//! TPROC-C's SQL of every dialect: the files of `sql/`.

use crate::database::DatabaseKind;
use crate::texts::{self, Texts};

/// Of that dialect.
pub fn of(kind: DatabaseKind) -> Texts {
    texts::texts!(kind)
}
