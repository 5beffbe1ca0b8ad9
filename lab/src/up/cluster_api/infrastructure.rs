//! The infrastructure of Cluster API: what metal3 does about Metal3Clusters, Metal3Machines and BareMetalHosts, over the lab's machines.
//! A machine gets a free host when it has something to boot, the host boots, and the node that it becomes is told its provider id; a machine
//! that goes gives its host back, without anything on its disks.

use assisted_lab_kinds::metal3;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::KUBECONFIG;
use crate::namespace::Medium;
use crate::up::machine_handle::MachineHandle;
use crate::up::metal3::{Next, is_deleting, name, next, state, status};
use crate::up::{Lab, LabError, NAME, forget, say, write_secret};

/// Kinds in the order in which they are read: the image that a machine boots is written before the data for which it waits, so what is read
/// first is never newer. The last ones tell how far the cluster is: to read them by themselves would take as long once more.
const READ: &str = "machines.cluster.x-k8s.io,metal3clusters,metal3machines,baremetalhosts,clusters.cluster.x-k8s.io,\
                    agentclusterinstalls";
/// The folder with what machines get that boot a disk image.
const USER_DATA: &str = "user-data";

/// Objects of the hub, read together.
pub(in crate::up) struct Objects(Vec<Value>);

impl Objects {
    fn of<'a>(&'a self, kind: &str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(move |object| object["kind"] == kind)
    }

    /// The first of a kind; `null` where there is none.
    pub(super) fn first(&self, kind: &str) -> Value {
        self.of(kind).next().cloned().unwrap_or_default()
    }

    fn named(&self, kind: &str, name: &str) -> Option<&Value> {
        self.of(kind).find(|object| object["metadata"]["name"] == name)
    }

    /// The host that a machine has, or that was taken for it.
    fn host(&self, own: &Value) -> Option<&Value> {
        let chosen = metal3::host_of(own).and_then(|(_, name)| self.named("BareMetalHost", name));
        chosen.or_else(|| self.of("BareMetalHost").find(|host| is_for(host, own)))
    }

    /// A host that nobody has, and that a machine may have.
    fn free(&self, own: &Value) -> Option<&Value> {
        let wanted = &own["spec"]["hostSelector"]["matchLabels"];
        let wanted: Vec<_> = wanted.as_object().into_iter().flatten().collect();
        self.of("BareMetalHost").find(|host| {
            let labels = &host["metadata"]["labels"];
            let fits = wanted.iter().all(|(label, value)| labels[label.as_str()] == **value);
            fits && host["spec"]["consumerRef"].is_null() && state(host) == "available"
        })
    }
}

fn is_for(host: &Value, own: &Value) -> bool {
    host["spec"]["consumerRef"]["name"] == own["metadata"]["name"]
}

/// What a host is to be for a machine, as a merge patch.
fn taken(own: &Value, data: &str) -> Value {
    json!({"spec": {
        "online": true, "image": own["spec"]["image"], "userData": {"name": data, "namespace": NAME},
        "consumerRef": {
            "apiVersion": own["apiVersion"], "kind": "Metal3Machine", "name": own["metadata"]["name"], "namespace": NAME,
        },
    }})
}

/// What becomes of a host whose machine goes.
#[derive(Debug, PartialEq, Eq)]
enum Release {
    /// It is switched off, and its disks are emptied.
    Empty,
    /// That is under way.
    Wait,
    /// It is free again, and the machine can go.
    Free,
    /// The machine has none.
    None,
}

fn release(host: Option<&Value>, own: &Value) -> Release {
    match host.filter(|host| is_for(host, own)) {
        None => Release::None,
        Some(host) if !host["spec"]["image"].is_null() => Release::Empty,
        Some(host) if state(host) != "available" => Release::Wait,
        Some(_) => Release::Free,
    }
}

