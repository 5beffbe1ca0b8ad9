//! Files and folders of manifests.

use std::fmt::Display;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use assisted_console::Failure;
use assisted_kubeapi::objects::{Document, Manifests};

/// Longest file, in bytes: an API server takes no object that is larger than a tenth of it.
const LONGEST: u64 = 16 << 20;

/// Most files of one folder.
const MOST: usize = 1000;

/// The objects of all files.
///
/// # Errors
/// [`Failure::Usage`] with the first file that can't be read, or object that is wrong.
pub fn manifests(paths: &[PathBuf]) -> Result<Manifests, Failure> {
    let mut manifests = Manifests::default();
    for path in paths {
        if path.as_os_str() == "-" {
            add(&mut manifests, Path::new("standard input"), &text(io::stdin().lock(), path)?)?;
            continue;
        }
        for file in files(path)? {
            let open = fs::File::open(&file).map_err(|error| unreadable(&file, &error))?;
            add(&mut manifests, &file, &text(open, &file)?)?;
        }
    }
    Ok(manifests)
}

/// A file itself; of a folder its YAML and JSON files, by name, without those of its subfolders.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let fail = |error: io::Error| unreadable(path, &error);
    if !fs::metadata(path).map_err(fail)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(fail)? {
        let file = entry.map_err(fail)?.path();
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if matches!(name, "kustomization.yaml" | "kustomization.yml" | "Kustomization") {
            return Err(Failure::Usage(format!(
                "{} is for kustomize; run `kubectl kustomize {} | assisted apply -f -`",
                file.display(),
                path.display()
            )));
        }
        let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if matches!(extension, "yaml" | "yml" | "json") && file.is_file() {
            files.push(file);
        }
        if files.len() > MOST {
            return Err(unreadable(path, &format!("it has more than {MOST} files")));
        }
    }
    if files.is_empty() {
        return Err(unreadable(path, &"it has no .yaml, .yml or .json file; subfolders are not looked into"));
    }
    files.sort_unstable();
    Ok(files)
}

fn text(reader: impl Read, path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = reader.take(LONGEST + 1).read_to_string(&mut text);
    let length = read.map_err(|error| unreadable(path, &error))?;
    if length as u64 > LONGEST {
        return Err(unreadable(path, &format!("it is longer than {LONGEST} bytes")));
    }
    Ok(text)
}

fn add(manifests: &mut Manifests, path: &Path, text: &str) -> Result<(), Failure> {
    let wrong = |error: &dyn Display| Failure::Usage(format!("{}: {error}", path.display()));
    for document in Document::read(text).map_err(|error| wrong(&error))? {
        manifests.add(document).map_err(|error| wrong(&error))?;
    }
    Ok(())
}

fn unreadable(path: &Path, error: &dyn Display) -> Failure {
    Failure::Usage(format!("can't read {}: {error}", path.display()))
}
