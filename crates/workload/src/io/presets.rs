//! Profiles by name: what well-known tools and parts of a database do, each with its source.
//!
//! Keys in the settings override what a preset says.

use super::profile::{AddressPattern, Pace, Profile, Think};
use fathom_job::draw::Sizes;

/// A profile by name.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// As written after `preset =`.
    pub name: &'static str,
    /// What it is, one sentence.
    pub summary: &'static str,
    /// Where its figures come from.
    pub source: &'static str,
    /// The profile.
    pub profile: fn() -> Profile,
}

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;

const HCIBENCH: &str =
    "VMware, SQL Server 2016 on vSAN 6.7: HCIBench 1.6.7.1, 8 VMs x 4 disks of 5 GB x 8 threads";
const CRYSTAL: &str =
    "CrystalDiskMark 8, default and peak profiles: 1 GiB of random data, Q requests x T threads";

/// All presets, sorted by name.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "backup",
        summary: "BACKUP DATABASE of one volume to one device: six buffers of 1 MiB read the volume in order",
        source: "Microsoft psssql, How does SQL Server Backup and Restore select transfer sizes: 1 MB transfers; buffers = \
                 3 x devices + devices + 2 x volumes = 6",
        profile: || scan(6, AddressPattern::SharedSequential, Sizes::fixed(MIB)),
    },
    Preset {
        name: "checkdb",
        summary: "DBCC CHECKDB: one stream of read-ahead per drive, through everything, with a deep queue; one worker per \
                  drive or file",
        source: "Microsoft, Reading Pages: read-ahead of up to 64 pages (512 KiB); Randal, TechNet Magazine: queues of \
                 hundreds. How deep depends on the machine: 32 is this preset's choice",
        profile: || scan(32, AddressPattern::Sequential, Sizes::fixed(512 * KIB)),
    },
    Preset {
        name: "decision-support",
        summary: "scans of many query workers side by side, each reading ahead 4 MB",
        source: "Microsoft, Reading Pages: 64 KiB extents to 64 pages (512 KiB) per read; nikoport.com: up to 500 pages \
                 (4 MB) ahead, which is 8 reads of 512 KiB. Equal shares of the sizes and 32 workers are this preset's choice; \
                 the largest read seen is 4 MB (sql.sasquatch)",
        profile: || Profile {
            workers: 32,
            ..scan(8, AddressPattern::Random, even(&[64 * KIB, 128 * KIB, 256 * KIB, 512 * KIB]))
        },
    },
    Preset {
        name: "hci-70-30-8k",
        summary: "HCIBench: 70 % reads of 8 KiB at random",
        source: HCIBENCH,
        profile: || hci(0.7, 8 * KIB, AddressPattern::Random),
    },
    Preset {
        name: "hci-90-10-64k-seq",
        summary: "HCIBench: 90 % reads of 64 KiB in order",
        source: HCIBENCH,
        profile: || hci(0.9, 64 * KIB, AddressPattern::Sequential),
    },
    Preset {
        name: "hci-90-10-8k",
        summary: "HCIBench: 90 % reads of 8 KiB at random",
        source: HCIBENCH,
        profile: || hci(0.9, 8 * KIB, AddressPattern::Random),
    },
    Preset {
        name: "log-writer",
        summary: "a transaction log: one write after the other, 512 B to 60 KiB, each durable before the next",
        source: "Randal, Trimming More Transaction Log Fat: sector multiples up to 60 KB, write-through; sizes with the mean \
                 of a published TPC-C trace's log device, 15.3 KB (MQSim's tpcc-small)",
        profile: log_writer,
    },
    Preset {
        name: "oltp-8k-70-30",
        summary: "an OLTP database's data files: 70 % reads of 8 KiB at random, 32 outstanding",
        source: "8 KiB is SQL Server's page; 70/30 is the customary mix of sizing tools; 32 outstanding is this preset's choice",
        profile: || Profile {
            workers: 4,
            outstanding: 8,
            read: 0.7,
            ..of_size(8 * KIB, AddressPattern::Random)
        },
    },
    Preset {
        name: "rnd4k-q1t1-read",
        summary: "CrystalDiskMark RND4K Q1T1, reads",
        source: CRYSTAL,
        profile: || crystal(4 * KIB, 1, 1, 1.0),
    },
    Preset {
        name: "rnd4k-q1t1-write",
        summary: "CrystalDiskMark RND4K Q1T1, writes",
        source: CRYSTAL,
        profile: || crystal(4 * KIB, 1, 1, 0.0),
    },
    Preset {
        name: "rnd4k-q32t1-read",
        summary: "CrystalDiskMark RND4K Q32T1, reads",
        source: CRYSTAL,
        profile: || crystal(4 * KIB, 32, 1, 1.0),
    },
    Preset {
        name: "rnd4k-q32t1-write",
        summary: "CrystalDiskMark RND4K Q32T1, writes",
        source: CRYSTAL,
        profile: || crystal(4 * KIB, 32, 1, 0.0),
    },
    Preset {
        name: "rnd4k-q32t16-read",
        summary: "CrystalDiskMark RND4K Q32T16, reads",
        source: CRYSTAL,
        profile: || crystal(4 * KIB, 32, 16, 1.0),
    },
    Preset {
        name: "rnd4k-q32t16-write",
        summary: "CrystalDiskMark RND4K Q32T16, writes",
        source: CRYSTAL,
        profile: || crystal(4 * KIB, 32, 16, 0.0),
    },
    Preset {
        name: "seq128k-q32t1-read",
        summary: "CrystalDiskMark SEQ128K Q32T1, reads",
        source: CRYSTAL,
        profile: || crystal(128 * KIB, 32, 1, 1.0),
    },
    Preset {
        name: "seq128k-q32t1-write",
        summary: "CrystalDiskMark SEQ128K Q32T1, writes",
        source: CRYSTAL,
        profile: || crystal(128 * KIB, 32, 1, 0.0),
    },
    Preset {
        name: "seq1m-q1t1-read",
        summary: "CrystalDiskMark SEQ1M Q1T1, reads",
        source: CRYSTAL,
        profile: || crystal(MIB, 1, 1, 1.0),
    },
    Preset {
        name: "seq1m-q1t1-write",
        summary: "CrystalDiskMark SEQ1M Q1T1, writes",
        source: CRYSTAL,
        profile: || crystal(MIB, 1, 1, 0.0),
    },
    Preset {
        name: "seq1m-q8t1-read",
        summary: "CrystalDiskMark SEQ1M Q8T1, reads",
        source: CRYSTAL,
        profile: || crystal(MIB, 8, 1, 1.0),
    },
    Preset {
        name: "seq1m-q8t1-write",
        summary: "CrystalDiskMark SEQ1M Q8T1, writes",
        source: CRYSTAL,
        profile: || crystal(MIB, 8, 1, 0.0),
    },
];

