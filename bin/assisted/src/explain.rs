//! `assisted explain`: what a validation means and what to do about it, without a service.

use assisted_console::Failure;
use assisted_console::output::line;
use clap::Args;

/// The page that is made from the code.
const PAGE: &str = include_str!("../../../docs/troubleshooting.md");

/// Explain a validation: what it says when it does not hold, and what to do about it; without an id, list those that there are
#[derive(Args, Debug)]
pub struct Explain {
    /// Id of the validation, as `assisted host show` and `assisted cluster show` tell it
    id: Option<String>,
}

impl Explain {
    pub fn run(self) -> Result<(), Failure> {
        match self.id {
            None => line(&ids().collect::<Vec<_>>().join("\n")),
            Some(id) => match section(&id) {
                Some(text) => line(&text),
                None => Err(Failure::Refused(format!(
                    "no validation is called {id:?}; `assisted explain` lists those that there are"
                ))),
            },
        }
    }
}

fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    PAGE.split("\n### ").skip(1).filter_map(|section| section.split_once('\n'))
}

fn ids() -> impl Iterator<Item = &'static str> {
    sections().map(|(id, _)| id)
}

fn section(id: &str) -> Option<String> {
    let (_, text) = sections().find(|(known, _)| *known == id)?;
    // The heading of what follows is none of it.
    let text = text.split("\n## ").next().unwrap_or_default();
    Some(format!("{id}\n\n{}", text.trim().replace("**What to do**", "What to do")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_shown_alone() {
        assert!(ids().count() > 50);
        let text = section("has-default-route").unwrap();
        assert!(
            text.contains("default route") && text.contains("What to do: Configure a default gateway"),
            "{text}"
        );
        for id in ids() {
            let text = section(id).unwrap();
            assert!(!text.contains("\n#") && text.contains("What to do"), "{text}");
        }
        assert_eq!(section("nothing"), None);
    }
}
