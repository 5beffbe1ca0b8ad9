//! What an AgentClusterInstall asks of image mode, as the REST API has it.

use assisted_crd::hive_extensions::agent_cluster_install::{
    AgentClusterInstallSpec, LayeringPool, LayeringRegistry as Registry,
};
use assisted_wire::on_cluster_layering::{LayeringPoolFile, LayeringRegistry, LayeringSettings};

use super::ClusterSpec;
use super::update::ON_CLUSTER_LAYERING;
use crate::given::was_given;
use crate::text::given;

/// What is asked for beside the install config; `None`: nothing. Whether it can be meant is judged where requests are.
pub fn image_mode(spec: &AgentClusterInstallSpec) -> Option<LayeringSettings> {
    let asked = spec.on_cluster_layering.as_ref()?;
    let file = |pool: &LayeringPool| LayeringPoolFile {
        name: pool.name.clone(),
        container_file: given(&pool.container_file),
    };
    Some(LayeringSettings {
        mode: given(&asked.mode),
        machine_os_configs: given(&asked.machine_os_configs),
        registry: asked.registry.as_ref().map(registry),
        worker_build_location: given(&asked.worker_build_location),
        rollout: given(&asked.rollout),
        bake_configs: asked.bake_configs,
        scratch: given(&asked.scratch),
        build_timeout_minutes: asked.build_timeout_minutes,
        wait_for_adoption: asked.wait_for_adoption,
        pools: (!asked.pools.is_empty()).then(|| asked.pools.iter().map(file).collect()),
    })
}

/// The secret of MachineOSConfigs that are made is a manifest here, as all secrets of a hub's clusters are.
fn registry(asked: &Registry) -> LayeringRegistry {
    LayeringRegistry {
        r#type: given(&asked.r#type),
        port: asked.port,
        load_balancer_configured: asked.load_balancer_configured,
        push_repository: given(&asked.push_repository),
        push_secret: None,
    }
}

impl ClusterSpec<'_> {
    /// What is to be asked of image mode in the place of what is; `None`: nothing else. What the object never set stays as it is, and what
    /// it set before goes.
    pub fn image_mode_change(&self, current: Option<&LayeringSettings>) -> Option<LayeringSettings> {
        let taken_back =
            || was_given(&self.install.metadata, ON_CLUSTER_LAYERING).then(LayeringSettings::default);
        let wanted = image_mode(&self.install.spec).or_else(taken_back)?;
        (wanted != current.cloned().unwrap_or_default()).then_some(wanted)
    }
}
