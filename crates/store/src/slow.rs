//! A log of slow statements: their texts, which hold no values.

use std::time::Duration;

use tokio::time::Instant;

use crate::statement::Statement;

/// Longest text of statements in one line of the log.
const LONGEST: usize = 500;

/// From when a statement is slow; `None`: nothing is logged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlowLog(pub(crate) Option<Duration>);

impl SlowLog {
    /// Waits for what does the statements, and logs them if they took long. The wait for a connection, or for the writer, is
    /// part of it: that is what a request feels.
    pub(crate) async fn watch<T>(self, statements: &[Statement], work: impl Future<Output = T>) -> T {
        let Some(limit) = self.0 else { return work.await };
        let text = text(statements);
        let began = Instant::now();
        let done = work.await;
        let took = began.elapsed();
        if took >= limit {
            tracing::warn!(milliseconds = took.as_millis(), sql = text, "slow statement");
        }
        done
    }
}

fn text(statements: &[Statement]) -> String {
    let mut text = String::new();
    for statement in statements {
        let separator = if text.is_empty() { "" } else { "; " };
        text.push_str(separator);
        text.push_str(&statement.sql);
        if let Some((end, _)) = text.char_indices().nth(LONGEST) {
            text.truncate(end);
            text.push('…');
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_bounded_and_hold_no_values() {
        let one = Statement::new("select $1", vec!["secret".into()]);
        assert_eq!(text(&[one.clone(), one.clone()]), "select $1; select $1");
        let many = vec![one; 1000];
        assert_eq!(text(&many).chars().count(), LONGEST + 1);
    }
}
