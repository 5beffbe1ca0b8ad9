//! Files that were generated, credentials, and the ingress's certificate.

use assisted_blob::Key;
use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::RefusalKind;
use assisted_service::Error;
use assisted_service::file::{File, InfraEnvFile};
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::operator::OperatorStatus;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::lab::{Database, Lab, content, on_both_engines, refusal};
use crate::stages::{changed, in_status};

on_both_engines![downloads, ignition_of_a_host, login, ingress, urls];

const CA: &str = include_str!("../data/ca.pem");
const KUBECONFIG: &str = "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: a25vd24K\n    server: https://x:6443\n  name: c\n";

async fn text(file: File) -> (String, String) {
    let (name, size) = (file.name.clone(), file.size);
    let text = String::from_utf8(content(file).await).unwrap();
    assert_eq!(size, Some(text.len() as u64));
    (name, text)
}

impl Lab {
    async fn put(&self, id: ClusterId, name: &str, content: &str) {
        self.service
            .blob()
            .put(&Key::new(format!("{id}/{name}")).unwrap(), content.to_owned())
            .await
            .unwrap();
    }

    async fn file(&self, id: ClusterId, name: &str) -> Result<(String, String), Error> {
        Ok(text(self.service.files().download_cluster_files(&self.caller, id, name).await?).await)
    }

    async fn credential(&self, id: ClusterId, name: &str) -> Result<(String, String), Error> {
        Ok(text(self.service.files().download_cluster_credentials(&self.caller, id, name).await?).await)
    }
}

fn pair(name: &str, text: &str) -> (String, String) {
    (name.to_owned(), text.to_owned())
}

async fn downloads(database: Database) {
    let lab = Lab::start(&database).await;
    let id = lab.single_node().await.id;
    lab.put(id, "master.ign", "{}").await;
    lab.put(id, "kubeconfig-noingress", "first").await;
    assert_eq!(refusal(lab.file(ClusterId::random(), "master.ign").await).0, RefusalKind::NotFound);
    assert_eq!(refusal(lab.credential(ClusterId::random(), "kubeconfig").await).0, RefusalKind::NotFound);
    let (kind, why) = refusal(lab.file(id, "master.ign").await);
    assert_eq!(kind, RefusalKind::Conflict);
    assert!(why.contains(" state, files can be downloaded only when status is one of: [installing"), "{why}");
    // The retry's refusal counts.
    let (kind, why) = refusal(lab.credential(id, "kubeconfig").await);
    assert!(kind == RefusalKind::Conflict && why.contains("files can be downloaded"), "{why}");

    let lab = in_status(&database, lab, id, ClusterStatus::Installing).await;
    assert_eq!(lab.file(id, "master.ign").await.unwrap(), pair("master.ign", "{}"));
    assert_eq!(
        refusal(lab.file(id, "worker.ign").await),
        (RefusalKind::Conflict, format!("object {id}/worker.ign was not found"))
    );
    assert_eq!(lab.credential(id, "kubeconfig").await.unwrap(), pair("kubeconfig-noingress", "first"));
    lab.put(id, "kubeconfig", "second").await;
    // Too early for it, whether it is there or not.
    assert_eq!(lab.credential(id, "kubeconfig").await.unwrap(), pair("kubeconfig-noingress", "first"));
    let lab = in_status(&database, lab, id, ClusterStatus::Installed).await;
    assert_eq!(lab.credential(id, "kubeconfig").await.unwrap(), pair("kubeconfig", "second"));
    lab.stop().await;
}

