//! A web server with a small image.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

/// Starts the server, for as long as the test runs: the image's address.
pub fn image() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/small.iso", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let head = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let request: Vec<_> = head.take_while(|line| !line.is_empty()).collect();
            let answer = match request.first().is_some_and(|line| line.contains("/small.iso ")) {
                true => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nimage",
                false => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            };
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}
