//! HTTP/2, frame by frame: what clients do that no library lets them do.

use std::io;
use std::time::{Duration, Instant};

use assisted_api::Timeouts;
use assisted_config::Settings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::server::Server;

/// A server that does not do it would let the test run into this.
const LIMIT: Duration = Duration::from_secs(60);

const SHORT: Duration = Duration::from_secs(1);

/// How many requests a connection has at a time.
const MOST: u32 = 64;

/// Kinds of frames.
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;

/// Flags of frames.
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Why a stream is reset.
const REFUSED_STREAM: u32 = 7;
const CANCEL: u32 = 8;

struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

struct Connection(TcpStream);

impl Connection {
    async fn open(server: &Server) -> Self {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        let mut connection = Self(stream);
        connection.send(SETTINGS, 0, 0, &[]).await.unwrap();
        connection
    }

    async fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> io::Result<()> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut frame = vec![length[1], length[2], length[3], kind, flags];
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.0.write_all(&frame).await
    }

    /// Asks for something; of what has a body, none of it is sent.
    async fn ask(&mut self, stream: u32, path: &str, has_body: bool) {
        // Of HPACK's static table: the method (GET or POST), http, and the names of the others.
        let mut head =
            vec![if has_body { 0x83 } else { 0x82 }, 0x86, 0x04, u8::try_from(path.len()).unwrap()];
        head.extend(path.as_bytes());
        head.extend(b"\x01\x01x");
        if has_body {
            head.extend(b"\x0f\x10\x10application/json");
        }
        let flags = if has_body { END_HEADERS } else { END_HEADERS | END_STREAM };
        self.send(HEADERS, flags, stream, &head).await.unwrap();
    }

    /// The next frame; none, where the connection has ended.
    async fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).await.ok()?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap()];
        self.0.read_exact(&mut payload).await.ok()?;
        Some(Frame { kind, flags, stream: u32::from_be_bytes(stream), payload })
    }

    /// The next frame of a kind.
    async fn next_of(&mut self, kind: u8) -> Frame {
        let found = async {
            loop {
                let frame = self.next().await.expect("the connection has ended");
                if frame.kind == kind {
                    return frame;
                }
            }
        };
        timeout(LIMIT, found).await.expect("no such frame comes")
    }

    /// Whether a ping is answered, and the connection has not ended.
    async fn is_there(&mut self) -> bool {
        if self.send(PING, 0, 0, b"anybody?").await.is_err() {
            return false;
        }
        while let Some(frame) = self.next().await {
            if (frame.kind, frame.flags) == (PING, ACK) {
                return true;
            }
        }
        false
    }
}

#[tokio::test]
async fn a_connection_has_so_many_requests_at_a_time() {
    let server = Server::start(Settings::default()).await;
    let mut connection = Connection::open(&server).await;
    for number in 0..MOST {
        connection.ask(2 * number + 1, "/api/assisted-install/v2/clusters", true).await;
    }
    connection.ask(2 * MOST + 1, "/health", false).await;
    let refused = connection.next_of(RST_STREAM).await;
    assert_eq!((refused.stream, refused.payload), (2 * MOST + 1, REFUSED_STREAM.to_be_bytes().to_vec()));
    // One that is given up makes room.
    connection.send(RST_STREAM, 0, 1, &CANCEL.to_be_bytes()).await.unwrap();
    connection.ask(2 * MOST + 3, "/health", false).await;
    assert_eq!(connection.next_of(HEADERS).await.stream, 2 * MOST + 3);
    drop(connection);
    server.stop().await;
}

#[tokio::test]
async fn a_connection_that_only_pings_is_cut_off() {
    let timeouts = Timeouts { head: SHORT, idle: SHORT, ..Timeouts::default() };
    let server = Server::start_with(Settings::default(), timeouts, None).await;
    let mut connection = Connection::open(&server).await;
    connection.ask(1, "/api/assisted-install/v2/watch", false).await;
    assert_eq!(connection.next_of(HEADERS).await.stream, 1);
    // It stays as long as something is answered.
    let begun = Instant::now();
    while begun.elapsed() < SHORT * 4 {
        assert!(connection.is_there().await, "it is cut off too early");
        sleep(SHORT / 10).await;
    }
    connection.send(RST_STREAM, 0, 1, &CANCEL.to_be_bytes()).await.unwrap();
    let ended = async {
        while connection.is_there().await {
            sleep(SHORT / 10).await;
        }
    };
    timeout(LIMIT, ended).await.expect("it is not cut off");
    server.stop().await;
}
