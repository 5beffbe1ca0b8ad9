//! Programs that don't outlive whoever started them.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// What stands before a program that is tied.
const TIE: [&str; 4] = ["setpriv", "--pdeathsig", "KILL", "--"];

/// A command for a program that is killed when the thread that starts it ends, however this process ends.
pub fn tied(program: &Path) -> Command {
    let mut command = Command::new(TIE[0]);
    command.args(&TIE[1..]).arg(program);
    command
}

/// The program that a command runs in the end, tied or not.
pub fn tied_program(command: &Command) -> &OsStr {
    let program = command.get_program();
    if program == TIE[0] { command.get_args().nth(TIE.len() - 1).unwrap_or(program) } else { program }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;

    use super::*;

    #[test]
    fn the_program_is_known_tied_or_not() {
        let mut command = tied(Path::new("/bin/lab"));
        command.args(["up", "--"]);
        assert_eq!(tied_program(&command), "/bin/lab");
        assert_eq!(tied_program(Command::new("/bin/lab").args(["--", "up"])), "/bin/lab");
    }

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
