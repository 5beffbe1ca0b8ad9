//! Step `inventory`: what the machine is made of (agent-protocol §2.4.1).

use std::sync::Arc;

use assisted_base::process::{Cmd, is_contained};
use assisted_hostinfo::Root;
use assisted_wire::id::HostId;
use assisted_wire::inventory::{Inventory, InventoryTruncation, InventoryTruncationType};
use tracing::warn;

use super::{Guard, abbreviated, output};
use crate::bmc::{self, Ipmi};
use crate::dry_run::DryRun;
use crate::reply::Outcome;
use crate::task::blocking;

/// Longest inventory where the service names no limit: with all the steps' bound on outputs a machine with more disks
/// than that would not be known at all.
const LONGEST: usize = 8 << 20;

/// The step's arguments.
#[derive(Debug, Default, PartialEq, Eq)]
struct Request {
    /// Longest inventory that the service takes, in bytes; 0 is any.
    output_max_size: usize,
    /// Disks smaller than this, in bytes, are left out.
    disk_min_size: i64,
}

impl Request {
    /// A host's id, then any flags; flags that aren't known are passed over.
    fn read(args: &[String]) -> Option<Self> {
        let (host, flags) = args.split_first()?;
        host.parse::<HostId>().ok()?;
        let mut request = Self::default();
        for flag in flags {
            let (name, value) = flag.strip_prefix("--")?.split_once('=').unwrap_or((flag, ""));
            match name {
                "output-max-size" => request.output_max_size = value.parse().ok()?,
                "disk-min-size" => request.disk_min_size = value.parse().ok()?,
                _ => {}
            }
        }
        Some(request)
    }
}

pub(super) async fn run(
    args: &[String],
    root: &Arc<Root>,
    dry_run: Option<&DryRun>,
    guard: &Guard,
) -> Outcome {
    let Some(request) = Request::read(args) else {
        return Outcome::failed(format!(
            "inventory cmd accepts only 1 params in args and it should be UUID, given args {}",
            abbreviated(args)
        ));
    };
    let Ok(held) = Arc::clone(guard).try_lock_owned() else {
        return Outcome::failed("the previous inventory still runs");
    };
    let inventory = match dry_run {
        Some(dry) => dry.disguise(collect(root, held).await),
        None if is_contained() && !root.is_captured() => match of_host().await {
            Ok(inventory) => inventory,
            Err(error) => {
                warn!(error, "the host's own view can't be had: looking from inside the container");
                with_controller(root, held).await
            }
        },
        None => with_controller(root, held).await,
    };
    output(&fit(inventory, &request))
}

/// The whole inventory: what the machine's files say, and on the running machine the addresses that its management
/// controller reports by IPMI.
pub async fn inventory(root: &Arc<Root>) -> Inventory {
    with_controller(root, ()).await
}

/// The inventory by this same program in the host's namespaces: much of what it reads isn't in the container.
async fn of_host() -> Result<Inventory, String> {
    let program = format!("/proc/{}/exe", std::process::id());
    let cmd = Cmd::new(program).args(["inventory", "--with-journal-logging=false"]).output_limit(LONGEST);
    let done = cmd.on_host().run().await.map_err(|error| error.to_string())?;
    if !done.success() {
        return Err(format!("exit code {}: {}", done.code(), done.complaint()));
    }
    serde_json::from_slice(&done.stdout).map_err(|error| error.to_string())
}

async fn with_controller(root: &Arc<Root>, held: impl Send + 'static) -> Inventory {
    let controller = async {
        if root.is_captured() { bmc::Addresses::default() } else { Ipmi::default().addresses().await }
    };
    let (mut inventory, controller) = tokio::join!(collect(root, held), controller);
    // The controller itself knows better than the firmware's table.
    if let Some(ip) = controller.v4 {
        inventory.bmc_address = ip.to_string();
    }
    if let Some(ip) = controller.v6 {
        inventory.bmc_v6address = ip.to_string();
    }
    inventory
}

/// What the files say; `held` lives until the last of them is read, even when nobody waits any more.
async fn collect(root: &Arc<Root>, held: impl Send + 'static) -> Inventory {
    let root = Arc::clone(root);
    blocking(move || {
        let _held = held;
        assisted_hostinfo::inventory(&root)
    })
    .await
}

