//! HTTP/2, frame by frame: what clients do that no library lets them do.

use std::time::{Duration, Instant};

use assisted_api::Timeouts;
use assisted_config::Settings;
use assisted_testkit::http2::{Connection, HEADERS, REFUSED_STREAM, RST_STREAM};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::server::Server;

/// A server that does not do it would let the test run into this.
const LIMIT: Duration = Duration::from_secs(60);

const SHORT: Duration = Duration::from_secs(1);

/// How many requests a connection has at a time.
const MOST: u32 = 64;

async fn connect(server: &Server) -> Connection<TcpStream> {
    Connection::open(TcpStream::connect(server.address).await.unwrap()).await.unwrap()
}

#[tokio::test]
async fn a_connection_has_so_many_requests_at_a_time() {
    let server = Server::start(Settings::default()).await;
    let mut connection = connect(&server).await;
    for number in 0..MOST {
        connection.ask(2 * number + 1, "/api/assisted-install/v2/clusters", true).await.unwrap();
    }
    connection.ask(2 * MOST + 1, "/health", false).await.unwrap();
    let refused = connection.next_of(RST_STREAM).await.unwrap();
    assert_eq!((refused.stream, refused.payload), (2 * MOST + 1, REFUSED_STREAM.to_be_bytes().to_vec()));
    // One that is given up makes room.
    connection.cancel(1).await.unwrap();
    connection.ask(2 * MOST + 3, "/health", false).await.unwrap();
    assert_eq!(connection.next_of(HEADERS).await.unwrap().stream, 2 * MOST + 3);
    drop(connection);
    server.stop().await;
}

#[tokio::test]
async fn a_connection_that_only_pings_is_cut_off() {
    let timeouts = Timeouts { head: SHORT, idle: SHORT, ..Timeouts::default() };
    let server = Server::start_with(Settings::default(), timeouts, None).await;
    let mut connection = connect(&server).await;
    connection.ask(1, "/api/assisted-install/v2/watch", false).await.unwrap();
    assert_eq!(connection.next_of(HEADERS).await.unwrap().stream, 1);
    // It stays as long as something is answered.
    let begun = Instant::now();
    while begun.elapsed() < SHORT * 4 {
        assert!(connection.is_there().await, "it is cut off too early");
        sleep(SHORT / 10).await;
    }
    connection.cancel(1).await.unwrap();
    let ended = async {
        while connection.is_there().await {
            sleep(SHORT / 10).await;
        }
    };
    timeout(LIMIT, ended).await.expect("it is not cut off");
    server.stop().await;
}
