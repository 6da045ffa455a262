//! Makes `src/table/generated.rs` anew out of the kernel's own metadata: the numbers from headers (`__NR_openat`), the
//! arguments' names and types from the sources (`SYSCALL_DEFINE4(openat, int, dfd, …)`) and, for calls that are newer than
//! the sources at hand, from the running kernel's BTF (`__do_sys_openat`).
//!
//!     cargo run -p backsight-tracer --example table -- SOURCES X86_64 I386 AARCH64 > src/table/generated.rs
//!
//! SOURCES is a tree of the kernel; the others are files that define `__NR_` numbers, in C or in Rust (those of the crate
//! `linux-raw-sys` are as new as the kernel's). Calls of which nothing is found keep six nameless arguments.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::Path;

/// Calls that are newer than some sources and that compilers inline, so that BTF doesn't have them: as the kernel's own
/// `include/linux/syscalls.h` declares them.
const NEWER: &str = "
SYSCALL_DEFINE4(cachestat, unsigned int, fd, struct cachestat_range __user *, cstat_range, struct cachestat __user *, cstat, unsigned int, flags)
SYSCALL_DEFINE4(fchmodat2, int, dfd, const char __user *, filename, umode_t, mode, unsigned int, flags)
SYSCALL_DEFINE3(map_shadow_stack, unsigned long, addr, unsigned long, size, unsigned int, flags)
SYSCALL_DEFINE4(futex_wake, void __user *, uaddr, unsigned long, mask, int, nr, unsigned int, flags)
SYSCALL_DEFINE6(futex_wait, void __user *, uaddr, unsigned long, val, unsigned long, mask, unsigned int, flags, struct __kernel_timespec __user *, timeout, clockid_t, clockid)
SYSCALL_DEFINE4(futex_requeue, struct futex_waitv __user *, waiters, unsigned int, flags, int, nr_wake, int, nr_requeue)
SYSCALL_DEFINE4(lsm_get_self_attr, unsigned int, attr, struct lsm_ctx __user *, ctx, u32 __user *, size, u32, flags)
SYSCALL_DEFINE4(lsm_set_self_attr, unsigned int, attr, struct lsm_ctx __user *, ctx, u32, size, u32, flags)
SYSCALL_DEFINE3(lsm_list_modules, u64 __user *, ids, u32 __user *, size, u32, flags)
SYSCALL_DEFINE3(mseal, unsigned long, start, size_t, len, unsigned long, flags)
SYSCALL_DEFINE6(setxattrat, int, dfd, const char __user *, pathname, unsigned int, at_flags, const char __user *, name, const struct xattr_args __user *, uargs, size_t, usize)
SYSCALL_DEFINE6(getxattrat, int, dfd, const char __user *, pathname, unsigned int, at_flags, const char __user *, name, struct xattr_args __user *, uargs, size_t, usize)
SYSCALL_DEFINE5(listxattrat, int, dfd, const char __user *, pathname, unsigned int, at_flags, char __user *, list, size_t, size)
SYSCALL_DEFINE4(removexattrat, int, dfd, const char __user *, pathname, unsigned int, at_flags, const char __user *, name)
SYSCALL_DEFINE3(lookup_dcookie, u64, cookie64, char __user *, buf, size_t, len)
";

