//! Connections: kept, cut, crowded, and ended.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use assisted_base::rate::MinimumRate;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::api::ID;
use crate::client::get;
use crate::iso::Iso;
use crate::server::{Server, local};

async fn connect(server: &Server, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// What is answered until the connection ends.
async fn all(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    match stream.read_to_end(&mut text).await {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// The head of an answer and the length of its body, which is read and thrown away.
async fn one(stream: &mut TcpStream) -> (String, usize) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length = length.map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    (head, length)
}

fn full() -> String {
    format!("/byid/{ID}/4.18/x86_64/full.iso")
}

fn request(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_serves_one_request_after_the_other() {
    let server = Server::start().await;
    let three = [request("/live"), request(&full()), request("/nothing")].concat();
    let mut stream = connect(&server, &three).await;
    let (head, length) = one(&mut stream).await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && length == 0, "{head}");
    assert!(head.contains("\r\ndate: ") && !head.contains("connection"), "{head}");
    assert_eq!(one(&mut stream).await.1, Iso::x86_64().bytes.len());
    assert!(one(&mut stream).await.0.starts_with("HTTP/1.1 404 "));
    // A half-closed connection is still answered.
    stream.write_all(request("/live").as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    assert!(all(stream).await.starts_with("HTTP/1.1 200 OK\r\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_ends_when_that_is_wanted_or_safer() {
    let server = Server::start().await;
    for (text, starts) in [
        ("GET /live HTTP/1.0\r\n\r\n", "HTTP/1.1 200"),
        ("GET /live HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "HTTP/1.1 200"),
        ("POST /live HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nGET /", "HTTP/1.1 200"),
        ("POST /live HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 200"),
        ("GET /live HTTP/1.1\r\n\r\n", "HTTP/1.1 400"),
        ("nonsense\r\n\r\n", "HTTP/1.1 400"),
        ("\x16\x03\x01\x02\0\x01\0\x01\x7c", "HTTP/1.1 400"),
        ("GET / HTTP/3.0\r\nHost: h\r\n\r\n", "HTTP/1.1 505"),
    ] {
        let answer = all(connect(&server, text).await).await;
        assert!(
            answer.starts_with(starts) && answer.contains("\r\nconnection: close\r\n"),
            "{text} {answer}"
        );
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    }
    let long = format!("GET / HTTP/1.1\r\nHost: h\r\nX: {}\r\n\r\n", "a".repeat(20_000));
    assert!(all(connect(&server, &long).await).await.starts_with("HTTP/1.1 431"));
    let kept = connect(&server, "GET /live HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").await;
    let mut kept = kept;
    assert!(one(&mut kept).await.0.contains("connection: keep-alive"));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_says_nothing_or_stops_talking_is_cut_off() {
    let soon = Duration::from_millis(100);
    let server = Server::with(&local(), |_, timeouts| (timeouts.head, timeouts.idle) = (soon, soon)).await;
    assert_eq!(all(connect(&server, "").await).await, "");
    assert!(all(connect(&server, "GET / HTTP/1.1\r\nHos").await).await.starts_with("HTTP/1.1 408"));
    let text = all(connect(&server, &request("/live")).await).await;
    assert_eq!(text.matches("HTTP/1.1").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_nothing_is_cut_off_and_gives_its_place_back() {
    let server = Server::with(&local(), |options, timeouts| {
        options.most_requests = 1;
        timeouts.stall = Duration::from_millis(200);
    })
    .await;
    server.ready().await;
    let slow = stuck(&server).await;
    // Its place is free once it is cut off, and this one waits for that.
    let answer = get(&server, &full(), &[]).await;
    assert_eq!((answer.status, answer.body.len()), (200, Iso::x86_64().bytes.len()));
    assert!(all(slow).await.len() < Iso::x86_64().bytes.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_too_little_is_cut_off_and_gives_its_place_back() {
    let server = Server::with(&local(), |options, timeouts| {
        options.most_requests = 1;
        timeouts.rate = MinimumRate { bytes_per_second: 10 << 20, window: Duration::from_secs(2) };
    })
    .await;
    server.ready().await;
    // More requests than the server reads at once: when it closes the connection, that is known without taking what was sent.
    let mut slow = stuck_from(&server, 1, 64).await;
    // It takes something all the time, and is never stalled.
    let trickle = async {
        let mut piece = [0_u8; 4096];
        while matches!(slow.read(&mut piece).await, Ok(1..)) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), trickle).await.expect("it is cut off");
    // Who is quick gets all of it.
    let answer = get(&server, &full(), &[]).await;
    assert_eq!((answer.status, answer.body.len()), (200, Iso::x86_64().bytes.len()));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_address_leaves_a_place_for_others() {
    let server = Server::with(&local(), |options, _| {
        options.most_requests = 4;
        options.turn = Duration::from_millis(50);
    })
    .await;
    server.ready().await;
    let ask = async |host| {
        let mut stream = socket(host).connect(server.address).await.unwrap();
        let text = format!("GET {} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", full());
        stream.write_all(text.as_bytes()).await.unwrap();
        all(stream).await.get(..12).unwrap_or_default().to_owned()
    };
    let until = async |host, wanted: &str| {
        let asking = async { while ask(host).await != wanted {} };
        tokio::time::timeout(Duration::from_secs(30), asking).await.expect(wanted);
    };
    // Where it is alone it has three of four.
    let mut greedy = Vec::new();
    for _ in 0..3 {
        greedy.push(stuck_from(&server, 2, 8).await);
    }
    until(2, "HTTP/1.1 503").await;
    assert_eq!(ask(3).await, "HTTP/1.1 200");
    greedy.pop();
    until(2, "HTTP/1.1 200").await;
}

/// A socket with an address of its own among those of this machine.
fn socket(host: u8) -> TcpSocket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, host], 0))).unwrap();
    socket
}

/// A connection that asks for more than it takes: its answer is under way.
async fn stuck(server: &Server) -> TcpStream {
    stuck_from(server, 1, 8).await
}

async fn stuck_from(server: &Server, host: u8, requests: usize) -> TcpStream {
    let socket = socket(host);
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(server.address).await.unwrap();
    // Together longer than any buffer on the way.
    stream.write_all(request(&full()).repeat(requests).as_bytes()).await.unwrap();
    assert_eq!(stream.read_u8().await.unwrap(), b'H');
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn who_finds_no_place_in_time_is_told_to_come_again() {
    let server = Server::with(&local(), |options, _| {
        options.most_requests = 1;
        options.turn = Duration::from_millis(50);
    })
    .await;
    server.ready().await;
    let slow = stuck(&server).await;
    let busy = get(&server, &full(), &[]).await;
    assert_eq!((busy.status, busy.header("retry-after")), (503, "10"));
    assert_eq!(busy.text(), "as many images are being served as may be at a time\n");
    let page = get(&server, &full(), &[("accept", "text/html")]).await;
    assert!(page.status == 503 && page.text().contains("content=\"10\""), "{}", page.text());
    // What is no image has places without end.
    assert_eq!(get(&server, "/boot-artifacts/kernel?version=4.18", &[]).await.status, 200);
    assert_eq!(get(&server, "/live", &[]).await.status, 200);
    // Whoever goes away gives the place back.
    drop(slow);
    server.until(&full(), |answer| answer.status == 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_under_way_are_finished_before_the_end() {
    let server = Server::start().await;
    let idle = connect(&server, &request("/live")).await;
    let mut slow = stuck(&server).await;
    server.stop();
    // Kept connections end at once, and nobody is let in.
    assert_eq!(all(idle).await.matches("HTTP/1.1").count(), 1);
    let mut head = vec![b'H'];
    while !head.ends_with(b"\r\n\r\n") {
        head.push(slow.read_u8().await.unwrap());
    }
    let mut body = vec![0; Iso::x86_64().bytes.len()];
    slow.read_exact(&mut body).await.unwrap();
    assert_eq!(body[..1000], Iso::x86_64().bytes[..1000]);
    drop(slow);
    server.ended().await;
}
