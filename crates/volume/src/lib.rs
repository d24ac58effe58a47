//! The one central abstraction: a *volume* answers five requests over byte offsets.
//!
//! A *layer* is a volume on top of other volumes, a *device* is a leaf. Both implement [`Volume`]; whoever uses
//! one holds a [`Handle`], which passes each request through the [`Seam`] that checks, counts and times it, so that a
//! layer file holds only its idea.
//!
//! The contract between flushes is a physical disk's: no order is promised between requests in flight, and what was
//! completed before a flush was sent is durable when the flush returns.

mod answer;
mod blocks;
mod blueprint;
mod buffer;
mod error;
mod geometry;
#[doc(hidden)]
pub mod manual;
mod memory;
mod past_cache;
mod recorder;
mod refusal;
mod request;
mod seam;
mod site;
mod statistics;

pub use answer::Answer;
pub use blueprint::{
    Blueprint, Env, NamedExport, NamedFile, NewBesideOld, NewFile, NewFiles, NodeKind, Refused,
};
pub use buffer::{Buf, Pool};
pub use error::{Error, ErrorKind, Result};
pub use geometry::Geometry;
pub use memory::HugePage;
pub use past_cache::copy_past_cache;
pub use refusal::{Action, Loses, Moment, Refusal, Remedy, Setting};
pub use request::{Class, Kind, Request};
pub use seam::{Handle, Volume};
pub use site::{NoRing, Site};
pub use statistics::{KindStatistics, PERCENTILES, SIZE_STEP, Snapshot, Standstill, Statistics};
