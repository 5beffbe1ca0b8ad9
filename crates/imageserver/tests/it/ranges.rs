//! Ranges against a naive model: the whole file, cut. Over plain HTTP and over TLS.

use reqwest::{Client, Method};

use crate::api::ID;
use crate::client::{Answer, ask, client, get};
use crate::iso::{AREA_SIZE, Iso, noise};
use crate::listeners::Secure;
use crate::server::Server;

/// Offsets at which something begins or ends in a customised image.
fn boundaries(whole: &[u8]) -> Vec<usize> {
    let area = Iso::x86_64().area();
    let archive = whole[area..area + AREA_SIZE].iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let kargs = whole.windows(4).position(|window| window == b" p1\n").unwrap();
    let mut all = vec![0, area, area + archive, area + AREA_SIZE, kargs, kargs + 4, whole.len()];
    // Where reads and chunks end.
    all.extend((1..whole.len()).step_by(1 << 20));
    all
}

async fn check(client: &Client, url: &str, whole: &[u8]) {
    let size = whole.len();
    let cut = |range: std::ops::Range<usize>| &whole[range];
    let around: Vec<usize> = boundaries(whole)
        .into_iter()
        .flat_map(|at| [at.saturating_sub(1), at, at + 1])
        .filter(|at| *at < size)
        .collect();
    let mut random = noise(11, 4096).into_iter();
    let mut number = move || (0..4).fold(0usize, |all, _| all << 8 | random.next().unwrap() as usize);
    for first in around {
        let length = 1 + number() % 300_000;
        let end = (first + length).min(size);
        let range = format!("bytes={first}-{}", first + length - 1);
        let answer = ask(client, Method::GET, url, &[("range", &range)]).await;
        assert_eq!(answer.status, 206, "{range}");
        assert_eq!(answer.header("content-range"), format!("bytes {first}-{}/{size}", end - 1));
        assert!(answer.body == cut(first..end), "{range}");
    }
    for _ in 0..40 {
        let ranges: Vec<_> = (0..2 + number() % 4)
            .map(|_| {
                let first = number() % size;
                first..(first + 1 + number() % 70_000).min(size)
            })
            .collect();
        let texts: Vec<_> = ranges.iter().map(|range| format!("{}-{}", range.start, range.end - 1)).collect();
        let range = format!("bytes={}", texts.join(","));
        let answer = ask(client, Method::GET, url, &[("range", &range)]).await;
        assert_eq!(answer.status, 206, "{range}");
        let parts = parts(&answer);
        assert_eq!(parts.len(), ranges.len());
        for ((head, body), range) in parts.iter().zip(ranges) {
            assert!(head.contains(&format!("bytes {}-{}/{size}", range.start, range.end - 1)), "{head}");
            assert!(*body == cut(range));
        }
    }
    let tail = ask(client, Method::GET, url, &[("range", "bytes=-1000")]).await;
    assert!(tail.body == cut(size - 1000..size));
    let none = ask(client, Method::GET, url, &[("range", &format!("bytes={size}-"))]).await;
    assert_eq!((none.status, none.header("content-range")), (416, format!("bytes */{size}").as_str()));
    let head = ask(client, Method::HEAD, url, &[("range", "bytes=5-14")]).await;
    assert_eq!((head.status, head.header("content-length"), head.body.len()), (206, "10", 0));
}

/// The parts of an answer with several: each one's head, and its bytes.
fn parts(answer: &Answer) -> Vec<(String, &[u8])> {
    let boundary = answer.header("content-type").strip_prefix("multipart/byteranges; boundary=").unwrap();
    let mut rest = answer.body.as_slice();
    let mut found = Vec::new();
    loop {
        let head = rest.windows(4).position(|window| window == b"\r\n\r\n");
        let Some(head) = head else {
            assert_eq!(rest, format!("\r\n--{boundary}--\r\n").as_bytes());
            return found;
        };
        let text = String::from_utf8(rest[..head].to_vec()).unwrap();
        let lead = if found.is_empty() { "--" } else { "\r\n--" };
        assert!(text.starts_with(&format!("{lead}{boundary}\r\n")), "{text}");
        let (_, range) = text.split_once("bytes ").unwrap();
        let (first, last) = range.split_once('/').unwrap().0.split_once('-').unwrap();
        let length = last.parse::<usize>().unwrap() - first.parse::<usize>().unwrap() + 1;
        let (body, after) = rest[head + 4..].split_at(length);
        found.push((text, body));
        rest = after;
    }
}

fn path() -> String {
    format!("/byid/{ID}/4.18/x86_64/full.iso")
}

const KARGS: &str = r#""[{\"operation\":\"append\",\"value\":\"p1\"}]""#;

#[tokio::test(flavor = "multi_thread")]
async fn ranges_are_cut_from_the_whole() {
    let server = Server::start().await;
    server.api.kargs(KARGS);
    let whole = get(&server, &path(), &[]).await.body;
    check(&client(), &server.url(&path()), &whole).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_over_tls_are_cut_from_the_whole() {
    let secure = Secure::start(false).await;
    secure.api.kargs(KARGS);
    let url = format!("{}{}", secure.https, path());
    let whole = ask(&secure.client, Method::GET, &url, &[]).await.body;
    assert_eq!(whole.len(), Iso::x86_64().bytes.len());
    check(&secure.client, &url, &whole).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_has_it_is_told_so() {
    let server = Server::start().await;
    let whole = get(&server, &path(), &[]).await;
    let (tag, modified) = (whole.header("etag"), whole.header("last-modified"));
    for (headers, status) in [
        ([("if-none-match", tag)].as_slice(), 304),
        (&[("if-modified-since", modified)], 304),
        (&[("if-match", "\"other\"")], 412),
        (&[("if-match", tag)], 200),
        (&[("if-unmodified-since", "Tue, 15 Nov 1994 12:45:25 GMT")], 412),
        (&[("range", "bytes=1-2"), ("if-range", tag)], 206),
        (&[("range", "bytes=1-2"), ("if-range", modified)], 206),
        (&[("range", "bytes=1-2"), ("if-range", "\"other\"")], 200),
        (&[("range", "bytes=1-2"), ("if-range", "Tue, 15 Nov 1994 12:45:27 GMT")], 200),
    ] {
        let answer = get(&server, &path(), headers).await;
        assert_eq!(answer.status, status, "{headers:?}");
        let length = match status {
            200 => whole.body.len(),
            206 => 2,
            _ => 0,
        };
        assert_eq!(answer.body.len(), length, "{headers:?}");
    }
}
