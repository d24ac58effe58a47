//! The files that come with Fathom. A test lists the folder and fails on a file that is not here.

/// Path below `models/` and text of every built-in file, by path.
pub(crate) const FILES: &[(&str, &str)] = &[
    ("aws/fsx-windows-ssd.toml", include_str!("../models/aws/fsx-windows-ssd.toml")),
    ("aws/gp2.toml", include_str!("../models/aws/gp2.toml")),
    ("aws/gp3.toml", include_str!("../models/aws/gp3.toml")),
    ("aws/i3.toml", include_str!("../models/aws/i3.toml")),
    ("aws/i3en.toml", include_str!("../models/aws/i3en.toml")),
    ("aws/i4i.toml", include_str!("../models/aws/i4i.toml")),
    ("aws/im4gn.toml", include_str!("../models/aws/im4gn.toml")),
    ("aws/io1.toml", include_str!("../models/aws/io1.toml")),
    ("aws/io2-block-express.toml", include_str!("../models/aws/io2-block-express.toml")),
    ("aws/io2.toml", include_str!("../models/aws/io2.toml")),
    ("aws/is4gen.toml", include_str!("../models/aws/is4gen.toml")),
    ("aws/m5.toml", include_str!("../models/aws/m5.toml")),
    ("aws/m5a.toml", include_str!("../models/aws/m5a.toml")),
    ("aws/m6g.toml", include_str!("../models/aws/m6g.toml")),
    ("aws/m6i.toml", include_str!("../models/aws/m6i.toml")),
    ("aws/r4.toml", include_str!("../models/aws/r4.toml")),
    ("aws/r5.toml", include_str!("../models/aws/r5.toml")),
    ("aws/r5a.toml", include_str!("../models/aws/r5a.toml")),
    ("aws/r5b.toml", include_str!("../models/aws/r5b.toml")),
    ("aws/r5d.toml", include_str!("../models/aws/r5d.toml")),
    ("aws/r6i.toml", include_str!("../models/aws/r6i.toml")),
    ("aws/r6id.toml", include_str!("../models/aws/r6id.toml")),
    ("aws/r7i.toml", include_str!("../models/aws/r7i.toml")),
    ("aws/sc1.toml", include_str!("../models/aws/sc1.toml")),
    ("aws/st1.toml", include_str!("../models/aws/st1.toml")),
    ("aws/x2iedn.toml", include_str!("../models/aws/x2iedn.toml")),
    ("azure/ebdsv5-premium-v2.toml", include_str!("../models/azure/ebdsv5-premium-v2.toml")),
    ("azure/ebdsv5.toml", include_str!("../models/azure/ebdsv5.toml")),
    ("azure/ebdsv6-premium-v2.toml", include_str!("../models/azure/ebdsv6-premium-v2.toml")),
    ("azure/ebdsv6.toml", include_str!("../models/azure/ebdsv6.toml")),
    ("azure/edsv5.toml", include_str!("../models/azure/edsv5.toml")),
    ("azure/edsv6-premium-v2.toml", include_str!("../models/azure/edsv6-premium-v2.toml")),
    ("azure/edsv6.toml", include_str!("../models/azure/edsv6.toml")),
    ("azure/lsv3-premium-v2.toml", include_str!("../models/azure/lsv3-premium-v2.toml")),
    ("azure/lsv3.toml", include_str!("../models/azure/lsv3.toml")),
    ("azure/premium-ssd-v2.toml", include_str!("../models/azure/premium-ssd-v2.toml")),
    ("azure/premium-ssd.toml", include_str!("../models/azure/premium-ssd.toml")),
    ("azure/ultra-disk.toml", include_str!("../models/azure/ultra-disk.toml")),
    ("gcp/hyperdisk-balanced.toml", include_str!("../models/gcp/hyperdisk-balanced.toml")),
    ("gcp/hyperdisk-extreme.toml", include_str!("../models/gcp/hyperdisk-extreme.toml")),
    ("gcp/pd-ssd.toml", include_str!("../models/gcp/pd-ssd.toml")),
    ("hdd/sata-7200.toml", include_str!("../models/hdd/sata-7200.toml")),
    ("intel/s3610.toml", include_str!("../models/intel/s3610.toml")),
    ("nvme/pm1725.toml", include_str!("../models/nvme/pm1725.toml")),
    ("nvme/pm1725a-u2.toml", include_str!("../models/nvme/pm1725a-u2.toml")),
    ("nvme/pm1725a.toml", include_str!("../models/nvme/pm1725a.toml")),
    ("vmware/lsi-logic-sas.toml", include_str!("../models/vmware/lsi-logic-sas.toml")),
    ("vmware/nvme.toml", include_str!("../models/vmware/nvme.toml")),
    ("vmware/pvscsi.toml", include_str!("../models/vmware/pvscsi.toml")),
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::FILES;

    fn files_below(folder: &Path, found: &mut Vec<String>, root: &Path) {
        for item in std::fs::read_dir(folder).unwrap() {
            let path = item.unwrap().path();
            if path.is_dir() {
                files_below(&path, found, root);
            } else {
                found.push(path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/"));
            }
        }
    }

    #[test]
    fn every_file_of_the_folder_is_embedded_in_order() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
        let mut found = Vec::new();
        files_below(&root, &mut found, &root);
        found.sort();
        let listed: Vec<&str> = FILES.iter().map(|(path, _)| *path).collect();
        assert_eq!(found, listed, "add the file to embedded.rs");
    }
}
