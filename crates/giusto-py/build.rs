//! Stamps the extension with the digest of the Rust sources it was built from and the profile it
//! was built with, so that tests can refuse a stale binary and benchmarks a debug one.
//!
//! `python/giusto/_build.py` computes the same digest from the tree: SHA-256 over, for every
//! source file in byte order of its path, `path NUL size NUL bytes`.

use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest, Sha256};

fn main() {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..").canonicalize().unwrap();
    let mut files = vec![root.join("Cargo.toml")];
    collect(&root.join("crates"), &mut files);
    let mut named: Vec<(String, PathBuf)> =
        files.into_iter().map(|file| (relative(&root, &file), file)).collect();
    named.sort();

    let mut hash = Sha256::new();
    for (name, file) in named {
        println!("cargo:rerun-if-changed={}", file.display());
        let bytes = fs::read(&file).unwrap();
        hash.update(name.as_bytes());
        hash.update(format!("\0{}\0", bytes.len()));
        hash.update(&bytes);
    }
    println!("cargo:rerun-if-changed={}", root.join("crates").display());
    let digest: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo:rustc-env=GIUSTO_SOURCE_DIGEST={digest}");
    println!("cargo:rustc-env=GIUSTO_PROFILE={}", env::var("PROFILE").unwrap());
}

fn relative(root: &Path, file: &Path) -> String {
    file.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/")
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|kind| kind == "rs" || kind == "toml") {
            files.push(path);
        }
    }
}
