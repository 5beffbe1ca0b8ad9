//! Prints the table of the process's variables. Used by `cargo xtask docs`.

use std::fmt::Write;
use std::io::{self, Write as _};
use std::process::ExitCode;

fn main() -> ExitCode {
    match io::stdout().write_all(variables().as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn variables() -> String {
    let mut text =
        "# Configuration\n\nMade from the code by `cargo xtask docs`. Environment variables, read once at start; flags of `assisted serve` win.\n"
            .to_owned();
    let mut topic = "";
    for variable in assisted_config::variables() {
        if variable.topic != topic {
            topic = variable.topic;
            let _ =
                write!(text, "\n## {topic}\n\n| variable | default | kind | meaning |\n|---|---|---|---|\n");
        }
        let cell = |cell: &str| cell.replace('|', "\\|").replace('\n', " ");
        // Lists of images are data: the table says that there are defaults, not which.
        let default = if variable.default.len() > 80 { "(built in)".to_owned() } else { variable.default };
        let default = if default.is_empty() { default } else { format!("`{}`", cell(&default)) };
        let _ = writeln!(
            text,
            "| `{}` | {default} | {} | {} |",
            variable.name,
            cell(variable.kind),
            cell(variable.meaning)
        );
    }
    text += "\n## Refused\n\nVariables of the service that this one replaces which ask for what this version can't do. Each stops the start, \
             unless it is empty or has a value that asks for nothing.\n\n| variable | taken | why it is refused |\n|---|---|---|\n";
    for assisted_config::Unread { name, fate } in assisted_config::UNREAD {
        let assisted_config::Fate::Refused { harmless, why } = fate else { continue };
        let taken = harmless.first().map(|value| format!("`{value}`")).unwrap_or_default();
        let _ = writeln!(text, "| `{name}` | {taken} | {why} |");
    }
    text += "\n## Without effect\n\nVariables of the service that this one replaces which can't matter here. One that is set is told at start, \
             and so are those that only `assisted image-service` reads ([its flags](cli.md)), and names that differ by one letter from one \
             that is known.\n\n| variable | why it has no effect |\n|---|---|\n";
    for assisted_config::Unread { name, fate } in assisted_config::UNREAD {
        if let assisted_config::Fate::NoEffect { why } = fate {
            let _ = writeln!(text, "| `{name}` | {why} |");
        }
    }
    text
}
