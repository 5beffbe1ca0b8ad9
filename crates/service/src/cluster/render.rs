//! What a cluster would be installed with, for review: generated, shown, and not kept.

use assisted_core::decide::install;
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::id::ClusterId;
use tar::{Builder, Header};

use super::Clusters;
use crate::attempt::final_error;
use crate::generator::Files;
use crate::not_found::no_cluster;
use crate::stored_file::File;
use crate::{Caller, Error};

/// Only its owner may look into what the archive unpacks to.
const MODE: u32 = 0o600;

impl Clusters {
    /// All files as an archive, as an installation that began now would get them; nothing is begun.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster; 409 when nothing can be generated, or the cluster is not ready and its installation
    /// has not begun; 503 when too many wait for such files.
    pub async fn render(&self, _: &Caller, id: ClusterId) -> Result<File, Error> {
        let mut work =
            self.database.load_installation(id).await.map_err(final_error)?.ok_or_else(no_cluster)?;
        let cluster = &work.cluster().ok_or_else(no_cluster)?.cluster;
        let generator = &self.generator;
        let begins = matches!(
            cluster.status,
            ClusterStatus::Ready | ClusterStatus::Insufficient | ClusterStatus::PendingForInput
        );
        let name = format!("{}-rendered.tar", cluster.name);
        if begins {
            // Roles are fixed and the bootstrap host is chosen as the installation begins. The work is not written.
            let decided = install::install(&work.facts)?;
            work.apply_and_mark(decided);
        }
        let _turn = self.reviews.wait().await?;
        let generated = async {
            let payload = generator.payload(&work.facts).await?;
            generator.generate(&work.facts, payload, &self.blob).await
        };
        let archive = archive(generated.await?).map_err(Error::internal)?;
        Ok(File::whole(name, archive))
    }
}

fn archive(files: Files) -> std::io::Result<Vec<u8>> {
    let manifests = files.manifests.into_iter().map(|(name, text)| (format!("openshift/{name}"), text));
    let mut archive = Builder::new(Vec::new());
    for (name, content) in files.contents.into_iter().chain(manifests) {
        let mut header = Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(MODE);
        archive.append_data(&mut header, name, content.as_ref())?;
    }
    archive.into_inner()
}
