//! Queries that run on SQLite and on PostgreSQL: one text with `$1` placeholders, arguments that it owns, and rows of either.
//!
//! The methods are named and used as sqlx's are. Where the two engines need other words, a query has a text for each
//! ([`SqlText::PerEngine`]); everything else that differs is settled here:
//!
//! | SQLite | PostgreSQL |
//! |---|---|
//! | an argument is what its value is | an argument has a type, also where it is NULL: [`Argument`] |
//! | texts may hold NUL | they may not: it becomes U+2400, the picture of it |
//! | `?` placeholders in long lists of values, which are found faster than named ones | numbered ones |
//! | statements with many rows aren't cached | those with few arguments are, since preparing is a round trip |

use sqlx::{
    AssertSqlSafe, Decode, PgConnection, PgPool, Postgres, Row as _, SqlSafeStr as _, Sqlite,
    SqliteConnection, SqlitePool, Type, postgres::PgRow, sqlite::SqliteRow,
};
use std::ops::{Deref, DerefMut};
use tokio_stream::Stream;

/// Statements of PostgreSQL with at most so many arguments are prepared once: trials with the same number of samples, loads and
/// steps share them.
const CACHED_ARGUMENTS: usize = 100;

/// The text of a query.
#[derive(Debug, Clone)]
enum SqlText {
    Shared(&'static str),
    PerEngine(PerEngine),
    /// With `?` for each argument.
    Built(String),
}

/// Two texts of one question.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PerEngine {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

impl From<&'static str> for SqlText {
    fn from(text: &'static str) -> Self {
        Self::Shared(text)
    }
}

impl From<PerEngine> for SqlText {
    fn from(text: PerEngine) -> Self {
        Self::PerEngine(text)
    }
}

/// The value of a placeholder, or NULL of its type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Argument {
    Text(Option<String>),
    Whole(Option<i64>),
    Float(Option<f64>),
    Bytes(Option<Vec<u8>>),
    Boolean(Option<bool>),
}

macro_rules! arguments {
    ($($variant:ident of $type:ty: $($from:ty),*;)*) => {$(
        impl From<$type> for Argument {
            fn from(value: $type) -> Self {
                Self::$variant(Some(value))
            }
        }
        impl From<Option<$type>> for Argument {
            fn from(value: Option<$type>) -> Self {
                Self::$variant(value)
            }
        }
        $(
            impl From<$from> for Argument {
                fn from(value: $from) -> Self {
                    Self::$variant(Some(value.to_owned()))
                }
            }
            impl From<Option<$from>> for Argument {
                fn from(value: Option<$from>) -> Self {
                    Self::$variant(value.map(|value| value.to_owned()))
                }
            }
        )*
    )*};
}

arguments! {
    Text of String: &str, &String;
    Whole of i64: &i64;
    Float of f64: &f64;
    Bytes of Vec<u8>: &[u8], &Vec<u8>;
    Boolean of bool: &bool;
}

impl From<&Option<String>> for Argument {
    fn from(value: &Option<String>) -> Self {
        Self::Text(value.clone())
    }
}

/// What a statement did.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatementResult {
    rows_affected: u64,
}

impl StatementResult {
    pub(crate) fn rows_affected(self) -> u64 {
        self.rows_affected
    }
}

/// A query with its arguments.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    text: SqlText,
    arguments: Vec<Argument>,
}

/// A query for this text.
pub(crate) fn query(text: &'static str) -> Query {
    Query::new(text)
}

/// A query that the engines have other words for.
pub(crate) fn query_per_engine(text: PerEngine) -> Query {
    Query::new(text)
}

/// A query for the first column of each row.
pub(crate) fn query_scalar<T>(text: &'static str) -> ScalarQuery<T> {
    ScalarQuery {
        query: query(text),
        column: std::marker::PhantomData,
    }
}

type SqliteQuery = sqlx::query::Query<'static, Sqlite, <Sqlite as sqlx::Database>::Arguments>;
type PostgresQuery = sqlx::query::Query<'static, Postgres, <Postgres as sqlx::Database>::Arguments>;

impl Query {
    fn new(text: impl Into<SqlText>) -> Self {
        Self {
            text: text.into(),
            arguments: Vec::new(),
        }
    }

    /// Adds the next argument.
    pub(crate) fn bind(mut self, value: impl Into<Argument>) -> Self {
        self.arguments.push(value.into());
        self
    }

