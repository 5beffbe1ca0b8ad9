//! Registries that stand in for others.

use super::Discovery;
use assisted_ignition_spec::config::Config;
use assisted_ignition_spec::resource::Resource;

pub(super) fn add(config: &mut Config, input: &Discovery<'_>) {
    let Some(mirrors) = input.mirrors else { return };
    let file =
        |config: &mut Config, path: &str, text: &str| config.add_file(path, 0o644, Resource::bytes(text));
    file(config, "/etc/containers/registries.conf", mirrors.registries_conf);
    file(config, "/etc/pki/ca-trust/source/anchors/domain.crt", mirrors.ca);
    if mirrors.insecure_policy {
        file(config, "/etc/containers/policy.json", include_str!("files/policy.json"));
    }
}
