//! Blocks of a text, and the text of a block.

use std::fmt;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::PemError;

/// Bits that the last letter has too many count for nothing, as they do for `openssl`.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
        .with_decode_allow_trailing_bits(true),
);

/// Letters in a line that is written.
const COLUMNS: usize = 64;

/// Letters of a label that an error quotes.
const TOLD: usize = 40;

/// One block of a text.
#[derive(Clone, PartialEq, Eq)]
pub struct Block {
    /// What it says that it is: `CERTIFICATE`, `PRIVATE KEY`.
    pub label: String,
    pub content: Vec<u8>,
    /// Whether its head says that the content is encrypted.
    pub encrypted: bool,
}

impl fmt::Debug for Block {
    /// Without the content, which may be a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block").field("label", &self.label).field("length", &self.content.len()).finish()
    }
}

/// The blocks of a text, in order.
pub fn blocks(text: &[u8]) -> Blocks<'_> {
    Blocks { rest: text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text) }
}

/// See [`blocks`].
#[derive(Clone, Debug)]
pub struct Blocks<'a> {
    rest: &'a [u8],
}

impl Iterator for Blocks<'_> {
    type Item = Result<Block, PemError>;

    fn next(&mut self) -> Option<Self::Item> {
        let label = loop {
            if let Some(label) = marker(self.line()?, b"-----BEGIN ") {
                break label;
            }
        };
        Some(self.block(label))
    }
}

impl<'a> Blocks<'a> {
    /// The next line, without its end and the blanks before that.
    fn line(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        let (line, rest) = match end {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, &[][..]),
        };
        self.rest = rest;
        let length = line.iter().rposition(|byte| !is_blank(*byte)).map_or(0, |last| last + 1);
        Some(&line[..length])
    }

    /// A block whose first line has been read.
    fn block(&mut self, label: &[u8]) -> Result<Block, PemError> {
        let name = || String::from_utf8_lossy(label).chars().take(TOLD).collect::<String>();
        let mut letters = Vec::new();
        let (mut in_head, mut encrypted) = (false, false);
        loop {
            let line = self.line().ok_or_else(|| PemError::NoEnd(name()))?;
            if let Some(end) = marker(line, b"-----END ") {
                if end != label {
                    return Err(PemError::OtherEnd(name()));
                }
                break;
            }
            if marker(line, b"-----BEGIN ").is_some() {
                return Err(PemError::NoEnd(name()));
            }
            // A head stands before the content, and an empty line ends it (RFC 1421).
            in_head = !line.is_empty() && (in_head || (letters.is_empty() && line.contains(&b':')));
            if in_head {
                encrypted |= line.starts_with(b"Proc-Type:") && line.ends_with(b"ENCRYPTED");
            } else {
                letters.extend(line.iter().filter(|byte| !matches!(byte, b' ' | b'\t')));
            }
        }
        let content = BASE64.decode(&letters).map_err(|_| PemError::Encoding(name()))?;
        Ok(Block { label: String::from_utf8_lossy(label).into_owned(), content, encrypted })
    }
}

/// The label of a line that begins or ends a block. It has no two dashes in it: more is in the line than a label.
fn marker<'a>(line: &'a [u8], begin: &[u8]) -> Option<&'a [u8]> {
    let label = line.strip_prefix(begin)?.strip_suffix(b"-----")?;
    let has_dashes = label.ends_with(b"-") || label.windows(2).any(|pair| pair == b"--");
    (!has_dashes).then_some(label)
}

/// What `openssl` takes for a blank at the end of a line; its letters have a sign.
const fn is_blank(byte: u8) -> bool {
    byte <= b' ' || byte >= 0x80
}

/// A block as every reader takes it.
pub fn write(label: &str, content: &[u8]) -> String {
    let letters = BASE64.encode(content);
    let mut text = format!("-----BEGIN {label}-----\n");
    let mut rest = letters.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(COLUMNS));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text.push_str("-----END ");
    text.push_str(label);
    text.push_str("-----\n");
    text
}
