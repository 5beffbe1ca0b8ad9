//! Infra-envs: registration, update.

pub mod create;
#[cfg(test)]
mod tests;
pub mod update;

use assisted_base::version::base;
use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::infra_env::{ImageType, InfraEnv, Proxy};
use assisted_wire::version::ImageCpuArchitecture;

use crate::admission::field::proxy;
use crate::catalogue::feature::usage::{Overridden, Usages};
use crate::catalogue::release::architecture::of_image;
use crate::catalogue::release::release_image;
use crate::model::event::{NewEvent, catalogue};
use crate::model::refusal::Refusal;
use crate::policy::Policy;

pub use create::{Created, NewInfraEnv, create};
pub use update::{Updated, update};

fn refuse(problem: impl std::fmt::Display) -> Refusal {
    Refusal::invalid(problem)
}

fn check_proxy(proxy: &Proxy) -> Result<(), Refusal> {
    let Proxy { http_proxy, https_proxy, no_proxy } = proxy;
    proxy::check(http_proxy.as_ref(), https_proxy.as_ref(), no_proxy.as_ref(), None).map_err(refuse)
}

fn check_ntp_exclusion(sources: &str, additional: &str) -> Result<(), Refusal> {
    if sources.is_empty() || additional.is_empty() {
        return Ok(());
    }
    Err(refuse("ntp_sources and additional_ntp_sources are mutually exclusive"))
}

/// Checks the address of the host that others meet at; empty: none.
fn check_rendezvous_ip(address: &str, kind: ImageType) -> Result<(), Refusal> {
    if address.is_empty() {
        return Ok(());
    }
    if kind != ImageType::DisconnectedIso {
        return Err(refuse("RendezvousIP is only supported for disconnected ISO infra-envs"));
    }
    if address.parse::<std::net::IpAddr>().is_err() {
        return Err(refuse(format!(
            "Invalid rendezvous IP: {address} (must be a valid IPv4 or IPv6 address)"
        )));
    }
    Ok(())
}

/// Checks that hosts of the architecture can be part of the cluster; the error is the text.
fn check_architecture(
    cluster: &Cluster,
    architecture: ImageCpuArchitecture,
    version: &str,
    policy: &Policy,
) -> Result<(), String> {
    let cluster_architecture = match cluster.cpu_architecture {
        None => return Ok(()),
        Some(architecture) => crate::catalogue::release::architecture::normal(architecture),
    };
    let wanted = of_image(architecture);
    if cluster_architecture != CpuArchitecture::Multi {
        return if cluster_architecture == wanted {
            Ok(())
        } else {
            Err(format!(
                "Specified CPU architecture ({wanted}) doesn't match the cluster ({cluster_architecture})"
            ))
        };
    }
    let wanted_base = base(if version.is_empty() { &cluster.openshift_version } else { version });
    let mut images = policy.versions.release_images.0.iter();
    let matches =
        images.any(|image| release_image::serves(image, wanted) && base(&image.version) == wanted_base);
    if matches {
        return Ok(());
    }
    Err(format!(
        "The requested RHCOS version ({version}, arch: {wanted}) does not have a matching OpenShift release image. Add one \
         to the release images, or ask for another version"
    ))
}

/// The event when the image of an infra-env changes.
pub fn image_event(infra_env: &InfraEnv) -> NewEvent {
    let mut details = Vec::new();
    let url = infra_env.proxy.as_ref().and_then(|proxy| proxy.http_proxy.as_deref()).unwrap_or_default();
    if !url.is_empty() {
        details.push(format!("proxy URL is \"{}\"", proxy::without_credentials(url)));
    }
    details.push(format!("Image type is \"{}\"", infra_env.r#type));
    let set = if infra_env.ssh_authorized_key.is_empty() { "not set" } else { "set" };
    details.push(format!("SSH public key is {set}"));
    let details = details.join(", ");
    catalogue::IMAGE_INFO_UPDATED.of_infra_env(infra_env.id, infra_env.cluster_id, &[("details", &details)])
}

/// The feature usage of the bound cluster with that of the infra-env; `None` when nothing changes.
fn usage(cluster: &Cluster, infra_env: &InfraEnv) -> Option<String> {
    let mut usages = Usages::read(&cluster.feature_usage);
    let before = usages.clone();
    usages.set("Static Network Config", !infra_env.static_network_config.is_empty());
    usages.set("discovery kernel arguments", infra_env.kernel_arguments.is_some());
    // It can't be taken away from an infra-env; another infra-env of the cluster may have one.
    if !infra_env.ignition_config_override.is_empty() {
        usages.set_ignition_override(Overridden::InfraEnv, true);
    }
    (usages != before).then(|| usages.write())
}
