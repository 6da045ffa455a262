//! The files that users write.

use backsight_catalog::Parsers;
use backsight_exchange::import::Importer;
use backsight_model::{Benchmark, Document, Lab, Monitor, Plan, Target};

/// Any text as each kind of file.
pub(crate) fn definitions(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let document = Document::new("fuzz.toml", text);
    let _read_or_refused = Plan::read(&document);
    let _read_or_refused = Lab::read(&document);
    let _read_or_refused = Target::read(&document);
    let _read_or_refused = Monitor::read(&document);
    let _read_or_refused = Importer::read(&document);
    if let Ok(benchmark) = Benchmark::read(&document) {
        let _compiled_or_refused = Parsers::compile(&benchmark, &document);
    }
}
