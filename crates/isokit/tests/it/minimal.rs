//! The minimal ISO, read back by xorriso: every file, the boot catalog, MBR and GPT.

use std::path::Path;

use assisted_isokit::{Archive, Error, Extent, Image, Layout};

use crate::recipe::{ARM64, Built, DEFAULT_KARGS, PPC64LE, S390X, VOLUME_ID, X86_64, content, save};
use crate::xorriso;

pub const URL: &str =
    "http://images.example:8080/boot-artifacts/rootfs?arch=x86_64&version=418.94.202501221327-0";
const RAMDISK: &str = "/images/assisted_installer_custom.img";

fn kargs() -> String {
    let without = DEFAULT_KARGS.strip_prefix(&format!("coreos.liveiso={VOLUME_ID} ")).unwrap();
    format!("{without} coreos.live.rootfs_url=\"{URL}\"")
}

fn text(image: &Image, path: &str) -> String {
    String::from_utf8(content(&image.content(image.iso().file(path).unwrap()))).unwrap()
}

/// Extracts all files with xorriso.
fn extract(image: &Path, to: &Path) {
    let to = to.to_str().unwrap();
    xorriso::run(image, &["-osirrox", "on", "-extract", "/", to]);
    // Files of the image can't be written, nor removed with the folder.
    std::process::Command::new("chmod").args(["-R", "u+w", to]).status().unwrap();
}

/// What xorriso extracts is the base's tree, except for what the minimal ISO is about.
fn same_files(built: &Built, minimal: &Layout, edited: &[&str]) {
    let path = save(built, minimal, "minimal.iso");
    let to = built.dir.path().join("extracted");
    extract(&path, &to);
    let tree = built.dir.path().join("tree");
    let files = xorriso::files(&path);
    for path in files.keys().map(|path| path.trim_start_matches('/')) {
        let new = std::fs::read(to.join(path)).unwrap();
        match std::fs::read(tree.join(path)) {
            _ if edited.contains(&path) || path.ends_with("isolinux.bin") => {}
            Ok(old) => assert!(new == old, "{path} differs"),
            Err(_) => {
                assert_eq!(format!("/{path}"), RAMDISK);
                assert!(new.len() == 1 << 20 && new.iter().all(|byte| *byte == 0));
            }
        }
    }
    let count = walk(&tree);
    // Two are gone, one is new.
    assert_eq!(files.len(), count - 1, "{files:?}");
    for gone in ["/images/pxeboot/rootfs.img", "/coreos/miniso.dat"] {
        assert!(!files.contains_key(gone), "{gone} is still there");
    }
    std::fs::remove_dir_all(to).unwrap();
}

fn walk(dir: &Path) -> usize {
    let entries = std::fs::read_dir(dir).unwrap().map(Result::unwrap);
    entries.map(|entry| if entry.path().is_dir() { walk(&entry.path()) } else { 1 }).sum()
}

#[test]
fn files_are_those_of_the_full_image() {
    let edited = ["EFI/redhat/grub.cfg", "isolinux/isolinux.cfg", "boot/grub/grub.cfg", "coreos/kargs.json"];
    for built in [&*X86_64, &*ARM64, &*PPC64LE] {
        let minimal = built.open().minimal(URL, None).unwrap();
        assert_eq!(minimal.iso().volume_id, VOLUME_ID);
        assert_eq!(minimal.architecture(), built.open().architecture());
        assert_eq!(minimal.ramdisk_area(), Some(1 << 20));
        same_files(built, minimal.layout(), &edited);
    }
}

