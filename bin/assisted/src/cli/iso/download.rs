//! `assisted iso download`: an image in a file, whole or not at all.
//!
//! What has arrived lies beside the place, with a note of which image it is a part of: a broken download goes on where it
//! stopped, in this run or in the next, as long as the image is the same.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use assisted_console::Failure;
use assisted_console::output::printable;
use assisted_isokit::iso::Iso;
use assisted_wire::id::InfraEnvId;
use clap::Args;
use indicatif::ProgressBar;
use reqwest::header::{IF_RANGE, RANGE, RETRY_AFTER};
use reqwest::{Response, StatusCode};

use super::cause;
use super::remote::{total, validator};
use crate::cli::common::Context;
use crate::cli::progress;

/// Attempts in a row that bring nothing.
const ATTEMPTS: u32 = 6;
/// How long a server may ask to wait each time, while it is still getting the image ready.
const LONGEST_PAUSE: Duration = Duration::from_secs(120);
/// How long it may go on asking.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// Longest text of an answer that is shown.
const LONGEST_TEXT: usize = 500;
/// Longest note; an entity tag is far shorter.
const LONGEST_NOTE: usize = 1024;

#[derive(Args, Debug)]
pub struct Download {
    /// Id, beginning of an id, or name
    infra_env: String,
    /// Where to save it [default: ID-discovery.iso, in this folder]
    #[arg(long, value_name = "PATH")]
    to: Option<PathBuf>,
}

impl Download {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        let id = context.infra_env(&self.infra_env).await?.id;
        let path = self.to.unwrap_or_else(|| PathBuf::from(format!("{id}-discovery.iso")));
        let bar = progress::download(Some(0));
        let mut part = Part::open(&path)?;
        let http = super::http(context)?;
        let (mut idle, mut waited, mut told) = (0, Duration::ZERO, String::new());
        let size = loop {
            let before = part.len;
            let pause = match attempt(context, &http, id, &mut part, &bar).await? {
                Outcome::Done(size) => break size,
                Outcome::Later(pause, why) => {
                    bar.set_message(why.clone());
                    if waited >= LONGEST_WAIT {
                        return Err(Failure::Unreachable(format!(
                            "the image was not ready within an hour: {why}; look into the image service's log"
                        )));
                    }
                    waited += pause;
                    if bar.is_hidden() && told != why {
                        let _ = writeln!(std::io::stderr(), "waiting: {why}");
                        told = why;
                    }
                    pause
                }
                Outcome::Broken(reason) => {
                    bar.set_message(reason.clone());
                    idle = if part.len > before { 0 } else { idle + 1 };
                    if idle >= ATTEMPTS {
                        return Err(Failure::Unreachable(format!(
                            "can't download the image: {reason}; the same command goes on from here"
                        )));
                    }
                    Duration::from_secs(1 << idle)
                }
            };
            tokio::time::sleep(pause).await;
            bar.set_message("");
        };
        bar.finish_and_clear();
        part.finish(&path, size)?;
        super::saved(&path, size)
    }
}

enum Outcome {
    Done(u64),
    /// The server wants some time, and says why.
    Later(Duration, String),
    Broken(String),
}

/// Asks for what is missing. The address is asked for each time: the last one may have expired.
async fn attempt(
    context: &Context,
    http: &reqwest::Client,
    id: InfraEnvId,
    part: &mut Part,
    bar: &ProgressBar,
) -> Result<Outcome, Failure> {
    let url = context.client.infra_env_image_url(id).await?.url;
    let mut request = http.get(url);
    if let Some(note) = part.note.as_ref().filter(|_| part.len > 0) {
        request = request.header(RANGE, format!("bytes={}-", part.len)).header(IF_RANGE, note);
    }
    let response = match request.send().await {
        Ok(response) => response,
        Err(error) => return Ok(Outcome::Broken(cause(error))),
    };
    let size = match response.status() {
        StatusCode::OK => {
            part.begin(validator(response.headers()))?;
            response.content_length()
        }
        StatusCode::PARTIAL_CONTENT if starts_at(&response, part.len) => total(response.headers()),
        // Nothing is missing, or more than nothing is there: the length tells.
        StatusCode::RANGE_NOT_SATISFIABLE if total(response.headers()) == Some(part.len) => {
            return Ok(Outcome::Done(part.len));
        }
        StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => {
            part.begin(None)?;
            return Ok(Outcome::Broken("the server sends another part than it was asked for".into()));
        }
        StatusCode::SERVICE_UNAVAILABLE if response.headers().contains_key(RETRY_AFTER) => {
            let pause = retry_after(&response);
            return Ok(Outcome::Later(pause, text_of(response).await));
        }
        status if status.is_server_error() => {
            let text = text_of(response).await;
            return Ok(Outcome::Broken(format!("the server answers {status}: {text}")));
        }
        status => {
            let text = text_of(response).await;
            return Err(Failure::Refused(format!(
                "can't download the image: the server answers {status}: {text}"
            )));
        }
    };
    let Some(size) = size else {
        return Err(Failure::Refused("the server does not say how long the image is".into()));
    };
    bar.set_length(size);
    bar.set_position(part.len);
    receive(response, part, size, bar).await
}

