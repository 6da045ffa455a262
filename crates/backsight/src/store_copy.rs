//! `backsight store copy`: the studies of one store in another.

use backsight_model::counted;
use backsight_store::{
    CopiedContinuation, CopiedStudy, CopyCounts, Store, StoreCopy, StoreLocation, StudyRow,
};
use clap::builder::{OsStringValueParser, TypedValueParser as _};
use miette::IntoDiagnostic as _;
use std::process::ExitCode;

use crate::{exit_status::ExitStatus, files};

/// Arguments of `store copy`.
#[derive(Debug, clap::Args)]
pub struct StoreCopyArgs {
    /// The store that is read: a folder, or postgres://[USER@]HOST[:PORT]/DATABASE
    #[arg(
        value_name = "FROM",
        value_hint = clap::ValueHint::AnyPath,
        value_parser = OsStringValueParser::new().map(StoreLocation::from)
    )]
    from: StoreLocation,
    /// The store that is written, made if it isn't there
    #[arg(
        value_name = "TO",
        value_hint = clap::ValueHint::AnyPath,
        value_parser = OsStringValueParser::new().map(StoreLocation::from)
    )]
    to: StoreLocation,
    /// Copy only these studies, by name or number; else all
    #[arg(value_name = "STUDY")]
    studies: Vec<String>,
}

impl StoreCopyArgs {
    /// Copies what the other store hasn't, and says what became of each study.
    pub fn execute(self) -> miette::Result<ExitCode> {
        crate::block_on(async {
            self.refuse_same_store()?;
            let from = Store::open_existing(&self.from).await.into_diagnostic()?;
            let studies = self.chosen(&from).await?;
            let to = Store::open(&self.to).await.into_diagnostic()?;
            let is_whole = self.studies.is_empty();
            let has_failed = copy(&from, &to, &studies, is_whole).await?;
            to.close().await;
            from.close().await;
            Ok(ExitStatus::failed_if(has_failed))
        })
    }

    fn refuse_same_store(&self) -> miette::Result<()> {
        let real = |it: &StoreLocation| it.as_folder().and_then(|dir| dir.canonicalize().ok());
        let is_same_folder = real(&self.from).is_some_and(|from| real(&self.to) == Some(from));
        if is_same_folder || self.from == self.to {
            miette::bail!(
                help = "name the store to read first, then another one to write",
                "{} would be copied into itself",
                self.from
            );
        }
        Ok(())
    }

    /// The studies to copy, oldest first.
    async fn chosen(&self, from: &Store) -> miette::Result<Vec<StudyRow>> {
        let mut chosen = match &self.studies[..] {
            [] => from.studies().await.into_diagnostic()?,
            named => {
                let mut studies = Vec::with_capacity(named.len());
                for name in named {
                    studies.push(from.study(name).await.into_diagnostic()?);
                }
                studies
            }
        };
        chosen.sort_by_key(|study| study.id);
        chosen.dedup_by_key(|study| study.id);
        Ok(chosen)
    }
}

/// Copies studies one by one, and with all of them what `notify` and `watch` go on from; tells whether a study couldn't be copied.
async fn copy(
    from: &Store,
    to: &Store,
    studies: &[StudyRow],
    is_whole: bool,
) -> miette::Result<bool> {
    let mut copy = StoreCopy::begin(from.clone(), to.clone())
        .await
        .into_diagnostic()?;
    let mut counts = CopyCounts::default();
    let (mut copied, mut present, mut has_failed) = (0, 0, false);
    for study in studies {
        let name = &study.name;
        match copy.study(study).await {
            Ok(CopiedStudy::Copied {
                name: there,
                counts: of_study,
            }) => {
                let renamed = match there == *name {
                    true => String::new(),
                    false => format!(" as {there}, since that name is taken there"),
                };
                files::print(&format!(
                    "{name} copied{renamed}: {}, {}\n",
                    counted(of_study.trials, "trial"),
                    counted(of_study.samples, "sample")
                ))?;
                counts.add(of_study);
                copied += 1;
            }
            Ok(CopiedStudy::Present) => present += 1,
            Ok(CopiedStudy::NewerThere) => {
                files::print_note(&format!(
                    "{name} went on in {} since it was copied: it is left as it is there",
                    to.location()
                ));
                // Whoever names a study wants that one.
                has_failed |= !is_whole;
            }
            Ok(CopiedStudy::Measuring) => {
                files::print_note(&format!(
                    "{name} is being measured: it isn't copied; copy again when it has ended"
                ));
                has_failed |= !is_whole;
            }
            Err(error) => {
                files::print_note(&format!("{name} isn't copied: {error}"));
                has_failed = true;
            }
        }
    }
    let notes = copy.notes().await.into_diagnostic()?;
    if is_whole {
        let went_along = copy.continuation().await.into_diagnostic()?;
        if went_along != CopiedContinuation::default() {
            files::print(&format!(
                "copied with them: changes that were told: {}, studies of standing jobs: {}, entries of the audit: {}\n",
                went_along.told, went_along.watch_studies, went_along.audit_entries
            ))?;
        }
    }
    files::print(&format!(
        "{copied} of {} studies copied to {}, {present} there already: {}, {}, {}, {}; what was written was read again and compared\n",
        studies.len(),
        to.location(),
        counted(counts.trials, "trial"),
        counted(counts.samples, "sample"),
        counted(counts.objects, "raw output"),
        counted(notes, "note")
    ))?;
    Ok(has_failed)
}
