//! The SQL Server driver and what runs on it, against peers that speak TDS and record what they are asked. What runs
//! on a server of one's own is in `sqlserver_server.rs`.

mod answers;
#[path = "../common/mod.rs"]
mod common;
mod dvdstore;
#[allow(dead_code, reason = "a peer that knows no SQL can be loaded, not run on")]
#[path = "../order_entry/mod.rs"]
mod order_entry;
#[allow(dead_code, reason = "a peer that knows no SQL can be loaded, not run on")]
#[path = "../shop/mod.rs"]
mod shop;
#[path = "../tds/mod.rs"]
mod tds;
mod tls;
mod tprocc;
