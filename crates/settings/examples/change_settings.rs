//! Makes settings or puts them back, of this machine or of a folder that stands for one:
//!
//! ```text
//! change_settings apply ROOT JOURNAL FILE STUDY POLICY [FILE…]
//! change_settings restore ROOT JOURNAL SCOPE
//! ```
//!
//! FILE has the settings that [`backsight_settings::resolve`] gives, as JSON; those of further ones are made in place of it, one after
//! the other; SCOPE is `abandoned`, `everything` or a study. With `KILL_AT="NAME NUMBER"` it kills
//! itself at that place, with `STOP_AT` it says `AT NAME NUMBER` on standard error and stands still there for ever, with
//! `LIST_POINTS=1` it lists the places that it passes on standard error; with `WAIT=1` it stays after
//! `apply` until its standard input ends. `SESSION` is the number of the session that asks. What came of it is printed as JSON.

use backsight_settings::{
    JournalFile, MachineRoot, PreparationPolicy, RestoreScope, StandingPreparation, WantedSetting,
    change_to, restore,
};
use std::{env, error::Error, fs, io::Read as _, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["apply", root, journal, file, study, policy, further @ ..] => {
            let policy: PreparationPolicy =
                serde_json::from_value(serde_json::Value::from(*policy))?;
            let mut journal = JournalFile::new(*journal);
            journal.session = env::var("SESSION")
                .ok()
                .map(|number| number.parse())
                .transpose()?;
            let mut standing = StandingPreparation::new(study);
            for file in [file].into_iter().chain(further) {
                let wanted: Vec<WantedSetting> = serde_json::from_str(&fs::read_to_string(file)?)?;
                let machine = machine(root);
                let report = change_to(&machine, &mut standing, &wanted, &journal, policy)?;
                println!("{}", serde_json::to_string(&report)?);
            }
            if env::var_os("WAIT").is_some() {
                std::io::stdin().read_to_end(&mut Vec::new())?;
            }
        }
        ["restore", root, journal, scope] => {
            let scope = match *scope {
                "abandoned" => RestoreScope::Abandoned,
                "everything" => RestoreScope::Everything,
                study => RestoreScope::Study(study.to_owned()),
            };
            let report = restore(&machine(root), &JournalFile::new(*journal), &scope)?;
            println!("{}", serde_json::to_string(&report)?);
        }
        _ => return Err("change_settings apply|restore …".into()),
    }
    Ok(())
}

fn machine(root: &str) -> MachineRoot {
    let machine = match root {
        "/" => MachineRoot::this_machine(),
        root => MachineRoot::in_folder(root, vec![Path::new(root).join("usr/bin")]),
    };
    machine.with_checkpoint(|name, number| {
        let place = format!("{name} {number}");
        if env::var_os("LIST_POINTS").is_some() {
            eprintln!("{place}");
        }
        if env::var("STOP_AT").is_ok_and(|at| at == place) {
            eprintln!("AT {place}");
            loop {
                std::thread::park();
            }
        }
        if env::var("KILL_AT").is_ok_and(|at| at == place) {
            let _never_returns = rustix::process::kill_process(
                rustix::process::getpid(),
                rustix::process::Signal::KILL,
            );
        }
    })
}
