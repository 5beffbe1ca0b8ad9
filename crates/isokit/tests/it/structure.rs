//! What the reader finds is what xorriso finds.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::Path;

use assisted_isokit::iso::{Iso, SECTOR};
use assisted_isokit::{Architecture, Archive, Extent, Image, Layout, ReadAt, Source};

use crate::recipe::{self, ARM64, PPC64LE, S390X, VOLUME_ID, X86_64, content};
use crate::xorriso;

fn files(image: &Image) -> BTreeMap<String, (u64, u64)> {
    let iso = image.iso();
    iso.files().map(|(index, node)| (iso.path(index), (node.extents[0].start / SECTOR, node.len()))).collect()
}

#[test]
fn every_file_is_where_xorriso_finds_it() {
    for built in [&*X86_64, &*ARM64, &*PPC64LE, &*S390X] {
        let (found, mut wanted) = (files(&built.open()), xorriso::files(&built.path));
        // xorriso does not list the boot catalog among regular files.
        let catalog =
            found.keys().find(|path| path.ends_with("/boot.cat") || path.ends_with("/boot.catalog"));
        if let Some(catalog) = catalog {
            wanted.insert(catalog.clone(), found[catalog]);
        }
        assert_eq!(found, wanted);
    }
}

#[test]
fn names_of_either_tree_are_found_whatever_their_case() {
    let image = X86_64.open();
    let iso = image.iso();
    let wanted = iso.find("/coreos/igninfo.json").unwrap();
    for path in ["coreos/igninfo.json", "/COREOS/IGNINFO.JSO", "/Coreos//IgnInfo.JSON", "COREOS/igninfo.jso"]
    {
        assert_eq!(iso.find(path), Some(wanted), "{path}");
    }
    for path in ["/coreos/igninfo", "/igninfo.json", "/coreos/igninfo.json/x", "/coreos/IGNINFO.JSO;1"] {
        assert_eq!(iso.find(path), None, "{path}");
    }
    assert_eq!(iso.find("/"), Some(Iso::ROOT));
    assert!(iso.file("/coreos").is_err(), "a directory is no file");
    assert_eq!(iso.volume_id, VOLUME_ID);
}

#[test]
fn architectures_are_told_by_what_is_inside() {
    for (built, architecture) in [
        (&X86_64, Architecture::X86_64),
        (&ARM64, Architecture::Arm64),
        (&PPC64LE, Architecture::Ppc64le),
        (&S390X, Architecture::S390x),
    ] {
        assert_eq!(built.open().architecture(), Some(architecture));
    }
}

