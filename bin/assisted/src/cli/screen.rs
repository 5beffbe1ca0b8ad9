//! A picture on the terminal that is drawn again and again in the same place.

use std::io::{IsTerminal, Write};

/// Remembers how much of the terminal the picture takes.
pub struct Screen {
    lines: usize,
}

impl Screen {
    /// A screen, if standard output is a terminal.
    pub fn new() -> Option<Self> {
        std::io::stdout().is_terminal().then_some(Self { lines: 0 })
    }

    /// Draws over what was drawn last; false when nobody sees it any more.
    pub fn draw(&mut self, text: &str) -> bool {
        let up = if self.lines > 0 { format!("\x1b[{}A", self.lines) } else { String::new() };
        self.lines = text.lines().count();
        let cleared: String = text.lines().map(|line| format!("{line}\x1b[K\n")).collect();
        let mut out = std::io::stdout().lock();
        write!(out, "{up}{cleared}\x1b[J").and_then(|()| out.flush()).is_ok()
    }
}
