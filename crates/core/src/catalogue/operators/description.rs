//! An operator as it is described to users who choose one.

use assisted_base::version::Base;
use assisted_wire::operator_assessment::{OperatorDescription, OperatorLevel};
use assisted_wire::requirements::{
    ClusterHostRequirementsDetails as Details, HostTypeHardwareRequirements,
    HostTypeHardwareRequirementsWrapper,
};

use super::bundle::BUNDLES;
use super::definition::{Operator, PlannedCluster, Preflight, RolePreflight};
use crate::catalogue::feature::rule::ALWAYS;
use crate::policy;

impl Preflight {
    /// As the API shows it.
    pub(crate) fn listed(self) -> HostTypeHardwareRequirementsWrapper {
        let role = |RolePreflight { extra, qualitative }: RolePreflight| HostTypeHardwareRequirements {
            quantitative: Some(Details {
                cpu_cores: extra.cpu_cores,
                ram_mib: extra.ram_mib,
                ..Details::default()
            }),
            qualitative: Some(qualitative),
        };
        HostTypeHardwareRequirementsWrapper {
            master: Some(role(self.master)),
            worker: Some(role(self.worker)),
        }
    }
}

impl Operator {
    /// What is known of it for clusters of a version.
    pub fn description(&self, version: &str, policy: &policy::Operators) -> OperatorDescription {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let bundles = BUNDLES.iter().filter(|bundle| {
            let lists = [bundle.required(false), bundle.required(true), bundle.optional()];
            lists.iter().any(|list| list.contains(&self.name))
        });
        let levels = self.rule.levels.iter().map(|(from, level)| {
            let Base(major, minor) = *from;
            let from_version = if *from == ALWAYS { String::new() } else { format!("{major}.{minor}") };
            OperatorLevel { from_version, support_level: *level }
        });
        OperatorDescription {
            name: self.name.to_owned(),
            title: self.rule.name.to_owned(),
            feature: self.feature(),
            namespace: self.subscribed(version, policy).namespace.to_owned(),
            timeout_seconds: self.timeout_seconds(policy),
            dependencies: owned(self.depends_on),
            single_node_dependencies: owned(self.depends_on_single_node),
            bundles: bundles.map(|bundle| bundle.id.to_owned()).collect(),
            levels: levels.collect(),
            excluded_architectures: self.rule.architectures.to_vec(),
            incompatibilities: self.rule.features.to_vec(),
            requirements: self
                .behaviour
                .preflight(PlannedCluster { version, single_node: false }, policy)
                .listed(),
        }
    }
}
