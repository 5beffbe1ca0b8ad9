//! The files of a crate, and which uses which: read from the tokens of the sources, so that comments and texts don't count; what is
//! compiled for tests alone doesn't either.
//!
//! A name that a module hands on (`pub use`) counts as that of the file which defines it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::storeys::{is_for_tests, is_path_separator, length_of_item};

/// So many names are followed from module to module.
const MOST_HANDS: usize = 8;

/// Words behind which a definition's name stands.
const DEFINES: [&str; 9] =
    ["struct", "enum", "trait", "fn", "const", "static", "type", "union", "macro_rules"];

type Names = Vec<String>;

/// The modules of a crate, by their names from its root.
#[derive(Debug, Default)]
pub struct Crate {
    modules: BTreeMap<Names, Module>,
}

/// A module: a file, or a block in one.
#[derive(Debug, Default)]
struct Module {
    file: PathBuf,
    defines: BTreeSet<String>,
    imports: Vec<Import>,
    /// Paths outside imports.
    paths: Vec<Names>,
    /// Words outside imports.
    words: BTreeSet<String>,
}

/// One name of a `use`; `*` for all of them.
#[derive(Debug)]
struct Import {
    path: Names,
    alias: String,
    is_public: bool,
}

impl Crate {
    /// The file at a crate's root and those of its modules; `read` has the text of each.
    pub fn read(file: &Path, read: &dyn Fn(&Path) -> io::Result<String>) -> Result<Self> {
        let mut found = Self::default();
        found.file(file, Vec::new(), read)?;
        Ok(found)
    }

    fn file(&mut self, file: &Path, module: Names, read: &dyn Fn(&Path) -> io::Result<String>) -> Result<()> {
        let text = read(file).with_context(|| file.display().to_string())?;
        let tokens: TokenStream =
            text.parse().map_err(|error| anyhow::anyhow!("{}: {error}", file.display()))?;
        for child in self.add(file, module.clone(), tokens) {
            let folder = file.parent().context("a file in no folder")?;
            let is_head = module.is_empty() || file.ends_with("mod.rs");
            let folder = if is_head { folder.to_owned() } else { file.with_extension("") };
            // The blocks that the declaration stands in are folders.
            let folder =
                child[module.len()..child.len() - 1].iter().fold(folder, |folder, name| folder.join(name));
            let name = child.last().context("a module without a name")?;
            let candidates = [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")];
            let found = candidates.iter().find(|candidate| read(candidate).is_ok());
            let found = found.with_context(|| format!("{}: module {name} has no file", file.display()))?;
            self.file(&found.clone(), child, read)?;
        }
        Ok(())
    }

    /// Adds the tokens of a module; returns the modules that it declares with files of their own.
    fn add(&mut self, file: &Path, name: Names, tokens: TokenStream) -> Vec<Names> {
        let mut reader = Reader::default();
        reader.walk(tokens);
        let Reader { module, files, blocks } = reader;
        let below = |child: String| [name.as_slice(), &[child]].concat();
        let mut children: Vec<Names> = files.into_iter().map(below).collect();
        self.modules.insert(name.clone(), Module { file: file.to_owned(), ..module });
        for (child, tokens) in blocks {
            let child = [name.as_slice(), &[child]].concat();
            children.extend(self.add(file, child, tokens));
        }
        children
    }

    /// Files with those that each uses; what the head of a folder uses of its own folder is left out, for it puts that together.
    pub fn arrows(&self) -> BTreeMap<&Path, BTreeSet<&Path>> {
        let mut arrows: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
        for (name, module) in &self.modules {
            let is_used = |import: &&Import| !import.is_public || module.words.contains(&import.alias);
            let imports = module.imports.iter().filter(is_used).map(|import| &import.path);
            let used = arrows.entry(&module.file).or_default();
            for path in imports.chain(&module.paths) {
                let found = self.find(name, path, MOST_HANDS).filter(|found| !found.starts_with(name));
                let found = found.and_then(|found| self.modules.get(&found));
                used.extend(found.map(|found| found.file.as_path()).filter(|file| *file != module.file));
            }
        }
        arrows
    }

    /// The module that defines what a path in a module names; `None`: it is of another crate.
    fn find(&self, from: &Names, path: &[String], hands: usize) -> Option<Names> {
        let (first, mut rest) = path.split_first()?;
        let child = [from.as_slice(), std::slice::from_ref(first)].concat();
        let mut at = match first.as_str() {
            "crate" => Vec::new(),
            "self" => from.clone(),
            "super" => from[..from.len().checked_sub(1)?].to_vec(),
            _ if self.modules.contains_key(&child) => child,
            _ => {
                let import = self.modules.get(from)?.imports.iter().find(|import| import.alias == *first)?;
                if import.path == path || rest.is_empty() || hands == 0 {
                    return None;
                }
                let target = self.find(from, &import.path, hands - 1)?;
                // A path through a type that was imported leads to the same file as the import.
                if target.last() != import.path.last() {
                    return None;
                }
                target
            }
        };
        while let Some((name, further)) = rest.split_first() {
            if name == "super" {
                at.pop()?;
            } else {
                let child = [at.as_slice(), std::slice::from_ref(name)].concat();
                if !self.modules.contains_key(&child) {
                    return Some(self.handed_on(&at, name, hands));
                }
                at = child;
            }
            rest = further;
        }
        Some(at)
    }

    /// The module that defines a name which a module has: itself, or the one that it takes it from.
    fn handed_on(&self, at: &Names, name: &str, hands: usize) -> Names {
        let Some(module) = self.modules.get(at).filter(|module| hands > 0 && !module.defines.contains(name))
        else {
            return at.clone();
        };
        let named = module.imports.iter().find(|import| import.alias == name);
        if let Some(found) = named.and_then(|import| self.find(at, &import.path, hands - 1)) {
            return found;
        }
        let all = module.imports.iter().filter(|import| import.alias == "*");
        let found = all.filter_map(|import| self.find(at, &import.path, hands - 1));
        let defines =
            |found: &Names| self.modules.get(found).is_some_and(|found| found.defines.contains(name));
        found.into_iter().find(defines).unwrap_or_else(|| at.clone())
    }
}

/// Reads the tokens of one module.
#[derive(Default)]
struct Reader {
    module: Module,
    /// Modules that have files of their own.
    files: Vec<String>,
    /// Modules that are blocks.
    blocks: Vec<(String, TokenStream)>,
}

impl Reader {
    fn walk(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        let mut is_public = false;
        while at < tokens.len() {
            if is_for_tests(&tokens[at..]) {
                at += length_of_item(&tokens[at..]);
                continue;
            }
            match &tokens[at..] {
                [TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Punct(end), ..]
                    if word == "mod" && end.as_char() == ';' =>
                {
                    self.files.push(name.to_string());
                    at += 3;
                }
                [TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Group(body), ..]
                    if word == "mod" =>
                {
                    self.blocks.push((name.to_string(), body.stream()));
                    at += 3;
                }
                [TokenTree::Ident(word), rest @ ..] if word == "use" => {
                    let end = rest.iter().position(is_end).unwrap_or(rest.len());
                    self.import(&[], &rest[..end], is_public);
                    at += end + 2;
                    is_public = false;
                }
                [TokenTree::Ident(word), TokenTree::Group(_), ..] if word == "pub" => {
                    is_public = true;
                    at += 2;
                }
                [TokenTree::Ident(_), ..] => {
                    is_public = matches!(&tokens[at], TokenTree::Ident(word) if word == "pub");
                    at += self.path(&tokens[at..]);
                }
                [TokenTree::Group(group), ..] => {
                    self.walk(group.stream());
                    at += 1;
                }
                _ => at += 1,
            }
        }
    }

