//! Names, lists, explanations, users' files.

use std::fs;
use std::path::PathBuf;

use fathom_catalogue::{Catalogue, CatalogueError, Kind, Overrides, SourceKind};
use fathom_units::Bytes;

/// An empty folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

const MINE: &str = r#"
[model]
name = "vmware/pvscsi"
title = "Our hosts"
summary = "raised by policy"

[[sources]]
id = "policy"
title = "Build guide"
where = "intranet"
date = "2026-11"
kind = "vendor"

[adapter]
devices_per_adapter = { value = 60, source = "policy" }
adapters_per_host = { value = 4, source = "policy" }

[adapter.per_device]
default = { value = 254, source = "policy" }
max = { value = 254, source = "policy" }
"#;

#[test]
fn every_name_of_the_list_can_be_explained_and_asked() {
    let catalogue = Catalogue::builtin();
    let list = catalogue.list();
    assert!(list.len() > 100, "{} names", list.len());
    for entry in &list {
        let told = catalogue.explain(&entry.name).unwrap();
        assert_eq!((&told.name, told.kind, &told.title), (&entry.name, entry.kind, &entry.title));
        assert!(!told.figures.is_empty() && !told.sources.is_empty(), "{}", entry.name);
        assert!(!entry.summary.is_empty() && !entry.summary.contains('\n'), "{}", entry.name);
        match entry.kind {
            Kind::Adapter => assert!(catalogue.adapter(&entry.name).is_ok()),
            Kind::Instance => assert!(catalogue.instance(&entry.name).is_ok()),
            Kind::Device => assert!(catalogue.resolve(&entry.name, None, &Overrides::default()).is_ok()),
            // Some volumes need provisioned values: refused with the limits, not unknown.
            Kind::Volume => {
                match catalogue.resolve(&entry.name, Some(Bytes::tib(1)), &Overrides::default()) {
                    Ok(resolved) => assert_eq!(resolved.size, Bytes::tib(1)),
                    Err(error) => assert!(matches!(error, CatalogueError::Refused { .. }), "{error}"),
                }
            }
        }
    }
}

#[test]
fn what_nobody_publishes_is_marked_as_assumed_with_a_reason() {
    let told = Catalogue::builtin().explain("aws/gp2").unwrap();
    let figure = |key: &str| told.figures.iter().find(|figure| figure.key == key).unwrap();
    assert_eq!(
        (figure("volume.iops.granted.per_gib").value.as_str(), figure("volume.iops.granted.per_gib").assumed),
        ("3 IOPS", false)
    );
    assert_eq!(
        (figure("volume.service.read").value.as_str(), figure("volume.service.read").assumed),
        ("1 ms", true)
    );
    assert!(
        told.formulas.contains(
            &"IOPS without asking: 3 IOPS per GiB, at least 100 IOPS, at most 16,000 IOPS".to_owned()
        )
    );
    for source in told.sources.iter().filter(|source| source.kind == SourceKind::Assumption) {
        assert!(source.reason.as_ref().is_some_and(|reason| reason.len() > 20), "{}", source.id);
    }
    let json = serde_json::to_value(&told).unwrap();
    assert_eq!(json["kind"], "volume");
    assert_eq!(json["sources"][0]["where"].as_str(), told.sources[0].place.as_deref());
}

#[test]
fn an_instance_is_explained_alone_and_its_drive_without_the_caps() {
    let catalogue = Catalogue::builtin();
    let instance = catalogue.explain("aws/r5d.4xlarge").unwrap();
    assert_eq!(instance.title, "Amazon EC2 R5d 4xlarge");
    assert_eq!(instance.figures.iter().filter(|figure| figure.key.starts_with("instance.sizes")).count(), 1);
    let drive = catalogue.explain("aws/r5d.4xlarge/nvme").unwrap();
    assert_eq!(drive.kind, Kind::Device);
    assert!(drive.figures.iter().all(|figure| !figure.key.contains("throughput_at")));
    let family = catalogue.explain("aws/r5d").unwrap();
    assert_eq!(family.figures.iter().filter(|figure| figure.key.starts_with("instance.sizes")).count(), 9);
}

