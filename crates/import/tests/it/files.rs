//! Files come with what is known of them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use assisted_blob::{Blob, Key, S3};
use assisted_import::Kind;
use assisted_store::Deleted;
use assisted_testkit::AwsServer;
use assisted_wire::id::ClusterId;
use rustix::fs::XattrFlags;

use crate::world::{Ours, Theirs, id};

const SOURCE: &str = "user.assisted-installer-manifest-source";

fn write(root: &Path, key: &str, content: &str) {
    let path = root.join(key);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

async fn text(files: &Blob, key: &str) -> Option<String> {
    let key = Key::new(key).unwrap();
    let content = files.get(&key, 1 << 20).await.ok()?;
    Some(String::from_utf8(content.to_vec()).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_a_folder_come_with_their_marks_and_once() {
    let theirs = Theirs::filled().await;
    let work_dir = tempfile::tempdir().unwrap();
    let root = work_dir.path();
    let cluster = id::<ClusterId>(1, 7).to_string();
    write(root, &format!("{cluster}/kubeconfig"), "kubeconfig-secret");
    write(root, &format!("{cluster}/master-x.ign"), "{}");
    write(root, &format!("{cluster}/logs/controller/logs.tar.gz"), "logs");
    write(root, &format!("{cluster}/manifests/openshift/noted.yaml"), "noted");
    write(root, &format!("metadata/{cluster}/manifests/openshift/noted.yaml@@{SOURCE}"), "user");
    // With the bucket `test`, as many characters as its name has are cut off.
    write(root, &format!("{cluster}/manifests/openshift/cut.yaml"), "cut");
    let cut = &cluster["test".len()..];
    write(root, &format!("test/metadata/{cut}/manifests/openshift/cut.yaml@@{SOURCE}"), "user");
    write(root, &format!("{cluster}/manifests/manifests/cut.yaml"), "cut");
    write(root, &format!("test/metadata/{cut}/manifests/manifests/cut.yaml@@{SOURCE}"), "system");
    write(root, &format!("{cluster}/manifests/openshift/old.yaml"), "old");
    write(root, &format!("{cluster}/manifest-attributes/openshift/old.yaml/user-supplied"), "");
    write(root, &format!("{cluster}/manifests/manifests/system.yaml"), "system");
    write(root, &format!("{cluster}/manifests/openshift/.noted.yaml123"), "a write that was interrupted");
    write(root, "install-config-generate/installercache/x", "scratch");
    write(root, "cluster-7_master_host.tar", "left over");
    let unbound = id::<ClusterId>(2, 102).to_string();
    write(root, &format!("{unbound}/logs/host/logs.tar.gz"), "unbound");
    // Where the file system knows attributes.
    write(root, &format!("{cluster}/manifests/openshift/attributed.yaml"), "attributed");
    let attributed = root.join(format!("{cluster}/manifests/openshift/attributed.yaml"));
    let is_known = rustix::fs::setxattr(&attributed, SOURCE, b"user", XattrFlags::empty()).is_ok();

    let before = std::fs::read_dir(root).unwrap().count();
    let ours = Ours::on_sqlite().await;
    let from = Blob::foreign(root);
    let report = ours.take(&theirs, Some(&from)).await;
    assert_eq!(report.of(Kind::Files).taken, 11, "{:?}", report.left);
    assert_eq!(std::fs::read_dir(root).unwrap().count(), before, "nothing is made there");
    let got = async |key: &str| text(&ours.files, &format!("{cluster}/{key}")).await;
    assert_eq!(got("kubeconfig").await.as_deref(), Some("kubeconfig-secret"));
    assert_eq!(got("logs/controller/logs.tar.gz").await.as_deref(), Some("logs"));
    let mark = |name: &str| format!("manifest-attributes/openshift/{name}/user-supplied");
    for (name, is_users) in [
        ("noted.yaml", true),
        ("cut.yaml", true),
        ("old.yaml", true),
        ("system.yaml", false),
        ("attributed.yaml", is_known),
    ] {
        assert_eq!(got(&mark(name)).await.is_some(), is_users, "{name}");
    }
    let systems = got("manifest-attributes/manifests/cut.yaml/user-supplied").await;
    assert_eq!(systems, None);
    assert_eq!(
        text(&ours.files, &format!("{unbound}/logs/host/logs.tar.gz")).await.as_deref(),
        Some("unbound")
    );
    assert_eq!(text(&ours.files, "cluster-7_master_host.tar").await, None);
    // Sealed, as everything is here.
    let kept = std::fs::read(ours.dir.path().join("files").join(&cluster).join("kubeconfig")).unwrap();
    assert!(!kept.windows(6).any(|part| part == b"secret"));
    let stored = ours.store.cluster(id(1, 7), Deleted::Hidden).await.unwrap().unwrap();
    assert!(stored.record.kubeconfig_stored);
    let other = ours.store.cluster(id(1, 19), Deleted::Hidden).await.unwrap().unwrap();
    assert!(!other.record.kubeconfig_stored);

    // What was changed here stays so.
    let key = Key::new(format!("{cluster}/manifests/openshift/noted.yaml")).unwrap();
    ours.files.put(&key, "changed here").await.unwrap();
    let again = ours.take(&theirs, Some(&from)).await;
    assert_eq!((again.of(Kind::Files).taken, again.of(Kind::Files).there), (0, 11));
    assert_eq!(got("manifests/openshift/noted.yaml").await.as_deref(), Some("changed here"));
}

/// A bucket of a server in memory, that no other test uses.
fn bucket() -> S3 {
    let bucket = AwsServer::bucket().unwrap();
    S3::at(bucket.endpoint.parse().unwrap(), bucket.name, bucket.access_key, bucket.secret_key)
}

/// Puts an object as the replaced service does, with what it notes on it. The server lets everybody in.
fn put(place: &S3, key: &str, content: &str, source: Option<&str>) {
    let host = place.endpoint.as_str().trim_start_matches("http://").trim_end_matches('/');
    let note = source.map(|source| format!("x-amz-meta-assisted-installer-manifest-source: {source}\r\n"));
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "PUT /{}/{key} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{}Content-Length: {}\r\n\r\n{content}",
        place.bucket,
        note.unwrap_or_default(),
        content.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_a_bucket_come_into_a_bucket() {
    let theirs = Theirs::filled().await;
    let (there, here) = (bucket(), bucket());
    let from = Blob::bucket(there.clone()).await.unwrap();
    let cluster = id::<ClusterId>(1, 7).to_string();
    put(&there, &format!("{cluster}/kubeconfig"), "kubeconfig-secret", None);
    put(&there, &format!("{cluster}/manifests/openshift/a.yaml"), "a", Some("user"));
    put(&there, &format!("{cluster}/manifests/openshift/b.yaml"), "b", Some("system"));
    put(&there, &format!("{cluster}/logs/controller/logs.tar.gz"), "logs", None);
    let ours = Ours::on_postgres().await.with_files(Blob::bucket(here.clone()).await.unwrap());
    let report = ours.take(&theirs, Some(&from)).await;
    assert_eq!(report.of(Kind::Files).taken, 4, "{:?}", report.left);
    let got = async |key: &str| text(&ours.files, &format!("{cluster}/{key}")).await;
    assert_eq!(got("kubeconfig").await.as_deref(), Some("kubeconfig-secret"));
    let mark = |name: &str| format!("manifest-attributes/openshift/{name}/user-supplied");
    assert!(got(&mark("a.yaml")).await.is_some() && got(&mark("b.yaml")).await.is_none());
    // Sealed there, too; and what is theirs is as it was.
    let kept = Blob::bucket(here).await.unwrap();
    let sealed = kept.get(&Key::new(format!("{cluster}/kubeconfig")).unwrap(), 1 << 20).await.unwrap();
    assert!(!sealed.windows(6).any(|part| part == b"secret"));
    assert_eq!(from.all().await.unwrap().len(), 4);
    let again = ours.take(&theirs, Some(&from)).await;
    assert_eq!((again.of(Kind::Files).taken, again.of(Kind::Files).there), (0, 4));
}
