//! Results of other tools as trials of ours.
//!
//! An importer is a data file ([`Importer`]): how a tool's files are recognised, where in them the items are, and a jq
//! program that makes records of an item. [`import`] reads files with it and puts the records together: cells, metrics,
//! trials, with the files that each came from.
//!
//! Directions and units are never guessed. An error anywhere is an error of the whole: no part is imported. Only in the folder of a
//! whole lab, where others write too, is a file that can't be read left alone, and named.
//!
//! Results of tests ([`import_tests`]) are read by `backsight-test-results` and need no importer. There, what is wrong in a file
//! that has results is a problem of the run.

mod assembly;
mod by_benchmark;
mod choices;
pub(crate) mod columns;
mod definition;
mod folder;
mod machine_series;
mod packed;
mod reading;
mod record;
mod sides;
mod source;
mod test_results;

pub use assembly::{ImportedMetric, ImportedStudy, ImportedTrial};
pub use choices::{ImportChoice, ImportChoices};
pub use definition::{ImportFormat, Importer, MeasuredLevel};
pub use source::SourceFile;
pub use test_results::{
    CopiedFile, ImportedTests, guess_test_format, has_go_benchmarks, import_tests, test_formats,
};

use std::{
    fmt,
    path::{Path, PathBuf},
};

use assembly::Assembly;
use definition::searching;
use folder::{FileOrigin, FolderFiles};
use packed::archive_folder;
use reading::{FileRecords, ReadingContext};
use sides::{PathSide, Sides};

/// Most names that a note lists.
const MOST_NAMED: usize = 12;

