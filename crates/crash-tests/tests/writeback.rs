//! What a write-back group promises beside surviving power cuts: what it says of a loss, what it refuses and with which
//! remedy.

#[path = "writeback/bench.rs"]
mod bench;
#[path = "writeback/check.rs"]
mod check;
#[path = "writeback/clones.rs"]
mod clones;
#[path = "writeback/differing.rs"]
mod differing;
#[path = "writeback/legs.rs"]
mod legs;
#[path = "writeback/loss.rs"]
mod loss;
#[path = "writeback/reads.rs"]
mod reads;
#[path = "writeback/replaced.rs"]
mod replaced;
#[path = "writeback/shape.rs"]
mod shape;
#[path = "writeback/stop.rs"]
mod stop;
