//! Prints the documents that are made from the domain: `docs machines`, `docs settings`. Used by `cargo xtask docs`.

use std::fmt::Write;
use std::io::{self, Write as _};
use std::process::ExitCode;

use assisted_core::decide::refresh;
use assisted_core::settings;

fn main() -> ExitCode {
    let text = match std::env::args().nth(1).as_deref() {
        Some("machines") => machines(),
        Some("settings") => variables(),
        other => {
            let _ = writeln!(io::stderr(), "unknown document {other:?}: machines or settings");
            return ExitCode::from(2);
        }
    };
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn machines() -> String {
    let mut text = "# State machines\n\nMade from the code by `cargo xtask docs`. In each table the first rule wins whose state and condition hold.\n".to_owned();
    for table in refresh::tables() {
        let (diagram, rules) = (table.to_mermaid(), table.to_markdown());
        let _ = write!(
            text,
            "\n## {}\n\n```mermaid\n{}\n```\n\n{}\n",
            table.title,
            diagram.trim_end(),
            rules.trim_end()
        );
    }
    text
}

fn variables() -> String {
    let mut text =
        "# Configuration\n\nMade from the code by `cargo xtask docs`. Environment variables, read once at start; flags of `assisted serve` win.\n"
            .to_owned();
    let mut topic = "";
    for variable in settings::variables() {
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
    for settings::Unread { name, fate } in settings::UNREAD {
        let settings::Fate::Refused { harmless, unless, why } = fate else { continue };
        let mut taken: Vec<_> = harmless.first().map(|value| format!("`{value}`")).into_iter().collect();
        taken.extend(unless.map(|(other, value)| format!("any, beside `{other}={value}`")));
        let _ = writeln!(text, "| `{name}` | {} | {why} |", taken.join(", "));
    }
    text += "\n## Without effect\n\nVariables of the service that this one replaces which can't matter here. One that is set is told at start, \
             and so are those that only `assisted image-service` reads ([its flags](cli.md)), and names that differ by one letter from one \
             that is known.\n\n| variable | why it has no effect |\n|---|---|\n";
    for settings::Unread { name, fate } in settings::UNREAD {
        if let settings::Fate::NoEffect { why } = fate {
            let _ = writeln!(text, "| `{name}` | {why} |");
        }
    }
    text
}
