//! What every discovered host gets besides the agent: certificates, SELinux, multipath, iSCSI, and what OKD needs.

use super::Discovery;
use assisted_ignition_spec::config::{Config, Unit};
use assisted_ignition_spec::resource::Resource;

pub(super) fn add(config: &mut Config, input: &Discovery<'_>) {
    config.add_file("/etc/motd", 0o644, Resource::text(include_str!("files/motd")));
    config.add_file(
        "/etc/NetworkManager/conf.d/01-ipv6.conf",
        0o644,
        Resource::text(include_str!("files/01-ipv6.conf")),
    );
    config.add_file("/root/assisted.te", 0o644, Resource::bytes(include_str!("files/assisted.te")));
    config.add_unit("selinux.service", include_str!("units/selinux.service"));
    if !input.trust_bundle.is_empty() {
        config.add_file(
            "/etc/pki/ca-trust/source/anchors/assisted-infraenv-additional-trust-bundle.pem",
            0o644,
            Resource::bytes(input.trust_bundle),
        );
    }
    match input.okd_rpms_image {
        Some(image) => okd(config, image),
        None => openshift(config),
    }
}

fn openshift(config: &mut Config) {
    config.systemd.units.push(Unit {
        name: "multipathd.service".to_owned(),
        enabled: Some(true),
        ..Unit::default()
    });
    config.add_file("/etc/multipath.conf", 0o644, Resource::bytes(include_str!("files/multipath.conf")));
    config.add_unit("iscsistart.service", include_str!("units/iscsistart.service"));
    config.add_file(
        "/usr/local/bin/oci-eval-user-data.sh",
        0o755,
        Resource::bytes(include_str!("scripts/oci-eval-user-data.sh")),
    );
    config.add_unit("oci-eval-user-data.service", include_str!("units/oci-eval-user-data.service"));
}

/// The image is that of Fedora CoreOS: what OpenShift's nodes need is laid over it.
fn okd(config: &mut Config, image: &str) {
    let script = include_str!("scripts/okd-binaries.sh").replace("@IMAGE@", &shell_word(image));
    config.add_file("/usr/local/bin/okd-binaries.sh", 0o755, Resource::bytes(script));
    config.add_unit("okd-overlay.service", include_str!("units/okd-overlay.service"));
    config.add_unit("systemd-journal-gatewayd.socket", include_str!("units/systemd-journal-gatewayd.socket"));
    for (unit, dropin) in [
        ("release-image-pivot.service", "[Unit]\nConditionPathExists=/enoent\n"),
        ("agent.service", "[Unit]\nWants=okd-overlay.service\nAfter=okd-overlay.service\n"),
    ] {
        let path = format!("/etc/systemd/system/{unit}.d/wait-for-okd.conf");
        config.add_file(&path, 0o644, Resource::bytes(dropin));
    }
}

/// One word of a shell.
pub(super) fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
