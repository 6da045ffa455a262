//! Which lines need a shell.

/// Characters that mean something to `sh` wherever they stand.
const META: &[char] = &[
    '|', '&', ';', '<', '>', '(', ')', '$', '`', '\\', '"', '\'', '*', '?', '[', ']', '#', '~',
    '\n',
];

/// First words that only a shell knows: reserved words, and builtins that act on the shell itself.
const SHELL_WORDS: &[&str] = &[
    "!", ".", ":", "alias", "bg", "break", "case", "cd", "command", "continue", "eval", "exec",
    "exit", "export", "fc", "fg", "for", "getopts", "hash", "if", "jobs", "read", "readonly",
    "return", "set", "shift", "times", "trap", "type", "ulimit", "umask", "unalias", "unset",
    "until", "wait", "while", "{", "}",
];

/// Whether a line means something else to `sh` than its words, split at white space, mean to `exec`.
#[must_use]
pub fn shell_needed(text: &str) -> bool {
    let Some(first) = text.split_whitespace().next() else {
        return false;
    };
    text.contains(META) || first.contains('=') || SHELL_WORDS.contains(&first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_commands_need_no_shell() {
        for text in [
            "true",
            "iperf3 --client 10.0.0.2 --json -P 4",
            "fio --rw=randread",
            "date +%s",
            "awk {print}",
            "",
        ] {
            assert!(!shell_needed(text), "{text}");
        }
    }

    #[test]
    fn redirections_variables_builtins_and_assignments_need_a_shell() {
        for text in [
            "a | b",
            "a > f",
            "echo $HOME",
            "exit 3",
            "cd /tmp",
            "A=1 env",
            "a\nb",
            "ls *.c",
            "echo 'x'",
            "! true",
        ] {
            assert!(shell_needed(text), "{text}");
        }
    }
}
