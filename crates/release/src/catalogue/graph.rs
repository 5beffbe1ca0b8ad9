//! The graph of a channel: releases, of which only the versions matter here.

use serde::Deserialize;

/// What the update service answers.
#[derive(Debug, Deserialize)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    version: String,
}

impl Graph {
    /// The versions in it.
    pub(crate) fn versions(self) -> impl Iterator<Item = String> {
        self.nodes.into_iter().map(|node| node.version)
    }
}
