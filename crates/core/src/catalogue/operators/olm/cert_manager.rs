//! cert-manager: certificates of services, asked for and renewed.

use assisted_base::version::Base;
use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::SupportLevel::Supported;
use serde_json::{Value, json};

use crate::catalogue::feature::rule::Rule;
use crate::catalogue::operators::checks::has_resources;
use crate::catalogue::operators::definition::{
    Behaviour, Group, Membership, Namespace, OperatorRequirements, Package, PlannedCluster, Preflight,
    operator,
};
use crate::catalogue::operators::view::{ClusterView, HostView};
use crate::model::outcome::Outcome;
use crate::policy;

operator! {
    "cert-manager", CertManagerRequirementsSatisfied, "cert-manager";
    namespace: "cert-manager-operator",
    subscription: "openshift-cert-manager-operator",
    bundle: Membership::None,
    rule: Rule { levels: &[(Base(4, 12), Supported)], ..Rule::new(Id::CertManager, "cert-manager") },
    package: Package {
        channel: Some("stable-v1"),
        namespace: Some(Namespace::Plain),
        group: Some(Group::all("cert-manager")),
        files: "50_cert_manager_",
        ..Package::NONE
    },
    behaviour: &CertManager,
}

struct CertManager;

const NEEDS: OperatorRequirements = OperatorRequirements { cpu_cores: 1, ram_mib: 256 };

impl Behaviour for CertManager {
    fn requirements(&self, _: &HostView<'_>) -> OperatorRequirements {
        NEEDS
    }

    fn preflight(&self, _: PlannedCluster<'_>, _: &policy::Operators) -> Preflight {
        Preflight::of_resources(NEEDS)
    }

    fn check_host(&self, host: &HostView<'_>) -> Outcome {
        has_resources(host, OPERATOR.full_name, NEEDS, "Missing Inventory in the host")
    }

    fn objects(&self, _: &ClusterView<'_>) -> Vec<Value> {
        vec![json!({
            "apiVersion": "operator.openshift.io/v1alpha1", "kind": "CertManager",
            "metadata": {"name": "cluster"},
            "spec": {"managementState": "Managed"},
        })]
    }
}

#[cfg(test)]
mod tests {
    use assisted_wire::host::HostRole;

    use super::*;
    use crate::policy::Policy;
    use crate::validation::testing::{facts, inventory};

    #[test]
    fn a_host_needs_a_processor_and_some_memory_more() {
        let facts = facts(1).with_inventory(&inventory()).with_operators(&["cert-manager"]);
        let host = HostView {
            cluster: &facts.cluster.as_ref().unwrap().cluster,
            facts: &facts,
            host: &facts.hosts[0],
            inventory: facts.hosts[0].inventory.as_deref(),
            role: HostRole::Master,
            assigned: HostRole::Master,
        };
        assert_eq!(CertManager.requirements(&host), NEEDS);
        assert_eq!(CertManager.check_host(&host).status, crate::model::outcome::Status::Success);
    }

    #[test]
    fn what_it_takes_is_said_before() {
        let planned = PlannedCluster { version: "4.20.1", single_node: false };
        let preflight = CertManager.preflight(planned, &Policy::default().operators);
        assert_eq!((preflight.master.extra, preflight.worker.extra), (NEEDS, NEEDS));
    }

    #[test]
    fn it_brings_itself_to_work() {
        let facts = facts(3);
        let objects = CertManager.objects(&ClusterView::of(&facts).unwrap());
        assert_eq!(objects[0]["kind"], "CertManager");
    }
}
