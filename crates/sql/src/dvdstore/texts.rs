//! DVD Store's SQL in every dialect: the files of `sql/`.

use crate::database::DatabaseKind;
use crate::texts::Texts;

/// Of that dialect.
pub fn of(kind: DatabaseKind) -> Texts {
    Texts::of("dvdstore", kind)
}
