//! A file that the service gives out, saved whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

use assisted_client::Download;
use assisted_console::Failure;
use assisted_console::output::line;
use clap::Args;

use super::progress;

/// Where a file goes.
#[derive(Args, Clone, Debug)]
pub struct SaveTo {
    /// Where to save it; - is standard output [default: its name, in this folder]
    #[arg(long, value_name = "PATH")]
    to: Option<PathBuf>,
}

impl SaveTo {
    /// Saves a file of this name, unless another place is chosen. From the start it is readable to its owner only.
    pub async fn save(&self, name: &str, download: Download) -> Result<(), Failure> {
        let path = self.to.clone().unwrap_or_else(|| PathBuf::from(name));
        if path == Path::new("-") {
            return copy(download, &mut std::io::stdout().lock()).await;
        }
        // Beside the place until it is whole.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let refused = |error: &dyn std::fmt::Display| {
            Failure::Refused(format!(
                "can't save {}: {error}; choose another place with --to",
                path.display()
            ))
        };
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| refused(&error))?;
        copy(download, &mut file).await?;
        file.persist(&path).map_err(|error| refused(&error))?;
        line(&format!("saved {}", path.display()))
    }
}

async fn copy(mut download: Download, to: &mut impl Write) -> Result<(), Failure> {
    let refused = |error: std::io::Error| Failure::Refused(format!("can't write the file: {error}"));
    let bar = progress::download(download.length());
    while let Some(piece) = download.chunk().await? {
        to.write_all(&piece).map_err(refused)?;
        bar.inc(piece.len() as u64);
    }
    bar.finish_and_clear();
    to.flush().map_err(refused)
}
