//! The members of an archive one after another, each within its limits: an archive may come from anywhere.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use assisted_base::hex;
use assisted_blob::Key;
use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};
use tar::Archive;

use crate::error::DamageError;
use crate::format::{
    DATA, DataFile, FILES, FORM, MANIFEST, MOST_DATA, MOST_MANIFEST, MOST_NAME, MOST_ROWS, Manifest, Member,
    ROWS,
};

/// Bytes of a file that are handed on at a time.
const PIECE: usize = 1 << 20;

/// A part of an archive.
#[derive(Clone, Copy)]
pub(crate) enum Part<'a> {
    /// Lines of a table.
    Rows {
        table: &'a str,
        text: &'a str,
    },
    /// A file begins.
    File {
        key: &'a Key,
        bytes: u64,
    },
    /// The next bytes of it.
    Piece(&'a [u8]),
    /// It is whole.
    FileEnd,
    Data {
        file: DataFile,
        content: &'a [u8],
    },
}

/// Why members were not read to their end.
pub(crate) enum Ended<E> {
    Damaged(DamageError),
    /// Whoever takes the parts has had enough.
    Refused(E),
}

impl<E> From<DamageError> for Ended<E> {
    fn from(error: DamageError) -> Self {
        Self::Damaged(error)
    }
}

