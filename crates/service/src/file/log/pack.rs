//! A tar archive of stored files, made while it is sent: no more than one piece of one file is held.

use std::io;

use assisted_blob::{Blob, Error as BlobError, Key, Object};
use bytes::Bytes;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use tar::{Builder, EntryType, Header};

use crate::stored_file::Content;

/// Bytes of a block: headers and contents fill whole ones.
const BLOCK: u64 = 512;

/// What an archive ends with.
const END: &[u8] = &[0; 2 * BLOCK as usize];

/// An entry of an archive. What is gone when its turn comes is left out.
pub(super) enum Entry {
    File {
        name: String,
        key: Key,
    },
    /// An archive of files.
    Archive {
        name: String,
        files: Vec<(String, Key)>,
    },
}

/// A file that is open, so that its size holds.
struct Open {
    header: Bytes,
    object: Object,
    content: Content,
}

impl Open {
    /// Bytes in the archive.
    fn size(&self) -> u64 {
        self.header.len() as u64 + self.object.size.next_multiple_of(BLOCK)
    }

    fn into_content(self) -> Content {
        let padding = padding(self.object.size);
        Box::pin(piece(self.header).chain(self.content).chain(piece(padding)))
    }
}

/// The archive of some entries, in pieces.
pub(super) fn pack(blob: Blob, entries: Vec<Entry>) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::iter(entries)
        .then(move |entry| {
            let blob = blob.clone();
            async move {
                match entry {
                    Entry::File { name, key } => {
                        let open = open(&blob, &name, &key).await?;
                        Ok(open.map_or_else(|| Box::pin(stream::empty()) as Content, Open::into_content))
                    }
                    Entry::Archive { name, files } => archive(&blob, &name, files).await,
                }
            }
        })
        .try_flatten()
        .chain(piece(Bytes::from_static(END)))
}

async fn archive(blob: &Blob, name: &str, files: Vec<(String, Key)>) -> io::Result<Content> {
    let mut opened = Vec::with_capacity(files.len());
    for (name, key) in &files {
        opened.extend(open(blob, name, key).await?);
    }
    let Some(newest) = opened.iter().map(|open| open.object.modified_at).max() else {
        return Ok(Box::pin(stream::empty()));
    };
    let size = opened.iter().map(Open::size).sum::<u64>() + END.len() as u64;
    let head = header(name, Object { size, modified_at: newest })?;
    let files = stream::iter(opened).map(Open::into_content).flatten();
    Ok(Box::pin(piece(head).chain(files).chain(piece(Bytes::from_static(END)))))
}

async fn open(blob: &Blob, name: &str, key: &Key) -> io::Result<Option<Open>> {
    match blob.stream(key, None).await {
        Ok((object, content)) => {
            Ok(Some(Open { header: header(name, object)?, object, content: Box::pin(content) }))
        }
        Err(BlobError::NotFound(_) | BlobError::Shadowed(_)) => Ok(None),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// The header of a file, more than one block for a long name.
fn header(name: &str, object: Object) -> io::Result<Bytes> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(object.size);
    header.set_mtime(u64::try_from(object.modified_at.as_second()).unwrap_or_default());
    let mut builder = Builder::new(Vec::new());
    builder.append_data(&mut header, name, io::empty())?;
    Ok(Bytes::copy_from_slice(builder.get_ref()))
}

fn padding(size: u64) -> Bytes {
    let missing = size.next_multiple_of(BLOCK) - size;
    Bytes::from_static(&END[..usize::try_from(missing).unwrap_or_default()])
}

fn piece(bytes: Bytes) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::iter([Ok(bytes)])
}
