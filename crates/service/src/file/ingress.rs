//! The controller reports which authority signs the cluster's ingress (service-api §4.12).

use assisted_core::admission::credentials::{KUBECONFIG, KUBECONFIG_NOINGRESS, with_ingress_ca};
use assisted_core::admission::precondition::{Operation, check};
use assisted_core::decide::cluster::kubeconfig;
use assisted_core::model::facts::Facts;
use assisted_core::model::refusal::Refusal;
use assisted_wire::id::ClusterId;
use assisted_wire::secret::Secret;

use super::Files;
use crate::attempt::{attempt, final_error};
use crate::not_found::no_cluster;
use crate::stored_file::generated_key;
use crate::{Caller, Error};

/// Bytes of a kubeconfig at most.
const LARGEST: u64 = 1 << 20;

impl Files {
    /// Makes the kubeconfig that trusts the ingress; once it is there it stays.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster, 400 in a state without ingress, 500 for what is no certificate.
    pub async fn upload_cluster_ingress_cert(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
        ca: &str,
    ) -> Result<(), Error> {
        let stored =
            self.database.cached_cluster(cluster_id).await.map_err(final_error)?.ok_or_else(no_cluster)?;
        check(Operation::IngressCertificate, &stored.record.cluster)?;
        let target = generated_key(&stored.record, KUBECONFIG)?;
        if !self.blob.exists(&target).await? {
            let source = generated_key(&stored.record, KUBECONFIG_NOINGRESS)?;
            let generated = self.blob.get(&source, LARGEST).await?;
            let generated = String::from_utf8(generated.into())
                .map_err(|_| Error::internal("a kubeconfig is no text"))?;
            let merged = with_ingress_ca(&Secret::from(generated), ca).map_err(Refusal::internal)?;
            self.blob.put(&target, merged.expose().to_owned()).await?;
        }
        let stored = |facts: &Facts| Ok(kubeconfig::stored(facts));
        attempt!(self.database, caller, self.database.decide(caller, cluster_id, &stored)).map(drop)
    }
}