    fn for_sqlite(self) -> SqliteQuery {
        let query = match self.text {
            SqlText::Shared(text) => sqlx::query(text),
            SqlText::PerEngine(text) => sqlx::query(text.sqlite),
            // Statements with many rows differ in their number of rows: not worth a place in the cache.
            SqlText::Built(text) => {
                sqlx::query(AssertSqlSafe(text).into_sql_str()).persistent(false)
            }
        };
        let bind = |query: SqliteQuery, argument| match argument {
            Argument::Text(value) => query.bind(value),
            Argument::Whole(value) => query.bind(value),
            Argument::Float(value) => query.bind(value),
            Argument::Bytes(value) => query.bind(value),
            Argument::Boolean(value) => query.bind(value),
        };
        self.arguments.into_iter().fold(query, bind)
    }

    fn for_postgres(self) -> PostgresQuery {
        let query = match self.text {
            SqlText::Shared(text) => sqlx::query(text),
            SqlText::PerEngine(text) => sqlx::query(text.postgres),
            SqlText::Built(text) => sqlx::query(AssertSqlSafe(numbered(&text)).into_sql_str())
                .persistent(self.arguments.len() <= CACHED_ARGUMENTS),
        };
        let bind = |query: PostgresQuery, argument| match argument {
            Argument::Text(value) => query.bind(value.map(without_nul)),
            Argument::Whole(value) => query.bind(value),
            Argument::Float(value) => query.bind(value),
            Argument::Bytes(value) => query.bind(value),
            Argument::Boolean(value) => query.bind(value),
        };
        self.arguments.into_iter().fold(query, bind)
    }

    pub(crate) async fn execute(
        self,
        on: impl Into<Executor<'_>>,
    ) -> Result<StatementResult, sqlx::Error> {
        let rows_affected = match on.into() {
            Executor::SqlitePool(pool) => self.for_sqlite().execute(pool).await?.rows_affected(),
            Executor::Sqlite(one) => self.for_sqlite().execute(one).await?.rows_affected(),
            Executor::PostgresPool(pool) => {
                self.for_postgres().execute(pool).await?.rows_affected()
            }
            Executor::Postgres(one) => self.for_postgres().execute(one).await?.rows_affected(),
        };
        Ok(StatementResult { rows_affected })
    }

    pub(crate) async fn fetch_all(
        self,
        on: impl Into<Executor<'_>>,
    ) -> Result<Vec<AnswerRow>, sqlx::Error> {
        fn rows<T: Into<AnswerRow>>(rows: Vec<T>) -> Vec<AnswerRow> {
            rows.into_iter().map(Into::into).collect()
        }
        Ok(match on.into() {
            Executor::SqlitePool(pool) => rows(self.for_sqlite().fetch_all(pool).await?),
            Executor::Sqlite(one) => rows(self.for_sqlite().fetch_all(one).await?),
            Executor::PostgresPool(pool) => rows(self.for_postgres().fetch_all(pool).await?),
            Executor::Postgres(one) => rows(self.for_postgres().fetch_all(one).await?),
        })
    }

    pub(crate) async fn fetch_optional(
        self,
        on: impl Into<Executor<'_>>,
    ) -> Result<Option<AnswerRow>, sqlx::Error> {
        Ok(match on.into() {
            Executor::SqlitePool(pool) => self
                .for_sqlite()
                .fetch_optional(pool)
                .await?
                .map(Into::into),
            Executor::Sqlite(one) => self.for_sqlite().fetch_optional(one).await?.map(Into::into),
            Executor::PostgresPool(pool) => self
                .for_postgres()
                .fetch_optional(pool)
                .await?
                .map(Into::into),
            Executor::Postgres(one) => self
                .for_postgres()
                .fetch_optional(one)
                .await?
                .map(Into::into),
        })
    }

    /// The rows one by one, as they come.
    pub(crate) fn fetch<'c>(self, on: impl Into<Executor<'c>>) -> RowStream<'c> {
        match on.into() {
            Executor::SqlitePool(pool) => RowStream::Sqlite(self.for_sqlite().fetch(pool)),
            Executor::Sqlite(one) => RowStream::Sqlite(self.for_sqlite().fetch(one)),
            Executor::PostgresPool(pool) => RowStream::Postgres(self.for_postgres().fetch(pool)),
            Executor::Postgres(one) => RowStream::Postgres(self.for_postgres().fetch(one)),
        }
    }
}