#[test]
fn boot_configurations_fetch_the_root_file_system() {
    let full = X86_64.open();
    let nmstate = Layout::from(Extent::from(b"the nmstatectl program".to_vec()));
    for nmstate in [None, Some(&nmstate)] {
        let minimal = full.minimal(URL, nmstate).unwrap();
        let (space, comma) = match nmstate {
            Some(_) => (format!(" {RAMDISK} /images/nmstate.img"), format!(",{RAMDISK},/images/nmstate.img")),
            None => (format!(" {RAMDISK}"), format!(",{RAMDISK}")),
        };
        let edited = |path: &str| {
            text(&full, path)
                .replace(DEFAULT_KARGS, &kargs())
                .replace(
                    "initrd /images/pxeboot/initrd.img /images/ignition.img",
                    &format!("initrd /images/pxeboot/initrd.img /images/ignition.img{space}"),
                )
                .replace(",/images/ignition.img", &format!(",/images/ignition.img{comma}"))
        };
        for path in ["/EFI/redhat/grub.cfg", "/isolinux/isolinux.cfg"] {
            assert_eq!(text(&minimal, path), edited(path), "{path}");
        }
        assert_eq!(minimal.iso().find("/images/nmstate.img").is_some(), nmstate.is_some());
        let isolinux = text(&minimal, "/isolinux/isolinux.cfg").find("ignition.firstboot").unwrap();
        let grub = text(&minimal, "/EFI/redhat/grub.cfg").find("ignition.firstboot").unwrap();
        let json = format!(
            "{{\n  \"default\": {},\n  \"files\": [\n    {{\n      \"end\": \"\\n\",\n      \"offset\": {grub},\n      \"pad\": \"#\",\n      \
             \"path\": \"EFI/redhat/grub.cfg\"\n    }},\n    {{\n      \"end\": \"\\n\",\n      \"offset\": {isolinux},\n      \"pad\": \"#\",\n      \
             \"path\": \"isolinux/isolinux.cfg\"\n    }}\n  ],\n  \"size\": {}\n}}",
            serde_json::to_string(&kargs()).unwrap(),
            kargs().len() + 1024
        );
        assert_eq!(text(&minimal, "/coreos/kargs.json"), json);
    }
}

