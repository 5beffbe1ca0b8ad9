//! The bases for kustomize as whoever has no checkout gets them: definitions stand beside them, and the image is the one that was pushed.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use assisted_release::Reference;

use crate::files::{PackageFile, below};

/// The list of a folder.
const LIST: &str = "kustomization.yaml";

/// Where the definitions are in a checkout.
const DEFINITIONS: &str = "crates/crd/definitions";

/// The bases of a checkout and the definitions that they list, with the image of the service.
///
/// # Errors
/// A file can't be read, or the image has no name.
pub fn bases(checkout: &Path, image: &str) -> Result<Vec<PackageFile>> {
    let image: Reference = image.parse().with_context(|| format!("{image} names no image"))?;
    let mut files = below(&checkout.join("deploy/kustomize"))?;
    for file in files.iter_mut().filter(|file| file.place.ends_with(LIST)) {
        let text =
            std::str::from_utf8(&file.content).with_context(|| format!("{} is no text", file.place))?;
        file.content = named(text, &image).into_bytes();
    }
    let definitions = checkout.join(DEFINITIONS);
    let read = |name: &str| {
        let path = definitions.join(name);
        fs::read_to_string(&path).with_context(|| format!("can't read {}", path.display()))
    };
    let list = read(LIST)?;
    for name in list.lines().filter_map(|line| line.strip_prefix("- ")).chain([LIST]) {
        files.push(PackageFile::new(format!("definitions/{name}"), 0o644, read(name)?));
    }
    Ok(files)
}

/// A list with the name of the image, and with the definitions where they are in the archive.
fn named(list: &str, image: &Reference) -> String {
    // A tag may look like a number.
    let version = match &image.digest {
        Some(digest) => format!("  digest: {digest}\n"),
        None => format!("  newTag: \"{}\"\n", image.selector()),
    };
    let line = |line: &str| {
        if line.starts_with("  newName: ") {
            format!("  newName: {}\n", image.repository)
        } else if line.starts_with("  newTag: ") {
            version.clone()
        } else {
            format!("{line}\n")
        }
    };
    list.replace(&format!("../../{DEFINITIONS}"), "definitions").lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_the_image_by_tag_or_digest() {
        let list = "resources:\n- ../../crates/crd/definitions\nimages:\n- name: assisted\n  newName: a\n  newTag: latest\n";
        let expected = "resources:\n- definitions\nimages:\n- name: assisted\n  newName: r.example.com/x\n";
        let image = |text: &str| text.parse::<Reference>().unwrap();
        assert_eq!(named(list, &image("r.example.com/x:1")), format!("{expected}  newTag: \"1\"\n"));
        let digest = format!("sha256:{}", "0".repeat(64));
        let pinned = image(&format!("r.example.com/x@{digest}"));
        assert_eq!(named(list, &pinned), format!("{expected}  digest: {digest}\n"));
    }
}
