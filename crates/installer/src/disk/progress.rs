//! How far `coreos-installer` is, from what it writes to standard error (installer-and-controller §A22).

/// How far the image is written, from 0 to 100.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(pub u8);

/// Steps in which it is told: the service needs no more, and each costs a request.
pub(super) const STEP: u8 = 5;
/// A line that doesn't end isn't kept beyond this, in bytes.
const LONGEST_LINE: usize = 4_096;

/// Reads the output piece by piece.
#[derive(Debug, Default)]
pub struct Progress {
    line: Vec<u8>,
    last: u8,
}

impl Progress {
    /// The percentages worth telling in the next piece of output. Lines end with a line feed, or on a terminal with a
    /// carriage return.
    pub fn read(&mut self, piece: &[u8]) -> Vec<Percent> {
        let mut told = Vec::new();
        for byte in piece {
            match byte {
                b'\r' | b'\n' => {
                    told.extend(percent(&self.line).filter(|found| self.is_news(*found)).map(|found| {
                        self.last = found;
                        Percent(found)
                    }));
                    self.line.clear();
                }
                _ if self.line.len() < LONGEST_LINE => self.line.push(*byte),
                _ => {}
            }
        }
        told
    }

    /// Begins anew, as the tool does when it is run again.
    pub fn restart(&mut self) {
        *self = Self::default();
    }

    fn is_news(&self, found: u8) -> bool {
        found >= self.last.saturating_add(STEP) || (found == 100 && self.last != 100)
    }
}

/// The number in `Read disk 473.8 MiB/844.7 MiB (56%)`.
fn percent(line: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(line).ok()?;
    let (_, rest) = text.split_once('(')?;
    let (number, _) = rest.split_once("%)")?;
    let whole = number.split('.').next()?;
    whole.trim().parse().ok().filter(|found| *found <= 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_five_are_told_once() {
        let mut progress = Progress::default();
        let mut told = Vec::new();
        for piece in [
            &b"Installing Red Hat CoreOS (x86_64)\n> Read disk 1.0 MiB/844.7 MiB (0%)   \r"[..],
            b"> Read disk 40 MiB/844.7 MiB (4%)   \r> Read di",
            b"sk 44 MiB/844.7 MiB (5%)   \r",
            b"Read disk 80 MiB/844.7 MiB (9%)\nRead disk 473.8 MiB/844.7 MiB (56.3%)\n",
            b"Read disk 844.7 MiB/844.7 MiB (99%)\nRead disk 844.7 MiB/844.7 MiB (100%)\n(100%)\n",
        ] {
            told.extend(progress.read(piece).into_iter().map(|found| found.0));
        }
        assert_eq!(told, [5, 56, 99, 100]);
        progress.restart();
        assert_eq!(progress.read(b"(7%)\n"), [Percent(7)]);
    }

    #[test]
    fn other_lines_say_nothing() {
        let mut progress = Progress::default();
        for piece in [
            &b"(x%)\n"[..],
            b"(101%)\n",
            b"(300%)\n",
            b"(-5%)\n",
            b"50%\n",
            b"(50\n",
            b"\xff(50%)\n",
            &[b'('; 100_000],
            b"50%)\n",
        ] {
            assert_eq!(
                progress.read(piece),
                [],
                "{:?}",
                String::from_utf8_lossy(&piece[..piece.len().min(20)])
            );
        }
    }
}
