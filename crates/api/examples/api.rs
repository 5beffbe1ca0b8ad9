//! Prints what the book says about the API: `errors`, what they mean and what to do; `operations`, all of them.

#![allow(clippy::print_stdout, reason = "a program for people")]

use std::process::ExitCode;

use assisted_api::help;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("errors") => print!("{}", help::page()),
        Some("operations") => print!("{}", help::operations()),
        _ => return ExitCode::FAILURE,
    }
    ExitCode::SUCCESS
}