/// The preset of that name.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

fn of_size(bytes: u64, places: AddressPattern) -> Profile {
    Profile {
        read_sizes: Sizes::fixed(bytes),
        write_sizes: Sizes::fixed(bytes),
        places,
        ..Profile::default()
    }
}

fn even(sizes: &[u64]) -> Sizes {
    let weighted: Vec<(u64, f64)> = sizes.iter().map(|size| (*size, 1.0)).collect();
    Sizes::weighted(&weighted).expect("equal weights are sound")
}

fn scan(outstanding: u32, places: AddressPattern, read_sizes: Sizes) -> Profile {
    Profile { outstanding, places, read_sizes, ..Profile::default() }
}

fn hci(read: f64, bytes: u64, places: AddressPattern) -> Profile {
    Profile { workers: 32, outstanding: 8, read, ..of_size(bytes, places) }
}

fn crystal(bytes: u64, outstanding: u32, workers: u32, read: f64) -> Profile {
    let places = if bytes > 4 * KIB { AddressPattern::Sequential } else { AddressPattern::Random };
    Profile { workers, outstanding, read, most: Some(GIB), ..of_size(bytes, places) }
}

fn log_writer() -> Profile {
    // Weights chosen for a mean of 15.3 KB; the smallest and the largest are the log manager's bounds.
    let sizes = [
        (512, 8.0),
        (2 * KIB, 14.0),
        (4 * KIB, 22.0),
        (8 * KIB, 20.0),
        (16 * KIB, 16.0),
        (32 * KIB, 12.0),
        (60 * KIB, 10.0),
    ];
    Profile {
        read: 0.0,
        write_sizes: Sizes::weighted(&sizes).expect("the weights are sound"),
        places: AddressPattern::Sequential,
        fua: true,
        pace: Pace::Closed(Think::None),
        ..Profile::default()
    }
}

#[cfg(test)]
mod tests {
    use fathom_runtime::{MICROSECOND, MILLISECOND};
    use fathom_volume::{Kind, Site};

    use super::{PRESETS, find};
    use crate::io::{Config, Limit, run};
    use crate::testing::Timed;
    use fathom_job::storage::Storage;

    #[test]
    fn names_are_unique_and_sorted_and_every_preset_has_a_source() {
        assert!(PRESETS.windows(2).all(|pair| pair[0].name < pair[1].name));
        assert!(PRESETS.iter().all(|preset| !preset.summary.is_empty() && !preset.source.is_empty()));
        assert!(find("backup").is_some() && find("nothing").is_none());
    }

    #[test]
    fn the_log_writer_writes_the_mean_size_of_the_trace() {
        let mean = super::log_writer().write_sizes.mean();
        assert!((mean / 15_300.0 - 1.0).abs() < 0.02, "{mean}");
    }

    #[test]
    fn every_preset_runs_and_keeps_its_users_busy() {
        for preset in PRESETS {
            let site = Site::virtual_time(1, false);
            let nodes = vec![Timed::new(1 << 40, 100 * MICROSECOND).handle(&site.context(), "disk")];
            let storage = Storage { site: &site, nodes };
            let profile = (preset.profile)();
            let limit = Limit::Time(100 * MILLISECOND);
            let config = Config { volumes: vec!["disk".to_owned()], profile, limit, ..Config::default() };
            let outcome = run(&config, &storage, &mut ())
                .unwrap_or_else(|failure| panic!("{}: {failure}", preset.name));
            let users = f64::from(config.profile.users());
            let outstanding = outcome.metrics["outstanding"].expect("it was measured");
            assert!((outstanding / users - 1.0).abs() < 0.01, "{}: {outstanding} for {users}", preset.name);
            let reads = outcome.totals[0].total.kind(Kind::Read).map_or(0, |kind| kind.count);
            assert_eq!(reads > 0, config.profile.read > 0.0, "{}", preset.name);
        }
    }
}
