//! The image becomes what nodes boot: a MachineConfig that names it, the MachineOSConfig that the cluster takes over, and the proof that the
//! second rendering changes nothing else (ocl-day1 §B5.2).

use assisted_wire::on_cluster_layering::{LayeringErrorCode, Pool};
use serde_json::{Value, json};

use super::machine_os_config::MachineOsConfig;
use super::render::{self, Pass, Rendered};
use super::{Failed, Machine};
use crate::paths::image_machine_config;

/// Where the temporary control plane's objects come from: what is rendered, and what is created in the cluster.
const FOLDERS: [&str; 2] = [render::INPUT, "/opt/openshift/manifests"];

/// The MachineConfig that makes an image the one that a pool's nodes boot.
pub fn machine_config(pool: Pool, image: &str) -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {
            "name": image_machine_config(pool),
            "labels": {"machineconfiguration.openshift.io/role": pool.as_str()},
        },
        "spec": {"osImageURL": image},
    })
}

/// Writes a pool's objects where they are rendered and created.
pub(crate) fn write(machine: &Machine, pool: Pool, image: &str, seedable: bool) -> Result<(), Failed> {
    let mut objects = vec![(format!("{}.yaml", image_machine_config(pool)), machine_config(pool, image))];
    if seedable {
        let config = MachineOsConfig::of(machine, pool)?;
        objects.push((format!("ocl-machineosconfig-{pool}.yaml"), config.seeded(image)));
    }
    for (name, object) in &objects {
        for folder in FOLDERS {
            let path = format!("{folder}/{name}");
            // JSON is YAML.
            let text =
                serde_json::to_vec_pretty(object).map_err(Failed::of(LayeringErrorCode::Render, &path))?;
            machine.write(&path, 0o600, text).map_err(Failed::of(LayeringErrorCode::Render, &path))?;
        }
    }
    Ok(())
}

/// Compares the second rendering with the first.
pub(crate) fn compare(pool: Pool, image: &str, first: &Rendered, second: &Rendered) -> Result<(), Failed> {
    if second.os_image() != image {
        return Err(Failed::new(
            LayeringErrorCode::Render,
            format!(
                "pool {pool} would boot {} and not {image}: another MachineConfig names an image",
                second.os_image()
            ),
        ));
    }
    match render::differences(first, second) {
        differences if differences.is_empty() => Ok(()),
        differences => Err(Failed::new(
            LayeringErrorCode::Render,
            format!(
                "the second rendering of pool {pool} differs in more than the image: {}",
                differences.join(", ")
            ),
        )),
    }
}

/// Reads and judges what the second pass made of a pool.
pub(crate) fn check(machine: &Machine, pool: Pool, image: &str) -> Result<(), Failed> {
    let first = render::read(machine, Pass::First, pool)?;
    let second = render::read(machine, Pass::Second, pool)?;
    compare(pool, image, &first, &second)
}

#[cfg(test)]
mod tests {
    use assisted_base::process::Tools;

    use super::*;
    use crate::paths;

    #[test]
    fn objects_are_rendered_and_created() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path(), Tools::default());
        machine
            .write(
                &format!("{}/mosc-master.yaml", paths::DIR),
                0o600,
                "kind: MachineOSConfig\nmetadata: {name: master}",
            )
            .unwrap();
        write(&machine, Pool::Master, "r/o@sha256:1", true).unwrap();
        for folder in FOLDERS {
            let read = |name: &str| -> Value {
                serde_yaml_ng::from_slice(&machine.read(&format!("{folder}/{name}")).unwrap()).unwrap()
            };
            assert_eq!(read("09-ocl-osimageurl-master.yaml"), machine_config(Pool::Master, "r/o@sha256:1"));
            assert_eq!(read("ocl-machineosconfig-master.yaml")["kind"], "MachineOSConfig");
        }
        write(&machine, Pool::Worker, "r/o@sha256:1", false).unwrap();
        assert!(!machine.exists("/etc/mcc/bootstrap/ocl-machineosconfig-worker.yaml"));
    }

    #[test]
    fn nothing_but_the_image_changes() {
        let rendered = |image: &str, more: &str| Rendered {
            name: "x".into(),
            spec: json!({"osImageURL": image, "x": more}),
        };
        let compare = |second: &Rendered| compare(Pool::Master, "new", &rendered("old", "a"), second);
        assert!(compare(&rendered("new", "a")).is_ok());
        assert!(compare(&rendered("other", "a")).unwrap_err().reason.contains("another MachineConfig"));
        assert!(compare(&rendered("new", "b")).unwrap_err().reason.ends_with("more than the image: x"));
    }
}
