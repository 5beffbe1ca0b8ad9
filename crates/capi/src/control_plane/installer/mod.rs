//! The installers that a control plane works with: a hub, by the objects of its kinds, or the REST API of a service alone. Both are
//! told the same description of a cluster.

mod description;
mod hub;
mod joining;
mod service;
mod state;

use std::sync::Arc;

use assisted_crd::cluster_api::cluster::Cluster;
use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::OpenshiftAssistedControlPlane;
use assisted_reconcile::Failure;
use kube::Client;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use hub::Hub;
use service::Service;
pub(super) use state::Installation;

use super::installation::Site;
use super::management_cluster::ManagementCluster;
use super::marks;
use crate::installer::rest::Rest;
use crate::installer::{Change, Installer as _};
use crate::run::{unlisted_kind, watch};

/// An installer of clusters.
pub struct Installer(Kind);

enum Kind {
    Hub(Box<Hub>),
    Service(Arc<Service>),
}

impl Installer {
    /// The hub of an API server.
    pub fn hub(client: Client) -> Self {
        Self(Kind::Hub(Box::new(Hub::new(client))))
    }

    /// A service alone.
    pub fn service(rest: Rest) -> Self {
        Self(Kind::Service(Arc::new(Service::new(rest))))
    }

    /// Whether it is a service alone, whose objects nobody sees at the API server.
    pub(super) fn is_service(&self) -> bool {
        matches!(self.0, Kind::Service(_))
    }

    /// The cluster of a control plane; none: the installer does not know it yet.
    pub(super) async fn find(
        &self,
        plane: &OpenshiftAssistedControlPlane,
        cluster: &Cluster,
    ) -> Result<Option<Installation>, Failure> {
        match &self.0 {
            Kind::Hub(hub) => Ok(hub.find(plane)),
            Kind::Service(service) => service.find(cluster).await,
        }
    }

    /// Brings the installer to know the cluster as the control plane says, and the installation a step further.
    pub(super) async fn settle(
        &self,
        management: &ManagementCluster,
        site: &Site<'_>,
    ) -> Result<Option<Installation>, Failure> {
        match &self.0 {
            Kind::Hub(hub) => Box::pin(hub.settle(management, site)).await,
            Kind::Service(service) => Box::pin(service.settle(management, site)).await,
        }
    }

    /// The kubeconfig that the installer gives out; none: not yet.
    pub(super) async fn kubeconfig(
        &self,
        plane: &OpenshiftAssistedControlPlane,
        cluster: &Cluster,
        installation: &Installation,
    ) -> Result<Option<String>, Failure> {
        let Some(place) = &installation.kubeconfig else { return Ok(None) };
        match &self.0 {
            Kind::Hub(hub) => hub.kubeconfig(plane, place).await.map(Some),
            Kind::Service(service) => service.kubeconfig(cluster, place).await,
        }
    }

    /// Helps hosts that join the running cluster, where the installer does not; whether some are on their way.
    pub(super) async fn help_joining(&self, cluster: &Cluster, workload: &Client) -> Result<bool, String> {
        match &self.0 {
            Kind::Hub(_) => Ok(false),
            Kind::Service(service) => service.help_joining(cluster, workload).await,
        }
    }

    /// Has the cluster go; whether it is gone.
    pub(super) async fn remove(&self, plane: &OpenshiftAssistedControlPlane) -> Result<bool, Failure> {
        match &self.0 {
            Kind::Hub(hub) => Box::pin(hub.remove(plane)).await,
            Kind::Service(service) => service.remove(plane).await,
        }
    }

    /// Has control planes looked at when something changes at the installer.
    pub(super) fn follow(
        &self,
        management: &Arc<ManagementCluster>,
        tasks: &mut JoinSet<()>,
        stop: &CancellationToken,
    ) {
        match &self.0 {
            Kind::Hub(hub) => {
                if let Some(writer) = hub.writer() {
                    watch(tasks, &management.client, writer, management, marks::install);
                }
            }
            Kind::Service(service) => {
                let (service, management, stop) = (Arc::clone(service), Arc::clone(management), stop.clone());
                tasks.spawn(async move {
                    let changed = move |change| match change {
                        Change::Cluster(key) => {
                            marks::of_cluster(&management, Some(key.namespace), &key.name);
                        }
                        Change::All => marks::all(&management),
                        Change::InfraEnv(_) => {}
                    };
                    service.rest().follow(changed, stop).await;
                });
            }
        }
    }

    /// What can't be asked for in time.
    pub(super) async fn missing(&self, deadline: Instant) -> Option<String> {
        match &self.0 {
            Kind::Hub(hub) => unlisted_kind(hub.installs(), deadline).await,
            Kind::Service(service) => service.rest().ready().await.err(),
        }
    }
}