async fn receive(
    mut response: Response,
    part: &mut Part,
    size: u64,
    bar: &ProgressBar,
) -> Result<Outcome, Failure> {
    loop {
        match response.chunk().await {
            Ok(Some(piece)) if part.len + piece.len() as u64 > size => {
                part.begin(None)?;
                return Ok(Outcome::Broken("the server sends more than it says".into()));
            }
            Ok(Some(piece)) => {
                part.write(&piece)?;
                bar.set_position(part.len);
            }
            Ok(None) if part.len == size => return Ok(Outcome::Done(size)),
            Ok(None) => return Ok(Outcome::Broken("the connection ended early".into())),
            Err(error) => return Ok(Outcome::Broken(cause(error))),
        }
    }
}

fn starts_at(response: &Response, at: u64) -> bool {
    let range = response.headers().get(reqwest::header::CONTENT_RANGE).and_then(|value| value.to_str().ok());
    let start = range.and_then(|range| range.strip_prefix("bytes ")?.split_once('-')?.0.parse().ok());
    start == Some(at)
}

fn retry_after(response: &Response) -> Duration {
    let seconds = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    Duration::from_secs(seconds.unwrap_or(5)).clamp(Duration::from_secs(1), LONGEST_PAUSE)
}

/// What an answer that is no image says, on one line.
async fn text_of(mut response: Response) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < LONGEST_TEXT
        && let Ok(Some(piece)) = response.chunk().await
    {
        bytes.extend_from_slice(&piece);
    }
    bytes.truncate(LONGEST_TEXT);
    let text = String::from_utf8_lossy(&bytes);
    let line = printable(text.trim());
    if line.is_empty() { "no reason is given".to_owned() } else { line }
}

/// What has arrived so far.
struct Part {
    file: File,
    path: PathBuf,
    note_path: PathBuf,
    len: u64,
    /// Which image it is a part of.
    note: Option<String>,
}

impl Part {
    /// Opens what an earlier download left beside `path`, or begins.
    fn open(path: &Path) -> Result<Self, Failure> {
        let beside = |suffix: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        };
        let (part, note_path) = (beside(".part"), beside(".part.of"));
        let refused = |error: std::io::Error| refused(&part, &error);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        // An image holds the pull secret.
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&part).map_err(refused)?;
        file.try_lock()
            .map_err(|_| Failure::Refused(format!("another download is writing {}", part.display())))?;
        let len = file.seek(SeekFrom::End(0)).map_err(refused)?;
        let note = std::fs::read_to_string(&note_path).ok().filter(|note| note.len() <= LONGEST_NOTE);
        Ok(Self { file, path: part, note_path, len, note })
    }

    /// Begins anew, with a part of the image that `note` tells.
    fn begin(&mut self, note: Option<String>) -> Result<(), Failure> {
        // In this order: a part never lies beside the note of another image.
        self.file.set_len(0).map_err(|error| refused(&self.path, &error))?;
        self.file.rewind().map_err(|error| refused(&self.path, &error))?;
        self.len = 0;
        self.note = note;
        match &self.note {
            Some(note) => {
                std::fs::write(&self.note_path, note).map_err(|error| refused(&self.note_path, &error))
            }
            None => {
                let _ = std::fs::remove_file(&self.note_path);
                Ok(())
            }
        }
    }

    fn write(&mut self, piece: &[u8]) -> Result<(), Failure> {
        self.file.write_all(piece).map_err(|error| refused(&self.path, &error))?;
        self.len += piece.len() as u64;
        Ok(())
    }

    /// Puts the file in its place, once it is known to be an image and to be on the disk.
    fn finish(mut self, path: &Path, size: u64) -> Result<(), Failure> {
        debug_assert_eq!(self.len, size);
        if let Err(error) = Iso::read(&self.file) {
            self.begin(None)?;
            return Err(Failure::Refused(format!("what the server sent is no image: {error}")));
        }
        self.file.sync_all().map_err(|error| refused(&self.path, &error))?;
        std::fs::rename(&self.path, path).map_err(|error| refused(path, &error))?;
        let _ = std::fs::remove_file(&self.note_path);
        Ok(())
    }
}

fn refused(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Refused(format!("can't write {}: {error}; choose another place with --to", path.display()))
}
