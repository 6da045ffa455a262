//! Raw objects that the rules of keep.toml remove.
//!
//! 1. What goes by the rules gets a mark, some objects at a time, each time while nobody records anything.
//! 2. What goes is decided anew: a reference that was recorded before its object was marked is seen now, and takes the mark back. Whoever
//!    keeps the same content later takes it back himself ([`Store::unmark`]).
//! 3. The files of what goes still and has a mark go, some at a time, while nobody records anything.
//!
//! So nobody waits for longer than some objects take, however many the store has. One process prunes at a time. One that is killed
//! leaves marks whose files are still there: the next one begins anew.

use backsight_model::{KeepRule, KeepRules, Located, Thinning};
use jiff::Timestamp;
use std::{
    collections::{HashMap, HashSet},
    fs,
    path::PathBuf,
};

use crate::{
    KeptReferences, RawRef, RetainedKind, RetentionFate, RetentionReason, RetentionTable, Store,
    StoreError, StudyId,
    database::AnswerRow,
    query::{QueryBuilder, query},
    retention::{BuildUse, Retention, ThinnedTrials, TrialKey},
    study::{ROWS_AT_ONCE, earlier_log_path, log_path},
};

/// Objects that are marked or removed while nobody can record a trial: a few milliseconds' worth.
const OBJECTS_AT_ONCE: usize = ROWS_AT_ONCE;

/// What becomes of each object that something refers to.
type Fates = HashMap<RawRef, (RetentionFate, RetainedKind)>;

impl Store {
    /// What the rules keep and what they would remove at this time.
    ///
    /// # Errors
    /// The store's own.
    pub async fn retention(
        &self,
        rules: &KeepRules,
        references: &KeptReferences,
        now: Timestamp,
    ) -> Result<RetentionTable, StoreError> {
        let sizes = self.object_sizes().await?;
        let fates = self.fates(rules, references, now).await?;
        Ok(table(&fates, &sizes))
    }

    /// Removes what the rules don't keep at this time: what stayed and what went.
    ///
    /// # Errors
    /// Somebody else prunes, or records a trial, for longer than five seconds; the store can only be read. What was marked until
    /// then goes the next time.
    pub async fn prune(
        &self,
        rules: &KeepRules,
        references: &KeptReferences,
        now: Timestamp,
    ) -> Result<RetentionTable, StoreError> {
        let _only = self.raw.only_pruner().await?;
        self.check_raw_place().await?;
        let sizes = self.object_sizes().await?;
        let before = self.fates(rules, references, now).await?;
        self.mark_doomed(rules, &before, &sizes, now).await?;
        let fates = self.fates(rules, references, now).await?;
        self.unmark_kept(&fates).await?;
        let doomed = doomed(&fates, &sizes).map(|(object, _)| *object);
        for objects in doomed.collect::<Vec<_>>().chunks(OBJECTS_AT_ONCE) {
            let alone = self.raw.alone().await?;
            let marked = self.marked_of(objects).await?;
            self.raw.remove(marked).await?;
            drop(alone);
        }
        if self.raw.bucket().is_some() {
            // What was too young to be swept when its study was deleted.
            self.sweep().await?;
        }
        Ok(table(&fates, &sizes))
    }

    /// What becomes of builds: each with its key and when it was made, which counts where no study took it later.
    ///
    /// # Errors
    /// The store's own.
    pub async fn build_fates(
        &self,
        rules: &KeepRules,
        references: &KeptReferences,
        now: Timestamp,
        builds: &[(String, Timestamp)],
    ) -> Result<Vec<RetentionFate>, StoreError> {
        let mut uses: HashMap<String, Vec<BuildUse>> = HashMap::new();
        let query = query("SELECT content, study, number, began FROM build");
        let db = &self.database;
        for row in &db.rows(query).await? {
            let of_key = uses.entry(db.column(row, "content")?).or_default();
            of_key.push(BuildUse {
                study: StudyId(db.column(row, "study")?),
                number: db.whole(row, "number")?,
                began: db.parsed(row, "began", "a time")?,
            });
        }
        let studies = self.studies().await?;
        let retention = Retention::new(rules, references, &studies, ThinnedTrials::default(), now);
        let fate = |(key, made): &(String, Timestamp)| {
            let uses = uses.get(key).map_or(&[][..], Vec::as_slice);
            retention.of_build(*made, uses)
        };
        Ok(builds.iter().map(fate).collect())
    }

