//! A server under a shell that watches over it: when this process ends, in whatever way, the shell's input ends; it then
//! stops the server and removes its folder. Unlike what is [`tied`](crate::tied), such a server may be shared by threads
//! that come and go.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

const SHELL: &str = r#"
trap '' INT TERM HUP
signal=$1 log=$2 remove=$3
shift 3
"$@" </dev/null >"$log" 2>&1 &
server=$!
cat >/dev/null
kill "-$signal" "$server" 2>/dev/null
wait "$server"
[ -z "$remove" ] || rm -rf "$remove"
"#;

/// How a server is kept and stopped.
pub(crate) struct Keep<'a> {
    /// What stops it.
    pub(crate) signal: Signal,
    /// The file that takes its outputs.
    pub(crate) log: &'a Path,
    /// A folder that is removed when it has stopped.
    pub(crate) remove: Option<&'a Path>,
}

/// A running server, stopped when this is dropped.
#[derive(Debug)]
pub(crate) struct Supervised {
    shell: Child,
}

impl Supervised {
    /// Starts a server; `runner` makes the command that runs a program, the shell.
    pub(crate) fn start(
        runner: impl FnOnce(&Path) -> Command,
        keep: &Keep<'_>,
        program: &Path,
        args: &[impl AsRef<std::ffi::OsStr>],
    ) -> io::Result<Self> {
        let mut shell = runner(Path::new("/bin/sh"));
        shell.args(["-c", SHELL, "sh"]).arg(keep.signal.as_raw().to_string()).arg(keep.log);
        shell.arg(keep.remove.unwrap_or(Path::new(""))).arg(program).args(args);
        let shell = shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Self { shell })
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // Fails only when somebody else has waited for the shell.
        let _ = self.shell.wait();
    }
}
