//! Custom manifests.

use std::time::Duration;

use assisted_blob::Key;
use assisted_core::model::refusal::RefusalKind;
use assisted_service::Error;
use assisted_service::file::manifest::ManifestFile;
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::id::ClusterId;
use assisted_wire::manifest::{Manifest, ManifestFolder};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::lab::{Database, Lab, Time, content, on_both_engines, refusal};
use crate::stages::in_status;

on_both_engines![
    round_trip,
    moved_and_renamed,
    bad_names_and_contents,
    only_before_the_installation,
    at_the_same_time,
    kept_although_whoever_asked_is_gone,
    moved_and_deleted_although_whoever_asked_is_gone,
    machine_os_configs,
];

const TEXT: &str = "kind: ConfigMap\n---\nkind: Secret\n";

impl Lab {
    async fn upload(&self, id: ClusterId, folder: &str, name: &str, text: &str) -> Result<Manifest, Error> {
        let params = json!({"folder": folder, "file_name": name, "content": STANDARD.encode(text)});
        let params = serde_json::from_value(params).unwrap();
        self.service.files().create_cluster_manifest(&self.caller, id, params).await
    }

    async fn patch(&self, id: ClusterId, params: Value) -> Result<Manifest, Error> {
        let params = serde_json::from_value(params).unwrap();
        self.service.files().update_cluster_manifest(&self.caller, id, params).await
    }

    async fn read(&self, id: ClusterId, folder: ManifestFolder, name: &str) -> Result<String, Error> {
        let file =
            self.service.files().download_cluster_manifest(&self.caller, file(id, folder, name)).await?;
        Ok(String::from_utf8(content(file).await).unwrap())
    }

    async fn remove(&self, id: ClusterId, folder: ManifestFolder, name: &str) -> Result<(), Error> {
        self.service.files().delete_cluster_manifest(&self.caller, file(id, folder, name)).await
    }

    /// All manifests as `<source> <folder>/<name>`.
    async fn manifests(&self, id: ClusterId, all: bool) -> Vec<String> {
        let list = self.service.files().list_cluster_manifests(&self.caller, id, all).await.unwrap();
        let text = |manifest: Manifest| {
            let (source, folder) = (manifest.manifest_source.unwrap(), manifest.folder.unwrap());
            format!("{source} {folder}/{}", manifest.file_name)
        };
        list.0.into_iter().map(text).collect()
    }

    async fn in_use(&self, id: ClusterId) -> bool {
        self.get_cluster(id).await.feature_usage.contains(r#""Custom manifest":{"id":"CUSTOM_MANIFEST""#)
    }
}

fn file(cluster_id: ClusterId, folder: ManifestFolder, name: &str) -> ManifestFile {
    ManifestFile { cluster_id, folder, file_name: name.to_owned() }
}

use ManifestFolder::{Manifests, Openshift};

async fn kept_although_whoever_asked_is_gone(database: Database) {
    let lab = Lab::start(&database).await;
    let id = lab.single_node().await.id;
    let key = Key::new(format!("{id}/manifests/manifests/a.yaml")).unwrap();
    let kept = async {
        while !lab.service.blob().exists(&key).await.unwrap() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        () = kept => {}
        uploaded = lab.upload(id, "manifests", "a.yaml", TEXT) => assert!(uploaded.is_ok()),
    }
    let noted = async {
        while !lab.in_use(id).await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), noted).await.unwrap();
}

async fn moved_and_deleted_although_whoever_asked_is_gone(database: Database) {
    let lab = Lab::start(&database).await;
    let id = lab.single_node().await.id;
    let until = async |name: &str, there: bool| {
        let key = Key::new(format!("{id}/manifests/{name}")).unwrap();
        while lab.service.blob().exists(&key).await.unwrap() != there {
            tokio::task::yield_now().await;
        }
    };
    lab.upload(id, "manifests", "a.yaml", TEXT).await.unwrap();
    let moved = json!({"folder": "manifests", "file_name": "a.yaml", "updated_folder": "openshift"});
    tokio::select! {
        biased;
        () = until("openshift/a.yaml", true) => {}
        moved = lab.patch(id, moved) => assert!(moved.is_ok()),
    }
    // The next change has its turn when that one is over.
    lab.upload(id, "manifests", "b.yaml", TEXT).await.unwrap();
    assert_eq!(lab.manifests(id, true).await, ["user manifests/b.yaml", "user openshift/a.yaml"]);
    lab.remove(id, Manifests, "b.yaml").await.unwrap();
    tokio::select! {
        biased;
        () = until("openshift/a.yaml", false) => {}
        removed = lab.remove(id, Openshift, "a.yaml") => assert!(removed.is_ok()),
    }
    lab.remove(id, Manifests, "b.yaml").await.unwrap();
    assert!(!lab.in_use(id).await);
}

