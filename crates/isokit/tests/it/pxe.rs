//! What is served for network boot, and the checks of a downloaded image.

use assisted_isokit::{Archive, Extent, Layout, Thresholds};
use bytes::Bytes;

use crate::recipe::{ARM64, S390X, X86_64, content};

const SMALL: Thresholds = Thresholds { rootfs: 300_000, kernel: 50_000 };

#[test]
fn the_initramfs_has_its_archives_in_order() {
    let image = X86_64.open();
    let archive = Archive::new(b"{}").unwrap();
    let initrd = std::fs::read(X86_64.dir.path().join("tree/images/pxeboot/initrd.img")).unwrap();
    let ramdisk = Bytes::from_static(b"ramdisk of odd length");
    let nmstate = Layout::from(Extent::from(Bytes::from_static(b"nmstatectl")));
    let all = image.pxe_initrd(&archive, Some(ramdisk.clone()), Some(&nmstate)).unwrap();
    assert_eq!(content(&all), [&initrd[..], &archive.bytes(), &ramdisk, b"nmstatectl"].concat());
    let least = image.pxe_initrd(&archive, None, None).unwrap();
    assert_eq!(content(&least), [&initrd[..], &archive.bytes()].concat());
}

#[test]
fn kernel_and_root_file_system_are_those_of_the_tree() {
    let image = ARM64.open();
    let file = |path: &str| std::fs::read(ARM64.dir.path().join("tree/images/pxeboot").join(path)).unwrap();
    assert_eq!(content(&image.kernel().unwrap()), file("vmlinuz"));
    assert_eq!(content(&image.rootfs().unwrap()), file("rootfs.img"));
    assert!(image.ins_file().is_err());
}

#[test]
fn s390x_loads_by_address_and_size() {
    let image = S390X.open();
    assert_eq!(content(&image.ins_file().unwrap()), b"images/pxeboot/vmlinuz 0x00000000\n");
    let addrsize = image.addrsize(0x1_0000_0002).unwrap();
    assert_eq!(addrsize, [0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2]);
    assert!(X86_64.open().addrsize(1).is_err());
}

#[test]
fn an_image_is_checked_before_it_is_used() {
    let image = X86_64.open();
    image.check(SMALL).unwrap();
    let error = |thresholds| image.check(thresholds).unwrap_err().to_string();
    let rootfs = image.rootfs().unwrap().len();
    assert_eq!(
        error(Thresholds::default()),
        format!("rootfs size {rootfs} bytes is below minimum 104857600")
    );
    assert_eq!(
        error(Thresholds { kernel: 50_001, ..SMALL }),
        "kernel size 50000 bytes is below minimum 50001"
    );
    let minimal = image.minimal("http://h/rootfs", None).unwrap();
    let error = minimal.check(SMALL).unwrap_err().to_string();
    assert!(error.starts_with("rootfs not found in ISO: "), "{error}");
    let mut other = image.layout().clone();
    other.overlay(32_808, Bytes::from_static(b"debian-12")).unwrap();
    let error = assisted_isokit::Image::read(other).unwrap().check(SMALL).unwrap_err().to_string();
    assert!(error.starts_with("ISO volume identifier (debian-12"), "{error}");
}
