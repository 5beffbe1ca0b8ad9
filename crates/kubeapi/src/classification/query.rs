//! The query of an AgentClassification, in the language of jq.

use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, data, unwrap_valr};
use jaq_json::Val;

/// The longest query that is read, in bytes.
const LONGEST: usize = 64 * 1024;

/// A query that can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query(String);

/// Why a query can't be asked, or has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    #[error("the query has more than {LONGEST} bytes")]
    Long,
    #[error("the query can't be read as jq")]
    Syntax,
    #[error("the query uses {0}, which jq does not know")]
    Undefined(String),
    #[error("the inventory is no JSON")]
    Input,
    #[error("the query failed: {0}")]
    Run(String),
    #[error("the query has no result, or several")]
    Count,
}

type Filter = jaq_core::compile::Filter<jaq_core::Native<data::JustLut<Val>>>;

impl Query {
    /// Reads a query.
    ///
    /// # Errors
    /// It is no filter of jq.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        compile(text)?;
        Ok(Self(text.to_owned()))
    }

    /// Whether the query is true of a JSON text. A single result that is not `true` is no match.
    ///
    /// # Errors
    /// It fails, or has no result or several.
    pub fn matches(&self, inventory: &str) -> Result<bool, QueryError> {
        let filter = compile(&self.0)?;
        let input = jaq_json::read::parse_single(inventory.as_bytes()).map_err(|_| QueryError::Input)?;
        let context = Ctx::<data::JustLut<Val>>::new(&filter.lut, Vars::new([]));
        let mut results = filter.id.run((context, input)).map(unwrap_valr);
        match (results.next(), results.next()) {
            (Some(Ok(result)), None) => Ok(matches!(result, Val::Bool(true))),
            (Some(Err(error)), _) => Err(QueryError::Run(error.to_string())),
            _ => Err(QueryError::Count),
        }
    }
}

fn compile(text: &str) -> Result<Filter, QueryError> {
    if text.len() > LONGEST {
        return Err(QueryError::Long);
    }
    let definitions = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    let functions = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    let arena = Arena::default();
    let modules = Loader::new(definitions)
        .load(&arena, File { code: text, path: () })
        .map_err(|_| QueryError::Syntax)?;
    Compiler::default().with_funs(functions).compile(modules).map_err(|errors| {
        let names = errors.iter().flat_map(|(_, undefined)| undefined).map(|(name, _)| format!("{name:?}"));
        QueryError::Undefined(names.collect::<Vec<_>>().join(", "))
    })
}
