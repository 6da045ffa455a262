//! Programs that a compiler made: what changed in the source changed in the code, and nothing else.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use backsight_machine_code::{
    CodeDifference, CodeError, CodeImage, FunctionChange, code_difference,
};
use std::{fs, path::Path, process::Command};

/// A program whose `step` calls functions, uses data, strings, another library and a table.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
static int numbers[100], others[50];
static const char *names[] = {"one", "two", "three", "four"};
FIRST
__attribute__((noinline)) int square(int x) { return x * x + numbers[x & 7]; }
__attribute__((noinline)) int cube(int x) { return x * x * x + others[x & 3]; }
__attribute__((noinline)) int step(int x) {
    static int count;
    count += CONSTANT;
    for (int i = 0; i < x; i++) {
        numbers[i % 100] = CALLED(i) + atoi(names[i & 3]);
        switch (x) {
        case 0: puts("zero"); break;
        case 1: SAYS("first"); break;
        case 2: puts("second"); break;
        case 3: others[3] = count; break;
        case 4: others[4] += 2; break;
        case 5: printf("%d\n", count); break;
        }
    }
    return numbers[3] + count;
}
int main(int count, char **words) { (void)words; return step(count) + cube(count) + square(count); }
"#;

/// What is set in the program.
#[derive(Clone, Copy)]
struct Source {
    first: &'static str,
    constant: &'static str,
    called: &'static str,
    says: &'static str,
}

const BASE: Source = Source {
    first: "",
    constant: "1",
    called: "square",
    says: "puts",
};

/// A function that moves all that follow.
const MORE: &str = "__attribute__((noinline, used)) int more(int x) { static int seen[33]; for (int i = 0; i < 33; i++) seen[i] += x / (i + 1); puts(\"more\"); return seen[x % 33]; }";

fn compile(folder: &Path, source: Source, options: &[&str]) -> Vec<u8> {
    let text = PROGRAM
        .replace("FIRST", source.first)
        .replace("CONSTANT", source.constant)
        .replace("CALLED", source.called)
        .replace("SAYS", source.says);
    let (file, program) = (folder.join("x.c"), folder.join("x"));
    fs::write(&file, text).unwrap();
    let compiled = Command::new("cc")
        .args(["-O2", "-o"])
        .args([&program, &file])
        .args(options)
        .status();
    assert!(compiled.unwrap().success());
    fs::read(program).unwrap()
}

fn difference(base: Source, new: Source, options: &[&str]) -> CodeDifference {
    let folder = tempfile::tempdir().unwrap();
    let [base, new] = [base, new].map(|source| compile(folder.path(), source, options));
    let read = |bytes: &Vec<u8>| CodeImage::read(bytes.as_slice()).unwrap();
    code_difference(&read(&base), &read(&new))
}

fn named(difference: &CodeDifference) -> Vec<(&str, &str)> {
    let functions = difference.functions.iter();
    functions
        .map(|it| (it.name.as_str(), it.change.as_str()))
        .collect()
}

/// Programs for any place in memory and for one.
const KINDS: [&[&str]; 4] = [
    &["-fPIE", "-pie"],
    &["-fno-pie", "-no-pie"],
    &["-fPIE", "-pie", "-fno-plt"],
    &["-fno-pie", "-no-pie", "-static"],
];

#[test]
fn what_only_moved_is_not_changed() {
    for options in KINDS {
        assert_eq!(named(&difference(BASE, BASE, options)), [], "{options:?}");
        let new = Source {
            first: MORE,
            ..BASE
        };
        let moved = difference(BASE, new, options);
        assert_eq!(named(&moved), [("more", "added")], "{options:?}");
        assert!(moved.text_sizes[1] > moved.text_sizes[0], "{moved:?}");
        let gone = difference(new, BASE, options);
        assert_eq!(named(&gone), [("more", "removed")], "{options:?}");
    }
}

#[test]
fn what_changed_is_named_also_where_other_code_moved() {
    for options in KINDS {
        for new in [
            Source {
                constant: "2",
                ..BASE
            },
            Source {
                called: "cube",
                ..BASE
            },
            Source {
                says: "perror",
                ..BASE
            },
        ] {
            let found = difference(BASE, new, options);
            let functions = named(&found);
            let is_of_libc =
                |name: &str| !["step", "square", "cube", "main", "more"].contains(&name);
            let ours: Vec<_> = functions
                .iter()
                .filter(|(name, _)| !is_of_libc(name))
                .collect();
            assert_eq!(ours, [&("step", "changed")], "{options:?}: {functions:?}");
            let new = Source { first: MORE, ..new };
            let found = difference(BASE, new, options);
            let functions = named(&found);
            let ours: Vec<_> = functions
                .iter()
                .filter(|(name, _)| !is_of_libc(name))
                .collect();
            assert_eq!(
                ours,
                [&("step", "changed"), &("more", "added")],
                "{options:?}: {functions:?}"
            );
        }
    }
}

#[test]
fn sizes_of_both_sides_are_told() {
    let longer = "__attribute__((noinline, used)) int more(int x) { return x; }";
    let (base, new) = (
        Source {
            first: longer,
            ..BASE
        },
        Source {
            first: MORE,
            ..BASE
        },
    );
    let found = difference(base, new, &[]);
    let [more] = &found.functions[..] else {
        panic!("{found:?}");
    };
    assert!(
        matches!(more.change, FunctionChange::Changed { base, new } if base < new),
        "{more:?}"
    );
}

#[test]
fn stripped_programs_and_other_files_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let stripped = compile(folder.path(), BASE, &["-s"]);
    let image = CodeImage::read(stripped.as_slice()).unwrap();
    assert!(image.is_stripped());
    let whole = compile(folder.path(), BASE, &[]);
    let whole = CodeImage::read(whole.as_slice()).unwrap();
    let found = code_difference(&whole, &image);
    assert_eq!(found.is_stripped, [false, true]);
    assert_eq!(found.functions, []);
    assert_eq!(found.text_sizes[0], found.text_sizes[1]);
    let object = compile(folder.path(), BASE, &["-c"]);
    assert_eq!(
        CodeImage::read(object.as_slice()).unwrap_err(),
        CodeError::NoProgram
    );
    for broken in [&b""[..], b"#!/bin/sh\n", &stripped[..400]] {
        assert!(CodeImage::read(broken).is_err());
    }
}
