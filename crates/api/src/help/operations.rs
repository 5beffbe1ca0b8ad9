//! The reference of the API as a page of the book: all operations, from the table that they are served from.

use std::collections::BTreeMap;
use std::fmt::Write;

use assisted_wire::operation::{self, BASE_PATH, Operation};
use serde_json::Value;

use crate::openapi;

const HEAD: &str = "# The REST API\n\n\
    Made from the code by `cargo xtask docs`. All paths are below `/api/assisted-install`. A running service describes the same with all parameters\n\
    and members: for people under `/docs`, for programs under `/api/assisted-install/v2/openapi.json` (OpenAPI 3.1) and\n\
    `/api/assisted-install/v2/swagger.json` (Swagger 2.0). What errors mean stands in [errors](errors.md), how callers say who they are in\n\
    [people who log in](users.md), and what exactly clients see in the [reference](reference/service-api.md).\n\n\
    Operations that are marked with ＋ stand beside the published contract; other services may not know them.\n";

/// The page, as `docs/api.md` has it.
pub fn operations() -> String {
    let document = openapi::openapi();
    let mut groups: BTreeMap<&str, Vec<&Operation>> = BTreeMap::new();
    for operation in operation::all() {
        groups.entry(group(operation.path)).or_default().push(operation);
    }
    let mut text = HEAD.to_owned();
    for (group, operations) in groups {
        let _ = write!(text, "\n## {group}\n\n| operation | name | body | answer |\n|---|---|---|---|\n");
        for operation in operations {
            row(&mut text, operation, &document);
        }
    }
    text
}

/// What an operation is about: the first part of its path behind the version.
fn group(path: &str) -> &str {
    path.split('/').find(|part| !part.is_empty() && *part != "v2").unwrap_or(path)
}

fn row(text: &mut String, operation: &Operation, document: &Value) {
    let Operation { method, path, name, .. } = operation;
    let described = &document["paths"][path][method.as_str().to_ascii_lowercase()];
    let content = |value: &Value| named(&value["content"]["application/json"]["schema"]);
    let mut answers: Vec<String> = Vec::new();
    for success in operation.success {
        let answer = &described["responses"][success.status.to_string()];
        let shown = [success.status.to_string(), content(answer)].join(" ");
        answers.push(shown.trim().to_owned());
    }
    let added = if operation.id.is_addition() { " ＋" } else { "" };
    let path = path.strip_prefix(BASE_PATH).unwrap_or(path);
    let body = content(&described["requestBody"]);
    let (method, answers) = (method.as_str(), answers.join(", "));
    let _ = writeln!(text, "| `{method} {path}`{added} | {name} | {body} | {answers} |");
}

/// What a schema is called; lists are of something.
fn named(schema: &Value) -> String {
    let name = |schema: &Value| {
        let reference = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
        reference.map(|name| format!("`{name}`"))
    };
    match name(schema) {
        Some(name) => name,
        None if schema["type"] == "array" => {
            format!("list of {}", name(&schema["items"]).unwrap_or_else(|| "values".to_owned()))
        }
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_is_listed_once() {
        let page = operations();
        for operation in operation::all() {
            assert_eq!(page.matches(&format!("| {} |", operation.name)).count(), 1, "{}", operation.name);
        }
        assert!(
            page.contains("| `GET /v2/clusters/{cluster_id}` | v2GetCluster |  | 200 `cluster` |"),
            "{page}"
        );
    }
}
