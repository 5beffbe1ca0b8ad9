//! Ways in for the fuzz targets (`fuzz/`) to what reads the answers of registries. Nothing else calls this.

use std::io;

use bytes::Bytes;
use http::HeaderMap;
use tokio::sync::mpsc;

use crate::bundles;
use crate::catalogue::graph::Graph;
use crate::catalogue::life_cycle::LifeCycle;
use crate::image::MemorySink;
use crate::image::layer::Search;
use crate::installer::markers::Markers;
use crate::payload::Metadata;
use crate::payload::image_references::ImageReferences;
use crate::registry::Found;
use crate::registry::authorize::{Challenge, bearer};
use crate::registry::manifest::Config;

/// Longest file of a layer that is kept, in bytes.
const LIMIT: u64 = 64 << 10;

/// Reads a text as each of the documents that registries and update services answer with.
pub fn documents(text: &[u8]) {
    if let Ok(Found::Index(index)) = Found::read(text) {
        for architecture in index.architectures() {
            // What is listed is found, unless it is listed twice: then the first counts.
            assert!(index.find(architecture).is_some());
        }
    }
    let _ = serde_json::from_slice::<Config>(text);
    let _ = bearer(text);
    let _ = Metadata::read(text);
    let _ = ImageReferences::read(text);
    bundles::described(text);
    if let Ok(graph) = serde_json::from_slice::<Graph>(text) {
        let _ = graph.versions().count();
    }
    if let Ok(life_cycle) = serde_json::from_slice::<LifeCycle>(text) {
        let _ = life_cycle.level("4.20");
    }
}

/// Reads what a registry asks for in the headers of a refusal; whether it is something that is known.
pub fn challenge(headers: &HeaderMap) -> bool {
    Challenge::read(headers).is_some()
}

/// Looks for files in layers, the lowest first, each in the pieces in which it arrives; what was found of each.
pub fn layers(paths: &[&str], layers: &[Vec<Bytes>]) -> Vec<Option<Vec<u8>>> {
    const MOST_LINKS: u8 = 8;
    let mut search = Search::new(paths, MOST_LINKS);
    let mut texts = MemorySink::new(paths.len(), LIMIT);
    let mut next = layers.len();
    // Each link starts the search again at most once for each path.
    let mut turns = (layers.len() + 1) * (paths.len() * usize::from(MOST_LINKS) + 1);
    while let Some(level) = next.checked_sub(1) {
        turns = turns.saturating_sub(1);
        assert!(turns > 0, "the search does not end");
        next = level;
        if !search.begin(level) {
            continue;
        }
        let pieces = layers.get(level).map(Vec::as_slice).unwrap_or_default();
        let (sender, receiver) = mpsc::channel(pieces.len().max(1));
        for piece in pieces {
            let _ = sender.try_send(piece.clone());
        }
        drop(sender);
        if search.unpack(receiver, &mut texts).is_err() {
            break;
        }
        if let Some(again) = search.finish(layers.len()) {
            next = again;
        }
    }
    texts.into_inner()
}

/// Fills the places of a program that comes in pieces; the whole program.
pub fn markers(pieces: &[&[u8]]) -> io::Result<Vec<u8>> {
    let markers = Markers {
        image: "quay.io/example/release@sha256:0".to_owned(),
        version: "4.20.1".to_owned(),
        architecture: "x86_64".to_owned(),
    };
    let mut written = Vec::new();
    let mut write = |piece: &[u8]| {
        written.extend_from_slice(piece);
        Ok(())
    };
    let mut filter = markers.filter();
    for piece in pieces {
        filter.push(piece, &mut write)?;
    }
    filter.finish(&mut write)?;
    Ok(written)
}
