//! TPROC-C's SQL in every dialect: the files of `sql/`.

use crate::database::DatabaseKind;
use crate::texts::Texts;

/// Of that dialect.
pub fn of(kind: DatabaseKind) -> Texts {
    Texts::of("tprocc", kind)
}
