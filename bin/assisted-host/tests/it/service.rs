//! A service that answers as a test wants, and notes what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The first line of each request, and its body unless that is long.
pub(crate) type Asked = Arc<Mutex<Vec<String>>>;

/// Longest body that is noted.
const NOTED: usize = 20_000;

/// Starts one: it answers a request, of which it is shown the first line, with a status and JSON.
pub(crate) fn start(answers: impl Fn(&str) -> (u16, String) + Send + 'static) -> (String, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Asked::default();
    let kept = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that goes away in the middle is no fault of the service.
            let _ = answer(stream, &kept, &answers);
        }
    });
    (url, asked)
}

fn answer(
    mut stream: TcpStream,
    asked: &Asked,
    answers: &impl Fn(&str) -> (u16, String),
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let text = if length < NOTED { String::from_utf8_lossy(&body).into_owned() } else { String::new() };
    asked.lock().unwrap().push(format!("{} {text}", first.trim()));
    let (status, body) = answers(first.trim());
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all((head + &body).as_bytes())
}

/// The stages that an installer has told.
pub(crate) fn stages(asked: &[String]) -> Vec<&str> {
    let stage = |line: &'_ str| line.contains("/progress HTTP").then(|| line.find("current_stage")).flatten();
    asked.iter().filter_map(|line| line[stage(line)? + 16..].split('"').next()).collect()
}
