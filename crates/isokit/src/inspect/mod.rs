//! What is inside a live image, whoever made or customised it.

mod config;

use std::collections::BTreeSet;
use std::ops::Range;

use serde::Serialize;

use crate::architecture::Architecture;
use crate::area::kargs::Kargs;
use crate::area::miniso::Recipe;
use crate::area::{self, ignition as ignition_area, kargs, legacy, miniso};
use crate::cpio::{self, Limits};
use crate::error::{Error, Result};
use crate::ignition::Contents;
use crate::iso::eltorito::Platform;
use crate::iso::{Iso, Node};
use crate::pxe::ROOTFS;
use crate::read::ReadAt;

pub use config::Config;

/// Longest area that is read, in bytes.
const MAX_AREA: u64 = 16 << 20;
/// Folder of static network settings, in Ignition configs and ramdisks: one folder for each host in it.
const HOST_NETWORK: &str = "etc/assisted/network/";
const ROOTFS_KARG: &str = "coreos.live.rootfs_url=";

/// Whether a host finds its root file system on the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Full,
    Minimal,
}

/// A byte range of the image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ByteRange {
    pub offset: u64,
    pub length: u64,
}

impl From<&Range<u64>> for ByteRange {
    fn from(range: &Range<u64>) -> Self {
        Self { offset: range.start, length: range.end - range.start }
    }
}

/// Something that firmware starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Boot {
    pub platform: Platform,
    /// Path of the boot image; empty when it is no file.
    pub image: String,
}

/// Which of the ways to describe areas the image has: they came one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Generation {
    pub ignition_header: bool,
    pub kargs_header: bool,
    pub kargs_json: bool,
    pub features_json: bool,
    pub igninfo_json: bool,
    pub minimal_recipe: Option<Recipe>,
}

/// What fills the ignition area.
#[derive(Clone, Default, Serialize)]
pub struct Ignition {
    pub area: Option<ByteRange>,
    /// What the config holds; `None` without one.
    pub config: Option<Config>,
    pub base_configs: Vec<String>,
    /// Network settings that coreos-installer put beside the config.
    pub network: Vec<String>,
    /// With the config itself, which holds secrets.
    #[serde(skip)]
    pub contents: Contents,
}

/// What the boot loader loads behind the initramfs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ramdisk {
    pub area: ByteRange,
    /// Paths of its files.
    pub files: Vec<String>,
}

/// All that can be read from an image.
#[derive(Clone, Serialize)]
pub struct Inspection {
    pub volume_id: String,
    /// Length of the file system, in bytes.
    pub size: u64,
    pub architecture: Option<Architecture>,
    pub kind: Kind,
    pub boot: Vec<Boot>,
    /// Whether it boots as a disk, too.
    pub disk: Vec<&'static str>,
    pub generation: Generation,
    /// What coreos-installer may customise.
    pub features: Vec<String>,
    pub ignition: Ignition,
    pub kargs: Option<Kargs>,
    /// Where a minimal image's root file system comes from.
    pub rootfs_url: Option<String>,
    pub ramdisk: Option<Ramdisk>,
    /// Hosts with a static network.
    pub network_hosts: usize,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}

/// Looks into `image`. What is wrong with a part of it is among the problems.
///
/// # Errors
/// When it is no ISO, or only a part of one.
pub fn inspect(image: &dyn ReadAt) -> Result<Inspection> {
    let iso = Iso::read(image)?;
    let mut problems = Vec::new();
    let ignition = ignition(image, &iso, &mut problems);
    let ignition = or_report(&mut problems, "ignition", ignition);
    let kargs = or_report(&mut problems, "kernel arguments", kargs::show(image, &iso));
    let features = or_report(&mut problems, "features", area::features(image, &iso));
    let ramdisk = or_report(&mut problems, "ramdisk", ramdisk(image, &iso));
    let paths = ignition.config.iter().flat_map(|config| &config.files);
    let network_hosts = network_hosts(paths.chain(ramdisk.iter().flat_map(|ramdisk| &ramdisk.files)));
    Ok(Inspection {
        kind: if iso.find_file(ROOTFS).is_some() { Kind::Full } else { Kind::Minimal },
        architecture: or_report(&mut problems, "kernel", Architecture::of(image, &iso)),
        boot: boot(&iso),
        disk: or_report(&mut problems, "system area", disk(image)),
        generation: or_report(&mut problems, "areas", generation(image, &iso)),
        features: features.keys().cloned().collect(),
        rootfs_url: kargs.as_ref().and_then(|kargs| rootfs_url(&kargs.current)),
        volume_id: iso.volume_id,
        size: iso.len,
        ignition,
        kargs,
        ramdisk,
        network_hosts,
        problems,
    })
}

