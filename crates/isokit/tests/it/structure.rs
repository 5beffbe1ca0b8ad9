//! What the reader finds is what xorriso finds.

use std::collections::BTreeMap;
use std::path::Path;

use assisted_isokit::iso::{Iso, SECTOR};
use assisted_isokit::{Architecture, Extent, Image, Layout, ReadAt};

use crate::recipe::{self, ARM64, PPC64LE, S390X, VOLUME_ID, X86_64, content};
use crate::xorriso;

fn files(image: &Image) -> BTreeMap<String, (u64, u64)> {
    let files = image.iso().files().into_iter();
    files.map(|(path, node)| (path, (node.extents[0].start / SECTOR, node.len()))).collect()
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

/// xorriso writes a file of 5 GiB as two extents; the disk under it holds a hole.
#[test]
fn a_file_of_several_extents_lies_behind_four_gibibytes() {
    let built = recipe::build(Architecture::Arm64);
    let tree = built.dir.path().join("tree");
    let big = std::fs::File::create(tree.join("images/aaa.img")).unwrap();
    let len = (4 << 30) + 12_345;
    big.set_len(len).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&big, b"the end", len - 7).unwrap();
    let image = sparse(&tree, built.dir.path(), len);
    let node = image.iso().file("/images/aaa.img").unwrap();
    assert_eq!((node.len(), node.extents.len()), (len, 1), "adjacent extents are one");
    let mut end = [0; 7];
    image.content(node).read_exact_at(&mut end, len - 7).unwrap();
    assert_eq!(&end, b"the end");
    let rootfs = image.iso().file("/images/pxeboot/rootfs.img").unwrap();
    assert!(rootfs.extents[0].start > 4 << 30, "it lies behind");
    let original = std::fs::read(tree.join("images/pxeboot/rootfs.img")).unwrap();
    assert_eq!(content(&image.rootfs().unwrap()), original);
    // All of it works that far out.
    let archive = assisted_isokit::Archive::new(b"{}").unwrap();
    let customised = image.customise(&archive, Some(&["quiet".to_owned()]), None).unwrap();
    assert_eq!(customised.len(), image.layout().len());
    let minimal = image.minimal("http://h/rootfs", None).unwrap();
    let node = minimal.iso().file("/images/aaa.img").unwrap();
    minimal.content(node).read_exact_at(&mut end, len - 7).unwrap();
    assert_eq!(&end, b"the end");
}

/// The image as xorriso streams it, its long runs of zeros left out.
fn sparse(tree: &Path, dir: &Path, len: u64) -> Image {
    use std::io::{Read, Seek, SeekFrom, Write};
    let mut child = std::process::Command::new("xorriso")
        .args(["-as", "mkisofs", "-quiet", "-iso-level", "3", "-V", VOLUME_ID, "-r", "-o", "-"])
        .arg(tree)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let path = dir.join("sparse.iso");
    let mut file = std::fs::File::create(&path).unwrap();
    let mut stream = child.stdout.take().unwrap();
    let zeros = vec![0; 1 << 20];
    let mut piece = zeros.clone();
    let mut total = 0;
    loop {
        let read = stream.read(&mut piece).unwrap();
        if read == 0 {
            break;
        }
        if piece[..read] == zeros[..read] {
            file.seek(SeekFrom::Current(read as i64)).unwrap();
        } else {
            file.write_all(&piece[..read]).unwrap();
        }
        total += read as u64;
    }
    assert!(child.wait().unwrap().success());
    assert!(total > len);
    file.set_len(total).unwrap();
    Image::open(&path).unwrap()
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
