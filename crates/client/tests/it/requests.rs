//! What goes out.

use assisted_client::{ClusterFilter, EventCounts, EventFilter, Order};
use assisted_wire::event::EventSeverity;
use assisted_wire::host_params::HostCreateParams;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::operation::{OperationId, Scheme};
use assisted_wire::secret::Secret;
use assisted_wire::step::StepReply;
use axum::body::Body;
use axum::response::Response;

use crate::server::Server;

const ID: &str = "856f4f9c-3c08-4d97-8ec7-ea0ad7d4cadf";

#[tokio::test]
async fn filters_become_queries_and_headers() {
    let server = Server::start().await;
    server.then(200, Some("application/json"), "[]");
    let filter = ClusterFilter {
        unregistered: true,
        with_hosts: true,
        owner: Some("a b&c".into()),
        ..ClusterFilter::default()
    };
    assert!(server.client().list_clusters(&filter).await.unwrap().is_empty());
    let asked = server.requests().remove(0);
    assert_eq!(asked.line, "GET /api/assisted-install/v2/clusters?with_hosts=true&owner=a+b%26c");
    assert_eq!(asked.headers["get_unregistered_clusters"], "true");
    assert!(asked.headers.contains_key("x-request-id"));
    assert!(asked.headers["user-agent"].to_str().unwrap().starts_with("assisted-client/"));
}

#[tokio::test]
async fn events_come_with_their_counts() {
    let server = Server::start().await;
    let response = Response::builder()
        .header("Event-Count", "12")
        .header("Severity-Count-Warning", "5")
        .body(Body::from("[]"))
        .unwrap();
    server.answer(response);
    let cluster_id: ClusterId = ID.parse().unwrap();
    let host: HostId = ID.parse().unwrap();
    let filter = EventFilter {
        cluster_id: Some(cluster_id),
        host_ids: vec![host, host],
        severities: vec![EventSeverity::Info, EventSeverity::Error],
        order: Order::Descending,
        limit: Some(7),
        ..EventFilter::default()
    };
    let page = server.client().list_events(&filter).await.unwrap();
    assert_eq!(page.counts, EventCounts { all: 12, warning: 5, ..EventCounts::default() });
    assert_eq!(
        server.requests()[0].line,
        format!(
            "GET /api/assisted-install/v2/events?cluster_id={ID}&host_ids={ID}%2C{ID}\
             &severities=info%2Cerror&order=descending&limit=7"
        )
    );
}

#[tokio::test]
async fn an_agent_says_who_it_is() {
    let server = Server::start().await;
    server.then(201, Some("application/json"), "{}").then(200, None, "{}").then(204, None, "");
    let client = server.builder().agent_token(Secret::from("")).build().unwrap();
    let (infra_env, host): (InfraEnvId, HostId) = (ID.parse().unwrap(), ID.parse().unwrap());
    let params = HostCreateParams { host_id: host, discovery_agent_version: "image:v1".into() };
    // The prepared answer is no host: what matters here is the request.
    let _ = client.register_host(infra_env, &params).await;
    let steps = client.next_steps(infra_env, host, "image:v1", 1_234).await.unwrap();
    assert!(steps.instructions.is_none());
    client.post_step_reply(infra_env, host, "image:v1", &StepReply::default()).await.unwrap();
    let asked = server.requests();
    let base = format!("/api/assisted-install/v2/infra-envs/{ID}/hosts");
    let lines: Vec<_> = asked.iter().map(|asked| asked.line.as_str()).collect();
    assert_eq!(
        lines,
        [
            format!("POST {base}"),
            format!("GET {base}/{ID}/instructions?timestamp=1234"),
            format!("POST {base}/{ID}/instructions"),
        ]
    );
    for asked in &asked {
        assert_eq!(asked.headers["x-secret-key"], "");
        assert_eq!(asked.headers["discovery_agent_version"], "image:v1");
    }
    assert_eq!(asked[0].headers["content-type"], "application/json");
    assert_eq!(asked[0].body, format!(r#"{{"host_id":"{ID}","discovery_agent_version":"image:v1"}}"#));
}

#[tokio::test]
async fn each_operation_gets_a_credential_it_accepts() {
    let server = Server::start().await;
    let client = server
        .builder()
        .agent_token(Secret::from("agent"))
        .user_token(Secret::from("user"))
        .watcher_token(Secret::from("watcher"))
        .credential(Scheme::ImageUrl, Secret::from("a&b"))
        .build()
        .unwrap();
    let id: ClusterId = ID.parse().unwrap();
    for (operation, header, value) in [
        (OperationId::ListClusters, "authorization", "Bearer user"),
        (OperationId::GetCluster, "authorization", "Bearer user"),
        (OperationId::CompleteInstallation, "x-secret-key", "agent"),
        (OperationId::ListEvents, "authorization", "Bearer user"),
    ] {
        server.then(204, None, "");
        client.call(operation).path("cluster_id", id).send_empty().await.unwrap();
        let asked = server.requests().remove(0);
        let sent: Vec<_> = ["authorization", "x-secret-key", "watcher-authorization"]
            .into_iter()
            .filter_map(|name| asked.headers.get(name).map(|value| (name, value.to_str().unwrap())))
            .collect();
        assert_eq!(sent, [(header, value)], "{operation:?}");
    }
    let only_url = server.builder().credential(Scheme::ImageUrl, Secret::from("a&b")).build().unwrap();
    server.then(204, None, "");
    only_url.call(OperationId::GetInfraEnv).path("infra_env_id", ID).send_empty().await.unwrap();
    assert!(server.requests()[0].line.ends_with(&format!("/{ID}?image_token=a%26b")));
}
