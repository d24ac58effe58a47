//! The keys of an `io` workload as its manual lists them, and the metrics it yields.

use fathom_settings::Key;

use fathom_job::{Metric, metrics};

/// Every key the reader asks for.
pub const KEYS: &[Key] = &[
    Key::required("volumes", "list of volumes", "What it drives."),
    Key::optional("preset", "name of a preset", "none", "A profile by name; the other keys override it."),
    Key::optional(
        "devices",
        "1 to 4096",
        "1",
        "Of `backup`: devices that it writes to. Its buffers are 4 x devices + 2 x volumes.",
    ),
    Key::optional(
        "buffers",
        "1 to 4096",
        "by `devices`",
        "Of `backup`: BUFFERCOUNT. The volumes' readers share them: so many reads are outstanding.",
    ),
    Key::optional("files", "1 to 4096", "1", "Of `checkdb`: files of the database on each volume."),
    Key::optional(
        "per",
        "`drive` or `file`",
        "drive",
        "Of `checkdb`: a stream of reads for each volume, or for each file as with trace flag 2549.",
    ),
    Key::optional(
        "spread",
        "`one` or `all`",
        "one",
        "Workers take the volumes by turns, or each request draws its volume.",
    ),
    Key::optional("workers", "1 to 65536", "1", "Groups of users; each has a sequential region of its own."),
    Key::optional(
        "outstanding",
        "1 to 65536",
        "1; with `rate` 1024",
        "Users per worker: requests outstanding in a closed loop, the most outstanding in an open one.",
    ),
    Key::optional(
        "read",
        "percentage",
        "100%",
        "Share of reads; writes are what is neither read nor trimmed.",
    ),
    Key::optional("trim", "percentage", "0%", "Share of trims."),
    Key::optional("size", "size", "4KiB", "Bytes of a request."),
    Key::optional("sizes", "list of { size, weight }", "none", "Sizes with weights, instead of `size`."),
    Key::optional("write_size", "size", "as reads", "Bytes of a write or trim."),
    Key::optional(
        "write_sizes",
        "list of { size, weight }",
        "as reads",
        "Sizes of writes and trims with weights.",
    ),
    Key::optional(
        "offsets",
        "`random`, `sequential`, `shared-sequential`, `zipf` or `hot-spot`",
        "random",
        "Where requests go. `sequential`: each worker through its own part; `shared-sequential`: all from one place.",
    ),
    Key::optional(
        "theta",
        "0 to 10",
        "0.99",
        "Zipf's exponent: the k-th most popular block in proportion to k^-theta.",
    ),
    Key::optional("hot_requests", "percentage", "80%", "Share of the requests that go to the hot space."),
    Key::optional("hot_space", "percentage", "20%", "Share of the area that is hot, at its start."),
    Key::optional("align", "size", "the smallest size", "Offsets are multiples of it, counted from `start`."),
    Key::optional("start", "size", "0B", "First byte used."),
    Key::optional("length", "size", "to the end", "Bytes used from there."),
    Key::optional(
        "flush_every",
        "whole number",
        "0",
        "A flush after that many writes of a worker; 0: never.",
    ),
    Key::optional("fua", "true or false", "false", "Writes carry the FUA flag: durable on completion."),
    Key::optional("think", "time span", "0s", "Closed loop: a user waits that long before its next request."),
    Key::optional(
        "think_time",
        "`constant` or `exponential`",
        "constant",
        "Whether `think` is every wait or their mean.",
    ),
    Key::optional(
        "rate",
        "requests per second",
        "closed loop",
        "Open loop: requests arrive at that rate, all workers together.",
    ),
    Key::optional(
        "arrivals",
        "`constant`, `poisson`, `hyperexponential` or `on-off`",
        "poisson",
        "How arrivals are spread around the rate.",
    ),
    Key::optional(
        "variation",
        "1 to 10000",
        "4.0",
        "Hyperexponential: squared coefficient of variation of the gaps; 1 is Poisson.",
    ),
    Key::optional("on", "time span", "none", "On-off: length of a burst."),
    Key::optional("off", "time span", "none", "On-off: length of the silence after it."),
    Key::optional(
        "backlog",
        "whole number",
        "65536",
        "Open loop: arrivals that may wait; more are refused and counted.",
    ),
    Key::optional("ramp", "time span", "0s", "Runs before the measured phase; totals leave it out."),
    Key::optional("duration", "time span", "30s", "Length of the measured phase."),
    Key::optional(
        "requests",
        "whole number",
        "until `duration`",
        "Ends when that many requests have, instead of `duration`.",
    ),
    Key::optional(
        "bytes",
        "size",
        "until `duration`",
        "Ends when that many bytes have moved, instead of `duration`.",
    ),
    Key::optional(
        "phases",
        "list of tables",
        "none",
        "Stretches that follow each other: `name`, `duration`, and any key of a profile that differs.",
    ),
    Key::optional("interval", "time span", "1s, within 20 to 1000 samples", "Length of a sample."),
    Key::optional("fill", "true or false", "false", "Writes the area once before the ramp."),
    Key::optional(
        "verify",
        "true or false",
        "false",
        "Stamps what is written, checks what is read, reads all back at the end.",
    ),
];

/// Every metric; with phases, `NAME_` before a metric of block I/O is that of the phase.
pub fn metrics() -> Vec<Metric> {
    let mut all = metrics::io();
    all.extend(metrics::named(&["elapsed_s"]));
    all.extend([
        Metric::higher("resync_iops", "resync rate", "IOPS"),
        Metric::higher("resync_mb_per_s", "resync throughput", "MB/s"),
        Metric::lower("refused", "arrivals refused", ""),
        Metric::lower("late_ms", "mean lateness of the load generator", "ms"),
    ]);
    all.extend(metrics::named(&["arrivals_per_second", "backlog_max", "backlog_end"]));
    all
}

#[cfg(test)]
mod tests {
    use fathom_settings::{Diagnostics, Tree};

    use super::KEYS;

    #[test]
    fn every_key_that_is_read_is_documented_and_no_other() {
        let diagnostics = Diagnostics::new();
        let tree = Tree::parse("study.toml", "volumes = [\"data\"]", &diagnostics);
        let mut section = tree.section(&diagnostics);
        super::super::read::read(&mut section).expect("it is right");
        let mut read: Vec<&str> = section.asked().iter().map(String::as_str).collect();
        let mut documented: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
        read.sort_unstable();
        documented.sort_unstable();
        assert_eq!(read, documented);
    }
}
