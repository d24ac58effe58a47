//! Lists the SQL of the workloads, `src/WORKLOAD/sql/KIND/*.sql`, so that a new database or workload adds files and no list.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=src");
    let root =
        PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo says where the crate is")).join("src");
    let mut found = Vec::new();
    collect(&root, &mut found)?;
    found.sort();
    let mut list = String::from("&[\n");
    for file in found {
        let name = file.strip_prefix(&root).expect("it was found there").display().to_string();
        writeln!(list, "    ({name:?}, include_str!({:?})),", file.display().to_string())
            .expect("memory is written to");
    }
    list.push_str("]\n");
    let out = env::var("OUT_DIR").expect("cargo says where to write");
    fs::write(Path::new(&out).join("sql.rs"), list)
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|end| end == "sql") {
            found.push(path);
        }
    }
    Ok(())
}
