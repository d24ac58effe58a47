//! Drivers, order entry, DVD Store, insert and HammerDB's schema on real servers and SQLite. One program, since each one
//! more compiles the drivers again; its tests wait for servers of their own side by side.

#[path = "../common/mod.rs"]
mod common;
#[path = "../conformance/mod.rs"]
mod conformance;
mod drivers;
mod dvdstore;
mod hammerdb;
mod hostile;
mod insert;
mod insert_servers;
mod occupied;
#[path = "../order_entry/mod.rs"]
mod order_entry;
#[path = "../rows/mod.rs"]
mod rows;
#[path = "../shop/mod.rs"]
mod shop;
mod tls;
mod tprocc;
mod watch;
