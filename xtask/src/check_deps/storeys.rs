//! The order of the modules within a crate: each may use only those below it.
//!
//! Read from the tokens of the sources, so that comments and texts don't count; what is compiled for tests alone doesn't
//! either.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

use crate::run::root;

/// The order of a crate's modules.
struct Order {
    /// Where the crate's sources are, from the root of the workspace.
    sources: &'static str,
    /// Modules from the top down; those of one storey use none of each other.
    storeys: &'static [&'static [&'static str]],
    /// Arrows that run back up and are still to be turned: who uses what.
    exceptions: &'static [(&'static str, &'static str)],
}

const ORDERS: &[Order] = &[
    Order {
        sources: "crates/core/src",
        storeys: &[
            &["decide"],
            &["admission"],
            &["state"],
            &["validation"],
            &["layering"],
            &["disk"],
            &["network"],
            &["catalogue"],
            &["model"],
            &["policy"],
        ],
        exceptions: &[],
    },
    Order {
        sources: "crates/service/src",
        storeys: &[
            &["start"],
            &["service", "housekeeping"],
            &["machine", "work"],
            &["action", "scheduler"],
            &["outbox_relay", "retention", "upload"],
            // The rooms.
            &["catalogue", "cluster", "event", "file", "host", "infra_env"],
            &["fuzz", "parts", "signature"],
            &["access", "available_versions", "dns", "generator", "unit_of_work"],
            &["database"],
            &["cache", "event_limit", "metrics", "stream"],
            &[
                "accounts",
                "attempt",
                "clock",
                "error",
                "keyed_mutex",
                "mark_watch",
                "not_found",
                "off_thread",
                "owner",
                "pace",
                "policy",
                "object",
                "registries_conf",
                "stored_file",
                "view",
            ],
        ],
        exceptions: &[],
    },
    Order {
        sources: "crates/store/src",
        storeys: &[
            &[
                "work",
                "cluster",
                "copy",
                "retention",
                "user",
                "event",
                "outbox",
                "upload",
                "seal_rows",
                "service_secret",
                "fuzz",
            ],
            &["time"],
            &["due", "host", "check_in"],
            &["action", "report", "infra_env"],
            &["store", "foreign"],
            &["engine", "slow", "text_cache"],
            &["copied"],
            &["change_feed", "schema", "batch", "host_filter", "object_filter"],
            &["observer", "statement", "report_hash", "row", "host_key"],
            &["value"],
            &["unsealed"],
            &["error"],
            &["subject"],
            &["due_key", "options", "recent_cache"],
        ],
        exceptions: &[],
    },
];

/// Checks the orders; tells how many modules there are in each crate.
pub fn check() -> Result<Vec<(&'static str, usize)>> {
    let mut checked = Vec::new();
    for Order { sources, storeys, exceptions } in ORDERS {
        let mut crate_root = Source { file: root().join(sources).join("lib.rs"), module: Vec::new() };
        let mut arrows = Vec::new();
        crate_root.read(&mut arrows)?;
        let wrong = violations(storeys, exceptions, &arrows);
        if !wrong.is_empty() {
            bail!("the order within {sources} is broken:\n  {}", wrong.join("\n  "));
        }
        checked.push((*sources, storeys.iter().map(|storey| storey.len()).sum()));
    }
    Ok(checked)
}

/// One module that uses another one of the crate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrow {
    from: String,
    to: String,
    /// `path:line`.
    place: String,
}

/// What is wrong: modules without a place, arrows back up, exceptions that nothing needs.
fn violations(storeys: &[&[&str]], exceptions: &[(&str, &str)], arrows: &[Arrow]) -> Vec<String> {
    let place = |name: &str| storeys.iter().position(|storey| storey.contains(&name));
    let mut wrong = BTreeSet::new();
    let mut upward: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for Arrow { from, to, place: at } in arrows {
        match (place(from), place(to)) {
            (Some(own), Some(used)) if used <= own => upward.entry((from, to)).or_default().push(at),
            (Some(_), Some(_)) => {}
            (None, _) => {
                wrong.insert(format!("{at}: {from} has no place in the order ({})", file!()));
            }
            (_, None) => {
                wrong.insert(format!("{at}: {to} has no place in the order ({})", file!()));
            }
        }
    }
    for (arrow, places) in &upward {
        if !exceptions.contains(arrow) {
            let (from, to) = arrow;
            wrong.extend(places.iter().map(|at| format!("{at}: {from} uses {to}, which is not below it")));
        }
    }
    for (from, to) in exceptions.iter().filter(|arrow| !upward.contains_key(*arrow)) {
        wrong.insert(format!("{from} uses {to} no longer: take it from the exceptions ({})", file!()));
    }
    wrong.into_iter().collect()
}

