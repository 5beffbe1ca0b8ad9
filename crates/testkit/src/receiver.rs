//! A server that others tell things to: it remembers what it was sent, and answers as it is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;

/// How a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// With this status, and nothing more.
    Status(u16),
    /// Not at all: the connection ends once the request has been read.
    Nothing,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Received {
    /// Its first line and its headers.
    pub head: String,
    pub body: Vec<u8>,
    pub answer: Answer,
}

/// The server. It lives as long as the process.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Its address, without a slash at the end.
    pub url: String,
    answer: Arc<Mutex<Answer>>,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Receiver {
    /// Starts a server on loopback that answers so until it is told otherwise.
    ///
    /// # Errors
    /// There is no port.
    pub fn start(answer: Answer) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let receiver = Self { url, answer: Arc::new(Mutex::new(answer)), received: Arc::default() };
        let own = receiver.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let own = own.clone();
                thread::spawn(move || own.serve(stream));
            }
        });
        Ok(receiver)
    }

    /// Has what comes from now on answered so.
    pub fn answer_with(&self, answer: Answer) {
        *self.answer.lock() = answer;
    }

    /// What has come so far, in order.
    pub fn received(&self) -> Vec<Received> {
        self.received.lock().clone()
    }

    /// Serves a connection until its client is done.
    fn serve(&self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        while let Some((head, body)) = read(&mut stream) {
            let answer = *self.answer.lock();
            self.received.lock().push(Received { head, body, answer });
            let Answer::Status(status) = answer else { return };
            let told = write!(stream.get_mut(), "HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
            if told.is_err() {
                return;
            }
        }
    }
}

/// Head and body of the next request.
fn read(stream: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((head, body))
}
