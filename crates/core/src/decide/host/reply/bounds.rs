//! How much a host may report: machines have far less, and everything that is worked out from a report grows with it.

use assisted_wire::inventory::{Inventory, InventoryTruncation, InventoryTruncationType};
use assisted_wire::probe_responses::{
    ApiVipConnectivityResponse, ConnectivityReport, DomainResolutionResponse, FreeNetworksAddresses,
    NtpSynchronizationResponse, TangConnectivityResponse,
};

use crate::model::refusal::Refusal;
use crate::model::report::ReportKind;

/// Members of all objects and lists of one report.
const MEMBERS: usize = 1_000_000;
/// Objects of one report: each takes a multiple of its text in memory.
const OBJECTS: usize = 100_000;
/// Bytes of one text of a report.
const TEXT: usize = 64 * 1024;
/// Bytes of one text where a step brings a file. A rendered configuration of machines, which etcd has to hold, is shorter.
const FILE: usize = 4 << 20;
/// Bytes of a report as it is kept: some 300 hosts of ten interfaces each that reach each other by all of them.
const KEPT: usize = 8 << 20;

/// What of an inventory is kept, of each kind.
const DISKS: usize = 16_384;
const INTERFACES: usize = 1_024;
/// Of all interfaces together.
const ADDRESSES: usize = 2_048;
const ROUTES: usize = 4_096;
const GPUS: usize = 256;
/// Of one interface, or one CPU.
const FLAGS: usize = 1_024;
/// That a disk can't be installed on, of one disk.
const REASONS: usize = 16;

/// Other hosts that a host looks for: a cluster has no more.
const REMOTE_HOSTS: usize = 4_096;
/// Names that were resolved, and what one of them stands for.
const NAMES: usize = 1_024;
const ANSWERS: usize = 256;
const TIME_SERVERS: usize = 1_024;
const TANG_SERVERS: usize = 256;
/// Networks whose free addresses were looked for, and free addresses in all of them.
const NETWORKS: usize = 1_024;
const FREE_ADDRESSES: usize = 65_536;

/// Why a report is too large to be read, judged by its text alone; `None`: it is not.
pub(super) fn too_large(json: &str, brings_files: bool) -> Option<String> {
    const { assert!(TEXT <= OBJECTS && TEXT <= MEMBERS) };
    // There is no room in it for more of anything.
    if json.len() <= TEXT {
        return None;
    }
    let (mut members, mut objects, mut text) = (0_usize, 0_usize, 0_usize);
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b',' => members += 1,
            b'{' => objects += 1,
            b'"' => {
                let mut length = 0;
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => drop(bytes.next()),
                        _ => {}
                    }
                    length += 1;
                }
                text = text.max(length);
            }
            _ => {}
        }
    }
    let found = [(objects, OBJECTS, "objects"), (members, MEMBERS, "members")];
    let counts = found.into_iter().find(|(count, most, _)| count > most);
    counts
        .map(|(count, most, what)| format!("it has {count} {what}, and no more than {most} are read"))
        .or_else(|| {
            let most = if brings_files { FILE } else { TEXT };
            (text > most).then(|| format!("it has a text of {text} bytes, and no more than {most} are read"))
        })
}

/// Refuses what would take too much room.
pub(super) fn keep(kind: ReportKind, text: &str) -> Result<(), Refusal> {
    let length = text.len();
    if length <= KEPT {
        return Ok(());
    }
    let kind = kind.as_str();
    Err(Refusal::invalid(format!("the report {kind} takes {length} bytes, and no more than {KEPT} are kept")))
}

/// The beginning of what a failed step said.
pub(super) fn beginning(error: &str) -> &str {
    &error[..error.floor_char_boundary(TEXT)]
}

/// A report from which can be left out what no machine has.
pub(super) trait Shorten {
    /// Leaves out what is beyond each limit.
    fn shorten(&mut self, cuts: &mut Cuts);
}

/// Shortens a report; what is left out of it.
pub(super) fn shorten_report(report: &mut impl Shorten) -> Vec<String> {
    let mut cuts = Cuts::default();
    report.shorten(&mut cuts);
    cuts.0
}

/// What is left out of a report.
#[derive(Default)]
pub(super) struct Cuts(Vec<String>);

impl Cuts {
    /// Keeps so many of a list, and tells what is left out.
    fn keep<T>(&mut self, list: Option<&mut Vec<T>>, most: usize, what: &str) {
        self.tell(shorten(list, most), most, what);
    }

    fn tell(&mut self, count: usize, most: usize, what: &str) {
        if count > most {
            self.0.push(format!("the host has {count} {what}, of which {most} are kept"));
        }
    }
}

