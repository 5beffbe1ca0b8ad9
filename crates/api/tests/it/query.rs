//! Parameters of lists over HTTP: each is read, judged, and does what it says.

use assisted_config::Settings;
use reqwest::Method;
use serde_json::{Value, json};

use crate::life::{HOST, register};
use crate::server::Server;

async fn get(server: &Server, path: &str) -> Value {
    let (status, body) = server.call(Method::GET, path, None).await;
    assert_eq!(status, 200, "{path} {body}");
    body
}

#[tokio::test]
async fn lists() {
    let server = Server::start(Settings::default()).await;
    let (cluster, infra_env) = register(&server).await;
    let id = cluster["id"].as_str().unwrap();
    let hosts = format!("/v2/infra-envs/{}/hosts", infra_env["id"].as_str().unwrap());
    assert_eq!(server.call(Method::POST, &hosts, Some(json!({"host_id": HOST}))).await.0, 201);
    for (path, count, hosts) in [
        ("/v2/clusters".to_owned(), 1, 0),
        ("/v2/clusters?with_hosts=true".to_owned(), 1, 1),
        // Present without a value is not yes.
        ("/v2/clusters?with_hosts=".to_owned(), 1, 0),
        ("/v2/clusters?with_hosts".to_owned(), 1, 0),
        ("/v2/clusters?owner=somebody".to_owned(), 1, 0),
        (format!("/v2/clusters?openshift_cluster_id={id}"), 0, 0),
        (format!("/v2/clusters?ams_subscription_ids={id},x"), 0, 0),
        ("/v2/clusters?ams_subscription_ids=".to_owned(), 1, 0),
    ] {
        let listed = get(&server, &path).await;
        assert_eq!(listed.as_array().unwrap().len(), count, "{path}");
        let shown =
            listed.as_array().unwrap().iter().map(|cluster| cluster["hosts"].as_array().unwrap().len());
        assert_eq!(shown.sum::<usize>(), hosts, "{path}");
    }
    for (path, count) in [
        (format!("/v2/clusters/{id}/hosts"), 1),
        (format!("/v2/clusters/{id}/hosts?role=auto-assign&status=discovering"), 1),
        (format!("/v2/clusters/{id}/hosts?role=arbiter"), 0),
        (format!("/v2/clusters/{id}/hosts?status=nonsense"), 0),
        (format!("/v2/clusters/{HOST}/hosts"), 0),
        ("/v2/infra-envs".to_owned(), 1),
        (format!("/v2/infra-envs?cluster_id={id}"), 1),
        (format!("/v2/infra-envs?cluster_id={HOST}"), 0),
        (hosts.clone(), 1),
    ] {
        assert_eq!(get(&server, &path).await.as_array().unwrap().len(), count, "{path}");
    }
    let without = get(&server, &format!("/v2/clusters/{id}?exclude-hosts=true")).await;
    assert_eq!((&without["hosts"], without.get("total_host_count")), (&Value::Null, None));

    assert_eq!(server.call(Method::DELETE, &format!("/v2/clusters/{id}"), None).await.0, 204);
    let deleted = async |path: &str| {
        let request =
            server.client.get(format!("{}{path}", server.url)).header("get_unregistered_clusters", "true");
        request.send().await.unwrap().json::<Value>().await.unwrap()
    };
    assert_eq!(get(&server, "/v2/clusters").await, json!([]));
    let listed = deleted("/v2/clusters").await;
    assert!(listed[0]["deleted_at"].is_string() && listed[0]["hosts"] == json!([]), "{listed}");
    let listed = deleted("/v2/clusters?with_hosts=true").await;
    assert!(listed[0]["hosts"][0]["deleted_at"].is_string(), "{listed}");
    assert_eq!(deleted(&format!("/v2/clusters/{id}")).await["id"], id);
    server.stop().await;
}

