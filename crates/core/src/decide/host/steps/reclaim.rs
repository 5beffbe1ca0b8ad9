//! An installed host boots the discovery image by itself (agent-protocol §2.4.16).

use assisted_wire::probe_requests::{DownloadBootArtifactsRequest, RebootForReclaimRequest};
use assisted_wire::version::ImageCpuArchitecture;

use crate::catalogue::release::os_image;
use crate::model::facts::{Facts, HostFacts};

/// Where the node's file system is seen by the agent.
const ROOT: &str = "/host";

pub(super) fn reboot() -> RebootForReclaimRequest {
    RebootForReclaimRequest { host_fs_mount_dir: ROOT.to_owned() }
}

/// Where kernel and RAM disk of the infra-env's image are; `None` when there is no such image, or when its URLs must be
/// signed.
pub(super) fn download(facts: &Facts, host: &HostFacts) -> Option<DownloadBootArtifactsRequest> {
    let policy = &facts.policy;
    let base = policy.service.image_service_base_url.trim_end_matches('/');
    if base.is_empty() || policy.service.authenticated {
        return None;
    }
    let infra_env = &facts.infra_envs.get(&host.key().infra_env_id)?.infra_env;
    let architecture = infra_env.cpu_architecture.unwrap_or(ImageCpuArchitecture::X8664);
    let image =
        os_image::find(&policy.versions.os_images.0, &infra_env.openshift_version, architecture).ok()?;
    let query = format!("arch={architecture}&version={}", image.openshift_version);
    Some(DownloadBootArtifactsRequest {
        kernel_url: format!("{base}/boot-artifacts/kernel?{query}"),
        rootfs_url: format!("{base}/boot-artifacts/rootfs?{query}"),
        initrd_url: format!("{base}/images/{}/pxe-initrd?{query}", infra_env.id),
        host_fs_mount_dir: ROOT.to_owned(),
    })
}
