//! What the topology of a Cluster says in its control plane, in other places than the published kind has (ADR 23).

use assisted_crd::cluster_api::openshift_assisted_control_plane::v1alpha3::{
    MachineTemplate, OpenshiftAssistedControlPlane,
};

/// The control plane as if it said everything in the published places.
///
/// # Errors
/// It says two versions: an API server refuses that, but not from clients of the older version.
pub(super) fn resolved(
    plane: &OpenshiftAssistedControlPlane,
) -> Result<OpenshiftAssistedControlPlane, String> {
    let mut plane = plane.clone();
    let spec = &mut plane.spec;
    if !spec.version.is_empty() {
        let (wanted, said) = (plain(&spec.version), plain(&spec.distribution_version));
        if !said.is_empty() && said != wanted {
            return Err(format!(
                "spec.version says {} and spec.distributionVersion says {}: leave the latter out",
                spec.version, spec.distribution_version
            ));
        }
        spec.distribution_version = wanted.to_owned();
    }
    machines(&mut spec.machine_template);
    Ok(plane)
}

fn machines(template: &mut MachineTemplate) {
    let Some(said) = template.spec.take() else { return };
    template.infrastructure_ref = said.infrastructure_ref.or(template.infrastructure_ref.take());
    if let Some(said) = said.deletion {
        let deletion = template.deletion.get_or_insert_default();
        let lay = |place: &mut Option<i32>, said: Option<i32>| *place = said.or(*place);
        lay(&mut deletion.node_deletion_timeout_seconds, said.node_deletion_timeout_seconds);
        lay(&mut deletion.node_drain_timeout_seconds, said.node_drain_timeout_seconds);
        lay(&mut deletion.node_volume_detach_timeout_seconds, said.node_volume_detach_timeout_seconds);
    }
}

fn plain(version: &str) -> &str {
    version.strip_prefix('v').unwrap_or(version)
}

/// The version that the status tells, of a control plane that is what it should be: that of Kubernetes, or, where a topology says a version
/// of OpenShift, the same, since Cluster API compares both.
pub(super) fn version(plane: &OpenshiftAssistedControlPlane, kubernetes: &str) -> String {
    match plane.spec.version.as_str() {
        "" => kubernetes.to_owned(),
        said => said.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(spec: &Value) -> Result<Value, String> {
        let object = json!({"metadata": {"name": "a"}, "spec": spec});
        resolved(&serde_json::from_value(object).unwrap()).map(|plane| json!(plane.spec))
    }

    #[test]
    fn what_a_topology_says_is_as_if_the_published_places_said_it() {
        let reference = |name: &str| json!({"apiGroup": "example.com", "kind": "Template", "name": name});
        let by_topology = of(&json!({
            "version": "v4.20.0",
            "machineTemplate": {
                "deletion": {"nodeDeletionTimeoutSeconds": 10, "nodeDrainTimeoutSeconds": 20},
                "spec": {"infrastructureRef": reference("new"), "deletion": {"nodeDrainTimeoutSeconds": 30}},
            },
        }));
        let published = json!({
            "version": "v4.20.0", "distributionVersion": "4.20.0",
            "machineTemplate": {
                "deletion": {"nodeDeletionTimeoutSeconds": 10, "nodeDrainTimeoutSeconds": 30},
                "infrastructureRef": reference("new"),
            },
        });
        assert_eq!(by_topology.unwrap(), published);
        let usual = json!({"distributionVersion": "4.20.0", "machineTemplate": {"infrastructureRef": reference("old")}});
        assert_eq!(of(&usual).unwrap(), usual);
    }

    #[test]
    fn two_versions_are_none() {
        let both =
            |distribution: &str| of(&json!({"version": "v4.20.0", "distributionVersion": distribution}));
        for same in ["", "4.20.0", "v4.20.0"] {
            assert_eq!(both(same).unwrap()["distributionVersion"], "4.20.0", "{same}");
        }
        assert_eq!(
            both("4.19.0").unwrap_err(),
            "spec.version says v4.20.0 and spec.distributionVersion says 4.19.0: leave the latter out"
        );
    }

    #[test]
    fn the_status_tells_what_is_compared() {
        let plane = |spec: Value| serde_json::from_value(json!({"metadata": {}, "spec": spec})).unwrap();
        assert_eq!(version(&plane(json!({"version": "v4.20.0"})), "1.33.4"), "v4.20.0");
        assert_eq!(version(&plane(json!({})), "1.33.4"), "1.33.4");
    }
}