    /// A path, or a definition's name; returns how many tokens it has.
    fn path(&mut self, tokens: &[TokenTree]) -> usize {
        let mut path = Names::new();
        let mut at = 0;
        while let Some(TokenTree::Ident(word)) = tokens.get(at) {
            path.push(word.to_string());
            at += 1;
            if !is_path_separator(&tokens[at..]) {
                break;
            }
            at += 2;
        }
        self.module.words.extend(path.iter().cloned());
        if path.len() > 1 {
            self.module.paths.push(path);
        } else if DEFINES.iter().any(|word| path[0] == *word) {
            let is_name = |token: &&TokenTree| matches!(token, TokenTree::Ident(_));
            let name = tokens[at..].iter().take(2).find(is_name);
            self.module.defines.extend(name.map(ToString::to_string));
        }
        at
    }

    /// The names of a `use`, behind a common beginning.
    fn import(&mut self, head: &[String], tokens: &[TokenTree], is_public: bool) {
        let mut path = head.to_vec();
        let mut alias = None;
        let mut words = tokens.iter();
        while let Some(token) = words.next() {
            match token {
                TokenTree::Ident(word) if word == "as" => alias = words.next().map(ToString::to_string),
                TokenTree::Ident(word) => path.push(word.to_string()),
                TokenTree::Punct(mark) if mark.as_char() == '*' => alias = Some("*".to_owned()),
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    let members: Vec<TokenTree> = group.stream().into_iter().collect();
                    let is_comma =
                        |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',');
                    for member in members.split(is_comma).filter(|member| !member.is_empty()) {
                        self.import(&path, member, is_public);
                    }
                    return;
                }
                _ => {}
            }
        }
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        if let Some(last) = path.last() {
            let alias = alias.unwrap_or_else(|| last.clone());
            self.module.imports.push(Import { path, alias, is_public });
        }
    }
}

fn is_end(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(mark) if mark.as_char() == ';')
}
