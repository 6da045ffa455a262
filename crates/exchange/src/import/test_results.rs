//! Results of tests out of files of test programs: one run of a suite.
//!
//! A file is read as it comes (a packed one as a whole), and meanwhile copied behind those before it into one without a name, which is what is kept of it: what
//! is read may be a pipe, or be written anew, and no more of it than a part is in memory.

use backsight_catalog::{LONGEST_OUTPUT, SuiteRunReader};
use backsight_model::SuiteRun;
use backsight_test_results::{FORMATS, Format, FormatDescription, ReadOptions, unread_xml};
use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufRead, BufReader, Read, Write as _},
    path::{Component, Path, PathBuf},
};

use super::{ImportError, packed, printable_path, source};

/// Bytes that are read at a time.
const PART: usize = 64 * 1024;
/// As much of a file as its format is guessed by, in bytes.
const START: usize = 8 * 1024;

/// Results of tests that files have.
#[derive(Debug)]
pub struct ImportedTests {
    /// The contents of all files, one behind the other: a file without a name.
    pub copy: File,
    /// The files.
    pub files: Vec<CopiedFile>,
    /// What is in them. There is at least one result in each.
    pub run: SuiteRun,
}

/// A file that was read.
#[derive(Debug)]
pub struct CopiedFile {
    /// Where it was.
    pub path: PathBuf,
    /// How many bytes of the copy are its own.
    pub length: u64,
}

/// The formats of test results that files can be imported in: all that need nothing but the file.
pub fn test_formats() -> impl Iterator<Item = &'static FormatDescription> {
    FORMATS
        .iter()
        .filter(|row| !matches!(row.format, Format::Lines | Format::ExitStatus))
}

/// The results of tests in these files. Of several results of one test the worst counts; that there are several is a problem of
/// the run, as is everything that is wrong in a file that has results.
///
/// # Errors
/// A file can't be read or has no result.
pub fn import_tests(format: Format, paths: &[PathBuf]) -> Result<ImportedTests, ImportError> {
    let mut reader = SuiteRunReader::default();
    let mut files = Vec::with_capacity(paths.len());
    let mut copy = tempfile::tempfile().map_err(|why| uncopied(why, Path::new("")))?;
    for (path, stem) in paths.iter().zip(stems(paths)) {
        // TAP names no suite: the points of two files may be called the same.
        let prefix = match format == Format::Tap && paths.len() > 1 {
            true => format!("{stem}/"),
            false => String::new(),
        };
        let length = read_file(format, path, (&stem, &prefix), &mut reader, &mut copy)?;
        files.push(CopiedFile {
            path: path.clone(),
            length,
        });
    }
    let run = reader.finish();
    Ok(ImportedTests { copy, files, run })
}

/// What files are called without their extensions. Names of files that are called alike begin with as many of the folders above them
/// as tell them apart.
fn stems(paths: &[PathBuf]) -> Vec<String> {
    let parts: Vec<Vec<String>> = paths
        .iter()
        .map(|path| {
            let named = packed::unpacked_path(path);
            let folders = named.parent().into_iter().flat_map(Path::components);
            let folders = folders.filter(|part| matches!(part, Component::Normal(_)));
            let folders = folders.map(|part| part.as_os_str().to_string_lossy().into_owned());
            let stem = named.file_stem().unwrap_or_default();
            folders
                .chain([stem.to_string_lossy().into_owned()])
                .collect()
        })
        .collect();
    let end = |parts: &[String], count: usize| parts[parts.len().saturating_sub(count)..].join("/");
    let mut counts = vec![1; parts.len()];
    loop {
        let mut of_name = HashMap::<String, Vec<usize>>::new();
        for (at, parts) in parts.iter().enumerate() {
            of_name.entry(end(parts, counts[at])).or_default().push(at);
        }
        // No folder tells apart what differs in its extension only, or is given twice.
        let differ = |files: &[usize]| files.iter().any(|at| parts[*at] != parts[files[0]]);
        let alike = of_name
            .into_values()
            .filter(|files| differ(files))
            .flatten();
        let longer: Vec<usize> = alike.filter(|at| counts[*at] < parts[*at].len()).collect();
        if longer.is_empty() {
            let names = parts.iter().zip(&counts);
            return names.map(|(parts, count)| end(parts, *count)).collect();
        }
        longer.into_iter().for_each(|at| counts[at] += 1);
    }
}

fn uncopied(why: io::Error, path: &Path) -> ImportError {
    ImportError::new(path, format!("it can't be copied: {why}"))
        .help("make room in the folder for temporary files, or name another: TMPDIR")
}

