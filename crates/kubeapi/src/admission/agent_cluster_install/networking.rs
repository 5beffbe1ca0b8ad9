//! Which platforms go with whose networking (kube-api §5.3).

use assisted_core::catalogue::platform;
use assisted_crd::hive_extensions::agent_cluster_install::{AgentClusterInstallSpec, PlatformType as Type};
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::platform::{CloudControllerManager, Platform, PlatformExternal, PlatformType};

use crate::admission::verdict::Denial;

/// Checks platform and networking; what an update leaves out counts as it was.
pub(super) fn check(
    old: Option<&AgentClusterInstallSpec>,
    new: &AgentClusterInstallSpec,
) -> Result<(), Denial> {
    let needs = &new.provision_requirements;
    if is_single_node(new) && new.networking.user_managed_networking == Some(false) {
        return Err(Denial::conflict("UserManagedNetworking must be set to true with SNO"));
    }
    let user_managed = new
        .networking
        .user_managed_networking
        .or_else(|| old.and_then(|old| old.networking.user_managed_networking));
    let kind = match r#type(new) {
        Type::Unset => old.map(r#type).unwrap_or_default(),
        kind => kind,
    };
    if kind != Type::External && new.external.is_some() {
        return Err(Denial::conflict("External settings can only be set with external platform type"));
    }
    let Some(platform) = platform(kind, new) else { return Ok(()) };
    let control_planes = needs.control_plane_agents;
    platform::on_create(Some(&platform), user_managed, control_planes, CpuArchitecture::X8664)
        .map_err(|refusal| Denial::conflict(refusal.reason))?;
    if control_planes < 1 && matches!(kind, Type::BareMetal | Type::None | Type::External) {
        let state = user_managed.map_or_else(|| "<nil>".to_owned(), |value| value.to_string());
        let kind = platform.r#type;
        return Err(Denial::conflict(format!(
            "Got invalid platform ({kind}) and/or user-managed-networking ({state})"
        )));
    }
    Ok(())
}

/// Who manages the networking when nobody says so; none where that can't be told.
pub(super) fn default(spec: &AgentClusterInstallSpec) -> Option<bool> {
    let kind = r#type(spec);
    let single = spec.provision_requirements.control_plane_agents == 1;
    match kind {
        Type::None => Some(true),
        Type::Unset => Some(is_single_node(spec)),
        Type::VSphere | Type::Nutanix => single.then_some(true),
        Type::BareMetal | Type::External => {
            let control_planes = spec.provision_requirements.control_plane_agents;
            let platform = platform(kind, spec)?;
            let resolved =
                platform::on_create(Some(&platform), None, control_planes, CpuArchitecture::X8664).ok()?;
            resolved.user_managed_networking.filter(|_| control_planes > 0)
        }
    }
}

/// One node that is everything.
fn is_single_node(spec: &AgentClusterInstallSpec) -> bool {
    let needs = &spec.provision_requirements;
    needs.control_plane_agents == 1 && needs.worker_agents.unwrap_or(0) == 0
}

fn r#type(spec: &AgentClusterInstallSpec) -> Type {
    spec.platform_type.unwrap_or_default()
}

fn platform(kind: Type, spec: &AgentClusterInstallSpec) -> Option<Platform> {
    let external = spec.external.as_ref().map(|external| PlatformExternal {
        platform_name: Some(external.platform_name.clone()),
        cloud_controller_manager: match external.cloud_controller_manager.as_str() {
            "External" => Some(CloudControllerManager::External),
            _ => Some(CloudControllerManager::Empty),
        },
    });
    let plain = |r#type| Some(platform::resolution::plain(r#type));
    match kind {
        Type::Unset => None,
        Type::BareMetal => plain(PlatformType::Baremetal),
        Type::None => plain(PlatformType::None),
        Type::VSphere => plain(PlatformType::Vsphere),
        Type::Nutanix => plain(PlatformType::Nutanix),
        Type::External => Some(Platform { r#type: PlatformType::External, external }),
    }
}
