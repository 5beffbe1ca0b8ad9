//! Sends requests one after the other without waiting for the answers between them.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use futures::future::{MaybeDone, maybe_done};

/// Drives the futures together; they make their first step, which sends the request, in the order of the list.
pub(super) async fn run<F: Future>(requests: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut requests: Vec<Pin<Box<MaybeDone<F>>>> =
        requests.into_iter().map(|request| Box::pin(maybe_done(request))).collect();
    poll_fn(|context| {
        let mut pending = false;
        for request in &mut requests {
            pending |= request.as_mut().poll(context).is_pending();
        }
        if pending { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    requests.iter_mut().filter_map(|request| request.as_mut().take_output()).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[tokio::test]
    async fn starts_in_order_and_answers_in_order() {
        let started = RefCell::new(Vec::new());
        let answers = run((0..100_u64).map(|n| {
            let started = &started;
            async move {
                started.borrow_mut().push(n);
                for _ in n..100 {
                    tokio::task::yield_now().await;
                }
                n
            }
        }))
        .await;
        let expected: Vec<_> = (0..100).collect();
        assert_eq!(answers, expected);
        assert_eq!(*started.borrow(), expected);
    }
}
