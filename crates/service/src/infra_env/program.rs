//! The programs for hosts that the service gives out, one for each architecture.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use assisted_base::hex;
use assisted_core::model::refusal::{Refusal, RefusalKind};
use assisted_wire::version::ImageCpuArchitecture;
use futures::{StreamExt, TryStreamExt};
use parking_lot::Mutex;
use sha2::{Digest, Sha512};
use tokio_util::io::ReaderStream;

use super::InfraEnvs;
use crate::Error;
use crate::stored_file::File;

/// Path under which the service gives out the program of an architecture.
pub const PATH: &str = "/assisted-host/";

/// Programs by their file; hashed again when the file is another one.
#[derive(Default)]
pub(super) struct HostPrograms(Arc<Mutex<HashMap<PathBuf, (FileState, String)>>>);

/// What differs between two states of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileState {
    len: u64,
    modified: Option<SystemTime>,
}

impl InfraEnvs {
    /// Where hosts fetch their program, and its SHA-512 in hexadecimal.
    pub(crate) async fn host_program(
        &self,
        architecture: ImageCpuArchitecture,
    ) -> Result<(String, String), Error> {
        let name = machine(architecture);
        let path = self.program_path(name)?;
        let known = Arc::clone(&self.programs.0);
        let sha512 = tokio::task::spawn_blocking(move || sha512(&path, &known))
            .await
            .map_err(Error::internal)?
            .map_err(Error::internal)?;
        Ok((self.program_url(architecture), sha512))
    }

    /// Where hosts fetch their program.
    pub(crate) fn program_url(&self, architecture: ImageCpuArchitecture) -> String {
        let base = self.settings.http.service_base_url.trim_end_matches('/');
        format!("{base}{PATH}{}", machine(architecture))
    }

    /// The program of an architecture, named as the kernel names it: x86_64, aarch64, ppc64le or s390x.
    ///
    /// # Errors
    ///
    /// 404 for another name, 503 when this service has none for it.
    pub async fn download_host_program(&self, architecture: &str) -> Result<File, Error> {
        let known = [
            ImageCpuArchitecture::X8664,
            ImageCpuArchitecture::Arm64,
            ImageCpuArchitecture::Ppc64le,
            ImageCpuArchitecture::S390x,
        ];
        let name = known.into_iter().map(machine).find(|name| *name == architecture);
        let name = name.ok_or_else(|| Refusal::not_found("there is no such architecture"))?;
        let file = tokio::fs::File::open(self.program_path(name)?).await.map_err(Error::internal)?;
        let size = file.metadata().await.map_err(Error::internal)?.len();
        let content = ReaderStream::with_capacity(file, 256 << 10).into_stream().boxed();
        Ok(File { name: format!("assisted-host-{name}"), size: Some(size), modified: None, content })
    }

    fn program_path(&self, machine: &str) -> Result<PathBuf, Error> {
        let given = &self.settings.images.host_programs_dir;
        let dir = if given.is_empty() {
            let own = std::env::current_exe().map_err(Error::internal)?;
            own.parent().map(Path::to_path_buf).unwrap_or_default()
        } else {
            PathBuf::from(given)
        };
        let mut paths = vec![dir.join(format!("assisted-host-{machine}"))];
        if machine == std::env::consts::ARCH {
            paths.push(dir.join("assisted-host"));
        }
        paths.into_iter().find(|path| path.is_file()).ok_or_else(|| {
            let reason = format!(
                "there is no program for {machine} hosts: put assisted-host-{machine} into {} (HOST_PROGRAMS_DIR), or set \
                 AGENT_DELIVERY=image",
                dir.display()
            );
            Refusal::new(RefusalKind::Unavailable, reason).into()
        })
    }
}

/// The kernel's name of an architecture.
fn machine(architecture: ImageCpuArchitecture) -> &'static str {
    match architecture {
        ImageCpuArchitecture::X8664 => "x86_64",
        ImageCpuArchitecture::Aarch64 | ImageCpuArchitecture::Arm64 => "aarch64",
        ImageCpuArchitecture::Ppc64le => "ppc64le",
        ImageCpuArchitecture::S390x => "s390x",
    }
}

fn sha512(path: &Path, known: &Mutex<HashMap<PathBuf, (FileState, String)>>) -> std::io::Result<String> {
    let mut file = fs::File::open(path)?;
    let metadata = file.metadata()?;
    let mark = FileState { len: metadata.len(), modified: metadata.modified().ok() };
    if let Some((_, hash)) = known.lock().get(path).filter(|(known, _)| *known == mark) {
        return Ok(hash.clone());
    }
    let mut hasher = Sha512::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            len => hasher.update(&buffer[..len]),
        }
    }
    let hash = hex::encode(&hasher.finalize());
    known.lock().insert(path.to_path_buf(), (mark, hash.clone()));
    Ok(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_hashed_again_when_it_is_another_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        let known = Mutex::default();
        fs::write(&path, "abc").unwrap();
        let first = sha512(&path, &known).unwrap();
        assert!(first.starts_with("ddaf35a193617abacc417349ae204131") && first.len() == 128);
        assert_eq!(sha512(&path, &known).unwrap(), first);
        fs::write(&path, "abcd").unwrap();
        assert_ne!(sha512(&path, &known).unwrap(), first);
        assert_eq!(known.lock().len(), 1);
    }
}
