//! Disks that are encrypted as nodes first boot.

use assisted_core::admission::field::disk_encryption::TangServer;
use assisted_wire::host::HostRole;
use serde_json::{Value, json};

use super::{Manifest, machine_config};

/// What unlocks a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskUnlock {
    /// The TPM of the machine.
    Tpm,
    Tang(Vec<TangServer>),
}

/// Encrypts the root of the nodes of a role.
pub fn disk_encryption(role: HostRole, lock: &DiskUnlock, cipher: &str) -> Manifest {
    let (mode, clevis) = match lock {
        DiskUnlock::Tpm => ("tpm", json!({"tpm2": true})),
        DiskUnlock::Tang(servers) => {
            let server =
                |TangServer { url, thumbprint }: &TangServer| json!({"url": url, "thumbprint": thumbprint});
            ("tang", json!({"tang": servers.iter().map(server).collect::<Vec<Value>>()}))
        }
    };
    let config = json!({
        "ignition": {"version": "3.2.0"},
        "storage": {
            "luks": [{
                "name": "root", "label": "luks-root", "device": "/dev/disk/by-partlabel/root", "clevis": clevis,
                "options": ["--cipher", cipher], "wipeVolume": true,
            }],
            "filesystems": [
                {"device": "/dev/mapper/root", "format": "xfs", "wipeFilesystem": true, "label": "root"},
            ],
        },
    });
    let mut object = machine_config(&format!("{role}-{mode}"), role, &config);
    if matches!(lock, DiskUnlock::Tang(_)) {
        // The network must be there before the root is.
        object["spec"]["kernelArguments"] = json!(["rd.neednet=1"]);
    }
    Manifest::new(format!("99-openshift-{role}-{mode}-encryption.yaml"), &object)
}

#[cfg(test)]
mod tests {
    use super::super::testing::read;
    use super::*;

    #[test]
    fn locks() {
        let tpm = disk_encryption(HostRole::Worker, &DiskUnlock::Tpm, "aes-xts-plain64");
        assert_eq!(tpm.name, "99-openshift-worker-tpm-encryption.yaml");
        let object = read(&tpm);
        let luks = &object["spec"]["config"]["storage"]["luks"][0];
        assert_eq!(
            (&luks["clevis"], &luks["options"][1]),
            (&json!({"tpm2": true}), &json!("aes-xts-plain64"))
        );
        assert!(object["spec"].get("kernelArguments").is_none());
        let server = TangServer { url: "http://tang.lab:7500".into(), thumbprint: "p".into() };
        let tang = disk_encryption(HostRole::Master, &DiskUnlock::Tang(vec![server]), "c");
        assert_eq!(tang.name, "99-openshift-master-tang-encryption.yaml");
        let object = read(&tang);
        assert_eq!(object["metadata"]["name"], "master-tang");
        assert_eq!(object["spec"]["kernelArguments"], json!(["rd.neednet=1"]));
        assert_eq!(object["spec"]["config"]["storage"]["luks"][0]["clevis"]["tang"][0]["thumbprint"], "p");
    }
}