impl Lab {
    /// One look at everything, and what is to be done; what was seen.
    pub(in crate::up) fn play_infrastructure(&mut self) -> Result<Objects, LabError> {
        let items = match self.hub_json(&["get", READ])?["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        let found = Objects(items);
        for cluster in found.of("Metal3Cluster") {
            if let Some(status) = metal3::cluster_status(cluster) {
                self.patch("metal3cluster", name(cluster), &json!({"status": status}), true)?;
            }
        }
        let mut has_taken = false;
        for own in found.of("Metal3Machine") {
            if is_deleting(own) {
                self.give_back(own, &found)?;
            } else if self.serve(own, &found)? {
                has_taken = true;
                break;
            }
        }
        // Whoever comes next must not get the same host: it is read anew.
        if !has_taken {
            for host in found.of("BareMetalHost") {
                self.provision(host)?;
            }
            self.link(&found)?;
        }
        Ok(found)
    }

    /// Brings a machine a step further; whether it has taken a host.
    fn serve(&self, own: &Value, found: &Objects) -> Result<bool, LabError> {
        let of = metal3::machine_of(own).and_then(|machine| found.named("Machine", machine));
        let Some(data) = of.and_then(metal3::bootstrap_data) else { return Ok(false) };
        let Some(host) = found.host(own) else {
            let Some(free) = found.free(own) else { return Ok(false) };
            say(&format!("\n{}: it gets the host {}", name(own), name(free)));
            // The machine is kept before it has anything to give back.
            let kept = json!({"metadata": {"finalizers": [metal3::FINALIZER]}});
            self.patch("metal3machine", name(own), &kept, false)?;
            self.patch("baremetalhost", name(free), &taken(own, data), false)?;
            return Ok(true);
        };
        if metal3::host_of(own).is_none() {
            self.patch("metal3machine", name(own), &metal3::chosen(NAME, name(host)), false)?;
        }
        if state(host) == "provisioned" && own["status"]["ready"] != true {
            let id = metal3::provider_id(host["metadata"]["uid"].as_str().unwrap_or_default());
            self.patch("metal3machine", name(own), &json!({"spec": {"providerID": id}}), false)?;
            let planned = self.machines.iter().find(|(planned, _)| planned.name == name(host));
            let address = planned.map(|(planned, _)| planned.address.to_string()).unwrap_or_default();
            let told = json!({"status": metal3::machine_status(&address)});
            self.patch("metal3machine", name(own), &told, true)?;
        }
        Ok(false)
    }

    /// Brings a machine that goes a step further.
    fn give_back(&mut self, own: &Value, found: &Objects) -> Result<(), LabError> {
        let host = found.host(own);
        match (release(host, own), host) {
            (Release::Wait, _) => return Ok(()),
            (Release::Empty, Some(host)) => {
                let off = json!({"spec": {"online": false, "image": null, "userData": null}});
                return self.patch("baremetalhost", name(host), &off, false);
            }
            (Release::Free, Some(host)) => {
                self.patch("baremetalhost", name(host), &json!({"spec": {"consumerRef": null}}), false)?;
            }
            _ => {}
        }
        if let Some(cluster_api) = &mut self.cluster_api {
            cluster_api.linked.remove(name(own));
        }
        let kept = own["metadata"]["finalizers"].as_array().into_iter().flatten();
        let kept: Vec<_> = kept.filter(|finalizer| **finalizer != metal3::FINALIZER).collect();
        self.patch("metal3machine", name(own), &json!({"metadata": {"finalizers": kept}}), false)
    }

    /// What metal3's other half does: a host boots what its object names, and is switched off and emptied when it names nothing any more.
    fn provision(&mut self, host: &Value) -> Result<(), LabError> {
        let own = name(host).to_owned();
        let Some(number) = self.machines.iter().position(|(planned, _)| planned.name == own) else {
            return Ok(());
        };
        if state(host) == "provisioned" && host["spec"]["image"].is_null() {
            self.deprovision(number, &own)?;
            return self.tell(&own, &status("available", false, ""));
        }
        match next(host) {
            Next::Done | Next::Wait => Ok(()),
            Next::Register => self.tell(&own, &status("available", false, "")),
            Next::Boot(url) => {
                if host["spec"]["image"]["format"] == "live-iso" {
                    say(&format!("\n{own}: its BareMetalHost names {url}"));
                    self.boot_image(number, url)?;
                } else {
                    let medium = self.user_data(host)?;
                    self.media.insert(number, medium);
                    self.power_on(number)?;
                }
                self.tell(&own, &status("provisioned", true, url))
            }
        }
    }

    /// A host of nobody any more.
    pub(in crate::up) fn deprovision(&mut self, number: usize, own: &str) -> Result<(), LabError> {
        if let Some((_, Some(MachineHandle::Real(machine)))) = self.machines.get(number) {
            say(&format!(
                "\n{own}: switched off by its management controller; its disks keep what is on them"
            ));
            return machine.power_off();
        }
        say(&format!("\n{own}: switched off, and its disks are emptied"));
        self.wipe(number)?;
        self.media.remove(&number);
        Ok(())
    }

    /// The Ignition config and the config drive of a host that boots a disk image.
    fn user_data(&self, host: &Value) -> Result<Medium, LabError> {
        let (own, secret) = (name(host), &host["spec"]["userData"]);
        let secret = secret["name"].as_str().unwrap_or_default();
        say(&format!("\n{own}: its BareMetalHost names a disk image, and the Secret {secret}"));
        let found = self.hub_json(&["get", "secret", secret])?;
        let unread = |why: String| LabError::Object { object: format!("Secret {secret}"), why };
        let text = STANDARD.decode(found["data"]["value"].as_str().unwrap_or_default());
        let text = String::from_utf8(text.map_err(|error| unread(error.to_string()))?);
        let text = text.map_err(|error| unread(error.to_string()))?;
        let dir = self.plan.dir.join(USER_DATA).join(own);
        forget(&dir)?;
        let (config, drive) = (dir.join("config.ign"), dir.join("config-drive"));
        let folder = drive.join("openstack/latest");
        std::fs::create_dir_all(&folder).map_err(LabError::io(&folder))?;
        write_secret(&config, &text)?;
        let metadata = json!({
            "uuid": host["metadata"]["uid"], "name": own, "metal3-name": own, "metal3-namespace": NAME,
        });
        let path = folder.join("meta_data.json");
        std::fs::write(&path, metadata.to_string()).map_err(LabError::io(&path))?;
        Ok(Medium::UserData { config, drive })
    }

    /// Tells nodes their provider ids, by the label that says which host each is.
    fn link(&mut self, found: &Objects) -> Result<(), LabError> {
        let Some(cluster_api) = &self.cluster_api else { return Ok(()) };
        let is_new = |own: &&Value| own["status"]["ready"] == true && !cluster_api.linked.contains(name(own));
        let unlinked: Vec<_> =
            found.of("Metal3Machine").filter(|own| !is_deleting(own)).filter(is_new).collect();
        if unlinked.is_empty() || !self.has_kubeconfig()? {
            return Ok(());
        }
        // Its API may not answer yet.
        let Ok(nodes) = self.kubectl_json(&["get", "nodes", "--request-timeout=5s"]) else { return Ok(()) };
        for own in unlinked {
            let id = own["spec"]["providerID"].as_str().unwrap_or_default();
            let mut all = nodes["items"].as_array().into_iter().flatten();
            let is_it = |node: &&Value| {
                let host = node["metadata"]["labels"][metal3::NODE].as_str().unwrap_or_default();
                !host.is_empty() && metal3::provider_id(host) == id
            };
            let Some(node) = all.find(is_it) else { continue };
            if node["spec"]["providerID"] != id {
                let change = json!({"spec": {"providerID": id}}).to_string();
                let words = ["patch", "node", name(node), "--type=merge", "--patch", &change];
                match self.show_kubectl(&words) {
                    // Its API may be handed over just now.
                    Err(LabError::Command { .. }) => continue,
                    told => told?,
                }
            }
            if let Some(cluster_api) = &mut self.cluster_api {
                cluster_api.linked.insert(name(own).to_owned());
            }
        }
        Ok(())
    }

    /// Whether the cluster's kubeconfig is there; a changed one is taken anew.
    fn has_kubeconfig(&mut self) -> Result<bool, LabError> {
        let (secret, member) = KUBECONFIG;
        let selected = format!("--field-selector=metadata.name={secret}");
        let found = self.hub_json(&["get", "secrets", &selected])?;
        let version = found["items"][0]["metadata"]["resourceVersion"].as_str().map(str::to_owned);
        let known = self.cluster_api.as_ref().and_then(|cluster_api| cluster_api.kubeconfig.clone());
        if version.is_some() && version != known {
            self.take_kubeconfig_of(secret, member)?;
            if let Some(cluster_api) = &mut self.cluster_api {
                cluster_api.kubeconfig.clone_from(&version);
            }
        }
        Ok(version.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, role: &str, state: &str) -> Value {
        json!({
            "kind": "BareMetalHost", "metadata": {"name": name, "labels": {"role": role}}, "spec": {"image": null},
            "status": {"provisioning": {"state": state}},
        })
    }

    #[test]
    fn a_machine_gets_a_free_host_of_its_role_and_gives_it_back() {
        let own = json!({
            "kind": "Metal3Machine", "metadata": {"name": "m"},
            "spec": {"hostSelector": {"matchLabels": {"role": "worker"}}, "image": {"url": "u"}},
        });
        let mut all = Objects(vec![
            host("a", "master", "available"),
            host("b", "worker", ""),
            host("c", "worker", "available"),
        ]);
        assert!(all.host(&own).is_none());
        assert_eq!(name(all.free(&own).unwrap()), "c");
        assert_eq!(release(None, &own), Release::None);
        let wanted = taken(&own, "data");
        all.0[2]["spec"] = wanted["spec"].clone();
        assert!(all.free(&own).is_none());
        let chosen = all.host(&own).unwrap();
        assert_eq!((name(chosen), &chosen["spec"]["image"]["url"]), ("c", &json!("u")));
        assert_eq!(release(Some(chosen), &own), Release::Empty);
        all.0[2]["spec"]["image"] = Value::Null;
        all.0[2]["status"]["provisioning"]["state"] = "provisioned".into();
        assert_eq!(release(all.host(&own), &own), Release::Wait);
        all.0[2]["status"]["provisioning"]["state"] = "available".into();
        assert_eq!(release(all.host(&own), &own), Release::Free);
    }
}
