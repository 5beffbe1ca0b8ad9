//! `assisted-lab image`: the operating system of lab machines.

use std::io::Write;
use std::path::PathBuf;

use assisted_console::output::{bytes, show, table};
use assisted_console::{Failure, Global};
use assisted_lab_machines::image::{Image, Kind, Step};
use clap::{Args, Subcommand};
use serde::Serialize;

/// The live image that lab machines boot
#[derive(Subcommand, Debug)]
pub enum Command {
    Build(Build),
    Show(Show),
}

/// Build the image from Debian packages, unless it is there
///
/// Needs root, Debian's package archive, and what `cargo xtask setup` installs. It takes some minutes, and is done once
/// for each version of the recipe.
#[derive(Args, Debug)]
pub struct Build {
    /// Where to put it [default: in the cache, where tests find it]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The coreos-installer that goes into the image [default: the one that `cargo xtask setup` built]
    #[arg(long, value_name = "FILE")]
    coreos_installer: Option<PathBuf>,
    #[command(flatten)]
    which: Which,
}

/// Show where the image is, and its files
#[derive(Args, Debug)]
pub struct Show {
    #[command(flatten)]
    which: Which,
}

/// Which of the images is meant.
#[derive(Args, Debug)]
struct Which {
    /// The image for image mode: what it writes onto disks is an ostree system
    #[arg(long)]
    ostree: bool,
}

impl Which {
    fn kind(&self) -> Kind {
        if self.ostree { Kind::Ostree } else { Kind::Plain }
    }
}

/// A file of the image.
#[derive(Serialize)]
struct Row {
    file: PathBuf,
    bytes: i64,
    what: &'static str,
}

impl Command {
    /// Builds or shows.
    pub fn run(self, global: &Global) -> Result<(), Failure> {
        let image = match self {
            Self::Build(build) => build.run()?,
            Self::Show(show) => Image::find(show.which.kind()).map_err(Failure::refused)?,
        };
        show(global.output, &rows(&image), |rows| {
            table(
                ["FILE", "SIZE", "WHAT"],
                rows.iter()
                    .map(|row| [row.file.display().to_string(), bytes(row.bytes), row.what.to_owned()]),
            )
        })
    }
}

impl Build {
    fn run(self) -> Result<Image, Failure> {
        let kind = self.which.kind();
        let dir = self.dir.map_or_else(|| Image::default_dir(kind), Ok).map_err(Failure::refused)?;
        let installer = match self.coreos_installer {
            Some(installer) => installer,
            None => assisted_lab_tools::coreos_installer().map_err(Failure::refused)?,
        };
        report(&format!("building into {}; the log is build.log beside it", dir.display()));
        Image::build(kind, &dir, &installer, |Step { what, took }| {
            report(&format!("{what}: {:.1} s", took.as_secs_f64()));
        })
        .map_err(Failure::refused)
    }
}

/// Progress is for whoever watches, and not part of the answer.
fn report(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn rows(image: &Image) -> Vec<Row> {
    let row = |file: PathBuf, what| {
        let bytes = std::fs::metadata(&file).map_or(0, |metadata| metadata.len()).cast_signed();
        Row { file, bytes, what }
    };
    vec![
        row(image.iso(), "full live ISO"),
        row(image.kernel(), "its kernel"),
        row(image.initrd(), "its initramfs"),
        row(image.rootfs(), "its root file system"),
        row(image.disk(), "what it writes onto disks"),
        row(image.packages(), "Debian packages in it"),
    ]
}