fn or_report<T: Default>(problems: &mut Vec<String>, what: &str, found: Result<T>) -> T {
    found.unwrap_or_else(|error| {
        problems.push(format!("{what}: {error}"));
        T::default()
    })
}

fn bytes(image: &dyn ReadAt, area: &Range<u64>) -> Result<Vec<u8>> {
    let len = area.end - area.start;
    if len > MAX_AREA {
        return Err(Error::Archive(format!("its area has {len} bytes; more than {MAX_AREA} are not read")));
    }
    let mut bytes = vec![0; len as usize];
    image.read_exact_at(&mut bytes, area.start)?;
    Ok(bytes)
}

/// Where the area is matters even when nobody can tell what fills it.
fn ignition(image: &dyn ReadAt, iso: &Iso, problems: &mut Vec<String>) -> Result<Ignition> {
    let area = ignition_area::find(image, iso)?;
    let contents = bytes(image, &area).and_then(|area| Contents::read(&area));
    let contents = or_report(problems, "ignition", contents);
    let config = contents.config.as_deref().map(Config::read).transpose();
    Ok(Ignition {
        area: Some(ByteRange::from(&area)),
        config: or_report(problems, "ignition", config),
        base_configs: contents.base_configs.clone(),
        network: contents.network.clone(),
        contents,
    })
}

fn ramdisk(image: &dyn ReadAt, iso: &Iso) -> Result<Option<Ramdisk>> {
    let Some(area) = area::ramdisk(iso) else { return Ok(None) };
    let members = cpio::read(&bytes(image, &area)?, Limits::default())?;
    let files = members
        .into_iter()
        .filter(|member| member.mode & cpio::TYPE_MASK != cpio::DIRECTORY)
        .map(|member| member.name);
    Ok(Some(Ramdisk { area: ByteRange::from(&area), files: files.collect() }))
}

fn boot(iso: &Iso) -> Vec<Boot> {
    let path = |offset: u64| {
        let starts_there = |node: &Node| node.extents.first().is_some_and(|extent| extent.start == offset);
        let file = iso.files().find(|(_, node)| starts_there(node));
        file.map(|(index, _)| iso.path(index)).unwrap_or_default()
    };
    let entries = iso.catalog.iter().flat_map(|catalog| &catalog.entries);
    entries.map(|boot| Boot { platform: boot.platform, image: path(boot.offset) }).collect()
}

fn disk(image: &dyn ReadAt) -> Result<Vec<&'static str>> {
    let mut blocks = [0; 1024];
    image.read_exact_at(&mut blocks, 0)?;
    let (mbr, gpt) = (blocks[510..512] == [0x55, 0xaa], &blocks[512..520] == b"EFI PART");
    Ok([("MBR", mbr), ("GPT", gpt)].into_iter().filter(|(_, there)| *there).map(|(name, _)| name).collect())
}

fn generation(image: &dyn ReadAt, iso: &Iso) -> Result<Generation> {
    Ok(Generation {
        ignition_header: legacy::ignition(image)?.is_some(),
        kargs_header: legacy::has_kargs(image)?,
        kargs_json: iso.find_file(kargs::FILE).is_some(),
        features_json: iso.find_file(area::FEATURES).is_some(),
        igninfo_json: iso.find_file(ignition_area::INFO).is_some(),
        minimal_recipe: miniso::recipe(image, iso)?,
    })
}

fn network_hosts<'a>(paths: impl Iterator<Item = &'a String>) -> usize {
    let folder =
        |path: &'a String| path.trim_start_matches('/').strip_prefix(HOST_NETWORK)?.split('/').next();
    paths.filter_map(folder).collect::<BTreeSet<_>>().len()
}

fn rootfs_url(kargs: &str) -> Option<String> {
    let url = kargs.split_whitespace().find_map(|karg| karg.strip_prefix(ROOTFS_KARG))?;
    Some(url.trim_matches('"').to_owned())
}
