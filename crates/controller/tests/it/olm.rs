//! What OLM would do: its objects, as they come and change.

use k8s_openapi::api::batch::v1::Job;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::world::World;

const VERSION: &str = "operators.coreos.com/v1alpha1";
const MARKETPLACE: &str = "openshift-marketplace";

impl World {
    /// An operator is asked for; `brought` names what its subscription has brought, if anything.
    pub(crate) async fn subscription(&self, namespace: &str, name: &str, brought: Option<&str>) {
        let spec = json!({"name": name, "source": "redhat-operators", "sourceNamespace": MARKETPLACE});
        let mut object = json!({"metadata": {"name": name}, "spec": spec});
        if let Some(brought) = brought {
            object["status"] = json!({"currentCSV": brought});
        }
        self.apply(VERSION, "Subscription", "subscriptions", Some(namespace), object).await;
    }

    /// What a subscription has brought, in a phase.
    pub(crate) async fn service_version(&self, namespace: &str, name: &str, phase: &str) {
        let object = json!({
            "metadata": {"name": name}, "spec": {"version": "1.2.3"},
            "status": {"phase": phase, "message": format!("it has {}", phase.to_lowercase())},
        });
        self.apply(VERSION, "ClusterServiceVersion", "clusterserviceversions", Some(namespace), object).await;
    }

    /// A plan of a subscription, in a phase.
    pub(crate) async fn install_plan(&self, namespace: &str, name: &str, subscription: &str, phase: &str) {
        let owner =
            json!({"apiVersion": VERSION, "kind": "Subscription", "name": subscription, "uid": "none"});
        let object = json!({
            "metadata": {"name": name, "ownerReferences": [owner]},
            "spec": {"approval": "Automatic", "approved": true, "clusterServiceVersionNames": [subscription]},
            "status": {"phase": phase},
        });
        self.apply(VERSION, "InstallPlan", "installplans", Some(namespace), object).await;
    }

    /// Whether a plan is there.
    pub(crate) async fn has_install_plan(&self, namespace: &str, name: &str) -> bool {
        self.get(VERSION, "InstallPlan", "installplans", Some(namespace), name).await.is_some()
    }

    /// A job that unpacks a bundle; it has failed, or it still runs.
    pub(crate) async fn job(&self, name: &str, failed: bool) {
        let container = json!({"name": "unpack", "image": "none"});
        let pod = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
        let object = json!({"metadata": {"name": name}, "spec": {"template": pod}});
        self.apply("batch/v1", "Job", "jobs", Some(MARKETPLACE), object).await;
        if failed {
            let jobs = Api::<Job>::namespaced(self.admin.clone(), MARKETPLACE);
            let status = Patch::Merge(json!({"status": {"failed": 1}}));
            jobs.patch_status(name, &PatchParams::default(), &status).await.unwrap();
        }
    }

    /// Whether a job is there, and is to stay.
    pub(crate) async fn has_job(&self, name: &str) -> bool {
        let job: Option<Value> = self.get("batch/v1", "Job", "jobs", Some(MARKETPLACE), name).await;
        job.is_some_and(|job| job["metadata"].get("deletionTimestamp").is_none())
    }
}
