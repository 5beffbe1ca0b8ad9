//! Manifests, logs and files over HTTP.

use assisted_blob::Key;
use assisted_config::Settings;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Body, Method};
use serde_json::{Value, json};

use crate::life::register;
use crate::server::Server;

async fn cluster(server: &Server) -> String {
    let (cluster, _) = register(server).await;
    cluster["id"].as_str().unwrap().to_owned()
}

/// Status, headers `Content-Disposition` and `Content-Length`, and body.
pub(crate) async fn fetch(server: &Server, path: &str) -> (u16, String, String, Vec<u8>) {
    let answer = server.client.get(format!("{}{path}", server.url)).send().await.unwrap();
    let header = |name: &str| {
        answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
    };
    let (disposition, length) = (header("content-disposition"), header("content-length"));
    (answer.status().as_u16(), disposition, length, answer.bytes().await.unwrap().to_vec())
}

pub(crate) async fn upload(
    server: &Server,
    path: &str,
    content_type: &str,
    body: impl Into<Body>,
) -> (u16, Value) {
    let request = server.client.post(format!("{}{path}", server.url)).header("Content-Type", content_type);
    let answer = request.body(body).send().await.unwrap();
    let status = answer.status().as_u16();
    (status, answer.json().await.unwrap_or_default())
}

pub(crate) const FORM: &str = "multipart/form-data; boundary=XX";

pub(crate) fn form(name: &str, content: &[u8]) -> Vec<u8> {
    let head = format!(
        "--XX\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\nx\r\n--XX\r\nContent-Disposition: form-data; \
         name=\"{name}\"; filename=\"../../logs.tar.gz\"\r\nContent-Type: application/octet-stream\r\n\r\n"
    );
    [head.as_bytes(), content, b"\r\n--XX--\r\n"].concat()
}

#[tokio::test]
async fn a_manifest_comes_back_as_it_was() {
    let server = Server::start(Settings::default()).await;
    let path = format!("/v2/clusters/{}/manifests", cluster(&server).await);
    let create = |name: &str, content: &str| json!({"file_name": name, "content": STANDARD.encode(content)});
    let (status, made) = server.call(Method::POST, &path, Some(create("a.yaml", "a: \u{fc}\n"))).await;
    assert_eq!((status, &made["manifest_source"]), (201, &json!("user")), "{made}");
    let file = fetch(&server, &format!("{path}/files?file_name=a.yaml")).await;
    let disposition = r#"attachment; filename="a.yaml""#.to_owned();
    assert_eq!(file, (200, disposition, "6".to_owned(), "a: \u{fc}\n".as_bytes().to_vec()));
    let moved = json!({"folder": "manifests", "file_name": "a.yaml", "updated_folder": "openshift", "updated_file_name": null});
    assert_eq!(server.call(Method::PATCH, &path, Some(moved)).await.0, 200);
    let (status, list) = server.call(Method::GET, &path, None).await;
    assert_eq!(
        (status, list),
        (200, json!([{"file_name": "a.yaml", "folder": "openshift", "manifest_source": "user"}]))
    );
    for query in [
        "file_name=a.yaml",
        "file_name=../openshift/a.yaml",
        "file_name=..%2fa",
        "file_name=a%00b",
        "file_name=.",
    ] {
        let (status, _, _, body) = fetch(&server, &format!("{path}/files?{query}")).await;
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((status, &body["code"]), (404, &json!("404")), "{query} {body}");
    }
    assert_eq!(fetch(&server, &format!("{path}/files?folder=etc&file_name=a.yaml")).await.0, 400);
    let delete = format!("{path}?folder=openshift&file_name=a.yaml");
    assert_eq!(server.call(Method::DELETE, &delete, None).await.0, 200);
    assert_eq!(server.call(Method::GET, &path, None).await, (200, json!([])));

    for (name, status) in
        [("a/b.yaml", 400), ("a.txt", 400), (".a.yaml", 422), ("a b.yaml", 422), ("a\u{0}.yaml", 422)]
    {
        let (given, body) = server.call(Method::POST, &path, Some(create(name, "a: 1"))).await;
        assert_eq!(given, status, "{name} {body}");
    }
    let huge = json!({"file_name": "a.yaml", "content": "A".repeat(5 << 20)});
    assert_eq!(server.call(Method::POST, &path, Some(huge)).await.0, 413);
    let large = create("a.yaml", &"a".repeat((1 << 20) + 1));
    assert_eq!(server.call(Method::POST, &path, Some(large)).await.0, 400);
    server.stop().await;
}

