//! Volumes, instances and adapters out of the catalogue.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::LazyLock;

use fathom_catalogue::{Burst, Catalogue, Kind, Overrides};
use fathom_settings::{Diagnostics, Tree};
use fathom_stack::{Stack, Volumes};
use fathom_units::Bytes;
use fathom_volume::{Request, Site};

/// Read once: it is the larger part of these tests' time.
static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::builtin);

fn read(text: &str) -> (Volumes, Vec<String>) {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("v.toml", text, &diagnostics);
    let volumes = Volumes::read(&mut tree.section(&diagnostics), &CATALOGUE);
    volumes.check(&diagnostics);
    (volumes, diagnostics.list().iter().map(ToString::to_string).collect())
}

fn site() -> Site {
    Site::virtual_time(1, false)
}

fn build<'a>(text: &str, root: &str, site: &'a Site) -> Stack<'a> {
    let (volumes, mistakes) = read(text);
    assert_eq!(mistakes, [""; 0]);
    Stack::build(&volumes, &[root.to_owned()], site).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_cloud_volume_is_a_throttle_on_a_device() {
    let site = site();
    let text = "[volumes.ebs]\nkind = \"model\"\nmodel = \"aws/gp3\"\nsize = \"1TiB\"\n";
    let stack = build(text, "ebs", &site);
    let nodes: Vec<(&str, &str)> = stack.nodes().iter().map(|node| (node.name(), node.kind())).collect();
    assert_eq!(nodes, [("ebs.device", "model"), ("ebs", "throttle")]);
    assert_eq!(stack.get("ebs").expect("it was built").geometry().size, 1 << 40);
    let text = "[volumes.nvme]\nkind = \"model\"\nmodel = \"aws/r5d.4xlarge/nvme\"\n";
    let drive = build(text, "nvme", &site);
    assert_eq!(drive.nodes().len(), 1, "a drive has no limits but its own");
}

/// I/Os per second of users who read at random; the last nine tenths of `requests` in all are counted.
fn reads_per_second(text: &str, name: &str, users: u64, length: u64, requests: u64) -> f64 {
    let site = site();
    let stack = build(text, name, &site);
    let volume = stack.get(name).expect("it was built");
    let context = site.context();
    let places = volume.geometry().size / length;
    let done = Rc::new(Cell::new(0));
    let began = Rc::new(Cell::new(0));
    let users = (0..users).map(|user| {
        let (volume, pool, clock) = (volume.clone(), site.pool().clone(), context.clone());
        let (done, began) = (Rc::clone(&done), Rc::clone(&began));
        context.spawn(async move {
            let mut place = user;
            while done.get() < requests {
                place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let request = Request::new((place >> 16) % places * length, length);
                volume.read(request, pool.get(length as usize)).await.expect("models do not fail");
                done.set(done.get() + 1);
                if done.get() == requests / 10 {
                    began.set(clock.now());
                }
                if done.get() == requests {
                    began.set(clock.now() - began.get());
                }
            }
        })
    });
    let users: Vec<_> = users.collect();
    let all = async {
        for user in users {
            user.await;
        }
    };
    site.runtime().block_on(all).expect("the volumes answer");
    (requests - requests / 10) as f64 / (began.get() as f64 / 1e9)
}

#[test]
fn provisioned_iops_and_caps_of_the_instance_hold() {
    let gp3 = "[volumes.ebs]\nkind = \"model\"\nmodel = \"aws/gp3\"\nsize = \"1TiB\"\niops = 10_000\n";
    let rate = reads_per_second(gp3, "ebs", 32, 4096, 100_000);
    assert!((rate / 10_000.0 - 1.0).abs() < 0.01, "{rate}");
    let capped =
        format!("{gp3}[volumes.data]\nkind = \"throttle\"\nbacking = \"ebs\"\nmodel = \"aws/r5d.large\"\n");
    let caps = CATALOGUE.instance("aws/r5d.large").expect("it is built in");
    let expected = caps.burst.map_or(caps.iops, |burst| burst.peak_per_s);
    let rate = reads_per_second(&capped.replace("10_000", "80_000"), "data", 32, 4096, 100_000);
    assert!((rate / expected - 1.0).abs() < 0.01, "{rate} of {expected}");
}

/// Bytes of a large request: what a drive does for a request beyond moving its bytes is next to nothing of it.
const LARGE: u64 = 1 << 20;

/// Random 4 KiB reads per second that the catalogue states of a drive; None for one whose sheet states none.
fn stated_iops(name: &str) -> Option<f64> {
    if let Some(store) = name.strip_suffix("/nvme") {
        let store = CATALOGUE.instance(store).ok()?.instance_store.expect("it has a drive");
        return Some(store.read_iops / f64::from(store.count));
    }
    let told = CATALOGUE.explain(name).expect("it is listed");
    let figure = told.figures.iter().find(|figure| figure.key == "device.read.iops")?;
    Some(figure.value.trim_end_matches(" IOPS").replace(',', "").parse().expect("a number"))
}

