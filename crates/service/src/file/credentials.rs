//! How the administrator logs in first (service-api §7.4).

use assisted_core::admission::credentials::{KUBEADMIN, KUBEADMIN_PASSWORD, console_url};
use assisted_wire::cluster_params::Credentials;
use assisted_wire::id::ClusterId;

use super::Files;
use crate::attempt::final_error;
use crate::not_found::no_cluster;
use crate::stored_file::generated_key;
use crate::{Caller, Error};

/// Bytes of a password at most.
const LONGEST: u64 = 4096;

impl Files {
    /// Name, password, and the console's address if the cluster has a console.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster, 409 until the console is there, 500 without a password.
    pub async fn get_credentials(&self, _: &Caller, cluster_id: ClusterId) -> Result<Credentials, Error> {
        let stored =
            self.database.cached_cluster(cluster_id).await.map_err(final_error)?.ok_or_else(no_cluster)?;
        let console = console_url(&stored.record.cluster, &self.settings.http.install_invoker)?;
        let file = generated_key(&stored.record, KUBEADMIN_PASSWORD)?;
        let password = self.blob.get(&file, LONGEST).await?;
        let password =
            String::from_utf8(password.into()).map_err(|_| Error::internal("a password is no text"))?;
        Ok(Credentials {
            username: KUBEADMIN.to_owned(),
            password: password.into(),
            console_url: console.unwrap_or_default(),
        })
    }
}
