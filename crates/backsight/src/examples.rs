//! Examples at the end of every command's help.

use std::fmt::Write as _;

/// Each command, as its words behind `backsight`, with a command line that a test parses; lines of one command stand together.
pub fn examples() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("examples.tsv").lines();
    lines.filter_map(|line| line.split_once('\t'))
}

/// The command line with the examples of each command at the end of its help.
pub fn with_examples(command: clap::Command) -> clap::Command {
    command.mut_subcommands(|verb| with_examples_of(verb, ""))
}

fn with_examples_of(command: clap::Command, above: &str) -> clap::Command {
    let name = format!("{above}{}", command.get_name());
    let of_command = examples().filter(|(of, _)| *of == name);
    let lines: Vec<&str> = of_command.map(|(_, line)| line).collect();
    let mut text = command
        .get_after_help()
        .map_or_else(String::new, |before| format!("{before}\n\n"));
    let command = match lines.is_empty() {
        true => command,
        false => {
            text.push_str(if lines.len() == 1 {
                "Example:"
            } else {
                "Examples:"
            });
            for line in lines {
                let _ = write!(text, "\n  {line}");
            }
            command.after_help(text)
        }
    };
    let above = format!("{name} ");
    command.mut_subcommands(|below| with_examples_of(below, &above))
}
