//! A host with the facts that its validations read.

use assisted_wire::cluster::Cluster;
use assisted_wire::host::{Host, HostRole, HostStage};
use assisted_wire::inventory::Inventory;
use assisted_wire::requirements::ClusterHostRequirementsDetails;
use ipnet::IpNet;

use super::EvaluationError;
use crate::catalogue::hardware::{self, Minimum, SelectionInput};
use crate::model::connectivity_report::ParsedConnectivity;
use crate::model::facts::{Facts, HostFacts};
use crate::model::report::ReportKind;
use crate::model::topology;
use crate::validation::scope::{Report, Scope};

/// A host among the others, with what is required of it.
pub(super) struct View<'a> {
    pub(super) scope: &'a Scope<'a>,
    /// What its requirements are chosen by.
    pub(super) selection: SelectionInput<'a>,
    pub(super) facts: &'a Facts,
    pub(super) host: &'a HostFacts,
    /// `None`: unbound.
    pub(super) cluster: Option<&'a Cluster>,
    pub(super) inventory: Option<&'a Inventory>,
    /// The role to judge it in.
    pub(super) role: HostRole,
    /// What OpenShift and the operators require together.
    pub(super) total: ClusterHostRequirementsDetails,
    pub(super) minimum: Minimum,
    pub(super) machine_networks: &'a [IpNet],
}

impl<'a> View<'a> {
    pub(super) fn new(scope: &'a Scope<'a>, selection: SelectionInput<'a>) -> Result<Self, EvaluationError> {
        let SelectionInput { facts, host, inventory, role, .. } = selection;
        if let Some(inventory) = inventory {
            inventory.memory.as_ref().ok_or(EvaluationError::NoMemory)?;
            inventory.cpu.as_ref().ok_or(EvaluationError::NoCpu)?;
        }
        let table = &scope.facts.policy.hardware.requirements;
        let machine_networks = scope.machine_networks.as_ref();
        Ok(Self {
            scope,
            selection,
            facts,
            host,
            cluster: scope.cluster(),
            inventory,
            role,
            total: hardware::total(table, &selection)?,
            minimum: hardware::minimum(table, &selection)?,
            machine_networks: machine_networks
                .map_err(|text| EvaluationError::MachineNetwork(text.clone()))?,
        })
    }

    /// What the API shows of the host.
    pub(super) fn record(&self) -> &'a Host {
        &self.host.record.host
    }

    /// The stage of the installation.
    pub(super) fn stage(&self) -> Option<HostStage> {
        self.record().stage()
    }

    /// The host's name; empty when it has none.
    pub(super) fn name(&self) -> &'a str {
        topology::host_name(self.host)
    }

    /// A report of the host, read.
    pub(super) fn report<T: serde::de::DeserializeOwned>(&self, kind: ReportKind) -> Report<T> {
        Report::read(self.host.report(kind))
    }

    /// What the host found out about the others.
    pub(super) fn connectivity(&self) -> Report<&'a ParsedConnectivity> {
        match &self.host.connectivity {
            Some(connectivity) => Report::Read(connectivity),
            None if self.host.report(ReportKind::Connectivity).is_empty() => Report::Missing,
            None => Report::Broken,
        }
    }

    /// Whether the host has an address in the network.
    pub(super) fn is_in(&self, network: &IpNet) -> bool {
        self.inventory.is_some_and(|inventory| crate::network::address::inventory_touches(inventory, network))
    }
}
