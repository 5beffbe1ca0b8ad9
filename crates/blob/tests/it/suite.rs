//! What holds wherever files are kept: in a directory, and in a bucket of S3.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use assisted_base::http::{Trust, authorities};
use assisted_blob::{Blob, Error, S3};
use assisted_seal::{Key as SealKey, Keyring, Keys};
use assisted_testkit::{Authority, AwsServer, Hole, S3Server};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use tempfile::TempDir;

use super::{LIMIT, files, key};

/// Where files are kept.
#[derive(Clone, Copy)]
enum Place {
    Directory,
    Bucket(Server),
}

/// Servers that keep buckets.
#[derive(Clone, Copy)]
enum Server {
    Moto,
    /// It verifies each signature.
    S3sFs,
}

/// A bucket that no other test uses.
pub(crate) fn bucket(create: bool) -> S3 {
    bucket_at(Server::Moto, create)
}

fn bucket_at(server: Server, create: bool) -> S3 {
    let bucket = match server {
        Server::Moto => AwsServer::bucket(),
        Server::S3sFs => S3Server::bucket(),
    }
    .unwrap();
    let endpoint = bucket.endpoint.parse().unwrap();
    S3 { create, ..S3::at(endpoint, bucket.name, bucket.access_key, bucket.secret_key) }
}

fn folder(dir: &TempDir) -> PathBuf {
    dir.path().join("data/blob")
}

impl Place {
    async fn open(self) -> (TempDir, Blob) {
        let dir = tempfile::tempdir().unwrap();
        let blob = match self {
            Self::Directory => Blob::open(folder(&dir)).await,
            Self::Bucket(server) => Blob::bucket(bucket_at(server, true)).await,
        };
        (dir, blob.unwrap())
    }
}

macro_rules! in_all_places {
    ($($test:ident),+ $(,)?) => {
        mod directory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $test() {
                super::$test(super::Place::Directory).await;
            })+
        }
        mod bucket {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $test() {
                super::$test(super::Place::Bucket(super::Server::Moto)).await;
            })+
        }
        mod everything_on_a_second_server {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $test() {
                super::$test(super::Place::Bucket(super::Server::S3sFs)).await;
            })+
        }
    };
}

in_all_places![
    what_is_put_is_got,
    parts_are_clipped_to_the_file,
    streams_are_written_whole_or_not_at_all,
    large_files_come_in_parts,
    folders_are_listed_and_deleted,
    writers_and_deleters_do_not_disturb_each_other,
    sealed_files_are_read_as_they_were_put,
    files_of_an_older_key_are_sealed_anew,
];

fn content(len: usize) -> Bytes {
    (0..len).map(|n| b'a' + (n % 23) as u8).collect()
}

async fn what_is_put_is_got(place: Place) {
    let (dir, blob) = place.open().await;
    let file = key(match place {
        // It tells keys in lists as they are, though encoded ones are asked for.
        Place::Bucket(Server::S3sFs) => "c1/logs of a b/bootstrap ü.ign",
        _ => "c1/logs of a+b %2F/bootstrap ü.ign",
    });
    assert!(!blob.exists(&file).await.unwrap());
    assert!(matches!(blob.get(&file, LIMIT).await, Err(Error::NotFound(missing)) if missing == file));
    blob.put(&file, "old").await.unwrap();
    blob.put(&file, "new content").await.unwrap();
    assert_eq!(blob.get(&file, 11).await.unwrap(), "new content");
    assert!(matches!(blob.get(&file, 10).await, Err(Error::TooLarge { limit: 10, .. })));
    let known = blob.metadata(&file).await.unwrap().unwrap();
    assert_eq!(known.size, 11);
    let age = jiff::Timestamp::now().duration_since(known.modified_at);
    assert!(age.as_secs().abs() < 3600, "{age}");
    let listed = blob.list(&key("c1")).await.unwrap();
    assert_eq!(
        listed.iter().map(|(key, object)| (key.clone(), object.size)).collect::<Vec<_>>(),
        [(file.clone(), 11)]
    );
    if let Place::Directory = place {
        assert_eq!(files(&dir), 1);
        let path = folder(&dir).join(file.as_str());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = Blob::open(folder(&dir)).await.unwrap();
        assert_eq!(again.get(&file, LIMIT).await.unwrap(), "new content");
    }
    blob.put(&key("empty"), "").await.unwrap();
    assert_eq!(blob.get(&key("empty"), LIMIT).await.unwrap(), "");
    assert_eq!(blob.metadata(&key("empty")).await.unwrap().unwrap().size, 0);
}

