//! The agent as the conductor's tests start it, with the arguments of `backsight agent`. Called so because examples of
//! all packages lie in one folder, and the agent's own tests have one called `agent`.

use std::{ffi::OsString, path::Path, process::ExitCode};

fn main() -> ExitCode {
    if let Some((device, restart)) = backsight_agent::init_arguments() {
        let _ends_the_guest = backsight_agent::serve_guest(&device, restart);
        return ExitCode::FAILURE;
    }
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map_while(|word| word.to_str()).collect();
    let fault = match words.as_slice() {
        ["agent"] => backsight_agent::serve_stdio(None)
            .err()
            .map(|e| e.to_string()),
        ["agent", "--netns", file] => backsight_agent::serve_stdio(Some(Path::new(file)))
            .err()
            .map(|e| e.to_string()),
        ["agent", "--channel", socket, program, ..] => {
            let (socket, program) = (Path::new(socket), Path::new(program));
            let fault = backsight_agent::exec_with_channel(socket, program, &arguments[4..]);
            Some(fault.to_string())
        }
        _ => Some("no such arguments".into()),
    };
    match fault {
        None => ExitCode::SUCCESS,
        Some(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}