type Parameters = Vec<(String, String)>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [sources, x86_64, i386, aarch64] = given.as_slice() else {
        return Err("usage: table SOURCES X86_64 I386 AARCH64".into());
    };
    let sources = Path::new(sources);
    let mut prototypes = HashMap::new();
    for room in [
        "kernel",
        "fs",
        "mm",
        "ipc",
        "net",
        "io_uring",
        "security",
        "block",
        "drivers/char",
        "arch/x86",
        "arch/arm64",
    ] {
        collect(&sources.join(room), &mut prototypes)?;
    }
    definitions(NEWER, &mut prototypes);
    newer(&mut prototypes);
    let entries64 = entry_points(&sources.join("arch/x86/entry/syscalls/syscall_64.tbl"))?;
    let entries32 = entry_points(&sources.join("arch/x86/entry/syscalls/syscall_32.tbl"))?;
    let mut rows = BTreeMap::new();
    let mut tables = String::new();
    for (title, file, entries) in [
        ("X86_64", x86_64, &entries64),
        ("I386", i386, &entries32),
        ("AARCH64", aarch64, &entries64),
    ] {
        let mut numbered = BTreeMap::new();
        for (name, number) in numbers(&std::fs::read_to_string(file)?) {
            let mut parameters = parameters_of(&name, entries, &prototypes);
            // The sources define `clone` once for each order of its arguments; this machine's is the other one.
            if title == "X86_64"
                && name == "clone"
                && parameters
                    .get(3)
                    .is_some_and(|(name, _)| name.starts_with("tls"))
            {
                parameters.swap(3, 4);
            }
            let index = rows.len();
            numbered.insert(number, *rows.entry((name, parameters)).or_insert(index));
        }
        write_numbers(&mut tables, title, &numbered)?;
    }
    let mut by_index: Vec<_> = rows.into_iter().collect();
    by_index.sort_by_key(|(_, index)| *index);
    println!(
        "//! Every call's name, number and arguments, as the kernel has them; made by `examples/table.rs`.\n"
    );
    println!("use super::Argument;\n");
    println!(
        "const fn a(name: &'static str, c_type: &'static str) -> Argument {{\n    Argument {{ name, c_type }}\n}}\n"
    );
    println!("/// Names and arguments; the tables below say by number which.");
    println!("pub static CALLS: &[(&str, &[Argument])] = &[");
    for ((name, parameters), _) in by_index {
        let written: Vec<_> = parameters
            .iter()
            .map(|(name, kind)| format!("a({name:?}, {kind:?})"))
            .collect();
        println!("    ({name:?}, &[{}]),", written.join(", "));
    }
    println!("];\n\n/// A number that no call has.\npub const NONE: u16 = u16::MAX;\n{tables}");
    Ok(())
}

/// Every prototype that is defined in the C files below a folder, by the entry's name: `sys_openat`, `compat_sys_ioctl`.
fn collect(folder: &Path, found: &mut HashMap<String, Parameters>) -> std::io::Result<()> {
    let Ok(listing) = std::fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in listing {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|end| end == "c")
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            definitions(&text, found);
        }
    }
    Ok(())
}

fn definitions(text: &str, found: &mut HashMap<String, Parameters>) {
    for (at, _) in text.match_indices("SYSCALL_DEFINE") {
        let compat = text[..at].ends_with("COMPAT_");
        let rest = &text[at + "SYSCALL_DEFINE".len()..];
        let Some((inside, _)) = rest
            .get(1..)
            .and_then(|rest| rest.strip_prefix('('))
            .and_then(|rest| rest.split_once(')'))
        else {
            continue;
        };
        let mut parts = inside
            .split(',')
            .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
        let Some(name) = parts.next() else { continue };
        let parts: Vec<_> = parts.collect();
        let parameters = parts
            .chunks_exact(2)
            .map(|pair| (pair[1].clone(), pair[0].replace(" __user", "")))
            .collect();
        let prefix = if compat { "compat_sys_" } else { "sys_" };
        found.entry(format!("{prefix}{name}")).or_insert(parameters);
    }
}

/// What the running kernel's BTF says of calls that the sources don't have.
fn newer(found: &mut HashMap<String, Parameters>) {
    let Ok(bytes) = std::fs::read("/sys/kernel/btf/vmlinux") else {
        return;
    };
    if let Some(functions) = btf(&bytes) {
        for (name, parameters) in functions {
            found.entry(name).or_insert(parameters);
        }
    }
}

/// The functions `__do_sys_*` of a BTF file, and what their parameters are.
fn btf(bytes: &[u8]) -> Option<Vec<(String, Parameters)>> {
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let header = word(4)? as usize;
    let types = header + word(8)? as usize;
    let end = types + word(12)? as usize;
    let strings = header + word(16)? as usize;
    let text = |offset: u32| -> Option<String> {
        let from = bytes.get(strings + offset as usize..)?;
        let length = from.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&from[..length]).into_owned())
    };
    let mut places = vec![0];
    let mut at = types;
    while at < end {
        places.push(at);
        let bits = word(at + 4)?;
        let (kind, count) = ((bits >> 24) & 31, (bits & 0xffff) as usize);
        at += 12
            + match kind {
                1 | 14 | 17 => 4,
                3 => 12,
                4 | 5 | 15 | 19 => 12 * count,
                6 | 13 => 8 * count,
                _ => 0,
            };
    }
    let describe = |id: u32| c_type(id, &places, &word, &text, 8);
    let mut functions = Vec::new();
    for place in &places[1..] {
        if (word(place + 4)? >> 24) & 31 != 12 {
            continue;
        }
        let name = text(word(*place)?)?;
        let Some(call) = name.strip_prefix("__do_sys_") else {
            continue;
        };
        let prototype = *places.get(word(place + 8)? as usize)?;
        let count = (word(prototype + 4)? & 0xffff) as usize;
        let mut parameters = Parameters::new();
        for number in 0..count {
            let parameter = prototype + 12 + 8 * number;
            parameters.push((text(word(parameter)?)?, describe(word(parameter + 4)?)?));
        }
        functions.push((format!("sys_{call}"), parameters));
    }
    Some(functions)
}

