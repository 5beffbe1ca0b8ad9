//! Colours, for people on a terminal who want them.

use std::io::{IsTerminal, stdout};
use std::sync::atomic::{AtomicU8, Ordering};

use clap::ValueEnum;

/// When answers are coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    Always,
    Never,
}

/// What was chosen, as [`When`] is numbered.
static CHOSEN: AtomicU8 = AtomicU8::new(When::Auto as u8);

/// Words that stand for what is well, under way, or wrong: states of clusters, hosts, validations and machines.
const WORDS: &[(&str, &[&str])] = &[
    (GREEN, &["installed", "known", "ready", "success", "On"]),
    (
        YELLOW,
        &[
            "adding-hosts",
            "discovering",
            "disconnected",
            "finalizing",
            "installing",
            "insufficient",
            "installing-in-progress",
            "installing-pending-user-action",
            "pending",
            "pending-for-input",
            "preparing-for-installation",
            "preparing-successful",
            "warning",
            "resetting",
        ],
    ),
    (RED, &["error", "failure", "critical", "cancelled", "resetting-pending-user-action"]),
];

const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const RED: &str = "\x1b[31m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

/// Keeps what was chosen, for the whole process.
pub fn choose(when: When) {
    CHOSEN.store(when as u8, Ordering::Relaxed);
}

/// Whether answers are coloured.
fn wanted() -> bool {
    match CHOSEN.load(Ordering::Relaxed) {
        chosen if chosen == When::Always as u8 => true,
        chosen if chosen == When::Never as u8 => false,
        _ => std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && stdout().is_terminal(),
    }
}

/// A table, or facts, with the colours of its states, where colours are wanted.
pub fn painted(text: &str) -> String {
    if wanted() { paint(text) } else { text.to_owned() }
}

fn paint(text: &str) -> String {
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Cells are parted by two spaces; headings are capitals.
fn line(line: &str) -> String {
    let is_heading = line.contains("  ")
        && line.chars().any(char::is_alphabetic)
        && !line.chars().any(|letter| letter.is_lowercase() || letter.is_numeric());
    if is_heading {
        return format!("{BOLD}{line}{PLAIN}");
    }
    line.split("  ").map(cell).collect::<Vec<_>>().join("  ")
}

/// A state by itself, or one that is followed by its explanation.
fn cell(cell: &str) -> String {
    let inner = cell.trim_start();
    let state = inner.split(':').next().unwrap_or_default();
    let known = WORDS.iter().find(|(_, words)| words.contains(&state));
    match known {
        Some((colour, _)) => {
            let (before, after) = (&cell[..cell.len() - inner.len()], &inner[state.len()..]);
            format!("{before}{colour}{state}{PLAIN}{after}")
        }
        None => cell.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_and_headings_are_coloured_and_nothing_is_lost() {
        let text = "ID  NAME   STATUS\n1   ready  known\n2   b      error\nstatus  ready: all is well";
        let painted = paint(text);
        assert!(painted.starts_with("\x1b[1mID  NAME   STATUS\x1b[0m\n"), "{painted:?}");
        assert!(
            painted.contains("\x1b[32mknown\x1b[0m") && painted.contains("\x1b[31merror\x1b[0m"),
            "{painted:?}"
        );
        assert!(painted.ends_with("status  \x1b[32mready\x1b[0m: all is well"), "{painted:?}");
        let mut bare = painted;
        for code in [GREEN, YELLOW, RED, BOLD, PLAIN] {
            bare = bare.replace(code, "");
        }
        assert_eq!(bare, text);
    }
}
