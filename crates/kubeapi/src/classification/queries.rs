//! Queries that are asked of many inventories: a thread of its own has each of them compiled once.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc;
use std::thread;

use tokio::sync::{Mutex, oneshot};
use tokio::time::timeout;

use super::query::{Filter, LIMIT, QueryError, STACK, answer, compile};

/// Compiled queries that are kept, and slow ones that are remembered, at most.
const MOST: usize = 1024;

/// Asks queries, one after the other.
#[derive(Debug, Default)]
pub struct Queries(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The thread, once it is needed.
    thread: Option<mpsc::Sender<Question>>,
    /// Queries that took too long: they are not asked again.
    slow: HashSet<String>,
}

struct Question {
    query: String,
    inventory: String,
    answer: oneshot::Sender<Result<bool, QueryError>>,
}

impl Queries {
    /// Whether a query is true of a JSON text. A single result that is not `true` is no match.
    ///
    /// # Errors
    /// It can't be read, fails, takes too long (then, and whenever it is asked again), or has no result or several.
    pub async fn ask(&self, query: &str, inventory: String) -> Result<bool, QueryError> {
        let mut state = self.0.lock().await;
        if state.slow.contains(query) {
            return Err(QueryError::Slow);
        }
        let (send, receive) = oneshot::channel();
        let question = Question { query: query.to_owned(), inventory, answer: send };
        let thread = match state.thread.take() {
            Some(thread) => thread,
            None => start()?,
        };
        thread.send(question).map_err(|_| QueryError::Thread)?;
        match timeout(LIMIT, receive).await {
            Ok(Ok(answer)) => {
                state.thread = Some(thread);
                answer
            }
            // The interpreter failed, and took the thread along.
            Ok(Err(_)) => Err(QueryError::crash()),
            // The thread is left to itself; the next query gets another one.
            Err(_) => {
                if state.slow.len() >= MOST {
                    state.slow.clear();
                }
                state.slow.insert(query.to_owned());
                Err(QueryError::Slow)
            }
        }
    }
}

/// Starts a thread that answers until nobody can ask any more.
fn start() -> Result<mpsc::Sender<Question>, QueryError> {
    let (send, receive) = mpsc::channel::<Question>();
    let work = move || {
        let mut compiled: HashMap<String, Result<Filter, QueryError>> = HashMap::new();
        for Question { query, inventory, answer: told } in receive {
            if compiled.len() >= MOST {
                compiled.clear();
            }
            let filter = compiled.entry(query).or_insert_with_key(|query| compile(query));
            let answered = match filter {
                Ok(filter) => answer(filter, &inventory),
                Err(error) => Err(error.clone()),
            };
            // Who asked may have given up.
            let _ = told.send(answered);
        }
    };
    thread::Builder::new()
        .name("queries".to_owned())
        .stack_size(STACK)
        .spawn(work)
        .map(|_| send)
        .map_err(|_| QueryError::Thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn queries_are_asked_again_and_again() {
        let queries = Queries::default();
        for count in [1, 9] {
            let inventory = format!(r#"{{"cpu": {{"count": {count}}}}}"#);
            assert_eq!(queries.ask(".cpu.count > 8", inventory.clone()).await, Ok(count > 8));
            assert_eq!(queries.ask("(", inventory.clone()).await, Err(QueryError::Syntax));
            assert_eq!(queries.ask("empty", inventory).await, Err(QueryError::Count));
        }
    }
}
