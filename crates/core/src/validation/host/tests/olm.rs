//! What operators ask of a machine, in the words of the reference.

use assisted_wire::host::HostRole::{Arbiter, AutoAssign, Master, Worker};
use assisted_wire::inventory::{Boot, DriveType, Gpu, Interface, SecureBootState};

use super::*;
use crate::catalogue::hardware::{SelectionInput, total};
use crate::catalogue::operators::{OPERATORS, find};
use crate::policy::Requirements;
use crate::validation::testing::disk;

const REFERENCE: &str = include_str!("../../../../../../docs/reference/validations.md");

/// Holds that the reference has a text, in which `%d` and `%s` stand for numbers and for the operator's name.
#[track_caller]
fn is_of_the_reference(text: &str, name: &str) {
    let plain = text.replace(find(name).unwrap().full_name, "%s");
    let digits = |text: &str| {
        let mut out = String::new();
        for part in text.split_inclusive(|c: char| !c.is_ascii_digit()) {
            let number = part.trim_start_matches(|c: char| c.is_ascii_digit());
            out += if number.len() < part.len() { "%d" } else { "" };
            out += number;
        }
        out
    };
    let known = digits(REFERENCE);
    assert!([digits(text), digits(&plain)].iter().any(|text| known.contains(text.as_str())), "{text}");
}

#[track_caller]
fn refused(facts: &Facts, name: &str, text: &str) {
    failure(facts, find(name).unwrap().host, text);
    text.split('\n').for_each(|line| is_of_the_reference(line, name));
}

#[track_caller]
fn taken(facts: &Facts, name: &str) {
    success(facts, find(name).unwrap().host, "");
}

fn virtualizing(cores: i64, mib: i64) -> InventoryBuilder {
    inventory().cores(cores).with(|inventory| {
        inventory.cpu.as_mut().unwrap().flags = Some(vec!["fpu".to_owned(), "vmx".to_owned()]);
        inventory.memory.as_mut().unwrap().usable_bytes = mib << 20;
    })
}

fn host(name: &str, of: HostRole, machine: &InventoryBuilder) -> Facts {
    role(with(machine).with_operators(&[name]), of)
}

/// Cores and MiB that an operator adds to what the first host must have.
fn added(facts: &Facts, name: &str) -> (i64, i64) {
    let details = |facts: &Facts| {
        let details = total(&Requirements::built_in(), &SelectionInput::of(facts, &facts.hosts[0])).unwrap();
        (details.cpu_cores, details.ram_mib)
    };
    let with = details(&facts.clone().with_operators(&[name]));
    let without = details(&facts.clone().with_operators(&[]));
    (with.0 - without.0, with.1 - without.1)
}

#[test]
pub(super) fn resources() {
    for (name, cores, mib, silent) in [
        ("mce", 4, 16384, "Missing Inventory in the host"),
        ("mtv", 1, 1024, "Missing Inventory in some of the hosts"),
        ("osc", 1, 1024, "Missing Inventory in some of the hosts"),
        ("cnv", 4, 150, "Missing Inventory in some of the hosts"),
    ] {
        let full = find(name).unwrap().full_name;
        pending(&facts(1).with_operators(&[name]), find(name).unwrap().host, silent);
        is_of_the_reference(silent, name);
        taken(&host(name, Master, &virtualizing(cores, mib)), name);
        let few = format!(
            "Insufficient CPU to deploy {full}. Required CPU count is {cores} but found {} ",
            cores - 1
        );
        let little = format!(
            "Insufficient memory to deploy {full}. Required memory is {mib} MiB but found {} MiB",
            mib - 1
        );
        refused(&host(name, Master, &virtualizing(cores - 1, mib)), name, &few);
        refused(&host(name, Master, &virtualizing(cores, mib - 1)), name, &little);
        refused(&host(name, Master, &virtualizing(cores - 1, mib - 1)), name, &format!("{few}\n{little}"));
        taken(&host(name, Arbiter, &virtualizing(1, 1)), name);
    }
    let ai = find("openshift-ai").unwrap();
    pending(&facts(1).with_operators(&["openshift-ai"]), ai.host, "Missing inventory in the host");
    taken(&host("openshift-ai", Master, &virtualizing(1, 1)), "openshift-ai");
    taken(&host("openshift-ai", Worker, &virtualizing(8, 32768)), "openshift-ai");
    refused(
        &host("openshift-ai", Worker, &virtualizing(7, 31 << 10)),
        "openshift-ai",
        "Insufficient CPU to deploy OpenShift AI, requires 8 CPU cores but found 7\n\
         Insufficient memory to deploy OpenShift AI, requires 32 GiB but found 31 GiB",
    );
    let own = |facts: Facts| {
        settings(facts, |policy| {
            (policy.operators.osc_cpu_per_host, policy.operators.mtv_cpu_per_host) = (3, 3);
        })
    };
    for name in ["osc", "mtv"] {
        let full = find(name).unwrap().full_name;
        let few = format!("Insufficient CPU to deploy {full}. Required CPU count is 3 but found 2 ");
        refused(&own(host(name, Master, &virtualizing(2, 1024))), name, &few);
    }
}