#[tokio::test]
async fn logs_are_passed_on_as_they_come() {
    let server = Server::start(Settings::default()).await;
    let id = cluster(&server).await;
    let path = format!("/v2/clusters/{id}/logs");
    let controller = format!("{path}?logs_type=controller");
    assert_eq!(fetch(&server, &controller).await.0, 409);
    let content: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 241) as u8).collect();
    assert_eq!(upload(&server, &controller, FORM, form("upfile", &content)).await, (204, Value::Null));
    let disposition = format!(r#"attachment; filename="life_{id}_controller.tar.gz""#);
    assert_eq!(fetch(&server, &controller).await, (200, disposition, "3000000".to_owned(), content));
    let (status, disposition, _, all) = fetch(&server, &path).await;
    assert_eq!((status, disposition), (200, format!(r#"attachment; filename="life_{id}.tar""#)));
    assert!(all.len() > 3_000_000 && all.len().is_multiple_of(512));

    let host = format!("{path}?logs_type=host");
    let refused = [
        (&path, FORM, form("upfile", b"x"), 400),
        (&host, FORM, form("upfile", b"x"), 400),
        (&controller, FORM, form("downfile", b"x"), 400),
        (&controller, FORM, Vec::new(), 400),
        (&controller, FORM, b"no form at all".to_vec(), 400),
        (&controller, FORM, form("upfile", b"x")[..150].to_vec(), 400),
        (&controller, "multipart/form-data", form("upfile", b"x"), 415),
        (&controller, "application/json", b"{}".to_vec(), 415),
        // A head that never ends is not held.
        (&controller, FORM, [b"--XX\r\nX: ".as_slice(), &[b'x'; 8 << 20]].concat(), 400),
    ];
    for (path, content_type, body, expected) in refused {
        let (status, body) = upload(&server, path, content_type, body).await;
        assert_eq!(status, expected, "{path} {content_type} {body}");
    }
    assert_eq!(fetch(&server, &controller).await.2, "3000000");
    server.stop().await;
}

#[tokio::test]
async fn files_are_given_out_in_their_time() {
    let server = Server::start(Settings::default()).await;
    let id = cluster(&server).await;
    let path = format!("/v2/clusters/{id}/downloads");
    let key = Key::new(format!("{id}/master.ign")).unwrap();
    server.service.blob().put(&key, "{}").await.unwrap();
    for (file, status) in [
        ("files?file_name=master.ign", 409),
        ("files?file_name=../../etc/passwd", 400),
        ("files?file_name=kubeconfig", 400),
        ("files", 400),
        ("credentials?file_name=kubeconfig", 409),
        ("credentials?file_name=master.ign", 400),
        ("files-presigned?file_name=master.ign", 400),
        ("files-presigned?file_name=manifests&additional_name=../../x", 400),
        ("credentials-presigned?file_name=kubeconfig", 400),
    ] {
        assert_eq!(fetch(&server, &format!("{path}/{file}")).await.0, status, "{file}");
    }
    let host =
        "/v2/infra-env/11111111-2222-3333-4444-555555555555/hosts/11111111-2222-3333-4444-555555555555";
    assert_eq!(fetch(&server, &format!("{host}/downloads/ignition")).await.0, 404);
    let (status, body) = server.call(Method::GET, &format!("/v2/clusters/{id}/credentials"), None).await;
    assert_eq!((status, &body["id"]), (409, &json!(409)), "{body}");
    let ingress = format!("/v2/clusters/{id}/uploads/ingress-cert");
    assert_eq!(server.call(Method::POST, &ingress, Some(json!("not a certificate"))).await.0, 400);
    assert_eq!(server.call(Method::POST, &ingress, Some(json!({"a": 1}))).await.0, 400);
    let progress = format!("/v2/clusters/{id}/logs-progress");
    assert_eq!(server.call(Method::PUT, &progress, Some(json!({"logs_state": "requested"}))).await.0, 204);
    assert_eq!(server.call(Method::PUT, &progress, Some(json!({"logs_state": "lost"}))).await.0, 400);
    server.stop().await;
}

/// What an address that the service gave out leads to; `more` follows it.
async fn follow(server: &Server, address: &str, more: &str) -> (u16, String, String, Vec<u8>) {
    let path = address.strip_prefix("/api/assisted-install").unwrap();
    assert!(path.starts_with("/v2/presigned?token="), "{path}");
    fetch(server, &format!("{path}{more}")).await
}

#[tokio::test]
async fn an_address_opens_one_file_of_a_bucket_as_its_download_does() {
    let server = Box::pin(Server::start_in_bucket(Settings::default())).await;
    let id = cluster(&server).await;
    let (path, manifests) = (format!("/v2/clusters/{id}/downloads"), format!("/v2/clusters/{id}/manifests"));
    for name in ["a.yaml", "b.yaml"] {
        let manifest = json!({"file_name": name, "content": STANDARD.encode(format!("of: {name}\n"))});
        assert_eq!(server.call(Method::POST, &manifests, Some(manifest)).await.0, 201);
    }
    let of_a = format!("{path}/files-presigned?file_name=manifests&additional_name=manifests/a.yaml");
    let (status, made) = server.call(Method::GET, &of_a, None).await;
    assert_eq!(status, 200, "{made}");
    assert!(!made["expires_at"].as_str().unwrap().starts_with("0001"), "{made}");
    let address = made["url"].as_str().unwrap();
    let direct = fetch(&server, &format!("{manifests}/files?file_name=a.yaml")).await;
    assert_eq!(direct.0, 200);
    for more in ["", "&file_name=b.yaml", "&additional_name=manifests/b.yaml&cluster_id=x&token=x"] {
        assert_eq!(follow(&server, address, more).await, direct, "{more}");
    }

    let refused = |answer: (u16, String, String, Vec<u8>)| {
        let body: Value = serde_json::from_slice(&answer.3).unwrap();
        let told = json!({"code": 403, "message": "the address of the file is not good, or not any more"});
        assert_eq!((answer.0, body), (403, told));
    };
    refused(follow(&server, address, "A").await);
    for query in ["", "?token=", "?token=x", "?file_name=a.yaml", "?token=v1.0000000000000000.AAAA"] {
        refused(fetch(&server, &format!("/v2/presigned{query}")).await);
    }
    let elsewhere = address.strip_prefix("/api/assisted-install").unwrap();
    assert_eq!(server.call(Method::POST, elsewhere, None).await.0, 404);
    assert_eq!(fetch(&server, &elsewhere.replace("/presigned", "/presigned/x")).await.0, 404);

    let logs = format!("/v2/clusters/{id}/logs?logs_type=controller");
    let of_logs = format!("{path}/files-presigned?file_name=logs&logs_type=controller");
    assert_eq!(server.call(Method::GET, &of_logs, None).await, server.call(Method::GET, &logs, None).await);
    let content: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 241) as u8).collect();
    assert_eq!(upload(&server, &logs, FORM, form("upfile", &content)).await, (204, Value::Null));
    let (status, made) = server.call(Method::GET, &of_logs, None).await;
    assert_eq!(status, 200, "{made}");
    let followed = follow(&server, made["url"].as_str().unwrap(), "").await;
    assert!(followed == fetch(&server, &logs).await && followed.3 == content);

    for (file, status) in [
        ("files-presigned?file_name=master.ign", 409),
        ("files-presigned?file_name=kubeconfig", 400),
        ("files-presigned?file_name=manifests", 500),
        ("files-presigned?file_name=manifests&additional_name=../../x", 400),
        ("files-presigned?file_name=manifests&additional_name=openshift/a.yaml", 404),
        ("credentials-presigned?file_name=kubeconfig", 409),
        ("credentials-presigned?file_name=master.ign", 400),
    ] {
        assert_eq!(fetch(&server, &format!("{path}/{file}")).await.0, status, "{file}");
    }
    // A file that is gone meanwhile.
    let delete = format!("{manifests}?folder=manifests&file_name=a.yaml");
    assert_eq!(server.call(Method::DELETE, &delete, None).await.0, 200);
    assert_eq!(follow(&server, address, "").await.0, 404);
    server.stop().await;
}
