//! An archive is put back.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assisted_base::hex;
use assisted_blob::{Blob, Key};
use assisted_store::Options;
use assisted_store::copy::{self, Copied, CopyError, CopyRow};
use bytes::Bytes;
use futures::StreamExt;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use crate::error::{DamageError, RestoreError};
use crate::format::{DATA, DataFile, FILES, Manifest};
use crate::members::{self, Ended, Part};
use crate::verify::verify;

/// Parts, rows and pieces of files that wait for whoever takes them.
const QUEUE: usize = 64;

/// Where an archive is restored to.
#[derive(Debug)]
pub struct Destination<'a> {
    /// Address of the database, which is to be new, and how it is used.
    pub database: &'a str,
    pub options: &'a Options,
    /// The place of files, without keys.
    pub files: &'a Blob,
    /// Where the small files of the data folder go.
    pub data: Vec<(DataFile, PathBuf)>,
}

/// A part of an archive on its way to where it goes.
enum Step {
    Row(CopyRow),
    Begin { key: Key, bytes: u64 },
    Piece(Bytes),
    End,
    Data { file: DataFile, content: Vec<u8> },
}

/// Puts an archive back. It is verified before anything is changed, and the database appears last, with everything in it: what was
/// ended in the middle can be done again.
///
/// # Errors
/// When the archive is damaged, when there is something already where it goes, and when a place fails.
pub async fn restore(archive: &Path, place: Destination<'_>) -> Result<Manifest, RestoreError> {
    let path = archive.to_owned();
    let verified = tokio::task::spawn_blocking(move || verify(&path)).await;
    let manifest = verified.map_err(|_| RestoreError::Stopped)??;
    check_files(&manifest, place.files).await?;
    check_data(&manifest, &place.data)?;

    let (steps, mut received) = mpsc::channel(QUEUE);
    let path = archive.to_owned();
    let reading = tokio::task::spawn_blocking(move || members::read(&path, |part| step(part, &steps)));
    let (rows, loaded) = mpsc::channel(QUEUE);
    let schema = manifest.schema;
    let loading = copy::load(place.database, place.options, schema, loaded);
    let placing = async {
        let placed = take(&mut received, &rows, &place).await;
        // Else the thread that reads would wait for ever once this has failed.
        received.close();
        placed?;
        let again = reading.await.map_err(|_| RestoreError::Stopped)?;
        match again {
            // Somebody may have written to the archive since it was verified.
            Ok(again) if again == manifest => {}
            Ok(_) => return Err(DamageError::Cut.into()),
            Err(Ended::Damaged(error)) => return Err(error.into()),
            Err(Ended::Refused(())) => return Err(RestoreError::Stopped),
        }
        rows.send(Copied::End).await.map_err(|_| RestoreError::Stopped)?;
        drop(rows);
        Ok(())
    };
    let (loaded, placed) = tokio::join!(loading, placing);
    match (loaded, placed) {
        (Ok(()), Ok(())) => Ok(manifest),
        (Err(CopyError::Unfinished), Err(error)) => Err(error),
        (Err(error), _) => Err(error.into()),
        (Ok(()), Err(error)) => Err(error),
    }
}

fn step(part: Part<'_>, steps: &mpsc::Sender<Step>) -> Result<(), ()> {
    let send = |step| steps.blocking_send(step).map_err(drop);
    match part {
        Part::Rows { table, text } => {
            let table: Arc<str> = table.into();
            text.lines().try_for_each(|line| {
                send(Step::Row(CopyRow { table: Arc::clone(&table), line: line.to_owned() }))
            })
        }
        Part::File { key, bytes } => send(Step::Begin { key: key.clone(), bytes }),
        Part::Piece(piece) => send(Step::Piece(Bytes::copy_from_slice(piece))),
        Part::FileEnd => send(Step::End),
        Part::Data { file, content } => send(Step::Data { file, content: content.to_vec() }),
    }
}

/// Takes everything to its place.
async fn take(
    steps: &mut mpsc::Receiver<Step>,
    rows: &mpsc::Sender<Copied>,
    place: &Destination<'_>,
) -> Result<(), RestoreError> {
    while let Some(step) = steps.recv().await {
        match step {
            Step::Row(row) => {
                rows.send(Copied::Row(row)).await.map_err(|_| RestoreError::Stopped)?;
            }
            Step::Begin { key, bytes } => put_file(place.files, &key, bytes, steps).await?,
            Step::Data { file, content } => {
                if let Some((_, path)) = place.data.iter().find(|(known, _)| *known == file) {
                    put_data(path, &content)?;
                }
            }
            Step::Piece(_) | Step::End => return Err(RestoreError::Stopped),
        }
    }
    Ok(())
}

async fn put_file(
    files: &Blob,
    key: &Key,
    bytes: u64,
    steps: &mut mpsc::Receiver<Step>,
) -> Result<(), RestoreError> {
    let pieces = futures::stream::unfold(steps, |steps| async move {
        match steps.recv().await {
            Some(Step::Piece(piece)) => Some((Ok(piece), steps)),
            Some(Step::End) => None,
            _ => Some((Err(io::ErrorKind::UnexpectedEof.into()), steps)),
        }
    });
    files.put_stream(key, pieces, bytes).await?;
    Ok(())
}

/// Files that are there have to be those of the archive: then they were put by an attempt that was ended.
async fn check_files(manifest: &Manifest, files: &Blob) -> Result<(), RestoreError> {
    let members: BTreeMap<_, _> = manifest
        .members
        .iter()
        .filter_map(|member| Some((member.name.strip_prefix(FILES)?, member)))
        .collect();
    for (key, object) in files.all().await? {
        let Some(member) = members.get(key.as_str()) else {
            return Err(RestoreError::Strange(key.to_string()));
        };
        let other = || RestoreError::Other(key.to_string());
        if object.size != member.bytes {
            return Err(other());
        }
        let (_, content) = files.stream(&key, None).await?;
        futures::pin_mut!(content);
        let mut digest = Sha256::new();
        while let Some(piece) = content.next().await {
            digest.update(&piece.map_err(|_| other())?);
        }
        if hex::encode(&digest.finalize()) != member.sha256 {
            return Err(other());
        }
    }
    Ok(())
}

/// So do the small ones.
fn check_data(manifest: &Manifest, data: &[(DataFile, PathBuf)]) -> Result<(), RestoreError> {
    for (file, path) in data {
        let name = format!("{DATA}{}", file.name());
        let Some(member) = manifest.members.iter().find(|member| member.name == name) else { continue };
        match fs::read(path) {
            Ok(found) if hex::encode(&Sha256::digest(&found)) == member.sha256 => {}
            Ok(_) => return Err(RestoreError::OtherData { path: path.display().to_string() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(RestoreError::Data { path: path.display().to_string(), source }),
        }
    }
    Ok(())
}

/// Puts a small file, unless it is there.
fn put_data(path: &Path, content: &[u8]) -> Result<(), RestoreError> {
    let failed = |source| RestoreError::Data { path: path.display().to_string(), source };
    if path.exists() {
        return Ok(());
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".restoring");
    let draft = PathBuf::from(name);
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft);
    let written = file.and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&draft, path)).map_err(failed)
}
