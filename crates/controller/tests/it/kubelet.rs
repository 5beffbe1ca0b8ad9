//! What a kubelet does to join: asks for a certificate with the bootstrapper's credentials, registers its node with it,
//! asks for a certificate as a server, and is ready.

use std::net::IpAddr;

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams, PostParams};
use kube::config::Kubeconfig;
use kube::{Api, Client};
use rcgen::{CertificateParams, DnType, KeyPair, SanType};
use serde_json::{Value, json};

use crate::world::{World, client, until};

const BOOTSTRAPPER: &str = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
const BOOTSTRAPPER_GROUPS: &[&str] = &[
    "system:serviceaccounts:openshift-machine-config-operator",
    "system:serviceaccounts",
    "system:authenticated",
];

/// What is asked for.
pub(crate) struct Wish<'a> {
    pub(crate) name: &'a str,
    pub(crate) common_name: &'a str,
    pub(crate) organization: &'a str,
    pub(crate) names: &'a [&'a str],
    pub(crate) addresses: &'a [IpAddr],
    pub(crate) usages: &'a [&'a str],
    pub(crate) signer: &'a str,
}

impl<'a> Wish<'a> {
    pub(crate) fn client(name: &'a str, common_name: &'a str) -> Self {
        Self {
            name,
            common_name,
            organization: "system:nodes",
            names: &[],
            addresses: &[],
            usages: &["digital signature", "client auth"],
            signer: "kubernetes.io/kube-apiserver-client-kubelet",
        }
    }

    pub(crate) fn serving(
        name: &'a str,
        common_name: &'a str,
        names: &'a [&'a str],
        addresses: &'a [IpAddr],
    ) -> Self {
        Self {
            names,
            addresses,
            usages: &["digital signature", "server auth"],
            signer: "kubernetes.io/kubelet-serving",
            ..Self::client(name, common_name)
        }
    }

    /// Asks; gives the key.
    pub(crate) async fn ask(&self, with: &Client) -> KeyPair {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, self.common_name);
        params.distinguished_name.push(DnType::OrganizationName, self.organization);
        let names = self.names.iter().map(|name| SanType::DnsName((*name).try_into().unwrap()));
        params.subject_alt_names =
            names.chain(self.addresses.iter().copied().map(SanType::IpAddress)).collect();
        let key = KeyPair::generate().unwrap();
        let pem = params.serialize_request(&key).unwrap().pem().unwrap();
        let request: CertificateSigningRequest = serde_json::from_value(json!({
            "metadata": {"name": self.name},
            "spec": {"request": base64(pem.as_bytes()), "signerName": self.signer, "usages": self.usages},
        }))
        .unwrap();
        Api::all(with.clone()).create(&PostParams::default(), &request).await.unwrap();
        key
    }
}

fn base64(bytes: &[u8]) -> Value {
    serde_json::to_value(k8s_openapi::ByteString(bytes.to_vec())).unwrap()
}

impl World {
    /// With the credentials of a user.
    pub(crate) async fn somebody(&self, user: &str, groups: &[&str]) -> Client {
        client(Kubeconfig::from_yaml(&self.kube.kubeconfig_of(user, groups)).unwrap()).await
    }

    /// With the credentials that every host is installed with.
    pub(crate) async fn bootstrapper(&self) -> Client {
        self.somebody(BOOTSTRAPPER, BOOTSTRAPPER_GROUPS).await
    }

    /// Somebody who may ask for certificates, and is no node: what nodes may ask for the API restricts itself.
    pub(crate) async fn stranger(&self) -> Client {
        self.somebody("stranger", &["system:authenticated"]).await
    }

    /// Lets hosts ask for certificates, as the cluster's own roles do.
    pub(crate) async fn let_nodes_in(&self) {
        let verbs = ["create", "get", "list", "watch"];
        let resources = ["certificatesigningrequests"];
        let rules = json!([{"apiGroups": ["certificates.k8s.io"], "resources": resources, "verbs": verbs}]);
        self.grant("join", "Group", "system:authenticated", rules).await;
    }

    /// The certificate for a request, once somebody has approved it.
    async fn certificate(&self, request: &str) -> Vec<u8> {
        let requests = Api::<CertificateSigningRequest>::all(self.admin.clone());
        until(request, async || requests.get(request).await.ok()?.status?.certificate).await.0
    }

    /// Whether somebody has approved a request.
    pub(crate) async fn is_approved(&self, request: &str) -> bool {
        let found = Api::<CertificateSigningRequest>::all(self.admin.clone()).get(request).await.unwrap();
        found
            .status
            .and_then(|status| status.conditions)
            .is_some_and(|conditions| conditions.iter().any(|condition| condition.type_ == "Approved"))
    }

    /// A host joins as a node; it is not ready yet.
    pub(crate) async fn join(&self, name: &str, address: IpAddr) -> Client {
        let common_name = format!("system:node:{name}");
        let request = format!("csr-client-{name}");
        let key = Wish::client(&request, &common_name).ask(&self.bootstrapper().await).await;
        let mut kubeconfig = Kubeconfig::read_from(self.kube.kubeconfig()).unwrap();
        let user = kubeconfig.auth_infos[0].auth_info.as_mut().unwrap();
        let text = |bytes: &[u8]| base64(bytes).as_str().unwrap().to_owned();
        user.client_certificate_data = Some(text(&self.certificate(&request).await));
        user.client_key_data = Some(text(key.serialize_pem().as_bytes()).into());
        let own = client(kubeconfig).await;
        let node: Node = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        Api::all(own.clone()).create(&PostParams::default(), &node).await.unwrap();
        let addresses =
            json!([{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}]);
        status(&own, name, json!({"addresses": addresses})).await;
        own
    }

    /// The node has its certificate as a server, and is ready.
    pub(crate) async fn get_ready(&self, own: &Client, name: &str, address: IpAddr) {
        let request = format!("csr-serving-{name}");
        Wish::serving(&request, &format!("system:node:{name}"), &[name], &[address]).ask(own).await;
        self.certificate(&request).await;
        let ready = json!({"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""});
        status(own, name, json!({"conditions": [ready]})).await;
    }
}

async fn status(own: &Client, name: &str, status: Value) {
    let patch = Patch::Strategic(json!({"status": status}));
    Api::<Node>::all(own.clone()).patch_status(name, &PatchParams::default(), &patch).await.unwrap();
}
