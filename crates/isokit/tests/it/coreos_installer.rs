//! coreos-installer as judge: it reads what we made, and makes what we read.

use std::path::Path;
use std::process::Command;

use assisted_isokit::{Archive, Image};
use serde_json::Value;

use crate::minimal::URL;
use crate::recipe::{ARM64, Built, DEFAULT_KARGS, PPC64LE, S390X, VOLUME_ID, X86_64, save};

const CONFIG: &str = r#"{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/a","contents":{"source":"data:,x"}}]}}"#;

fn try_run(args: &[&str], path: &Path) -> Result<String, String> {
    let output =
        Command::new(assisted_testkit::coreos_installer().unwrap()).args(args).arg(path).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

pub fn run(args: &[&str], path: &Path) -> String {
    try_run(args, path).unwrap_or_else(|errors| panic!("{args:?}: {errors}"))
}

fn list(kargs: &[&str]) -> Vec<String> {
    kargs.iter().map(|karg| (*karg).to_owned()).collect()
}

fn archive() -> Archive {
    Archive::new(CONFIG.as_bytes()).unwrap()
}

/// Areas as coreos-installer sees them are areas as we see them.
fn same_areas(image: &Image, path: &Path) {
    let found = assisted_isokit::inspect(image.layout()).unwrap();
    assert!(found.problems.is_empty(), "{:?}", found.problems);
    let shown: Value = serde_json::from_str(&run(&["dev", "show", "iso", "--ignition"], path)).unwrap();
    let area = found.ignition.area.unwrap();
    assert_eq!((shown["offset"].as_u64(), shown["length"].as_u64()), (Some(area.offset), Some(area.length)));
    let shown: Value = serde_json::from_str(&run(&["dev", "show", "iso", "--kargs"], path)).unwrap();
    let areas: Vec<_> = shown["kargs"]
        .as_array()
        .unwrap_or_else(|| panic!("{shown}"))
        .iter()
        .map(|area| (area["offset"].as_u64().unwrap(), area["length"].as_u64().unwrap()))
        .collect();
    let ours: Vec<_> =
        found.kargs.unwrap().areas.into_iter().map(|area| (area.offset, area.length)).collect();
    assert_eq!(areas, ours);
}

#[test]
fn areas_of_all_architectures_are_the_same() {
    for built in [&*X86_64, &*ARM64, &*PPC64LE, &*S390X] {
        same_areas(&built.open(), &built.path);
        if built.path != S390X.path {
            let minimal = built.open().minimal(URL, None).unwrap();
            same_areas(&minimal, &save(built, minimal.layout(), "areas.iso"));
        }
    }
}

fn customised(built: &Built, name: &str) -> std::path::PathBuf {
    let layout =
        built.open().customise(&archive(), Some(&list(&["quiet", "console=\"ttyS0\""])), None).unwrap();
    save(built, &layout, name)
}

#[test]
fn it_shows_the_ignition_config_and_arguments_that_we_embed() {
    let path = customised(&X86_64, "full.iso");
    assert_eq!(run(&["iso", "ignition", "show"], &path), CONFIG);
    assert_eq!(
        run(&["iso", "kargs", "show"], &path).trim(),
        format!("{DEFAULT_KARGS} quiet console=\"ttyS0\"")
    );
    assert_eq!(run(&["iso", "kargs", "show", "-d"], &path).trim(), DEFAULT_KARGS);

    let layout = S390X.open().customise(&archive(), None, None).unwrap();
    let path = save(&S390X, &layout, "full.iso");
    assert_eq!(run(&["iso", "ignition", "show"], &path), CONFIG);
    assert_eq!(run(&["iso", "kargs", "show"], &path).trim(), DEFAULT_KARGS);
}

#[test]
fn it_shows_the_same_of_the_minimal_image() {
    for built in [&*X86_64, &*ARM64, &*PPC64LE] {
        let minimal = built.open().minimal(URL, None).unwrap();
        let layout =
            minimal.customise(&archive(), Some(&list(&["quiet"])), Some(vec![7; 100].into())).unwrap();
        let path = save(built, &layout, "minimal-shown.iso");
        assert_eq!(run(&["iso", "ignition", "show"], &path), CONFIG);
        let kargs = DEFAULT_KARGS.strip_prefix(&format!("coreos.liveiso={VOLUME_ID} ")).unwrap();
        let default = format!("{kargs} coreos.live.rootfs_url=\"{URL}\"");
        assert_eq!(run(&["iso", "kargs", "show", "-d"], &path).trim(), default);
        assert_eq!(run(&["iso", "kargs", "show"], &path).trim(), format!("{default} quiet"));
    }
}

#[test]
fn reset_gives_the_base_back() {
    for built in [&*X86_64, &*ARM64, &*PPC64LE] {
        let path = customised(built, "reset.iso");
        run(&["iso", "reset"], &path);
        assert!(std::fs::read(&path).unwrap() == built.bytes(), "differs from the base");
        let minimal = built.open().minimal(URL, None).unwrap();
        let base = crate::recipe::content(minimal.layout());
        let layout = minimal.customise(&archive(), Some(&list(&["quiet"])), None).unwrap();
        let path = save(built, &layout, "reset-minimal.iso");
        run(&["iso", "reset"], &path);
        assert!(std::fs::read(&path).unwrap() == base, "differs from the minimal base");
    }
}

#[test]
fn the_pieces_for_network_boot_are_those_that_it_extracts() {
    let path = customised(&X86_64, "extract.iso");
    let to = tempfile::tempdir().unwrap();
    run(&["iso", "extract", "pxe", "-o", to.path().to_str().unwrap()], &path);
    let image = X86_64.open();
    for (name, piece) in
        [("full-vmlinuz", image.kernel().unwrap()), ("full-rootfs.img", image.rootfs().unwrap())]
    {
        let name = name.replace("full", "extract");
        assert_eq!(std::fs::read(to.path().join(&name)).unwrap(), crate::recipe::content(&piece), "{name}");
    }
}

/// It unpacks what we append to the initramfs for network boot.
#[test]
fn it_unwraps_the_config_of_network_boot() {
    let initrd = archive().bytes();
    let path = X86_64.dir.path().join("ignition.initrd");
    std::fs::write(&path, &initrd).unwrap();
    assert_eq!(run(&["pxe", "ignition", "unwrap"], &path), CONFIG);
}

#[test]
fn we_read_what_it_embeds() {
    let dir = tempfile::tempdir().unwrap();
    let keyfile = dir.path().join("eth0.nmconnection");
    std::fs::write(&keyfile, "[connection]\nid=eth0\n").unwrap();
    let config = dir.path().join("config.ign");
    std::fs::write(&config, CONFIG).unwrap();
    let path = dir.path().join("live.iso");
    std::fs::copy(&X86_64.path, &path).unwrap();
    run(&["iso", "ignition", "embed", "-i", config.to_str().unwrap()], &path);
    run(&["iso", "network", "embed", "-k", keyfile.to_str().unwrap()], &path);
    run(&["iso", "kargs", "modify", "-a", "quiet"], &path);
    let found = assisted_isokit::inspect(Image::open(&path).unwrap().layout()).unwrap();
    assert_eq!(found.ignition.network, ["eth0.nmconnection"]);
    assert_eq!(found.ignition.contents.config.as_deref(), Some(CONFIG.as_bytes()));
    assert_eq!(found.kargs.unwrap().current, format!("{DEFAULT_KARGS} quiet"));
    assert!(found.problems.is_empty(), "{:?}", found.problems);
}

/// `iso network extract` on our image finds nothing to extract, and says so; on one with its own network it finds that
/// beside our config, when we overlay nothing.
#[test]
fn it_can_still_customise_our_images() {
    let minimal = X86_64.open().minimal(URL, None).unwrap();
    let path = save(&X86_64, minimal.layout(), "customise.iso");
    let dir = tempfile::tempdir().unwrap();
    let keyfile = dir.path().join("eth0.nmconnection");
    std::fs::write(&keyfile, "[connection]\nid=eth0\n").unwrap();
    let config = dir.path().join("config.ign");
    std::fs::write(&config, CONFIG).unwrap();
    run(&["iso", "ignition", "embed", "-i", config.to_str().unwrap()], &path);
    run(&["iso", "network", "embed", "-k", keyfile.to_str().unwrap()], &path);
    let to = dir.path().join("network");
    std::fs::create_dir(&to).unwrap();
    run(&["iso", "network", "extract", "-C", to.to_str().unwrap()], &path);
    assert_eq!(std::fs::read(to.join("eth0.nmconnection")).unwrap(), std::fs::read(&keyfile).unwrap());
    run(&["iso", "kargs", "modify", "-a", "quiet"], &path);
    assert!(run(&["iso", "kargs", "show"], &path).trim().ends_with("\" quiet"));
    assert_eq!(run(&["iso", "ignition", "show"], &path), CONFIG);
    // There is no recipe in it any more for a second minimal image.
    let error = try_run(&["iso", "extract", "minimal-iso"], &path).unwrap_err();
    assert!(!error.contains("panicked"), "{error}");
}
