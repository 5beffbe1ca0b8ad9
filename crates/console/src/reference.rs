//! The command line described: Markdown for the docs, man pages, shell completion.

use std::path::Path;

use clap::Command;
use clap_complete::Shell;

use crate::Failure;
use crate::output::line;

/// Writes the completion script for a shell to standard output.
pub fn completion(mut command: Command, shell: Shell) -> Result<(), Failure> {
    let name = command.get_name().to_owned();
    // Into memory first: the generator panics when nobody reads its output.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    line(String::from_utf8_lossy(&script).trim_end())
}

/// Writes a man page for each subcommand into a folder.
pub fn man(command: Command, dir: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(dir)
        .and_then(|()| clap_mangen::generate_to(command, dir))
        .map_err(|error| Failure::Refused(format!("can't write man pages to {}: {error}", dir.display())))
}

/// Prints the whole command line as Markdown, under a title.
pub fn markdown(mut command: Command, title: &str) -> Result<(), Failure> {
    command.build();
    let mut text = format!("# {title}\n\nMade from the code by `cargo xtask docs`.\n");
    describe(&mut command, &mut text);
    line(text.trim_end())
}

fn describe(command: &mut Command, text: &mut String) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
    let help = command.clone().term_width(100).render_long_help().to_string();
    let help: Vec<_> = help.lines().map(str::trim_end).collect();
    text.push_str(&format!("\n## `{name}`\n\n```text\n{}\n```\n", help.join("\n").trim_end()));
    for sub in command.get_subcommands_mut().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        describe(sub, text);
    }
}
