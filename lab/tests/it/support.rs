//! What the tests of the lab share.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use assisted_lab::image::Image;

/// How long a machine may take to do what a test waits for; without KVM, on a busy computer.
pub const BOOT: Duration = Duration::from_secs(600);

/// The image that `cargo xtask setup` has built.
pub fn image() -> Image {
    Image::find().unwrap()
}

/// `coreos-installer` with arguments; it must succeed.
pub fn coreos_installer<const N: usize>(arguments: [&str; N]) -> Vec<u8> {
    run(Command::new(assisted_testkit::coreos_installer().unwrap()).args(arguments)).stdout
}

/// Runs a command, which must succeed.
pub fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A web server for files of one folder, on loopback: machines reach it at `10.0.2.2`. It ends with the process.
pub struct Web {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Web {
    pub fn serve(files: Vec<(&'static str, PathBuf)>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (files, seen) = (files.clone(), Arc::clone(&seen));
                // A machine that is gone in the middle is no failure of the server.
                thread::spawn(move || answer(stream, &files, &seen));
            }
        });
        Self { port, asked }
    }

    /// Its address for a machine.
    pub fn url(&self, path: &str) -> String {
        format!("http://10.0.2.2:{}/{path}", self.port)
    }

    /// Paths that were asked for.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(
    mut stream: std::net::TcpStream,
    files: &[(&'static str, PathBuf)],
    asked: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let path = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
    asked.lock().unwrap().push(path.clone());
    let Some((_, file)) = files.iter().find(|(name, _)| *name == path) else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    let mut file = std::fs::File::open(file)?;
    let length = file.metadata()?.len();
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")?;
    if request.starts_with("GET ") {
        std::io::copy(&mut file, &mut stream)?;
    }
    Ok(())
}