/// Shortens a list; how long it was.
fn shorten<T>(list: Option<&mut Vec<T>>, most: usize) -> usize {
    let Some(list) = list else { return 0 };
    let count = list.len();
    list.truncate(most);
    list.shrink_to_fit();
    count
}

/// Shortens lists that have one limit together; how long they were.
fn shorten_all<'a, T: 'a>(lists: impl Iterator<Item = &'a mut Vec<T>>, mut most: usize) -> usize {
    let mut all = 0;
    for list in lists {
        let count = shorten(Some(list), most);
        all += count;
        most -= count.min(most);
    }
    all
}

impl Shorten for ConnectivityReport {
    fn shorten(&mut self, cuts: &mut Cuts) {
        cuts.keep(self.remote_hosts.as_mut(), REMOTE_HOSTS, "other hosts");
    }
}

impl Shorten for DomainResolutionResponse {
    fn shorten(&mut self, cuts: &mut Cuts) {
        cuts.keep(Some(&mut self.resolutions), NAMES, "names that were resolved");
        for name in &mut self.resolutions {
            shorten(name.ipv4_addresses.as_mut(), ANSWERS);
            shorten(name.ipv6_addresses.as_mut(), ANSWERS);
            shorten(name.cnames.as_mut(), ANSWERS);
        }
    }
}

impl Shorten for NtpSynchronizationResponse {
    fn shorten(&mut self, cuts: &mut Cuts) {
        cuts.keep(self.ntp_sources.as_mut(), TIME_SERVERS, "time servers");
    }
}

impl Shorten for TangConnectivityResponse {
    fn shorten(&mut self, cuts: &mut Cuts) {
        cuts.keep(self.tang_server_response.as_mut(), TANG_SERVERS, "Tang servers");
    }
}

impl Shorten for ApiVipConnectivityResponse {
    /// Its texts have their limits.
    fn shorten(&mut self, _cuts: &mut Cuts) {}
}

impl Shorten for FreeNetworksAddresses {
    fn shorten(&mut self, cuts: &mut Cuts) {
        cuts.keep(Some(&mut self.0), NETWORKS, "networks with free addresses");
        let lists = self.0.iter_mut().filter_map(|network| network.free_addresses.as_mut());
        cuts.tell(shorten_all(lists, FREE_ADDRESSES), FREE_ADDRESSES, "free addresses");
    }
}