async fn parts_are_clipped_to_the_file(place: Place) {
    let (_dir, blob) = place.open().await;
    let file = key("f");
    blob.put(&file, "0123456789").await.unwrap();
    for (range, expected) in [
        (0..10, "0123456789"),
        (3..5, "34"),
        (8..100, "89"),
        (10..20, ""),
        (50..60, ""),
        (4..4, ""),
        (0..u64::MAX, "0123456789"),
    ] {
        assert_eq!(blob.get_range(&file, range.clone()).await.unwrap(), expected, "{range:?}");
        let (object, pieces) = blob.stream(&file, Some(range.clone())).await.unwrap();
        let content: Vec<Bytes> = pieces.try_collect().await.unwrap();
        assert_eq!((object.size, content.concat()), (10, expected.as_bytes().to_vec()), "{range:?}");
    }
    // A reversed range is what a hostile client asks for.
    #[allow(clippy::reversed_empty_ranges, reason = "the case under test")]
    let reversed = 7..2;
    assert_eq!(blob.get_range(&file, reversed).await.unwrap(), "");
}

async fn streams_are_written_whole_or_not_at_all(place: Place) {
    let (dir, blob) = place.open().await;
    let logs = key("c1/logs/h1/logs.tar.gz");
    let pieces = |count: usize| stream::iter((0..count).map(|n| Ok(Bytes::from(vec![n as u8; 1000]))));
    assert_eq!(blob.put_stream(&logs, pieces(1000), 1_000_000).await.unwrap(), 1_000_000);
    let (_, read) = blob.stream(&logs, None).await.unwrap();
    assert_eq!(read.map(|piece| piece.unwrap().len()).fold(0, async |sum, size| sum + size).await, 1_000_000);

    assert!(matches!(blob.put_stream(&logs, pieces(1001), 1_000_000).await, Err(Error::TooLarge { .. })));
    let broken = stream::iter([Ok(Bytes::from_static(b"x")), Err(std::io::Error::other("connection lost"))]);
    assert!(matches!(blob.put_stream(&logs, broken, LIMIT).await, Err(Error::Io { .. })));
    let large = stream::iter((0..20).map(|_| Ok(Bytes::from(vec![0; 1 << 20]))));
    assert!(matches!(blob.put_stream(&logs, large, 19 << 20).await, Err(Error::TooLarge { .. })));
    assert_eq!(blob.metadata(&logs).await.unwrap().unwrap().size, 1_000_000);
    assert_eq!(blob.list(&key("c1")).await.unwrap().len(), 1, "nothing unfinished is seen");
    if let Place::Directory = place {
        assert_eq!(files(&dir), 1, "nothing unfinished is left");
    }
}

async fn large_files_come_in_parts(place: Place) {
    let (_dir, blob) = place.open().await;
    let whole = content(20 << 20);
    blob.put(&key("put"), whole.clone()).await.unwrap();
    let pieces = whole.chunks(3 << 20).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect::<Vec<_>>();
    let size = blob.put_stream(&key("streamed"), stream::iter(pieces), u64::MAX).await.unwrap();
    assert_eq!(size, whole.len() as u64);
    for name in ["put", "streamed"] {
        assert!(blob.get(&key(name), u64::MAX).await.unwrap() == whole, "{name}");
        let (_, pieces) = blob.stream(&key(name), Some(1_000_000..17_000_000)).await.unwrap();
        let read: Vec<Bytes> = pieces.try_collect().await.unwrap();
        assert!(read.concat() == whole[1_000_000..17_000_000], "{name}");
    }
}

