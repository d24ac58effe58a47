//! What the built-in models come to, against what the vendors state.

use fathom_catalogue::{Burst, Catalogue, CatalogueError, Overrides, Resolved};
use fathom_units::{Bytes, Iops, Rate, Span};

const MIB: f64 = 1_048_576.0;

fn volume(name: &str, size: &str) -> Resolved {
    Catalogue::builtin().resolve(name, Some(size.parse().unwrap()), &Overrides::default()).unwrap()
}

fn provisioned(
    name: &str,
    size: &str,
    iops: Option<f64>,
    throughput: Option<&str>,
) -> Result<Resolved, CatalogueError> {
    let overrides = Overrides {
        iops: iops.map(|iops| Iops::new(iops).unwrap()),
        throughput: throughput.map(|rate| rate.parse().unwrap()),
        ..Overrides::default()
    };
    Catalogue::builtin().resolve(name, Some(size.parse().unwrap()), &overrides)
}

fn refusal(result: Result<Resolved, CatalogueError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn gp2_grows_with_its_size_and_bursts_on_credits() {
    let limits = volume("aws/gp2", "100GiB").limits;
    assert_eq!(limits.iops, Some(300.0));
    assert_eq!(limits.bytes_per_s, Some(128.0 * MIB));
    let burst = Burst { peak_per_s: 3000.0, bucket: 5.4e6, earn_per_s: 300.0, initial: 5.4e6 };
    assert_eq!(limits.burst, Some(burst));
    // The guide's table: 2,000 s of burst, 18,000 s to fill an empty bucket.
    assert_eq!(burst.bucket / (burst.peak_per_s - burst.earn_per_s), 2000.0);
    assert_eq!(burst.bucket / burst.earn_per_s, 18_000.0);

    for (size, iops, mib, bursts) in [
        ("1GiB", 100.0, 128.0, true),
        ("33GiB", 100.0, 128.0, true),
        ("170GiB", 510.0, 128.0, true),
        ("171GiB", 513.0, 250.0, true),
        ("999GiB", 2997.0, 250.0, true),
        ("1000GiB", 3000.0, 250.0, false),
        ("4TiB", 12_288.0, 250.0, false),
        ("5334GiB", 16_000.0, 250.0, false),
        ("16TiB", 16_000.0, 250.0, false),
    ] {
        let limits = volume("aws/gp2", size).limits;
        assert_eq!((limits.iops, limits.bytes_per_s), (Some(iops), Some(mib * MIB)), "{size}");
        assert_eq!(limits.burst.is_some(), bursts, "{size}");
    }
    let compliance = volume("aws/gp2", "1TiB").limits.compliance.unwrap();
    assert_eq!((compliance.share_of_limit, compliance.share_of_time), (0.9, 0.99));
}

/// The guide's tables of base and burst throughput in MiB/s by size in TiB; 31 and 10 there are 31.25 and 10.
#[test]
fn hard_disk_volumes_have_the_rates_of_the_guides_tables() {
    for (name, rows) in [
        (
            "aws/st1",
            [("128GiB", 5.0, 31.25), ("1TiB", 40.0, 250.0), ("3TiB", 120.0, 500.0), ("16TiB", 500.0, 500.0)],
        ),
        (
            "aws/sc1",
            [("128GiB", 1.5, 10.0), ("1TiB", 12.0, 80.0), ("3200GiB", 37.5, 250.0), ("16TiB", 192.0, 250.0)],
        ),
    ] {
        for (size, base, peak) in rows {
            let limits = volume(name, size).limits;
            assert_eq!(limits.bytes_per_s, Some(base * MIB), "{name} {size}");
            // A request of 1 MiB or less takes a credit of 1 MiB.
            assert_eq!((limits.iops, limits.quantum), (Some(base), Bytes::mib(1)), "{name} {size}");
            let bytes: f64 = size.parse::<Bytes>().unwrap().get() as f64;
            let Some(burst) = limits.throughput_burst else {
                assert_eq!((size, base), ("16TiB", peak), "only the largest st1 has nothing to burst to");
                continue;
            };
            assert_eq!((burst.peak_per_s, burst.bucket), (peak * MIB, bytes), "{name} {size}");
            let burst = limits.burst.unwrap();
            assert_eq!((burst.peak_per_s, burst.bucket), (peak, bytes / MIB), "{name} {size}");
        }
    }
    for size in ["124GiB", "17TiB"] {
        assert!(refusal(provisioned("aws/st1", size, None, None)).contains("offers no volume"), "{size}");
    }
    // 1 TiB of credits spent at 250 and earned at 40 MiB/s.
    let burst = volume("aws/st1", "1TiB").limits.throughput_burst.unwrap();
    assert!((burst.bucket / (burst.peak_per_s - burst.earn_per_s) - 4993.2).abs() < 0.1);
    let told = Catalogue::builtin().explain("aws/st1").unwrap().formulas;
    assert!(
        told.contains(&"throughput in bursts: 250 KiB/s per GiB, at most 500 MiB/s".to_owned()),
        "{told:?}"
    );
}

#[test]
fn gp3_has_a_base_and_provisions_the_rest() {
    let limits = volume("aws/gp3", "4TiB").limits;
    assert_eq!((limits.iops, limits.bytes_per_s, limits.burst), (Some(3000.0), Some(125.0 * MIB), None));
    assert_eq!((limits.quantum, limits.merge_sequential), (Bytes::kib(256), true));

    let limits = provisioned("aws/gp3", "1TiB", Some(16_000.0), Some("1000MiB/s")).unwrap().limits;
    assert_eq!((limits.iops, limits.bytes_per_s), (Some(16_000.0), Some(1000.0 * MIB)));

    let error = refusal(provisioned("aws/gp3", "10GiB", Some(6000.0), None));
    assert!(error.contains("iops of 6,000 IOPS is outside"), "{error}");
    assert!(error.contains("from 3,000 IOPS to 5,000 IOPS (500 IOPS per GiB"), "{error}");
    let error = refusal(provisioned("aws/gp3", "1TiB", None, Some("1000MiB/s")));
    assert!(error.contains("with 1TiB and 3,000 IOPS set throughput from 125 MiB/s to 750 MiB/s"), "{error}");
    assert!(provisioned("aws/gp3", "1TiB", Some(80_001.0), None).is_err());
    assert!(provisioned("aws/gp3", "1TiB", Some(2999.0), None).is_err());
}

#[test]
fn provisioned_iops_volumes_need_iops_and_keep_the_ratio() {
    let error =
        Catalogue::builtin().resolve("aws/io1", Some(Bytes::gib(100)), &Overrides::default()).unwrap_err();
    assert!(
        error.to_string().contains("it needs iops\n  with 100GiB set iops from 100 IOPS to 5,000 IOPS"),
        "{error}"
    );
    for (name, size, iops, mib) in [
        ("aws/io1", "100GiB", 5000.0, 500.0),
        ("aws/io1", "100GiB", 1000.0, 250.0),
        ("aws/io1", "2TiB", 48_000.0, 750.0),
        ("aws/io1", "2TiB", 64_000.0, 1000.0),
        ("aws/io2", "128GiB", 64_000.0, 1000.0),
        ("aws/io2-block-express", "256GiB", 256_000.0, 4000.0),
    ] {
        let limits = provisioned(name, size, Some(iops), None).unwrap().limits;
        assert_eq!((limits.iops, limits.bytes_per_s), (Some(iops), Some(mib * MIB)), "{name} {size}");
    }
    for (name, size, iops) in [
        ("aws/io1", "100GiB", 5001.0),
        ("aws/io2", "100GiB", 50_001.0),
        ("aws/io2-block-express", "64GiB", 64_001.0),
    ] {
        assert!(
            refusal(provisioned(name, size, Some(iops), None)).contains("outside what the vendor offers"),
            "{name}"
        );
    }
    let older = refusal(provisioned("aws/io2", "1TiB", Some(100_000.0), None));
    assert!(older.contains("or take aws/io2-block-express, which is sold instead today"), "{older}");
    // 0.256 MiB/s per IOPS
    let limits = provisioned("aws/io2-block-express", "1TiB", Some(10_000.0), None).unwrap().limits;
    assert!((limits.bytes_per_s.unwrap() / MIB - 2560.0).abs() < 0.01);
    // An average below 500 us for 16 KiB.
    let service = volume_service("aws/io2-block-express");
    assert!(service.latency(Bytes::kib(16)) < Span::from_micros(500));
}

fn volume_service(name: &str) -> fathom_catalogue::ServiceTime {
    provisioned(name, "1TiB", Some(10_000.0), None).unwrap().service.read
}

#[test]
fn sizes_the_vendor_does_not_offer_are_refused() {
    for (name, size) in [("aws/gp2", "17TiB"), ("aws/gp2", "1MiB"), ("azure/premium-ssd", "32TiB")] {
        let error = refusal(provisioned(name, size, None, None));
        assert!(
            error.contains(&format!("the vendor offers no volume of {size}\n  set size from ")),
            "{error}"
        );
    }
    let error = Catalogue::builtin().resolve("aws/gp2", None, &Overrides::default()).unwrap_err().to_string();
    assert!(error.contains("it needs a size\n  set size from 1GiB to 16TiB"), "{error}");
    let error = refusal(provisioned("aws/gp2", "1TiB", Some(5000.0), None));
    assert!(error.contains("its iops follows from its size and can not be set"), "{error}");
    assert!(error.contains("1TiB has 3,072 IOPS"), "{error}");
}

#[test]
fn fsx_takes_the_lower_of_file_server_and_storage() {
    // The published file system: 26 TB, 80,000 IOPS, 2 GB/s.
    let limits = provisioned("aws/fsx-windows-ssd", "26TB", Some(80_000.0), Some("2048MB/s")).unwrap().limits;
    assert_eq!((limits.iops, limits.bytes_per_s), (Some(80_000.0), Some(2.048e9)));
    let limits = provisioned("aws/fsx-windows-ssd", "26TB", None, Some("2048MB/s")).unwrap().limits;
    assert!((limits.iops.unwrap() - 72_643.0).abs() < 1.0, "3 per GiB of 26 TB");
    let limits = provisioned("aws/fsx-windows-ssd", "26TB", None, Some("512MB/s")).unwrap().limits;
    assert_eq!((limits.iops, limits.bytes_per_s), (Some(20_000.0), Some(5.12e8)));
    let limits = provisioned("aws/fsx-windows-ssd", "1TiB", None, Some("2048MB/s")).unwrap().limits;
    assert_eq!(limits.bytes_per_s, Some(750e3 * 1024.0));
    let error = refusal(provisioned("aws/fsx-windows-ssd", "26TB", None, Some("2GB/s")));
    assert!(error.contains("2GB/s is not offered\n  set throughput to one of 32 MB/s, 64 MB/s"), "{error}");
    let error = refusal(provisioned("aws/fsx-windows-ssd", "26TB", Some(80_000.0), Some("512MB/s")));
    assert!(error.contains("80,000 IOPS is outside"), "{error}");
}

#[test]
fn azure_premium_rounds_up_to_a_tier() {
    for (size, iops, mb, burst) in [
        ("1TiB", 5000.0, 200.0, false),
        ("600GiB", 5000.0, 200.0, false),
        ("512GiB", 2300.0, 150.0, true),
        ("32767GiB", 20_000.0, 900.0, false),
    ] {
        let limits = volume("azure/premium-ssd", size).limits;
        assert_eq!((limits.iops, limits.bytes_per_s), (Some(iops), Some(mb * 1e6)), "{size}");
        assert_eq!((limits.burst.is_some(), limits.throughput_burst.is_some()), (burst, burst), "{size}");
    }
    // 30 minutes at the peak.
    let burst = volume("azure/premium-ssd", "512GiB").limits.burst.unwrap();
    assert_eq!(burst.bucket, (3500.0 - 2300.0) * 1800.0);
    let sectors = volume("azure/premium-ssd", "1TiB").geometry;
    assert_eq!((sectors.logical_sector, sectors.physical_sector), (Bytes::new(512), Bytes::kib(4)));
}

#[test]
fn azure_and_google_provisioned_disks_keep_their_ratios() {
    let limits =
        provisioned("azure/premium-ssd-v2", "160GiB", Some(80_000.0), Some("2000MB/s")).unwrap().limits;
    assert_eq!((limits.iops, limits.bytes_per_s), (Some(80_000.0), Some(2e9)));
    assert!(provisioned("azure/premium-ssd-v2", "8GiB", Some(4001.0), None).is_err());
    assert!(
        refusal(provisioned("azure/premium-ssd-v2", "1TiB", None, Some("751MB/s"))).contains("to 750 MB/s")
    );
    assert!(refusal(provisioned("azure/ultra-disk", "64GiB", None, None)).contains("it needs iops"));
    let limits = provisioned("azure/ultra-disk", "64GiB", Some(64_000.0), Some("10000MB/s")).unwrap().limits;
    assert_eq!((limits.iops, limits.bytes_per_s), (Some(64_000.0), Some(1e10)));

    let limits = volume("gcp/pd-ssd", "1TiB").limits;
    assert_eq!(limits.iops, Some(6000.0 + 30.0 * 1024.0));
    assert_eq!(volume("gcp/pd-ssd", "64TiB").limits.bytes_per_s, Some(1200.0 * MIB));
    let limits = volume("gcp/hyperdisk-balanced", "1TiB").limits;
    assert_eq!((limits.iops, limits.bytes_per_s), (Some(3000.0), Some(140.0 * MIB)));
    let limits = provisioned("gcp/hyperdisk-extreme", "1TiB", Some(10_000.0), None).unwrap().limits;
    assert_eq!(limits.bytes_per_s, Some(2500.0 * MIB));
}

#[test]
fn instances_cap_all_their_volumes() {
    let catalogue = Catalogue::builtin();
    let r5d = catalogue.instance("aws/r5d.4xlarge").unwrap();
    assert_eq!((r5d.iops, r5d.bytes_per_s, r5d.burst), (18_750.0, 593.75e6, None));
    assert_eq!((r5d.iops_at, r5d.throughput_at), (Bytes::kib(16), Bytes::kib(128)));
    let store = r5d.instance_store.unwrap();
    assert_eq!((store.count, store.size, store.read_iops), (2, "300GB".parse().unwrap(), 234_000.0));

    // IOPS of 30 minutes above what is sustained; the throughput of this size has no burst.
    let azure = catalogue.instance("azure/edsv6.e48ds").unwrap();
    let burst = azure.burst.unwrap();
    assert_eq!((burst.earn_per_s, burst.peak_per_s, burst.bucket), (76_800.0, 80_000.0, 3200.0 * 1800.0));
    assert!(azure.throughput_burst.is_none());
    let store = azure.instance_store.unwrap();
    assert_eq!((store.count, store.size, store.write_iops), (6, Bytes::gib(440), 360_000.0));

    let burst = catalogue.instance("aws/r6id.4xlarge").unwrap().burst.unwrap();
    assert_eq!((burst.earn_per_s, burst.peak_per_s), (20_000.0, 40_000.0));
    assert_eq!(burst.bucket / (burst.peak_per_s - burst.earn_per_s), 1800.0);
    for (name, iops, mb) in [
        ("aws/r5b.24xlarge", 260_000.0, 7500.0),
        ("aws/r6i.32xlarge", 160_000.0, 5000.0),
        ("aws/r7i.48xlarge", 240_000.0, 5000.0),
        ("aws/i4i.32xlarge", 160_000.0, 5000.0),
        ("aws/i3en.24xlarge", 80_000.0, 2375.0),
        ("aws/im4gn.16xlarge", 160_000.0, 5000.0),
        ("aws/im4gn.4xlarge", 40_000.0, 1250.0),
        ("aws/is4gen.8xlarge", 80_000.0, 2500.0),
        ("aws/i3.metal", 80_000.0, 2375.0),
        ("aws/i3.16xlarge", 65_000.0, 1750.0),
        ("aws/x2iedn.32xlarge", 260_000.0, 10_000.0),
        ("aws/r5.2xlarge", 12_000.0, 287.5),
        ("aws/m5a.24xlarge", 60_000.0, 1696.25),
        ("aws/m6g.medium", 2500.0, 39.375),
        ("azure/edsv5.e104ids", 120_000.0, 4000.0),
        ("azure/ebdsv5.e8bds", 33_000.0, 930.0),
        ("azure/ebdsv5-premium-v2.e8bds", 44_200.0, 1200.0),
        ("azure/ebdsv6-premium-v2.e192ibds", 800_000.0, 14_000.0),
        ("azure/lsv3.l80s", 80_000.0, 2160.0),
    ] {
        let instance = catalogue.instance(name).unwrap();
        assert_eq!((instance.iops, instance.bytes_per_s), (iops, mb * 1e6), "{name}");
    }
}

#[test]
fn adapters_have_their_depths() {
    let catalogue = Catalogue::builtin();
    let pvscsi = catalogue.adapter("vmware/pvscsi").unwrap();
    let depths = |depth: Option<fathom_catalogue::Depth>| depth.map(|depth| (depth.default, depth.max));
    assert_eq!(depths(pvscsi.per_device), Some((64, 254)));
    assert_eq!(depths(pvscsi.per_adapter), Some((256, 1024)));
    assert_eq!(depths(pvscsi.ring_pages), Some((8, 32)));
    assert_eq!(pvscsi.max_transfer, Some(Bytes::kib(512)));
    let lsi = catalogue.adapter("vmware/lsi-logic-sas").unwrap();
    assert_eq!((depths(lsi.per_device), depths(lsi.per_adapter)), (Some((32, 32)), Some((128, 128))));
    assert_eq!(catalogue.adapter("vmware/nvme").unwrap().per_device, None);
}

/// With every server busy, small requests reach the sheet's IOPS and large ones its throughput.
#[test]
fn drives_reach_the_figures_of_their_sheets() {
    let catalogue = Catalogue::builtin();
    for (name, read, write, read_rate, write_rate) in [
        ("nvme/pm1725a", 1e6, 180e3, 6.2e9, 2.6e9),
        ("nvme/pm1725a-u2", 800e3, 160e3, 3.3e9, 3e9),
        ("intel/s3610", 84e3, 28e3, 550e6, 520e6),
        ("aws/i3.metal/nvme", 412_500.0, 175e3, 412_500.0 * 4096.0 * 1.2, 175e3 * 4096.0 * 1.2),
        ("aws/r5d.4xlarge/nvme", 117e3, 57e3, 117e3 * 4096.0 * 1.2, 57e3 * 4096.0 * 1.2),
        ("aws/i4i.32xlarge/nvme", 400e3, 220e3, 400e3 * 4096.0 * 1.88, 220e3 * 4096.0 * 2.5),
        ("aws/im4gn.16xlarge/nvme", 250e3, 200e3, 250e3 * 4096.0 * 2.25, 200e3 * 4096.0 * 1.25),
        ("aws/is4gen.medium/nvme", 31_250.0, 25e3, 31_250.0 * 4096.0 * 2.25, 25e3 * 4096.0 * 1.25),
        ("azure/edsv6.e2ds/nvme", 37_500.0, 15e3, 180e6, 90e6),
    ] {
        let service = catalogue.resolve(name, None, &Overrides::default()).unwrap().service;
        let per_s = |busy: Span| f64::from(service.servers) / busy.as_secs_f64();
        for (time, iops, rate) in [(service.read, read, read_rate), (service.write, write, write_rate)] {
            let small = per_s(time.busy(Bytes::kib(4)));
            assert!((small / iops - 1.0).abs() < 0.01, "{name}: {small} of {iops} IOPS");
            let large = per_s(time.busy(Bytes::mib(64))) * Bytes::mib(64).get() as f64;
            assert!((large / rate - 1.0).abs() < 0.01, "{name}: {large} of {rate} bytes/s");
        }
    }
    // As ScyllaDB's iotune measured them (scylla-machine-image, common/aws_io_params.yaml), bytes per second.
    for (name, read, write) in [
        ("aws/i4i.large/nvme", 378_494_048.0, 279_713_216.0),
        ("aws/i4i.4xlarge/nvme", 3_087_631_104.0, 2_289_281_280.0),
        ("aws/i3en.large/nvme", 330_301_440.0, 165_675_008.0),
        ("aws/i3en.3xlarge/nvme", 2_043_674_624.0, 1_024_458_752.0),
        ("aws/im4gn.2xlarge/nvme", 1_152_663_765.0, 508_926_453.0),
        ("aws/is4gen.medium/nvme", 288_462_506.0, 126_954_200.0),
        ("aws/r5d.large/nvme", 158_538_149.0, 70_219_810.0),
        ("aws/r5d.2xlarge/nvme", 621_758_272.0, 267_667_525.0),
    ] {
        let service = catalogue.resolve(name, None, &Overrides::default()).unwrap().service;
        for (time, measured) in [(service.read, read), (service.write, write)] {
            let busy = time.busy(Bytes::mib(64)).as_secs_f64();
            let large = f64::from(service.servers) / busy * Bytes::mib(64).get() as f64;
            assert!((large / measured - 1.0).abs() < 0.1, "{name}: {large} of {measured} bytes/s");
        }
    }
    let read = catalogue.resolve("nvme/pm1725a", None, &Overrides::default()).unwrap().service.read;
    assert_eq!(read.latency(Bytes::kib(4)), Span::from_nanos(81_600));
}

#[test]
fn a_hard_disk_pays_for_movement() {
    let disk = Catalogue::builtin().resolve("hdd/sata-7200", None, &Overrides::default()).unwrap();
    let positioning = disk.service.positioning.unwrap();
    assert_eq!((disk.service.servers, positioning.read), (1, Span::from_micros(11_560)));
    let random = disk.service.read.latency(Bytes::kib(4)).as_secs_f64() + positioning.read.as_secs_f64();
    assert!((80.0..90.0).contains(&(1.0 / random)), "{} random reads per second", 1.0 / random);
    let queued = disk.service.read.latency(Bytes::kib(4)).as_secs_f64()
        + positioning.queued * positioning.read.as_secs_f64();
    assert!((170.0..210.0).contains(&(1.0 / queued)), "{} with 32 outstanding", 1.0 / queued);
    assert!(disk.service.volatile_cache.is_some());
}

#[test]
fn a_drive_says_what_it_does_by_itself() {
    let told = Catalogue::builtin().explain("aws/im4gn.16xlarge/nvme").unwrap();
    let drive = "one of 4 x 7.5 TB: 250,000 IOPS and 2,304 MB/s read, 200,000 IOPS and 1,024 MB/s written, 25 requests at once";
    assert_eq!(told.summary, drive);
}

#[test]
fn a_hard_disk_s_seeks_are_those_of_the_whole_drive() {
    let resolve = |size| Catalogue::builtin().resolve("hdd/sata-7200", size, &Overrides::default()).unwrap();
    let span = |size| resolve(size).service.positioning.unwrap().span;
    assert_eq!(span(Some(Bytes::gib(1))), span(None), "a volume is a part of a drive");
    assert_eq!(span(Some("18TB".parse().unwrap())), "18TB".parse().unwrap());
}

#[test]
fn a_drive_has_a_size_of_its_own_and_no_provisioning() {
    let catalogue = Catalogue::builtin();
    let drive = catalogue.resolve("aws/r5d.4xlarge/nvme", None, &Overrides::default()).unwrap();
    assert_eq!(drive.size, "300GB".parse().unwrap());
    let error =
        catalogue.resolve("aws/r5d.4xlarge/nvme", Some(Bytes::tib(1)), &Overrides::default()).unwrap_err();
    assert!(
        error.to_string().contains("there is no such drive of 1TiB\n  leave size out for 300GB"),
        "{error}"
    );
    let overrides = Overrides { iops: Iops::new(5000.0), throughput: None, ..Overrides::default() };
    assert!(
        catalogue.resolve("nvme/pm1725a", None, &overrides).unwrap_err().to_string().contains("throttle")
    );
    let overrides = Overrides { iops: None, throughput: Some(Rate::mib(1)), ..Overrides::default() };
    assert!(catalogue.resolve("nvme/pm1725a", None, &overrides).is_err());
}

#[test]
fn an_assumed_latency_is_taken_from_its_range() {
    use fathom_catalogue::Assumed;
    let read = |assumed| {
        let overrides = Overrides { assumed, ..Overrides::default() };
        let found = Catalogue::builtin().resolve("aws/gp3", Some(Bytes::gib(100)), &overrides).unwrap();
        found.service.read.base
    };
    let ms = |microseconds: u64| Span::from_nanos(microseconds * 1000);
    assert_eq!([Assumed::Low, Assumed::Typical, Assumed::High].map(read), [ms(500), ms(1000), ms(3000)]);
    let gp3 = volume("aws/gp3", "100GiB");
    let told: Vec<_> = gp3.assumptions.iter().map(|a| (a.name, a.value.as_str(), a.high.as_str())).collect();
    assert_eq!(told[0], ("assumed_read", "1 ms", "3 ms"));
    assert_eq!(told[2], ("assumed_shape", "log-normal, sigma 0.4", "log-normal, sigma 0.7"));
}

#[test]
fn every_range_holds_its_value() {
    for entry in Catalogue::builtin().list() {
        let size = Some(Bytes::gib(1000));
        let at = |assumed| {
            let overrides = Overrides { assumed, ..Overrides::default() };
            let found = Catalogue::builtin().resolve(&entry.name, size, &overrides).ok()?;
            Some((found.service.read.base, found.service.write.base))
        };
        use fathom_catalogue::Assumed::{High, Low, Typical};
        if let (Some(low), Some(typical), Some(high)) = (at(Low), at(Typical), at(High)) {
            assert!(low.0 <= typical.0 && typical.0 <= high.0, "{}", entry.name);
            assert!(low.1 <= typical.1 && typical.1 <= high.1, "{}", entry.name);
        }
    }
}
