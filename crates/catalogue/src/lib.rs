//! A dated catalogue of storage models: cloud volumes, instances, virtual adapters, drives.
//!
//! A model is one TOML file, `models/<vendor>/<name>.toml`, embedded here or given by the user. Every figure names its
//! source; what no vendor publishes is marked as an assumption, with the reason. docs/CATALOGUE.md shows the form.
//!
//! ```
//! use fathom_catalogue::{Catalogue, Overrides};
//! use fathom_units::Bytes;
//!
//! let catalogue = Catalogue::builtin();
//! let volume = catalogue.resolve("aws/gp2", Some(Bytes::tib(4)), &Overrides::default())?;
//! assert_eq!(volume.limits.iops, Some(12_288.0)); // 3 per GiB
//! assert_eq!(catalogue.instance("aws/r5d.4xlarge")?.bytes_per_s, 593_750_000.0);
//! # Ok::<(), fathom_catalogue::CatalogueError>(())
//! ```
//!
//! The catalogue knows figures, not behaviour: what a limit does to a request is the throttle's, the adapter's and the
//! model device's matter.

mod adapter;
mod catalogue;
mod device;
mod embedded;
mod error;
mod explain;
mod figure;
mod instance;
mod model;
mod overrides;
mod position;
mod resolved;
mod rule;
mod service;
mod similar;
mod volume;

pub use catalogue::{Catalogue, Entry, Kind};
pub use error::{CatalogueError, FileError};
pub use explain::{ExplainedFigure, ExplainedSource, Explanation};
pub use figure::{Assumed, Assumption, SourceKind};
pub use overrides::Overrides;
pub use resolved::{
    AdapterLimits, Burst, Compliance, Depth, Distribution, InstanceLimits, InstanceStore, Limits,
    Positioning, Resolved, Sectors, Service, ServiceTime,
};
