//! What a customised image tells about itself.

use assisted_isokit::cpio::{Writer, compression};
use assisted_isokit::inspect::Kind;
use assisted_isokit::iso::eltorito::Platform;
use assisted_isokit::{Architecture, Archive, Extent, inspect};

use crate::minimal::URL;
use crate::recipe::{DEFAULT_KARGS, PPC64LE, S390X, VOLUME_ID, X86_64};

const CONFIG: &[u8] = br#"{"ignition":{"version":"3.2.0"},
    "storage":{"files":[{"path":"/etc/assisted/network/host0/eth0.nmconnection","contents":{"source":"data:,secret"}},
                        {"path":"/etc/assisted/network/host0/mac_interface.ini"},
                        {"path":"/etc/assisted/network/host1/mac_interface.ini"}]},
    "systemd":{"units":[{"name":"agent.service","contents":"ExecStart=/agent --url https://s:6000/ --infra-env-id 1234"}]}}"#;

#[test]
fn a_full_image_tells_what_it_does() {
    let layout =
        X86_64.open().customise(&Archive::new(CONFIG).unwrap(), Some(&["quiet".to_owned()]), None).unwrap();
    let found = inspect(&layout).unwrap();
    assert_eq!((found.kind, found.architecture), (Kind::Full, Some(Architecture::X86_64)));
    assert_eq!(found.volume_id, VOLUME_ID);
    let boot: Vec<_> = found.boot.iter().map(|boot| (boot.platform, boot.image.as_str())).collect();
    assert_eq!(boot, [(Platform::Bios, "/isolinux/isolinux.bin"), (Platform::Efi, "/images/efiboot.img")]);
    assert_eq!(found.disk, ["MBR", "GPT"]);
    assert_eq!(found.features, ["installer-config", "live-initrd-network"]);
    let kargs = found.kargs.as_ref().unwrap();
    assert_eq!(
        (&kargs.default[..], &kargs.current[..]),
        (DEFAULT_KARGS, &format!("{DEFAULT_KARGS} quiet")[..])
    );
    let config = found.ignition.config.as_ref().unwrap();
    assert_eq!(config.service_url.as_deref(), Some("https://s:6000/"));
    assert_eq!(config.infra_env_id.as_deref(), Some("1234"));
    assert_eq!((found.network_hosts, found.rootfs_url.as_deref()), (2, None));
    assert!(found.problems.is_empty());
    let json = serde_json::to_string(&found).unwrap();
    assert!(!json.contains("secret"), "contents stay inside");
}

#[test]
fn a_minimal_image_tells_what_its_ramdisk_brings() {
    let mut ramdisk = Writer::new();
    ramdisk.directory("/etc/assisted/network/host7", 0o755);
    ramdisk.file("/etc/assisted/network/host7/eth0.nmconnection", 0o600, b"secret");
    let ramdisk = compression::gzip(&ramdisk.finish()).unwrap();
    let minimal = X86_64.open().minimal(URL, None).unwrap();
    let layout = minimal.customise(&Archive::new(b"{}").unwrap(), None, Some(ramdisk.into())).unwrap();
    let found = inspect(&layout).unwrap();
    assert_eq!((found.kind, found.network_hosts), (Kind::Minimal, 1));
    assert_eq!(found.rootfs_url.as_deref(), Some(URL));
    assert_eq!(found.ramdisk.unwrap().files, ["/etc/assisted/network/host7/eth0.nmconnection"]);
    assert_eq!(found.problems.len(), 1, "an empty object is no Ignition config: {:?}", found.problems);
}

#[test]
fn bases_of_other_architectures_are_told() {
    let found = inspect(S390X.open().layout()).unwrap();
    assert_eq!((found.kind, found.architecture), (Kind::Full, Some(Architecture::S390x)));
    assert_eq!(found.kargs.unwrap().current, DEFAULT_KARGS);
    assert!(found.ignition.config.is_none() && found.problems.is_empty());
    let found = inspect(PPC64LE.open().layout()).unwrap();
    assert_eq!((found.architecture, found.disk), (Some(Architecture::Ppc64le), vec!["MBR"]));
}

/// Headers in the system area, as before 2022: they win nothing over JSON, and are told.
#[test]
fn older_generations_are_known_by_their_headers() {
    let image = X86_64.open();
    let mut layout = image.layout().clone();
    let file = |path: &str| image.iso().file(path).unwrap().extents[0].start;
    let json = &image.iso().file("/coreos/kargs.json").unwrap().extents[0];
    // Without the JSON file the header counts; its entry in the directory gets another name.
    let name = find(&crate::recipe::content(&layout), b"KARGS.JSO").unwrap();
    layout.overlay(name, b"OTHER.JSO".to_vec()).unwrap();
    let rock_ridge = find(&crate::recipe::content(&layout), b"kargs.json").unwrap();
    layout.overlay(rock_ridge, b"other.json".to_vec()).unwrap();
    let default = [DEFAULT_KARGS.as_bytes(), &[b'#'; 1024]].concat();
    let (default_at, length) = (json.start, 200u64);
    layout.overlay(default_at, default[..200].to_vec()).unwrap();
    let config = String::from_utf8(crate::recipe::content(
        &image.content(image.iso().file("/EFI/redhat/grub.cfg").unwrap()),
    ))
    .unwrap();
    let grub = file("/EFI/redhat/grub.cfg") + config.find(DEFAULT_KARGS).unwrap() as u64;
    let numbers = [length, default_at, grub, 0, 0, 0, 0, 0];
    let header = [&b"coreKarg"[..], &numbers.map(u64::to_le_bytes).concat()].concat();
    layout.overlay(32_672, header).unwrap();
    let header =
        [&b"coreiso+"[..], &[file("/images/ignition.img"), 262_144].map(u64::to_le_bytes).concat()].concat();
    layout.overlay(32_744, header).unwrap();
    let found = inspect(&layout).unwrap();
    assert!(
        found.generation.ignition_header && found.generation.kargs_header && !found.generation.kargs_json
    );
    let kargs = found.kargs.unwrap();
    assert_eq!((&kargs.default[..], &kargs.current[..]), (DEFAULT_KARGS, DEFAULT_KARGS));
    assert_eq!(kargs.areas[0].offset, grub);
    // Arguments are still appended, in the files that were always there.
    let old = assisted_isokit::Image::read(layout).unwrap();
    old.customise(&Archive::new(b"{}").unwrap(), Some(&["quiet".to_owned()]), None).unwrap();
    // In the minimal image everything lies elsewhere: the headers are gone.
    let minimal = inspect(old.minimal(URL, None).unwrap().layout()).unwrap();
    assert!(!minimal.generation.ignition_header && !minimal.generation.kargs_header);
}

fn find(bytes: &[u8], what: &[u8]) -> Option<u64> {
    bytes.windows(what.len()).position(|window| window == what).map(|at| at as u64)
}

#[test]
fn a_damaged_part_is_a_problem_and_no_failure() {
    let image = X86_64.open();
    let mut layout = image.layout().clone();
    let node = image.iso().file("/coreos/kargs.json").unwrap();
    layout.overlay(node.extents[0].start, Extent::zeros(node.len())).unwrap();
    let area = image.iso().file("/images/ignition.img").unwrap().extents[0].start;
    layout.overlay(area, b"rubbish".to_vec()).unwrap();
    let found = inspect(&layout).unwrap();
    assert_eq!(found.problems.len(), 2, "{:?}", found.problems);
    assert!(found.problems[0].starts_with("ignition: bad archive"));
    assert!(found.problems[1].starts_with("kernel arguments: /coreos/kargs.json"));
}
