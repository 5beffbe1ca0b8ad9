//! `assisted-host inspect`: whether a machine can be installed, and if not, why; without any service.
//!
//! The rules are the service's own. What takes a cluster, other hosts or the service to judge is left out.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use assisted_core::catalogue::hardware::bytes;
use assisted_core::disk::annotate;
use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::disk;
use assisted_core::model::facts::{Facts, HostFacts};
use assisted_core::model::outcome::{Outcome, Status};
use assisted_core::model::report::ReportKind;
use assisted_core::policy::Policy;
use assisted_core::validation::host;
use assisted_hostinfo::Root;
use assisted_wire::host::HostValidationId::{self as Id, *};
use assisted_wire::id::{ClusterId, InfraEnvId};
use assisted_wire::inventory::Inventory;
use clap::ValueEnum;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use crate::{logging, print};

/// Exit code of a machine that can't be installed in any of the roles asked for.
const UNFIT: u8 = 3;

/// What can be judged by looking at the machine alone.
const LOCAL: &[Id] = &[
    HasInventory,
    InventoryNotPartiallyTruncated,
    InventoryNotFullyTruncated,
    HasMinCpuCores,
    HasMinMemory,
    HasMinValidDisks,
    HasCpuCoresForRole,
    HasMemoryForRole,
    HostnameValid,
    HasDefaultRoute,
    CompatibleWithClusterPlatform,
    VsphereDiskUuidEnabled,
    NonOverlappingSubnets,
];

/// Tell whether this machine can be installed, and if not, why; offline
///
/// Exit codes: 0 it can, in at least one of the roles; 3 it can't; 1 it can't be judged.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Read a captured machine instead of this one
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Roles to judge it in; all unless told
    #[arg(long, value_enum, value_delimiter = ',')]
    role: Vec<Role>,
    /// Version of OpenShift to be installed
    #[arg(long, default_value = "4.20.0")]
    openshift_version: String,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Output::Table)]
    output: Output,
    #[command(flatten)]
    logging: logging::Args,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    Table,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Role {
    /// One of three or more nodes that run the cluster
    ControlPlane,
    Arbiter,
    Worker,
    /// The only node of a cluster
    SingleNode,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::ControlPlane => "control plane",
            Self::Arbiter => "arbiter",
            Self::Worker => "worker",
            Self::SingleNode => "single node",
        }
    }

    fn wire(self) -> &'static str {
        match self {
            Self::ControlPlane | Self::SingleNode => "master",
            Self::Arbiter => "arbiter",
            Self::Worker => "worker",
        }
    }
}

/// What is found out about a machine.
#[derive(Debug, Serialize)]
struct Verdict {
    /// In at least one of the roles.
    installable: bool,
    roles: Vec<InRole>,
    inventory: Inventory,
}

