//! The contract of a run: what a workload is given, what running it yields, and what every kind of workload needs for that
//! (distributions, intervals, metrics, progress). It knows no workload and not how volumes are built.

pub mod connection;
pub mod database;
pub mod draw;
pub mod kind;
pub mod live;
pub mod metrics;
pub mod outcome;
pub mod own_settings;
pub mod progress;
pub mod sampler;
pub mod several;
pub mod storage;
pub mod tally;
pub mod transactions;

pub use connection::{Address, Connection, Databases, Login, Tls};
pub use database::DatabaseKind;
pub use kind::{Demand, Job, RATE, Request, RunEnvironment, WorkloadKind};
pub use metrics::{Adding, Metric};
pub use outcome::{Failure, Latencies, NodeTotal, Outcome, Progress, Reason, Sample, Step, TRANSACTION};
pub use storage::Storage;
pub use transactions::Transactions;
