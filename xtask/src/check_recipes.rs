//! Each step of docs/recipes.md leads somewhere: the file is there, and has what the step says of an existing one.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::run::{root, say};

const RECIPES: &str = "docs/recipes.md";

/// Looks each step up.
pub fn run() -> Result<()> {
    let text = fs::read_to_string(root().join(RECIPES)).with_context(|| format!("can't read {RECIPES}"))?;
    let steps = steps(&text);
    let mut dead = Vec::new();
    for Step { line, file, example } in &steps {
        match fs::read_to_string(root().join(file)) {
            Ok(text) if text.contains(example) => {}
            Ok(_) => dead.push(format!("{RECIPES}:{line}: {file} has no {example:?}")),
            Err(error) => dead.push(format!("{RECIPES}:{line}: {file}: {error}")),
        }
    }
    if steps.is_empty() || !dead.is_empty() {
        bail!("steps of recipes lead nowhere:\n  {}", dead.join("\n  "));
    }
    say(&format!("recipes: {} steps, each of a file that has its example", steps.len()));
    Ok(())
}

/// A step of a recipe.
#[derive(Debug, PartialEq, Eq)]
struct Step<'a> {
    line: usize,
    file: &'a str,
    /// What the file has of an existing one.
    example: &'a str,
}

/// The rows that begin with a number.
fn steps(text: &str) -> Vec<Step<'_>> {
    text.lines()
        .enumerate()
        .filter_map(|(index, line)| {
            let rest = line.strip_prefix("| ")?;
            let (number, rest) = rest.split_once(" | `")?;
            number.parse::<u8>().ok()?;
            let (file, rest) = rest.split_once('`')?;
            let example = rest.trim_end().strip_suffix("` |")?.rsplit_once("| `")?.1;
            Some(Step { line: index + 1, file, example })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_the_rows_with_a_number() {
        let text = "| | file | what | existing one |\n|---|---|---|---|\n| 1 | `a/b.rs` | a `Thing` | `fn a() -> Thing` |\n";
        assert_eq!(steps(text), [Step { line: 3, file: "a/b.rs", example: "fn a() -> Thing" }]);
        assert!(steps("| 1 | a file | no code | `x` |").is_empty());
    }

    #[test]
    fn the_recipes_lead_somewhere() {
        run().unwrap();
    }
}
