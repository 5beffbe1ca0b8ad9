//! Files that were generated, credentials, and the ingress's certificate.

use assisted_blob::{Key, S3};
use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::RefusalKind;
use assisted_seal::{Keyring, text as sealed};
use assisted_service::Error;
use assisted_service::file::log::DownloadLogs;
use assisted_service::file::{File, InfraEnvFile, PresignedFile};
use assisted_wire::cluster::{ClusterStatus, LogsType};
use assisted_wire::cluster_params::PresignedUrl;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::operator::OperatorStatus;
use assisted_wire::secret::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::SignedDuration;
use serde_json::json;
use url::form_urlencoded;

use crate::lab::{Database, Lab, bucket, content, on_both_engines, refusal};
use crate::stages::{changed, in_status};

on_both_engines![
    downloads,
    ignition_of_a_host,
    login,
    ingress,
    urls,
    an_address_opens_one_file_for_ten_minutes,
    an_address_is_given_for_what_can_be_downloaded,
];

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

    async fn address(&self, file: PresignedFile) -> Result<PresignedUrl, Error> {
        self.service.files().get_presigned_for_cluster_files(&self.caller, file).await
    }

    async fn address_of_credential(&self, id: ClusterId, name: &str) -> Result<PresignedUrl, Error> {
        self.service.files().get_presigned_for_cluster_credentials(&self.caller, id, name).await
    }

    /// What a token from an address opens.
    async fn opened(&self, token: &str) -> Result<(String, String), Error> {
        let file = self.service.files().download_presigned(&self.caller, &Secret::from(token)).await?;
        Ok(text(file).await)
    }
}

fn presigned(cluster_id: ClusterId, name: &str) -> PresignedFile {
    let file_name = name.to_owned();
    PresignedFile { cluster_id, file_name, logs_type: None, host_id: None, additional_name: None }
}