/// A reason for people, how much it cuts, and the cut itself.
type Truncation = (&'static str, InventoryTruncationType, fn(&mut Inventory));

/// Leaves out what the service asked to leave out, and then as much as it takes to keep to the size: first what only
/// describes (routes, GPUs, CPU flags, S.M.A.R.T. data), then disks and interfaces altogether.
fn fit(mut inventory: Inventory, request: &Request) -> Inventory {
    if request.disk_min_size > 0
        && let Some(disks) = &mut inventory.disks
    {
        disks.retain(|disk| disk.size_bytes >= request.disk_min_size);
    }
    let limit = match request.output_max_size {
        0 => LONGEST,
        asked => asked.min(LONGEST),
    };
    let length = |inventory: &Inventory| serde_json::to_string(inventory).map_or(0, |text| text.len());
    if length(&inventory) <= limit {
        return inventory;
    }
    let cuts: [Truncation; 6] = [
        ("S.M.A.R.T. data left out", InventoryTruncationType::Partial, |inventory| {
            for disk in inventory.disks.iter_mut().flatten() {
                disk.smart.clear();
            }
        }),
        ("routes left out", InventoryTruncationType::Partial, |inventory| {
            inventory.routes = Some(Vec::new());
        }),
        ("GPUs left out", InventoryTruncationType::Partial, |inventory| inventory.gpus = Some(Vec::new())),
        ("CPU flags left out", InventoryTruncationType::Partial, |inventory| {
            if let Some(cpu) = &mut inventory.cpu {
                cpu.flags = None;
            }
        }),
        ("disks left out", InventoryTruncationType::Full, |inventory| inventory.disks = Some(Vec::new())),
        ("interfaces left out", InventoryTruncationType::Full, |inventory| {
            inventory.interfaces = Some(Vec::new());
        }),
    ];
    let mut reasons = vec![format!("the inventory is longer than {limit} bytes")];
    for (reason, kind, cut) in cuts {
        cut(&mut inventory);
        reasons.push(reason.to_owned());
        inventory.truncation = Some(InventoryTruncation { r#type: kind, reasons: Some(reasons.clone()) });
        if length(&inventory) <= limit {
            break;
        }
    }
    inventory
}

#[cfg(test)]
mod tests {
    use assisted_wire::inventory::{Cpu, Disk};

    use super::*;

    fn args(flags: &[&str]) -> Vec<String> {
        let id = HostId::random().to_string();
        std::iter::once(id).chain(flags.iter().map(ToString::to_string)).collect()
    }

    #[test]
    fn arguments() {
        assert_eq!(Request::read(&args(&[])), Some(Request::default()));
        assert_eq!(
            Request::read(&args(&["--output-max-size=5", "--new", "--disk-min-size=7"])),
            Some(Request { output_max_size: 5, disk_min_size: 7 })
        );
        for bad in [&["x"][..], &["--output-max-size=-1"], &["--disk-min-size=x"]] {
            assert_eq!(Request::read(&args(bad)), None);
        }
        assert_eq!(Request::read(&[]), None);
    }

    #[test]
    fn an_inventory_is_cut_only_as_far_as_needed() {
        let inventory = Inventory {
            disks: Some(vec![
                Disk { name: "sda".into(), size_bytes: 100, ..Disk::default() },
                Disk { name: "sdb".into(), size_bytes: 5, ..Disk::default() },
            ]),
            cpu: Some(Cpu { flags: Some(vec!["flag".into(); 1_000]), ..Cpu::default() }),
            ..Inventory::default()
        };
        let uncut = fit(inventory.clone(), &Request { output_max_size: 100_000, disk_min_size: 6 });
        assert_eq!(uncut.disks.as_ref().map(Vec::len), Some(1));
        assert_eq!(uncut.truncation, None);
        let partial = fit(inventory.clone(), &Request { output_max_size: 2_000, disk_min_size: 0 });
        assert_eq!(partial.disks.as_ref().map(Vec::len), Some(2));
        let truncation = partial.truncation.unwrap();
        assert_eq!(truncation.r#type, InventoryTruncationType::Partial);
        assert_eq!(truncation.reasons.unwrap().last().unwrap(), "CPU flags left out");
        let full = fit(inventory.clone(), &Request { output_max_size: 10, disk_min_size: 0 });
        assert_eq!(full.truncation.unwrap().r#type, InventoryTruncationType::Full);
        assert!(full.disks.unwrap().is_empty());
        let sizeless = Inventory { hostname: "x".repeat(LONGEST), ..inventory };
        assert!(fit(sizeless, &Request::default()).truncation.is_some());
    }
}
