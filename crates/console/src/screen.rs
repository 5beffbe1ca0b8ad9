//! A picture on the terminal that is drawn again and again in the same place.

use std::io::{IsTerminal, Write};

use crate::colour::painted;

/// Remembers what stands on the terminal.
pub struct Screen {
    picture: String,
}

impl Screen {
    /// A screen, if standard output is a terminal.
    pub fn new() -> Option<Self> {
        std::io::stdout().is_terminal().then_some(Self { picture: String::new() })
    }

    /// Draws over what was drawn last; false when nobody sees it any more.
    pub fn draw(&mut self, text: &str) -> bool {
        if text == self.picture {
            return true;
        }
        let lines = self.picture.lines().count();
        let up = if lines > 0 { format!("\x1b[{lines}A") } else { String::new() };
        text.clone_into(&mut self.picture);
        let cleared: String = painted(text).lines().map(|line| format!("{line}\x1b[K\n")).collect();
        let mut out = std::io::stdout().lock();
        write!(out, "{up}{cleared}\x1b[J").and_then(|()| out.flush()).is_ok()
    }
}