#[derive(Debug, Serialize)]
struct InRole {
    role: Role,
    installable: bool,
    /// Where it would be installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    installation_disk: Option<String>,
    validations: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Row {
    id: String,
    status: Status,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    required: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    logging::start(&args.logging, "inspect", "")?;
    let root = match &args.root {
        Some(dir) => Root::captured(dir)
            .with_context(|| format!("can't read the captured machine {}", dir.display()))?,
        None => Root::live(),
    };
    let inventory = crate::block_on(assisted_agent::inventory(&Arc::new(root)))?;
    let roles = if args.role.is_empty() {
        vec![Role::ControlPlane, Role::Arbiter, Role::Worker, Role::SingleNode]
    } else {
        args.role.clone()
    };
    let verdict = assess(inventory, &roles, &args.openshift_version)?;
    let text = match args.output {
        Output::Table => table(&verdict),
        Output::Json => serde_json::to_string_pretty(&verdict)?,
    };
    print(text.trim_end())?;
    Ok(if verdict.installable { ExitCode::SUCCESS } else { ExitCode::from(UNFIT) })
}

fn assess(inventory: Inventory, roles: &[Role], version: &str) -> anyhow::Result<Verdict> {
    let roles: Vec<_> =
        roles.iter().map(|role| in_role(*role, &inventory, version)).collect::<anyhow::Result<_>>()?;
    Ok(Verdict { installable: roles.iter().any(|role| role.installable), roles, inventory })
}

/// The machine as the only host of a cluster that lacks nothing else.
fn in_role(role: Role, inventory: &Inventory, version: &str) -> anyhow::Result<InRole> {
    let facts = facts(role, version)?;
    let mut host = facts.hosts[0].clone();
    let mut inventory = inventory.clone();
    disk::fill_ids(&mut inventory);
    annotate(&facts, &host, &mut inventory).context("can't judge the disks")?;
    host.put_report(ReportKind::Inventory, serde_json::to_string(&inventory)?.into());
    let facts = Facts { hosts: vec![host.clone()], ..facts };
    let results = host::evaluate(&facts, &host).context("can't judge this machine")?;
    let local = results.entries().iter().filter(|entry| entry.shown && LOCAL.contains(&entry.id));
    let validations: Vec<_> = local.map(|entry| row(entry.id, &entry.outcome)).collect();
    let eligible = |disk: &&assisted_wire::inventory::Disk| disk.installation_eligibility.eligible;
    let first = disk::in_order_of_preference(&inventory).into_iter().find(eligible);
    Ok(InRole {
        role,
        installable: validations
            .iter()
            .all(|row| row.status != Status::Failure && row.status != Status::Error),
        installation_disk: first.map(|disk| disk.id.clone()),
        validations,
    })
}

fn facts(role: Role, version: &str) -> anyhow::Result<Facts> {
    let (now, moment) = (Timestamp::now(), "2026-01-01T00:00:00Z");
    let single = role == Role::SingleNode;
    let cluster: ClusterRecord = serde_json::from_value(json!({"cluster": {
        "kind": "Cluster",
        "id": ClusterId::default(),
        "href": "",
        "name": "inspect",
        "status": "insufficient",
        "status_info": "",
        "image_info": {"created_at": moment},
        "created_at": moment,
        "updated_at": moment,
        "openshift_version": version,
        "base_dns_domain": "example.com",
        "control_plane_count": if single { 1 } else { 3 },
        "high_availability_mode": if single { "None" } else { "Full" },
        "pull_secret_set": true,
        "network_type": "OVNKubernetes",
        "platform": {"type": if single { "none" } else { "baremetal" }},
        "user_managed_networking": single,
        "cluster_networks": [{"cidr": "10.128.0.0/14", "host_prefix": 23}],
        "service_networks": [{"cidr": "172.30.0.0/16"}],
        "machine_networks": [],
    }}))?;
    let record = serde_json::from_value(json!({"host": {
        "kind": "Host",
        "id": "00000000-0000-0000-0000-000000000001",
        "href": "",
        "status": "known",
        "status_info": "",
        "created_at": moment,
        "updated_at": moment,
        "infra_env_id": InfraEnvId::default(),
        "cluster_id": cluster.cluster.id,
        "role": role.wire(),
        "bootstrap": single,
    }}))?;
    Ok(Facts {
        cluster: Some(cluster),
        hosts: vec![HostFacts::new(record, now)],
        infra_envs: BTreeMap::new(),
        policy: Arc::new(Policy::default()),
        now,
    })
}

fn row(id: Id, outcome: &Outcome) -> Row {
    let text = |text: &Option<std::borrow::Cow<'static, str>>| text.as_ref().map(ToString::to_string);
    Row {
        id: id.to_string(),
        status: outcome.status,
        message: outcome.message.to_string(),
        measured: text(&outcome.facts.measured),
        required: text(&outcome.facts.required),
        remedy: text(&outcome.facts.remedy),
    }
}

fn table(verdict: &Verdict) -> String {
    let mut text = String::new();
    machine(&mut text, &verdict.inventory);
    disks(&mut text, verdict);
    for found in &verdict.roles {
        let disk = found.installation_disk.as_deref().unwrap_or("none");
        let can = if found.installable { "can be installed" } else { "CAN'T be installed" };
        let _ = writeln!(text, "\nAs {}: {can} (disk: {disk})", found.role.name());
        let width = found.validations.iter().map(|row| row.id.len()).max().unwrap_or_default();
        for row in &found.validations {
            let _ = writeln!(text, "  {:<7}  {:<width$}  {}", row.status.to_string(), row.id, row.message);
            if row.status != Status::Success {
                let more = [("has", &row.measured), ("needs", &row.required), ("do", &row.remedy)];
                for (name, value) in
                    more.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)))
                {
                    let _ = writeln!(text, "  {:<7}  {:<width$}    {name}: {value}", "", "");
                }
            }
        }
    }
    text
}