/// The text with numbers in place of question marks.
fn numbered(text: &str) -> String {
    let mut numbered = String::with_capacity(text.len() * 2);
    for (number, part) in text.split('?').enumerate() {
        if number > 0 {
            numbered.push('$');
            numbered.push_str(&number.to_string());
        }
        numbered.push_str(part);
    }
    numbered
}

/// The text as a server holds it.
pub(crate) fn without_nul(text: String) -> String {
    match text.contains('\0') {
        true => text.replace('\0', "\u{2400}"),
        false => text,
    }
}

/// A query of which the first column of each row is asked for.
pub(crate) struct ScalarQuery<T> {
    query: Query,
    column: std::marker::PhantomData<T>,
}

impl<T: Column> ScalarQuery<T> {
    /// Adds the next argument.
    pub(crate) fn bind(mut self, value: impl Into<Argument>) -> Self {
        self.query = self.query.bind(value);
        self
    }

    pub(crate) async fn fetch_all(
        self,
        on: impl Into<Executor<'_>>,
    ) -> Result<Vec<T>, sqlx::Error> {
        let rows = self.query.fetch_all(on).await?;
        rows.iter().map(AnswerRow::first).collect()
    }

    pub(crate) async fn fetch_optional(
        self,
        on: impl Into<Executor<'_>>,
    ) -> Result<Option<T>, sqlx::Error> {
        let row = self.query.fetch_optional(on).await?;
        row.as_ref().map(AnswerRow::first).transpose()
    }

    pub(crate) async fn fetch_one(self, on: impl Into<Executor<'_>>) -> Result<T, sqlx::Error> {
        let one = self.fetch_optional(on).await?;
        one.ok_or(sqlx::Error::RowNotFound)
    }
}

/// A type of a column on both engines that borrows nothing of its row.
pub(crate) trait Column: for<'r> AnswerColumn<'r> {}

impl<T: for<'r> AnswerColumn<'r>> Column for T {}

/// A type of a column on both engines.
pub(crate) trait AnswerColumn<'r>:
    Decode<'r, Sqlite> + Type<Sqlite> + Decode<'r, Postgres> + Type<Postgres>
{
}

impl<'r, T> AnswerColumn<'r> for T where
    T: Decode<'r, Sqlite> + Type<Sqlite> + Decode<'r, Postgres> + Type<Postgres>
{
}

/// A row of an answer.
pub(crate) enum AnswerRow {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl From<SqliteRow> for AnswerRow {
    fn from(row: SqliteRow) -> Self {
        Self::Sqlite(row)
    }
}

impl From<PgRow> for AnswerRow {
    fn from(row: PgRow) -> Self {
        Self::Postgres(row)
    }
}

impl AnswerRow {
    /// A column by its name.
    pub(crate) fn try_get<'r, T: AnswerColumn<'r>>(&'r self, name: &str) -> Result<T, sqlx::Error> {
        match self {
            Self::Sqlite(row) => row.try_get(name),
            Self::Postgres(row) => row.try_get(name),
        }
    }