#[test]
pub(super) fn virtualization() {
    let machine = virtualizing(8, 16384);
    let cnv = |of: HostRole, machine: &InventoryBuilder| host("cnv", of, machine);
    let none = machine.clone().with(|inventory| inventory.cpu.as_mut().unwrap().flags = None);
    for of in [Master, Worker, Arbiter] {
        refused(&cnv(of, &none), "cnv", "CPU does not have virtualization support");
    }
    taken(
        &cnv(
            Worker,
            &none.with(|inventory| inventory.cpu.as_mut().unwrap().architecture = "aarch64".to_owned()),
        ),
        "cnv",
    );
    refused(
        &cnv(AutoAssign, &machine),
        "cnv",
        "All host roles must be assigned to enable OpenShift Virtualization",
    );
    // A single node of some versions stores the disks of its machines itself.
    let single = |version: &str, gb: i64| {
        let disks = vec![disk("sda", DriveType::Ssd, 120), disk("sdb", DriveType::Ssd, gb)];
        let mut facts = single_node(cnv(Master, &machine.clone().disks(disks)));
        facts.hosts[0].record.host.installation_disk_id = "/dev/disk/by-id/sda".to_owned();
        facts.with_cluster(|cluster| version.clone_into(&mut cluster.openshift_version))
    };
    let lacks = "OpenShift Virtualization on SNO requires an additional disk with 53 GB (50 Gi) in order to provide \
                 persistent storage for VMs, using hostpath-provisioner";
    failure(&single("4.11.9", 53), CnvRequirementsSatisfied, lacks);
    taken(&single("4.11.9", 54), "cnv");
    for version in ["4.9.1", "4.12.0-rc.1", "4.20.1"] {
        taken(&single(version, 1), "cnv");
    }
    let off = settings(single("4.11.9", 1), |policy| policy.operators.cnv_sno_install_hpp = false);
    taken(&off, "cnv");
}

#[test]
pub(super) fn secure_boot() {
    let machine = |vendor: &str, state| {
        inventory().with(|inventory| {
            inventory.gpus = Some(vec![Gpu { vendor_id: vendor.to_owned(), ..Gpu::default() }]);
            inventory.boot = Some(Boot { secure_boot_state: Some(state), ..Boot::default() });
        })
    };
    for (name, vendor, what) in [
        ("kmm", "8086", "modules"),
        ("nvidia-gpu", "10de", "NVIDIA GPU drivers"),
        ("amd-gpu", "1002", "AMD GPU drivers"),
    ] {
        pending(&facts(1).with_operators(&[name]), find(name).unwrap().host, "Missing inventory in the host");
        taken(&host(name, Worker, &machine(vendor, SecureBootState::Disabled)), name);
        let text = format!("Secure boot is enabled, but it needs to be disabled in order to load {what}");
        let locked = host(name, Worker, &machine(vendor, SecureBootState::Enabled));
        failure(&locked, find(name).unwrap().host, &text);
        let other = host(name, Worker, &machine("ffff", SecureBootState::Enabled));
        if name == "kmm" {
            is_of_the_reference(&text, name);
            failure(&other, find(name).unwrap().host, &text);
        } else {
            taken(&other, name);
        }
    }
}

