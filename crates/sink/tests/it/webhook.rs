//! A server that takes CloudEvents, is away, wants to be left alone, and refuses.

use std::sync::Arc;
use std::time::Duration;

use assisted_sink::{Message, Webhook, WebhookSettings};
use jiff::Timestamp;
use ring::hmac;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use uuid::Uuid;

type Seen = Arc<Mutex<Vec<(String, Value)>>>;

/// A server that answers each request with what a function says of its number; it checks signatures.
async fn receiver(answer: impl Fn(usize) -> String + Send + Sync + 'static) -> (String, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook?token=abc", listener.local_addr().unwrap());
    let seen = Seen::default();
    let (all, answer) = (Arc::clone(&seen), Arc::new(answer));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, Arc::clone(&all), Arc::clone(&answer)));
        }
    });
    (url, seen)
}

async fn serve(stream: TcpStream, seen: Seen, answer: Arc<impl Fn(usize) -> String>) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await.unwrap_or_default() == 0 {
                return;
            }
            if line == "\r\n" {
                break;
            }
            head.push(line.trim_end().to_owned());
        }
        let header = |name: &str| {
            let of = |line: &String| {
                line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            };
            head.iter()
                .filter_map(of)
                .find(|(known, _)| known == name)
                .map(|(_, value)| value)
                .unwrap_or_default()
        };
        let mut body = vec![0; header("content-length").parse().unwrap()];
        stream.read_exact(&mut body).await.unwrap();
        let signed = format!(
            "{}.{}.{}",
            header("webhook-id"),
            header("webhook-timestamp"),
            String::from_utf8_lossy(&body)
        );
        let tag = header("webhook-signature").strip_prefix("v1,").map(decode).unwrap();
        hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, b"hush"), signed.as_bytes(), &tag).unwrap();
        assert_eq!(header("content-type"), "application/cloudevents+json; charset=utf-8");
        let event: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(event["id"], header("webhook-id").as_str());
        let number = {
            let mut seen = seen.lock().await;
            seen.push((header("webhook-id"), event));
            seen.len()
        };
        stream.write_all(answer(number).as_bytes()).await.unwrap();
    }
}

fn decode(text: &str) -> Vec<u8> {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}

fn status(line: &str, more: &str) -> String {
    format!("HTTP/1.1 {line}\r\n{more}content-length: 0\r\n\r\n")
}

fn webhook(url: &str) -> Webhook {
    Webhook::new(WebhookSettings {
        url: url.to_owned(),
        secret: "hush".into(),
        authorities: None,
        source: "https://assisted.example".to_owned(),
    })
    .unwrap()
}

fn messages(keys: &[Option<Uuid>], count: usize) -> Vec<Message> {
    let message = |n: usize| Message {
        id: Uuid::new_v4(),
        kind: "Event".to_owned(),
        key: keys[n % keys.len()],
        at: Timestamp::from_second(1_700_000_000).unwrap(),
        body: format!("{{\"number\":{n}}}"),
    };
    (0..count).map(message).collect()
}

#[tokio::test]
async fn events_of_a_key_arrive_in_order() {
    let (url, seen) = receiver(|_| status("204 No Content", "")).await;
    let keys: Vec<_> = (0..20).map(|_| Some(Uuid::new_v4())).chain([None]).collect();
    let sent = messages(&keys, 200);
    let delivery = webhook(&url).send(&sent).await;
    assert_eq!((delivery.taken.len(), delivery.failed), (200, None));
    let seen = seen.lock().await;
    for key in keys {
        let wanted: Vec<_> =
            sent.iter().filter(|message| message.key == key).map(|message| message.id.to_string()).collect();
        let got = seen.iter().map(|(id, _)| id).filter(|id| wanted.contains(id));
        assert_eq!(got.cloned().collect::<Vec<_>>(), wanted);
    }
}

#[tokio::test]
async fn a_receiver_is_left_alone_as_long_as_it_wants() {
    for (answer, pause) in [
        (status("503 Service Unavailable", "retry-after: 17\r\n"), Some(Duration::from_secs(17))),
        (status("429 Too Many Requests", "retry-after: 999999\r\n"), Some(Duration::from_secs(3600))),
        (
            status("429 Too Many Requests", "retry-after: Wed, 21 Oct 2015 07:28:00 GMT\r\n"),
            Some(Duration::ZERO),
        ),
        (status("500 Internal Server Error", ""), None),
        (status("401 Unauthorized", ""), None),
        // A redirect leads nowhere: what is sent is for that one server.
        (status("302 Found", "location: http://127.0.0.1:1/\r\n"), None),
    ] {
        let (url, seen) = receiver(move |_| answer.clone()).await;
        let delivery = webhook(&url).send(&messages(&[None], 3)).await;
        let failed = delivery.failed.unwrap();
        assert!(failed.reason.starts_with("the receiver answered with status "), "{failed:?}");
        assert_eq!((failed.retry_after, delivery.taken.len(), seen.lock().await.len()), (pause, 0, 1));
    }
}

#[tokio::test]
async fn what_is_refused_holds_back_its_key_alone() {
    let (url, _) =
        receiver(|number| status(if number == 1 { "400 Bad Request" } else { "200 OK" }, "")).await;
    let (one, other) = (Some(Uuid::new_v4()), Some(Uuid::new_v4()));
    let hook = webhook(&url);
    // The first of `one` is refused; nothing of it is sent after that, and all of `other`.
    let first = hook.send(&messages(&[one], 1)).await;
    assert_eq!(first.refused, [(0, "the receiver answered with status 400".to_owned())]);
    let rest = hook.send(&messages(&[one, other], 4)).await;
    assert_eq!((rest.taken.len(), rest.failed), (4, None));
}

#[tokio::test]
async fn who_is_away_is_told_without_the_address() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook?token=abc", listener.local_addr().unwrap());
    drop(listener);
    let failed = webhook(&url).send(&messages(&[None], 2)).await.failed.unwrap();
    assert!(!failed.reason.contains("abc") && failed.retry_after.is_none(), "{failed:?}");
}

#[test]
fn settings_that_cannot_be_used_are_refused() {
    let told = |url: &str, secret: &str| {
        let settings = WebhookSettings {
            url: url.to_owned(),
            secret: secret.into(),
            authorities: None,
            source: String::new(),
        };
        Webhook::new(settings).unwrap_err().to_string()
    };
    assert_eq!(told("ftp://x", "s"), "EVENTS_WEBHOOK_URL: it is no address of a web server");
    assert_eq!(
        told("http://ann:hush@x", "s"),
        "EVENTS_WEBHOOK_URL: a name and a password have no place in it: requests are signed"
    );
    assert_eq!(told("http://x", ""), "EVENTS_WEBHOOK_SECRET must be set");
    assert_eq!(told("http://x", "whsec_***"), "EVENTS_WEBHOOK_SECRET: what follows whsec_ is no Base64");
}