#[test]
fn every_model_does_the_reads_that_the_catalogue_states_for_it() {
    let mut tried = 0;
    for entry in CATALOGUE.list() {
        let size = (entry.kind == Kind::Volume).then_some(Bytes::tib(1));
        let Ok(resolved) = CATALOGUE.resolve(&entry.name, size, &Overrides::default()) else { continue };
        let (limits, service) = (&resolved.limits, &resolved.service);
        let peak = |limit: Option<f64>, burst: Option<Burst>| burst.map(|b| b.peak_per_s).or(limit);
        let iops = peak(limits.iops, limits.burst).or_else(|| stated_iops(&entry.name));
        let bytes = peak(limits.bytes_per_s, limits.throughput_burst).unwrap_or(service.read.bytes_per_s);
        let size = size.map_or_else(String::new, |size| format!("size = \"{}B\"\n", size.get()));
        let text = format!("[volumes.v]\nkind = \"model\"\nmodel = \"{}\"\n{size}", entry.name);
        let Some(iops) = iops else { continue };
        tried += 1;
        let small = reads_per_second(&text, "v", 1024, 4096, 40_000);
        let expected = iops.min(bytes / 4096.0);
        assert!((small / expected - 1.0).abs() < 0.01, "{}: {small:.0} of {expected:.0} IOPS", entry.name);
        let large = reads_per_second(&text, "v", 256, LARGE, 60_000) * LARGE as f64;
        let units = LARGE.div_ceil(limits.quantum.get()) as f64;
        let expected = limits.iops.map_or(bytes, |_| bytes.min(iops / units * LARGE as f64));
        assert!((large / expected - 1.0).abs() < 0.01, "{}: {large:.0} of {expected:.0} bytes/s", entry.name);
    }
    assert!(tried > 70, "{tried} models");
}

#[test]
fn an_adapter_has_the_depths_of_its_model() {
    let disk = "[volumes.disk]\nkind = \"memory\"\nsize = \"1GiB\"\n";
    let adapter = "[volumes.hba]\nkind = \"adapter\"\nbacking = \"disk\"\nmodel = \"vmware/pvscsi\"\n";
    let depth = |text: &str| {
        let site = site();
        build(text, "hba", &site).get("hba").expect("it was built").geometry().queue_depth
    };
    assert_eq!(depth(&format!("{disk}{adapter}")), 64);
    let deeper = format!("{disk}{adapter}per_device = 254\nper_adapter = 1024\n");
    assert_eq!(depth(&deeper), 254);
    let (_, mistakes) = read(&format!("{disk}{adapter}per_device = 255\n"));
    assert_eq!(
        mistakes,
        ["v.toml:8:14: volumes.hba.per_device: 255 is deeper than the adapter can be set; at most 254"]
    );
}

#[test]
fn what_the_vendor_does_not_offer_is_refused_at_its_key() {
    for (keys, words) in [
        (
            "model = \"aws/gp33\"\nsize = \"1TiB\"\n",
            "v.toml:3:9: volumes.v.model: there is no model \"aws/gp33\"",
        ),
        ("model = \"aws/gp3\"\n", "v.toml:3:9: volumes.v.model: aws/gp3: it needs a size; set size from"),
        ("model = \"aws/gp3\"\nsize = \"1PiB\"\n", "v.toml:4:8: volumes.v.size"),
        ("model = \"aws/gp3\"\nsize = \"1TiB\"\niops = 1_000_000\n", "v.toml:5:8: volumes.v.iops"),
        (
            "model = \"aws/gp2\"\nsize = \"1TiB\"\nthroughput = \"1MiB/s\"\n",
            "v.toml:5:14: volumes.v.throughput",
        ),
        ("model = \"aws/r5d.4xlarge\"\n", "is an instance, not a volume or drive"),
        ("model = \"vmware/pvscsi\"\n", "is an adapter, not a volume or drive"),
        ("model = \"aws/gp3\"\nsize = \"1TiB\"\nservers = 4\n", "v.toml:5:1: volumes.v.servers: unknown key"),
    ] {
        let (_, mistakes) = read(&format!("[volumes.v]\nkind = \"model\"\n{keys}"));
        assert!(mistakes.len() == 1 && mistakes[0].contains(words), "{mistakes:#?} lacks {words}");
    }
}

#[test]
fn every_volume_and_drive_of_the_catalogue_can_be_built() {
    for entry in CATALOGUE.list() {
        let size = if entry.kind == Kind::Volume { "size = \"1TiB\"\n" } else { "" };
        let provisioned =
            ["", "iops = 5_000\n", "iops = 5_000\nthroughput = \"512MiB/s\"\n", "throughput = \"512MB/s\"\n"];
        let texts = provisioned
            .map(|keys| format!("[volumes.v]\nkind = \"model\"\nmodel = \"{}\"\n{size}{keys}", entry.name));
        let text = match entry.kind {
            Kind::Volume | Kind::Device => texts
                .into_iter()
                .find(|text| read(text).1.is_empty())
                .unwrap_or_else(|| panic!("{}", entry.name)),
            Kind::Instance => {
                format!("[volumes.v]\nkind = \"throttle\"\nbacking = \"m\"\nmodel = \"{}\"\n", entry.name)
            }
            Kind::Adapter => {
                format!("[volumes.v]\nkind = \"adapter\"\nbacking = \"m\"\nmodel = \"{}\"\n", entry.name)
            }
        };
        build(&format!("{text}[volumes.m]\nkind = \"memory\"\nsize = \"1GiB\"\n"), "v", &site());
    }
}