/// Hands every part of an archive on, and compares all of it with what its manifest says. Parts are handed on before that is known.
pub(crate) fn read<E>(
    path: &Path,
    take: impl FnMut(Part<'_>) -> Result<(), E>,
) -> Result<Manifest, Ended<E>> {
    let file = File::open(path).map_err(DamageError::Read)?;
    read_from(BufReader::new(file), take)
}

/// Reads a member out of a reader.
pub(crate) fn read_from<E>(
    from: impl Read,
    mut take: impl FnMut(Part<'_>) -> Result<(), E>,
) -> Result<Manifest, Ended<E>> {
    let mut archive = Archive::new(GzDecoder::new(from));
    let mut found = Vec::new();
    let mut names = HashSet::new();
    let mut rows = BTreeMap::new();
    let mut manifest = None;
    let mut long = None;
    // As they are: the library would read a long name to its end, however long it is.
    for entry in archive.entries().map_err(DamageError::Format)?.raw(true) {
        let mut entry = entry.map_err(DamageError::Format)?;
        if entry.header().entry_type().is_gnu_longname() {
            long = Some(long_name(&mut entry, long.is_some())?);
            continue;
        }
        let name = long.take().or_else(|| String::from_utf8(entry.path_bytes().into_owned()).ok());
        let name = name.unwrap_or_default();
        let bytes = entry.size();
        let wrong = |why| DamageError::Member { member: name.clone(), why };
        if manifest.is_some() {
            return Err(wrong("comes after the manifest").into());
        }
        if !entry.header().entry_type().is_file() {
            return Err(wrong("is no file").into());
        }
        if name == MANIFEST {
            manifest = Some(parse(&whole(&mut entry, MOST_MANIFEST, &name)?)?);
            continue;
        }
        if !names.insert(name.clone()) {
            return Err(wrong("is there twice").into());
        }
        let sha256 = if let Some(key) = name.strip_prefix(FILES) {
            let key = Key::new(key).map_err(|_| wrong("has a name that no file has"))?;
            pieces(&mut entry, &key, bytes, &name, &mut take)?
        } else if let Some(rest) = name.strip_prefix(ROWS) {
            let (table, _) = rest.split_once('/').ok_or_else(|| wrong("has no place among the rows"))?;
            let content = whole(&mut entry, MOST_ROWS, &name)?;
            let text = std::str::from_utf8(&content).map_err(|_| wrong("is no text"))?;
            *rows.entry(table.to_owned()).or_default() += text.lines().count() as u64;
            take(Part::Rows { table, text }).map_err(Ended::Refused)?;
            hex::encode(&Sha256::digest(&content))
        } else if let Some(file) = name.strip_prefix(DATA).and_then(DataFile::parse) {
            let content = whole(&mut entry, MOST_DATA, &name)?;
            take(Part::Data { file, content: &content }).map_err(Ended::Refused)?;
            hex::encode(&Sha256::digest(&content))
        } else {
            return Err(wrong("is no member of a backup").into());
        };
        found.push(Member { name, bytes, sha256 });
    }
    // What stands behind the end marks has to be there as well: only then is the checksum of everything compared.
    let rest = io::copy(&mut archive.into_inner().take(PIECE as u64), &mut io::sink());
    rest.map_err(DamageError::Format)?;
    if long.is_some() {
        return Err(DamageError::Cut.into());
    }
    let manifest = manifest.ok_or(DamageError::Cut)?;
    compare(&manifest, &found, &rows)?;
    Ok(manifest)
}

/// A name that has no room in the head of its member; it stands before that, once.
fn long_name(entry: &mut impl Read, is_second: bool) -> Result<String, DamageError> {
    const MEMBER: &str = "the name of a member";
    let wrong = |why| DamageError::Member { member: MEMBER.to_owned(), why };
    if is_second {
        return Err(wrong("is there twice"));
    }
    let mut name = whole(entry, MOST_NAME, MEMBER)?;
    if name.last() == Some(&0) {
        name.pop();
    }
    String::from_utf8(name).map_err(|_| wrong("is no text"))
}

/// The content of a member that has to be short.
fn whole(entry: &mut impl Read, most: u64, name: &str) -> Result<Vec<u8>, DamageError> {
    let mut content = Vec::new();
    entry.take(most + 1).read_to_end(&mut content).map_err(DamageError::Format)?;
    if content.len() as u64 > most {
        return Err(DamageError::Member { member: name.to_owned(), why: "is too long" });
    }
    Ok(content)
}

/// Hands a file on as it is read; gives its digest.
fn pieces<E>(
    entry: &mut impl Read,
    key: &Key,
    bytes: u64,
    name: &str,
    take: &mut impl FnMut(Part<'_>) -> Result<(), E>,
) -> Result<String, Ended<E>> {
    take(Part::File { key, bytes }).map_err(Ended::Refused)?;
    let mut digest = Sha256::new();
    let mut piece = vec![0; PIECE];
    let mut left = bytes;
    while left > 0 {
        let count = entry.read(&mut piece).map_err(DamageError::Format)?;
        if count == 0 {
            return Err(DamageError::Member { member: name.to_owned(), why: "is cut" }.into());
        }
        left = left.saturating_sub(count as u64);
        let read = piece.get(..count).unwrap_or_default();
        digest.update(read);
        take(Part::Piece(read)).map_err(Ended::Refused)?;
    }
    take(Part::FileEnd).map_err(Ended::Refused)?;
    Ok(hex::encode(&digest.finalize()))
}

fn parse(content: &[u8]) -> Result<Manifest, DamageError> {
    #[derive(serde::Deserialize)]
    struct Form {
        form: String,
    }
    let unreadable = |_| DamageError::Member { member: MANIFEST.to_owned(), why: "can't be read" };
    let Form { form } = serde_json::from_slice(content).map_err(unreadable)?;
    if form != FORM {
        return Err(DamageError::Form(form.chars().take(40).collect()));
    }
    serde_json::from_slice(content).map_err(unreadable)
}

fn compare(manifest: &Manifest, found: &[Member], rows: &BTreeMap<String, u64>) -> Result<(), DamageError> {
    let wrong = |member: &str, why| Err(DamageError::Member { member: member.to_owned(), why });
    let mut found = found.iter();
    for told in &manifest.members {
        match found.next() {
            Some(member) if member == told => {}
            Some(member) if member.name == told.name => {
                return wrong(&told.name, "is not what it was when it was written");
            }
            _ => return wrong(&told.name, "is missing"),
        }
    }
    if let Some(more) = found.next() {
        return wrong(&more.name, "is not in the manifest");
    }
    if *rows != manifest.rows {
        return wrong(MANIFEST, "counts other rows than there are");
    }
    Ok(())
}
