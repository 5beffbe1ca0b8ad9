//! The query of an AgentClassification, in the language of jq.
//!
//! Who may write one is anybody with a namespace of the hub, so a query is taken only if it ends and stays by itself: what loops
//! without end, or reaches out of the query (the environment, the log, the end of the process), is not part of the language here.
//! It runs on a thread with a large stack, for parser and interpreter recurse, in a process of its own with a limit of time and memory
//! ([`super::Queries`]).

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use jaq_core::load::lex::{StrPart, Tok, Token};
use jaq_core::load::{Arena, File, Lexer, Loader};
use jaq_core::{Compiler, Ctx, Vars, data, unwrap_valr};
use jaq_json::Val;
use serde::{Deserialize, Serialize};

/// The longest query that is read, in bytes.
const LONGEST: usize = 4 * 1024;
/// Bytes of stack for a query; only what is used is ever taken.
pub(super) const STACK: usize = 64 << 20;
/// How long a query may take.
pub(super) const LIMIT: Duration = Duration::from_secs(5);
/// Bytes of memory that the process of queries may take, its stack included.
pub(super) const MEMORY: u64 = 256 << 20;
/// What may loop without end.
const ENDLESS: &[&str] = &["def", "combinations", "range", "recurse", "repeat", "until", "while"];
/// Functions of jq that reach out of the query.
const OUTSIDE: &[&str] = &["debug", "debug_empty", "env", "halt", "halt_error", "stderr", "stderr_empty"];

/// Why a query can't be asked, or has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum QueryError {
    #[error("the query has more than {LONGEST} bytes")]
    Long,
    #[error("the query can't be read as jq")]
    Syntax,
    #[error("the query uses {0}, which jq does not know")]
    Undefined(String),
    #[error("the query uses {0:?}, which may loop without end and is not supported")]
    Endless(String),
    #[error("the inventory is no JSON")]
    Input,
    #[error("the query failed: {0}")]
    Run(String),
    #[error("the query has no result, or several")]
    Count,
    #[error("the query takes longer than {} s", LIMIT.as_secs())]
    Slow,
    #[error("the query takes more than {} MiB of memory", MEMORY >> 20)]
    Memory,
    #[error("the process of queries does not work: {0}")]
    Process(String),
}

pub(super) type Filter = jaq_core::compile::Filter<jaq_core::Native<data::JustLut<Val>>>;

/// Checks that a query can be asked, on a thread of its own: the parser recurses.
///
/// # Errors
/// It is no filter of jq, or one that may loop without end.
pub fn check(text: &str) -> Result<(), QueryError> {
    if text.len() > LONGEST {
        return Err(QueryError::Long);
    }
    let own = text.to_owned();
    let (send, receive) = mpsc::sync_channel(1);
    let told = move || {
        // Who asked may have given up.
        let _ = send.send(compile(&own).map(drop));
    };
    let thread = thread::Builder::new().name("query".to_owned()).stack_size(STACK).spawn(told);
    thread.map_err(|error| QueryError::Process(error.to_string()))?;
    match receive.recv_timeout(LIMIT) {
        Ok(answer) => answer,
        Err(mpsc::RecvTimeoutError::Timeout) => Err(QueryError::Slow),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            Err(QueryError::Run("its interpreter failed".to_owned()))
        }
    }
}

pub(super) fn answer(filter: &Filter, inventory: &str) -> Result<bool, QueryError> {
    let input = jaq_json::read::parse_single(inventory.as_bytes()).map_err(|_| QueryError::Input)?;
    let context = Ctx::<data::JustLut<Val>>::new(&filter.lut, Vars::new([]));
    let mut results = filter.id.run((context, input)).map(unwrap_valr);
    match (results.next(), results.next()) {
        (Some(Ok(result)), None) => Ok(matches!(result, Val::Bool(true))),
        (Some(Err(error)), _) => Err(QueryError::Run(error.to_string())),
        _ => Err(QueryError::Count),
    }
}

pub(super) fn compile(text: &str) -> Result<Filter, QueryError> {
    let tokens = Lexer::new(text).lex().map_err(|_| QueryError::Syntax)?;
    if let Some(word) = endless(&tokens) {
        return Err(QueryError::Endless(word.to_owned()));
    }
    let is_inside = |name: &str| !OUTSIDE.contains(&name);
    let definitions = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    let definitions = definitions.filter(|definition| is_inside(definition.name));
    let functions = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    let functions = functions.filter(|(name, ..)| is_inside(name));
    let arena = Arena::default();
    let modules = Loader::new(definitions)
        .load(&arena, File { code: text, path: () })
        .map_err(|_| QueryError::Syntax)?;
    Compiler::default().with_funs(functions).compile(modules).map_err(|errors| {
        let names = errors.iter().flat_map(|(_, undefined)| undefined).map(|(name, _)| format!("{name:?}"));
        QueryError::Undefined(names.collect::<Vec<_>>().join(", "))
    })
}

/// The first word that may loop without end.
fn endless<'a>(tokens: &[Token<&'a str>]) -> Option<&'a str> {
    tokens.iter().find_map(|Token(text, kind)| match kind {
        Tok::Word => ENDLESS.contains(text).then_some(*text),
        Tok::Block(inner) => endless(inner),
        Tok::Str(parts) => parts.iter().find_map(|part| match part {
            StrPart::Term(term) => endless(std::slice::from_ref(term)),
            StrPart::Str(_) | StrPart::Char(_) => None,
        }),
        Tok::Var | Tok::Fmt | Tok::Num | Tok::Sym => None,
    })
}
