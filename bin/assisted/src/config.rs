//! `assisted config explain`: what each variable of the environment does here.

use std::collections::BTreeSet;

use assisted_config::{Effect, Explained, explain};
use assisted_console::output::{show, table};
use assisted_console::{Failure, Global};
use clap::{CommandFactory, Subcommand};
use serde::Serialize;

use crate::Program;

/// Longest value that a table shows whole; lists of images are data.
const LONGEST: usize = 60;

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Show every variable of the service, its value, where that is from, and what comes of it; secrets are not shown. Give it the
    /// environment that the service is to start with
    Explain {
        /// Only these
        #[arg(value_name = "VARIABLE")]
        names: Vec<String>,
        /// Only those that are set
        #[arg(long)]
        set: bool,
    },
}

/// A variable, as it is shown.
#[derive(Serialize)]
struct Row {
    name: String,
    /// Empty for a secret that is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    /// `environment`, or `default`.
    from: &'static str,
    /// `works`, `harmless` or `refused`.
    effect: &'static str,
    meaning: String,
}

impl Command {
    pub fn run(self, global: &Global) -> Result<(), Failure> {
        let Self::Explain { names, set } = self;
        let get = |name: &str| std::env::var(name).ok();
        let known = explain(&get);
        let listed: BTreeSet<&str> = known.iter().map(|one| one.name).collect();
        let mut rows: Vec<Row> =
            flags(&get).into_iter().filter(|row| !listed.contains(row.name.as_str())).collect();
        rows.extend(known.into_iter().map(row));
        rows.retain(|row| !set || row.from == SET);
        if !names.is_empty() {
            if let Some(strange) = names.iter().find(|name| rows.iter().all(|row| row.name != **name)) {
                return Err(Failure::Refused(format!("{strange} is not set, and nothing here reads it")));
            }
            rows.retain(|row| names.contains(&row.name));
        }
        show(global.output, &rows, |rows| {
            table(["VARIABLE", "VALUE", "FROM", "EFFECT", "MEANING"], rows.iter().map(Row::cells))
        })
    }
}

const SET: &str = "environment";
const DEFAULT: &str = "default";

fn row(one: Explained) -> Row {
    let from = if one.is_set { SET } else { DEFAULT };
    Row {
        name: one.name.to_owned(),
        value: one.value,
        from,
        effect: one.effect.as_str(),
        meaning: one.meaning,
    }
}

/// The variables that flags of `serve` are read from.
fn flags(get: &dyn Fn(&str) -> Option<String>) -> Vec<Row> {
    let program = Program::command();
    let Some(serve) = program.find_subcommand("serve") else { return Vec::new() };
    let read = |argument: &clap::Arg| {
        let name = argument.get_env()?.to_str()?.to_owned();
        let given = get(&name).filter(|value| !value.is_empty());
        let from = if given.is_some() { SET } else { DEFAULT };
        let default = || argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        let value = match given {
            Some(_) if argument.is_hide_env_values_set() => None,
            Some(given) => Some(given),
            None => Some(default()),
        };
        let meaning = argument.get_help().map(ToString::to_string).unwrap_or_default();
        Some(Row { name, value, from, effect: Effect::Works.as_str(), meaning })
    };
    serve.get_arguments().filter_map(read).collect()
}

impl Row {
    fn cells(&self) -> [String; 5] {
        let value = match &self.value {
            None => "(secret)".to_owned(),
            Some(value) => match value.char_indices().nth(LONGEST) {
                Some((end, _)) => format!("{}…", &value[..end]),
                None => value.clone(),
            },
        };
        [self.name.clone(), value, self.from.to_owned(), self.effect.to_owned(), self.meaning.clone()]
    }
}
