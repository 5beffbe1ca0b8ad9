//! Layers of images out of a registry: tar, gzip, pax headers, links, marks of deletion. The first byte says in which pieces
//! they arrive, whether they are packed, and where one ends and the next begins is a byte that no text has, three times.

use std::io::Write;

use assisted_release::fuzz::layers;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::input;

pub fn run(bytes: &[u8]) {
    let (choice, rest) = input::choice(bytes);
    let mut found: Vec<Vec<Bytes>> = Vec::new();
    let mut rest = rest;
    while found.len() < 3 {
        let end = rest.windows(3).position(|mark| mark == [0xff; 3]);
        let layer = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let layer = if choice & 1 == 1 { packed(layer) } else { layer.to_vec() };
        found.push(layer.chunks(1 + choice * 7).map(Bytes::copy_from_slice).collect());
        let Some(end) = end else { break };
        rest = rest.get(end + 3..).unwrap_or_default();
    }
    let texts = layers(&["usr/bin/installer", "release-manifests/image-references"], &found);
    for text in texts.into_iter().flatten() {
        assert!(text.len() <= 64 << 10, "what is kept of a file is bounded");
    }
}

fn packed(layer: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing into memory does not fail.
    let _ = packer.write_all(layer);
    packer.finish().unwrap_or_default()
}
