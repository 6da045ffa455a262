//! What is left of builds: programs and libraries of a build that the cache still has.

use object::elf;
use std::path::{Path, PathBuf};

use crate::{cache::files_of_build, compilers::elf_files};

/// Most programs of a build that are named.
const MOST_PROGRAMS: usize = 64;

/// The programs and libraries of a build as paths below its folder, which comes first, in the order of their names. `work` is the
/// folder of the target's own, `key` the build's. None if the build isn't kept any more.
pub fn kept_programs(work: &Path, key: &str) -> Option<(PathBuf, Vec<PathBuf>)> {
    let is_key = key.bytes().all(|byte| byte.is_ascii_hexdigit());
    let folder = files_of_build(work, key);
    if key.is_empty() || !is_key || !folder.is_dir() {
        return None;
    }
    let programs = elf_files(&folder)
        .into_iter()
        .filter(|(_, kind)| [elf::ET_EXEC, elf::ET_DYN].contains(kind))
        .filter_map(|(path, _)| Some(path.strip_prefix(&folder).ok()?.to_owned()))
        .take(MOST_PROGRAMS)
        .collect();
    Some((folder, programs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn programs_of_a_kept_build_are_named_and_none_of_another() {
        let work = tempfile::tempdir().unwrap();
        let files = work.path().join("builds/ab12/files");
        fs::create_dir_all(files.join("bin")).unwrap();
        fs::write(files.join("script"), "#!/bin/sh\n").unwrap();
        fs::copy(std::env::current_exe().unwrap(), files.join("bin/test")).unwrap();
        let found = kept_programs(work.path(), "ab12");
        assert_eq!(found, Some((files, vec![PathBuf::from("bin/test")])));
        for missing in ["cd34", "", "..", "../builds/ab12"] {
            assert_eq!(kept_programs(work.path(), missing), None, "{missing}");
        }
    }
}