/// A file of the crate.
struct Source {
    file: PathBuf,
    /// Names of its module, from the root of the crate.
    module: Vec<String>,
}

impl Source {
    /// Reads the file and those of the modules that it declares.
    fn read(&mut self, arrows: &mut Vec<Arrow>) -> Result<()> {
        let text = fs::read_to_string(&self.file).with_context(|| self.file.display().to_string())?;
        let tokens: TokenStream =
            text.parse().map_err(|error| anyhow::anyhow!("{}: {error}", self.file.display()))?;
        let mut children = Vec::new();
        self.walk(tokens, arrows, &mut children);
        for name in children {
            let file = self.file_of(&name)?;
            let module = [self.module.as_slice(), &[name]].concat();
            Source { file, module }.read(arrows)?;
        }
        Ok(())
    }

    /// The file of a module that this one declares.
    fn file_of(&self, name: &str) -> Result<PathBuf> {
        let folder = self.file.parent().context("a file in no folder")?;
        let is_folder_head = self.file.ends_with("mod.rs") || self.module.is_empty();
        let folder = if is_folder_head { folder.to_owned() } else { self.file.with_extension("") };
        let candidates = [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")];
        let found = candidates.iter().find(|file| file.is_file()).cloned();
        found.with_context(|| format!("{}: module {name} has no file", self.file.display()))
    }

    fn walk(&mut self, tokens: TokenStream, arrows: &mut Vec<Arrow>, children: &mut Vec<String>) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            if is_for_tests(&tokens[at..]) {
                at += length_of_item(&tokens[at..]);
                continue;
            }
            match &tokens[at..] {
                [TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Punct(end), ..]
                    if word == "mod" && end.as_char() == ';' =>
                {
                    children.push(name.to_string());
                    at += 3;
                }
                [TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Group(body), ..]
                    if word == "mod" =>
                {
                    self.module.push(name.to_string());
                    self.walk(body.stream(), arrows, &mut Vec::new());
                    self.module.pop();
                    at += 3;
                }
                [TokenTree::Ident(word), ..] if word == "crate" || word == "super" => {
                    at += self.path(&tokens[at..], arrows);
                }
                [TokenTree::Group(group), ..] => {
                    self.walk(group.stream(), arrows, children);
                    at += 1;
                }
                _ => at += 1,
            }
        }
    }

    /// Follows a path to the top module that it leads into; tells how many tokens its head has.
    fn path(&self, tokens: &[TokenTree], arrows: &mut Vec<Arrow>) -> usize {
        let mut depth = self.module.len();
        let mut at = 0;
        while let Some(TokenTree::Ident(word)) = tokens.get(at) {
            match word.to_string().as_str() {
                "crate" => depth = 0,
                "super" => depth = depth.saturating_sub(1),
                _ => break,
            }
            at += 1;
            if !is_path_separator(&tokens[at..]) {
                return at;
            }
            at += 2;
        }
        if depth == 0 {
            self.enter_module(&tokens[at..], arrows);
        }
        at
    }

    /// Notes the modules of the crate's root that stand at the head of a path, or of each in a group.
    fn enter_module(&self, tokens: &[TokenTree], arrows: &mut Vec<Arrow>) {
        match tokens.first() {
            Some(TokenTree::Ident(name)) => self.note(name, arrows),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let members: Vec<TokenTree> = group.stream().into_iter().collect();
                let is_comma =
                    |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',');
                for member in members.split(is_comma) {
                    self.enter_module(member, arrows);
                }
            }
            _ => {}
        }
    }

    fn note(&self, name: &Ident, arrows: &mut Vec<Arrow>) {
        let to = name.to_string();
        // A type that the root offers under its own name.
        if to.starts_with(char::is_uppercase) {
            return;
        }
        // The root itself only lists its modules.
        let Some(from) = self.module.first().filter(|from| **from != to) else { return };
        let file = self.file.strip_prefix(root()).unwrap_or(&self.file);
        let place = format!("{}:{}", file.display(), name.span().start().line);
        arrows.push(Arrow { from: from.clone(), to, place });
    }
}

