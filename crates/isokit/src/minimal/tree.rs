//! The files of a medium to be written: the base's, with some taken out, changed or added.

use std::collections::HashMap;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::extent::{Extent, Layout};
use crate::image::Image;
use crate::iso::lookup::short_name;
use crate::iso::{Index, Iso, Node, susp};

/// What a record says besides places.
#[derive(Debug, Clone)]
pub struct Meta {
    /// Without a name: the root, and the entries of a directory for itself and its parent.
    pub name: String,
    pub identifier: Vec<u8>,
    pub flags: u8,
    pub recorded: [u8; 7],
    pub attributes: Vec<susp::Entry>,
}

impl Meta {
    fn of(node: &Node) -> Self {
        Self {
            name: node.name.clone(),
            identifier: node.identifier.clone(),
            flags: node.flags,
            recorded: node.recorded,
            attributes: with_mode(node.attributes.clone(), node.is_directory()),
        }
    }

    /// The identifier without its version: by it, entries are in order.
    fn sorting(&self) -> &[u8] {
        self.identifier.split(|byte| *byte == b';').next().unwrap_or_default()
    }
}

/// Rock Ridge wants a mode for everything, once there is one for anything.
fn with_mode(mut attributes: Vec<susp::Entry>, directory: bool) -> Vec<susp::Entry> {
    if !attributes.iter().any(|entry| &entry.signature == b"PX") {
        let (mode, links): (u32, u32) = if directory { (0o040_555, 2) } else { (0o100_444, 1) };
        let data = [mode, links, 0, 0].map(both).concat();
        attributes.push(susp::Entry { signature: *b"PX", version: 1, data });
    }
    attributes
}

/// A number in both byte orders.
pub fn both(number: u32) -> Vec<u8> {
    [number.to_le_bytes(), number.to_be_bytes()].concat()
}

/// A run of data, placed once however many records point at it.
#[derive(Debug, Clone)]
pub struct Data {
    pub content: Layout,
    /// Where it is on the base; data keeps the base's order.
    pub from: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// Place in [`Tree::directories`].
    Directory(usize),
    /// Place in [`Tree::data`]; none for an empty file.
    File(Option<usize>),
}

#[derive(Debug, Clone)]
pub struct Directory {
    pub meta: Meta,
    pub parent: usize,
    pub children: Vec<(Meta, Target)>,
}

/// All directories, parents before children, and all data.
#[derive(Debug, Default)]
pub struct Tree {
    pub directories: Vec<Directory>,
    pub data: Vec<Data>,
}

/// How a medium differs from its base.
#[derive(Debug, Default)]
pub struct Changes {
    pub removed: Vec<Index>,
    pub replaced: HashMap<Index, Bytes>,
    /// Directory, name and content.
    pub added: Vec<(Index, &'static str, Layout)>,
}

impl Tree {
    pub fn new(image: &Image, changes: &Changes) -> Result<Self> {
        let iso = image.iso();
        let mut tree = Self::default();
        let mut places = HashMap::new();
        let root = Meta { name: String::new(), ..Meta::of(iso.node(Iso::ROOT)) };
        tree.directories.push(Directory { meta: root, parent: 0, children: Vec::new() });
        // Directories of the base in the order in which they come into the tree.
        let mut open = vec![Iso::ROOT];
        let mut number = 0;
        while let Some(index) = open.get(number).copied() {
            let mut children = Vec::new();
            for child in iso.node(index).children.iter().flatten().filter(|c| !changes.removed.contains(c)) {
                let node = iso.node(*child);
                let target = match changes.replaced.get(child) {
                    _ if node.is_directory() => Target::Directory(*child),
                    Some(content) => Target::File(tree.add(
                        Extent::from(content.clone()).into(),
                        node.extents.first().map(|extent| extent.start),
                    )),
                    None => Target::File(tree.existing(image, node, &mut places)),
                };
                children.push((Meta::of(node), target));
            }
            for (_, name, content) in changes.added.iter().filter(|(directory, ..)| *directory == index) {
                let identifier = unused(name, &children)?;
                let meta = Meta {
                    name: (*name).to_owned(),
                    identifier,
                    flags: 0,
                    recorded: tree.directories[number].meta.recorded,
                    attributes: with_mode(Vec::new(), false),
                };
                children.push((meta, Target::File(tree.add(content.clone(), None))));
            }
            children.sort_by(|(one, _), (two, _)| one.sorting().cmp(two.sorting()));
            for (meta, target) in &mut children {
                if let Target::Directory(child) = target {
                    open.push(*child);
                    *child = tree.directories.len();
                    tree.directories.push(Directory {
                        meta: meta.clone(),
                        parent: number,
                        children: Vec::new(),
                    });
                }
            }
            tree.directories[number].children = children;
            number += 1;
        }
        Ok(tree)
    }

    /// Adds data; none when it is empty.
    pub fn add(&mut self, content: Layout, from: Option<u64>) -> Option<usize> {
        (!content.is_empty()).then(|| {
            self.data.push(Data { content, from });
            self.data.len() - 1
        })
    }

    /// A file of the base. Two records of one place are one file with two names.
    fn existing(
        &mut self,
        image: &Image,
        node: &Node,
        places: &mut HashMap<(u64, u64), Option<usize>>,
    ) -> Option<usize> {
        let start = node.extents.first()?.start;
        *places.entry((start, node.len())).or_insert_with(|| self.add(image.content(node), Some(start)))
    }
}

/// A name of the primary tree for `name` that none of `children` has.
fn unused(name: &str, children: &[(Meta, Target)]) -> Result<Vec<u8>> {
    let short = short_name(name);
    let (stem, extension) = match short.iter().position(|byte| *byte == b'.') {
        Some(point) => (&short[..point], &short[point..]),
        None => (short.as_slice(), &b"."[..]),
    };
    (0..1000)
        .map(|number| match number {
            0 => [stem, extension, b";1"].concat(),
            _ => [&stem[..stem.len().min(5)], format!("{number:03}").as_bytes(), extension, b";1"].concat(),
        })
        .find(|name| children.iter().all(|(meta, _)| meta.identifier != *name))
        .ok_or_else(|| Error::NoMinimal(format!("there is no room for {name}")))
}
