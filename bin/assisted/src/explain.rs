//! `assisted explain`: what a validation or an error means and what to do about it, without a service.

use assisted_console::Failure;
use assisted_console::output::line;
use clap::Args;

/// The pages that are made from the code: validations, and errors of the API.
const PAGES: [&str; 2] =
    [include_str!("../../../docs/troubleshooting.md"), include_str!("../../../docs/errors.md")];

/// Explain a validation or an error of the API: what it means, and what to do about it; without an id, list those that there are
#[derive(Args, Debug)]
pub struct Explain {
    /// Id of the validation, as `assisted host show` and `assisted cluster show` tell it; of the error, as the command line tells
    /// it; or an HTTP status
    id: Option<String>,
}

impl Explain {
    pub fn run(self) -> Result<(), Failure> {
        match self.id {
            None => line(&ids().collect::<Vec<_>>().join("\n")),
            Some(id) => match section(&id) {
                Some(text) => line(&text),
                None => Err(Failure::Refused(format!(
                    "no validation or error is called {id:?}; `assisted explain` lists those that there are"
                ))),
            },
        }
    }
}

fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    PAGES
        .into_iter()
        .flat_map(|page| page.split("\n### ").skip(1))
        .filter_map(|section| section.split_once('\n'))
}

fn ids() -> impl Iterator<Item = &'static str> {
    sections().map(|(id, _)| id)
}

fn section(id: &str) -> Option<String> {
    let status = id.parse().map(|status: u16| format!("http-{status}")).unwrap_or_default();
    let (id, text) = sections().find(|(known, _)| *known == id || *known == status)?;
    // The heading of what follows is none of it.
    let text = text.split("\n## ").next().unwrap_or_default();
    Some(format!("{id}\n\n{}", text.trim().replace("**", "")))
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
        assert_eq!(section("409"), section("http-409"));
        assert!(section("cluster-state").unwrap().contains("What it is: The cluster is in a state"));
        assert_eq!(section("nothing"), None);
    }
}