async fn ignition_of_a_host(database: Database) {
    let lab = Lab::start(&database).await;
    let id = lab.single_node().await.id;
    let infra_env = lab.infra_env(Some(id)).await.id;
    let host = lab.host(infra_env).await;
    let alone = lab.host(lab.infra_env(None).await.id).await;
    let name = format!("master-{}.ign", host.host_id);
    lab.put(id, &name, r#"{"ignition":{}}"#).await;
    assert_eq!(
        refusal(lab.service.files().get_host_ignition(&lab.caller, host).await).0,
        RefusalKind::Conflict
    );
    let lab = in_status(&database, lab, id, ClusterStatus::Installing).await;
    let file = lab.service.files().download_host_ignition(&lab.caller, host).await.unwrap();
    assert_eq!(text(file).await, pair(&name, r#"{"ignition":{}}"#));
    let shown = lab.service.files().get_host_ignition(&lab.caller, host).await.unwrap();
    assert_eq!(shown.config, r#"{"ignition":{}}"#);

    let nobody = HostKey { infra_env_id: infra_env, host_id: HostId::random() };
    let missing = format!("host {} not found in infra env {infra_env}", nobody.host_id);
    assert_eq!(
        refusal(lab.service.files().download_host_ignition(&lab.caller, nobody).await),
        (RefusalKind::NotFound, missing)
    );
    let missing = format!("Cluster not found for host {} in infra env {}", alone.host_id, alone.infra_env_id);
    assert_eq!(
        refusal(lab.service.files().get_host_ignition(&lab.caller, alone).await),
        (RefusalKind::NotFound, missing)
    );
    lab.service.blob().delete(&Key::new(format!("{id}/{name}")).unwrap()).await.unwrap();
    assert_eq!(
        lab.service.files().get_host_ignition(&lab.caller, host).await.unwrap_err().kind(),
        RefusalKind::Internal
    );
    lab.stop().await;
}

async fn login(database: Database) {
    let lab = Lab::start(&database).await;
    let id = lab.single_node().await.id;
    let credentials = |lab: &Lab| {
        let (service, caller) = (lab.service.clone(), lab.caller.clone());
        async move { service.files().get_credentials(&caller, id).await }
    };
    let (kind, why) = refusal(credentials(&lab).await);
    assert_eq!(
        (kind, why.starts_with("console-url isn't available yet")),
        (RefusalKind::Conflict, true),
        "{why}"
    );
    let lab = changed(&database, lab, id, |cluster| {
        let rows = cluster.monitored_operators.iter_mut().flatten();
        rows.for_each(|row| row.status = Some(OperatorStatus::Available));
    })
    .await;
    assert_eq!(credentials(&lab).await.unwrap_err().kind(), RefusalKind::Internal);
    lab.put(id, "kubeadmin-password", "aaaaa-bbbbb").await;
    let given = credentials(&lab).await.unwrap();
    assert_eq!((given.username.as_str(), given.password.expose()), ("kubeadmin", "aaaaa-bbbbb"));
    assert_eq!(given.console_url, "https://console-openshift-console.apps.c.example.com");
    assert!(!format!("{given:?}").contains("aaaaa"));
    let lab = changed(&database, lab, id, |cluster| cluster.monitored_operators = None).await;
    assert_eq!(credentials(&lab).await.unwrap().console_url, "");
    let nobody = lab.service.files().get_credentials(&lab.caller, ClusterId::random()).await;
    assert_eq!(refusal(nobody).0, RefusalKind::NotFound);
    lab.stop().await;
}

async fn ingress(database: Database) {
    let lab = Lab::start(&database).await;
    let id = lab.single_node().await.id;
    let upload = |lab: &Lab, id: ClusterId, ca: &str| {
        let (service, caller, ca) = (lab.service.clone(), lab.caller.clone(), ca.to_owned());
        async move { service.files().upload_cluster_ingress_cert(&caller, id, &ca).await }
    };
    assert_eq!(refusal(upload(&lab, ClusterId::random(), CA).await).0, RefusalKind::NotFound);
    let (kind, why) = refusal(upload(&lab, id, CA).await);
    let early = " state, upload ingress ca can be done only in finalizing or installed state";
    assert!(kind == RefusalKind::Invalid && why.ends_with(early), "{why}");
    let lab = in_status(&database, lab, id, ClusterStatus::Finalizing).await;
    assert_eq!(upload(&lab, id, CA).await.unwrap_err().kind(), RefusalKind::Internal);
    lab.put(id, "kubeconfig-noingress", KUBECONFIG).await;
    let not_pem = (RefusalKind::Internal, "given ingress-ca is not valid PEM format".to_owned());
    for ca in ["", "not a certificate", &"A".repeat(1 << 20)] {
        assert_eq!(refusal(upload(&lab, id, ca).await), not_pem);
    }
    assert_eq!(lab.credential(id, "kubeconfig").await.unwrap().0, "kubeconfig-noingress");
    // In one line, as some clusters have it.
    let letters: String = CA.lines().filter(|line| !line.starts_with('-')).collect();
    let flat = format!("# CA\n-----BEGIN CERTIFICATE-----\n{letters}\n-----END CERTIFICATE-----");
    upload(&lab, id, &flat).await.unwrap();
    let (name, merged) = lab.credential(id, "kubeconfig").await.unwrap();
    let bundle = STANDARD.encode(format!("{}\nknown\n", CA.trim()));
    assert!(name == "kubeconfig" && merged.contains(&bundle), "{merged}");
    // Once is enough, whatever comes later.
    upload(&lab, id, "not a certificate").await.unwrap();
    assert_eq!(lab.credential(id, "kubeconfig").await.unwrap().1, merged);
    lab.stop().await;
}

async fn urls(database: Database) {
    let lab = Lab::start(&database).await;
    let infra_env_id = lab.infra_env(None).await.id;
    let refused = lab.service.files().get_presigned_for_cluster_files(&lab.caller).await;
    assert_eq!(
        refusal(refused),
        (RefusalKind::Invalid, "Failed to generate presigned URL: invalid backend".to_owned())
    );
    let sign = |infra_env_id: InfraEnvId, name: &str, kind: Option<&str>| {
        let (file_name, ipxe_script_type) = (name.to_owned(), kind.map(str::to_owned));
        let file = InfraEnvFile { infra_env_id, file_name, ipxe_script_type };
        let (service, caller) = (lab.service.clone(), lab.caller.clone());
        async move { service.files().get_infra_env_presigned_file_url(&caller, file).await }
    };
    let path = format!("/api/assisted-install/v2/infra-envs/{infra_env_id}/downloads/files");
    let plain = sign(infra_env_id, "discovery.ign", None).await.unwrap();
    assert_eq!(plain.url, format!("{path}?file_name=discovery.ign"));
    assert!(plain.expires_at.is_zero());
    let script = sign(infra_env_id, "ipxe-script", Some("boot-order-control")).await.unwrap();
    assert_eq!(script.url, format!("{path}?file_name=ipxe-script&ipxe_script_type=boot-order-control"));
    let wrong = sign(infra_env_id, "discovery.ign", Some("boot-order-control")).await;
    let text = r#"ipxe_script_type can be set only for "ipxe-script""#.to_owned();
    assert_eq!(refusal(wrong), (RefusalKind::Invalid, text));
    assert_eq!(refusal(sign(InfraEnvId::random(), "discovery.ign", None).await).0, RefusalKind::NotFound);
    lab.stop().await;
}