/// Reads a file into a run and copies it; how long it is.
fn read_file(
    format: Format,
    path: &Path,
    (stem, prefix): (&str, &str),
    to: &mut SuiteRunReader,
    copy: &mut File,
) -> Result<u64, ImportError> {
    if path.is_dir() {
        let message = format!("this is a folder; `{format}` reads files");
        let help = format!("name the files in it: {}/*", path.display());
        return Err(ImportError::new(path, message).help(help));
    }
    let unreadable = |cause: io::Error| {
        ImportError::new(path, format!("it can't be read: {cause}"))
            .help("name a file that you may read")
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let mut start = Vec::new();
    let mut begun = Read::by_ref(&mut file).take(START as u64);
    begun.read_to_end(&mut start).map_err(unreadable)?;
    source::refuse_wide(path, &start)?;
    let options = ReadOptions {
        name: stem.to_owned(),
        pattern: None,
    };
    let place = printable_path(path);
    let mut document = to.document(format, options, &place, prefix);
    let mut rest = start.as_slice().chain(file);
    let length = if packed::is_packed(&start) {
        let mut content = Vec::new();
        let mut rest = rest.take(LONGEST_OUTPUT as u64 + 1);
        rest.read_to_end(&mut content).map_err(unreadable)?;
        if content.len() > LONGEST_OUTPUT {
            return Err(source::too_long(path));
        }
        copy.write_all(&content)
            .map_err(|why| uncopied(why, path))?;
        let text = packed::unpacked(path, &content)?.unwrap_or_default();
        if text.iter().all(u8::is_ascii_whitespace) {
            return Err(source::empty(path));
        }
        source::refuse_wide(path, &text)?;
        document.feed(&text);
        start = text;
        start.truncate(START);
        content.len()
    } else {
        let (mut length, mut is_blank) = (0, true);
        let mut part = vec![0; PART];
        loop {
            let bytes = match rest.read(&mut part) {
                Ok(0) => break,
                Ok(count) => &part[..count],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(unreadable(error)),
            };
            length += bytes.len();
            if length > LONGEST_OUTPUT {
                return Err(source::too_long(path));
            }
            is_blank = is_blank && bytes.iter().all(u8::is_ascii_whitespace);
            copy.write_all(bytes).map_err(|why| uncopied(why, path))?;
            document.feed(bytes);
        }
        if is_blank {
            return Err(source::empty(path));
        }
        length
    };
    let end = document.finish(None);
    if end.results > 0 {
        return Ok(length as u64);
    }
    if let Some(called) = unread_xml(&start) {
        let message = format!("it is {called}, which isn't read");
        let help = "write JUnit's XML (of .NET: `dotnet test --logger junit`, of Robot Framework: `robot --xunit FILE`)";
        return Err(ImportError::new(path, message).help(help));
    }
    let why = end.problem.map(|problem| problem.to_string());
    let about = format.description().about;
    let message = format!("it has no result of a test: expected {about}");
    let error = ImportError::new(path, message).at(why.unwrap_or_default());
    let named = packed::unpacked_path(path);
    let guessed = Format::guess(&named.to_string_lossy(), &start);
    Err(match guessed.filter(|guessed| *guessed != format) {
        Some(guessed) => error.help(format!("it looks like `{guessed}`")),
        None => error.help("`backsight list importers` shows the formats"),
    })
}

/// The format of test results that a file seems to be in.
pub fn guess_test_format(path: &Path) -> Option<Format> {
    let mut start = Vec::new();
    let file = File::open(path).ok().filter(|_| path.is_file())?;
    file.take(START as u64).read_to_end(&mut start).ok()?;
    let start = packed::beginning(&start, START).unwrap_or(start);
    Format::guess(&packed::unpacked_path(path).to_string_lossy(), &start)
}

/// Whether a file has what `go test -bench` measured: files of `go test -json` have it, or results of tests, or both. A packed file is
/// looked into, a pipe isn't.
pub fn has_go_benchmarks(path: &Path) -> bool {
    let has_one = || -> io::Result<bool> {
        let mut content = BufReader::new(File::open(path)?.take(LONGEST_OUTPUT as u64));
        if !packed::is_packed(content.fill_buf()?) {
            return has_go_benchmark(content);
        }
        let mut whole = Vec::new();
        content.read_to_end(&mut whole)?;
        let text = packed::unpacked(path, &whole).ok().flatten();
        has_go_benchmark(text.unwrap_or_default().as_slice())
    };
    path.is_file() && has_one().unwrap_or(false)
}

fn has_go_benchmark(mut lines: impl BufRead) -> io::Result<bool> {
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        if line.windows(6).any(|bytes| bytes == b" ns/op") {
            return Ok(true);
        }
        line.clear();
    }
    Ok(false)
}