#[test]
fn a_name_nearly_right_is_suggested() {
    let catalogue = Catalogue::builtin();
    for (asked, meant) in [
        ("aws/gp4", "aws/gp"),
        ("gp3", "aws/gp3"),
        ("aws/io2-blockexpress", "aws/io2-block-express"),
        ("aws/r5d.4xlrage", "aws/r5d.4xlarge"),
        ("AWS/GP3", "aws/gp3"),
        ("vmware/pvscssi", "vmware/pvscsi"),
        ("Standard_E8ds_v6", "azure/edsv6.e8ds"),
    ] {
        let error = catalogue.explain(asked).unwrap_err().to_string();
        assert!(error.contains("did you mean") && error.contains(meant), "{asked}: {error}");
    }
    // No drive in an instance without any.
    assert!(matches!(catalogue.explain("aws/r6i.large/nvme"), Err(CatalogueError::Unknown { .. })));
    let error = catalogue.explain("qqqq").unwrap_err().to_string();
    assert!(error.contains("fathom catalogue"), "{error}");
}

#[test]
fn a_name_of_another_kind_says_what_to_do() {
    let catalogue = Catalogue::builtin();
    let resolve = |name: &str| catalogue.resolve(name, None, &Overrides::default()).unwrap_err().to_string();
    assert!(resolve("vmware/pvscsi").contains("is an adapter, not a volume or drive\n  put a layer"));
    assert!(resolve("aws/r5d.4xlarge").contains("add /nvme"));
    assert!(resolve("aws/r6i.large").contains("its caps belong in a throttle"));
    assert!(resolve("aws/r5d").contains("is a family of instances"));
    assert!(catalogue.adapter("aws/gp3").unwrap_err().to_string().contains("is a volume, not an adapter"));
    assert!(catalogue.instance("aws/r5d").unwrap_err().to_string().contains("name one size of a family"));
}

#[test]
fn a_users_file_is_added_and_replaces_a_model_of_its_name() {
    let path = folder("file").join("mine.toml");
    fs::write(&path, MINE).unwrap();
    let catalogue = Catalogue::builtin().with_file(&path).unwrap();
    assert_eq!(catalogue.adapter("vmware/pvscsi").unwrap().per_device.unwrap().default, 254);
    assert_eq!(catalogue.explain("vmware/pvscsi").unwrap().origin, path.display().to_string());
    assert_eq!(catalogue.list().len(), Catalogue::builtin().list().len());
}

#[test]
fn a_users_folder_is_read_with_its_folders() {
    let path = folder("folder");
    fs::create_dir_all(path.join("lab/shelf")).unwrap();
    fs::write(path.join("lab/shelf/a.toml"), MINE.replace("vmware/pvscsi", "lab/one")).unwrap();
    fs::write(path.join("b.toml"), MINE.replace("vmware/pvscsi", "lab/two")).unwrap();
    fs::write(path.join("notes.txt"), "not a model").unwrap();
    let catalogue = Catalogue::builtin().with_directory(&path).unwrap();
    assert!(catalogue.adapter("lab/one").is_ok() && catalogue.adapter("lab/two").is_ok());
}

#[test]
fn what_can_not_be_read_names_the_path_and_the_remedy() {
    let empty = folder("empty");
    let message = |result: Result<Catalogue, CatalogueError>| result.unwrap_err().to_string();
    let error = message(Catalogue::builtin().with_directory(&empty));
    assert!(error.contains("empty") && error.contains("<vendor>/<name>.toml"), "{error}");
    let error = message(Catalogue::builtin().with_directory(empty.join("nowhere")));
    assert!(error.contains("nowhere") && error.contains("check the path"), "{error}");

    let path = empty.join("bad.toml");
    fs::write(&path, MINE.replace("value = 60", "value = sixty")).unwrap();
    let error = message(Catalogue::builtin().with_file(&path));
    let line = MINE.lines().position(|line| line.contains("value = 60")).unwrap() + 1;
    assert!(error.starts_with(&format!("{}:{line}:", path.display())), "{error}");

    fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
    assert!(message(Catalogue::builtin().with_file(&path)).contains("bad.toml"));
}
