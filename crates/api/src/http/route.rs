//! From a path to an operation.

use std::borrow::Cow;

use assisted_wire::operation::{self, BASE_PATH, Method, Operation};
use matchit::Router;
use percent_encoding::percent_decode_str;

use crate::error::ApiError;

const METHODS: [Method; 5] = [Method::Delete, Method::Get, Method::Patch, Method::Post, Method::Put];

/// The operations of one path, by method.
type Row = [Option<&'static Operation>; METHODS.len()];

/// Finds operations by path and method.
pub(crate) struct Routes(Router<Row>);

/// An operation with the parameters that its path holds.
pub(crate) type Found<'p> = (&'static Operation, Vec<(&'p str, Cow<'p, str>)>);

impl Routes {
    /// Routes to every operation of the table.
    pub(crate) fn new() -> Result<Self, matchit::InsertError> {
        let mut rows: Vec<(&'static str, Row)> = Vec::new();
        for operation in operation::all() {
            let index = match rows.iter().position(|(path, _)| *path == operation.path) {
                Some(index) => index,
                None => {
                    rows.push((operation.path, Row::default()));
                    rows.len() - 1
                }
            };
            for (slot, method) in rows[index].1.iter_mut().zip(METHODS) {
                if method == operation.method {
                    *slot = Some(operation);
                }
            }
        }
        let mut router = Router::new();
        for (path, row) in rows {
            router.insert(path, row)?;
        }
        Ok(Self(router))
    }

    /// The operation of a folded path.
    pub(crate) fn find<'p>(&'p self, method: &http::Method, path: &'p str) -> Result<Found<'p>, ApiError> {
        let Some(row) = path.strip_prefix(BASE_PATH).and_then(|path| self.0.at(path).ok()) else {
            return Err(ApiError::framework(404, format!("path {path} was not found")));
        };
        for (operation, known) in row.value.iter().zip(METHODS) {
            if let Some(operation) = operation.filter(|_| known.as_str() == method.as_str()) {
                let params =
                    row.params.iter().map(|(name, raw)| (name, percent_decode_str(raw).decode_utf8_lossy()));
                return Ok((operation, params.collect()));
            }
        }
        let allowed: Vec<_> = row.value.iter().flatten().map(|operation| operation.method.as_str()).collect();
        let allow = allowed.join(",");
        Err(ApiError::Framework {
            status: 405,
            message: format!("method {method} is not allowed, but [{allow}] are"),
            allow: Some(allow),
        })
    }
}

/// Folds repeated slashes and drops a trailing one; most paths need nothing done.
pub(crate) fn normalize_path(path: &str) -> Cow<'_, str> {
    let trailing = path.len() > 1 && path.ends_with('/');
    if !trailing && !path.contains("//") {
        return Cow::Borrowed(path);
    }
    let mut folded = String::with_capacity(path.len());
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        folded.push('/');
        folded.push_str(segment);
    }
    if folded.is_empty() {
        folded.push('/');
    }
    Cow::Owned(folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_found() {
        let routes = Routes::new().unwrap();
        for operation in operation::all() {
            let path = format!("{BASE_PATH}{}", operation.path.replace(['{', '}'], "x"));
            let method = http::Method::from_bytes(operation.method.as_str().as_bytes()).unwrap();
            let (found, _) = routes.find(&method, &path).unwrap();
            assert_eq!(found.name, operation.name, "{path}");
        }
    }

    #[test]
    fn slashes_are_folded() {
        for (path, folded) in [("//", "/"), ("/a//b/", "/a/b"), ("/a/b", "/a/b"), ("/", "/"), ("/a///", "/a")]
        {
            assert_eq!(normalize_path(path), folded);
        }
    }

    #[test]
    fn refusals() {
        let routes = Routes::new().unwrap();
        let missing = routes.find(&http::Method::GET, "/api/assisted-install/v1/x").unwrap_err();
        assert_eq!(missing.to_string(), "path /api/assisted-install/v1/x was not found");
        let wrong = routes.find(&http::Method::PUT, "/api/assisted-install/v2/clusters").unwrap_err();
        assert_eq!(wrong.to_string(), "method PUT is not allowed, but [GET,POST] are");
    }
}
