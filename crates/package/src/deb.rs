//! A package for Debian: an `ar` archive of a version, the control files and the files to install (deb(5)).

use std::fmt::Write as _;

use anyhow::Result;
use assisted_base::hex;
use assisted_oci::Packing;
use md5::{Digest, Md5};

use crate::VERSION;
use crate::files::{PackageFile, SETTINGS_FILE, WRITTEN, packed};
use crate::machine::Machine;
use crate::tarball::archive;

const SCRIPTS: [(&str, &str); 3] = [
    ("postinst", include_str!("../../../deploy/debian/postinst")),
    ("prerm", include_str!("../../../deploy/debian/prerm")),
    ("postrm", include_str!("../../../deploy/debian/postrm")),
];

const DESCRIPTION: &str = "installs OpenShift on bare metal\n \
    The Assisted Installer as one program: service with web UI and discovery\n \
    images, command line, and the programs that go onto hosts.";

/// Name of the package's file.
pub fn file_name(machine: &Machine) -> String {
    format!("assisted_{VERSION}_{}.deb", machine.debian)
}

/// The package; the same files give the same bytes.
///
/// # Errors
/// A place is none that an archive can have.
pub fn package(files: &[PackageFile], machine: &Machine, packing: Packing) -> Result<Vec<u8>> {
    let mut deb = b"!<arch>\n".to_vec();
    member(&mut deb, "debian-binary", b"2.0\n");
    member(&mut deb, "control.tar.gz", &packed(&archive(&control(files, machine), "./")?, packing)?);
    member(&mut deb, "data.tar.gz", &packed(&archive(files, "./")?, packing)?);
    Ok(deb)
}

/// Adds a file to an `ar` archive: a head of 60 bytes, and an even number of bytes.
fn member(ar: &mut Vec<u8>, name: &str, content: &[u8]) {
    let head = format!("{name:<16}{WRITTEN:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, "100644", content.len());
    ar.extend(head.as_bytes());
    ar.extend(content);
    if !content.len().is_multiple_of(2) {
        ar.push(b'\n');
    }
}

fn control(files: &[PackageFile], machine: &Machine) -> Vec<PackageFile> {
    let kilobytes: usize = files.iter().map(|file| file.content.len().div_ceil(1024)).sum();
    let control = format!(
        "Package: assisted\nVersion: {VERSION}\nArchitecture: {}\nMaintainer: assisted <assisted@example.com>\n\
         Installed-Size: {kilobytes}\nSection: admin\nPriority: optional\nRecommends: ca-certificates\n\
         Description: {DESCRIPTION}\n",
        machine.debian
    );
    let mut sums = String::new();
    for file in files.iter().filter(|file| file.place != SETTINGS_FILE) {
        let _ = writeln!(sums, "{}  {}", hex::encode(&Md5::digest(&file.content)), file.place);
    }
    let text = |name: &str, mode, text: &str| PackageFile {
        place: name.to_owned(),
        mode,
        content: text.as_bytes().to_vec(),
    };
    let mut all = vec![
        text("conffiles", 0o644, &format!("/{SETTINGS_FILE}\n")),
        text("control", 0o644, &control),
        text("md5sums", 0o644, &sums),
    ];
    all.extend(SCRIPTS.map(|(name, script)| text(name, 0o755, script)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::MACHINES;

    #[test]
    fn the_same_files_give_the_same_package() {
        let file = |content: &[u8]| PackageFile {
            place: "usr/bin/assisted".to_owned(),
            mode: 0o755,
            content: content.to_vec(),
        };
        let made = |content| package(&[file(content)], &MACHINES[0], Packing::Small).unwrap();
        assert_eq!(made(b"odd"), made(b"odd"));
        assert_ne!(made(b"odd"), made(b"even"));
        assert!(
            made(b"odd")
                .starts_with(b"!<arch>\ndebian-binary   1700000000  0     0     100644  4         `\n2.0\n")
        );
    }
}
