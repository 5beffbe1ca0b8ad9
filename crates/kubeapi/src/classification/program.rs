//! The process that answers queries: one line for each question, one for each answer. It stands apart because a query can take any
//! memory, and a process that takes too much of it is no more.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::thread;

use serde::{Deserialize, Serialize};

use super::query::{Filter, QueryError, STACK, answer, compile};

/// Compiled queries that are kept.
const MOST: usize = 1024;

/// A question: is the query true of the inventory, a JSON text?
#[derive(Serialize, Deserialize)]
pub(super) struct Question<'a> {
    #[serde(borrow)]
    pub(super) query: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    pub(super) inventory: std::borrow::Cow<'a, str>,
}

/// The answer.
pub(super) type QueryResult = Result<bool, QueryError>;

/// Answers questions until there are no more. The process that calls it does nothing else.
///
/// # Errors
/// A question is none, or nobody reads the answers.
pub fn serve(input: impl BufRead + Send, output: impl Write + Send) -> io::Result<()> {
    thread::scope(|scope| {
        let work = thread::Builder::new().name("queries".to_owned()).stack_size(STACK);
        let work = work.spawn_scoped(scope, || serve_here(input, output))?;
        work.join().unwrap_or_else(|_| Err(io::Error::other("the interpreter failed")))
    })
}

fn serve_here(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut compiled: HashMap<String, Result<Filter, QueryError>> = HashMap::new();
    for line in input.lines() {
        let line = line?;
        let Question { query, inventory } = serde_json::from_str(&line)?;
        if compiled.len() >= MOST {
            compiled.clear();
        }
        let filter = compiled.entry(query.into_owned()).or_insert_with_key(|query| compile(query));
        let told: QueryResult = match filter {
            Ok(filter) => answer(filter, &inventory),
            Err(error) => Err(error.clone()),
        };
        serde_json::to_writer(&mut output, &told)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}
