//! Programs that don't outlive whoever started them.

use std::path::Path;
use std::process::Command;

/// A command for a program that is killed when the thread that starts it ends, however this process ends.
pub fn tied(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;

    use super::*;

    #[test]
    fn what_is_tied_dies_with_its_starter() {
        let started = std::thread::spawn(|| {
            let script = ["-c", "echo ready; exec sleep 60"];
            let mut child = tied(Path::new("/bin/sh")).args(script).stdout(Stdio::piped()).spawn().unwrap();
            let mut ready = [0];
            child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
            child
        });
        let mut child = started.join().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }
}
