//! Each step of a recipe, and each file of a path through the system, is there, and has what the last column of its row says.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::run::{print_line, root};

/// The recipes, and the paths through the system.
const PAGES: [&str; 2] = ["docs/recipes.md", "docs/architecture.md"];

/// Looks each step up.
pub fn run() -> Result<()> {
    let (mut count, mut dead) = (0, Vec::new());
    for page in PAGES {
        let text = fs::read_to_string(root().join(page)).with_context(|| format!("can't read {page}"))?;
        let steps = steps(&text);
        if steps.is_empty() {
            bail!("{page} has no steps any more");
        }
        count += steps.len();
        dead.extend(steps.iter().filter_map(|step| Some(format!("{page}:{}: {}", step.line, step.wrong()?))));
    }
    if !dead.is_empty() {
        bail!("steps lead nowhere:\n  {}", dead.join("\n  "));
    }
    print_line(&format!("recipes and paths: {count} steps, each of a file that has its example"));
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

impl Step<'_> {
    /// Why it leads nowhere, if it does.
    fn wrong(&self) -> Option<String> {
        let Self { file, example, .. } = self;
        match fs::read_to_string(root().join(file)) {
            Ok(text) if text.contains(example) => None,
            Ok(_) => Some(format!("{file} has no {example:?}")),
            Err(error) => Some(format!("{file}: {error}")),
        }
    }
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
    fn a_step_whose_file_or_example_is_gone_leads_nowhere() {
        let wrong = |file, example| Step { line: 1, file, example }.wrong();
        assert_eq!(wrong("xtask/src/check_recipes.rs", "fn steps("), None);
        assert!(
            wrong("xtask/src/check_recipes.rs", concat!("go", "ne for good")).unwrap().contains("has no")
        );
        assert!(wrong("xtask/src/recipes.rs", "fn").is_some());
    }

    #[test]
    fn the_recipes_lead_somewhere() {
        run().unwrap();
    }
}
