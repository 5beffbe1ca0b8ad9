//! Hosts that join clusters, and leave them: a second API server is the cluster.

use std::net::IpAddr;

use assisted_core::model::host::HostKey;
use assisted_crd::agent_install::agent::Agent;
use assisted_crd::labels::{annotation, label};
use assisted_crd::machine_config::machine_config_pool::MachineConfigPool;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use assisted_kube::client::from_text;
use assisted_kube::error::optional;
use assisted_simhost::host::SimHost;
use assisted_wire::host::{HostProgress, HostStage};
use assisted_wire::step::{StepReply, StepType};
use k8s_openapi::ByteString;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{Namespace, Node, Secret};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};
use serde_json::{Value, json};
use uuid::Uuid;

use super::agent::{boot, condition_of, infra_env_id, register, report_sufficient, state};
use super::bare_metal_host::{machine, metal3, state as machine_state, told_address};
use super::cluster::imported;
use super::world::{Site, until, wait};
use crate::hub::Hub;
use crate::pool::{Kinds, lease};

const SILENCE: std::time::Duration = std::time::Duration::from_secs(60);
const BOOTSTRAPPER: &str = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
const BOOTSTRAPPER_GROUPS: &[&str] = &[
    "system:serviceaccounts:openshift-machine-config-operator",
    "system:serviceaccounts",
    "system:authenticated",
];
const ASK: &str = r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ask}
rules: [{apiGroups: [certificates.k8s.io], resources: [certificatesigningrequests], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ask}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ask}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: system:authenticated}]
"#;

/// Defines the kinds of machines, with any fields.
pub fn define_machines(hub: &Hub) {
    for (kind, plural) in [("Machine", "machines"), ("MachineSet", "machinesets")] {
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let version =
            json!({"name": "v1beta1", "served": true, "storage": true, "schema": {"openAPIV3Schema": any}});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.machine.openshift.io")},
            "spec": {"group": "machine.openshift.io", "names": {"kind": kind, "plural": plural}, "scope": "Namespaced",
                     "versions": [version]},
        });
        hub.apply(&definition.to_string());
    }
}

/// A cluster that was installed.
pub struct Spoke {
    pub hub: Hub,
    /// Who may do anything there, by this name until the test ends: the service goes on with the cluster of a test that has ended, and
    /// must do nothing on the server that another test has meanwhile.
    administrator: String,
}

