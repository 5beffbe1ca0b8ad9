//! Roles, disks and fencing credentials of hosts, from a folder (running §10.3).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use assisted_client::Client;
use assisted_console::{Failure, file};
use assisted_crd::metal3::bare_metal_host::RootDeviceHints;
use assisted_kubeapi::host::choose_disk;
use assisted_wire::host::{Host, HostRole};
use assisted_wire::host_params::{DiskConfigParams, DiskRole, HostRoleUpdateParams, HostUpdateParams};
use assisted_wire::inventory::Inventory;

use super::environment::{HostFiles, report};
use super::fencing::{self, Credentials};
use crate::cli::{host_name, inventory};

/// Between two looks: the first time, and at most.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(32);

/// How long hosts are waited for; the unit starts the program again.
const LIMIT: Duration = Duration::from_secs(4 * 60 * 60);

/// What is said of a host.
struct Config {
    /// The folder, for people.
    name: String,
    macs: Vec<String>,
    role: Option<HostRoleUpdateParams>,
    hints: RootDeviceHints,
    fencing: Option<Credentials>,
}

/// Configures hosts until each that is named has what is said of it.
pub async fn configure(client: &Client, files: &HostFiles) -> Result<(), Failure> {
    let configs = read(files)?;
    let named = fencing::read(&files.host_config_dir.join("fencing-credentials.yaml"))?;
    let (begin, mut pause) = (Instant::now(), FIRST);
    let mut told = BTreeMap::new();
    loop {
        let failures = pass(client, files, &configs, &named).await?;
        leave(&files.failures_file, &failures);
        if failures.is_empty() {
            return Ok(());
        }
        if failures != told {
            failures.iter().for_each(|(host, why)| report(&format!("{host}: {why}")));
        }
        if begin.elapsed() >= LIMIT {
            return Err(Failure::Refused(format!(
                "{} hosts are not configured after four hours",
                failures.len()
            )));
        }
        told = failures;
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST);
    }
}

/// Looks at all hosts once: what could not be done, by host.
async fn pass(
    client: &Client,
    files: &HostFiles,
    configs: &[Config],
    named: &[Credentials],
) -> Result<BTreeMap<String, String>, Failure> {
    let mut failures = BTreeMap::new();
    let mut missing: Vec<bool> = vec![true; configs.len()];
    let mut missing_names: Vec<bool> = vec![true; named.len()];
    for host in client.list_hosts(files.infra_env_id).await? {
        let Some(inventory) = inventory(&host) else { continue };
        let name = host_name(&host);
        let has = |mac: &String| {
            let mut interfaces = inventory.interfaces.iter().flatten();
            interfaces.any(|interface| interface.mac_address.eq_ignore_ascii_case(mac))
        };
        let place = configs.iter().position(|config| config.macs.iter().any(has));
        let by_name = named.iter().position(|credentials| {
            (!credentials.hostname.is_empty() && credentials.hostname == name)
                || (!credentials.mac_address.is_empty() && has(&credentials.mac_address))
        });
        if let Some(place) = place {
            missing[place] = false;
        }
        if let Some(place) = by_name {
            missing_names[place] = false;
        }
        let config = place.map(|place| &configs[place]);
        let fencing =
            config.and_then(|config| config.fencing.as_ref()).or(by_name.map(|place| &named[place]));
        let params = update(&host, &inventory, config, fencing);
        if params != HostUpdateParams::default()
            && let Err(error) = client.update_host(files.infra_env_id, host.id, &params).await
        {
            failures.insert(config.map_or(name, |config| config.name.clone()), error.to_string());
        }
    }
    for (config, _) in configs.iter().zip(missing).filter(|(_, missing)| *missing) {
        failures.insert(config.name.clone(), "Host not registered".to_owned());
    }
    for (credentials, _) in named.iter().zip(missing_names).filter(|(_, missing)| *missing) {
        let (name, by) = match credentials.hostname.as_str() {
            "" => (&credentials.mac_address, "MAC address"),
            _ => (&credentials.hostname, "hostname"),
        };
        let why = format!("Fencing credentials loaded but no host with matching {by} found");
        failures.insert(name.clone(), why);
    }
    Ok(failures)
}

