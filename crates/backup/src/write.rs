//! An archive is written.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use assisted_base::hex;
use assisted_blob::{Blob, Error as BlobError, Key, Object};
use assisted_store::Options;
use assisted_store::copy::{self, CopyRow};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::{Stream, StreamExt};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tar::{Builder, Header};
use tokio::sync::mpsc;

use crate::error::WriteError;
use crate::format::{CHUNK, DATA, DataFile, FILES, FORM, MANIFEST, Manifest, Member, ROWS};

/// Rows, and pieces of files, that wait to be written.
const QUEUE: usize = 64;

/// Files up to this length are read whole before they are written, and again when they are replaced meanwhile.
const SHORT: u64 = 8 << 20;

/// Tries to read a file that others replace.
const TRIES: usize = 5;

/// The table with the ids of keys in its first column.
const SEAL_KEYS: &str = "seal_keys";

/// What is backed up.
#[derive(Debug)]
pub struct Source<'a> {
    /// Address of the database, and how it is used.
    pub database: &'a str,
    pub options: &'a Options,
    /// The files, as they are kept.
    pub files: &'a Blob,
    /// Small files of the data folder.
    pub data: Vec<(DataFile, Vec<u8>)>,
}

/// What comes to the thread that writes.
enum Piece {
    Begin {
        name: String,
        bytes: u64,
    },
    Bytes(Bytes),
    /// The member is whole.
    End,
    /// The archive is whole.
    Manifest {
        schema: i64,
        rows: BTreeMap<String, u64>,
        seal_keys: Vec<String>,
        has_keys: bool,
    },
}

/// Writes an archive while the service may be at work: the rows are those of one moment, and the files those that are there after it.
/// What it is written to is flushed, and not yet on disk.
///
/// # Errors
/// When the database, a file or the archive fails. What was written then is no archive.
pub async fn write<W: Write + Send + 'static>(
    source: Source<'_>,
    to: W,
) -> Result<(Manifest, W), WriteError> {
    let (pieces, received) = mpsc::channel(QUEUE);
    let writer = tokio::task::spawn_blocking(move || archive(received, to));
    let sent = send(source, pieces).await;
    let written = writer.await.map_err(|_| WriteError::Stopped)?;
    match (sent, written) {
        (Ok(()), Ok(done)) => Ok(done),
        // Who sends learns only that nobody listens any more.
        (Ok(()) | Err(WriteError::Stopped), Err(error)) => Err(error.into()),
        (Err(error), _) => Err(error),
    }
}

async fn send(source: Source<'_>, pieces: mpsc::Sender<Piece>) -> Result<(), WriteError> {
    let (rows, mut received) = mpsc::channel::<CopyRow>(QUEUE);
    let dumped = copy::dump(source.database, source.options, rows);
    let (schema, packed) = tokio::join!(dumped, async {
        let packed = pack(&mut received, &pieces).await;
        // Else whoever dumps would wait for ever once this has failed.
        received.close();
        packed
    });
    let (rows, seal_keys) = packed?;
    let schema = schema?;
    for (key, _) in source.files.all().await? {
        file(source.files, &key, &pieces).await?;
    }
    let has_keys = source.data.iter().any(|(file, _)| *file == DataFile::SealKeys);
    for (file, content) in source.data {
        member(&pieces, format!("{DATA}{}", file.name()), content.into()).await?;
    }
    put(&pieces, Piece::Manifest { schema, rows, seal_keys, has_keys }).await
}

async fn put(pieces: &mpsc::Sender<Piece>, piece: Piece) -> Result<(), WriteError> {
    pieces.send(piece).await.map_err(|_| WriteError::Stopped)
}

async fn member(pieces: &mpsc::Sender<Piece>, name: String, content: Bytes) -> Result<(), WriteError> {
    put(pieces, Piece::Begin { name, bytes: content.len() as u64 }).await?;
    put(pieces, Piece::Bytes(content)).await?;
    put(pieces, Piece::End).await
}

/// Joins rows to members; gives how many there are of each table, and the ids of the keys among them.
async fn pack(
    rows: &mut mpsc::Receiver<CopyRow>,
    pieces: &mpsc::Sender<Piece>,
) -> Result<(BTreeMap<String, u64>, Vec<String>), WriteError> {
    let (mut counts, mut seal_keys) = (BTreeMap::<String, u64>::new(), Vec::new());
    let (mut table, mut text, mut number) = (String::new(), String::new(), 0_u32);
    while let Some(row) = rows.recv().await {
        if *row.table != *table || text.len() >= CHUNK {
            if !text.is_empty() {
                member(pieces, format!("{ROWS}{table}/{number:06}"), std::mem::take(&mut text).into())
                    .await?;
            }
            number = if *row.table == *table { number + 1 } else { 0 };
            row.table.as_ref().clone_into(&mut table);
        }
        if table == SEAL_KEYS {
            seal_keys.extend(first(&row.line));
        }
        *counts.entry(table.clone()).or_default() += 1;
        text.push_str(&row.line);
        text.push('\n');
    }
    if !text.is_empty() {
        member(pieces, format!("{ROWS}{table}/{number:06}"), text.into()).await?;
    }
    Ok((counts, seal_keys))
}

