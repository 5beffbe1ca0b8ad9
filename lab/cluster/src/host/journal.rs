//! The journal: what units and programs say, in one file each.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tokio::net::UnixDatagram;

use crate::files;

pub const FOLDER: &str = "/run/log/lab";
const SOCKET: &str = "/run/systemd/journal/socket";
/// Longest record, in bytes.
const LONGEST: usize = 256 << 10;

/// The file with a unit's log.
pub fn of_unit(name: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{}.log", plain(name)))
}

fn of_tag(tag: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("tag-{}.log", plain(tag)))
}

fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.@".contains(c) { c } else { '_' }).collect()
}

/// Keeps what programs send to the journal themselves.
pub fn collect() -> Result<()> {
    let _ = std::fs::remove_file(SOCKET);
    let socket = UnixDatagram::bind(SOCKET).context("there is no journal")?;
    tokio::spawn(async move {
        let mut record = vec![0; LONGEST];
        while let Ok(length) = socket.recv(&mut record).await {
            let fields = fields(&record[..length]);
            let field =
                |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
            let Some(message) = field("MESSAGE") else { continue };
            let tag = field("TAG").or(field("SYSLOG_IDENTIFIER")).unwrap_or("other");
            let log = std::fs::File::options().create(true).append(true).mode(0o600).open(of_tag(tag));
            // A full disk must not end the journal.
            let _ = log.and_then(|mut log| writeln!(log, "{message}"));
        }
    });
    Ok(())
}

/// The fields of a record: `NAME=value` in a line, or `NAME`, a line feed, the value's length in eight bytes, the value.
fn fields(mut record: &[u8]) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut all = Vec::new();
    while let Some(end) = record.iter().position(|byte| *byte == b'\n') {
        let (line, rest) = (&record[..end], &record[end + 1..]);
        match line.iter().position(|byte| *byte == b'=') {
            Some(at) => {
                all.push((text(&line[..at]), text(&line[at + 1..])));
                record = rest;
            }
            None => {
                let Some((length, rest)) = rest.split_first_chunk::<8>() else { break };
                let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
                let Some(value) = rest.get(..length) else { break };
                all.push((text(line), text(value)));
                record = rest.get(length + 1..).unwrap_or_default();
            }
        }
    }
    all
}

/// `journalctl`: the log of a tag, of a unit, or of everything.
pub fn show(args: &[&str]) -> Result<i32> {
    let mut paths = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match *arg {
            "--all" | "--no-pager" => {}
            // All that there is is from this start.
            "-D" | "--since" => drop(args.next()),
            "-u" => {
                let name = args.next().context("-u without a unit")?;
                paths.push(of_unit(&if name.contains('.') {
                    (*name).to_owned()
                } else {
                    format!("{name}.service")
                }));
            }
            arg => match arg.strip_prefix("TAG=") {
                Some(tag) => paths.push(of_tag(tag)),
                None => bail!("the lab's journalctl does not know {arg}"),
            },
        }
    }
    if paths.is_empty() {
        paths.extend(std::fs::read_dir(FOLDER)?.flatten().map(|entry| entry.path()));
        paths.sort();
    }
    for path in paths.iter().filter(|path| path.is_file()) {
        std::io::stdout().write_all(&files::read(path)?)?;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_in_both_forms() {
        let mut record = b"PRIORITY=6\nTAG=agent\nMESSAGE\n\x08\0\0\0\0\0\0\0two\nline\nA=b\n".to_vec();
        let told = fields(&record);
        assert_eq!(told[1], ("TAG".to_owned(), "agent".to_owned()));
        assert_eq!(told[2], ("MESSAGE".to_owned(), "two\nline".to_owned()));
        assert_eq!(told[3].0, "A");
        record.truncate(record.len() - 12);
        assert_eq!(fields(&record).len(), 2);
    }
}
