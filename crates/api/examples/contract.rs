//! Compares our document with the REST contract (`check`), or asks a running API which of its operations have a use case
//! behind them (`status`).

#![allow(clippy::print_stdout, reason = "a program for people")]

use std::process::ExitCode;

use assisted_config::Settings;
use server::Server;
use walk::{Asked, Found, ask_all};

#[path = "../tests/it/server.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "what tests need of it is more")]
mod server;
#[path = "../tests/it/walk.rs"]
mod walk;

const CONTRACT: &str = include_str!("../tests/data/rest-v2.json");

#[tokio::main]
async fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("status") { status().await } else { check() }
}

/// Starts an API, and asks it.
async fn status() -> ExitCode {
    let server = Server::start(Settings::default()).await;
    let all = ask_all(&server.client, &server.url).await;
    server.stop().await;
    for Asked { operation, found } in &all {
        let what = match found {
            Found::UseCase => "implemented".to_owned(),
            Found::Nothing => "NOT IMPLEMENTED".to_owned(),
            Found::NotKnown(why) => format!("NOT KNOWN: {why}"),
        };
        let beside = if operation.id.is_addition() { " (beside the contract)" } else { "" };
        println!("{} {} {}: {what}{beside}", operation.name, operation.method.as_str(), operation.path);
    }
    let of_contract = || all.iter().filter(|asked| !asked.operation.id.is_addition());
    let done = of_contract().filter(|asked| asked.found == Found::UseCase).count();
    println!("{done} of {} operations of the contract answer from a use case", of_contract().count());
    if all.iter().all(|asked| asked.found == Found::UseCase) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Compares the documents.
fn check() -> ExitCode {
    match assisted_api::contract::check(CONTRACT) {
        Ok(differences) if differences.is_empty() => {
            println!("our document is the contract's");
            ExitCode::SUCCESS
        }
        Ok(differences) => {
            for difference in differences {
                println!("{difference}");
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            println!("the contract can't be read: {error}");
            ExitCode::FAILURE
        }
    }
}
