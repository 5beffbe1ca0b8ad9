//! What is told about clusters whose installation has ended: once, without credentials, and only where that is set.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use assisted_service::event::ListEvents;
use assisted_wire::cluster::ClusterStatus;
use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::installation::Ready;
use crate::lab::{Database, Lab, Time, eventually, on_both_engines};

on_both_engines! { a_cluster_is_told_about_once, }

type Seen = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// A server that takes everything, or nothing.
fn receiver(takes: &Arc<Mutex<bool>>) -> (String, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (url, seen) = (format!("http://{}/upload", listener.local_addr().unwrap()), Seen::default());
    let (all, takes) = (Arc::clone(&seen), Arc::clone(takes));
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (all, takes) = (Arc::clone(&all), Arc::clone(&takes));
            std::thread::spawn(move || serve(stream, &all, &takes));
        }
    });
    (url, seen)
}

fn serve(stream: TcpStream, seen: &Seen, takes: &Mutex<bool>) {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).unwrap_or_default() == 0 {
                return;
            }
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).unwrap();
        let takes = *takes.lock().unwrap();
        if head.starts_with("POST") {
            seen.lock().unwrap().push((head, body));
        }
        let status = if takes { 202 } else { 500 };
        write!(stream.get_mut(), "HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n").unwrap();
    }
}

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
    let takes = Arc::new(Mutex::new(false));
    let (url, seen) = receiver(&takes);
    let lab = Lab::with(&database, Time::default(), |settings| {
        settings.generation.generator = assisted_config::Generator::Simulation;
        settings.upload.enable_data_collection = true;
        settings.upload.data_upload_endpoint.clone_from(&url);
        settings.upload.deployment_type = "Podman".to_owned();
    })
    .await;
    let Ready { id, hosts } = ended(&lab).await;
    let until_sent = async |count: usize| {
        eventually("sent", async || {
            lab.pass(900);
            let sent = seen.lock().unwrap().len();
            if sent >= count { Ok(()) } else { Err(format!("{sent}")) }
        })
        .await;
    };
    // What is not taken is sent again.
    until_sent(2).await;
    *takes.lock().unwrap() = true;
    let before = seen.lock().unwrap().len();
    until_sent(before + 1).await;
    let (head, body) = seen.lock().unwrap().last().cloned().unwrap();
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

    // Once it is taken, nothing more is told.
    let told = seen.lock().unwrap().len();
    for _ in 0..20 {
        lab.pass(900);
        lab.get_cluster(id).await;
    }
    assert_eq!(lab.store.clusters_to_upload(10).await.unwrap(), []);
    assert_eq!(seen.lock().unwrap().len(), told);
    lab.stop().await;
}
