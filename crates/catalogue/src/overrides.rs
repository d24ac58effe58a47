//! The settings of a model other than its size.

use fathom_units::{Iops, Rate};

use crate::figure::Assumed;

/// What can be provisioned apart from the size.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Overrides {
    /// Provisioned IOPS.
    pub iops: Option<Iops>,
    /// Provisioned throughput.
    pub throughput: Option<Rate>,
    /// Which value is taken of what the model assumes.
    pub assumed: Assumed,
}
