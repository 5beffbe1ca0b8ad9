//! The file with the keys, one line each: `seals`, `next` or `opens`, the key's id, `plain` or `wrapped`, and the key. A wrapped one
//! is what a [`Hook`] has made of it.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::{Hook, HookError, Key, KeyId, SealError, private_file};

const HEADING: &str = "# Keys of assisted. One seals, all of them open. Who loses them loses every secret; who has them \
                       reads every secret:\n# keep a copy, and keep it apart from the database.\n";
/// Longest file that is read, in bytes; keys at most.
const LONGEST: u64 = 1 << 20;
const MOST: usize = 64;
/// Rights of those who are neither the owner nor of the file's group. Kubernetes opens the volumes of a pod to a group.
const OTHERS: u32 = 0o007;

/// Why keys can't be had.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    #[error("the key file {} can't be used", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("the key file {} is {what}: it has to be a file that nobody but its owner and group may read or write (chmod 600)", path.display())]
    Open { path: PathBuf, what: &'static str },
    #[error("the key file {} must have one key that seals, and one that is next at the most", path.display())]
    Roles { path: PathBuf },
    #[error("line {line} of the key file {} is no key: \"seals ID plain BASE64\" is wanted, or another of its forms", path.display())]
    Line { path: PathBuf, line: usize },
    #[error("line {line} of the key file {} holds another key than {id}", path.display())]
    OtherKey { path: PathBuf, line: usize, id: KeyId },
    #[error("the key {id} is wrapped, and SEAL_KEY_PROGRAM names no program that unwraps it")]
    NoHook { id: KeyId },
    #[error("the key file {} has {MOST} keys: remove some that are no longer needed", path.display())]
    TooMany { path: PathBuf },
    #[error(transparent)]
    Hook(#[from] HookError),
    #[error("a key can't be made")]
    Key(#[from] SealError),
}

/// The keys of a file.
#[derive(Clone, Debug)]
pub struct Keys {
    /// The one that seals.
    pub seals: Key,
    /// The one that is to seal once everybody knows it.
    pub next: Option<Key>,
    /// Those that something may still be sealed with.
    pub opens: Vec<Key>,
}

impl Keys {
    /// One key.
    pub fn of(seals: Key) -> Self {
        Self { seals, next: None, opens: Vec::new() }
    }

    /// The content of a key file with these keys, none of them wrapped.
    pub fn text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(HEADING.to_owned());
        for (role, key) in self.roles() {
            text.push_str(&line(role, key, "plain", &key.text()));
        }
        text
    }

    fn roles(&self) -> impl Iterator<Item = (&'static str, &Key)> {
        let next = self.next.iter().map(|key| ("next", key));
        let opens = self.opens.iter().map(|key| ("opens", key));
        [("seals", &self.seals)].into_iter().chain(next).chain(opens)
    }

    /// Every key, the one that seals first.
    pub fn all(&self) -> impl Iterator<Item = &Key> {
        [&self.seals].into_iter().chain(&self.next).chain(&self.opens)
    }
}

/// A file with keys, and the program that wraps them, if one does.
#[derive(Clone, Debug)]
pub struct KeyFile {
    path: PathBuf,
    hook: Option<Hook>,
}

fn line(role: &str, key: &Key, form: &str, word: &str) -> Zeroizing<String> {
    Zeroizing::new(format!("{role} {} {form} {word}\n", key.id()))
}

enum Role {
    Seals,
    Next,
    Opens,
}

impl KeyFile {
    pub fn new(path: impl Into<PathBuf>, hook: Option<Hook>) -> Self {
        Self { path: path.into(), hook }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is one.
    pub fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Its keys.
    ///
    /// # Errors
    /// When there is none, or one of them can't be had.
    pub async fn read(&self) -> Result<Keys, KeyFileError> {
        let mut text = Zeroizing::new(String::new());
        let metadata = fs::metadata(&self.path).map_err(|source| self.io(source))?;
        let open = |what| KeyFileError::Open { path: self.path.clone(), what };
        if !metadata.is_file() {
            return Err(open("no file"));
        }
        if metadata.permissions().mode() & OTHERS != 0 {
            return Err(open("open to others"));
        }
        let read = File::open(&self.path).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
        read.map_err(|source| self.io(source))?;
        let (mut seals, mut next, mut opens) = (Vec::new(), Vec::new(), Vec::new());
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                let (role, key) = self.line(number + 1, line).await?;
                match role {
                    Role::Seals => seals.push(key),
                    Role::Next => next.push(key),
                    Role::Opens => opens.push(key),
                }
            }
        }
        match (seals.as_slice(), next.as_slice()) {
            ([seals], [] | [_]) => Ok(Keys { seals: seals.clone(), next: next.pop(), opens }),
            _ => Err(KeyFileError::Roles { path: self.path.clone() }),
        }
    }

    async fn line(&self, number: usize, line: &str) -> Result<(Role, Key), KeyFileError> {
        let wrong = || KeyFileError::Line { path: self.path.clone(), line: number };
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        let [role, id, form, word] = words.as_slice() else { return Err(wrong()) };
        let role = match *role {
            "seals" => Role::Seals,
            "next" => Role::Next,
            "opens" => Role::Opens,
            _ => return Err(wrong()),
        };
        let id: KeyId = id.parse().map_err(|_| wrong())?;
        let key = match *form {
            "plain" => Key::read(word).ok_or_else(wrong)?,
            "wrapped" => {
                let hook = self.hook.as_ref().ok_or(KeyFileError::NoHook { id })?;
                Key::read(&hook.unwrap_key(word).await?).ok_or_else(wrong)?
            }
            _ => return Err(wrong()),
        };
        if key.id() == id {
            Ok((role, key))
        } else {
            Err(KeyFileError::OtherKey { path: self.path.clone(), line: number, id })
        }
    }

    /// Makes it with one new key, unless it is there. Of several programs that start at once, all get the same.
    ///
    /// # Errors
    /// When it can't be made.
    pub async fn make(&self) -> Result<(), KeyFileError> {
        let text = self.text(&Keys::of(Key::generate()?)).await?;
        private_file::create(&self.path, &text).map_err(|source| self.io(source))?;
        Ok(())
    }

    /// Puts other keys in the place of those that it has.
    ///
    /// # Errors
    /// When it can't be written. Then it is as it was.
    pub async fn write(&self, keys: &Keys) -> Result<(), KeyFileError> {
        if keys.all().count() > MOST {
            return Err(KeyFileError::TooMany { path: self.path.clone() });
        }
        let text = self.text(keys).await?;
        private_file::replace(&self.path, &text).map_err(|source| self.io(source))
    }

    async fn text(&self, keys: &Keys) -> Result<Zeroizing<String>, KeyFileError> {
        let Some(hook) = &self.hook else { return Ok(keys.text()) };
        let mut text = Zeroizing::new(HEADING.to_owned());
        for (role, key) in keys.roles() {
            text.push_str(&line(role, key, "wrapped", &hook.wrap(&key.text()).await?));
        }
        Ok(text)
    }

    fn io(&self, source: std::io::Error) -> KeyFileError {
        KeyFileError::Io { path: self.path.clone(), source }
    }
}