async fn round_trip(database: Database) {
    let lab = Lab::start(&database).await;
    let id = lab.single_node().await.id;
    assert!(lab.manifests(id, true).await.is_empty() && !lab.in_use(id).await);
    let made = lab.upload(id, "openshift", "b.yaml", TEXT).await.unwrap();
    assert_eq!(
        serde_json::to_value(&made).unwrap(),
        json!({"file_name": "b.yaml", "folder": "openshift", "manifest_source": "user"})
    );
    assert!(lab.in_use(id).await);
    let params = json!({"file_name": "a.json", "content": STANDARD.encode("{}")});
    let params = serde_json::from_value(params).unwrap();
    lab.service.files().create_cluster_manifest(&lab.caller, id, params).await.unwrap();
    // One that the service makes itself.
    let system = Key::new(format!("{id}/manifests/openshift/50-masters.yaml")).unwrap();
    lab.service.blob().put(&system, "kind: MachineConfig").await.unwrap();
    assert_eq!(lab.manifests(id, false).await, ["user manifests/a.json", "user openshift/b.yaml"]);
    assert_eq!(
        lab.manifests(id, true).await,
        ["user manifests/a.json", "system openshift/50-masters.yaml", "user openshift/b.yaml"]
    );
    assert_eq!(lab.read(id, Openshift, "b.yaml").await.unwrap(), TEXT);
    assert_eq!(lab.read(id, Openshift, "50-masters.yaml").await.unwrap(), "kind: MachineConfig");
    lab.upload(id, "openshift", "b.yaml", "kind: Pod").await.unwrap();
    assert_eq!(lab.read(id, Openshift, "b.yaml").await.unwrap(), "kind: Pod");

    lab.remove(id, Manifests, "a.json").await.unwrap();
    lab.remove(id, Manifests, "a.json").await.unwrap();
    assert!(lab.in_use(id).await);
    lab.remove(id, Openshift, "b.yaml").await.unwrap();
    assert!(!lab.in_use(id).await);
    assert_eq!(
        refusal(lab.read(id, Openshift, "b.yaml").await),
        (RefusalKind::NotFound, format!("Cluster manifest openshift/b.yaml doesn't exist in cluster {id}"))
    );
    assert_eq!(lab.manifests(id, true).await, ["system openshift/50-masters.yaml"]);
    lab.stop().await;
}

async fn moved_and_renamed(database: Database) {
    let lab = Lab::start(&database).await;
    let id = lab.single_node().await.id;
    lab.upload(id, "manifests", "a.yaml", TEXT).await.unwrap();
    lab.upload(id, "openshift", "z.yaml", TEXT).await.unwrap();
    let distinct = |folder: &str, name: &str| {
        let text = format!(
            "manifest file {name} for cluster ID {id} in folder {folder} cannot be uploaded as it is not distinct between \
             {{manifest, openshift}} folders"
        );
        (RefusalKind::Invalid, text)
    };
    assert_eq!(refusal(lab.upload(id, "openshift", "a.yaml", TEXT).await), distinct("openshift", "a.yaml"));
    let moved =
        lab.patch(id, json!({"folder": "manifests", "file_name": "a.yaml", "updated_folder": "openshift"}));
    assert_eq!(moved.await.unwrap().folder, Some(Openshift));
    assert_eq!(lab.manifests(id, true).await, ["user openshift/a.yaml", "user openshift/z.yaml"]);
    assert_eq!(lab.read(id, Openshift, "a.yaml").await.unwrap(), TEXT);
    let renamed = json!({
        "folder": "openshift", "file_name": "a.yaml", "updated_file_name": "b.yml", "updated_folder": "manifests",
        "updated_content": STANDARD.encode("a: 2"),
    });
    lab.patch(id, renamed).await.unwrap();
    assert_eq!(lab.manifests(id, true).await, ["user manifests/b.yml", "user openshift/z.yaml"]);
    assert_eq!(lab.read(id, Manifests, "b.yml").await.unwrap(), "a: 2");
    let taken = json!({"folder": "manifests", "file_name": "b.yml", "updated_file_name": "z.yaml"});
    assert_eq!(refusal(lab.patch(id, taken).await), distinct("manifests", "z.yaml"));
    let changed =
        json!({"folder": "manifests", "file_name": "b.yml", "updated_content": STANDARD.encode("a: 3")});
    lab.patch(id, changed).await.unwrap();
    assert_eq!(lab.read(id, Manifests, "b.yml").await.unwrap(), "a: 3");
    let nobody = json!({"folder": "manifests", "file_name": "no.yml", "updated_file_name": "yes.yml"});
    assert_eq!(refusal(lab.patch(id, nobody).await).0, RefusalKind::Internal);
    // The ending of the old name tells what the new content must be.
    let other = json!({"folder": "manifests", "file_name": "b.yml", "updated_file_name": "b.json", "updated_content": STANDARD.encode("a: [")});
    assert!(refusal(lab.patch(id, other).await).1.contains("has an invalid YAML format"));
    // Whoever made it, what a user changes is the user's.
    let system = Key::new(format!("{id}/manifests/openshift/s.yaml")).unwrap();
    lab.service.blob().put(&system, "a: 1").await.unwrap();
    lab.patch(id, json!({"folder": "openshift", "file_name": "s.yaml"})).await.unwrap();
    assert!(lab.manifests(id, true).await.contains(&"user openshift/s.yaml".to_owned()));
    lab.stop().await;
}