/// What `-report_el_torito plain` says, without sectors and sizes.
fn el_torito(path: &Path) -> Vec<String> {
    let report = xorriso::run(path, &["-report_el_torito", "plain"]);
    report
        .lines()
        .filter(|line| line.contains("path") || line.contains("El Torito"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn firmware_finds_the_same_boot_images() {
    for (built, entries) in [(&*X86_64, 2), (&*ARM64, 1)] {
        let minimal = built.open().minimal(URL, None).unwrap();
        let path = save(built, minimal.layout(), "boot.iso");
        let paths = |path: &Path| {
            el_torito(path).into_iter().filter(|line| line.contains("path")).collect::<Vec<_>>()
        };
        assert_eq!(paths(&path), paths(&built.path));
        let catalog = minimal.iso().catalog.as_ref().unwrap();
        assert_eq!(catalog.entries.len(), entries);
        let before = built.open().iso().catalog.clone().unwrap();
        for (old, new) in before.entries.iter().zip(&catalog.entries) {
            assert_eq!((old.platform, old.load_sectors), (new.platform, new.load_sectors));
        }
    }
}

#[test]
fn isolinux_finds_itself() {
    let minimal = X86_64.open().minimal(URL, None).unwrap();
    let node = minimal.iso().file("/isolinux/isolinux.bin").unwrap();
    let new = content(&minimal.content(node));
    let full = X86_64.open();
    let old = content(&full.content(full.iso().file("/isolinux/isolinux.bin").unwrap()));
    let sector = (node.extents[0].start / 2048) as u32;
    assert_eq!(new[8..12], 16u32.to_le_bytes());
    assert_eq!(new[12..16], sector.to_le_bytes());
    assert_eq!((&new[16..], &new[..12]), (&old[16..], &old[..12]), "length and sum are the same");
    let mut area = [0; 440];
    assisted_isokit::ReadAt::read_exact_at(minimal.layout(), &mut area, 0).unwrap();
    assert_eq!(area[432..440], (u64::from(sector) * 4).to_le_bytes(), "and the MBR finds it");
}

/// A USB stick boots: MBR and GPT are whole, and point at the moved EFI image.
#[test]
fn the_minimal_image_is_a_disk_too() {
    let minimal = X86_64.open().minimal(URL, None).unwrap();
    let path = save(&X86_64, minimal.layout(), "disk.iso");
    assert_eq!(minimal.layout().len() % (1 << 20), 0, "whole cylinders");
    let report = xorriso::run(&path, &["-report_system_area", "plain"]);
    let efi = minimal.iso().file("/images/efiboot.img").unwrap();
    let (start, blocks) = (efi.extents[0].start / 512, efi.len().div_ceil(512));
    let line = |name: &str, number: u32| {
        let mut lines = report.lines().filter(|line| line.starts_with(name));
        let found = lines.find(|line| {
            line.split(':').nth(1).is_some_and(|rest| rest.trim_start().starts_with(&number.to_string()))
        });
        found.unwrap_or_else(|| panic!("no {name} {number} in {report}")).to_owned()
    };
    assert!(report.contains("isohybrid") && report.contains("GPT"), "{report}");
    let fields = |line: String| {
        line.split(':').nth(1).unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let partition = fields(line("MBR partition      ", 2));
    assert_eq!(
        (&partition[2][..], &partition[3], &partition[4]),
        ("0xef", &start.to_string(), &blocks.to_string())
    );
    let whole = fields(line("MBR partition      ", 1));
    assert_eq!((&whole[3][..], whole[4].parse::<u64>().unwrap()), ("0", minimal.layout().len() / 512));
    assert!(
        report.contains(&format!("{start}  {blocks}")) || report.contains(&start.to_string()),
        "{report}"
    );
    // Both copies of the GPT are whole and name one another.
    let bytes = content(minimal.layout());
    let last = bytes.len() as u64 / 512 - 1;
    let (primary, backup) = (header(&bytes, 1), header(&bytes, last));
    assert_eq!((primary.0, primary.1), (1, last));
    assert_eq!((backup.0, backup.1), (last, 1));
    assert_eq!(primary.2, backup.2, "the same partitions");
    let places: Vec<(u64, u64)> = primary
        .2
        .chunks(128)
        .filter(|entry| entry[0] != 0)
        .map(|entry| {
            let number = |at: usize| u64::from_le_bytes(*entry[at..].first_chunk().unwrap());
            (number(32), number(40))
        })
        .collect();
    assert!(places.contains(&(start, start + blocks - 1)), "{places:?}");
}

/// Own and other block, and the partitions, of a GPT header whose sums are right.
fn header(bytes: &[u8], block: u64) -> (u64, u64, Vec<u8>) {
    let header = &bytes[block as usize * 512..][..512];
    assert_eq!(&header[..8], b"EFI PART");
    let u32_at = |at: usize| u32::from_le_bytes(*header[at..].first_chunk().unwrap());
    let u64_at = |at: usize| u64::from_le_bytes(*header[at..].first_chunk().unwrap());
    let mut summed = header[..u32_at(12) as usize].to_vec();
    summed[16..20].fill(0);
    assert_eq!(crc32fast::hash(&summed), u32_at(16));
    let len = (u32_at(80) * u32_at(84)) as usize;
    let entries = bytes[u64_at(72) as usize * 512..][..len].to_vec();
    assert_eq!(crc32fast::hash(&entries), u32_at(88));
    assert!(u64_at(48) < bytes.len() as u64 / 512);
    (u64_at(24), u64_at(32), entries)
}

#[test]
fn a_chrp_partition_covers_the_image() {
    let minimal = PPC64LE.open().minimal(URL, None).unwrap();
    let path = save(&PPC64LE, minimal.layout(), "chrp.iso");
    let report = xorriso::run(&path, &["-report_system_area", "plain"]);
    assert!(report.contains("CHRP"), "{report}");
}

#[test]
fn what_can_have_no_minimal_image_says_why() {
    let error = |image: &Image, url| image.minimal(url, None).unwrap_err();
    assert_eq!(
        error(&S390X.open(), URL).to_string(),
        "no minimal ISO can be made: images for s390x have none"
    );
    let minimal = X86_64.open().minimal(URL, None).unwrap();
    assert_eq!(error(&minimal, URL).to_string(), "no file /images/pxeboot/rootfs.img in the ISO");
    assert!(matches!(error(&X86_64.open(), "http://h/$x"), Error::BadRootfsUrl('$')));
}

/// It holds no file of its own, and little memory.
#[test]
fn a_minimal_image_is_a_few_kilobytes_of_memory() {
    let minimal = X86_64.open().minimal(URL, None).unwrap();
    let layout = minimal.customise(&Archive::new(b"{}").unwrap(), None, None).unwrap();
    let memory: u64 = layout
        .slice(0..layout.len())
        .map(|extent| match extent.source {
            assisted_isokit::Source::Bytes(bytes) => bytes.len() as u64,
            _ => 0,
        })
        .sum();
    // The system area, directories, and the fill behind a hybrid image up to a whole cylinder.
    assert!(memory < (100 << 10) + (1 << 20), "{memory}");
}