async fn folders_are_listed_and_deleted(place: Place) {
    let (dir, blob) = place.open().await;
    for name in [
        "c1/master.ign",
        "c1/manifests/openshift/b.yaml",
        "c1/manifests/openshift/a.yaml",
        "c10/master.ign",
        "c1.tar",
    ] {
        blob.put(&key(name), name.to_owned()).await.unwrap();
    }
    let list = async |folder: &str| {
        let found = blob.list(&key(folder)).await.unwrap();
        found.iter().map(|(key, _)| key.as_str().to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(list("c1").await, "c1/manifests/openshift/a.yaml c1/manifests/openshift/b.yaml c1/master.ign");
    assert_eq!(list("c1/master.ign").await, "c1/master.ign");
    assert_eq!(list("c1/master.ign/x").await, "");
    assert_eq!(list("none").await, "");

    assert!(blob.delete(&key("c1/master.ign")).await.unwrap());
    assert!(!blob.delete(&key("c1/master.ign")).await.unwrap());
    assert!(!blob.delete(&key("c1.tar/below")).await.unwrap());
    assert_eq!(blob.delete_all(&key("c1")).await.unwrap(), 2);
    assert_eq!(blob.delete_all(&key("c1")).await.unwrap(), 0);
    assert!(!folder(&dir).join("c1").exists(), "empty folders go");
    assert_eq!(list("c10").await, "c10/master.ign");
}

async fn writers_and_deleters_do_not_disturb_each_other(place: Place) {
    let (dir, blob) = place.open().await;
    let rounds = match place {
        Place::Directory => 50,
        Place::Bucket(_) => 5,
    };
    let tasks = (0..8).map(|n| {
        let blob = blob.clone();
        tokio::spawn(async move {
            for _ in 0..rounds {
                let file = key(&format!("shared/folder/{}", n % 3));
                blob.put(&file, vec![n; 4096]).await.unwrap();
                match blob.get(&file, LIMIT).await {
                    Ok(content) => {
                        assert!(content.len() == 4096 && content.iter().all(|byte| *byte == content[0]));
                    }
                    Err(error) => assert!(matches!(error, Error::NotFound(_)), "{error}"),
                }
                blob.list(&key("shared")).await.unwrap();
                blob.delete(&file).await.unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(blob.list(&key("shared")).await.unwrap(), []);
    assert_eq!(files(&dir), 0);
}

async fn streamed(blob: &Blob, name: &str, range: Option<std::ops::Range<u64>>) -> Vec<u8> {
    let (_, pieces) = blob.stream(&key(name), range).await.unwrap();
    let pieces: Vec<Bytes> = pieces.try_collect().await.unwrap();
    pieces.concat()
}

async fn sealed_files_are_read_as_they_were_put(place: Place) {
    let (_dir, plain) = place.open().await;
    let blob = plain.clone().sealed(Keyring::generate().unwrap());
    for len in [0, 1, 65_535, 65_536, 65_537, 300_000] {
        let whole = content(len);
        let pieces = whole.chunks(1000).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect::<Vec<_>>();
        blob.put(&key("c/put"), whole.clone()).await.unwrap();
        let size = blob.put_stream(&key("c/streamed"), stream::iter(pieces), LIMIT).await.unwrap();
        assert_eq!(size, len as u64);
        for name in ["c/put", "c/streamed"] {
            assert!(blob.get(&key(name), LIMIT).await.unwrap() == whole, "{name} {len}");
            assert!(streamed(&blob, name, None).await == whole, "{name} {len}");
            assert_eq!(blob.metadata(&key(name)).await.unwrap().unwrap().size, len as u64);
            let end = len as u64;
            for range in [0..end, end / 2..end, 65_530..65_540, 10..20, end..end + 5] {
                let wanted = whole.slice(range.start.min(end) as usize..range.end.min(end) as usize);
                let got = blob.get_range(&key(name), range.clone()).await.unwrap();
                assert!(got == wanted, "{name} {len} {range:?}");
                assert!(streamed(&blob, name, Some(range)).await == wanted);
            }
            let raw = plain.get(&key(name), u64::MAX).await.unwrap();
            assert!(len < 100 || !raw.windows(8).any(|part| part == &whole[..8]), "{name} {len}");
        }
        let listed = blob.list(&key("c")).await.unwrap();
        assert!(listed.len() == 2 && listed.iter().all(|(_, object)| object.size == len as u64));
    }
    let large = blob.get(&key("c/put"), 10).await;
    assert!(matches!(large, Err(Error::TooLarge { limit: 10, .. })), "the limit is that of the content");
    let other = plain.sealed(Keyring::generate().unwrap());
    assert!(other.list(&key("c")).await.is_err());
    assert_eq!(other.delete_all(&key("c")).await.unwrap(), 2, "what can't be opened can be deleted");
}

async fn files_of_an_older_key_are_sealed_anew(place: Place) {
    let (_dir, plain) = place.open().await;
    for name in ["c/kubeconfig", "c/logs/host", "d"] {
        plain.put(&key(name), format!("s3cr3t of {name}")).await.unwrap();
    }
    // It answers HEAD without an ETag, by which a file that is put in parts is known to be the one that was read.
    let has_large = !matches!(place, Place::Bucket(Server::S3sFs));
    if has_large {
        plain.put(&key("c/logs/large"), content(9 << 20)).await.unwrap();
    }
    let count = 3 + u64::from(has_large);
    let before = plain.metadata(&key("d")).await.unwrap().unwrap();
    let old = SealKey::generate().unwrap();
    let keys = Keyring::new(Keys::of(old.clone()));
    let blob = plain.clone().sealed(keys.clone());
    assert_eq!(blob.get(&key("d"), LIMIT).await.unwrap(), "s3cr3t of d");
    assert_eq!(blob.seal_files().await.unwrap(), count);
    assert_eq!(blob.seal_files().await.unwrap(), 0);
    assert!(!plain.get(&key("d"), LIMIT).await.unwrap().windows(6).any(|part| part == b"s3cr3t"));
    let new = SealKey::generate().unwrap();
    keys.replace(Keys { opens: vec![old], ..Keys::of(new.clone()) });
    assert_eq!(blob.seal_files().await.unwrap(), count);
    keys.replace(Keys::of(new));
    for name in ["c/kubeconfig", "c/logs/host", "d"] {
        assert_eq!(blob.get(&key(name), LIMIT).await.unwrap(), format!("s3cr3t of {name}"));
    }
    if has_large {
        assert!(blob.get(&key("c/logs/large"), u64::MAX).await.unwrap() == content(9 << 20));
    }
    if let Place::Directory = place {
        let after = blob.metadata(&key("d")).await.unwrap().unwrap();
        assert_eq!(after, before, "size and time are those of the content");
    }
    let foreign = plain.sealed(Keyring::generate().unwrap());
    assert!(matches!(foreign.get(&key("d"), LIMIT).await, Err(Error::Io { .. })));
}

#[tokio::test]
async fn a_bucket_that_is_not_there_is_made_or_told() {
    let place = bucket(false);
    let told = Blob::bucket(place.clone()).await.unwrap_err();
    let told = assisted_base::error::chain(&told);
    assert!(
        told.contains(&format!("there is no bucket {}", place.bucket)) && told.contains("CREATE_S3_BUCKET"),
        "{told}"
    );
    let made = Blob::bucket(S3 { create: true, ..place.clone() }).await.unwrap();
    made.put(&key("a"), "b").await.unwrap();
    let again = Blob::bucket(place).await.unwrap();
    assert_eq!(again.get(&key("a"), LIMIT).await.unwrap(), "b");
    assert_eq!(again.usage().await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_whose_server_is_away_is_told_apart() {
    let place = bucket(true);
    let network = Hole::before(place.endpoint.port().unwrap()).await.unwrap();
    let endpoint = format!("http://127.0.0.1:{}", network.port()).parse().unwrap();
    let blob = Blob::bucket(S3 { endpoint, ..place }).await.unwrap();
    blob.put(&key("a"), "b").await.unwrap();
    network.break_all();
    assert!(blob.get(&key("a"), LIMIT).await.unwrap_err().is_away());
    assert!(blob.put(&key("a"), "c").await.unwrap_err().is_away());
    network.open(false);
    assert_eq!(blob.get(&key("a"), LIMIT).await.unwrap(), "b");
    assert!(!blob.get(&key("b"), LIMIT).await.unwrap_err().is_away());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_proves_its_name_to_who_trusts_its_authority() {
    let dir = tempfile::tempdir().unwrap();
    let (ours, foreign) = (Authority::new("ours").unwrap(), Authority::new("foreign").unwrap());
    let server = AwsServer::start_with_tls(&ours, dir.path()).unwrap();
    let trusting = |authority: &Authority, url: &str| {
        let trust = Trust::Also(authorities(authority.pem.as_bytes()).unwrap());
        S3 { trust, ..S3::at(url.parse().unwrap(), "files", "me", "hush") }
    };
    let blob = Blob::bucket(trusting(&ours, &server.url)).await.unwrap();
    let whole = content(9 << 20);
    blob.put(&key("a"), whole.clone()).await.unwrap();
    assert!(blob.get(&key("a"), u64::MAX).await.unwrap() == whole);

    let other_name = server.url.replace("127.0.0.1", "localhost");
    assert_ne!(other_name, server.url);
    let refused = [
        trusting(&foreign, &server.url),
        trusting(&ours, &other_name),
        S3 { trust: Trust::System, ..trusting(&ours, &server.url) },
    ];
    // Each is tried several times, with pauses.
    for opened in futures::future::join_all(refused.map(Blob::bucket)).await {
        let told = assisted_base::error::chain(&opened.unwrap_err());
        assert!(told.contains("invalid peer certificate") && !told.contains("hush"), "{told}");
    }
}

#[tokio::test]
async fn everything_of_a_wrong_secret_is_told() {
    let place = S3 { secret_key: "guess".into(), ..bucket_at(Server::S3sFs, true) };
    let told = assisted_base::error::chain(&Blob::bucket(place).await.unwrap_err());
    assert!(told.contains("is not open to AWS_ACCESS_KEY_ID") && !told.contains("guess"), "{told}");
}

#[tokio::test]
async fn errors_tell_nothing_that_opens_the_bucket() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let place = S3 { endpoint: endpoint.parse().unwrap(), ..bucket(false) };
    let error = Blob::bucket(place).await.unwrap_err();
    let told = format!("{error:?} {}", assisted_base::error::chain(&error));
    assert!(!told.contains("Signature") && !told.contains("hush"), "{told}");
}
