//! Functions of a source: what each advises, and whom it leads to.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, anyhow};
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

use super::{collect, constants};

/// What is known of functions of one name.
#[derive(Default)]
pub(super) struct Function {
    pub(super) remedies: Vec<String>,
    /// Names that may be those of other functions.
    pub(super) calls: BTreeSet<String>,
}

pub(super) type Functions = BTreeMap<String, Function>;

impl Function {
    fn add(&mut self, body: TokenStream, constants: &BTreeMap<String, String>) {
        collect(body.clone(), constants, &mut self.remedies);
        note_calls(body, &mut self.calls);
    }

    /// Its remedies and those of all that it leads to, each once.
    pub(super) fn advice(&self, functions: &Functions) -> Vec<String> {
        let mut remedies: Vec<String> = Vec::new();
        for remedy in self.remedies.iter().cloned().chain(reached(self, functions)) {
            if !remedies.contains(&remedy) {
                remedies.push(remedy);
            }
        }
        remedies
    }
}

/// The remedies of a function and of all that it leads to.
pub(super) fn advice(name: &str, functions: &Functions) -> Result<Vec<String>> {
    let function = functions.get(name).with_context(|| format!("there is no function {name}"))?;
    Ok(function.advice(functions))
}

/// The remedies of all that a function leads to, each once.
pub(super) fn reached(start: &Function, functions: &Functions) -> Vec<String> {
    let mut remedies: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut open: Vec<&String> = start.calls.iter().rev().collect();
    while let Some(name) = open.pop() {
        let Some(function) = functions.get(name).filter(|_| seen.insert(name)) else { continue };
        for remedy in &function.remedies {
            if !remedies.contains(remedy) {
                remedies.push(remedy.clone());
            }
        }
        open.extend(function.calls.iter().rev());
    }
    remedies
}

/// The functions and methods of a source.
pub(super) fn of_source(source: &str) -> Result<Functions> {
    let tokens = tokens(source)?;
    let mut functions = Functions::new();
    note_functions(&tokens, &constants(&tokens), &mut functions);
    Ok(functions)
}

/// A source as if it were one function.
pub(super) fn whole(source: &str) -> Result<Function> {
    let tokens = tokens(source)?;
    let constants = constants(&tokens);
    let mut function = Function::default();
    function.add(tokens.into_iter().collect(), &constants);
    Ok(function)
}

/// A source without its tests, which stand last.
fn tokens(source: &str) -> Result<Vec<TokenTree>> {
    let stream: TokenStream = source.parse().map_err(|error| anyhow!("a source can't be read: {error}"))?;
    let mut tokens: Vec<_> = stream.into_iter().collect();
    let tests = tokens.windows(3).position(|three| {
        matches!(three, [TokenTree::Ident(word), TokenTree::Ident(_), TokenTree::Group(_)] if word == "mod")
    });
    tokens.truncate(tests.unwrap_or(tokens.len()));
    Ok(tokens)
}

fn note_functions(tokens: &[TokenTree], constants: &BTreeMap<String, String>, functions: &mut Functions) {
    let mut name: Option<String> = None;
    let mut is_impl = false;
    for (index, token) in tokens.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| tokens.get(before));
        match token {
            TokenTree::Ident(called) if matches!(before, Some(TokenTree::Ident(word)) if word == "fn") => {
                name = Some(called.to_string());
            }
            TokenTree::Ident(word) if word == "impl" && name.is_none() => is_impl = true,
            TokenTree::Punct(mark) if mark.as_char() == ';' => name = None,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                if let Some(name) = name.take() {
                    functions.entry(name).or_default().add(group.stream(), constants);
                } else if is_impl {
                    let methods: Vec<_> = group.stream().into_iter().collect();
                    note_functions(&methods, constants, functions);
                }
                is_impl = false;
            }
            _ => {}
        }
    }
}

/// Notes the names in a body but for those of members, which are read after a point and set before a colon.
fn note_calls(body: TokenStream, calls: &mut BTreeSet<String>) {
    let tokens: Vec<_> = body.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => note_calls(group.stream(), calls),
            TokenTree::Ident(name) => {
                let before = index.checked_sub(1).and_then(|before| tokens.get(before));
                let is_read = matches!(before, Some(TokenTree::Punct(mark)) if mark.as_char() == '.');
                let is_set = matches!(
                    tokens.get(index + 1),
                    Some(TokenTree::Punct(mark)) if mark.as_char() == ':' && mark.spacing() == Spacing::Alone
                );
                if !is_read && !is_set {
                    calls.insert(name.to_string());
                }
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_come_from_all_functions_that_one_leads_to() {
        let source = "const LAST: &str = \"Do four.\";\n\
                      fn check(v: &V) -> O { if v.other { one(v) } else { S { two: v.two }.three() } }\n\
                      fn one(v: &V) -> O { v.iter().map(four); O::failure(\"no\").remedy(\"Do one.\") }\n\
                      fn two() -> O { O::failure(\"no\").remedy(\"Do two.\") }\n\
                      fn other() -> O { O::failure(\"no\").remedy(\"Do other.\") }\n\
                      impl S { fn four() -> impl I { O::failure(\"no\").remedy(LAST) } }\n\
                      mod tests { fn check() { O::failure(\"no\").remedy(\"Do nothing.\") } }";
        let functions = of_source(source).unwrap();
        assert_eq!(advice("check", &functions).unwrap(), ["Do one.", "Do four."]);
        assert!(advice("gone", &functions).is_err());
        let all = ["Do one.", "Do two.", "Do other.", "Do four."];
        assert_eq!(whole(source).unwrap().remedies, all);
    }
}
