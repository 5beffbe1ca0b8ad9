//! A customised image differs from its base in its areas only.

use assisted_isokit::{Archive, Extent, Image, Layout};
use bytes::Bytes;

use crate::recipe::{IGNITION_AREA, S390X, X86_64, content};

fn archive() -> Archive {
    Archive::new(br#"{"ignition":{"version":"3.2.0"}}"#).unwrap()
}

fn list(kargs: &[&str]) -> Vec<String> {
    kargs.iter().map(|karg| (*karg).to_owned()).collect()
}

fn pattern(len: usize) -> String {
    format!("{}# COREOS_KARG_EMBED_AREA", "#".repeat(len))
}

#[test]
fn only_the_areas_change() {
    let image = X86_64.open();
    let base = X86_64.bytes();
    let customised = content(&image.customise(&archive(), Some(&list(&["p1", "p2", "p3"])), None).unwrap());
    assert_eq!(customised.len(), base.len());
    let area = &image.iso().file("/images/ignition.img").unwrap().extents[0];
    let grub = &image.iso().file("/EFI/redhat/grub.cfg").unwrap().extents[0];
    let isolinux = &image.iso().file("/isolinux/isolinux.cfg").unwrap().extents[0];
    for (offset, (new, old)) in customised.iter().zip(&base).enumerate() {
        let offset = offset as u64;
        let may = area.contains(&offset) || grub.contains(&offset) || isolinux.contains(&offset);
        assert!(may || new == old, "byte {offset} changed");
    }
    for config in [grub, isolinux] {
        let text =
            String::from_utf8_lossy(&customised[config.start as usize..config.end as usize]).into_owned();
        let wanted = format!("ignition.platform.id=metal p1 p2 p3\n{}", pattern(1023 - 9));
        assert!(text.contains(&wanted), "{text}");
    }
}

#[test]
fn without_arguments_the_boot_configuration_stays() {
    let image = X86_64.open();
    let grub = image.iso().file("/EFI/redhat/grub.cfg").unwrap();
    let customised = Image::read(image.customise(&archive(), None, None).unwrap()).unwrap();
    assert_eq!(content(&customised.content(grub)), content(&image.content(grub)));
    // An empty list ends the line: the area counts as changed.
    let customised = Image::read(image.customise(&archive(), Some(&[]), None).unwrap()).unwrap();
    let text = String::from_utf8(content(&customised.content(grub))).unwrap();
    assert!(text.contains(&format!("ignition.platform.id=metal \n{}", pattern(1022))));
}

/// What lay in the area before does not show through.
#[test]
fn the_rest_of_the_ignition_area_is_zero() {
    let mut used = X86_64.open().layout().clone();
    let area = X86_64.open().iso().file("/images/ignition.img").unwrap().extents[0].clone();
    used.overlay(area.start, vec![0xaa; IGNITION_AREA as usize]).unwrap();
    let layout = Image::read(used).unwrap().customise(&archive(), None, None).unwrap();
    let bytes = content(&layout.part(area));
    let len = archive().len() as usize;
    assert_eq!(&bytes[..len], &archive().bytes()[..]);
    assert!(bytes[len..].iter().all(|byte| *byte == 0));
}

#[test]
fn what_is_too_long_is_refused_in_the_words_that_clients_know() {
    let image = X86_64.open();
    let error = |archive: &Archive, kargs: Option<&[String]>, ramdisk| {
        image.customise(archive, kargs, ramdisk).unwrap_err().to_string()
    };
    // Noise does not compress.
    let big: Vec<u8> = (0..400_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let big = Archive::new(&big).unwrap();
    assert_eq!(
        error(&big, None, None),
        format!("content length ({}) exceeds embed area size (262144)", big.len())
    );
    let kargs = |len: usize| vec!["k".repeat(len)];
    assert!(image.customise(&archive(), Some(&kargs(1022)), None).is_ok(), "all of the area");
    assert_eq!(
        error(&archive(), Some(&kargs(1023)), None),
        "content length (1025) exceeds embed area size (1024)"
    );
    assert_eq!(
        error(&archive(), None, Some(Bytes::from_static(b"x"))),
        "the image has no area for a ramdisk"
    );
    let minimal = image.minimal("http://h/rootfs", None).unwrap();
    assert!(minimal.customise(&archive(), None, Some(vec![1; 1 << 20].into())).is_ok());
    let error = minimal.customise(&archive(), None, Some(vec![1; (1 << 20) + 1].into())).unwrap_err();
    assert_eq!(error.to_string(), "content length (1048577) exceeds embed area size (1048576)");
}

#[test]
fn s390x_takes_ignition_but_no_arguments() {
    let image = S390X.open();
    let layout = image.customise(&archive(), None, None).unwrap();
    let area = image.iso().file("/images/cdboot.img").unwrap().extents[0].start + 70_000;
    let bytes = content(&layout.part(area..area + archive().len()));
    assert_eq!(bytes, &archive().bytes()[..]);
    let error = image.customise(&archive(), Some(&[]), None).unwrap_err();
    assert_eq!(error.to_string(), "kargs cannot be modified in s390x architecture ISOs");
}

#[test]
fn an_image_without_marked_lines_takes_ignition_only() {
    let image = X86_64.open();
    let mut layout = image.layout().clone();
    let grub = image.iso().file("/EFI/redhat/grub.cfg").unwrap().extents[0].clone();
    layout.overlay(grub.start, Extent::zeros(grub.end - grub.start)).unwrap();
    let image = Image::read(layout).unwrap();
    assert!(image.customise(&archive(), None, None).is_ok());
    let error = image.customise(&archive(), Some(&list(&["a"])), None).unwrap_err();
    assert_eq!(error.to_string(), "failed to find COREOS_KARG_EMBED_AREA in EFI/redhat/grub.cfg");
}

/// A hundred images of one base hold one file and a few bytes each.
#[test]
fn images_share_their_base() {
    let image = X86_64.open();
    let layouts: Vec<Layout> =
        (0..100).map(|_| image.customise(&archive(), Some(&list(&["a"])), None).unwrap()).collect();
    for layout in &layouts {
        assert!(layout.extents() < 12, "{} extents", layout.extents());
    }
}
