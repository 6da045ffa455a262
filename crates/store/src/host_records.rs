//! Records of hosts: what each was when a study began and when it ended. A record, and each of its sections, is kept once.

use backsight_model::{HostName, HostRecord, HostRecordMap};
use jiff::Timestamp;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use crate::{
    RawRef, Store, StoreError, StudyId,
    database::AnswerRow,
    query::{Transaction, query, query_scalar},
};

/// What a host was while a study measured.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredHostRecord {
    /// The host.
    pub host: HostName,
    /// When the study began, or went on.
    pub began: Timestamp,
    /// What the host was then.
    pub at_begin: HostRecord,
    /// When the study ended or stopped; `None` if it was killed, or measures still.
    pub ended: Option<Timestamp>,
    /// What the host was then.
    pub at_end: Option<HostRecord>,
    /// What the kernel said meanwhile, a line a message; empty where that was nothing, or may not be read.
    pub kernel_log: String,
}

impl Store {
    /// Says what a host is at the beginning of a study, or when it goes on.
    ///
    /// # Errors
    /// There is no such study; the store's own.
    pub async fn begin_host_record(
        &self,
        study: StudyId,
        host: &HostName,
        began: Timestamp,
        record: &HostRecord,
    ) -> Result<(), StoreError> {
        // Objects aren't swept away before something refers to them.
        let _unswept = self.raw.unswept().await?;
        let addresses = self.keep_sections(record).await?;
        let mut tx = self.database.begin_alone("record").await?;
        let number = self.record_number(&mut tx, &addresses).await?;
        query(
            "INSERT INTO host_record (study, position, host, began, at_begin) \
             SELECT $1, COALESCE(MAX(position), 0) + 1, $2, $3, $4 FROM host_record WHERE study = $1",
        )
        .bind(study.0)
        .bind(host.as_str())
        .bind(began.to_string())
        .bind(number)
        .execute(&mut *tx)
        .await
        .map_err(|e| self.stray_or_fault(study, "a record of a host of a study that isn't there", e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))
    }

    /// Says what a guest is since this boot; nothing where the study knows it so already.
    ///
    /// # Errors
    /// As [`Store::begin_host_record`].
    pub async fn record_guest(
        &self,
        study: StudyId,
        guest: &HostName,
        booted: Timestamp,
        record: &HostRecord,
    ) -> Result<(), StoreError> {
        let query = query(
            "SELECT at_begin FROM host_record WHERE study = $1 AND host = $2 ORDER BY position DESC LIMIT 1",
        )
        .bind(study.0)
        .bind(guest.as_str());
        if let Some(row) = self.database.rows(query).await?.first() {
            let known = self.database.column(row, "at_begin")?;
            if self.record_of(known).await? == *record {
                return Ok(());
            }
        }
        self.begin_host_record(study, guest, booted, record).await
    }

