//! Setup jobs, run as a node would run them: the command of a Job's container, with the rights of the Job's account. What they call is
//! real, with `kubectl` in the place of `oc`, which takes the same words; only `sleep` is shorter.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::world::{World, until};

const LOG: &str = "log";

/// A setup job that runs.
pub(crate) struct SetupJob {
    namespace: String,
    dir: TempDir,
    child: Child,
}

fn program(path: &Path, script: &str) {
    std::fs::write(path, script).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

impl World {
    /// Runs the setup job of a namespace.
    pub(crate) async fn run_setup_job(&self, namespace: &str) -> SetupJob {
        let job = Api::<Job>::namespaced(self.admin.clone(), namespace).get("setup").await.unwrap();
        let pod = job.spec.unwrap().template.spec.unwrap();
        let account = pod.service_account_name.unwrap();
        Api::<ServiceAccount>::namespaced(self.admin.clone(), namespace).get(&account).await.unwrap();
        let command = pod.containers[0].command.clone().unwrap();

        let dir = tempfile::tempdir().unwrap();
        let kubectl = assisted_testkit::kubernetes::find("kubectl").unwrap();
        program(&dir.path().join("oc"), &format!("#!/bin/sh\nexec {} \"$@\"\n", kubectl.display()));
        program(&dir.path().join("sleep"), "#!/bin/sh\nexec /usr/bin/sleep 1\n");
        let groups = [
            "system:serviceaccounts",
            &format!("system:serviceaccounts:{namespace}"),
            "system:authenticated",
        ];
        let user = format!("system:serviceaccount:{namespace}:{account}");
        let kubeconfig = dir.path().join("kubeconfig");
        std::fs::write(&kubeconfig, self.kube.kubeconfig_of(&user, &groups)).unwrap();
        let log = std::fs::File::create(dir.path().join(LOG)).unwrap();
        let child = Command::new(&command[0])
            .args(&command[1..])
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", dir.path().display()))
            .env("HOME", dir.path())
            .env("KUBECONFIG", kubeconfig)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        SetupJob { namespace: namespace.to_owned(), dir, child }
    }

    /// Brings a storage class, as an operator of storage does.
    pub(crate) async fn storage_class(&self, name: &str) {
        let class = json!({"metadata": {"name": name}, "provisioner": "storage.example.com"});
        self.apply("storage.k8s.io/v1", "StorageClass", "storageclasses", None, class).await;
    }

    /// Brings what the cluster's image registry is configured by, before object storage is there for it.
    pub(crate) async fn image_registry(&self) {
        for namespace in ["openshift-image-registry", "openshift-config"] {
            self.namespace(namespace).await;
        }
        let config =
            json!({"metadata": {"name": "cluster"}, "spec": {"managementState": "Removed", "replicas": 1}});
        self.apply("imageregistry.operator.openshift.io/v1", "Config", "configs", None, config).await;
        let ca = json!({"service-ca.crt": "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"});
        self.config_map("openshift-config", "openshift-service-ca.crt", ca).await;
    }

    /// Gives a claim its bucket, as object storage does.
    async fn bind_bucket(&self) {
        let (version, namespace) = ("objectbucket.io/v1alpha1", Some("openshift-image-registry"));
        let claim = until("the claim of a bucket", async || {
            self.get(version, "ObjectBucketClaim", "objectbucketclaims", namespace, "registry").await
        });
        let spec =
            json!({"storageClassName": "ocs-storagecluster-ceph-rgw", "generateBucketName": "registry"});
        assert_eq!(claim.await["spec"], spec);
        let bucket = json!({
            "metadata": {"name": "obc-openshift-image-registry-registry"},
            "spec": {"endpoint": {"bucketHost": "rgw.openshift-storage.svc"}},
        });
        self.apply(version, "ObjectBucket", "objectbuckets", None, bucket).await;
        let keys = json!({
            "metadata": {"name": "registry"},
            "stringData": {"AWS_ACCESS_KEY_ID": "access-key", "AWS_SECRET_ACCESS_KEY": "secret-key"},
        });
        self.apply("v1", "Secret", "secrets", namespace, keys).await;
        let bound = json!({
            "metadata": {"name": "registry"},
            "spec": {"bucketName": "registry-0815", "objectBucketName": "obc-openshift-image-registry-registry"},
            "status": {"phase": "Bound"},
        });
        self.apply(version, "ObjectBucketClaim", "objectbucketclaims", namespace, bound).await;
    }

    /// Holds that the image registry stores in the bucket, as the reference tells (operators §3.4).
    async fn registry_stores_in_the_bucket(&self) {
        let secret = self.get(
            "v1",
            "Secret",
            "secrets",
            Some("openshift-image-registry"),
            "image-registry-private-configuration-user",
        );
        let keys = json!({
            "REGISTRY_STORAGE_S3_ACCESSKEY": "YWNjZXNzLWtleQ==", "REGISTRY_STORAGE_S3_SECRETKEY": "c2VjcmV0LWtleQ==",
        });
        assert_eq!(secret.await.unwrap()["data"], keys);
        let ca = self.get("v1", "ConfigMap", "configmaps", Some("openshift-config"), "registry-ca").await;
        let bundle = ca.unwrap()["data"]["ca-bundle.crt"].as_str().unwrap().to_owned();
        assert_eq!(bundle.trim_end(), "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----");
        let config =
            self.get("imageregistry.operator.openshift.io/v1", "Config", "configs", None, "cluster").await;
        let s3 = json!({
            "bucket": "registry-0815", "region": "us-east-1", "regionEndpoint": "https://rgw.openshift-storage.svc",
            "virtualHostedStyle": false, "encrypt": false, "trustedCA": {"name": "registry-ca"},
        });
        let found = config.unwrap()["spec"].clone();
        assert_eq!(found["storage"], json!({"managementState": "Unmanaged", "s3": s3}));
        let others = ["managementState", "disableRedirect", "replicas"].map(|name| found[name].clone());
        assert_eq!(others, [json!("Managed"), json!(true), json!(2)]);
    }
}

impl SetupJob {
    fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join(LOG)).unwrap()
    }

    /// Waits until the job says something.
    pub(crate) async fn says(&self, text: &str) {
        until(text, async || self.log().contains(text).then_some(())).await;
    }

    /// Waits until the job is done, and tells the API of it, as the controller of jobs does.
    pub(crate) async fn completes(mut self, world: &World) -> String {
        let ended = until("the end of a setup job", async || self.child.try_wait().unwrap()).await;
        let log = self.log();
        assert!(ended.success(), "{ended}: {log}");
        let (began, time) = ("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z");
        let condition = |name: &str| json!({"type": name, "status": "True", "lastTransitionTime": time});
        let status = json!({"status": {
            "startTime": began, "completionTime": time, "succeeded": 1,
            "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
        }});
        let jobs = Api::<Job>::namespaced(world.admin.clone(), &self.namespace);
        jobs.patch_status("setup", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
        log
    }

    /// Has the job of kernel module management do all of its work: the image registry gets a bucket.
    pub(crate) async fn sets_up_the_registry(self, world: &World) {
        self.says("waiting for the storage class ocs-storagecluster-ceph-rgw").await;
        world.image_registry().await;
        world.storage_class("ocs-storagecluster-ceph-rgw").await;
        self.says("waiting for the bucket").await;
        world.bind_bucket().await;
        let log = self.completes(world).await;
        for key in ["access-key", "YWNjZXNzLWtleQ", "secret-key", "c2VjcmV0LWtleQ"] {
            assert!(!log.contains(key), "the key is in the log: {log}");
        }
        world.registry_stores_in_the_bucket().await;
    }

    /// Has the job of OpenShift AI do all of its work: a storage class becomes the default.
    pub(crate) async fn sets_the_default_class(self, world: &World, class: &str) {
        self.says(&format!("waiting for the storage class {class}")).await;
        world.storage_class(class).await;
        self.completes(world).await;
        let found =
            world.get("storage.k8s.io/v1", "StorageClass", "storageclasses", None, class).await.unwrap();
        let annotations: &Value = &found["metadata"]["annotations"];
        assert_eq!(annotations["storageclass.kubernetes.io/is-default-class"], "true", "{found}");
    }
}