/// A type in C's words.
fn c_type(
    id: u32,
    places: &[usize],
    word: &dyn Fn(usize) -> Option<u32>,
    text: &dyn Fn(u32) -> Option<String>,
    deepest: u8,
) -> Option<String> {
    if id == 0 || deepest == 0 {
        return Some("void".into());
    }
    let place = *places.get(id as usize)?;
    let kind = (word(place + 4)? >> 24) & 31;
    let inner = |prefix: &str, suffix: &str| -> Option<String> {
        Some(format!(
            "{prefix}{}{suffix}",
            c_type(word(place + 8)?, places, word, text, deepest - 1)?
        ))
    };
    match kind {
        2 => inner("", " *").map(|text| text.replace("* *", "**")),
        4 => Some(format!("struct {}", text(word(place)?)?)),
        5 => Some(format!("union {}", text(word(place)?)?)),
        6 => Some(format!("enum {}", text(word(place)?)?)),
        10 => inner("const ", ""),
        9 | 11 | 18 => inner("", ""),
        _ => text(word(place)?),
    }
}

/// By the call's name, the entry points of a table of the kernel's: the compat one where there is one.
fn entry_points(file: &Path) -> std::io::Result<HashMap<String, String>> {
    let text = std::fs::read_to_string(file)?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let fields = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    Ok(fields
        .filter(|fields| fields.len() >= 4 && fields[1] != "x32")
        .map(|fields| {
            (
                fields[2].to_owned(),
                (*fields.get(4).unwrap_or(&fields[3])).to_owned(),
            )
        })
        .collect())
}

/// `__NR_openat` and what stands behind it, in C or in Rust.
fn numbers(text: &str) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    for line in text.lines() {
        let Some((_, rest)) = line.split_once("__NR_") else {
            continue;
        };
        let name: String = rest
            .chars()
            .take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '_')
            .collect();
        let number = rest[name.len()..]
            .trim_start_matches(": u32 =")
            .trim()
            .trim_end_matches(';');
        if let Ok(number) = number.parse()
            && !["syscalls", "arch_specific_syscall"].contains(&name.as_str())
        {
            found.push((name, number));
        }
    }
    found
}

fn parameters_of(
    name: &str,
    entries: &HashMap<String, String>,
    prototypes: &HashMap<String, Parameters>,
) -> Parameters {
    let plain = format!("sys_{name}");
    let entry = entries.get(name).unwrap_or(&plain);
    // Entry points that only put together what registers tear apart keep the arguments of the call they wrap.
    let candidates = [
        entry.clone(),
        entry.replace("compat_", ""),
        format!("compat_{entry}"),
        plain.clone(),
        format!("sys_new{name}"),
    ];
    for candidate in candidates {
        if let Some(parameters) = prototypes.get(&candidate) {
            return parameters.clone();
        }
    }
    let none = [
        "rt_sigreturn",
        "sigreturn",
        "vm86old",
        "idle",
        "break",
        "stty",
        "gtty",
        "ftime",
        "prof",
        "lock",
        "mpx",
        "ulimit",
        "profil",
    ];
    if none.contains(&name) {
        return Parameters::new();
    }
    (0..6)
        .map(|number| (format!("arg{number}"), "unsigned long".to_owned()))
        .collect()
}

fn write_numbers(
    text: &mut String,
    title: &str,
    numbered: &BTreeMap<u32, usize>,
) -> std::fmt::Result {
    let most = numbered.keys().next_back().map_or(0, |last| last + 1);
    writeln!(text, "\n/// By number on {}.", title.to_lowercase())?;
    writeln!(text, "pub static {title}: &[u16] = &[")?;
    for number in 0..most {
        match numbered.get(&number) {
            Some(index) => write!(text, "{index}, ")?,
            None => write!(text, "NONE, ")?,
        }
    }
    writeln!(text, "\n];")
}
