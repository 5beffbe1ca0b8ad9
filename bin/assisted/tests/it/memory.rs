//! What a service holds of what is sent to it.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::service::Service;

/// What the service may keep of memory that it needed once, in KiB. Each of its threads has an arena of its own in the allocator, which
/// keeps the largest body that the thread has read, twice while it grows: which threads have read one before is chance.
const KEPT: u64 = 32 * 1024;

/// Sends a body of this many MiB in pieces, as if it had no end, after a beginning; returns the answer.
fn sent(service: &Service, path: &str, content_type: &str, beginning: &[u8], mebibytes: usize) -> String {
    let address = service.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "POST /api/assisted-install{path} HTTP/1.1\r\nHost: x\r\nContent-Type: {content_type}\r\n\
         Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = |bytes: &[u8]| [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
    if !beginning.is_empty() {
        stream.write_all(&chunk(beginning)).unwrap();
    }
    let mebibyte = chunk(&vec![b' '; 1 << 20]);
    for _ in 0..mebibytes {
        stream.write_all(&mebibyte).unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn large_bodies_take_little_memory() {
    let service = Service::start();
    let (cluster, _) = service.cluster("demo");
    let logs = format!("/v2/clusters/{cluster}/logs?logs_type=controller");
    let form = "multipart/form-data; boundary=XX";
    let part = b"--XX\r\nContent-Disposition: form-data; name=\"upfile\"; filename=\"x\"\r\n\r\n";
    // What the largest body that is read, and the first write of a file, take.
    sent(&service, "/v2/clusters", "application/json", b"", 8);
    sent(&service, &logs, form, part, 8);
    let before = service.peak_memory();

    let answer = sent(&service, "/v2/clusters", "application/json", b"", 1024);
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(
        answer.ends_with(r#"{"code":413,"message":"the body is larger than 4194304 bytes"}"#),
        "{answer}"
    );
    let answer = sent(&service, &logs, form, part, 300);
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    let text = r#""message":"upfile in formData should be at most 262144000 bytes long"}"#;
    assert!(answer.ends_with(text), "{answer}");
    let grown = service.peak_memory() - before;
    assert!(grown < KEPT, "{grown} KiB of more than a GiB that was sent");
    let cluster = service.json(&["cluster", "show", "demo"]);
    assert!(cluster.get("logs_info").is_none(), "{cluster}");
}
