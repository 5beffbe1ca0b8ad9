//! Kernel module management: modules that the vendor of the OS has not signed.

use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::SupportLevel::DevPreview;
use serde_json::Value;

use crate::catalogue::feature::rule::{ALWAYS, Rule};
use crate::catalogue::operators::checks::without_secure_boot;
use crate::catalogue::operators::definition::{Behaviour, Group, Namespace, Package, operator};
use crate::catalogue::operators::is_selected;
use crate::catalogue::operators::setup::Setup;
use crate::catalogue::operators::view::{ClusterView, HostView};
use crate::model::outcome::Outcome;

operator! {
    "kmm", KmmRequirementsSatisfied, "KMM";
    namespace: "openshift-kmm",
    subscription: "kernel-module-management",
    rule: Rule { levels: &[(ALWAYS, DevPreview)], ..Rule::new(Id::Kmm, "Kernel Module Management") },
    package: Package {
        channel: Some("stable"),
        namespace: Some(Namespace::Plain),
        group: Some(Group::all("openshift-kmm").saying_strategy()),
        files: "50_kmm_",
        ..Package::NONE
    },
    behaviour: &Kmm,
}

struct Kmm;

impl Behaviour for Kmm {
    fn check_host(&self, host: &HostView<'_>) -> Outcome {
        let Some(inventory) = host.selection.inventory else {
            return Outcome::awaits_inventory("Missing inventory in the host");
        };
        without_secure_boot(inventory, "modules")
    }

    /// The image registry gets object storage, which data foundation brings.
    fn manifests(&self, view: &ClusterView<'_>) -> Vec<(&'static str, Value)> {
        const READ: &[&str] = &["get", "list", "watch"];
        const WRITE: &[&str] = &["create", "get", "list", "patch", "update", "watch"];
        if !is_selected(view.cluster, "odf") {
            return Vec::new();
        }
        let setup = Setup {
            operator: OPERATOR.name,
            namespace: OPERATOR.namespace,
            rules: &[
                ("", &["configmaps", "secrets"], WRITE),
                ("storage.k8s.io", &["storageclasses"], READ),
                ("objectbucket.io", &["objectbuckets"], READ),
                ("objectbucket.io", &["objectbucketclaims"], WRITE),
                (
                    "imageregistry.operator.openshift.io",
                    &["configs"],
                    &["get", "list", "patch", "update", "watch"],
                ),
            ],
            script: include_str!("kmm-setup.sh").to_owned(),
        };
        setup.objects(view)
    }
}
