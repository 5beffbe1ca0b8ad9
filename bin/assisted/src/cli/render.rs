//! `assisted cluster render`: what a cluster would be installed with, to be looked at before it is.

use std::io::{Seek, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use assisted_console::Failure;
use assisted_console::output::line;
use clap::Args;

use super::common::Context;
use super::progress;

#[derive(Args, Debug)]
pub struct Render {
    /// Id, beginning of an id, or name
    cluster: String,
    /// Folder to write to; it is made, and must not be there yet
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

impl Render {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        let cluster = context.cluster(&self.cluster).await?;
        let failed = |error: std::io::Error| {
            let place = self.to.display();
            Failure::Refused(format!("can't write to {place}: {error}; choose another place with --to"))
        };
        if self.to.exists() {
            return Err(failed(std::io::ErrorKind::AlreadyExists.into()));
        }
        let mut download =
            progress::during("is generated", context.client.render_cluster(cluster.id)).await?;
        let mut archive = tempfile::tempfile().map_err(failed)?;
        while let Some(piece) = download.chunk().await? {
            archive.write_all(&piece).map_err(failed)?;
        }
        archive.rewind().map_err(failed)?;
        // There are passwords among the files.
        std::fs::DirBuilder::new().mode(0o700).create(&self.to).map_err(failed)?;
        let mut written = 0_usize;
        for entry in tar::Archive::new(archive).entries().map_err(failed)? {
            // What would lie outside the folder is left out.
            written += usize::from(entry.map_err(failed)?.unpack_in(&self.to).map_err(failed)?);
        }
        line(&format!("wrote {written} files to {}; nothing was installed", self.to.display()))
    }
}