/// The text in the first cell of a row.
fn first(line: &str) -> Option<String> {
    let cells: Vec<serde_json::Value> = serde_json::from_str(line).ok()?;
    Some(cells.first()?.as_str()?.to_owned())
}

/// Sends a file, unless it was deleted meanwhile.
async fn file(files: &Blob, key: &Key, pieces: &mpsc::Sender<Piece>) -> Result<(), WriteError> {
    let name = format!("{FILES}{key}");
    let mut tries = 1;
    loop {
        let (object, content) = match files.stream(key, None).await {
            Ok(opened) => opened,
            Err(BlobError::NotFound(_) | BlobError::Shadowed(_)) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if object.size > SHORT {
            return long(name, object, content, pieces).await;
        }
        let whole: Vec<io::Result<Bytes>> = content.collect().await;
        match whole.into_iter().collect::<io::Result<Vec<Bytes>>>() {
            Ok(whole) => return member(pieces, name, whole.concat().into()).await,
            Err(_) if tries < TRIES => tries += 1,
            Err(source) => return Err(WriteError::Content { key: key.to_string(), source }),
        }
    }
}

async fn long(
    name: String,
    object: Object,
    content: impl Stream<Item = io::Result<Bytes>>,
    pieces: &mpsc::Sender<Piece>,
) -> Result<(), WriteError> {
    put(pieces, Piece::Begin { name: name.clone(), bytes: object.size }).await?;
    futures::pin_mut!(content);
    while let Some(piece) = content.next().await {
        let piece = piece.map_err(|source| WriteError::Content { key: name.clone(), source })?;
        put(pieces, Piece::Bytes(piece)).await?;
    }
    put(pieces, Piece::End).await
}

/// The bytes of a member as they come.
struct Content<'a> {
    pieces: &'a mut mpsc::Receiver<Piece>,
    rest: Bytes,
    digest: Sha256,
    read: u64,
    is_whole: bool,
}

impl Read for Content<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() && !self.is_whole {
            match self.pieces.blocking_recv() {
                Some(Piece::Bytes(bytes)) => self.rest = bytes,
                Some(Piece::End) => self.is_whole = true,
                _ => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        let count = self.rest.len().min(buffer.len());
        let piece = self.rest.split_to(count);
        if let Some(buffer) = buffer.get_mut(..count) {
            buffer.copy_from_slice(&piece);
        }
        self.digest.update(&piece);
        self.read += count as u64;
        Ok(count)
    }
}

fn archive<W: Write>(mut pieces: mpsc::Receiver<Piece>, to: W) -> io::Result<(Manifest, W)> {
    let mut builder = Builder::new(GzEncoder::new(to, Compression::fast()));
    let mut members = Vec::new();
    let made_at = Timestamp::now();
    loop {
        match pieces.blocking_recv() {
            Some(Piece::Begin { name, bytes }) => {
                let mut content = Content {
                    pieces: &mut pieces,
                    rest: Bytes::new(),
                    digest: Sha256::new(),
                    read: 0,
                    is_whole: false,
                };
                append(&mut builder, &name, bytes, made_at, &mut content)?;
                // The end mark has to be taken, too.
                if content.read(&mut [0])? > 0 || content.read != bytes {
                    return Err(io::Error::other(format!("{name} has changed while it was read")));
                }
                let sha256 = hex::encode(&content.digest.finalize());
                members.push(Member { name, bytes, sha256 });
            }
            Some(Piece::Manifest { schema, rows, seal_keys, has_keys }) => {
                let program = env!("CARGO_PKG_VERSION").to_owned();
                let form = FORM.to_owned();
                let manifest =
                    Manifest { form, program, made_at, schema, rows, seal_keys, has_keys, members };
                let text = serde_json::to_vec_pretty(&manifest)?;
                append(&mut builder, MANIFEST, text.len() as u64, made_at, &mut text.as_slice())?;
                let mut to = builder.into_inner()?.finish()?;
                to.flush()?;
                return Ok((manifest, to));
            }
            _ => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

fn append<W: Write>(
    builder: &mut Builder<W>,
    name: &str,
    bytes: u64,
    at: Timestamp,
    content: &mut dyn Read,
) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_size(bytes);
    header.set_mode(0o600);
    header.set_mtime(at.as_second().unsigned_abs());
    builder.append_data(&mut header, name, content)
}
