//! Proxies between a client and its API server.

use std::time::Duration;

use assisted_kube::client::{ConnectError, from_file, from_foreign_text};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const SILENCE: Duration = Duration::from_secs(60);

fn kubeconfig(proxy: &str) -> String {
    format!(
        "{{current-context: a, contexts: [{{name: a, context: {{cluster: c, user: u}}}}], users: [{{name: u, user: {{}}}}], \
         clusters: [{{name: c, cluster: {{server: 'http://api.example.invalid:6443', proxy-url: '{proxy}'}}}}]}}"
    )
}

#[tokio::test]
async fn the_proxy_of_a_kubeconfig_leads_to_the_api() {
    let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(path.path(), kubeconfig(&format!("http://{}", proxy.local_addr().unwrap()))).unwrap();
    let client = from_file(path.path(), SILENCE).await.unwrap();
    let asking = tokio::spawn(async move { client.apiserver_version().await });
    let (mut stream, _) = proxy.accept().await.unwrap();
    let read = async |stream: &mut TcpStream| {
        let mut text = Vec::new();
        while !text.ends_with(b"\r\n\r\n") {
            text.push(stream.read_u8().await.unwrap());
        }
        String::from_utf8(text).unwrap()
    };
    let asked = read(&mut stream).await;
    assert!(asked.starts_with("CONNECT api.example.invalid:6443 HTTP/1.1\r\n"), "{asked}");
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    let asked = read(&mut stream).await;
    assert!(asked.starts_with("GET /version HTTP/1.1\r\n"), "{asked}");
    let version = r#"{"major": "1", "minor": "34", "gitVersion": "v1.34.4", "gitCommit": "", "gitTreeState": "", "buildDate": "", "goVersion": "", "compiler": "", "platform": ""}"#;
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{version}",
        version.len()
    );
    stream.write_all(answer.as_bytes()).await.unwrap();
    assert_eq!(asking.await.unwrap().unwrap().git_version, "v1.34.4");
}

#[tokio::test]
async fn a_proxy_that_is_not_plain_http_is_refused() {
    for proxy in ["socks5://127.0.0.1:1080", "https://proxy:3128", "http://user:secret@proxy:3128", "proxy"] {
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(path.path(), kubeconfig(proxy)).unwrap();
        let error = from_file(path.path(), SILENCE).await.err().unwrap();
        assert!(matches!(error, ConnectError::Proxy), "{proxy}: {error}");
    }
}

#[tokio::test]
async fn a_kubeconfig_of_somebody_else_stands_alone() {
    let with = |user: &str, cluster: &str| {
        format!(
            "{{current-context: a, contexts: [{{name: a, context: {{cluster: c, user: u}}}}], users: [{{name: u, user: {{{user}}}}}], \
             clusters: [{{name: c, cluster: {{server: 'https://api.example.invalid:6443', {cluster}}}}}]}}"
        )
    };
    for (user, cluster, refused) in [
        ("exec: {command: reboot, apiVersion: client.authentication.k8s.io/v1}", "", "exec"),
        ("auth-provider: {name: gcp, config: {}}", "", "auth-provider"),
        ("tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token", "", "tokenFile"),
        ("client-certificate: /etc/own.crt", "", "client-certificate"),
        ("client-key: /etc/own.key", "", "client-key"),
        ("token: abc", "certificate-authority: /etc/ca.crt", "certificate-authority"),
    ] {
        let error = from_foreign_text(&with(user, cluster), None, SILENCE).await.err().unwrap();
        assert!(matches!(error, ConnectError::Outside { field } if field == refused), "{refused}: {error}");
    }
    assert!(from_foreign_text(&with("token: abc", ""), None, SILENCE).await.is_ok());
    let elsewhere = "https://kube-apiserver.site.svc:6443";
    assert!(from_foreign_text(&with("token: abc", ""), Some(elsewhere), SILENCE).await.is_ok());
    let error = from_foreign_text(&with("token: abc", ""), Some("no address"), SILENCE).await.err().unwrap();
    assert!(matches!(error, ConnectError::Server { .. }), "{error}");
}
