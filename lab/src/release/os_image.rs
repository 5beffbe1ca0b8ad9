//! The image that nodes of the lab boot in image mode: what a build of such an image asks for, a shell and Ignition, and nothing that would
//! start on a machine. `ostree` in it tidies up, as a step of a build has it do.

use assisted_oci::{Blob, Image, ImageConfig, Layer};
use std::path::Path;

use super::{ARCHITECTURE, ImageModePrograms, ReleaseError, add, libraries};

/// Where builds look for it, and what marks an image that can be booted.
const IGNITION: &str = "usr/lib/dracut/modules.d/30ignition/ignition";
const BOOTABLE: &str = "ostree.bootable";
const OSTREE: &[u8] = b"#!/bin/sh\nrm -rf /tmp/* /var/tmp/*\n";
const PROGRAMS: &[&str] =
    &["sh", "cat", "chmod", "cp", "echo", "head", "ln", "mkdir", "mv", "rm", "sed", "sleep", "test"];

/// The image, with one more layer at the bottom.
pub(super) fn make(programs: &ImageModePrograms, bottom: Blob) -> Result<Image, ReleaseError> {
    let mut layer = Layer::new()?.file("usr/bin/ostree", OSTREE)?.file("tmp/.keep", b"")?;
    for library in libraries(&programs.ignition)? {
        layer = add(layer, library.trim_start_matches('/'), Path::new(&library))?;
    }
    layer = add(layer, IGNITION, &programs.ignition)?;
    layer = add(layer, "bin/busybox", &programs.busybox)?;
    for name in PROGRAMS {
        layer = layer.symlink(&format!("bin/{name}"), "busybox")?;
    }
    let labels = [(BOOTABLE.to_owned(), "true".to_owned())].into();
    let config = ImageConfig { labels, history: true, ..ImageConfig::default() };
    Ok(Image::configured(ARCHITECTURE, vec![bottom, layer.finish()?], &config)?)
}
