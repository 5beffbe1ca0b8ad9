//! Embeds what `cargo xtask ui` has made: the folder `ui` in Cargo's target folder, or the one that `ASSISTED_UI_DIST` names.
//!
//! A folder without `index.html` gives a program without the UI, which needs no Node to be built. No crate for embedding is
//! used: those that there are read files from the disk in debug builds, or compress what is compressed already.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The variable that names another folder.
const DIST: &str = "ASSISTED_UI_DIST";

/// One file in the forms that it is there in.
#[derive(Default)]
struct Forms {
    plain: Option<PathBuf>,
    brotli: Option<PathBuf>,
    gzip: Option<PathBuf>,
}

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed={DIST}");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let dist = match env::var_os(DIST) {
        Some(dist) => PathBuf::from(dist),
        None => target_dir(&out).join("ui"),
    };
    // Cargo runs this again at each build as long as the folder is missing.
    fs::create_dir_all(&dist)?;
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut files = BTreeMap::new();
    collect(&dist, &dist, &mut files)?;
    let mut table = String::from("&[\n");
    if files.contains_key("index.html") {
        for (path, forms) in &files {
            table.push_str(&row(path, forms)?);
        }
    }
    table.push_str("]\n");
    fs::write(out.join("files.rs"), table)
}

/// The folder that Cargo builds into: it leaves these files there, the first of them only in a folder that it has made. Where it builds for
/// a named target, it marks the folder of that, too, which is directly below.
fn target_dir(out: &Path) -> PathBuf {
    let is_marked =
        |folder: &&Path| ["CACHEDIR.TAG", ".rustc_info.json"].iter().any(|mark| folder.join(mark).is_file());
    let nearest = out.ancestors().find(is_marked).unwrap_or(out);
    nearest.parent().filter(is_marked).unwrap_or(nearest).to_owned()
}

/// The files below a folder, by their paths in it.
fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Forms>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, files)?;
            continue;
        }
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(".br") {
            files.entry(name.to_owned()).or_default().brotli = Some(path);
        } else if let Some(name) = name.strip_suffix(".gz") {
            files.entry(name.to_owned()).or_default().gzip = Some(path);
        } else {
            files.entry(name).or_default().plain = Some(path);
        }
    }
    Ok(())
}

/// A row of the table: what is there compressed is not embedded as it is.
fn row(path: &str, forms: &Forms) -> io::Result<String> {
    let plain = if forms.gzip.is_some() { &None } else { &forms.plain };
    let mut hasher = DefaultHasher::new();
    for form in [&forms.plain, &forms.brotli, &forms.gzip].into_iter().flatten() {
        fs::read(form)?.hash(&mut hasher);
    }
    let mut row = format!("    File {{ path: {path:?}, tag: \"{:016x}\"", hasher.finish());
    for (name, form) in [("plain", plain), ("brotli", &forms.brotli), ("gzip", &forms.gzip)] {
        let value = match form {
            Some(file) => format!("Some(include_bytes!({:?}))", file.display().to_string()),
            None => "None".to_owned(),
        };
        let _ = write!(row, ", {name}: {value}");
    }
    row.push_str(" },\n");
    Ok(row)
}
