//! `hostnamectl`: gives the machine a name, which it keeps on its disk.

use anyhow::{Result, bail};

use crate::files;

pub fn set(args: &[&str]) -> Result<i32> {
    let ["set-hostname", name] = args else {
        bail!("the lab's hostnamectl sets the name, and nothing else");
    };
    rustix::system::sethostname(name.as_bytes())?;
    files::write("/etc/hostname", 0o644, format!("{name}\n"))?;
    Ok(0)
}
