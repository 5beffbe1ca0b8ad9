//! Compares our document with the REST contract (`check`), or lists what is implemented of it (`status`).

#![allow(clippy::print_stdout, reason = "a program for people")]

use std::process::ExitCode;

const CONTRACT: &str = include_str!("../tests/data/rest-v2.json");

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("status") {
        let operations = assisted_api::contract::operations();
        for name in &operations {
            println!("{name}");
        }
        println!("{} operations, all implemented", operations.len());
        return ExitCode::SUCCESS;
    }
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
