//! The model of a database engine's I/O: what an engine asks of its volumes, without the engine.
//!
//! Each part is a plain core, tested alone, and a thin driver on volume handles that runs in both clocks. So far: the
//! log manager ([`log`]) and sessions that insert rows ([`insert`]), after SQL Server.

pub mod insert;
pub mod log;