    /// The logs of studies that ended, with their sizes, and what becomes of each: they are files of their own, to which nothing
    /// refers.
    ///
    /// # Errors
    /// The store's own.
    pub async fn study_log_fates(
        &self,
        rules: &KeepRules,
        now: Timestamp,
    ) -> Result<Vec<(PathBuf, u64, RetentionFate)>, StoreError> {
        let (studies, references) = (self.studies().await?, KeptReferences::default());
        let retention = Retention::new(rules, &references, &studies, ThinnedTrials::default(), now);
        let mut fates = Vec::new();
        for study in &studies {
            let fate = retention.of_study_log(study.id, study.ended.unwrap_or(study.began));
            let log = log_path(&self.dir, study.id);
            for path in [earlier_log_path(&log), log] {
                if let Ok(file) = fs::metadata(&path) {
                    fates.push((path, file.len(), fate));
                }
            }
        }
        Ok(fates)
    }

    async fn object_sizes(&self) -> Result<HashMap<RawRef, u64>, StoreError> {
        self.raw.sizes().await
    }

    async fn fates(
        &self,
        rules: &KeepRules,
        references: &KeptReferences,
        now: Timestamp,
    ) -> Result<Fates, StoreError> {
        let studies = self.studies().await?;
        let thinned = self.thinned_trials(rules.thin.as_ref()).await?;
        let retention = Retention::new(rules, references, &studies, thinned, now);
        let mut fates = Fates::new();
        let query = query(
            "SELECT CAST(0 AS BIGINT) AS kind, s.study, s.trial AS number, t.began, s.monitor, s.stdout AS raw FROM step s \
             JOIN trial t ON t.study = s.study AND t.number = s.trial WHERE s.stdout IS NOT NULL \
             UNION ALL SELECT 0, s.study, s.trial, t.began, s.monitor, s.stderr FROM step s \
             JOIN trial t ON t.study = s.study AND t.number = s.trial WHERE s.stderr IS NOT NULL \
             UNION ALL SELECT 0, r.study, r.trial, t.began, NULL, r.details FROM suite_run r \
             JOIN trial t ON t.study = r.study AND t.number = r.trial WHERE r.details IS NOT NULL \
             UNION ALL SELECT 3, c.study, c.trial, t.began, NULL, c.content FROM core_file c \
             JOIN trial t ON t.study = c.study AND t.number = c.trial WHERE c.content IS NOT NULL \
             UNION ALL SELECT 2, 0, 0, NULL, NULL, names FROM suite_run \
             UNION ALL SELECT 1, study, number, began, NULL, log FROM build WHERE log IS NOT NULL \
             UNION ALL SELECT 1, study, build, began, NULL, log FROM boot WHERE log IS NOT NULL \
             UNION ALL SELECT 2, 0, 0, NULL, NULL, object FROM record_section \
             UNION ALL SELECT 2, 0, 0, NULL, NULL, kernel_log FROM host_record WHERE kernel_log IS NOT NULL",
        );
        let each = self.database.each_row(query, |row| {
            let object = self.database.parsed(row, "raw", "a raw output's address")?;
            let fate = self.fate_of_row(&retention, row)?;
            let known = fates.entry(object).or_insert(fate);
            *known = fate.min(*known);
            Ok(())
        });
        each.await?;
        Ok(fates)
    }

    fn fate_of_row(
        &self,
        retention: &Retention<'_>,
        row: &AnswerRow,
    ) -> Result<(RetentionFate, RetainedKind), StoreError> {
        let db = &self.database;
        let kind: i64 = db.column(row, "kind")?;
        let study = StudyId(db.column(row, "study")?);
        let number = db.whole(row, "number")?;
        let began = || db.parsed(row, "began", "a time");
        let of_trial = |kind| {
            let fate = retention.of_trial(kind, TrialKey { study, number }, began()?);
            Ok((fate, kind))
        };
        Ok(match kind {
            0 => match db.column::<Option<&str>>(row, "monitor")? {
                Some(_) => of_trial(RetainedKind::Monitors)?,
                None => of_trial(RetainedKind::Outputs)?,
            },
            3 => of_trial(RetainedKind::Cores)?,
            1 => (
                retention.of_log(study, number, began()?),
                RetainedKind::Logs,
            ),
            _ => (
                RetentionFate::Kept(RetentionReason::NoRule),
                RetainedKind::Records,
            ),
        })
    }

