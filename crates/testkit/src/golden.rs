//! Golden files: what was made once, was read by somebody, and is kept, so that each later difference is seen.
//!
//! Facts that a person has written from a reference are no golden files. They are compared by other means, and nothing renews them.

use std::path::Path;

/// The variable that makes tests write golden files; `cargo xtask bless` sets it.
pub const BLESS: &str = "ASSISTED_BLESS";

/// Lines of a difference that are told; the rest is told by version control.
const TOLD: usize = 40;

/// Compares a text with its golden file. With [`BLESS`] set, the file is written instead where it differs: whoever does that reads the
/// difference before keeping it.
///
/// # Panics
/// Where they differ, and where the file can't be written.
pub fn golden(path: impl AsRef<Path>, made: &str) {
    let judged = compare(path.as_ref(), made, std::env::var_os(BLESS).is_some());
    assert!(judged.is_ok(), "{}", judged.err().unwrap_or_default());
}

fn compare(path: &Path, made: &str, bless: bool) -> Result<(), String> {
    let known = std::fs::read_to_string(path).unwrap_or_default();
    if known == made {
        return Ok(());
    }
    let path_text = path.display();
    if !bless {
        return Err(format!(
            "{path_text} is not what is made (`cargo xtask bless` writes it):\n{}",
            difference(&known, made)
        ));
    }
    let dir = path.parent().unwrap_or(Path::new("."));
    let written = std::fs::create_dir_all(dir).and_then(|()| std::fs::write(path, made));
    written.map_err(|error| format!("can't write {path_text}: {error}"))
}

/// The lines between what both begin with and what both end with: those of the file, then those that are made.
fn difference(known: &str, made: &str) -> String {
    let (known, made): (Vec<_>, Vec<_>) = (known.lines().collect(), made.lines().collect());
    let same = |(one, other): &(&&str, &&str)| one == other;
    let before = known.iter().zip(&made).take_while(same).count();
    let (known, made) = (&known[before..], &made[before..]);
    let after = known.iter().rev().zip(made.iter().rev()).take_while(same).count();
    let part = |sign: char, lines: &[&str]| {
        let lines = &lines[..lines.len() - after];
        let told = lines.iter().take(TOLD).map(|line| format!("{sign}{line}\n")).collect::<String>();
        let left = lines.len().saturating_sub(TOLD);
        told + &if left > 0 { format!("{sign}… {left} more\n") } else { String::new() }
    };
    format!("@ line {}\n{}{}", before + 1, part('-', known), part('+', made))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_differs_is_told_or_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/file.txt");
        let missing = compare(&path, "a\n", false).unwrap_err();
        assert!(missing.contains("cargo xtask bless") && missing.contains("+a"), "{missing}");
        assert!(!path.exists());
        compare(&path, "a\nb\nc\n", true).unwrap();
        compare(&path, "a\nb\nc\n", false).unwrap();
        let told = compare(&path, "a\nB\nc\n", false).unwrap_err();
        assert!(told.ends_with("@ line 2\n-b\n+B\n"), "{told}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a\nb\nc\n");
    }

    #[test]
    fn line_ends_count_and_long_differences_are_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file.txt");
        compare(&path, "a\n", true).unwrap();
        compare(&path, "a", false).unwrap_err();
        let long = "x\n".repeat(TOLD + 3);
        let told = compare(&path, &long, false).unwrap_err();
        assert!(told.contains("+… 3 more"), "{told}");
    }

    #[test]
    #[should_panic(expected = "is not what is made")]
    fn a_difference_fails_the_test() {
        golden("/nowhere/at/all", "text");
    }
}