pub(super) fn is_path_separator(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [TokenTree::Punct(a), TokenTree::Punct(b), ..] if a.as_char() == ':' && b.as_char() == ':')
}

/// Whether an item for tests alone begins here.
pub(super) fn is_for_tests(tokens: &[TokenTree]) -> bool {
    let [TokenTree::Punct(mark), TokenTree::Group(attribute), ..] = tokens else { return false };
    mark.as_char() == '#' && attribute.stream().to_string().replace(' ', "") == "cfg(test)"
}

/// How many tokens an item has that begins here with its attributes: it ends with a semicolon or a block.
pub(super) fn length_of_item(tokens: &[TokenTree]) -> usize {
    let ends = |token: &TokenTree| match token {
        TokenTree::Punct(mark) => mark.as_char() == ';',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    };
    let is_use = tokens
        .iter()
        .take_while(|token| !ends(token))
        .any(|token| matches!(token, TokenTree::Ident(word) if word == "use"));
    let ends = |token: &TokenTree| ends(token) && !(is_use && matches!(token, TokenTree::Group(_)));
    tokens.iter().position(ends).map_or(tokens.len(), |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrows_of(module: &[&str], text: &str) -> Vec<(String, String)> {
        let module = module.iter().map(|name| (*name).to_owned()).collect();
        let (mut arrows, mut children) = (Vec::new(), Vec::new());
        let mut source = Source { file: PathBuf::from("a.rs"), module };
        source.walk(text.parse().unwrap(), &mut arrows, &mut children);
        arrows.into_iter().map(|arrow| (arrow.to, arrow.place)).collect()
    }

    fn arrow(from: &str, to: &str) -> Arrow {
        Arrow { from: from.to_owned(), to: to.to_owned(), place: "a.rs:1".to_owned() }
    }

    #[test]
    fn every_way_to_name_a_module() {
        let text = "
            use crate::low::Thing;
            use crate::{one, two::{Three, Four}};
            use super::super::far::Away;
            fn f() -> crate::inline::Type { crate::call::it(super::near::by()) }
            mod inner { use super::super::super::deep; }
            macro_rules! m { () => { $crate::made::it() } }
        ";
        let found = arrows_of(&["own", "part"], text);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["low", "one", "two", "far", "inline", "call", "deep", "made"]);
        assert_eq!(found[0].1, "a.rs:2");
    }

    #[test]
    fn tests_comments_and_texts_do_not_count() {
        let text = r#"
            //! See [`crate::doc`].
            /// See [`crate::doc::Thing`].
            const TEXT: &str = "crate::text"; // crate::comment
            #[cfg(test)]
            use crate::{helper, other};
            #[cfg(test)]
            mod checks;
            #[cfg(test)]
            mod tests { use crate::tested::Thing; }
            #[cfg(test)]
            impl Thing { fn f() { crate::tested::f() } }
            use crate::own::Thing;
            use crate::real;
            use crate::Offered;
        "#;
        assert_eq!(arrows_of(&["own"], text), [("real".to_owned(), "a.rs:14".to_owned())]);
    }

    #[test]
    fn arrows_up_are_wrong_unless_excepted() {
        let order: [&[&str]; 2] = [&["top", "side"], &["bottom"]];
        assert_eq!(violations(&order, &[], &[arrow("top", "bottom")]), Vec::<String>::new());
        let up = [arrow("bottom", "top")];
        assert_eq!(violations(&order, &[], &up), ["a.rs:1: bottom uses top, which is not below it"]);
        assert_eq!(violations(&order, &[("bottom", "top")], &up), Vec::<String>::new());
        let across = violations(&order, &[], &[arrow("top", "side")]);
        assert_eq!(across, ["a.rs:1: top uses side, which is not below it"]);
    }

    #[test]
    fn what_is_not_listed_or_not_needed_is_wrong() {
        let wrong = violations(&[&["top"], &["bottom"]], &[("bottom", "top")], &[arrow("top", "cellar")]);
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(wrong[0].starts_with("a.rs:1: cellar has no place"), "{wrong:?}");
        assert!(wrong[1].starts_with("bottom uses top no longer"), "{wrong:?}");
    }
}
