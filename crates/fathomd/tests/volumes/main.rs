//! Volumes under the real daemon: how they are made, checked, refused and served. One program, since each one more is
//! linked with the whole server and waits alone for its daemons; what measures time is in programs of its own.

mod check;
mod check_files;
mod check_paths;
mod clients;
#[path = "../common/mod.rs"]
mod common;
mod contents;
mod copies;
mod create;
mod lost_legs;
mod misplaced;
mod parts;
mod pool;
mod refusals;
mod ring_failure;
mod tls;
mod undrained;
mod unread_log;
