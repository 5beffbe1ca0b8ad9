//! Queries that are asked of many inventories: one process answers them all, and another one takes its place when a query takes too
//! much time or memory.

use std::borrow::Cow;
use std::collections::HashMap;

use assisted_base::process::{Cmd, CmdError, Coprocess};
use tokio::sync::Mutex;

use super::program::{QueryResult, Question};
use super::query::{LIMIT, MEMORY, QueryError};

/// Queries that took too much and are remembered, at most.
const MOST: usize = 1024;
/// Bytes of an answer.
const LONGEST_ANSWER: usize = 64 << 10;

/// Asks queries, one after the other.
#[derive(Debug)]
pub struct Queries {
    /// Runs [`super::serve`].
    program: Cmd,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The process, once it is needed.
    process: Option<Coprocess>,
    /// Queries that took too much: they are not asked again.
    refused: HashMap<String, QueryError>,
}

impl Queries {
    /// Queries are answered by a program that runs [`super::serve`] on its standard input and output.
    pub fn new(program: &Cmd) -> Self {
        let program = program.clone().timeout(LIMIT).memory(MEMORY).output_limit(LONGEST_ANSWER);
        Self { program: program.only_own_env(), state: Mutex::default() }
    }

    /// Whether a query is true of a JSON text. A single result that is not `true` is no match.
    ///
    /// # Errors
    /// It can't be read, fails, takes too long or too much memory (then, and whenever it is asked again), or has no result or several.
    pub async fn ask(&self, query: &str, inventory: &str) -> QueryResult {
        let mut state = self.state.lock().await;
        if let Some(error) = state.refused.get(query) {
            return Err(error.clone());
        }
        let question = Question { query: Cow::Borrowed(query), inventory: Cow::Borrowed(inventory) };
        let line = serde_json::to_string(&question).map_err(|_| QueryError::Input)?;
        // A process that answered others may have little memory left: what ends it is asked once more of one of its own.
        let is_fresh = state.process.is_none();
        let mut told = self.ask_once(&mut state, &line).await;
        if !is_fresh && told == Err(QueryError::Memory) {
            told = self.ask_once(&mut state, &line).await;
        }
        if let Err(error @ (QueryError::Slow | QueryError::Memory)) = &told {
            if state.refused.len() >= MOST {
                state.refused.clear();
            }
            state.refused.insert(query.to_owned(), error.clone());
        }
        told
    }

    /// Asks the process, which stays only if it answers.
    async fn ask_once(&self, state: &mut State, line: &str) -> QueryResult {
        let mut process = match state.process.take() {
            Some(process) => process,
            None => {
                let started = self.program.clone().start().await;
                started.map_err(|error| QueryError::Process(assisted_base::error::chain(&error)))?
            }
        };
        match process.ask(line).await {
            Ok(answer) => {
                let told = serde_json::from_str(&answer);
                let told: QueryResult = told.map_err(|error| QueryError::Process(error.to_string()))?;
                state.process = Some(process);
                told
            }
            Err(CmdError::Timeout { .. }) => Err(QueryError::Slow),
            Err(_) => Err(QueryError::Memory),
        }
    }
}
