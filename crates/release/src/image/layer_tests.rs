//! Layers that delete, link and lie.

use std::io::Write;

use proptest::prelude::*;
use tokio::sync::mpsc;

use super::super::sink::MemorySink;
use super::*;

/// An archive that is made by hand.
struct Layer(tar::Builder<Vec<u8>>);

impl Layer {
    fn new() -> Self {
        Self(tar::Builder::new(Vec::new()))
    }

    fn file(mut self, path: &str, content: &str) -> Self {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        self.0.append_data(&mut header, path, content.as_bytes()).unwrap();
        self
    }

    fn link(mut self, kind: EntryType, path: &str, target: &str) -> Self {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(0);
        self.0.append_link(&mut header, path, target).unwrap();
        self
    }

    fn tar(self) -> Vec<u8> {
        self.0.into_inner().unwrap()
    }

    fn gzip(self) -> Vec<u8> {
        gzip(&self.tar())
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// Searches layers, the lowest first; the texts, and which layers were read.
fn search(layers: &[Vec<u8>], paths: &[&str]) -> Result<(Vec<Option<String>>, Vec<usize>), RegistryError> {
    let mut search = Search::new(paths, 8);
    let mut texts = MemorySink::new(paths.len(), 100_000);
    let mut read = Vec::new();
    let mut level = layers.len();
    while level > 0 {
        level -= 1;
        if !search.begin(level) {
            continue;
        }
        read.push(level);
        let (to, from) = mpsc::channel(1 << 16);
        for piece in layers[level].chunks(700) {
            to.try_send(Bytes::copy_from_slice(piece)).unwrap();
        }
        drop(to);
        search.unpack(from, &mut texts)?;
        level = search.finish(layers.len()).unwrap_or(level);
    }
    let texts = texts
        .into_inner()
        .into_iter()
        .map(|text| text.map(|text| String::from_utf8_lossy(&text).into_owned()));
    Ok((texts.collect(), read))
}

fn one(layers: &[Vec<u8>], path: &str) -> Option<String> {
    search(layers, &[path]).unwrap().0.remove(0)
}

#[test]
fn the_top_layer_wins_and_ends_the_search() {
    let layers = [
        Layer::new().file("a", "old").file("b", "below").gzip(),
        Layer::new().file("./a", "new").file("usr/bin/x", "x").tar(),
    ];
    assert_eq!(search(&layers, &["a"]).unwrap(), (vec![Some("new".to_owned())], vec![1]));
    let (texts, read) = search(&layers, &["a", "b", "c"]).unwrap();
    assert_eq!(texts, [Some("new".to_owned()), Some("below".to_owned()), None]);
    assert_eq!(read, [1, 0]);
}

#[test]
fn what_is_deleted_is_not_found() {
    let below = Layer::new().file("etc/x/a", "1").file("etc/y", "2").file("a", "3").gzip();
    for (marks, left) in [
        (vec!["etc/x/.wh.a"], [false, true, true]),
        (vec!["etc/.wh.x"], [false, true, true]),
        (vec!["etc/x/.wh..wh..opq"], [false, true, true]),
        (vec!["etc/.wh..wh..opq"], [false, false, true]),
        (vec![".wh.etc"], [false, false, true]),
        (vec![".wh..wh..opq"], [false, false, false]),
        (vec!["etc/.wh.xx", "e/.wh..wh..opq"], [true, true, true]),
    ] {
        let top = marks.iter().fold(Layer::new(), |layer, mark| layer.file(mark, "")).gzip();
        let (texts, _) = search(&[below.clone(), top], &["etc/x/a", "etc/y", "a"]).unwrap();
        assert_eq!(texts.iter().map(Option::is_some).collect::<Vec<_>>(), left, "{marks:?}");
    }
    let twice = Layer::new().file("etc/y", "first").file("etc/y", "second").file("b", "").gzip();
    let (texts, _) = search(&[below.clone(), twice], &["etc/y", "a"]).unwrap();
    assert_eq!(texts, [Some("second".to_owned()), Some("3".to_owned())]);
    let replaced = Layer::new().file("etc/.wh..wh..opq", "").file("etc/y", "new").gzip();
    assert_eq!(one(&[below, replaced], "etc/y").as_deref(), Some("new"));
}

#[test]
fn links_are_followed() {
    let below = Layer::new().file("opt/real", "real").link(EntryType::Symlink, "bin", "usr/bin").gzip();
    let top = Layer::new()
        .link(EntryType::Symlink, "usr/bin/a", "../../opt/real")
        .link(EntryType::Symlink, "usr/bin/b", "/usr/bin/a")
        .file("usr/bin/c", "c")
        .link(EntryType::Link, "usr/bin/d", "usr/bin/c")
        .link(EntryType::Symlink, "loop", "loop")
        .link(EntryType::Symlink, "nowhere", "/not/there")
        .gzip();
    let layers = [below, top];
    for (path, expected) in [
        ("usr/bin/a", Some("real")),
        ("usr/bin/b", Some("real")),
        ("usr/bin/d", Some("c")),
        ("bin/c", Some("c")),
        ("bin/b", Some("real")),
        ("loop", None),
        ("nowhere", None),
    ] {
        assert_eq!(one(&layers, path).as_deref(), expected, "{path}");
    }
}

#[test]
fn long_names() {
    let long = format!("{}/{}", "d".repeat(150), "f".repeat(150));
    let layer =
        Layer::new().file(&long, "long").link(EntryType::Symlink, "short", &format!("/{long}")).gzip();
    assert_eq!(one(std::slice::from_ref(&layer), &long).as_deref(), Some("long"));
    assert_eq!(one(&[layer], "short").as_deref(), Some("long"));
    let mut endless = tar::Header::new_gnu();
    endless.set_entry_type(EntryType::GNULongName);
    endless.set_size(1 << 30);
    endless.set_cksum();
    let error = search(&[endless.as_bytes().to_vec()], &["a"]).unwrap_err();
    assert!(error.to_string().contains("too long"), "{error}");
}

#[test]
fn too_large_and_broken() {
    let large = Layer::new().file("a", &"x".repeat(200_000)).gzip();
    assert!(matches!(search(std::slice::from_ref(&large), &["a"]), Err(RegistryError::TooLarge { .. })));
    for broken in [large[..large.len() / 2].to_vec(), ZSTD.to_vec(), vec![7; 2000]] {
        assert!(matches!(search(&[broken], &["b"]), Err(RegistryError::Malformed(_))));
    }
    assert_eq!(one(&[Vec::new()], "a"), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever arrives is read to its end or refused, in bounded memory.
    #[test]
    fn mutated_layers(at in prop::collection::vec((0usize..3000, any::<u8>()), 1..20), packed in any::<bool>()) {
        let layer = Layer::new().file("a/b", "text").link(EntryType::Symlink, "c", "a/b").file(&"n".repeat(200), "x");
        let mut bytes = layer.tar();
        for (place, byte) in at {
            let place = place % bytes.len();
            bytes[place] = byte;
        }
        let bytes = if packed { gzip(&bytes) } else { bytes };
        let _ = search(&[bytes], &["a/b", "c", &"n".repeat(200)]);
    }
}
