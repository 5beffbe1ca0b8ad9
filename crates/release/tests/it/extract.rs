//! The installer program on disk.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use assisted_release::{Digest, Program, PullError, Reference, RegistryError, extract};
use assisted_testkit::oci::{Image, Layer};

use crate::lab::{Lab, PARTS, RELEASES, VERSION, X86, program, release, session};

const LIMIT: u64 = 1 << 30;

async fn extracted(
    lab: &Lab,
    wanted: &Reference,
    program: Program,
    to: &Path,
    limit: u64,
) -> Result<assisted_release::Extracted, PullError> {
    let session = session(&lab.registry.name());
    let release = session.release(wanted, X86).await?;
    extract(&session, &release, program, X86, to, limit).await
}

/// The text in a program from a place on to the next zero.
fn text_at(bytes: &[u8], at: usize) -> &str {
    let end = bytes[at..].iter().position(|byte| *byte == 0).unwrap();
    std::str::from_utf8(&bytes[at..at + end]).unwrap()
}

#[tokio::test]
async fn it_runs_and_knows_its_release() {
    let (lab, dir) = (Lab::new(), tempfile::tempdir().unwrap());
    let pinned = lab.release().await;
    let path = dir.path().join("openshift-install");
    let made = extracted(&lab, &pinned, Program::OpenshiftInstall, &path, LIMIT).await.unwrap();
    let (bytes, original) = (std::fs::read(&path).unwrap(), program());
    assert_eq!((made.size, made.digest), (original.len() as u64, Digest::of(&bytes)));
    let at = original.windows(2).position(|pair| pair == b"\0_").unwrap();
    assert_eq!(text_at(&bytes, at), pinned.to_string());
    let after = original.len() - 98 - 93;
    assert_eq!((text_at(&bytes, after), text_at(&bytes, after + 93)), (VERSION, "x86_64"));
    assert_eq!(bytes[at + 327..after], original[at + 327..after]);
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    assert_eq!(modified, SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000));
    let output = Command::new(&path).arg("version").output().unwrap();
    assert_eq!(output.stdout, b"lab installer version\n");
}

#[tokio::test]
async fn of_another_architecture() {
    let (lab, dir) = (Lab::new(), tempfile::tempdir().unwrap());
    let program = "usr/share/openshift/linux_amd64/openshift-install";
    let layer = Layer::new().unwrap().file(program, b"x86").unwrap().finish().unwrap();
    let artifacts = lab.push(PARTS, None, &Image::new("s390x", vec![layer]).unwrap()).await;
    let components = [("installer-artifacts", artifacts.to_string())];
    let pinned = lab.push(RELEASES, None, &release("s390x", &components)).await;
    let path = dir.path().join("program");
    extracted(&lab, &pinned, Program::OpenshiftInstall, &path, LIMIT).await.unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"x86");
    let error = extracted(&lab, &pinned, Program::OpenshiftBaremetalInstall, &path, LIMIT).await.unwrap_err();
    assert!(matches!(error.cause, RegistryError::NoArchitecture { .. }), "{error}");
}

#[tokio::test]
async fn what_can_t_be_taken_out() {
    let (lab, dir) = (Lab::new(), tempfile::tempdir().unwrap());
    let pinned = lab.release().await;
    let path = dir.path().join("program");
    let large = extracted(&lab, &pinned, Program::OpenshiftInstall, &path, 1000).await.unwrap_err();
    assert!(matches!(large.cause, RegistryError::TooLarge { limit: 1000, .. }), "{large}");
    let none = extracted(&lab, &pinned, Program::OpenshiftBaremetalInstall, &path, LIMIT).await.unwrap_err();
    assert!(
        matches!(&none.cause, RegistryError::NoComponent(name) if name == "baremetal-installer"),
        "{none}"
    );
    let nowhere = dir.path().join("not/there");
    let disk = extracted(&lab, &pinned, Program::OpenshiftInstall, &nowhere, LIMIT).await.unwrap_err();
    assert!(matches!(disk.cause, RegistryError::Disk(_)), "{disk}");
    let other = lab.push(PARTS, None, &release("amd64", &[])).await;
    let components = [("installer", other.to_string())];
    let empty = lab.push(RELEASES, None, &release("amd64", &components)).await;
    let file = extracted(&lab, &empty, Program::OpenshiftInstall, &path, LIMIT).await.unwrap_err();
    assert!(
        matches!(&file.cause, RegistryError::NoFile(path) if path == "usr/bin/openshift-install"),
        "{file}"
    );
    assert_eq!(*file.reference, other);
}

#[tokio::test]
async fn all_images_in_one_repository() {
    let (lab, dir) = (Lab::new(), tempfile::tempdir().unwrap());
    let installer = lab.push("copy/release", None, &crate::lab::installer_image("amd64")).await;
    // Named where it was before it was copied; there nobody listens.
    let elsewhere = format!("127.0.0.1:1/ocp/art@{}", installer.digest.unwrap());
    let copy: Reference =
        lab.push("copy/release", None, &release("amd64", &[("installer", elsewhere)])).await;
    let path = dir.path().join("program");
    extracted(&lab, &copy, Program::OpenshiftInstall, &path, LIMIT).await.unwrap();
    assert!(path.exists());
}
