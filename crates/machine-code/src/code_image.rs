//! The functions of an ELF program or library, with digests of their code.

use object::{
    Architecture, Object as _, ObjectKind, ObjectSection as _, ObjectSymbol as _, ReadCache,
    ReadRef, SymbolKind,
};
use std::{
    fs::File,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::Path,
};

use crate::{
    aarch64,
    name_budget::{MOST_SYMBOLS, NameBudget},
    operand_targets::{CodeHasher, OperandTargets, stable_name},
    x86_64,
};

/// Bytes of all functions of a file together, as a multiple of the file's: functions may overlap.
const MOST_CODE: u64 = 4;

/// Why a file's code can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    /// It is no ELF file, or a damaged one.
    #[error("it can't be read: {0}")]
    Unreadable(String),
    /// An object file, a core dump.
    #[error("it is no program and no library")]
    NoProgram,
    /// Its names or its functions are larger than the file.
    #[error("its symbols overlap too much to be read")]
    TooLarge,
}

/// The code of a program or library.
#[derive(Debug, Clone)]
pub struct CodeImage {
    /// Bytes of its section `.text`.
    pub text_size: u64,
    /// The machine that it is for, if operands aren't known there: its code is compared byte by byte.
    pub compared_bytes_of: Option<String>,
    pub(crate) functions: Vec<FunctionCode>,
}

/// A function of a file.
#[derive(Debug, Clone)]
pub(crate) struct FunctionCode {
    /// Its name without numbers that compilers give.
    pub stable_name: Vec<u8>,
    /// Its symbol.
    pub symbol: Vec<u8>,
    /// Bytes of its code.
    pub size: u64,
    /// Digest of its bytes.
    pub bytes: u64,
    /// Digest of its bytes with operands replaced by what they point at.
    pub operands: u64,
}

impl CodeImage {
    /// Reads a file. Functions are what its symbols say; a stripped file has none.
    ///
    /// # Errors
    /// It is damaged, or no program and no library.
    pub fn read<'data, R: ReadRef<'data>>(data: R) -> Result<Self, CodeError> {
        let unreadable = |error: object::Error| CodeError::Unreadable(error.to_string());
        let file = object::File::parse(data).map_err(unreadable)?;
        if !matches!(file.kind(), ObjectKind::Executable | ObjectKind::Dynamic) {
            return Err(CodeError::NoProgram);
        }
        let architecture = file.architecture();
        let is_known = match architecture {
            Architecture::X86_64 | Architecture::Aarch64 => file.is_little_endian(),
            _ => false,
        };
        let mut budget = NameBudget::default();
        let targets = OperandTargets::new(&file, &mut budget);
        let length = data.len().unwrap_or(0);
        let mut code_left = length.saturating_mul(MOST_CODE);
        let stub = |address| stub_slot(&file, &targets, address);
        let mut functions = Vec::new();
        for symbol in file.symbols().take(MOST_SYMBOLS) {
            if symbol.kind() != SymbolKind::Text || symbol.size() == 0 {
                continue;
            }
            let range = symbol.address()..symbol.address().saturating_add(symbol.size());
            let section = symbol
                .section_index()
                .and_then(|index| file.section_by_index(index).ok());
            let bytes = section.and_then(|section| {
                let bytes = section.data_range(range.start, symbol.size());
                bytes.ok().flatten()
            });
            let (Some(bytes), Ok(name)) = (bytes, symbol.name_bytes()) else {
                continue;
            };
            code_left = code_left
                .checked_sub(symbol.size())
                .ok_or(CodeError::TooLarge)?;
            let name = budget.take(name).ok_or(CodeError::TooLarge)?;
            let mut plain = DefaultHasher::new();
            bytes.hash(&mut plain);
            let mut code = CodeHasher {
                targets: &targets,
                range,
                hasher: DefaultHasher::new(),
            };
            match architecture {
                Architecture::X86_64 if is_known => x86_64::add_function(&mut code, bytes, &stub),
                Architecture::Aarch64 if is_known => aarch64::add_function(&mut code, bytes),
                _ => code.add(bytes),
            }
            functions.push(FunctionCode {
                stable_name: stable_name(&name),
                symbol: name,
                size: symbol.size(),
                bytes: plain.finish(),
                operands: code.hasher.finish(),
            });
        }
        Ok(Self {
            text_size: file.section_by_name(".text").map_or(0, |text| text.size()),
            compared_bytes_of: (!is_known).then(|| format!("{architecture:?}")),
            functions,
        })
    }

    /// Reads a file of this path; of a large one only what is needed.
    ///
    /// # Errors
    /// As [`CodeImage::read`]; or it can't be opened.
    pub fn open(path: &Path) -> Result<Self, CodeError> {
        let file = File::open(path).map_err(|error| CodeError::Unreadable(error.to_string()))?;
        Self::read(&ReadCache::new(file))
    }

    /// Whether it has no symbols of functions.
    pub fn is_stripped(&self) -> bool {
        self.functions.is_empty()
    }
}

/// The slot that an entry of the procedure linkage table leads to.
fn stub_slot<'data, R: ReadRef<'data>>(
    file: &object::File<'data, R>,
    targets: &OperandTargets,
    address: u64,
) -> Option<u64> {
    /// Bytes of an entry.
    const ENTRY: u64 = 16;
    let section = file
        .section_by_index(targets.linkage_table(address)?)
        .ok()?;
    let bytes = section.data_range(address, ENTRY).ok().flatten()?;
    x86_64::stub_slot(bytes, address)
}
