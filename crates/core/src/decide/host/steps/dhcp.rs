//! Leases for the cluster's VIPs, from a DHCP server of the machine network (agent-protocol §2.4.4).

use assisted_wire::id::ClusterId;
use assisted_wire::probe_requests::DhcpAllocationRequest;

use crate::model::cluster::ClusterRecord;
use crate::model::facts::HostFacts;
use crate::model::topology;
use crate::network::{address, family};

/// What to ask for; `None` when the VIPs are given, or the host is not in the machine network.
pub(super) fn request(record: &ClusterRecord, host: &HostFacts) -> Option<DhcpAllocationRequest> {
    let cluster = &record.cluster;
    if !topology::is_vip_dhcp(cluster) {
        return None;
    }
    let network = family::machine_networks(cluster).next().and_then(address::parse_network)?;
    let mut addresses = address::of_inventory(host.inventory.as_deref()?);
    let own = addresses.find(|own| network.contains(&own.net.addr()))?;
    Some(DhcpAllocationRequest {
        interface: own.interface.to_owned(),
        api_vip_mac: mac(cluster.id, "api"),
        ingress_vip_mac: mac(cluster.id, "ingress"),
        api_vip_lease: record.api_vip_lease.clone(),
        ingress_vip_lease: record.ingress_vip_lease.clone(),
    })
}

/// The MAC address for which a VIP (`api`, `ingress`) is leased. It is the same on every host: whoever asks gets the same lease.
pub fn mac(cluster: ClusterId, name: &str) -> String {
    let key = format!("{cluster}-{name}");
    let [a, b, c] = [0, 1, 2].map(|place| hash(key.as_bytes(), place));
    format!("00:1a:4a:{a:02x}:{b:02x}:{c:02x}")
}

/// One byte of the Pearson hash of a key.
fn hash(key: &[u8], place: u8) -> u8 {
    let first = key.first().copied().unwrap_or_default();
    key.iter().fold(permuted(first.wrapping_add(place)), |hash, byte| permuted(hash ^ byte))
}

fn permuted(byte: u8) -> u8 {
    PERMUTATION[usize::from(byte)]
}

/// The permutation of RFC 3074.
const PERMUTATION: [u8; 256] = [
    251, 175, 119, 215, 81, 14, 79, 191, 103, 49, 181, 143, 186, 157, 0, 232, 31, 32, 55, 60, 152, 58, 17,
    237, 174, 70, 160, 144, 220, 90, 57, 223, 59, 3, 18, 140, 111, 166, 203, 196, 134, 243, 124, 95, 222,
    179, 197, 65, 180, 48, 36, 15, 107, 46, 233, 130, 165, 30, 123, 161, 209, 23, 97, 16, 40, 91, 219, 61,
    100, 10, 210, 109, 250, 127, 22, 138, 29, 108, 244, 67, 207, 9, 178, 204, 74, 98, 126, 249, 167, 116, 34,
    77, 193, 200, 121, 5, 20, 113, 71, 35, 128, 13, 182, 94, 25, 226, 227, 199, 75, 27, 41, 245, 230, 224,
    43, 225, 177, 26, 155, 150, 212, 142, 218, 115, 241, 73, 88, 105, 39, 114, 62, 255, 192, 201, 145, 214,
    168, 158, 221, 148, 154, 122, 12, 84, 82, 163, 44, 139, 228, 236, 205, 242, 217, 11, 187, 146, 159, 64,
    86, 239, 195, 42, 106, 198, 118, 112, 184, 172, 87, 2, 173, 117, 176, 229, 247, 253, 137, 185, 99, 164,
    102, 147, 45, 66, 231, 52, 141, 211, 194, 206, 246, 238, 56, 110, 78, 248, 63, 240, 189, 93, 92, 51, 53,
    183, 19, 171, 72, 50, 33, 104, 101, 69, 8, 252, 83, 120, 76, 135, 85, 54, 202, 125, 188, 213, 96, 235,
    136, 208, 162, 129, 190, 132, 156, 38, 47, 1, 7, 254, 24, 4, 216, 131, 89, 21, 28, 133, 37, 153, 149, 80,
    170, 68, 6, 169, 234, 151,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_permutation_is_one() {
        let mut seen = PERMUTATION;
        seen.sort_unstable();
        assert!(seen.iter().enumerate().all(|(place, byte)| place == usize::from(*byte)));
    }

    #[test]
    fn addresses_follow_from_the_cluster() {
        let cluster: ClusterId = "11111111-1111-1111-1111-111111111111".parse().unwrap();
        assert_eq!(mac(cluster, "api"), "00:1a:4a:9b:fe:b8");
        assert_eq!(mac(cluster, "ingress"), "00:1a:4a:13:35:09");
    }
}
