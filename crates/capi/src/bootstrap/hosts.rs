//! The host of a machine: the one that is approved, with the role and the settings of the machine.

use std::collections::BTreeMap;

use assisted_core::model::object_key::ObjectKey;
use assisted_crd::cluster_api::conditions::config as says;
use assisted_crd::cluster_api::labels::annotation;
use assisted_crd::cluster_api::openshift_assisted_config::v1alpha2::OpenshiftAssistedConfig;
use assisted_crd::condition::Statement;
use assisted_kube::write::{self, Guard};
use assisted_reconcile::Failure;
use kube::ResourceExt;

use super::decide::{self, BootMethod};
use super::live_iso;
use super::pass::{AGAIN, Next, Obstacle, Work};
use super::provider::Provider;
use crate::installer::{Host, HostWanted, Installer, Subject};
use crate::node::{self, Metadata};
use crate::objects::failed;

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
        next: Next::Wait(AGAIN),
    })?;
    if work.method == BootMethod::LiveIso {
        let claim = Claim { infra_env: infra_env.clone(), host: host.name.clone() };
        claim.keep(provider, work.config).await.map_err(retry)?;
    }
    provider.installer.settle(infra_env, &host.name, &wanted).await.map_err(retry)?;
    if work.method == BootMethod::DiskImage {
        disapprove(provider, infra_env, &host, &hosts).await.map_err(retry)?;
    }
    Ok(says::HOST_SETTLED.with(&[&host.name]))
}

/// The host that a machine got, kept in an annotation of its config. Its infra-env is shared, and when the machine is gone nothing else
/// tells which host it was.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Claim {
    infra_env: Subject,
    host: String,
}

impl Claim {
    /// What stands in a config: name and id of what the infra-env is for, and the host; names have no slashes.
    fn of(config: &OpenshiftAssistedConfig) -> Option<Self> {
        let text = config.annotations().get(annotation::HOST)?;
        let [name, uid, host] = text.split('/').collect::<Vec<_>>().try_into().ok()?;
        let key = ObjectKey::new(config.namespace().unwrap_or_default(), name);
        Some(Self { infra_env: Subject { key, uid: uid.to_owned() }, host: host.to_owned() })
    }

    async fn keep<I: Installer>(
        &self,
        provider: &Provider<I>,
        config: &OpenshiftAssistedConfig,
    ) -> Result<(), Failure> {
        let Subject { key, uid } = &self.infra_env;
        let mut kept = config.clone();
        let text = format!("{}/{uid}/{}", key.name, self.host);
        kept.annotations_mut().insert(annotation::HOST.to_owned(), text);
        let written = write::object(&provider.api(&key.namespace), config, &kept, Guard::Free).await;
        written.map(drop).map_err(|error| failed(&error))
    }
}

/// Has the host of a machine that is gone go from the installer, which would take its hardware for the same node otherwise; whether that
/// is done. Whoever got the hardware in the meantime keeps the host.
pub(super) async fn release<I: Installer>(
    provider: &Provider<I>,
    config: &OpenshiftAssistedConfig,
) -> Result<bool, Failure> {
    let Some(claim) = Claim::of(config) else { return Ok(true) };
    let is_other = |other: &OpenshiftAssistedConfig| {
        other.uid() != config.uid() && Claim::of(other).as_ref() == Some(&claim)
    };
    if provider.cache.configs.find(is_other).is_some() {
        return Ok(true);
    }
    provider.installer.remove_host(&claim.infra_env, &claim.host).await
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