/// Why a file wasn't imported: where, what, and the way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    /// The file, as it was named; empty where it is about all of them.
    pub file: String,
    /// Where in it: a line, a path in its JSON; empty where it is about the whole.
    pub place: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl ImportError {
    fn new(file: &Path, message: impl Into<String>) -> Self {
        Self {
            file: printable_path(file),
            place: String::new(),
            message: message.into(),
            help: None,
        }
    }

    fn of_all(message: impl Into<String>) -> Self {
        Self {
            file: String::new(),
            place: String::new(),
            message: message.into(),
            help: None,
        }
    }

    fn at(mut self, place: impl Into<String>) -> Self {
        self.place = place.into();
        self
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        match (self.file.as_str(), self.place.as_str()) {
            (_, "") => {}
            ("", place) => f.write_str(place)?,
            (_, place) => write!(f, ", {place}")?,
        }
        if !(self.file.is_empty() && self.place.is_empty()) {
            f.write_str(": ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ImportError {}

impl miette::Diagnostic for ImportError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }
}

fn printable_path(path: &Path) -> String {
    path.display()
        .to_string()
        .chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

/// What these files (and folders, where the format has folders) hold, read by this importer.
///
/// # Errors
/// A file can't be read or isn't what the importer reads; a number isn't one; a direction or a unit isn't known and
/// `choices` doesn't say it. In a folder that others write into too, a file that can't be read is left alone, and named in the notes.
pub fn import(
    importer: &Importer,
    paths: &[PathBuf],
    choices: &ImportChoices,
) -> Result<ImportedStudy, ImportError> {
    let read = || {
        let level = choices.level.unwrap_or(importer.format.level);
        let mut assembly = Assembly::new(choices, level);
        if let Some(format) = importer.table() {
            for path in paths {
                columns::add(format, path, choices, &mut assembly)?;
            }
        } else {
            let mut context = ReadingContext::default();
            let read = paths.iter();
            let read = read.map(|path| ReadPath::read(importer, path, &mut context));
            let read = read.collect::<Result<Vec<ReadPath>, ImportError>>()?;
            let sides = Sides::new(read.iter().flat_map(ReadPath::sides));
            for path in read {
                path.add(importer, &sides, &mut assembly)?;
            }
        }
        assembly.finish()
    };
    searching(read)
        .unwrap_or_else(|why| Err(ImportError::of_all(format!("the importer broke: {why}"))))
}

/// The files that a path names: itself, or those of the format in its folder or archive.
fn files_of(importer: &Importer, path: &Path) -> Result<FolderFiles, ImportError> {
    let has_folders = importer.shapes.iter().any(|shape| shape.path.is_some());
    let found = if path.is_dir() {
        if !has_folders {
            let message = format!("this is a folder; `{}` reads files", importer.format.name);
            return Err(ImportError::new(path, message).help(format!(
                "name the file that `{}` writes",
                importer.format.made_by
            )));
        }
        FolderFiles::of_folder(importer, path)?
    } else if let Some(folder) = archive_folder(path).filter(|_| has_folders) {
        FolderFiles::of_archive(importer, path, &folder)?
    } else {
        return Ok(FolderFiles::of_file(path));
    };
    if found.files.is_empty() {
        return Err(not_it(importer, path, "nothing in this folder"));
    }
    Ok(found)
}

fn not_it(importer: &Importer, path: &Path, what: &str) -> ImportError {
    let message = format!(
        "{what} is what `{}` reads: expected {}",
        importer.format.name,
        importer.expects()
    );
    ImportError::new(path, message).help(format!(
        "`{}` makes it; `backsight list importers` shows the other formats",
        importer.format.made_by
    ))
}

/// What a path names, read: a file, or the files of a folder or an archive.
struct ReadPath {
    found: FolderFiles,
    is_mixed: bool,
    /// Each file with its records and the side that its path names.
    read: Vec<(OpenedFile, FileRecords, Option<PathSide>)>,
    left_alone: Vec<ImportError>,
}

impl ReadPath {
    fn read(
        importer: &Importer,
        path: &Path,
        context: &mut ReadingContext,
    ) -> Result<Self, ImportError> {
        let mut found = files_of(importer, path)?;
        let is_mixed = importer.is_mixed() && !(found.files.len() == 1 && path.is_file());
        context.beside = std::mem::take(&mut found.beside);
        let mut left_alone = Vec::new();
        let mut all_read = Vec::new();
        for file in std::mem::take(&mut found.files) {
            let opened = OpenedFile::open(file.path, file.origin);
            let read = opened.and_then(|opened| {
                let records = context.read(importer, &opened.text)?;
                Ok((opened, records, file.side))
            });
            match read {
                Ok(read) => all_read.push(read),
                Err(refused) if is_mixed => left_alone.push(refused),
                Err(refused) => return Err(refused),
            }
        }
        if all_read.is_empty() && !left_alone.is_empty() {
            return Err(left_alone.swap_remove(0));
        }
        Ok(Self {
            found,
            is_mixed,
            read: all_read,
            left_alone,
        })
    }

    /// Of each record, the side that its path names and the one that its file says.
    fn sides(&self) -> impl Iterator<Item = (Option<&PathSide>, Option<&str>)> + Clone {
        self.read.iter().flat_map(|(_, records, path)| {
            let records = records.records.iter();
            records.map(|(record, _)| (path.as_ref(), record.side.as_deref()))
        })
    }

    fn add(
        mut self,
        importer: &Importer,
        sides: &Sides,
        assembly: &mut Assembly<'_>,
    ) -> Result<(), ImportError> {
        let archives = std::mem::take(&mut self.found.archives);
        let mut archives: Vec<ArchiveState> =
            archives.into_iter().map(ArchiveState::Unread).collect();
        for (opened, mut records, path) in self.read {
            for (record, _) in &mut records.records {
                let side = || sides.name(path.as_ref(), record.side.as_deref());
                record.variant = record.variant.take().or_else(side);
            }
            if let Some(part) = importer.part_of(&source::whole_path(&opened.text.path)) {
                self.found.parts.insert(part, true);
            }
            add_records(opened, records, &mut archives, assembly)?;
        }
        if self.is_mixed {
            name_left_alone(&self.found, &self.left_alone, assembly);
        }
        Ok(())
    }
}

/// A file to read, and what is kept of it.
struct OpenedFile {
    /// What it says, under the path that it'd have unpacked.
    text: SourceFile,
    /// The file as it is, if that is packed.
    packed: Option<SourceFile>,
    /// The number of the archive that it was in.
    archive: Option<usize>,
}

impl OpenedFile {
    fn open(path: PathBuf, origin: FileOrigin) -> Result<Self, ImportError> {
        let (kept, archive) = match origin {
            FileOrigin::Disk(place) => (SourceFile::open(&place)?, None),
            FileOrigin::Member(archive, content) => {
                if content.iter().all(u8::is_ascii_whitespace) {
                    return Err(source::empty(&path));
                }
                (SourceFile { path, content }, Some(archive))
            }
        };
        let Some(content) = packed::unpacked(&kept.path, &kept.content)? else {
            source::refuse_wide(&kept.path, &kept.content)?;
            return Ok(Self {
                text: kept,
                packed: None,
                archive,
            });
        };
        if content.iter().all(u8::is_ascii_whitespace) {
            return Err(source::empty(&kept.path));
        }
        source::refuse_wide(&kept.path, &content)?;
        let path = packed::unpacked_path(&kept.path);
        Ok(Self {
            text: SourceFile { path, content },
            packed: Some(kept),
            archive,
        })
    }
}

/// An archive, of which the study keeps one copy.
enum ArchiveState {
    /// None of its files has been added.
    Unread(SourceFile),
    /// It is the study's file of this number.
    Kept(usize),
}

fn add_records(
    opened: OpenedFile,
    records: FileRecords,
    archives: &mut [ArchiveState],
    assembly: &mut Assembly<'_>,
) -> Result<(), ImportError> {
    let path = opened.text.path.clone();
    let kept = match opened.archive {
        None => Some(opened.packed.unwrap_or(opened.text)),
        Some(number) => match &mut archives[number] {
            state @ ArchiveState::Unread(_) => {
                let next = ArchiveState::Kept(assembly.next_file());
                match std::mem::replace(state, next) {
                    ArchiveState::Unread(archive) => Some(archive),
                    ArchiveState::Kept(_) => None,
                }
            }
            ArchiveState::Kept(_) => None,
        },
    };
    let mut sources = assembly.begin_file(kept.into_iter().chain(records.others));
    if let Some(ArchiveState::Kept(file)) = opened.archive.map(|number| &archives[number])
        && !sources.contains(file)
    {
        sources.push(*file);
    }
    assembly
        .add_hosts(records.hosts)
        .map_err(|message| ImportError::new(&path, message))?;
    if let Some(when) = records.when {
        assembly.measured_at(when);
    }
    for (record, place) in records.records {
        let at = |message: String| ImportError::new(&path, message).at(place.clone());
        assembly.add(record, &sources).map_err(at)?;
    }
    Ok(())
}

/// Says what is in a folder and wasn't read.
fn name_left_alone(found: &FolderFiles, refused: &[ImportError], assembly: &mut Assembly<'_>) {
    let listed = |names: Vec<String>| {
        let more = names.len().saturating_sub(MOST_NAMED);
        let mut text = names[..names.len() - more].join(", ");
        if more > 0 {
            text.push_str(&format!(", and {more} more"));
        }
        text
    };
    let parts: Vec<String> = found
        .unread_parts()
        .map(|part| format!("`{part}`"))
        .collect();
    if !parts.is_empty() {
        assembly.note(format!(
            "left alone: {}: none of their files has results that are known here",
            listed(parts)
        ));
    }
    if !refused.is_empty() {
        let count = backsight_model::counted(refused.len(), "file");
        let each: Vec<String> = refused.iter().map(ToString::to_string).collect();
        let first = each.iter().take(3).cloned().collect::<Vec<_>>().join("; ");
        let rest = if each.len() > 3 { "; …" } else { "" };
        assembly.note(format!(
            "left alone: {count} that can't be read: {first}{rest}"
        ));
    }
}
