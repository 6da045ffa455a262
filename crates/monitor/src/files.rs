//! Files that are read anew for every sample, and samplers that are such files.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use crate::{
    sampler::{Sampler, SamplerError, Scratch},
    series::Series,
};

/// A file of the kernel's that stays open: it says something new each time it is read from its beginning.
#[derive(Debug)]
pub(crate) struct KernelFile {
    path: PathBuf,
    file: File,
}

impl KernelFile {
    pub(crate) fn open(path: impl Into<PathBuf>) -> Result<Self, SamplerError> {
        let path = path.into();
        match File::open(&path) {
            Ok(file) => Ok(Self { path, file }),
            Err(cause) => Err(SamplerError::Unreadable { path, cause }),
        }
    }

    /// What it says now, in a buffer that grows as far as it must and is used again.
    pub(crate) fn read<'a>(&self, buffer: &'a mut Vec<u8>) -> Result<&'a [u8], SamplerError> {
        match read_whole(&self.file, buffer) {
            Ok(length) => Ok(&buffer[..length]),
            Err(cause) => Err(SamplerError::Unreadable {
                path: self.path.clone(),
                cause,
            }),
        }
    }
}

fn read_whole(file: &File, buffer: &mut Vec<u8>) -> io::Result<usize> {
    const LEAST: usize = 16 << 10;
    let mut length = 0;
    loop {
        if buffer.len() < length + LEAST {
            buffer.resize((2 * buffer.len()).max(4 * LEAST), 0);
        }
        match rustix::io::pread(file, &mut buffer[length..], length as u64) {
            Ok(0) => return Ok(length),
            Ok(read) => length += read,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// How a file's text becomes series.
pub(crate) type ReadShape = fn(&[u8], &mut Series);

/// A sampler that reads files, each with its shape.
pub(crate) struct Files {
    files: Vec<(KernelFile, ReadShape)>,
}

impl Files {
    /// Opens those that there are; the others are noted.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn open(
        root: &Path,
        wanted: &[(impl AsRef<Path>, ReadShape)],
        scratch: &mut Scratch,
    ) -> Result<Self, SamplerError> {
        let mut files = Vec::new();
        let mut errors = Vec::new();
        for (path, shape) in wanted {
            // A file that can be opened but not read isn't there either: pressure that is switched off.
            let opened = KernelFile::open(root.join(path))
                .and_then(|file| file.read(&mut scratch.bytes).map(drop).map(|()| file));
            match opened {
                Ok(file) => files.push((file, *shape)),
                Err(error) => errors.push(error),
            }
        }
        if files.is_empty() {
            return Err(SamplerError::all(errors));
        }
        if !errors.is_empty() {
            let note = format!("without files: {}", SamplerError::all(errors));
            scratch.notes.push(note);
        }
        Ok(Self { files })
    }
}

impl Sampler for Files {
    fn sample(&mut self, scratch: &mut Scratch, series: &mut Series) -> Result<(), SamplerError> {
        let mut at = 0;
        while let Some((file, shape)) = self.files.get(at) {
            match file.read(&mut scratch.bytes) {
                Ok(text) => {
                    shape(text, series);
                    at += 1;
                }
                Err(error) if self.files.len() == 1 => return Err(error),
                Err(error) => {
                    scratch
                        .notes
                        .push(format!("without a file from now on: {error}"));
                    self.files.remove(at);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape;

    const FILES: &[(&str, ReadShape)] = &[
        ("proc/meminfo", shape::pairs),
        ("proc/no-such-file", shape::pairs),
    ];

    #[test]
    fn a_file_that_this_kernel_lacks_is_noted_and_the_others_are_read() {
        let mut scratch = Scratch::default();
        let mut files = Files::open(Path::new("/"), FILES, &mut scratch).unwrap();
        assert!(
            scratch.notes[0].contains("/proc/no-such-file"),
            "{:?}",
            scratch.notes
        );
        let mut series = Series::default();
        series.begin();
        files.sample(&mut scratch, &mut series).unwrap();
        assert!(series.names().any(|name| name == b"MemTotal"));
    }

    #[test]
    fn a_sampler_without_any_file_names_them() {
        let mut scratch = Scratch::default();
        let fault = Files::open(Path::new("/"), &FILES[1..], &mut scratch)
            .err()
            .unwrap();
        assert!(fault.to_string().contains("/proc/no-such-file"), "{fault}");
    }
}