    /// The trials that stay where others are thinned; none where nothing is.
    async fn thinned_trials(
        &self,
        thin: Option<&Located<Thinning>>,
    ) -> Result<ThinnedTrials, StoreError> {
        let mut thinned = ThinnedTrials::default();
        let Some(thin) = thin else { return Ok(thinned) };
        let query = query(
            "SELECT t.study, t.number, t.began, \
             COALESCE(c.question, c.benchmark || ' ' || c.variant || ' ' || c.params || ' ' || COALESCE(c.monitors, '')) AS question \
             FROM trial t JOIN cell c ON c.study = t.study AND c.number = t.cell \
             ORDER BY CASE WHEN t.failure IS NULL THEN 0 ELSE 1 END, t.began, t.study, t.number",
        );
        let db = &self.database;
        let each = db.each_row(query, |row| {
            let trial = TrialKey {
                study: StudyId(db.column(row, "study")?),
                number: db.whole(row, "number")?,
            };
            let began = db.parsed(row, "began", "a time")?;
            thinned.add(thin, db.column(row, "question")?, trial, began);
            Ok(())
        });
        each.await?;
        Ok(thinned)
    }

    /// Marks the objects that go.
    async fn mark_doomed(
        &self,
        rules: &KeepRules,
        fates: &Fates,
        sizes: &HashMap<RawRef, u64>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let marked = self.marked_objects().await?;
        let doomed = doomed(fates, sizes).filter(|(object, _)| !marked.contains(object));
        for objects in doomed.collect::<Vec<_>>().chunks(OBJECTS_AT_ONCE) {
            let alone = self.raw.alone().await?;
            let mut tx = self.database.begin().await?;
            let mut insert = QueryBuilder::new("INSERT INTO pruned (object, made, rule) ");
            insert.push_values(objects, |mut row, (object, rule)| {
                row.push_bind(object.to_string())
                    .push_bind(now.to_string())
                    .push_bind(rules.text_of(*rule));
            });
            self.execute(&mut tx, insert).await?;
            tx.commit().await.map_err(|e| self.database.fault(e))?;
            drop(alone);
        }
        Ok(())
    }

    /// Takes back the marks of objects that stay after all, whoever marked them. What a rule removed before has no file, and
    /// keeps its mark, though no rule would remove it any more.
    async fn unmark_kept(&self, fates: &Fates) -> Result<(), StoreError> {
        let marked = self.marked_objects().await?.into_iter();
        let inventory = self.raw.inventory().await?;
        let kept = marked.filter(|object| {
            let stays = matches!(fates.get(object), Some((RetentionFate::Kept(_), _)));
            stays && inventory.has(object)
        });
        self.unmark(&kept.collect::<Vec<_>>()).await
    }

    async fn marked_objects(&self) -> Result<HashSet<RawRef>, StoreError> {
        let rows = self
            .database
            .rows(query("SELECT object FROM pruned"))
            .await?;
        let address =
            |row: &AnswerRow| (self.database).parsed(row, "object", "a raw output's address");
        rows.iter().map(address).collect()
    }
}

/// The objects that are there and go, each by which rule.
fn doomed<'a>(
    fates: &'a Fates,
    sizes: &HashMap<RawRef, u64>,
) -> impl Iterator<Item = (&'a RawRef, KeepRule)> {
    let there = fates
        .iter()
        .filter(|(object, _)| sizes.contains_key(object));
    there.filter_map(|(object, (fate, _))| match fate {
        RetentionFate::Pruned(rule) => Some((object, *rule)),
        RetentionFate::Kept(_) => None,
    })
}

/// Counts of the objects that are there, by their fate.
fn table(fates: &Fates, sizes: &HashMap<RawRef, u64>) -> RetentionTable {
    let mut table = RetentionTable::default();
    for (object, (fate, kind)) in fates {
        if let Some(bytes) = sizes.get(object) {
            table.add(*kind, *fate, *bytes);
        }
    }
    table
}
