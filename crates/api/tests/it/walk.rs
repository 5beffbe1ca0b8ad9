//! Asks a running API for every operation of the table, to see behind which of them there is a use case.

use assisted_wire::operation::{self, Location, Operation, Param};
use reqwest::{Client, Method};
use serde_json::Value;

/// An operation, and what asking for it showed.
#[derive(Debug)]
pub struct Asked {
    pub operation: &'static Operation,
    pub found: Found,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// Its use case answered, whatever it said.
    UseCase,
    /// The API knows the operation, and has nothing behind it.
    Nothing,
    /// The request did not get as far as that, or there was no answer.
    NotKnown(String),
}

/// Asks for each operation once, about things that there are not.
pub async fn ask_all(client: &Client, url: &str) -> Vec<Asked> {
    let mut all = Vec::new();
    for operation in operation::all() {
        all.push(Asked { operation, found: ask(client, url, operation).await });
    }
    all
}

async fn ask(client: &Client, url: &str, operation: &Operation) -> Found {
    let mut path = operation.path.to_owned();
    for param in operation.params.iter().filter(|param| param.location == Location::Path) {
        path = path.replace(&format!("{{{}}}", param.name), sample(param));
    }
    let required =
        operation.params.iter().filter(|param| param.required && param.location == Location::Query);
    let query: Vec<_> = required.map(|param| (param.name, sample(param))).collect();
    let Ok(method) = Method::from_bytes(operation.method.as_str().as_bytes()) else {
        return Found::NotKnown(format!("{} is no method", operation.method.as_str()));
    };
    // The head is enough: some answers have no end.
    let answer = match client.request(method, format!("{url}{path}")).query(&query).send().await {
        Ok(answer) => answer,
        Err(error) => return Found::NotKnown(error.to_string()),
    };
    if answer.status() == 501 {
        return Found::Nothing;
    }
    if !answer.status().is_client_error() {
        return Found::UseCase;
    }
    // What is refused before an operation begins is told by a number and a text; of that, only bodies are its own matter.
    let body: Value = answer.json().await.unwrap_or_default();
    let text = body["message"].as_str().unwrap_or_default();
    match body["code"].is_u64() && !text.contains("body") && !text.contains("media type") {
        true => Found::NotKnown(body.to_string()),
        false => Found::UseCase,
    }
}

/// A value that a parameter takes.
fn sample(param: &Param) -> &'static str {
    match param.one_of.first() {
        Some(first) => first,
        None if param.format == Some("uuid") => "11111111-2222-3333-4444-555555555555",
        None if param.name.contains("version") => "4.20",
        None => "1",
    }
}
