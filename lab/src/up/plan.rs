//! What a lab is asked for.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assisted_lab_kinds::{Outcome, Outcomes, operators};
use clap::ValueEnum;

use super::cluster_api::Boots;
use super::{Fault, LabError, Operator, Rack, Replicas, Topology};

/// How long an operator may keep a stage of the installation waiting where one of them never comes: the others have said all that they
/// have to say in a few seconds.
const LIMIT: &str = "15s";

/// How metal3 has machines boot the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Flow {
    /// As virtual media, and it does nothing else with them
    VirtualMedia,
    /// It inspects machines with it, and has them installed; on machines of namespaces
    Converged,
}

/// What `assisted-lab up` is asked for.
#[derive(Clone, Debug)]
pub struct Plan {
    pub topology: Topology,
    /// Beside those that the topology has.
    pub workers: u32,
    /// Workers that are added once the cluster is installed.
    pub day2_workers: u32,
    /// Whether the machines of a topology are namespaces of this computer instead of virtual ones.
    pub namespaces: bool,
    /// Real machines, in place of virtual ones of a topology.
    pub rack: Option<Rack>,
    pub static_network: bool,
    /// Whether objects of a hub describe everything, BareMetalHosts included, in place of orders by command line: how metal3 has machines
    /// boot then.
    pub hub: Option<Flow>,
    /// Whether these are objects of Cluster API, whose providers do the rest: how its machines boot. The lab has a hub then.
    pub cluster_api: Option<Boots>,
    /// Whether somebody else gives all orders, and brings the image that machines boot.
    pub by_hand: bool,
    pub minimal: bool,
    /// Where everything is kept, and looked at.
    pub dir: PathBuf,
    /// The product's program, `assisted`, with the lab's others beside it.
    pub program: PathBuf,
    /// A folder with the program for hosts, `assisted-host-x86_64`, or `assisted-host` as it was built.
    pub host_programs: PathBuf,
    pub faults: Vec<Fault>,
    /// Several replicas of the service, in place of one on SQLite.
    pub replicas: Option<Replicas>,
    /// Operators that are installed with the cluster.
    pub operators: Vec<Operator>,
    /// Image mode: what is built on top of the release's image for nodes.
    pub containerfile: Option<PathBuf>,
    /// In image mode, the image of workers is built in the cluster; on machines of namespaces alone.
    pub workers_in_cluster: bool,
    /// In image mode, nodes start in the release's image first; on machines of namespaces alone.
    pub switches: bool,
    /// In image mode, images are pushed to a registry outside of the cluster; on machines of namespaces alone.
    pub external_registry: bool,
    /// End once the cluster has this status.
    pub until: Until,
    /// The longest time from the start until the lab has gone as far as it is to go.
    pub limit: Duration,
    /// Ends everything, from another thread.
    pub stop: Arc<AtomicBool>,
}

/// How far an installation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Until {
    Ready,
    Installing,
    Installed,
}

impl Plan {
    fn all_come(&self) -> bool {
        self.operators.iter().all(|operator| operator.outcome == Outcome::Succeeds)
    }

    /// How the installation of operators ends, for the lab's cluster, which knows them by their packages. Only machines of namespaces
    /// can be told.
    pub(super) fn outcomes(&self) -> Result<Outcomes, LabError> {
        if self.all_come() {
            return Ok(Outcomes::default());
        }
        if !self.namespaces {
            return Err(LabError::OnlyNamespaces);
        }
        let known = operators()?;
        let unlike = self.operators.iter().filter(|operator| operator.outcome != Outcome::Succeeds);
        let of_package = |Operator { name, outcome }: &Operator| {
            let known = known.iter().find(|each| each.operator == *name);
            let package = &known.ok_or_else(|| LabError::NoOperator(name.clone()))?.package;
            Ok((package.clone(), *outcome))
        };
        unlike.map(of_package).collect()
    }

    /// The service's settings that let an installation end although operators never come: limits of operators, and of the stages that
    /// wait for them.
    pub(super) fn operator_limits(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        const SETTINGS: [&str; 3] = [
            "OLM_OPERATOR_TIMEOUT",
            "FINALIZING_STAGE_WAITING_FOR_OLM_OPERATORS_CSV_INITIALIZATION_TIMEOUT",
            "FINALIZING_STAGE_WAITING_FOR_OLM_OPERATORS_CSV_TIMEOUT",
        ];
        let all_come = self.all_come();
        SETTINGS.into_iter().filter(move |_| !all_come).map(|name| (name, LIMIT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::up::machines::tests::plan;

    fn with(operators: &[&str]) -> Plan {
        let operators = operators.iter().map(|text| text.parse().unwrap()).collect();
        Plan { operators, namespaces: true, ..plan(Topology::Compact, 0) }
    }

    #[test]
    fn an_operator_is_told_with_its_outcome() {
        let all = with(&["nmstate", "oadp=fails", "numaresources=missing"]);
        let outcomes = all.outcomes().unwrap().to_string();
        assert_eq!(outcomes, "numaresources-operator=missing,redhat-oadp-operator=fails");
        assert_eq!((all.operator_limits().count(), with(&["nmstate"]).operator_limits().count()), (3, 0));
        for (text, why) in [("a=late", "late"), ("=fails", "no name")] {
            assert!(text.parse::<Operator>().unwrap_err().contains(why));
        }
        let unknown = with(&["other=fails"]).outcomes().unwrap_err().to_string();
        assert!(unknown.contains("other"), "{unknown}");
        let refused = Plan { namespaces: false, ..with(&["oadp=fails"]) }.outcomes().unwrap_err().to_string();
        assert!(refused.contains("--namespaces"), "{refused}");
        assert_eq!(Plan { namespaces: false, ..with(&["oadp"]) }.outcomes().unwrap(), Outcomes::default());
    }
}