async fn bad_names_and_contents(database: Database) {
    let lab = Lab::start(&database).await;
    let id = lab.single_node().await.id;
    let outside = lab.service.blob().clone();
    outside.put(&Key::new("secret.yaml").unwrap(), "a: secret").await.unwrap();
    for name in [
        "../../secret.yaml",
        "..",
        "a/b.yaml",
        ".a.yaml",
        "a\0.yaml",
        "a b.yaml",
        &format!("{}.yaml", "n".repeat(300)),
    ] {
        assert_eq!(
            refusal(lab.upload(id, "manifests", name, TEXT).await).0,
            RefusalKind::Unprocessable,
            "{name:?}"
        );
        let renamed = json!({"folder": "manifests", "file_name": "a.yaml", "updated_file_name": name});
        assert_eq!(refusal(lab.patch(id, renamed).await).0, RefusalKind::Unprocessable, "{name:?}");
        assert_eq!(refusal(lab.read(id, Manifests, name).await).0, RefusalKind::NotFound, "{name:?}");
        lab.remove(id, Manifests, name).await.unwrap();
    }
    assert!(outside.exists(&Key::new("secret.yaml").unwrap()).await.unwrap());
    let large = "a".repeat((1 << 20) + 1);
    for (name, text) in [
        ("a.yaml", ""),
        ("a.yaml", " "),
        ("a.yaml", "a: ["),
        ("a.json", "a: 1"),
        ("a.txt", "a"),
        ("a.yaml.patch", "a: 1"),
        ("a.yaml", &large),
    ] {
        assert_eq!(refusal(lab.upload(id, "manifests", name, text).await).0, RefusalKind::Invalid, "{name}");
    }
    let params = json!({"file_name": "a.yaml", "content": "!"});
    let params = serde_json::from_value(params).unwrap();
    assert_eq!(
        refusal(lab.service.files().create_cluster_manifest(&lab.caller, id, params).await),
        (RefusalKind::Invalid, format!("failed to base64-decode cluster manifest content for cluster {id}"))
    );
    assert!(lab.manifests(id, true).await.is_empty() && !lab.in_use(id).await);

    let nobody = ClusterId::random();
    let missing = (RefusalKind::NotFound, "Object Not Found".to_owned());
    assert_eq!(refusal(lab.upload(nobody, "manifests", "a b", "").await), missing);
    assert_eq!(refusal(lab.patch(nobody, json!({"folder": "manifests", "file_name": "a b"})).await), missing);
    assert_eq!(refusal(lab.read(nobody, Manifests, "a").await), missing);
    assert_eq!(refusal(lab.remove(nobody, Manifests, "a").await), missing);
    let list = lab.service.files().list_cluster_manifests(&lab.caller, nobody, true).await;
    assert_eq!(refusal(list), missing);
    lab.stop().await;
}

async fn only_before_the_installation(database: Database) {
    let lab = Lab::start(&database).await;
    let id = lab.single_node().await.id;
    lab.upload(id, "manifests", "a.yaml", TEXT).await.unwrap();
    let lab = in_status(&database, lab, id, ClusterStatus::Installing).await;
    let late = format!(
        "cluster {id} is not in pre-installation states, can't modify manifests after installation has been started"
    );
    let patch = json!({"folder": "manifests", "file_name": "a.yaml", "updated_file_name": "b.yaml"});
    assert_eq!(refusal(lab.patch(id, patch).await), (RefusalKind::Invalid, late.clone()));
    assert_eq!(refusal(lab.remove(id, Manifests, "a.yaml").await), (RefusalKind::Invalid, late));
    lab.upload(id, "manifests", "b.yaml", TEXT).await.unwrap();
    assert_eq!(lab.manifests(id, false).await, ["user manifests/a.yaml", "user manifests/b.yaml"]);
    lab.stop().await;
}