impl Spoke {
    pub async fn lease() -> Self {
        let hub = lease(Kinds::Controllers).await;
        hub.apply(ASK);
        let administrator = format!("administrator-{}", Uuid::new_v4());
        hub.apply(&format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: administrator}}\n\
             roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}\n\
             subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {administrator}}}]\n"
        ));
        Self { hub, administrator }
    }

    pub fn kubeconfig(&self) -> String {
        self.hub.kube.kubeconfig_of(&self.administrator, &["system:authenticated"])
    }

    pub fn client(&self) -> Client {
        self.hub.client.clone()
    }

    /// A kubelet asks for a certificate as a client, or as a server with these names and addresses.
    async fn ask(&self, request: &str, node: &str, serving: Option<(&[&str], &[IpAddr])>) {
        let common_name = format!("system:node:{node}");
        let (user, groups) = match serving {
            None => (BOOTSTRAPPER, BOOTSTRAPPER_GROUPS),
            Some(_) => (common_name.as_str(), &["system:nodes", "system:authenticated"][..]),
        };
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, common_name.as_str());
        params.distinguished_name.push(DnType::OrganizationName, "system:nodes");
        let (names, addresses) = serving.unwrap_or_default();
        let names = names.iter().map(|name| SanType::DnsName((*name).try_into().unwrap()));
        params.subject_alt_names = names.chain(addresses.iter().copied().map(SanType::IpAddress)).collect();
        let pem = params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap();
        let (signer, usage) = match serving {
            None => ("kubernetes.io/kube-apiserver-client-kubelet", "client auth"),
            Some(_) => ("kubernetes.io/kubelet-serving", "server auth"),
        };
        let request: CertificateSigningRequest = serde_json::from_value(json!({
            "metadata": {"name": request},
            "spec": {"request": ByteString(pem.into_bytes()), "signerName": signer,
                     "usages": ["digital signature", usage]},
        }))
        .unwrap();
        let own = from_text(&self.hub.kube.kubeconfig_of(user, groups), SILENCE).await.unwrap();
        Api::all(own).create(&PostParams::default(), &request).await.unwrap();
    }

    /// Who approved a request, if anybody.
    async fn approval(&self, request: &str) -> Option<String> {
        let found = Api::<CertificateSigningRequest>::all(self.client()).get(request).await.unwrap();
        let conditions = found.status?.conditions?;
        conditions.into_iter().find(|condition| condition.type_ == "Approved")?.message
    }

    pub async fn node(&self, name: &str, address: IpAddr) {
        let node: Node = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        Api::all(self.client()).create(&PostParams::default(), &node).await.unwrap();
        let addresses =
            json!([{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}]);
        self.node_status(name, json!({"addresses": addresses})).await;
    }

    async fn ready(&self, name: &str) {
        let ready = json!({"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""});
        self.node_status(name, json!({"conditions": [ready]})).await;
    }

    async fn node_status(&self, name: &str, status: Value) {
        let patch = Patch::Strategic(json!({"status": status}));
        Api::<Node>::all(self.client()).patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }
}

/// A cluster that is there already, whose kubeconfig is this one, is taken in.
pub async fn taken_in(site: &Site, kubeconfig: &str) {
    site.create::<Secret>("admin", json!({"metadata": {}, "stringData": {"kubeconfig": kubeconfig}})).await;
    imported(site).await;
    site.pull_secret().await;
}

/// A host of an InfraEnv is ready to join the cluster that it is bound to.
pub async fn reach_the_cluster(site: &Site, key: HostKey) {
    let ignition = json!({"is_success": true, "ignition": "{\"ignition\":{\"version\":\"3.2.0\"}}"});
    let found = |name: &str| json!({"domain_name": name, "ipv4_addresses": ["192.0.2.10"]});
    let names = json!({"resolutions": [
        found("api.demo.example.com"), found("api-int.demo.example.com"),
        found("console-openshift-console.apps.demo.example.com"),
    ]});
    reply(site, key, StepType::ApiVipConnectivityCheck, &ignition).await;
    reply(site, key, StepType::DomainResolution, &names).await;
}

/// The host answers a step.
pub async fn reply(site: &Site, key: HostKey, step: StepType, output: &Value) {
    let reply = StepReply {
        step_type: Some(step),
        step_id: format!("{step}-1"),
        output: output.to_string(),
        ..StepReply::default()
    };
    Box::pin(site.service.hosts().post_step_reply(&site.caller(), key, reply)).await.unwrap();
}

/// The installer of a host reports.
pub async fn reach(site: &Site, key: HostKey, stage: HostStage) {
    let progress = HostProgress { current_stage: Some(stage), progress_info: String::new() };
    site.service.hosts().update_install_progress(&site.caller(), key, progress).await.unwrap();
}

fn stage(agent: &Agent) -> &str {
    let progress = agent.status.as_ref().and_then(|status| status.progress.as_ref());
    progress.map_or("", |progress| progress.current_stage.as_str())
}

/// A host is installed for the cluster, up to its reboot.
pub async fn reboots(site: &Site, host: HostKey, spec: Value) {
    let (agents, name) = (site.api::<Agent>(), host.host_id.to_string());
    report_sufficient(site, host).await;
    reach_the_cluster(site, host).await;
    // One that was approved before is installed at once.
    until(&agents, &name, |agent: &Agent| matches!(state(agent), "known" | "installing")).await;
    site.merge::<Agent>(&name, json!({"spec": spec})).await;
    until(&agents, &name, |agent: &Agent| state(agent) == "installing").await;
    for stage in [HostStage::StartingInstallation, HostStage::WritingImageToDisk, HostStage::Rebooting] {
        reach(site, host, stage).await;
    }
    until(&agents, &name, |agent: &Agent| stage(agent) == "Rebooting").await;
}

/// The address of simulated hosts.
pub fn address(host: HostKey) -> IpAddr {
    let inventory = SimHost::new(host.infra_env_id, 7).inventory(1);
    let interface = inventory.interfaces.unwrap().into_iter().next().unwrap();
    let network = interface.ipv4_addresses.unwrap().into_iter().next().unwrap();
    network.split('/').next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_joins_a_cluster_as_a_node() {
    let site = Site::new("joining").await;
    let spoke = Spoke::lease().await;
    let pool: MachineConfigPool =
        serde_json::from_value(json!({"metadata": {"name": "worker"}, "spec": {}})).unwrap();
    let pools = Api::<MachineConfigPool>::all(spoke.client());
    pools.create(&PostParams::default(), &pool).await.unwrap();
    taken_in(&site, &spoke.kubeconfig()).await;
    let reference =
        json!({"clusterRef": {"name": "demo", "namespace": site.namespace}, "cpuArchitecture": "x86_64"});
    site.infra_env("demo", reference).await;
    let host = register(&site, infra_env_id(&site, "demo").await).await;
    let (agents, id) = (site.api::<Agent>(), host.host_id.to_string());
    let spec = json!({
        "approved": true, "hostname": "worker-7", "machineConfigPool": "infra", "nodeLabels": {"example.com/zone": "a"},
    });
    reboots(&site, host, spec).await;
    let pauses = |paused: bool| move |pool: &MachineConfigPool| pool.spec.paused.unwrap_or(false) == paused;
    until(&pools, "worker", pauses(true)).await;
    let secret = site.api::<Secret>().get("admin").await.unwrap();
    assert_eq!(secret.labels()[label::WATCH], "true");

    // Its kubelet asks; strangers do as well.
    spoke.ask("csr-stranger", "stranger", None).await;
    spoke.ask("csr-client", "worker-7", None).await;
    wait("the request of the node as a client stays", || async {
        spoke.approval("csr-client").await.is_some()
    })
    .await;
    assert_eq!(spoke.approval("csr-client").await.unwrap(), "This CSR was approved by the assisted-service");
    spoke.node("worker-7", address(host)).await;
    until(&agents, &id, |agent: &Agent| stage(agent) == "Joined").await;
    spoke.ask("csr-other-address", "worker-7", Some((&["worker-7"], &["192.0.2.77".parse().unwrap()]))).await;
    spoke.ask("csr-serving", "worker-7", Some((&["worker-7"], &[address(host)]))).await;
    let tracked = until(&agents, &id, |agent: &Agent| {
        let status = agent.status.as_ref().and_then(|status| status.csr_status.as_ref());
        status.is_some_and(|status| status.approved_csrs.len() == 2)
    })
    .await;
    let mut csrs = tracked.status.unwrap().csr_status.unwrap().approved_csrs;
    csrs.sort_by(|one, other| one.name.cmp(&other.name));
    let csrs: Vec<_> = csrs.iter().map(|csr| (csr.name.as_str(), csr.r#type.as_str())).collect();
    assert_eq!(csrs, [("csr-client", "client"), ("csr-serving", "serving")]);

    // Not ready: no labels, and not done.
    let nodes = Api::<Node>::all(spoke.client());
    assert!(!nodes.get("worker-7").await.unwrap().labels().contains_key("example.com/zone"));
    spoke.ready("worker-7").await;
    let done = until(&agents, &id, |agent: &Agent| stage(agent) == "Done").await;
    assert_eq!(state(&done), "added-to-existing-cluster");
    assert_eq!(done.status.as_ref().unwrap().debug_info.as_ref().unwrap().state_info, "Done");
    assert_eq!(condition_of(&done, "Installed"), ("True", "InstallationCompleted"));
    assert_eq!(nodes.get("worker-7").await.unwrap().labels()["example.com/zone"], "a");
    until(&pools, "worker", pauses(false)).await;
    for request in ["csr-stranger", "csr-other-address"] {
        assert_eq!(spoke.approval(request).await, None);
    }
}

/// A host that has rebooted joins as a node, and is done.
pub async fn joins(site: &Site, spoke: &Spoke, host: HostKey, name: &str, attempt: &str) {
    spoke.node(name, address(host)).await;
    spoke.ask(&format!("csr-client-{attempt}"), name, None).await;
    spoke.ask(&format!("csr-serving-{attempt}"), name, Some((&[name], &[address(host)]))).await;
    // A node that is ready is somebody's already.
    for request in ["client", "serving"].map(|kind| format!("csr-{kind}-{attempt}")) {
        wait("a request of the node stays", || async { spoke.approval(&request).await.is_some() }).await;
    }
    spoke.ready(name).await;
    let agents = site.api::<Agent>();
    until(&agents, &host.host_id.to_string(), |agent: &Agent| stage(agent) == "Done").await;
}

fn left_to_do(agent: &Agent) -> Option<(&str, &str)> {
    let info = agent.status.as_ref()?.deprovision_info.as_ref()?;
    Some((info.node_name.as_str(), info.message.as_str()))
}

/// Makes a node one of a machine, which has a BareMetalHost, and may have a set.
async fn with_machine(spoke: &Spoke, node: &str, set: Option<&str>) {
    let labels = set.map_or(String::new(), |set| {
        format!("labels: {{machine.openshift.io/cluster-api-machineset: {set}}}")
    });
    let set = set.map_or(String::new(), |set| {
        format!("---\napiVersion: machine.openshift.io/v1beta1\nkind: MachineSet\nmetadata: {{name: {set}, namespace: machines}}\n")
    });
    spoke.hub.apply(&format!(
        "{{apiVersion: v1, kind: Namespace, metadata: {{name: machines}}}}
---
{{apiVersion: metal3.io/v1alpha1, kind: BareMetalHost, metadata: {{name: {node}, namespace: machines}}, spec: {{online: true}}}}
---
apiVersion: machine.openshift.io/v1beta1
kind: Machine
metadata:
  name: {node}
  namespace: machines
  annotations: {{metal3.io/BareMetalHost: machines/{node}}}
  {labels}
{set}"
    ));
    let patch = Patch::Merge(
        json!({"metadata": {"annotations": {"machine.openshift.io/machine": format!("machines/{node}")}}}),
    );
    Api::<Node>::all(spoke.client()).patch(node, &PatchParams::default(), &patch).await.unwrap();
}

/// What `kubectl get --namespace machines` has of a kind.
fn of_machines(spoke: &Spoke, kind: &str) -> Vec<Value> {
    spoke.hub.get(&["get", kind, "--namespace", "machines", "--output=json"])["items"]
        .as_array()
        .unwrap()
        .clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installed_host_is_reclaimed_or_waits_for_somebody() {
    let site = Site::new("reclaim").await;
    let mut spoke = Spoke::lease().await;
    define_machines(&spoke.hub);
    taken_in(&site, &spoke.kubeconfig()).await;
    site.infra_env("pool", json!({"cpuArchitecture": "x86_64"})).await;
    let host = register(&site, infra_env_id(&site, "pool").await).await;
    let (agents, id) = (site.api::<Agent>(), host.host_id.to_string());
    let is = |expected: &'static str| move |agent: &Agent| state(agent) == expected;
    report_sufficient(&site, host).await;
    until(&agents, &id, is("known-unbound")).await;
    let joining =
        json!({"clusterDeploymentName": {"name": "demo", "namespace": site.namespace}, "role": "worker"});
    let join = async || {
        site.merge::<Agent>(&id, json!({"spec": joining})).await;
        until(&agents, &id, is("binding")).await;
        boot(&site, host).await;
        reboots(&site, host, json!({"approved": true, "hostname": "worker-7.example.com"})).await;
    };
    join().await;
    joins(&site, &spoke, host, "worker-7.example.com", "1").await;

    // Its cluster helps it to boot the discovery image.
    site.merge::<Agent>(&id, json!({"spec": {"clusterDeploymentName": null}})).await;
    let leaving =
        until(&agents, &id, |agent: &Agent| state(agent) == "reclaiming" && left_to_do(agent).is_some())
            .await;
    assert_eq!(
        left_to_do(&leaving).unwrap(),
        ("worker-7.example.com", "Waiting for host to unbind to do spoke cleanup")
    );
    assert!(leaving.status.unwrap().csr_status.unwrap_or_default().approved_csrs.is_empty());
    let sets = Api::<DaemonSet>::namespaced(spoke.client(), "assisted-installer");
    let set = sets.get("worker-7-example-com-reclaim").await.unwrap();
    assert_eq!(set.owner_references()[0].name, "worker-7.example.com");
    let pod = serde_json::to_value(set.spec.unwrap().template.spec).unwrap();
    assert_eq!(pod["nodeSelector"]["kubernetes.io/hostname"], "worker-7.example.com");
    let args = pod["containers"][0]["args"].to_string();
    assert!(args.contains(&format!("-host-id={id}")) && args.contains("-insecure=false"), "{args}");
    let namespace = Api::<Namespace>::all(spoke.client()).get("assisted-installer").await.unwrap();
    assert_eq!(namespace.labels()["pod-security.kubernetes.io/enforce"], "privileged");
    reply(&site, host, StepType::DownloadBootArtifacts, &Value::Null).await;
    until(&agents, &id, is("reclaiming-rebooting")).await;
    let nodes = Api::<Node>::all(spoke.client());
    assert!(
        optional(nodes.get("worker-7.example.com").await).unwrap().is_some(),
        "it is there until the host is back"
    );
    boot(&site, host).await;
    let pooled =
        until(&agents, &id, |agent: &Agent| state(agent) == "known-unbound" && left_to_do(agent).is_none())
            .await;
    assert_eq!(condition_of(&pooled, "Bound"), ("False", "Unbound"));
    assert!(optional(nodes.get("worker-7.example.com").await).unwrap().is_none());

    // The cluster is away: somebody has to boot the host, and its node goes when the cluster is back.
    join().await;
    joins(&site, &spoke, host, "worker-7.example.com", "2").await;
    with_machine(&spoke, "worker-7.example.com", Some("workers")).await;
    spoke.hub.kube.stop_api();
    site.merge::<Agent>(&id, json!({"spec": {"clusterDeploymentName": null}})).await;
    let waiting = until(&agents, &id, is("unbinding-pending-user-action")).await;
    assert_eq!(condition_of(&waiting, "Bound"), ("False", "UnbindingPendingUserAction"));
    boot(&site, host).await;
    let stuck = until(&agents, &id, |agent: &Agent| {
        left_to_do(agent).is_some_and(|(_, message)| message.contains("can't be reached"))
    })
    .await;
    assert_eq!(left_to_do(&stuck).unwrap().0, "worker-7.example.com");
    until(&agents, &id, |agent: &Agent| condition_of(agent, "SpecSynced").1 == "BackendError").await;
    spoke.hub.kube.start_api().unwrap();
    until(&agents, &id, |agent: &Agent| {
        left_to_do(agent).is_none() && condition_of(agent, "SpecSynced").1 == "SyncOK"
    })
    .await;
    // Its set takes the machine away now that there is a host less.
    assert!(of_machines(&spoke, "baremetalhosts.metal3.io").is_empty());
    let machines = of_machines(&spoke, "machines.machine.openshift.io");
    assert_eq!(machines[0]["metadata"]["annotations"]["machine.openshift.io/delete-machine"], "true");
    let sets = of_machines(&spoke, "machinesets.machine.openshift.io");
    assert_eq!(sets[0]["metadata"]["annotations"]["metal3.io/autoscale-to-hosts"], "true");
    assert!(optional(nodes.get("worker-7.example.com").await).unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_node_of_an_agent_goes_with_it_unless_it_is_to_stay() {
    let site = Site::new("forgood").await;
    let spoke = Spoke::lease().await;
    define_machines(&spoke.hub);
    taken_in(&site, &spoke.kubeconfig()).await;
    let reference =
        json!({"clusterRef": {"name": "demo", "namespace": site.namespace}, "cpuArchitecture": "x86_64"});
    site.infra_env("demo", reference).await;
    let infra_env = infra_env_id(&site, "demo").await;
    let nodes = Api::<Node>::all(spoke.client());
    for (name, annotations, machine) in
        [("worker-1", json!({}), true), ("worker-2", json!({(annotation::SKIP_SPOKE_CLEANUP): ""}), false)]
    {
        let host = register(&site, infra_env).await;
        let id = host.host_id.to_string();
        reboots(&site, host, json!({"approved": true, "hostname": name})).await;
        joins(&site, &spoke, host, name, name).await;
        if machine {
            with_machine(&spoke, name, None).await;
        }
        site.merge::<Agent>(&id, json!({"metadata": {"annotations": annotations}})).await;
        site.delete::<Agent>(&id).await;
        site.gone::<Agent>(&id).await;
        assert!(site.service.hosts().described(host).await.unwrap().is_none());
        if machine {
            // The cluster itself takes away its node, unless another look finds the machine gone before.
            assert!(of_machines(&spoke, "machines.machine.openshift.io").is_empty());
            assert!(of_machines(&spoke, "baremetalhosts.metal3.io").is_empty());
        } else {
            assert!(optional(nodes.get(name).await).unwrap().is_some(), "{name} was to stay");
        }
    }

    // Nobody can say whether the node is gone: the Agent stays, and says why.
    let host = register(&site, infra_env).await;
    let (agents, id) = (site.api::<Agent>(), host.host_id.to_string());
    reboots(&site, host, json!({"approved": true, "hostname": "worker-3"})).await;
    joins(&site, &spoke, host, "worker-3", "worker-3").await;
    let known = spoke.kubeconfig();
    site.merge::<Secret>("admin", json!({"stringData": {"kubeconfig": "none"}})).await;
    site.delete::<Agent>(&id).await;
    let stuck =
        until(&agents, &id, |agent: &Agent| condition_of(agent, "Cleanup").1 == "CleanupFailed").await;
    assert_eq!(condition_of(&stuck, "Cleanup").0, "False");
    site.merge::<Secret>("admin", json!({"stringData": {"kubeconfig": known}})).await;
    site.gone::<Agent>(&id).await;
    assert!(optional(nodes.get("worker-3").await).unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_is_away_holds_up_nobody_and_is_told_of() {
    let site = Site::new("away").await;
    let mut spoke = Spoke::lease().await;
    taken_in(&site, &spoke.kubeconfig()).await;
    let reference =
        json!({"clusterRef": {"name": "demo", "namespace": site.namespace}, "cpuArchitecture": "x86_64"});
    site.infra_env("demo", reference).await;
    let host = register(&site, infra_env_id(&site, "demo").await).await;
    let (agents, id) = (site.api::<Agent>(), host.host_id.to_string());
    spoke.hub.kube.stop_api();
    reboots(&site, host, json!({"approved": true, "hostname": "worker-7"})).await;
    let message = |agent: &Agent| {
        let conditions = agent.status.iter().flat_map(|status| &status.conditions);
        let synced = conditions.into_iter().find(|condition| condition.r#type == "SpecSynced");
        synced.map_or(String::new(), |condition| condition.message.clone())
    };
    let waiting =
        until(&agents, &id, |agent: &Agent| condition_of(agent, "SpecSynced").1 == "BackendError").await;
    assert!(message(&waiting).contains("the API of the cluster can't be reached"), "{waiting:#?}");
    let install = site.install_says("demo", "SpecSynced", "BackendError").await;
    assert!(format!("{install:?}").contains("the API of the cluster can't be reached"), "{install:#?}");

    // Credentials that lead nowhere, or to this machine, are told of as well.
    let bad = |text: &str| json!({"stringData": {"kubeconfig": text}});
    site.merge::<Secret>("admin", bad("no kubeconfig")).await;
    until(&agents, &id, |agent: &Agent| message(agent).contains("the kubeconfig can't be used")).await;
    let runs = "{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: c, user: u}}], \
                clusters: [{name: c, cluster: {server: 'https://192.0.2.1:6443'}}], \
                users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: reboot}}}]}";
    site.merge::<Secret>("admin", bad(runs)).await;
    until(&agents, &id, |agent: &Agent| message(agent).contains("its exec leads to what is on this machine"))
        .await;
    site.merge::<Secret>("admin", json!({"data": null, "stringData": null})).await;
    until(&agents, &id, |agent: &Agent| message(agent).contains("secret 'away/admin' is empty")).await;

    // It comes back.
    spoke.hub.kube.start_api().unwrap();
    site.merge::<Secret>("admin", bad(&spoke.kubeconfig())).await;
    spoke.node("worker-7", address(host)).await;
    until(&agents, &id, |agent: &Agent| {
        stage(agent) == "Joined" && condition_of(agent, "SpecSynced").1 == "SyncOK"
    })
    .await;
    site.install_says("demo", "SpecSynced", "SyncOK").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_becomes_one_of_the_cluster_that_it_joins() {
    let site = Site::new("member").await;
    let spoke = Spoke::lease().await;
    define_machines(&spoke.hub);
    let authority = rcgen::generate_simple_self_signed(["machine-config".to_owned()]).unwrap().cert.pem();
    let config_map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"ca-bundle.crt": authority},
        "metadata": {"name": "machine-config-server-ca", "namespace": "openshift-machine-config-operator"},
    });
    spoke.hub.namespace("openshift-machine-config-operator").await;
    spoke.hub.namespace("openshift-machine-api").await;
    spoke.hub.apply(&config_map.to_string());
    let master = json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": {"name": "master-0", "namespace": "openshift-machine-api",
                     "labels": {"machine.openshift.io/cluster-api-machine-type": "master"}},
        "spec": {"providerSpec": {"value": {"image": {"url": "http://image", "checksum": "http://sum"}}}},
    });
    spoke.hub.apply(&master.to_string());
    taken_in(&site, &spoke.kubeconfig()).await;
    let reference =
        json!({"clusterRef": {"name": "demo", "namespace": site.namespace}, "cpuArchitecture": "x86_64"});
    site.infra_env("rack", reference).await;
    let host = register(&site, infra_env_id(&site, "rack").await).await;
    let id = host.host_id.to_string();
    let mac = told_address(&site, host).await;
    machine(&site, "node-0", &mac, json!({"bmac.agent-install.openshift.io/hostname": "worker-7"})).await;

    metal3(&site, "node-0", machine_state("available", "OK")).await;

    // It is told whom its configuration comes from.
    let encoded = {
        use base64::Engine;
        base64::engine::general_purpose::STANDARD.encode(authority.trim())
    };
    let agent =
        until(&site.api(), &id, |agent: &Agent| agent.spec.ignition_config_overrides.contains(&encoded))
            .await;
    assert!(agent.spec.ignition_config_overrides.contains("3.1.0"));
    reach_the_cluster(&site, host).await;
    until(&site.api(), &id, |agent: &Agent| state(agent) == "installing").await;

    let hosts = Api::<BareMetalHost>::namespaced(spoke.client(), "openshift-machine-api");
    let member = until(&hosts, "node-0", |_: &BareMetalHost| true).await;
    assert_eq!(member.spec.boot_mac_address, mac);
    assert_eq!(member.spec.bmc.unwrap_or_default().address, "");
    assert_eq!(member.spec.consumer_ref.unwrap().name.as_deref(), Some("demo-node-0"));
    assert!(member.metadata.annotations.unwrap().contains_key(annotation::HARDWARE_DETAILS));
    let machines = spoke.hub.get(&[
        "get",
        "machines.machine.openshift.io",
        "demo-node-0",
        "--namespace",
        "openshift-machine-api",
        "--output=json",
    ]);
    assert_eq!(
        machines["metadata"]["annotations"]["metal3.io/BareMetalHost"],
        "openshift-machine-api/node-0"
    );
    assert_eq!(machines["metadata"]["labels"]["machine.openshift.io/cluster-api-machine-role"], "worker");
    assert_eq!(
        machines["spec"]["providerSpec"]["value"]["image"],
        json!({"url": "http://image", "checksum": "http://sum"})
    );
    until(&site.api(), "node-0", |machine: &BareMetalHost| {
        machine.annotations().contains_key(annotation::BMAC_SPOKE_CREATED)
    })
    .await;
}
