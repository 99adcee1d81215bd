//! Drives one peer with raw sockets and prints one line of JSON with what it saw.

use std::process::ExitCode;

use giusto_benchmarks::load::{Arguments, run};
use giusto_benchmarks::require_release;

fn main() -> ExitCode {
    require_release();
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("load: {problem}");
            return ExitCode::from(2);
        }
    };
    match run(&arguments) {
        Ok(outcome) => {
            println!("{}", outcome.line());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("load: {} {} {}: {error}", arguments.mode, arguments.name, arguments.address);
            ExitCode::FAILURE
        }
    }
}
