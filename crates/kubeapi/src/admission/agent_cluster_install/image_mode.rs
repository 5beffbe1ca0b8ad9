//! What can be asked of image mode (ocl-day1 §B2): by the rules that judge requests.

use assisted_core::layering::settings::{of_overrides, of_request, together};
use assisted_core::policy::Policy;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::labels::annotation;

use crate::admission::verdict::Denial;
use crate::cluster::image_mode;

/// Checks what is new. What a service doesn't do though it could is its own to say, in condition SpecSynced.
pub(super) fn check(old: Option<&AgentClusterInstall>, new: &AgentClusterInstall) -> Result<(), Denial> {
    let Some(asked) = image_mode(&new.spec) else { return Ok(()) };
    let is_known = |old: &AgentClusterInstall| {
        old.spec.on_cluster_layering == new.spec.on_cluster_layering && overrides(old) == overrides(new)
    };
    if old.is_some_and(is_known) {
        return Ok(());
    }
    let denied =
        |why: String| Denial::bad_request(format!("Invalid AgentClusterInstall.OnClusterLayering: {why}"));
    let asked = of_request(&asked).map_err(denied)?;
    let overridden = overrides(new).and_then(of_overrides);
    let conflicts = overridden.as_ref().map(|overridden| asked.conflicts(overridden)).unwrap_or_default();
    if !conflicts.is_empty() {
        return Err(denied(format!(
            "annotation {} says otherwise of {}",
            annotation::INSTALL_CONFIG_OVERRIDES,
            conflicts.join(", ")
        )));
    }
    let mut policy = Policy::default();
    policy.layering.preview = true;
    policy.layering.allow_generated_mosc = true;
    together(overridden, Some(asked)).unwrap_or_default().check(&policy).map_err(denied)
}

fn overrides(object: &AgentClusterInstall) -> Option<&str> {
    let annotations = object.metadata.annotations.as_ref()?;
    annotations.get(annotation::INSTALL_CONFIG_OVERRIDES).map(String::as_str)
}
