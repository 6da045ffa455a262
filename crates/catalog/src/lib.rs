//! Not built yet. TO THE HELPER who builds this: the floors above are written against this API, keep it:
//!
//! pub struct Definition { pub benchmark: backsight_model::Benchmark, pub document: backsight_model::Document, .. compiled parsers }
//! pub struct Catalog;
//! impl Catalog {
//!     pub fn load(folders: &[PathBuf]) -> Result<Catalog, CatalogError>;           // embedded + overlays, later folders win; broken files are errors when they are asked for (find), a folder that isn't there is an error
//!     pub fn of_documents(documents: Vec<Document>) -> Result<Catalog, CatalogError>; // only these (resume: definitions as they were)
//!     pub fn names(&self) -> Vec<BenchmarkName>;                                    // sorted
//!     pub fn find(&self, name: &BenchmarkName) -> Result<Option<&Definition>, CatalogError>; // parsed and compiled once, lazily (startup must stay ≤ 10 ms)
//!     pub fn samples(&self, benchmark: &BenchmarkName, steps: &[backsight_model::StepRecord]) -> Result<Vec<MetricSamples>, E: Display>;
//! }
//! pub enum CatalogError: std::error::Error + miette::Diagnostic (transparent over model::Problem, model::Unreadable where it can)
