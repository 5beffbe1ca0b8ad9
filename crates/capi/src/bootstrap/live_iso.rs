//! The live ISO: one infra-env for each Metal3MachineTemplate, whose ISO stands in the template and in each machine made from it.
//!
//! A machine boots when its bootstrap data is there, and the infrastructure waits for that. So the ISO is put into the template, for
//! machines to come, and into the machine itself, which may have been made before: none boots with an older one.

use std::collections::{BTreeMap, BTreeSet};

use assisted_crd::cluster_api::conditions::config as says;
use assisted_crd::cluster_api::labels::annotation;
use assisted_crd::cluster_api::machine::Machine;
use assisted_crd::cluster_api::metal3_machine::{MachineImage, Metal3Machine};
use assisted_crd::cluster_api::metal3_machine_template::Metal3MachineTemplate;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_kube::error::optional;
use assisted_kube::write::{self, Guard};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;

use super::pass::{Obstacle, SOON};
use super::provider::Provider;
use crate::installer::{InfraEnv, Installer, Subject};
use crate::objects::{failed, owner};

const GROUP: &str = "infrastructure.cluster.x-k8s.io";
const KIND: &str = "Metal3Machine";
/// Label of what the topology controller of Cluster API made, and keeps as it made it.
const OF_TOPOLOGY: &str = "topology.cluster.x-k8s.io/owned";

/// A machine in its infrastructure, and the template that it was made from.
pub(super) struct Template {
    machine: Metal3Machine,
    template: Metal3MachineTemplate,
}

/// Who a machine is.
pub(super) struct Identity {
    /// Hardware addresses in lower case.
    pub(super) addresses: BTreeSet<String>,
    /// What the config drive would say of it.
    pub(super) metadata: BTreeMap<String, String>,
}

fn waiting(text: &str) -> Obstacle {
    Obstacle::waiting(says::WAITING_FOR_LIVE_ISO.with(&[text]), SOON)
}

/// The machine in its infrastructure; none: not yet.
async fn metal3_machine<I>(
    provider: &Provider<I>,
    machine: &Machine,
) -> Result<Option<Metal3Machine>, Obstacle> {
    let reference = &machine.spec.infrastructure_ref;
    if reference.api_group != GROUP || reference.kind != KIND {
        let kind = &reference.kind;
        return Err(waiting(&format!(
            "The live ISO needs a machine of metal3, and the infrastructure's is a {kind}"
        )));
    }
    let api = provider.api::<Metal3Machine>(&machine.namespace().unwrap_or_default());
    let found = optional(api.get(&reference.name).await);
    found.map_err(|error| Obstacle::failed(says::WAITING_FOR_LIVE_ISO, failed(&error)))
}

impl Template {
    /// What a machine was made from.
    pub(super) async fn of<I: Installer>(provider: &Provider<I>, of: &Machine) -> Result<Self, Obstacle> {
        let Some(machine) = metal3_machine(provider, of).await? else {
            return Err(waiting("The infrastructure has no machine yet"));
        };
        let Some(name) = machine.annotations().get(annotation::CLONED_FROM_NAME).cloned() else {
            return Err(waiting("The machine of the infrastructure was made from no template"));
        };
        let api = provider.api::<Metal3MachineTemplate>(&of.namespace().unwrap_or_default());
        let found = optional(api.get(&name).await)
            .map_err(|error| Obstacle::failed(says::WAITING_FOR_LIVE_ISO, failed(&error)))?;
        match found {
            Some(template) if template.labels().contains_key(OF_TOPOLOGY) => {
                Err(Obstacle::invalid(&format!(
                    "Machines of a ClusterClass boot disk images: Metal3MachineTemplate {name} is made by the topology of the Cluster, which \
                 would take the live ISO out of it again, and replace machines. Leave the annotation {} out of the class, or make \
                 the cluster without a topology",
                    annotation::BOOT_METHOD
                )))
            }
            Some(template) => Ok(Self { machine, template }),
            None => Err(waiting(&format!("There is no Metal3MachineTemplate {name}"))),
        }
    }

    /// The infra-env of the template.
    pub(super) fn subject(&self) -> Subject {
        Subject::of(&self.template)
    }

    pub(super) fn owner(&self) -> OwnerReference {
        owner(&self.template, false)
    }

    /// Has the machine, and those to come, boot the ISO.
    pub(super) async fn boot<I: Installer>(
        &self,
        provider: &Provider<I>,
        infra_env: &InfraEnv,
    ) -> Result<(), Obstacle> {
        let Some(url) = &infra_env.iso_url else {
            return Err(waiting(infra_env.problem.as_deref().unwrap_or("The image is not made yet")));
        };
        let image = Some(MachineImage::live_iso(url));
        let retry = |error: kube::Error| Obstacle::failed(says::WAITING_FOR_LIVE_ISO, failed(&error));
        let namespace = self.template.namespace().unwrap_or_default();
        let mut template = self.template.clone();
        template.spec.template.spec.image.clone_from(&image);
        write::object(&provider.api(&namespace), &self.template, &template, Guard::Free)
            .await
            .map_err(retry)?;
        let mut machine = self.machine.clone();
        machine.spec.image = image;
        write::object(&provider.api(&namespace), &self.machine, &machine, Guard::Free)
            .await
            .map_err(retry)?;
        Ok(())
    }
}

/// Who a machine is, once the infrastructure has chosen its hardware.
pub(super) async fn identity<I: Installer>(
    provider: &Provider<I>,
    machine: &Machine,
) -> Result<Option<Identity>, Obstacle> {
    let Some(found) = metal3_machine(provider, machine).await? else { return Ok(None) };
    let Some(host) = found.annotations().get(annotation::METAL3_HOST) else { return Ok(None) };
    let Some((namespace, name)) = host.split_once('/') else { return Ok(None) };
    let host = optional(provider.api::<BareMetalHost>(namespace).get(name).await)
        .map_err(|error| Obstacle::failed(says::HOST_INVALID, failed(&error)))?;
    let Some(host) = host else { return Ok(None) };
    let address = host.spec.boot_mac_address.to_ascii_lowercase();
    let mut metadata = BTreeMap::from([("METADATA_NAME".to_owned(), host.name_any())]);
    if let Some(id) = host.uid() {
        metadata.insert("METADATA_UUID".to_owned(), id);
    }
    let addresses = Some(address).filter(|address| !address.is_empty()).into_iter().collect();
    Ok(Some(Identity { addresses, metadata }))
}