    fn first<T: Column>(&self) -> Result<T, sqlx::Error> {
        match self {
            Self::Sqlite(row) => row.try_get(0),
            Self::Postgres(row) => row.try_get(0),
        }
    }
}

type Rows<'c, R> = std::pin::Pin<Box<dyn Stream<Item = Result<R, sqlx::Error>> + Send + 'c>>;

/// Rows of an answer that come one by one.
pub(crate) enum RowStream<'c> {
    Sqlite(Rows<'c, SqliteRow>),
    Postgres(Rows<'c, PgRow>),
}

/// What runs a query.
pub(crate) enum Executor<'c> {
    SqlitePool(&'c SqlitePool),
    Sqlite(&'c mut SqliteConnection),
    PostgresPool(&'c PgPool),
    Postgres(&'c mut PgConnection),
}

/// The connections to a database.
#[derive(Debug, Clone)]
pub(crate) enum Pool {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

impl<'c> From<&'c Pool> for Executor<'c> {
    fn from(pool: &'c Pool) -> Self {
        match pool {
            Pool::Sqlite(pool) => Self::SqlitePool(pool),
            Pool::Postgres(pool) => Self::PostgresPool(pool),
        }
    }
}

impl<'c> From<&'c mut PgConnection> for Executor<'c> {
    fn from(connection: &'c mut PgConnection) -> Self {
        Self::Postgres(connection)
    }
}

/// A connection in a transaction.
#[derive(Debug)]
pub(crate) enum TransactionConnection {
    Sqlite(sqlx::Transaction<'static, Sqlite>),
    Postgres(sqlx::Transaction<'static, Postgres>),
}

impl<'c> From<&'c mut TransactionConnection> for Executor<'c> {
    fn from(connection: &'c mut TransactionConnection) -> Self {
        match connection {
            TransactionConnection::Sqlite(one) => Self::Sqlite(one),
            TransactionConnection::Postgres(one) => Self::Postgres(one),
        }
    }
}

/// A transaction: rolled back unless it is committed. Dereferenced, it runs queries.
#[derive(Debug)]
pub(crate) struct Transaction(TransactionConnection);

impl From<sqlx::Transaction<'static, Sqlite>> for Transaction {
    fn from(one: sqlx::Transaction<'static, Sqlite>) -> Self {
        Self(TransactionConnection::Sqlite(one))
    }
}

impl From<sqlx::Transaction<'static, Postgres>> for Transaction {
    fn from(one: sqlx::Transaction<'static, Postgres>) -> Self {
        Self(TransactionConnection::Postgres(one))
    }
}

impl Transaction {
    pub(crate) async fn commit(self) -> Result<(), sqlx::Error> {
        match self.0 {
            TransactionConnection::Sqlite(one) => one.commit().await,
            TransactionConnection::Postgres(one) => one.commit().await,
        }
    }
}

impl Deref for Transaction {
    type Target = TransactionConnection;

    fn deref(&self) -> &TransactionConnection {
        &self.0
    }
}

impl DerefMut for Transaction {
    fn deref_mut(&mut self) -> &mut TransactionConnection {
        &mut self.0
    }
}

/// Builds a statement with many rows.
#[derive(Debug)]
pub(crate) struct QueryBuilder {
    text: String,
    arguments: Vec<Argument>,
}

impl QueryBuilder {
    pub(crate) fn new(text: &str) -> Self {
        debug_assert!(!text.contains('?'), "question marks stand for arguments");
        Self {
            text: text.to_owned(),
            arguments: Vec::new(),
        }
    }

    /// Adds words.
    pub(crate) fn push(&mut self, text: &str) -> &mut Self {
        debug_assert!(!text.contains('?'), "question marks stand for arguments");
        self.text.push_str(text);
        self
    }

    /// For a list with this between its parts.
    pub(crate) fn separated<'b>(&'b mut self, separator: &'static str) -> Separated<'b> {
        Separated {
            builder: self,
            separator,
            is_first: true,
        }
    }

    /// Adds `VALUES (…), (…)`: the arguments of each row are pushed by `push_row`.
    pub(crate) fn push_values<T>(
        &mut self,
        rows: impl IntoIterator<Item = T>,
        mut push_row: impl FnMut(Separated<'_>, T),
    ) {
        self.text.push_str("VALUES ");
        for (number, row) in rows.into_iter().enumerate() {
            self.text.push_str(if number == 0 { "(" } else { ", (" });
            push_row(self.separated(", "), row);
            self.text.push(')');
        }
    }

    pub(crate) fn build(&mut self) -> Query {
        Query {
            text: SqlText::Built(std::mem::take(&mut self.text)),
            arguments: std::mem::take(&mut self.arguments),
        }
    }
}

/// Parts of a list.
#[derive(Debug)]
pub(crate) struct Separated<'b> {
    builder: &'b mut QueryBuilder,
    separator: &'static str,
    is_first: bool,
}

impl Separated<'_> {
    /// Adds an argument.
    pub(crate) fn push_bind(&mut self, value: impl Into<Argument>) -> &mut Self {
        if !std::mem::take(&mut self.is_first) {
            self.builder.text.push_str(self.separator);
        }
        self.builder.text.push('?');
        self.builder.arguments.push(value.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_with_rows_has_an_argument_for_each_value() {
        let mut insert = QueryBuilder::new("INSERT INTO t (a, b) ");
        insert.push_values([(1_i64, "x"), (2, "y\0")], |mut row, (a, b)| {
            row.push_bind(a).push_bind(b);
        });
        let built = insert.build();
        let SqlText::Built(text) = &built.text else {
            panic!("{built:?}");
        };
        assert_eq!(text, "INSERT INTO t (a, b) VALUES (?, ?), (?, ?)");
        assert_eq!(
            numbered(text),
            "INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4)"
        );
        assert_eq!(built.arguments[3], Argument::Text(Some("y\0".to_owned())));
        assert_eq!(without_nul("y\0".to_owned()), "y\u{2400}");
    }
}
