//! Whether the person at the console set the network up by hand, so that the installed system is to have it too
//! (agent-protocol §2.4.9).

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

const CONSOLE_LOG: &str = "var/log/agent/agent-tui.log";
const CONSOLE_DIR: &str = "var/log/agent";
const PROFILES: &str = "etc/NetworkManager/system-connections";
/// A profile is a few hundred bytes.
const LONGEST: u64 = 1 << 20;

/// Looks at the host, whether or not this program runs in a container on it.
pub(super) fn wanted() -> bool {
    let host = Path::new("/proc/1/root");
    wanted_below(if host.join("etc").is_dir() { host } else { Path::new("/") })
}

fn wanted_below(root: &Path) -> bool {
    if !root.join(CONSOLE_LOG).exists() {
        return false;
    }
    // The directory is born when the console comes up. Without a birth time nothing can be said.
    let Some(begun) = birth(&root.join(CONSOLE_DIR)) else { return false };
    let Ok(entries) = fs::read_dir(root.join(PROFILES)) else { return false };
    entries.flatten().any(|entry| is_profile_since(&entry, begun))
}

fn birth(path: &Path) -> Option<SystemTime> {
    let found = statx(CWD, path, AtFlags::empty(), StatxFlags::BTIME).ok()?;
    let known = found.stx_mask & StatxFlags::BTIME.bits() != 0;
    let seconds = std::time::Duration::from_secs(u64::try_from(found.stx_btime.tv_sec).ok()?);
    let nanos = std::time::Duration::from_nanos(found.stx_btime.tv_nsec.into());
    known.then(|| SystemTime::UNIX_EPOCH + seconds + nanos)
}

fn is_profile_since(entry: &fs::DirEntry, begun: SystemTime) -> bool {
    let Ok(found) = entry.metadata() else { return false };
    found.is_file()
        && found.len() <= LONGEST
        && found.modified().is_ok_and(|at| at >= begun)
        && fs::read(entry.path()).is_ok_and(|bytes| {
            String::from_utf8_lossy(&bytes).lines().any(|line| line.trim() == "[connection]")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_made_at_the_console_count() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at(PROFILES)).unwrap();
        fs::create_dir_all(at(CONSOLE_DIR)).unwrap();
        let profile = at(PROFILES).join("eth0.nmconnection");
        fs::write(&profile, "[connection]\nid=eth0\n").unwrap();
        assert!(!wanted_below(root.path()), "no console");
        fs::write(at(CONSOLE_LOG), "").unwrap();
        assert!(wanted_below(root.path()));
        let old = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        fs::File::options().write(true).open(&profile).unwrap().set_modified(old).unwrap();
        assert!(!wanted_below(root.path()), "older than the console");
        fs::write(&profile, "no profile").unwrap();
        assert!(!wanted_below(root.path()));
    }
}