/// Leaves out of an inventory what is beyond each limit, and notes it there, so that validations report it.
pub(super) fn shorten_inventory(inventory: &mut Inventory) {
    let mut cuts = Cuts::default();
    cuts.keep(inventory.disks.as_mut(), DISKS, "disks");
    cuts.keep(inventory.interfaces.as_mut(), INTERFACES, "interfaces");
    cuts.keep(inventory.routes.as_mut(), ROUTES, "routes");
    cuts.keep(inventory.gpus.as_mut(), GPUS, "GPUs");

    for interface in inventory.interfaces.iter_mut().flatten() {
        shorten(interface.flags.as_mut(), FLAGS);
    }
    let lists = inventory.interfaces.iter_mut().flatten().flat_map(|interface| {
        [interface.ipv4_addresses.as_mut(), interface.ipv6_addresses.as_mut()].into_iter().flatten()
    });
    cuts.tell(shorten_all(lists, ADDRESSES), ADDRESSES, "addresses");
    for disk in inventory.disks.iter_mut().flatten() {
        shorten(disk.installation_eligibility.not_eligible_reasons.as_mut(), REASONS);
    }
    if let Some(cpu) = &mut inventory.cpu {
        shorten(cpu.flags.as_mut(), FLAGS);
    }
    if cuts.0.is_empty() {
        return;
    }
    let truncation = inventory
        .truncation
        .get_or_insert(InventoryTruncation { r#type: InventoryTruncationType::Partial, reasons: None });
    let told = truncation.reasons.get_or_insert_default();
    told.truncate(REASONS);
    told.extend(cuts.0);
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use assisted_wire::inventory::{Disk, Interface};
    use assisted_wire::probe_responses::{DomainResolution, FreeNetworkAddresses, NtpSource};

    use super::*;

    #[test]
    fn what_no_machine_has_is_not_read() {
        let report = |count: usize| format!("[{}]", vec!["{}"; count].join(","));
        assert_eq!(too_large(&report(OBJECTS), false), None);
        let told = too_large(&report(OBJECTS + 1), false).unwrap();
        assert_eq!(told, "it has 100001 objects, and no more than 100000 are read");
        let told = too_large(&format!("[{}]", vec!["1"; MEMBERS + 2].join(",")), true).unwrap();
        assert_eq!(told, "it has 1000001 members, and no more than 1000000 are read");
        let text = |inner: &str| format!(r#"{{"a":"{}{inner}"}}"#, "x".repeat(TEXT - 2));
        assert_eq!(too_large(&text(r#"\"\""#), false), None, "what is escaped ends no text");
        assert_eq!(
            too_large(&text("{,{"), false).unwrap(),
            "it has a text of 65537 bytes, and no more than 65536 are read"
        );
        assert_eq!(too_large(&text("{,{"), true), None);
        let file = format!(r#"{{"a":"{}"}}"#, "x".repeat(FILE + 1));
        assert_eq!(
            too_large(&file, true).unwrap(),
            "it has a text of 4194305 bytes, and no more than 4194304 are read"
        );
        assert_eq!(too_large(r#"{"never ends"#, false), None, "that is for who reads it");
    }

    #[test]
    fn what_is_beyond_a_limit_is_left_out_and_told() {
        let interface = |count: usize| Interface {
            ipv4_addresses: Some(vec!["10.0.0.1/8".to_owned(); count]),
            ipv6_addresses: Some(vec!["fd00::1/64".to_owned(); count]),
            ..Interface::default()
        };
        let mut inventory = Inventory {
            disks: Some(vec![Disk::default(); DISKS]),
            interfaces: Some(vec![interface(600), interface(500)]),
            ..Inventory::default()
        };
        let mut small = inventory.clone();
        small.interfaces.as_mut().unwrap().truncate(1);
        let before = small.clone();
        shorten_inventory(&mut small);
        assert_eq!(small, before);

        inventory.disks.as_mut().unwrap().push(Disk::default());
        shorten_inventory(&mut inventory);
        let truncation = inventory.truncation.clone().unwrap();
        assert_eq!(truncation.r#type, InventoryTruncationType::Partial);
        assert_eq!(
            truncation.reasons.unwrap(),
            [
                "the host has 16385 disks, of which 16384 are kept",
                "the host has 2200 addresses, of which 2048 are kept"
            ]
        );
        assert_eq!(inventory.disks.unwrap().len(), DISKS);
        let interfaces = inventory.interfaces.unwrap();
        assert_eq!(interfaces[1].ipv6_addresses.as_ref().unwrap().len(), 348);
    }

    #[test]
    fn no_report_has_more_than_a_machine() {
        let mut hosts = ConnectivityReport { remote_hosts: Some(vec![Default::default(); REMOTE_HOSTS]) };
        assert_eq!(shorten_report(&mut hosts), [""; 0]);
        hosts.remote_hosts.as_mut().unwrap().push(Default::default());
        assert_eq!(shorten_report(&mut hosts), ["the host has 4097 other hosts, of which 4096 are kept"]);
        assert_eq!(hosts.remote_hosts.unwrap().len(), REMOTE_HOSTS);

        let name = DomainResolution { cnames: Some(vec![String::new(); 300]), ..DomainResolution::default() };
        let mut names = DomainResolutionResponse { resolutions: vec![name; 1_100] };
        assert_eq!(
            shorten_report(&mut names),
            ["the host has 1100 names that were resolved, of which 1024 are kept"]
        );
        assert!(names.resolutions.iter().all(|name| name.cnames.as_ref().unwrap().len() == ANSWERS));

        let mut servers = NtpSynchronizationResponse { ntp_sources: Some(vec![NtpSource::default(); 2_000]) };
        assert_eq!(shorten_report(&mut servers), ["the host has 2000 time servers, of which 1024 are kept"]);

        let network = FreeNetworkAddresses {
            free_addresses: Some(vec![Ipv4Addr::LOCALHOST; 40_000]),
            ..FreeNetworkAddresses::default()
        };
        let mut networks = FreeNetworksAddresses(vec![network; 3]);
        assert_eq!(
            shorten_report(&mut networks),
            ["the host has 120000 free addresses, of which 65536 are kept"]
        );
        let left = networks.0.iter().map(|network| network.free_addresses.as_ref().unwrap().len());
        assert_eq!(left.collect::<Vec<_>>(), [40_000, 25_536, 0]);
    }

    #[test]
    fn what_is_kept_and_told_has_limits() {
        let kind = ReportKind::Connectivity;
        assert_eq!(keep(kind, &"x".repeat(KEPT)), Ok(()));
        let told = keep(kind, &"x".repeat(KEPT + 1)).unwrap_err().reason;
        assert_eq!(told, "the report connectivity takes 8388609 bytes, and no more than 8388608 are kept");
        assert_eq!(beginning("short"), "short");
        assert_eq!(beginning(&"\u{e4}".repeat(TEXT)).len(), TEXT);
        assert_eq!(beginning(&format!("x{}", "\u{e4}".repeat(TEXT))).len(), TEXT - 1, "a letter stays whole");
    }
}
