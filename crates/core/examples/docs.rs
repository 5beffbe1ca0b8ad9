//! Prints the document that is made from the domain: `docs machines`. Used by `cargo xtask docs`.

use std::fmt::Write;
use std::io::{self, Write as _};
use std::process::ExitCode;

use assisted_core::decide::refresh;

fn main() -> ExitCode {
    let text = match std::env::args().nth(1).as_deref() {
        Some("machines") => machines(),
        other => {
            let _ = writeln!(io::stderr(), "unknown document {other:?}: machines");
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