/// The token in an address of the service.
fn token(address: &PresignedUrl) -> String {
    let (place, query) = address.url.split_once('?').unwrap();
    assert_eq!(place, "https://assisted.example.com/api/assisted-install/v2/presigned");
    let members: Vec<_> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    assert_eq!(members.len(), 1, "{query}");
    assert_eq!(members[0].0, "token");
    members[0].1.clone()
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
    // Of clusters there are none where files are in a folder, whatever is asked for.
    let backend = || (RefusalKind::Invalid, "Failed to generate presigned URL: invalid backend".to_owned());
    for name in ["master.ign", "logs", "manifests"] {
        assert_eq!(refusal(lab.address(presigned(ClusterId::random(), name)).await), backend());
    }
    let refused = lab.address_of_credential(ClusterId::random(), "kubeconfig").await;
    assert_eq!(refusal(refused), backend());
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

/// A cluster that is being installed and one that is not, in a lab whose files are in a bucket.
async fn installing_in_a_bucket(database: &Database, keys: &Keyring) -> (Lab, S3, [ClusterId; 2]) {
    let lab = Lab::start(database).await;
    let ids = [lab.single_node().await.id, lab.cluster(json!({"name": "other"})).await.id];
    let lab = in_status(database, lab, ids[0], ClusterStatus::Installing).await;
    let time = lab.time.clone();
    lab.stop().await;
    let bucket = bucket();
    let lab = Lab::in_bucket(database, time, bucket.clone(), keys).await;
    (lab, bucket, ids)
}

async fn an_address_opens_one_file_for_ten_minutes(database: Database) {
    let keys = Keyring::generate().unwrap();
    let (lab, bucket, [id, other]) = installing_in_a_bucket(&database, &keys).await;
    lab.put(id, "master.ign", "{}").await;
    lab.put(id, "worker.ign", "of workers").await;
    lab.put(other, "master.ign", "of another cluster").await;
    lab.put(id, "kubeconfig-noingress", "first").await;
    let address = lab.address(presigned(id, "master.ign")).await.unwrap();
    assert_eq!(address.expires_at.0, lab.time.now() + SignedDuration::from_secs(600));
    let of_master = token(&address);
    assert!(!address.url.contains("master") && !address.url.contains(&id.to_string()), "{}", address.url);
    assert_eq!(lab.opened(&of_master).await.unwrap(), pair("master.ign", "{}"));
    let of_worker = token(&lab.address(presigned(id, "worker.ign")).await.unwrap());
    assert_eq!(lab.opened(&of_worker).await.unwrap(), pair("worker.ign", "of workers"));
    // As in the download, the kubeconfig without the ingress stands in.
    let of_kubeconfig = token(&lab.address_of_credential(id, "kubeconfig").await.unwrap());
    assert_eq!(lab.opened(&of_kubeconfig).await.unwrap(), pair("kubeconfig-noingress", "first"));

    let forbidden =
        || (RefusalKind::Forbidden, "the address of the file is not good, or not any more".to_owned());
    for at in 0..of_master.len() {
        let letter = if of_master.as_bytes()[at] == b'A' { "B" } else { "A" };
        let mut changed = of_master.clone();
        changed.replace_range(at..=at, letter);
        assert_eq!(refusal(lab.opened(&changed).await), forbidden(), "{at}");
    }
    let claims = sealed::open(&keys, "presigned", &of_master).unwrap();
    let strange = Keyring::generate().unwrap();
    for wrong in [
        String::new(),
        claims.clone(),
        of_master[..of_master.len() - 4].to_owned(),
        "A".repeat(100_000),
        // By others, for something else, and of another form.
        sealed::seal(&strange, "presigned", &claims).unwrap(),
        sealed::seal(&keys, "clusters", &claims).unwrap(),
        sealed::seal(&keys, "presigned", "{}").unwrap(),
    ] {
        assert_eq!(refusal(lab.opened(&wrong).await), forbidden());
    }

    // Who has the keys opens it: the same service after a restart, or another replica. Who has others does not.
    let time = lab.time.clone();
    lab.stop().await;
    let lab = Lab::in_bucket(&database, time.clone(), bucket.clone(), &strange).await;
    assert_eq!(refusal(lab.opened(&of_master).await), forbidden());
    lab.stop().await;
    let lab = Lab::in_bucket(&database, time, bucket, &keys).await;
    assert_eq!(lab.opened(&of_master).await.unwrap(), pair("master.ign", "{}"));

    // What is gone is gone, and of why nothing is told.
    lab.service.blob().delete(&Key::new(format!("{id}/master.ign")).unwrap()).await.unwrap();
    assert_eq!(
        refusal(lab.opened(&of_master).await),
        (RefusalKind::NotFound, "The file of this address was not found".to_owned())
    );
    lab.pass(599);
    assert_eq!(lab.opened(&of_worker).await.unwrap().0, "worker.ign");
    lab.pass(1);
    assert_eq!(refusal(lab.opened(&of_worker).await), forbidden());
    lab.stop().await;
}

async fn an_address_is_given_for_what_can_be_downloaded(database: Database) {
    let keys = Keyring::generate().unwrap();
    let (lab, _, [id, other]) = installing_in_a_bucket(&database, &keys).await;
    lab.put(other, "master.ign", "{}").await;
    // Refused as the download is: it is too early, there is no such cluster, the file is not there.
    for refused in [
        lab.address(presigned(other, "master.ign")).await,
        lab.address_of_credential(other, "kubeconfig").await,
    ] {
        let (kind, why) = refusal(refused);
        assert!(kind == RefusalKind::Conflict && why.contains("can be downloaded only when"), "{why}");
    }
    for cluster in [ClusterId::random(), id] {
        let why = refusal(lab.file(cluster, "master.ign").await);
        assert_eq!(refusal(lab.address(presigned(cluster, "master.ign")).await), why);
        let why = refusal(lab.credential(cluster, "kubeconfig").await);
        assert_eq!(refusal(lab.address_of_credential(cluster, "kubeconfig").await), why);
    }
    // Logs of a host are those that are meant where there is a host and no type.
    for (logs_type, host_id) in
        [(Some(LogsType::Host), None), (Some(LogsType::Controller), None), (None, Some(HostId::random()))]
    {
        let asked = PresignedFile { logs_type, host_id, ..presigned(id, "logs") };
        let meant = logs_type.or(Some(LogsType::Host));
        let query = DownloadLogs { cluster_id: id, logs_type: meant, host_id };
        let why = refusal(lab.service.files().download_cluster_logs(&lab.caller, query).await);
        assert_eq!(refusal(lab.address(asked).await), why);
    }
    let address = lab.address(presigned(id, "logs")).await.unwrap();
    let secret = Secret::from(token(&address));
    let all = lab.service.files().download_presigned(&lab.caller, &secret).await.unwrap();
    assert_eq!(all.name, format!("c_{id}.tar"));

    let manifest =
        |name: &str| PresignedFile { additional_name: Some(name.to_owned()), ..presigned(id, "manifests") };
    lab.put(id, "manifests/openshift/a.yaml", "a: 1").await;
    let of_manifest = token(&lab.address(manifest("openshift/a.yaml")).await.unwrap());
    assert_eq!(lab.opened(&of_manifest).await.unwrap(), pair("a.yaml", "a: 1"));
    let missing = format!("Cluster manifest openshift/b.yaml doesn't exist in cluster {id}");
    let local = "additional_name must be local to the manifest directory";
    for (name, kind, why) in [
        ("openshift/b.yaml", RefusalKind::NotFound, missing.as_str()),
        ("../openshift/a.yaml", RefusalKind::Invalid, local),
        ("/openshift/a.yaml", RefusalKind::Invalid, local),
        ("openshift/../../a.yaml", RefusalKind::Invalid, local),
    ] {
        assert_eq!(refusal(lab.address(manifest(name)).await), (kind, why.to_owned()), "{name}");
    }
    for name in ["a.yaml", "etc/a.yaml", "openshift/a/b.yaml", "openshift/"] {
        assert_eq!(refusal(lab.address(manifest(name)).await).0, RefusalKind::NotFound, "{name}");
    }
    let (kind, why) = refusal(lab.address(presigned(id, "manifests")).await);
    assert!(kind == RefusalKind::Internal && why.starts_with("Additional name must be provided"), "{why}");
    lab.stop().await;
}