/// Without Rock Ridge there are only short names.
#[test]
fn an_image_with_short_names_only_is_read() {
    let built = recipe::build(Architecture::Arm64);
    let path = built.dir.path().join("plain.iso");
    let output = std::process::Command::new("xorriso")
        .args(["-rockridge", "off", "-as", "mkisofs", "-quiet", "-V", VOLUME_ID, "--norock", "-o"])
        .arg(&path)
        .arg(built.dir.path().join("tree"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let image = Image::open(&path).unwrap();
    assert_eq!(image.architecture(), Some(Architecture::Arm64));
    assert_eq!(image.ignition_area(), recipe::IGNITION_AREA);
    assert!(image.iso().find("coreos/features.json").is_some());
}

#[test]
fn long_names_and_deep_folders_are_read() {
    let built = recipe::build(Architecture::Arm64);
    let tree = built.dir.path().join("tree");
    let name = "n".repeat(240);
    let deep = (0..7).fold(tree.clone(), |path, level| path.join(format!("level-{level}")));
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::write(deep.join(&name), "found").unwrap();
    for number in 0..300 {
        std::fs::write(tree.join(format!("images/one of many files {number}")), number.to_string()).unwrap();
    }
    let path = built.dir.path().join("deep.iso");
    recipe::xorriso(Architecture::Arm64, &tree, &path, &["-D"]);
    let image = Image::open(&path).unwrap();
    let below = (0..7).map(|level| format!("level-{level}/")).collect::<String>();
    let node = image.iso().file(&format!("{below}{name}")).unwrap();
    assert_eq!(content(&image.content(node)), b"found");
    let node = image.iso().file("/images/one of many files 299").unwrap();
    assert_eq!(content(&image.content(node)), b"299");
}

/// A record holds 32 bits of length: longer files have several, and xorriso reads them as one.
#[test]
fn a_file_may_have_more_than_four_gibibytes() {
    let len = (4 << 30) + 12_345;
    let mut long = Layout::from(Extent::zeros(len - 7));
    long.push(b"the end".to_vec());
    let minimal = X86_64.open().minimal("http://h/rootfs", Some(&long)).unwrap();
    let node = minimal.iso().file("/images/nmstate.img").unwrap();
    assert_eq!((node.len(), node.extents.len()), (len, 1), "adjacent extents are one");
    let mut end = [0; 7];
    minimal.content(node).read_exact_at(&mut end, len - 7).unwrap();
    assert_eq!(&end, b"the end");
    let path = X86_64.dir.path().join("long.iso");
    write_sparse(minimal.layout(), &path);
    let files = xorriso::files(&path);
    assert_eq!(files["/images/nmstate.img"].1, len);
}

fn write_sparse(layout: &Layout, path: &Path) {
    let file = std::fs::File::create(path).unwrap();
    file.set_len(layout.len()).unwrap();
    let mut at = 0;
    for extent in layout.slice(0..layout.len()) {
        let len = extent.len;
        if !matches!(extent.source, Source::Zeros) {
            file.write_all_at(&content(&extent.into()), at).unwrap();
        }
        at += len;
    }
}

#[test]
fn an_area_may_lie_behind_four_gibibytes() {
    let image = X86_64.open();
    let iso = image.iso();
    let node = iso.file("/images/ignition.img").unwrap();
    let folder = &iso.node(iso.find("/images").unwrap()).extents[0];
    let records = content(&image.layout().part(folder.clone()));
    let sector = ((node.extents[0].start / SECTOR) as u32).to_le_bytes();
    let record = records.windows(4).position(|bytes| bytes == sector).unwrap();
    let far = 5 << 30;
    let mut layout = image.layout().clone();
    layout.overlay(folder.start + record as u64, ((far / SECTOR) as u32).to_le_bytes().to_vec()).unwrap();
    layout.push(Extent::zeros(far + recipe::IGNITION_AREA - layout.len()));
    let archive = Archive::new(b"{}").unwrap();
    let customised =
        Image::read(layout).unwrap().customise(&archive, Some(&["quiet".to_owned()]), None).unwrap();
    let embedded = content(&customised.part(far..far + archive.len()));
    assert_eq!(embedded, archive.bytes());
    let found = assisted_isokit::inspect(&customised).unwrap();
    assert_eq!(found.ignition.area.unwrap().offset, far);
    assert_eq!(found.ignition.contents.config.as_deref(), Some(&b"{}"[..]));
}

#[test]
fn what_is_no_whole_image_is_refused_with_the_reason() {
    let bytes = X86_64.bytes();
    let open = |bytes: Vec<u8>| Image::read(Layout::from(Extent::from(bytes))).unwrap_err().to_string();
    assert_eq!(open(Vec::new()), "not a usable ISO image: it ends before its descriptors");
    assert_eq!(
        open(b"<html>404</html>".repeat(5000)),
        "not a usable ISO image: its volume descriptors have no CD001 signature"
    );
    let iso_len = X86_64.open().iso().len;
    let half = open(bytes[..bytes.len() / 2].to_vec());
    assert_eq!(half, format!("ISO image is incomplete: it has {} bytes of {iso_len}", bytes.len() / 2));
    let mut twisted = bytes;
    twisted[32 << 10] = 2;
    assert_eq!(open(twisted), "not a usable ISO image: it has no primary volume descriptor");
}