#[tokio::test]
async fn events() {
    let server = Server::start(Settings::default()).await;
    let id = "11111111-2222-3333-4444-555555555555";
    let (cluster, _) = register(&server).await;
    let cluster = cluster["id"].as_str().unwrap();
    for (name, severity) in [("one", "info"), ("two", "warning"), ("three", "error"), ("four", "critical")] {
        let event = json!({
            "name": name, "severity": severity, "message": "mine", "event_time": "2000-01-01T00:00:00Z", "cluster_id": cluster
        });
        assert_eq!(server.call(Method::POST, "/v2/events", Some(event)).await, (201, Value::Null));
    }
    let list = async |query: &str| {
        let url = format!("{}/v2/events?cluster_id={cluster}&message=MINE{query}", server.url);
        let answer = server.client.get(url).send().await.unwrap();
        let counts: Vec<u64> = ["info", "warning", "error", "critical"]
            .map(|severity| format!("severity-count-{severity}"))
            .into_iter()
            .chain(["event-count".to_owned()])
            .map(|name| answer.headers()[name].to_str().unwrap().parse().unwrap())
            .collect();
        let events: Vec<Value> = answer.json().await.unwrap();
        let names: Vec<String> =
            events.iter().map(|event| event["name"].as_str().unwrap().to_owned()).collect();
        (names.join(" "), counts)
    };
    for (query, names, total) in [
        ("", "one two three four", 4),
        ("&order=descending", "four three two one", 4),
        ("&limit=2&offset=1", "two three", 4),
        ("&limit=0", "", 4),
        ("&limit=-1&offset=-1", "one two three four", 4),
        ("&severities=warning,critical", "two four", 2),
        ("&severities=warning&severities=critical", "four", 1),
        ("&severities=critical&limit=1", "four", 1),
        ("&categories=user", "one two three four", 4),
        ("&categories=metrics,user", "one two three four", 4),
        ("&cluster_level=true", "one two three four", 4),
        (&format!("&host_ids={id},{id}"), "", 0),
    ] {
        let counts = if names.is_empty() && total == 0 { vec![0; 5] } else { vec![1, 1, 1, 1, total] };
        assert_eq!(list(query).await, (names.to_owned(), counts), "{query}");
    }
    // A category that there is not has no events.
    for query in ["&categories=metrics", "&categories=nonsense"] {
        assert_eq!(list(query).await, (String::new(), vec![0; 5]), "{query}");
    }
    for (query, text) in [
        ("severities=bad", "severities.0 in query should be one of [info warning error critical]"),
        ("severities=info,bad", "severities.1 in query should be one of [info warning error critical]"),
        ("host_ids=x", "host_ids.0 in query must be of type uuid: \"x\""),
        ("host_id=x", "host_id in query must be of type uuid: \"x\""),
        ("infra_env_id=x", "infra_env_id in query must be of type uuid: \"x\""),
        ("offset=1.5", "offset in query must be of type int64: \"1.5\""),
        ("limit=99999999999999999999", "limit in query must be of type int64: \"99999999999999999999\""),
    ] {
        let refused = server.call(Method::GET, &format!("/v2/events?{query}"), None).await;
        assert_eq!(refused, (400, json!({"code": 400, "message": text})), "{query}");
    }
    let event = |member: &str, value: Value| {
        let mut event =
            json!({"name": "n", "severity": "info", "message": "m", "event_time": "2000-01-01T00:00:00Z"});
        event[member] = value;
        event
    };
    for (member, value, text) in [
        ("category", json!("other"), "category in body should be one of [user metrics]"),
        ("severity", json!("bad"), "severity in body should be one of [info warning error critical]"),
        ("severity", Value::Null, "severity in body is required"),
        ("message", Value::Null, "message in body is required"),
        ("event_time", Value::Null, "event_time in body is required"),
        ("cluster_id", json!("x"), "cluster_id in body must be of type uuid: \"x\""),
    ] {
        let refused = server.call(Method::POST, "/v2/events", Some(event(member, value))).await;
        assert_eq!(refused, (400, json!({"code": 400, "message": text})), "{member}");
    }
    assert_eq!(server.call(Method::POST, "/v2/events", Some(event("category", json!("")))).await.0, 201);
    server.stop().await;
}

#[tokio::test]
async fn events_without_a_limit_come_in_parts() {
    let server = Server::start(Settings::default()).await;
    let (cluster, _) = register(&server).await;
    let id = cluster["id"].as_str().unwrap();
    let store = assisted_store::Store::open(&server.database).await.unwrap();
    let mut batch = assisted_store::Batch::new();
    let count = 10_050;
    for number in 0..count {
        let event = json!({
            "name": "counted", "cluster_id": id, "severity": "info", "message": number.to_string(),
            "event_time": "2020-01-01T00:00:00Z",
        });
        batch.insert_client_event(&serde_json::from_value(event).unwrap());
    }
    store.write(batch).await.unwrap();
    for (query, wanted) in [("&limit=-1", None), ("&limit=7000", Some(7000)), ("", Some(5000))] {
        for descending in [false, true] {
            let order = if descending { "descending" } else { "ascending" };
            let url = format!("{}/v2/events?cluster_id={id}{query}&order={order}", server.url);
            let answer = server.client.get(url).send().await.unwrap();
            let total: usize = answer.headers()["event-count"].to_str().unwrap().parse().unwrap();
            let events: Vec<Value> = answer.json().await.unwrap();
            assert!(total > count, "{total}");
            // What happens while parts are sent comes with the last of them, and was not counted.
            let all_there = wanted.map_or(events.len() >= total, |wanted| events.len() == wanted);
            assert!(all_there, "{query} {order}: {} of {total}", events.len());
            let counted = events.iter().filter(|event| event["name"] == "counted");
            let numbers: Vec<usize> =
                counted.map(|event| event["message"].as_str().unwrap().parse().unwrap()).collect();
            let rising = numbers.windows(2).all(|pair| pair[1] == pair[0] + 1);
            let falling = numbers.windows(2).all(|pair| pair[0] == pair[1] + 1);
            assert!(numbers.len() > 4000 && if descending { falling } else { rising }, "{query} {order}");
            assert!(wanted.is_some() || numbers.len() == count, "{query} {order}");
        }
    }
    server.stop().await;
}
