//! From the volumes of a settings text to a live tree of them.
//!
//! [`Volumes::read`] reads the `[volumes.NAME]` tables, [`Volumes::check`] checks how they refer to each other, and
//! [`Stack::build`] makes those live that a run needs, from the devices up. Which kinds there are says the
//! [registry](kinds).

mod alone;
mod check;
mod cut_short;
mod files;
mod fresh;
mod lifecycle;
mod live;
mod model;
mod place;
mod registry;
mod report;
mod volumes;

pub use fathom_layers::mirror::Status as MirrorStatus;
pub use fathom_layers::writeback::{
    Finding as WritebackFinding, Loss as WritebackLoss, Report as WritebackReport, Status as WritebackStatus,
};
pub use lifecycle::Lifecycle;
pub use live::{BuildError, Stack};
pub use place::{canonical, folder};
pub use registry::{kind, kinds};
pub use report::{Outcome, StackReport, VolumeReport};
pub use volumes::Volumes;
