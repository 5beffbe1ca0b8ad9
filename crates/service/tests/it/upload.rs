//! What is told about clusters whose installation has ended: once, without credentials, and only where that is set.

use std::io::Read;

use assisted_config::Settings;
use assisted_service::event::ListEvents;
use assisted_testkit::{Answer, Received, Receiver};
use assisted_wire::cluster::ClusterStatus;
use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::installation::Ready;
use crate::lab::{Database, Lab, Time, eventually, on_both_engines};

on_both_engines! { a_cluster_is_told_about_once, }

const TAKEN: Answer = Answer::Status(202);

/// The files of the one part of a form, by their names.
fn files(head: &str, body: &[u8]) -> Vec<(String, String)> {
    let boundary = head.split("boundary=").nth(1).unwrap().split("\r\n").next().unwrap();
    let start = body.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let part = String::from_utf8_lossy(&body[..start]).into_owned();
    assert!(part.contains("name=\"file\"; filename=\"events.tgz\""), "{part}");
    assert!(part.contains("application/vnd.redhat.assisted-installer.events+tar"), "{part}");
    let end = body.len() - format!("\r\n--{boundary}--\r\n").len();
    let mut archive = tar::Archive::new(GzDecoder::new(&body[start..end]));
    let mut all = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        all.push((name, text));
    }
    all
}

async fn ended(lab: &Lab) -> Ready {
    let ready = lab.ready().await;
    lab.install_at(&ready).await;
    lab.service.clusters().cancel_installation(&lab.caller, ready.id).await.unwrap();
    lab.until_cluster(ready.id, "cancelled", |cluster| cluster.status == ClusterStatus::Cancelled).await;
    ready
}

async fn a_cluster_is_told_about_once(database: Database) {
    let receiver = Receiver::start(Answer::Status(500)).unwrap();
    let sent = || -> Vec<Received> {
        receiver.received().into_iter().filter(|received| received.head.starts_with("POST")).collect()
    };
    let set = |settings: &mut Settings| {
        settings.generation.generator = assisted_config::Generator::Simulation;
        settings.upload.enable_data_collection = true;
        settings.upload.data_upload_endpoint = format!("{}/upload", receiver.url);
        settings.upload.deployment_type = "Podman".to_owned();
    };
    let lab = Lab::with(&database, Time::default(), set).await;
    let Ready { id, hosts } = ended(&lab).await;
    let until_told = async |answer: Answer, count: usize| {
        eventually("sent", async || {
            lab.pass_at_rest(900).await;
            let told = sent().iter().filter(|received| received.answer == answer).count();
            if told >= count { Ok(()) } else { Err(format!("{told}")) }
        })
        .await;
    };
    // What is not taken is sent again.
    until_told(Answer::Status(500), 2).await;
    receiver.answer_with(TAKEN);
    until_told(TAKEN, 1).await;
    eventually("known to be taken", async || {
        let left = lab.store.clusters_to_upload(10).await.unwrap();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
    let Received { head, body, .. } = sent().into_iter().rfind(|received| received.answer == TAKEN).unwrap();
    let lower = head.to_lowercase();
    assert!(lower.contains("authorization: bearer dxnlcjpwyxnz"), "{head}");
    assert!(lower.contains(&format!("cluster/{id}")), "{head}");

    let files = files(&head, &body);
    let names: Vec<_> = files.iter().map(|(name, _)| name.strip_prefix(&format!("{id}/")).unwrap()).collect();
    let wanted = [
        "events/cluster.json",
        "events/hosts.json",
        "events/infraenv.json",
        "events.json",
        "versions.json",
        "metadata.json",
    ];
    assert_eq!(names, wanted);
    let read = |name: &str| -> Value {
        let (_, text) = files.iter().find(|(known, _)| known.ends_with(&format!("/{name}"))).unwrap();
        serde_json::from_str(text).unwrap()
    };
    assert_eq!(
        (&read("events/cluster.json")["id"], &read("events/cluster.json")["user_name"]),
        (&json!(id), &json!("admin"))
    );
    assert_eq!(read("events/hosts.json").as_array().unwrap().len(), hosts.len());
    let listed = lab.events(ListEvents { cluster_id: Some(id), ..ListEvents::default() }).await;
    assert!(read("events.json").as_array().unwrap().len() >= usize::try_from(listed.total).unwrap());
    let metadata = read("metadata.json");
    assert_eq!(
        (&metadata["deployment-type"], metadata["discovery-agent"].is_string()),
        (&json!("Podman"), true)
    );
    for (name, text) in &files {
        for secret in ["dXNlcjpwYXNz", "pull_secret\":", "hunter2"] {
            assert!(!text.contains(secret), "{name} has {secret}");
        }
    }

    // Once it is taken, nothing more is told. The clock of this test runs on while archives are sent, past leases too: what was
    // begun under one that has expired ends with the service.
    let time = lab.time.clone();
    lab.stop().await;
    let lab = Lab::with(&database, time, set).await;
    let told = sent().len();
    for _ in 0..20 {
        lab.pass(900);
        lab.get_cluster(id).await;
    }
    assert_eq!(sent().len(), told);
    lab.stop().await;
}

/// Nobody is told unless it is set, and the other side is not even asked whether it is there. What has ended meanwhile is told about
/// once it is set.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_told_by_default() {
    let (database, receiver) = (Database::sqlite(), Receiver::start(TAKEN).unwrap());
    let set = |settings: &mut Settings| {
        settings.generation.generator = assisted_config::Generator::Simulation;
        settings.upload.data_upload_endpoint = format!("{}/upload", receiver.url);
    };
    let lab = Lab::with(&database, Time::default(), set).await;
    let Ready { id, .. } = ended(&lab).await;
    let mut turned = 0;
    eventually("at rest again and again", async || {
        turned += u32::from(lab.pass_at_rest(900).await);
        if turned > 5 { Ok(()) } else { Err(format!("{turned} times")) }
    })
    .await;
    assert_eq!(lab.store.clusters_to_upload(10).await.unwrap(), [id]);
    let time = lab.time.clone();
    lab.stop().await;
    assert!(receiver.received().is_empty(), "{:?}", receiver.received());

    let lab = Lab::with(&database, time, |settings| {
        settings.upload.enable_data_collection = true;
        set(settings);
    })
    .await;
    eventually("told about", async || {
        lab.pass_at_rest(900).await;
        let left = lab.store.clusters_to_upload(10).await.unwrap();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
    let posts = receiver.received().into_iter().filter(|received| received.head.starts_with("POST")).count();
    assert_eq!(posts, 1);
    lab.stop().await;
}
