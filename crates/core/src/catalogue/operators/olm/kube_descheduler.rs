//! The descheduler: workloads move from nodes that have too many.

use assisted_base::version::at_least;
use assisted_wire::support_level::FeatureSupportLevelId as Id;
use serde_json::{Value, json};

use crate::catalogue::feature::rule::Rule;
use crate::catalogue::operators::checks::machine_config;
use crate::catalogue::operators::definition::{Behaviour, Group, Membership, Namespace, Package, operator};
use crate::catalogue::operators::is_selected;
use crate::catalogue::operators::view::ClusterView;

const NAMESPACE: &str = "openshift-kube-descheduler-operator";

operator! {
    "kube-descheduler", KubeDeschedulerRequirementsSatisfied, "Kube Descheduler";
    namespace: NAMESPACE,
    subscription: "cluster-kube-descheduler-operator",
    bundle: Membership::Required("virtualization"),
    rule: Rule { features: &[Id::Sno], ..Rule::new(Id::KubeDescheduler, "Kube Descheduler") },
    package: Package {
        channel: Some("stable"),
        namespace: Some(Namespace::Monitored),
        group: Some(Group::own("openshift-node-availability")),
        files: "50_kube_descheduler_",
        ..Package::NONE
    },
    behaviour: &KubeDescheduler,
}

struct KubeDescheduler;

fn of_workloads() -> Value {
    json!({"mode": "Predictive", "deschedulingIntervalSeconds": 3600, "profiles": ["AffinityAndTaints"]})
}

/// Beside virtualization it moves virtual machines, by the profile that the version has for it.
fn of_virtual_machines(version: &str) -> Value {
    let background = json!({"devEnableEvictionsInBackground": true});
    let (profiles, customizations) = match version {
        version if at_least(version, 4, 20) => (json!(["KubeVirtRelieveAndMigrate"]), None),
        version if at_least(version, 4, 19) => (json!(["DevKubeVirtRelieveAndMigrate"]), None),
        version if at_least(version, 4, 18) => (
            json!(["DevKubeVirtRelieveAndMigrate"]),
            Some(json!({
                "devActualUtilizationProfile": "PrometheusCPUCombined", "devDeviationThresholds": "AsymmetricLow",
                "devEnableEvictionsInBackground": true, "devEnableSoftTainter": true,
            })),
        ),
        // The replaced service gives it the profile of 4.16 by mistake (operators §1, trap 8).
        version if at_least(version, 4, 17) => {
            (json!(["LongLifecycle", "EvictPodsWithPVC", "EvictPodsWithLocalStorage"]), Some(background))
        }
        _ => (
            json!(["DevPreviewLongLifecycle", "EvictPodsWithPVC", "EvictPodsWithLocalStorage"]),
            Some(background),
        ),
    };
    let mut spec = json!({"mode": "Automatic", "deschedulingIntervalSeconds": 60, "profiles": profiles});
    if let Some(customizations) = customizations {
        spec["profileCustomizations"] = customizations;
    }
    spec
}

impl Behaviour for KubeDescheduler {
    fn objects(&self, view: &ClusterView<'_>) -> Vec<Value> {
        let version = &view.cluster.openshift_version;
        let with_virtualization = is_selected(view.cluster, "cnv");
        let mut spec =
            json!({"logLevel": "Normal", "operatorLogLevel": "Normal", "managementState": "Managed"});
        let own = if with_virtualization { of_virtual_machines(version) } else { of_workloads() };
        if let (Some(spec), Value::Object(own)) = (spec.as_object_mut(), own) {
            spec.extend(own);
        }
        let mut all = vec![json!({
            "apiVersion": "operator.openshift.io/v1", "kind": "KubeDescheduler",
            "metadata": {"name": "cluster", "namespace": NAMESPACE},
            "spec": spec,
        })];
        if with_virtualization && at_least(version, 4, 18) {
            // It balances by the pressure on nodes, which they must measure.
            let spec = json!({"kernelArguments": ["psi=1"]});
            all.extend(["worker", "master"].map(|role| {
                machine_config(&format!("99-openshift-machineconfig-{role}-psi-karg"), role, &spec)
            }));
        }
        all
    }
}
