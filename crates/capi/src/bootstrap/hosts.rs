//! The host of a machine: the one that is approved, with the role and the settings of the machine.

use std::collections::BTreeMap;

use assisted_crd::cluster_api::conditions::config as says;
use assisted_crd::cluster_api::labels::annotation;
use assisted_crd::condition::Statement;
use assisted_reconcile::Failure;
use kube::ResourceExt;

use super::config::{Next, Obstacle, Work};
use super::decide::{self, BootMethod};
use super::live_iso;
use super::provider::Provider;
use crate::installer::{Host, HostWanted, Installer, Subject};
use crate::node::{self, Metadata};

/// Brings the host of a machine to what the machine's objects say; what is said about it.
pub(super) async fn settle<I: Installer>(
    provider: &Provider<I>,
    work: &Work<'_>,
    infra_env: &Subject,
) -> Result<Statement, Obstacle> {
    let retry = |failure: Failure| Obstacle::failed(says::HOST_INVALID, failure);
    let hosts = provider.installer.hosts(infra_env).await.map_err(retry)?;
    let (host, known) = match work.method {
        BootMethod::DiskImage => (decide::only_host(&hosts).cloned(), None),
        BootMethod::LiveIso => {
            let identity = live_iso::identity(provider, work.machine).await?;
            let host =
                identity.as_ref().and_then(|identity| decide::host_by_address(&hosts, &identity.addresses));
            (host.cloned(), identity.map(|identity| identity.metadata))
        }
    };
    let Some(host) = host else { return Ok(says::HOST_AWAITED.with(&[])) };
    let wanted = wanted(work, known.as_ref()).map_err(|error| Obstacle {
        statement: says::HOST_INVALID.with(&[&error.to_string()]),
        next: Next::Wait(super::config::AGAIN),
    })?;
    provider.installer.settle(infra_env, &host.name, &wanted).await.map_err(retry)?;
    if work.method == BootMethod::DiskImage {
        disapprove(provider, infra_env, &host, &hosts).await.map_err(retry)?;
    }
    Ok(says::HOST_SETTLED.with(&[&host.name]))
}

/// A machine is one host: others that came by its infra-env are not approved.
async fn disapprove<I: Installer>(
    provider: &Provider<I>,
    infra_env: &Subject,
    own: &Host,
    hosts: &[Host],
) -> Result<(), Failure> {
    for other in hosts.iter().filter(|other| other.name != own.name && other.approved) {
        provider.installer.disapprove(infra_env, &other.name).await?;
    }
    Ok(())
}

/// What the machine's objects say of its host.
fn wanted(work: &Work<'_>, known: Option<&BTreeMap<String, String>>) -> Result<HostWanted, node::NodeError> {
    let over = work.config.annotations().get(annotation::IGNITION_OVERRIDE);
    let over = over.map(|text| (annotation::IGNITION_OVERRIDE, text.as_str()));
    let metadata = known.map_or(Metadata::ConfigDrive, Metadata::Known);
    let spec = &work.config.spec;
    Ok(HostWanted {
        approved: true,
        role: decide::role(work.machine),
        ignition_overrides: node::installed(spec, metadata, over)?,
        installer_arguments: node::installer_arguments(spec),
        // A disk image names its host by itself.
        hostname: known.map(|known| node::name(spec, known)).transpose()?.flatten(),
    })
}
