//! Errors and their causes, written and searched in one way.

use std::error::Error;
use std::io;

/// An error and its causes, the outermost first.
pub fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

/// An error's text with those of its causes: the outermost says only what was tried. A text that already ends with that of
/// its cause doesn't repeat it.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    for cause in causes(error) {
        let cause = cause.to_string();
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// The text of the innermost cause: what people know a failure by.
pub fn root_cause(error: &(dyn Error + 'static)) -> String {
    causes(error).last().unwrap_or(error).to_string()
}

/// The first of the causes that is of type `E`, the error itself included, however often it was wrapped on its way: an
/// error of input and output names as its source not what it wraps, but the source of that.
pub fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    causes(error).find_map(|cause| {
        let wrapped = || cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause.downcast_ref().or_else(|| wrapped().and_then(|wrapped| find(wrapped)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("can't look")]
    struct Outer(#[source] Middle);

    #[derive(Debug, thiserror::Error)]
    #[error("can't read: {0}")]
    struct Middle(#[source] io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("no such disk")]
    struct Inner;

    #[test]
    fn each_cause_is_told_once() {
        let error = Outer(Middle(io::Error::other("no such disk")));
        assert_eq!(chain(&error), "can't look: can't read: no such disk");
        assert_eq!(root_cause(&error), "no such disk");
        assert_eq!((chain(&Inner), root_cause(&Inner)), ("no such disk".into(), "no such disk".into()));
    }

    #[test]
    fn what_an_error_of_io_wraps_is_found() {
        let error = Outer(Middle(io::Error::other(io::Error::other(Inner))));
        assert!(find::<Inner>(&error).is_some() && find::<Middle>(&error).is_some());
        assert!(find::<std::fmt::Error>(&error).is_none());
    }
}
