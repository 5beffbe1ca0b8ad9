//! Clusters that objects of the Kubernetes API describe: found by the object, registered for it.

use assisted_core::admission::cluster::{Created, create, import};
use assisted_core::layering;
use assisted_core::model::cluster::MirrorRegistry;
use assisted_core::model::object_key::ObjectKey;
use assisted_core::model::refusal::Refusal;
use assisted_core::model::report::ReportKind;
use assisted_store::{ClusterFilter, Deleted};
use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::{ClusterCreateParams, ImportClusterParams};
use assisted_wire::host::Host;
use assisted_wire::id::ClusterId;

use super::Clusters;
use crate::attempt::{AttemptError, attempt, final_error};
use crate::not_found::no_cluster;
use crate::object::{Described, DescribedCluster, checked};
use crate::unit_of_work::UnitOfWork;
use crate::view::cluster::render_without_hosts;
use crate::{Caller, Error};

impl Clusters {
    /// The cluster that an object describes; `None`: it describes none yet.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn of_object(&self, key: &ObjectKey) -> Result<Option<DescribedCluster>, Error> {
        let filter = ClusterFilter { object: Some(key.clone()), ..ClusterFilter::default() };
        let found = self.database.reader().clusters(&filter).await?;
        let Some(id) = found.first().map(|stored| stored.record.cluster.id) else { return Ok(None) };
        let work = self.database.load_cluster(id, Deleted::Hidden).await.map_err(final_error)?;
        let Some(UnitOfWork { facts, .. }) = work else { return Ok(None) };
        let Some(record) = &facts.cluster else { return Ok(None) };
        let mut cluster = render_without_hosts(record);
        cluster.ignored_cluster_validations.clone_from(&record.ignored_cluster_validations);
        cluster.ignored_host_validations.clone_from(&record.ignored_host_validations);
        Ok(Some(DescribedCluster {
            cluster,
            hosts: facts.hosts.iter().map(|host| host.record.host.clone()).collect(),
            pull_secret: record.pull_secret.clone(),
            mirror_registry: record.mirror_registry.clone(),
            image_mode: record.layering.asked.clone(),
            in_image_mode: layering::enabled(record).is_some(),
            kubeconfig_stored: record.kubeconfig_stored,
        }))
    }

    /// The hosts of a cluster with their inventories, and without what else they reported, in order of creation; none without the
    /// cluster.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn hosts_with_inventory(&self, id: ClusterId) -> Result<Vec<Host>, Error> {
        let work = self.database.load_cluster(id, Deleted::Hidden).await.map_err(final_error)?;
        let hosts = work.into_iter().flat_map(|work| work.facts.hosts);
        let told = hosts.map(|host| {
            let inventory = host.report(ReportKind::Inventory).to_owned();
            Host { inventory, ..host.record.into_inner().host }
        });
        Ok(told.collect())
    }

    /// The object that describes a cluster, which may be deleted.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn object_of(&self, id: ClusterId) -> Result<Option<ObjectKey>, Error> {
        if let Some(known) = self.database.cached_cluster(id).await.map_err(final_error)? {
            return Ok(known.record.object_key.clone());
        }
        let found = self.database.reader().cluster(id, Deleted::Shown).await?;
        Ok(found.and_then(|stored| stored.record.object_key))
    }

    /// The objects that describe clusters.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn objects(&self) -> Result<Vec<ObjectKey>, Error> {
        let filter = ClusterFilter { has_object: true, ..ClusterFilter::default() };
        let found = self.database.reader().clusters(&filter).await?;
        Ok(found.into_iter().filter_map(|stored| stored.record.object_key).collect())
    }

    /// Registers the cluster that an object describes.
    ///
    /// # Errors
    ///
    /// 409 when the object has a cluster, 400 with the first rule that the request breaks.
    pub async fn register_described(
        &self,
        caller: &Caller,
        params: &ClusterCreateParams,
        described: &Described,
    ) -> Result<Cluster, Error> {
        let created = create(params, &self.available.policy(), &self.new_cluster(caller))?;
        Box::pin(self.insert_described(caller, created, described)).await
    }

    /// Registers the installed cluster that an object describes, so that hosts can be added to it.
    ///
    /// # Errors
    ///
    /// 409 when the object has a cluster, 400 when its name can't be used.
    pub async fn import_described(
        &self,
        caller: &Caller,
        params: &ImportClusterParams,
        described: &Described,
    ) -> Result<Cluster, Error> {
        let created = import(params, &self.new_cluster(caller))?;
        Box::pin(self.insert_described(caller, created, described)).await
    }

    async fn insert_described(
        &self,
        caller: &Caller,
        mut created: Created,
        described: &Described,
    ) -> Result<Cluster, Error> {
        created.record.object_key = Some(described.key.clone());
        created.record.mirror_registry.clone_from(&described.mirror_registry);
        attempt!(self.database, caller, self.try_insert_described(caller, &created, &described.key))?;
        Ok(created.record.cluster)
    }

    async fn try_insert_described(
        &self,
        caller: &Caller,
        created: &Created,
        key: &ObjectKey,
    ) -> Result<UnitOfWork, AttemptError> {
        let filter = ClusterFilter { object: Some(key.clone()), ..ClusterFilter::default() };
        if !self.database.reader().clusters(&filter).await?.is_empty() {
            return Err(Refusal::conflict(format!("the cluster of {key} is registered already")).into());
        }
        self.insert_cluster(caller, created).await
    }

    /// Which registries stand in for others for a cluster; nothing set: those of the service.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn get_mirror_registry(&self, _: &Caller, id: ClusterId) -> Result<MirrorRegistry, Error> {
        let stored = self.database.cached_cluster(id).await.map_err(final_error)?.ok_or_else(no_cluster)?;
        Ok(stored.record.mirror_registry.clone().unwrap_or_default())
    }

    /// Sets which registries stand in for others for a cluster, as somebody gives them.
    ///
    /// # Errors
    ///
    /// 400 when they can't be read, 404 when there is no such cluster.
    pub async fn replace_mirror_registry(
        &self,
        caller: &Caller,
        id: ClusterId,
        given: MirrorRegistry,
    ) -> Result<MirrorRegistry, Error> {
        self.set_mirror_registry(caller, id, checked(&given)?).await?;
        Ok(given)
    }

    /// Sets which registries stand in for others for a cluster.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn set_mirror_registry(
        &self,
        caller: &Caller,
        id: ClusterId,
        mirrors: Option<&MirrorRegistry>,
    ) -> Result<(), Error> {
        attempt!(self.database, caller, self.try_set_mirror_registry(caller, id, mirrors))
    }

    async fn try_set_mirror_registry(
        &self,
        caller: &Caller,
        id: ClusterId,
        mirrors: Option<&MirrorRegistry>,
    ) -> Result<(), AttemptError> {
        let mut work = self.database.load_cluster(id, Deleted::Hidden).await?.ok_or_else(no_cluster)?;
        work.request_id = Some(caller.request_id);
        let mut record = work.cluster().cloned().ok_or_else(no_cluster)?;
        record.mirror_registry = mirrors.cloned();
        work.put_cluster(record);
        work.refresh_and_mark().await?;
        work.commit(&self.database).await?;
        Ok(())
    }
}