    /// Says what a host is at the end of a study, and what its kernel said since the beginning; tells whether it is another one than at
    /// the beginning.
    ///
    /// # Errors
    /// The store's own.
    pub async fn end_host_record(
        &self,
        study: StudyId,
        host: &HostName,
        ended: Timestamp,
        record: &HostRecord,
        kernel_log: &str,
    ) -> Result<bool, StoreError> {
        let _unswept = self.raw.unswept().await?;
        let addresses = self.keep_sections(record).await?;
        let kernel_log = match kernel_log {
            "" => None,
            text => self.keep_batch(vec![text.into()]).await?.pop(),
        };
        let mut tx = self.database.begin_alone("record").await?;
        let number = self.record_number(&mut tx, &addresses).await?;
        let at_begin: Option<i64> = query_scalar(
            "UPDATE host_record SET ended = $3, at_end = $4, kernel_log = $5 WHERE study = $1 AND position = \
             (SELECT MAX(position) FROM host_record WHERE study = $1 AND host = $2) RETURNING at_begin",
        )
        .bind(study.0)
        .bind(host.as_str())
        .bind(ended.to_string())
        .bind(number)
        .bind(kernel_log.map(|raw| raw.to_string()))
        .fetch_optional(&mut *tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        tx.commit().await.map_err(|e| self.database.fault(e))?;
        Ok(at_begin != Some(number))
    }

    /// What the hosts of a study were, in the order in which that was said: again after each time that the study went on.
    ///
    /// # Errors
    /// A raw object is missing or damaged; the store's own.
    pub async fn host_records(&self, study: StudyId) -> Result<Vec<StoredHostRecord>, StoreError> {
        let query = query(
            "SELECT host, began, at_begin, ended, at_end, kernel_log FROM host_record WHERE study = $1 ORDER BY position",
        )
        .bind(study.0);
        let mut records = Vec::new();
        for row in &self.database.rows(query).await? {
            records.push(self.stored_record(row).await?);
        }
        Ok(records)
    }

    /// What the hosts of studies were when each began; studies that have no records aren't there. What several studies share is
    /// read once.
    ///
    /// # Errors
    /// A raw object is missing or damaged; the store's own.
    pub async fn host_records_at_begin(
        &self,
        studies: &[StudyId],
    ) -> Result<HashMap<i64, HostRecordMap>, StoreError> {
        let db = &self.database;
        let mut read: HashMap<i64, Arc<HostRecord>> = HashMap::new();
        let mut records: HashMap<i64, HostRecordMap> = HashMap::new();
        let studies: HashSet<i64> = studies.iter().map(|study| study.0).collect();
        let query = query(
            "SELECT study, host, at_begin FROM host_record WHERE study BETWEEN $1 AND $2 ORDER BY study, position",
        )
        .bind(studies.iter().min())
        .bind(studies.iter().max());
        for row in &db.rows(query).await? {
            let study = db.column(row, "study")?;
            if !studies.contains(&study) {
                continue;
            }
            let number = db.column(row, "at_begin")?;
            let record = match read.get(&number) {
                Some(known) => Arc::clone(known),
                None => {
                    let record = self.record_of(number).await?;
                    Arc::clone(read.entry(number).or_insert(Arc::new(record)))
                }
            };
            let of_study = records.entry(study).or_default();
            let host = db.parsed(row, "host", "a host's name")?;
            of_study.entry(host).or_insert(record);
        }
        Ok(records)
    }

    async fn stored_record(&self, row: &AnswerRow) -> Result<StoredHostRecord, StoreError> {
        let db = &self.database;
        let kernel_log = match db.parsed_if_any(row, "kernel_log", "a raw output's address")? {
            Some(raw) => String::from_utf8_lossy(&self.raw(&raw).await?).into_owned(),
            None => String::new(),
        };
        let at_end = match db.column(row, "at_end")? {
            Some(number) => Some(self.record_of(number).await?),
            None => None,
        };
        Ok(StoredHostRecord {
            host: db.parsed(row, "host", "a host's name")?,
            began: db.parsed(row, "began", "a time")?,
            at_begin: self.record_of(db.column(row, "at_begin")?).await?,
            ended: db.parsed_if_any(row, "ended", "a time")?,
            at_end,
            kernel_log,
        })
    }

    /// A record by its number.
    async fn record_of(&self, number: i64) -> Result<HostRecord, StoreError> {
        let db = &self.database;
        let query = query("SELECT name, object FROM record_section WHERE record = $1");
        let mut record = HostRecord::default();
        for row in &db.rows(query.bind(number)).await? {
            let raw: RawRef = db.parsed(row, "object", "a raw output's address")?;
            let content = self.raw(&raw).await?;
            let section = serde_json::from_slice(&content)
                .map_err(|_| db.strange("a section of a record", raw))?;
            record.0.insert(db.column(row, "name")?, section);
        }
        Ok(record)
    }

    /// Keeps the sections: their addresses, by their names.
    async fn keep_sections(
        &self,
        record: &HostRecord,
    ) -> Result<BTreeMap<String, RawRef>, StoreError> {
        let contents = record.0.values();
        let contents = contents.map(|section| Ok(self.to_json(section)?.into_bytes()));
        let contents = contents.collect::<Result<_, StoreError>>()?;
        let addresses = self.keep_batch(contents).await?;
        Ok(record.0.keys().cloned().zip(addresses).collect())
    }

    /// The number of the record that has these sections; it is there from now on.
    pub(crate) async fn record_number(
        &self,
        tx: &mut Transaction,
        sections: &BTreeMap<String, RawRef>,
    ) -> Result<i64, StoreError> {
        let lines = sections.iter().map(|(name, raw)| format!("{name} {raw}\n"));
        let content = RawRef::from_content(lines.collect::<String>().as_bytes()).to_string();
        let known = query_scalar("SELECT number FROM record WHERE content = $1")
            .bind(&content)
            .fetch_optional(&mut **tx)
            .await
            .map_err(|e| self.database.fault(e))?;
        if let Some(number) = known {
            return Ok(number);
        }
        let number: i64 = query_scalar(
            "INSERT INTO record (number, content) SELECT COALESCE(MAX(number), 0) + 1, $1 FROM record RETURNING number",
        )
        .bind(&content)
        .fetch_one(&mut **tx)
        .await
        .map_err(|e| self.database.fault(e))?;
        for (name, raw) in sections {
            query("INSERT INTO record_section (record, name, object) VALUES ($1, $2, $3)")
                .bind(number)
                .bind(name)
                .bind(raw.to_string())
                .execute(&mut **tx)
                .await
                .map_err(|e| self.database.fault(e))?;
        }
        Ok(number)
    }

    /// Removes a damaged raw object from all records of hosts; the records stay without that section or log.
    ///
    /// # Errors
    /// The store's own.
    pub async fn remove_from_host_records(&self, raw: &RawRef) -> Result<(), StoreError> {
        let mut tx = self.database.begin().await?;
        for statement in [
            // What is left isn't the record that its content names any more.
            "UPDATE record SET content = content || ' without ' || $1 \
             WHERE number IN (SELECT record FROM record_section WHERE object = $1)",
            "DELETE FROM record_section WHERE object = $1",
            "UPDATE host_record SET kernel_log = NULL WHERE kernel_log = $1",
        ] {
            let removed = query(statement).bind(raw.to_string());
            let removed = removed.execute(&mut *tx).await;
            removed.map_err(|e| self.database.fault(e))?;
        }
        tx.commit().await.map_err(|e| self.database.fault(e))
    }

    /// Removes records that no study has any more.
    pub(crate) async fn remove_lone_records(&self) -> Result<(), StoreError> {
        let removed = query(
            "DELETE FROM record WHERE number NOT IN (SELECT at_begin FROM host_record \
             UNION SELECT at_end FROM host_record WHERE at_end IS NOT NULL)",
        );
        let removed = removed.execute(self.database.pool()).await;
        removed.map(drop).map_err(|e| self.database.fault(e))
    }
}
