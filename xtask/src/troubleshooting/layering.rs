//! What to do about rules of image mode: a check asks rules, which stand in files of their own and make their faults of a text and a
//! remedy. A remedy is a whole sentence and ends with a full stop; the text of a fault does not.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::functions::{Function, Functions, reached};
use super::{plain, read};

const FOLDER: &str = "crates/core/src/layering";
const FILES: [&str; 4] = ["cluster_rules", "host_rules", "machine_os_config", "upload"];

/// The remedies of the rules that a check asks.
pub(super) fn remedies(source: &str, function: &str) -> Result<Vec<String>> {
    let mut checks = Functions::new();
    read_functions(source, &mut checks)?;
    let check = checks.get(function).with_context(|| format!("there is no check {function}"))?;
    let mut rules = Functions::new();
    for file in FILES {
        read_functions(&read(&format!("{FOLDER}/{file}.rs"))?, &mut rules)?;
    }
    Ok(reached(check, &rules))
}

fn read_functions(source: &str, functions: &mut Functions) -> Result<()> {
    let stream: TokenStream =
        source.parse().map_err(|error| anyhow::anyhow!("a source of image mode can't be read: {error}"))?;
    let tokens: Vec<_> = stream.into_iter().collect();
    let mut name = None;
    for pair in tokens.windows(2) {
        match pair {
            [TokenTree::Ident(word), TokenTree::Ident(called)] if word == "fn" => {
                name = Some(called.to_string());
            }
            // Tests stand last.
            [TokenTree::Ident(word), TokenTree::Ident(_)] if word == "mod" => return Ok(()),
            [_, TokenTree::Group(body)] if body.delimiter() == Delimiter::Brace => {
                if let Some(name) = name.take() {
                    let function = functions.entry(name).or_default();
                    let mut local = BTreeSet::new();
                    collect_calls(body.stream(), function, &mut local);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Notes remedies and calls. What has a name within the function is none of the functions beside it, unless a path leads to it.
fn collect_calls(stream: TokenStream, function: &mut Function, local: &mut BTreeSet<String>) {
    let tokens: Vec<_> = stream.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| tokens.get(before));
        let after = tokens.get(index + 1);
        match token {
            TokenTree::Group(group) => collect_calls(group.stream(), function, local),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                function.remedies.extend(inner.map(plain).filter(|text| text.ends_with('.')));
            }
            TokenTree::Ident(name) => {
                let name = name.to_string();
                if matches!(before, Some(TokenTree::Ident(word)) if word == "let" || word == "mut") {
                    local.insert(name);
                    continue;
                }
                let is_called = matches!(after, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
                match before {
                    Some(TokenTree::Punct(mark)) if mark.as_char() == ':' => {
                        function.calls.insert(name);
                    }
                    Some(TokenTree::Punct(mark)) if mark.as_char() == '.' => {}
                    _ if is_called && !local.contains(&name) => {
                        function.calls.insert(name);
                    }
                    _ => {}
                }
            }
            TokenTree::Punct(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_come_from_the_rules_that_a_check_asks() {
        let check = "fn check(view: &V) -> O { judged(view, \"Fine\", |input| { let mut faults = rules::v01(input); faults.extend(rules::v03(input)); faults }) }";
        let rules = "fn v01(i: &I) -> Vec<Fault> { let read = |t| t; read(i); Fault::new(Rule::V01, \"no\", \"Do one.\") }\n\
                     fn v02() { Fault::new(Rule::V02, \"no\", \"Do two.\") }\n\
                     fn v03(i: &I) { secret(i, i.read()) }\n\
                     fn secret() { let (text, remedy) = (\"gone\", \"Do three.\"); Fault::new(Rule::V03, text, remedy) }\n\
                     fn read() { Fault::new(Rule::V04, \"no\", \"Do four.\") }";
        let (mut checks, mut all) = (Functions::new(), Functions::new());
        read_functions(check, &mut checks).unwrap();
        read_functions(rules, &mut all).unwrap();
        assert_eq!(reached(&checks["check"], &all), ["Do one.", "Do three."]);
    }

    #[test]
    fn each_check_of_image_mode_has_what_its_rules_advise() {
        let of = |kind: &str, function: &str| {
            remedies(&read(&format!("crates/core/src/validation/{kind}/layering.rs")).unwrap(), function)
                .unwrap()
        };
        assert_eq!(of("cluster", "check_architecture"), ["Use hosts of one architecture."]);
        assert_eq!(of("cluster", "check_version").len(), 4);
        assert_eq!(of("cluster", "check_secrets").len(), 4);
        let disk = of("host", "check_disk");
        assert!(
            disk.contains(&"Choose a plain installation disk, or use an external registry.".to_owned()),
            "{disk:?}"
        );
        let configuration = of("cluster", "check_configuration");
        assert!(
            configuration.contains(&"Set spec.imageBuilder.imageBuilderType to Job.".to_owned()),
            "{configuration:?}"
        );
    }
}