#[test]
pub(super) fn the_others_ask_nothing() {
    let asking = ["odf", "lvm", "cnv", "mce", "mtv", "osc", "openshift-ai", "kmm", "nvidia-gpu", "amd-gpu"];
    for operator in OPERATORS.iter().filter(|each| each.is_published() && !asking.contains(&each.name)) {
        taken(&facts(1).with_operators(&[operator.name]), operator.name);
        taken(&with(&inventory()).with_operators(&[operator.name]), operator.name);
    }
}

/// Numbers of a cell such as `4 / 16384`; `None` when it says something else.
fn numbers(cell: &str) -> Option<(i64, i64)> {
    let (cores, mib) = cell.split_once(" / ")?;
    Some((cores.parse().ok()?, mib.split(' ').next()?.parse().ok()?))
}

#[test]
fn what_they_add_is_that_of_the_reference() {
    const OPERATORS_MD: &str = include_str!("../../../../../../docs/reference/operators.md");
    let section = OPERATORS_MD.split("### 7.1 ").nth(1).unwrap();
    let rows = section.lines().skip_while(|line| !line.starts_with("| Operator")).skip(2);
    let mut compared = 0;
    for row in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let name = cells[0].split(' ').next().unwrap();
        let Some(operator) = find(name).filter(|operator| !matches!(operator.name, "odf" | "lvm")) else {
            continue;
        };
        let of = |role| host(name, role, &virtualizing(8, 16384));
        let master = numbers(cells[1]).unwrap_or_default();
        assert_eq!(added(&of(Master), name), master, "{name}: master");
        let same = if cells[2] == "same" { Some(master) } else { numbers(cells[2]) };
        assert_eq!(added(&of(Worker), name), same.unwrap_or_default(), "{name}: worker");
        let auto = match cells[3] {
            "same" => Some(master),
            "as worker" => same,
            cell => numbers(cell),
        };
        assert_eq!(added(&of(AutoAssign), name), auto.unwrap_or_default(), "{name}: auto-assign");
        assert_eq!(added(&of(Arbiter), name), (0, 0), "{name}: arbiter");
        let single = if cells[5] == "same" { Some(master) } else { numbers(cells[5]) };
        assert_eq!(added(&single_node(of(Master)), name), single.unwrap_or_default(), "{name}: single node");
        compared += 1;
        assert_eq!(operator.name, name);
    }
    assert_eq!(compared, 5, "cnv, mce, mtv, osc, openshift-ai");
}

#[test]
fn devices_take_memory() {
    let machine = virtualizing(8, 16384).with(|inventory| {
        let gpu = |vendor: &str, device: &str| Gpu {
            vendor_id: vendor.to_owned(),
            device_id: device.to_owned(),
            ..Gpu::default()
        };
        inventory.gpus = Some(vec![gpu("10de", "1eb8"), gpu("10de", "0000")]);
        let nic = |vendor: &str, product: &str| Interface {
            vendor: vendor.to_owned(),
            product: product.to_owned(),
            ..Interface::default()
        };
        inventory.interfaces = Some(vec![nic("0x8086", "0x158B"), nic("0x15b3", "0x0001")]);
    });
    assert_eq!(added(&host("cnv", Worker, &machine), "cnv"), (2, 360 + 2 * 1024));
    assert_eq!(added(&host("cnv", Master, &machine), "cnv"), (4, 150));
    assert_eq!(added(&single_node(host("cnv", Master, &machine)), "cnv"), (6, 510 + 2 * 1024));
    let own = settings(host("cnv", Worker, &machine), |policy| {
        policy.operators.cnv_supported_gpus = vec!["10DE:0000".to_owned()];
        policy.operators.cnv_supported_sriov_nics.clear();
    });
    assert_eq!(added(&own, "cnv"), (2, 360 + 1024));
}