/// What differs.
fn update(
    host: &Host,
    inventory: &Inventory,
    config: Option<&Config>,
    fencing: Option<&Credentials>,
) -> HostUpdateParams {
    let mut params = HostUpdateParams::default();
    if let Some(config) = config {
        let suggested = host.suggested_role.map(HostRole::as_str);
        params.host_role = config.role.filter(|role| suggested != Some(role.as_str()));
        let disks = inventory.disks.as_deref().unwrap_or_default();
        let id = choose_disk(&config.hints, disks, &host.installation_disk_id);
        if id != host.installation_disk_id {
            params.disks_selected_config = Some(vec![DiskConfigParams { id, role: Some(DiskRole::Install) }]);
        }
    }
    if host.fencing_credentials.is_empty() {
        params.fencing_credentials = fencing.map(Credentials::params);
    }
    params
}

/// Writes what could not be done, a line per host; nothing left to say is no file.
fn leave(path: &Path, failures: &BTreeMap<String, String>) {
    let text: String = failures.iter().map(|(host, why)| format!("{host}: {why}\n")).collect();
    let done = if text.is_empty() { fs::remove_file(path) } else { fs::write(path, text) };
    match done {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            report(&format!("failures are not written to {}: {error}", path.display()));
        }
        _ => {}
    }
}

/// What the folder says of hosts, by the names of its folders.
fn read(files: &HostFiles) -> Result<Vec<Config>, Failure> {
    let dir = &files.host_config_dir;
    let unreadable = |error: std::io::Error| Failure::Usage(format!("can't read {}: {error}", dir.display()));
    if !dir.exists() {
        return Ok(Vec::new());
    }
    let mut folders = Vec::new();
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort_unstable();
    let own = if files.workflow_type == "addnodes" { Some(own_macs()) } else { None };
    let mut configs = Vec::new();
    for folder in folders {
        let config = config(&folder)?;
        let is_meant = own.as_ref().is_none_or(|own| {
            config.macs.iter().any(|mac| own.iter().any(|own| own.eq_ignore_ascii_case(mac)))
        });
        if is_meant {
            configs.push(config);
        }
    }
    Ok(configs)
}

fn config(folder: &Path) -> Result<Config, Failure> {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let macs = file(&folder.join("mac_addresses"))?;
    let macs = macs.lines().map(str::trim).filter(|mac| !mac.is_empty()).map(str::to_owned).collect();
    let role_file = folder.join("role");
    let role = match role_file.exists() {
        true => Some(
            file(&role_file)?
                .trim()
                .parse()
                .map_err(|error| Failure::Usage(format!("{}: {error}", role_file.display())))?,
        ),
        false => None,
    };
    let fencing = fencing::read(&folder.join("fencing-credentials.yaml"))?.into_iter().next();
    Ok(Config { name, macs, role, hints: hints(&folder.join("root-device-hints.yaml"))?, fencing })
}

/// Hints; no file means any disk. A hint that nobody knows would be no hint, so it is refused.
fn hints(path: &Path) -> Result<RootDeviceHints, Failure> {
    if !path.exists() {
        return Ok(RootDeviceHints::default());
    }
    let wrong = |why: String| Failure::Usage(format!("{}: {why}", path.display()));
    let given: serde_json::Value =
        serde_yaml_ng::from_str(&file(path)?).map_err(|error| wrong(error.to_string()))?;
    let hints: RootDeviceHints =
        serde_json::from_value(given.clone()).map_err(|error| wrong(error.to_string()))?;
    let known = serde_json::to_value(&hints).unwrap_or_default();
    let unknown =
        given.as_object().into_iter().flatten().find(|(name, _)| known.get(name.as_str()).is_none());
    match unknown {
        Some((name, _)) => Err(wrong(format!("there is no hint {name}"))),
        None => Ok(hints),
    }
}

/// Hardware addresses of this machine.
fn own_macs() -> Vec<String> {
    let interfaces = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let addresses =
        interfaces.filter_map(|interface| fs::read_to_string(interface.path().join("address")).ok());
    addresses.map(|address| address.trim().to_owned()).collect()
}
