//! The config of the bootstrap host (install-generation §6.1), and the cluster's id in it.

use serde_json::{Value, json};
use uuid::Uuid;

use super::bare_metal_host::{Machine, describe};
use super::edit::{EditError, NewFile, Tree};
use assisted_ignition_spec::resource::Resource;

/// Tells the etcd operator that the third member comes once the bootstrap host has become a master.
const MARKER: &str = "/opt/openshift/assisted-install-bootstrap";
const KNI: &str = "/etc/NetworkManager/conf.d/99-kni.conf";
/// The host has its network already.
const OWN_NETWORK: &str = "/etc/NetworkManager/system-connections/nmconnection";
const MOTD: &str = "/etc/motd";
const OVERRIDES: &str = "/opt/openshift/manifests/cvo-overrides.yaml";
const HOSTS: [&str; 2] = ["openshift-cluster-api_hosts", "openshift-cluster-api_arbiter_hosts"];

/// What the bootstrap config is edited by.
#[derive(Clone, Debug)]
pub struct Bootstrap<'a> {
    /// Whether the bootstrap host is the only node.
    pub single_node: bool,
    pub machines: &'a [Machine],
}

impl Bootstrap<'_> {
    /// Edits the config.
    ///
    /// # Errors
    ///
    /// See [`EditError`].
    pub fn edit(&self, tree: &mut Tree) -> Result<(), EditError> {
        let files = tree.files_mut()?;
        files.retain(|file| file["path"] != OWN_NETWORK);
        for file in files.iter_mut().filter(|file| file["path"] == MOTD) {
            contents_of_append(file);
        }
        let mut left: Vec<&Machine> = self.machines.iter().collect();
        for file in files.iter_mut() {
            let path = file["path"].as_str().unwrap_or_default().to_owned();
            if !HOSTS.iter().any(|part| path.contains(part)) {
                continue;
            }
            let unreadable = || EditError::Unreadable(path.clone());
            let text = super::edit::data(&file["contents"]).ok_or_else(unreadable)?;
            let text = String::from_utf8(text).map_err(|_| unreadable())?;
            let text = describe(&text, &mut left)?.ok_or_else(unreadable)?;
            file["contents"]["source"] = Resource::bytes(text).source.into();
        }
        if !self.single_node {
            tree.put(NewFile::text(MARKER, 0o644, false, ""))?;
            let source = Resource::bytes("\n[main]\nrc-manager=unmanaged\n").source.unwrap_or_default();
            tree.put(NewFile { path: KNI, mode: 0o644, overwrite: false, source })?;
        }
        Ok(())
    }
}

/// What lays a live root out can't append: a single text that is appended becomes the content.
fn contents_of_append(file: &mut Value) {
    if file["contents"]["source"].is_string() {
        return;
    }
    if let Some([only]) = file["append"].as_array().map(Vec::as_slice) {
        let only = only.clone();
        file["contents"] = only;
        file["append"] = json!([]);
    }
}

/// The id that the cluster will have.
///
/// # Errors
///
/// [`EditError::NoClusterId`] when the config has none.
pub fn cluster_id(tree: &Tree) -> Result<Uuid, EditError> {
    let text = tree.content(OVERRIDES).ok_or(EditError::NoClusterId)?;
    let manifest: Value = serde_yaml_ng::from_slice(&text).map_err(|_| EditError::NoClusterId)?;
    let id = manifest["spec"]["clusterID"].as_str().and_then(|id| id.parse().ok());
    id.ok_or(EditError::NoClusterId)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(files: &Value) -> Tree {
        let config = json!({"ignition": {"version": "3.2.0"}, "storage": {"files": files}});
        Tree::read(config.to_string().as_bytes()).unwrap()
    }

    fn edited(files: &Value, single_node: bool, machines: &[Machine]) -> Result<Tree, EditError> {
        let mut tree = config(files);
        Bootstrap { single_node, machines }.edit(&mut tree)?;
        Ok(tree)
    }

    #[test]
    fn several_nodes() {
        let files = json!([
            {"path": OWN_NETWORK, "contents": {"source": "data:,x"}},
            {"path": MOTD, "append": [{"source": "data:,hello"}]},
            {"path": "/kept", "contents": {"source": "data:,kept"}},
        ]);
        let tree = edited(&files, false, &[]).unwrap();
        let paths: Vec<_> = tree.files().iter().map(|file| file["path"].as_str().unwrap()).collect();
        assert_eq!(paths, [MOTD, "/kept", MARKER, KNI]);
        assert_eq!(tree.content(MOTD).unwrap(), b"hello");
        assert_eq!(tree.content(MARKER).unwrap(), b"");
        assert_eq!(tree.content(KNI).unwrap(), b"\n[main]\nrc-manager=unmanaged\n");
        let alone = edited(&files, true, &[]).unwrap();
        assert_eq!(alone.files().len(), 2);
    }

    #[test]
    fn machines_are_described() {
        let machine = |name: &str, role| Machine { name: name.to_owned(), role, status: json!({"of": name}) };
        use assisted_wire::host::HostRole::{Master, Worker};
        let host = |name: &str| {
            let text = format!(
                "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: {name}\nspec:\n  online: true\nstatus:\n  x: y\n"
            );
            json!({"path": format!("/opt/openshift/openshift/99_openshift-cluster-api_hosts-{name}.yaml"), "contents": {"source": Resource::bytes(text).source}})
        };
        let files = json!([host("m1"), host("m0"), host("lab-worker-7")]);
        let machines = [machine("m0", Master), machine("m1", Master), machine("w", Worker)];
        let tree = edited(&files, false, &machines).unwrap();
        for (index, of) in ["m1", "m0", "w"].into_iter().enumerate() {
            let path = tree.files()[index]["path"].as_str().unwrap().to_owned();
            let read: Value = serde_yaml_ng::from_slice(&tree.content(&path).unwrap()).unwrap();
            assert_eq!(
                read["metadata"]["annotations"]["baremetalhost.metal3.io/status"],
                json!({"of": of}).to_string()
            );
            assert_eq!(
                (&read["spec"]["externallyProvisioned"], &read["spec"]["online"]),
                (&json!(true), &json!(true))
            );
            assert!(read.get("status").is_none());
        }
        let error = edited(&files, false, &machines[..2]).err().unwrap();
        assert_eq!(
            error.to_string(),
            "Not enough registered hosts in role worker to match with BareMetalHosts"
        );
    }

    #[test]
    fn the_id_of_the_cluster() {
        let id = "0fe1a7a2-32b6-4d2f-9d58-ea6a6ec1a6a5";
        let text = format!("kind: ClusterVersion\nspec:\n  clusterID: {id}\n");
        let tree =
            config(&json!([{"path": OVERRIDES, "contents": {"source": Resource::bytes(text).source}}]));
        assert_eq!(cluster_id(&tree).unwrap().to_string(), id);
        for files in [json!([]), json!([{"path": OVERRIDES, "contents": {"source": "data:,spec: {}"}}])] {
            assert!(matches!(cluster_id(&config(&files)), Err(EditError::NoClusterId)));
        }
    }
}
