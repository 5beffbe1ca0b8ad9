//! Images, archives and descriptions with anything changed: an error or a result, never a panic, never much memory.

use assisted_isokit::cpio::{self, Limits, Writer, compression};
use assisted_isokit::iso::Iso;
use assisted_isokit::{Archive, Extent, Image, Layout, inspect};
use bytes::Bytes;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use crate::minimal::URL;
use crate::recipe::{S390X, X86_64};

const SEED: [u8; 32] = *b"live images with anything wrong!";

/// The same cases each time.
fn runner(cases: u32) -> TestRunner {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &SEED))
}

/// Everything that is done with an image.
fn exercise(layout: &Layout) {
    let _ = inspect(layout).map(|found| serde_json::to_string(&found).unwrap());
    let Ok(image) = Image::read(layout.clone()) else { return };
    let archive = Archive::new(b"{}").unwrap();
    let customise = |image: &Image| {
        let _ = image.customise(&archive, Some(&["quiet".to_owned()]), Some(vec![0; 10].into()));
        let _ = image.pxe_initrd(&archive, None, None);
        let _ = image.addrsize(7);
        let _ = image.check(assisted_isokit::Thresholds::default());
    };
    customise(&image);
    if let Ok(minimal) = image.minimal(URL, None) {
        customise(&minimal);
        let _ = inspect(minimal.layout());
    }
}

/// Places where something is written that matters: descriptors, records, JSON, boot configurations, partition tables.
fn interesting(layout: &Layout) -> Vec<std::ops::Range<u64>> {
    let iso = Iso::read(layout).unwrap();
    let mut places = vec![0..1024, 32_672..32_768, 32_768..32_768 + 3 * 2048];
    for node in iso.nodes() {
        let small = node.len() <= 4096 || node.is_directory();
        places.extend(node.extents.iter().filter(|_| small).cloned());
    }
    places
}

#[test]
fn a_changed_image_does_no_harm() {
    let bases: Vec<_> = [&*X86_64, &*S390X]
        .map(|built| Layout::from(Extent::from(built.bytes())))
        .into_iter()
        .map(|layout| (interesting(&layout), layout))
        .collect();
    let change = (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        prop_oneof![
            any::<u8>().prop_map(|byte| vec![byte]),
            Just(vec![0xff; 4]),
            Just(vec![0; 8]),
            prop::collection::vec(any::<u8>(), 1..9),
        ],
    );
    let cases = (
        any::<bool>(),
        prop::collection::vec(change, 1..6),
        prop::option::weighted(0.1, any::<prop::sample::Index>()),
    );
    runner(400)
        .run(&cases, |(which, changes, cut)| {
            let (places, base) = &bases[usize::from(which)];
            let mut layout = base.clone();
            for (place, at, bytes) in changes {
                let place = &places[place.index(places.len())];
                let at = place.start + at.index((place.end - place.start).max(1) as usize) as u64;
                layout.overlay(at.min(layout.len()), bytes).unwrap();
            }
            if let Some(cut) = cut {
                layout = layout.part(0..cut.index(layout.len() as usize) as u64);
            }
            exercise(&layout);
            Ok(())
        })
        .unwrap();
}

#[test]
fn hostile_trees_end() {
    let image = X86_64.open();
    let root = &image.iso().node(Iso::ROOT).extents[0];
    let sector = |place: u64| ((place / 2048) as u32).to_le_bytes();
    let error = |layout: &Layout| Iso::read(layout).unwrap_err().to_string();
    let record_of = |path: &str| {
        // The record of a directory in the root: found by its place.
        let node = image.iso().node(image.iso().find(path).unwrap());
        let bytes = crate::recipe::content(&image.layout().part(root.clone()));
        let at = bytes.windows(4).position(|window| window == sector(node.extents[0].start)).unwrap();
        root.start + at as u64
    };
    let images = record_of("/images");

    let mut into_itself = image.layout().clone();
    into_itself.overlay(images, sector(root.start).to_vec()).unwrap();
    assert_eq!(error(&into_itself), "not a usable ISO image: a directory stands in two places");

    let mut huge = image.layout().clone();
    huge.overlay(images + 8, vec![0xff; 4]).unwrap();
    huge.push(Extent::zeros(5 << 30));
    assert!(error(&huge).contains("more than 67108864 bytes"), "{}", error(&huge));

    let mut outside = image.layout().clone();
    outside.overlay(images, vec![0xff; 4]).unwrap();
    assert!(error(&outside).contains("ISO image is incomplete"), "{}", error(&outside));

    let mut cut = image.layout().clone();
    cut.overlay(root.start, vec![40, 0]).unwrap();
    cut.overlay(root.start + 32, vec![200]).unwrap();
    assert_eq!(error(&cut), "not a usable ISO image: a directory record has no name");
}

#[test]
fn changed_archives_do_no_harm() {
    let mut writer = Writer::new();
    writer.directory("etc", 0o755).file("etc/a", 0o644, &[7; 3000]).symlink("etc/b", "a");
    let plain = writer.finish();
    let bases = [
        plain.clone(),
        compression::gzip(&plain).unwrap(),
        include_bytes!("../data/one.cpio.xz").to_vec(),
        include_bytes!("../data/one.cpio.zst").to_vec(),
    ];
    let change = (any::<prop::sample::Index>(), any::<u8>());
    let cases = (0..bases.len(), prop::collection::vec(change, 0..6), any::<prop::sample::Index>());
    let limits = Limits { bytes: 1 << 20, members: 100 };
    runner(4000)
        .run(&cases, |(which, changes, cut)| {
            let mut bytes = bases[which].clone();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes.truncate(bytes.len() - cut.index(bytes.len()) / 8);
            if let Ok(members) = cpio::read(&bytes, limits) {
                prop_assert!(members.iter().map(|member| member.content.len()).sum::<usize>() <= 1 << 20);
            }
            Ok(())
        })
        .unwrap();
}

/// Whatever stands in the small files that say where things are.
#[test]
fn hostile_descriptions_do_no_harm() {
    let image = X86_64.open();
    let at = |path: &str| image.iso().file(path).unwrap().extents[0].clone();
    let number = prop_oneof![
        Just("-1".to_owned()),
        Just("18446744073709551615".to_owned()),
        Just("1e300".to_owned()),
        (0u64..2000).prop_map(|n| n.to_string()),
        any::<u64>().prop_map(|n| n.to_string())
    ];
    let path = prop_oneof![
        Just("EFI/redhat/grub.cfg"),
        Just("isolinux/isolinux.cfg"),
        Just("images"),
        Just("../../etc/passwd"),
        Just("")
    ];
    let cases = (number.clone(), number.clone(), path, number);
    runner(300)
        .run(&cases, |(offset, size, path, other)| {
            let mut layout = image.layout().clone();
            for (file, text) in [
                (
                    "/coreos/kargs.json",
                    format!(
                        r#"{{"default":"a","files":[{{"path":"{path}","offset":{offset}}}],"size":{size}}}"#
                    ),
                ),
                ("/coreos/igninfo.json", format!(r#"{{"file":"{path}","offset":{other}}}"#)),
            ] {
                let place = at(file);
                let mut bytes = text.into_bytes();
                bytes.resize((place.end - place.start) as usize, b' ');
                // What is longer than its file is cut off: that is a case, too.
                layout.overlay(place.start, Bytes::from(bytes)).unwrap();
            }
            exercise(&layout);
            Ok(())
        })
        .unwrap();
}
