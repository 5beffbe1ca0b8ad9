//! The document as a page to browse: one file, nothing fetched from elsewhere.

use std::fmt::Write;

use assisted_base::html::escape;
use serde_json::Value;

pub(crate) const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}\
code,pre{font:13px/1.4 ui-monospace,monospace}pre{background:#8881;padding:.6rem;overflow:auto}\
summary{cursor:pointer;padding:.25rem 0}b{display:inline-block;width:4.5rem}details{border-top:1px solid #8884}\
table{border-collapse:collapse}td,th{padding:.1rem .8rem .1rem 0;text-align:left;vertical-align:top}\
:root{color-scheme:light dark}";

/// Makes the page.
pub(super) fn page(document: &Value) -> String {
    let mut html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>assisted: REST API</title>\
         <style>{STYLE}</style><h1>REST API</h1><p>{} <a href=\"/api/assisted-install/v2/openapi.json\">OpenAPI 3.1</a>, \
         <a href=\"/api/assisted-install/v2/swagger.json\">Swagger 2.0</a>. <a href=\"/docs/errors\">Errors</a>, \
         <a href=\"/docs/troubleshooting\">troubleshooting</a>.</p><h2>Operations</h2>",
        escape(document["info"]["description"].as_str().unwrap_or_default())
    );
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            operation_section(&mut html, path, method, operation);
        }
    }
    html.push_str("<h2>Definitions</h2>");
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        let text = serde_json::to_string_pretty(schema).unwrap_or_default();
        let name = escape(name);
        let _ = write!(
            html,
            "<details id=\"{name}\"><summary><code>{name}</code></summary><pre>{}</pre></details>",
            escape(&text)
        );
    }
    html
}

fn operation_section(html: &mut String, path: &str, method: &str, operation: &Value) {
    let _ = write!(
        html,
        "<details><summary><b>{}</b><code>{}</code> {}</summary><table>",
        escape(&method.to_ascii_uppercase()),
        escape(path),
        escape(operation["operationId"].as_str().unwrap_or_default()),
    );
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let _ = write!(
            html,
            "<tr><td><code>{}</code><td>{}<td>{}<td><code>{}</code>",
            escape(parameter["name"].as_str().unwrap_or_default()),
            escape(parameter["in"].as_str().unwrap_or_default()),
            if parameter["required"] == true { "required" } else { "" },
            escape(&parameter["schema"].to_string()),
        );
    }
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    if !body.is_null() {
        let _ = write!(html, "<tr><td>body<td><td><td>{}", schema_link(body));
    }
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        let schema = &response["content"]["application/json"]["schema"];
        let _ = write!(html, "<tr><td>{}<td>answer<td><td>{}", escape(status), schema_link(schema));
    }
    html.push_str("</table></details>");
}

fn schema_link(schema: &Value) -> String {
    match schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
        Some(name) => format!("<a href=\"#{0}\"><code>{0}</code></a>", escape(name)),
        None if schema.is_null() => String::new(),
        None => format!("<code>{}</code>", escape(&schema.to_string())),
    }
}
