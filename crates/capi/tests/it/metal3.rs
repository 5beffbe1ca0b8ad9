//! What plays metal3: clusters are there at once, and a machine gets hardware when it has something to boot.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assisted_crd::cluster_api::machine::Machine;
use assisted_crd::cluster_api::metal3_machine::Metal3Machine;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_lab_kinds::metal3;
use assisted_simhost::host::SimHost;
use assisted_wire::id::InfraEnvId;
use kube::api::{ListParams, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::world::Site;

/// Between two looks at what there is to do.
const PAUSE: Duration = Duration::from_millis(200);

/// A machine that was given bootstrap data, and the hardware that it is.
#[derive(Clone, Debug)]
pub struct Booted {
    pub machine: String,
    pub is_control_plane: bool,
    /// Number of the simulated host.
    pub index: u32,
    pub provider_id: String,
}

/// The infrastructure: clusters are there at once, and a machine gets hardware when it has something to boot.
#[derive(Default)]
pub struct Metal3 {
    booted: Mutex<BTreeMap<String, Booted>>,
    /// Machines of the control plane: the simulation has them in the first places. None: three.
    pub control_planes: Mutex<Option<u32>>,
}

/// It plays until this is dropped.
pub struct Playing {
    metal3: Arc<Metal3>,
    task: JoinHandle<()>,
}

impl Playing {
    pub fn stop(&self) {
        self.task.abort();
    }
}

impl Deref for Playing {
    type Target = Metal3;

    fn deref(&self) -> &Metal3 {
        &self.metal3
    }
}

impl Drop for Playing {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Metal3 {
    /// Plays at a site.
    pub fn start(site: Site) -> Playing {
        let metal3 = Arc::new(Self::default());
        let player = Arc::clone(&metal3);
        let task = tokio::spawn(async move {
            loop {
                player.play(&site).await;
                tokio::time::sleep(PAUSE).await;
            }
        });
        Playing { metal3, task }
    }

    /// The machines that have booted, those of the control plane first.
    pub fn booted(&self) -> Vec<Booted> {
        let mut all: Vec<_> = self.booted.lock().unwrap().values().cloned().collect();
        all.sort_by_key(|booted| booted.index);
        all
    }

    async fn play(&self, site: &Site) {
        let kind = GroupVersionKind::gvk("infrastructure.cluster.x-k8s.io", "v1beta1", "Metal3Cluster");
        let clusters: Api<DynamicObject> =
            Api::namespaced_with(site.client.clone(), site.namespace, &ApiResource::from_gvk(&kind));
        for cluster in clusters.list(&ListParams::default()).await.unwrap() {
            if let Some(status) = metal3::cluster_status(&cluster.data) {
                let ready = Patch::Merge(json!({"status": status}));
                clusters.patch_status(&cluster.name_any(), &PatchParams::default(), &ready).await.unwrap();
            }
        }
        for own in site.api::<Metal3Machine>().list(&ListParams::default()).await.unwrap() {
            let owner = metal3::machine_of(&json!(own)).map(str::to_owned);
            let name = own.name_any();
            if own.metadata.deletion_timestamp.is_some() || self.booted.lock().unwrap().contains_key(&name) {
                continue;
            }
            let Some(owner) = owner else { continue };
            let Some(machine) = site.find::<Machine>(&owner).await else { continue };
            // What a machine boots with comes first.
            if metal3::bootstrap_data(&json!(machine)).is_none() {
                continue;
            }
            self.boot(site, &name, &machine).await;
        }
    }

    /// A machine gets hardware, and boots.
    async fn boot(&self, site: &Site, name: &str, machine: &Machine) {
        let is_control_plane = machine.labels().contains_key("cluster.x-k8s.io/control-plane");
        let index = {
            let booted = self.booted.lock().unwrap();
            let used = |index: &u32| booted.values().any(|booted| booted.index == *index);
            let control_planes = self.control_planes.lock().unwrap().unwrap_or(3);
            let first = if is_control_plane { 0 } else { control_planes };
            (first..100).find(|index| !used(index)).unwrap()
        };
        let host = format!("host-{index}");
        let address = SimHost::new(InfraEnvId::default(), index).mac();
        let spec = json!({"online": true, "bootMACAddress": address});
        let hosts = site.api::<BareMetalHost>();
        if hosts.get_opt(&host).await.unwrap().is_none() {
            site.create::<BareMetalHost>(&host, json!({"metadata": {}, "spec": spec})).await;
        }
        let id = hosts.get(&host).await.unwrap().uid().unwrap();
        let provider_id = metal3::provider_id(&id);
        let mut change = metal3::chosen(site.namespace, &host);
        change["spec"] = json!({"providerID": provider_id});
        site.merge::<Metal3Machine>(name, change).await;
        site.status::<Metal3Machine>(name, metal3::machine_status("10.0.0.10")).await;
        let booted = Booted { machine: machine.name_any(), is_control_plane, index, provider_id };
        self.booted.lock().unwrap().insert(name.to_owned(), booted);
    }
}