fn machine(text: &mut String, inventory: &Inventory) {
    let vendor = inventory.system_vendor.clone().unwrap_or_default();
    let maker = [vendor.manufacturer, vendor.product_name].join(" ");
    let cpu = inventory.cpu.clone().unwrap_or_default();
    let memory = inventory.memory.as_ref().map_or(0, |memory| memory.physical_bytes);
    let _ = writeln!(
        text,
        "{}: {}, {}, {} CPUs, {}",
        if inventory.hostname.is_empty() { "(no name)" } else { &inventory.hostname },
        if maker.trim().is_empty() { "unknown machine" } else { maker.trim() },
        cpu.architecture,
        cpu.count,
        bytes::binary(memory)
    );
}

/// Disks as they stand for the first role; the others differ in size alone.
fn disks(text: &mut String, verdict: &Verdict) {
    for disk in verdict.inventory.disks.iter().flatten() {
        let reasons = disk.installation_eligibility.not_eligible_reasons.iter().flatten();
        let reasons: Vec<_> = reasons.map(String::as_str).collect();
        let kind = disk.drive_type.map(|kind| kind.to_string()).unwrap_or_default();
        let state =
            if reasons.is_empty() { String::new() } else { format!("  not usable: {}", reasons.join("; ")) };
        let _ = writeln!(
            text,
            "  {:<10}  {:<8}  {:>10}{state}",
            disk.name,
            kind,
            bytes::decimal(disk.size_bytes)
        );
    }
}

#[cfg(test)]
mod tests {
    use assisted_wire::inventory::{
        Cpu, Disk, DiskInstallationEligibility, DriveType, Interface, Memory, Route,
    };

    use super::*;

    fn machine(cpus: i64, gib: i64) -> Inventory {
        Inventory {
            hostname: "box-1".into(),
            cpu: Some(Cpu { architecture: "x86_64".into(), count: cpus, ..Cpu::default() }),
            memory: Some(Memory { physical_bytes: gib << 30, usable_bytes: gib << 30, ..Memory::default() }),
            disks: Some(vec![Disk {
                name: "sda".into(),
                path: "/dev/sda".into(),
                size_bytes: 200_000_000_000,
                drive_type: Some(DriveType::Ssd),
                installation_eligibility: DiskInstallationEligibility {
                    eligible: true,
                    ..Default::default()
                },
                ..Disk::default()
            }]),
            interfaces: Some(vec![Interface {
                name: "eth0".into(),
                r#type: "physical".into(),
                mac_address: "52:54:00:00:00:01".into(),
                ipv4_addresses: Some(vec!["192.168.1.5/24".into()]),
                ..Interface::default()
            }]),
            routes: Some(vec![Route {
                interface: "eth0".into(),
                destination: "0.0.0.0".into(),
                gateway: "192.168.1.1".into(),
                family: 2,
                ..Route::default()
            }]),
            ..Inventory::default()
        }
    }

    const ALL: [Role; 4] = [Role::ControlPlane, Role::Arbiter, Role::Worker, Role::SingleNode];

    #[test]
    fn each_role_takes_its_own() {
        let fits = |cpus, gib| {
            let verdict = assess(machine(cpus, gib), &ALL, "4.20.0").unwrap();
            verdict.roles.iter().map(|found| found.installable).collect::<Vec<_>>()
        };
        assert_eq!(fits(8, 16), [true; 4]);
        assert_eq!(fits(4, 16), [true, true, true, false]);
        assert_eq!(fits(2, 8), [false, true, true, false]);
        assert_eq!(fits(1, 2), [false; 4]);
    }

    #[test]
    fn a_reason_is_told_with_what_is_needed() {
        let mut small = machine(8, 32);
        small.disks.as_mut().unwrap()[0].size_bytes = 10_000_000_000;
        small.hostname = "localhost".into();
        let verdict = assess(small, &[Role::Worker], "4.20.0").unwrap();
        assert!(!verdict.installable);
        let failed: Vec<_> = verdict.roles[0]
            .validations
            .iter()
            .filter(|row| row.status == Status::Failure)
            .map(|row| row.id.as_str())
            .collect();
        assert_eq!(failed, ["has-min-valid-disks", "hostname-valid"]);
        let text = table(&verdict);
        assert!(text.contains("As worker: CAN'T be installed (disk: none)"), "{text}");
        let found = serde_json::to_value(&verdict).unwrap();
        assert_eq!(found["roles"][0]["role"], "worker");
        assert_eq!(found["installable"], false);
    }

    #[test]
    fn an_unknown_version_is_judged_by_the_common_rules() {
        assert!(assess(machine(8, 16), &[Role::ControlPlane], "5.1.0").unwrap().installable);
    }
}