async fn at_the_same_time(database: Database) {
    let lab = Lab::start(&database).await;
    let id = lab.single_node().await.id;
    for round in 0..10 {
        let name = format!("{round}.yaml");
        let (one, other) =
            tokio::join!(lab.upload(id, "manifests", &name, TEXT), lab.upload(id, "openshift", &name, TEXT));
        assert!(one.is_ok() != other.is_ok(), "{one:?} {other:?}");
        let (folder, text) = if one.is_ok() { (Manifests, "manifests") } else { (Openshift, "openshift") };
        // Whoever comes last wins; what is left is never taken for the system's.
        let (again, gone) = tokio::join!(lab.upload(id, text, &name, TEXT), lab.remove(id, folder, &name));
        again.unwrap();
        gone.unwrap();
        assert_eq!(lab.manifests(id, true).await, lab.manifests(id, false).await);
        lab.remove(id, folder, &name).await.unwrap();
        assert!(lab.manifests(id, true).await.is_empty() && !lab.in_use(id).await);
    }
    lab.stop().await;
}

#[tokio::test]
async fn there_is_an_end_to_manifests() {
    let database = Database::sqlite();
    let lab = Lab::start(&database).await;
    let id = lab.single_node().await.id;
    lab.upload(id, "openshift", "first.yaml", TEXT).await.unwrap();
    let folder = database.files().join(format!("{id}/manifests/openshift"));
    // As many files as a hostile client would upload, without its patience.
    for number in 0..5000 {
        std::fs::write(folder.join(format!("{number}.yaml")), "a: 1").unwrap();
    }
    let (kind, text) = refusal(lab.upload(id, "openshift", "last.yaml", TEXT).await);
    assert_eq!(
        (kind, text.ends_with("as the cluster has 5000 manifests already")),
        (RefusalKind::Invalid, true),
        "{text}"
    );
    lab.upload(id, "openshift", "7.yaml", TEXT).await.unwrap();
    assert_eq!(lab.manifests(id, false).await, ["user openshift/7.yaml", "user openshift/first.yaml"]);
    assert_eq!(lab.manifests(id, true).await.len(), 5001);
    lab.stop().await;
}

async fn machine_os_configs(database: Database) {
    let lab = Lab::with(&database, Time::default(), |settings| settings.layering.preview = true).await;
    let id = lab.single_node().await.id;
    let text = include_str!("../data/image_mode.yaml");
    let info = || async { lab.get_cluster(id).await.validations_info };
    assert!(!info().await.contains("ocl-"));

    // What can't be built is refused at once, and names its rule.
    let broken = text.replace("FROM configs AS final", "FROM scratch");
    let (kind, told) = refusal(lab.upload(id, "manifests", "os.yaml", &broken).await);
    assert!(kind == RefusalKind::Unprocessable && told.contains("(V08)"), "{told}");
    assert!(lab.upload(id, "manifests", "os.yaml", text).await.is_ok());
    let (kind, told) = refusal(lab.upload(id, "openshift", "more.yaml", text).await);
    assert!(
        kind == RefusalKind::Unprocessable
            && told.contains("There are two MachineOSConfigs for pool master (V04)"),
        "{told}"
    );

    // Enabled, what is missing blocks; what is there does not.
    let overrides = r#"{"onClusterLayering":{"mode":"Enabled"}}"#;
    lab.service.clusters().update_install_config(&lab.caller, id, overrides).await.unwrap();
    let events =
        lab.events(assisted_service::event::ListEvents { cluster_id: Some(id), ..Default::default() }).await;
    assert!(events.events.0.iter().any(|event| event.name == "ocl_enabled"));
    assert!(info().await.contains("Each pool with hosts has its MachineOSConfig"));
    let moved = json!({"folder": "manifests", "file_name": "os.yaml", "updated_folder": "openshift"});
    lab.patch(id, moved).await.unwrap();
    assert!(info().await.contains("Each pool with hosts has its MachineOSConfig"));
    lab.remove(id, Openshift, "os.yaml").await.unwrap();
    assert!(info().await.contains("There is no MachineOSConfig for pool master (V09)"));

    // Off again, nothing is left of it.
    lab.service.clusters().update_install_config(&lab.caller, id, "").await.unwrap();
    assert!(!info().await.contains("ocl-"));
    let state = lab.service.clusters().get_layering(&lab.caller, id).await.unwrap();
    assert!(!state.enabled && state.builds.is_empty());
}
