//! Copies of a damaged database to read from, each with another opinion on which of its pages are right.
//!
//! A copy is one plain file: the database with the pages of its write-ahead log laid over it. The first is what SQLite
//! reads. The second takes the whole log but for damaged frames, also what comes after them; whether that is what was
//! written is for the digests to say. The third takes nothing of the log, which may be that of another database. The others
//! have a new first page, for when the old one cannot be read.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::source;
use crate::StoreError;
use crate::sqlite::answer;
use crate::sqlite::aside::beside;
use crate::sqlite::fault::{io_error, store_error};
use crate::sqlite::leases::private_file;
use crate::sqlite::shape::Shape;
use crate::sqlite::wal::{Frames, PAGE_SIZE};
use crate::sqlite::{opening, schema};

/// How a copy is made.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct View {
    /// How much of the write-ahead log is taken.
    log: Log,
    /// Whether it gets the first page of a new database.
    new_first_page: bool,
}

/// How much of the write-ahead log is taken.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Log {
    /// What SQLite reads.
    Read,
    /// All of it but for damaged frames.
    Whole,
    /// Nothing: it may be that of another database.
    None,
}

/// In the order in which they are believed.
pub(super) const VIEWS: [View; 5] = [
    View { log: Log::Read, new_first_page: false },
    View { log: Log::Whole, new_first_page: false },
    View { log: Log::None, new_first_page: false },
    View { log: Log::Read, new_first_page: true },
    View { log: Log::Whole, new_first_page: true },
];

/// A copy that is open.
pub(super) struct Copy {
    pub(super) connection: SqliteConnection,
}

impl View {
    /// Makes the copy and opens it; nothing if it is no database of sessions.
    pub(super) async fn open(self, database: &Path, folder: &Path) -> Result<Option<Copy>, StoreError> {
        let name = format!("view-{}-{}.db", self.log as u8, u8::from(self.new_first_page));
        let copy = folder.join(name);
        let first_page = if self.new_first_page { Some(new_first_page(folder, &[]).await?) } else { None };
        self.copy(database, &copy, first_page).map_err(|error| io_error(&copy, &error))?;
        let Some(mut connection) = reader(&copy).await else { return Ok(None) };
        let Ok(shape) = Shape::read(&mut connection).await else { return Ok(None) };
        let made = [schema::VERSION, schema::LETTERS_SEALED, schema::SEALED, 2]
            .map(schema::statements)
            .into_iter()
            .find(|made| shape.is_made_by(made));
        let made = made.unwrap_or_default();
        if shape.damage(made).is_some() {
            // The tables are where they were; what is said of them is made anew.
            let _ = answer::close(connection).await;
            let roots = shape.roots(made).filter(|roots| !roots.is_empty());
            let Some(roots) = roots else { return Ok(None) };
            let first_page = Some(new_first_page(folder, &roots).await?);
            self.copy(database, &copy, first_page).map_err(|error| io_error(&copy, &error))?;
            let Some(again) = reader(&copy).await else { return Ok(None) };
            connection = again;
            let shape = Shape::read(&mut connection).await;
            if !shape.is_ok_and(|shape| shape.damage(made).is_none()) {
                return Ok(None);
            }
        }
        // Its marks may be what is damaged, so the tables decide.
        let is_ours = !source::sessions(&mut connection).await.found.is_empty();
        Ok(is_ours.then_some(Copy { connection }))
    }

    fn copy(self, database: &Path, to: &Path, first_page: Option<Vec<u8>>) -> io::Result<()> {
        let mut file = private_file().create(true).truncate(true).open(to)?;
        match File::open(database) {
            Ok(mut from) => io::copy(&mut from, &mut file).map(drop)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let log = beside(database, "-wal");
        let until = self.until(&log)?;
        let mut pages = None;
        if let Some(mut frames) = Frames::open(&log)? {
            let page_size = frames.page_size() as u64;
            let mut number = 0;
            while number < until
                && let Some(frame) = frames.next()?
            {
                number += 1;
                if frame.follows || self.log == Log::Whole && frame.sound {
                    file.seek(SeekFrom::Start(u64::from(frame.page - 1) * page_size))?;
                    file.write_all(frame.data)?;
                    if frame.commit > 0 {
                        pages = Some(frame.commit);
                    }
                }
            }
            if let Some(pages) = pages.filter(|_| self.log == Log::Read) {
                file.set_len(u64::from(pages) * page_size)?;
            }
        }
        // A page behind the end of a file that was cut off is one of zeros in this copy: a table that begins there cannot be
        // read, and those before it can. Where that fails, as far as it goes.
        let length = file.metadata()?.len();
        if let Some(whole) = opening::length_in(&opening::first_bytes(to)?).filter(|whole| *whole > length) {
            let _ = file.set_len(whole);
        }
        if let Some(mut first_page) = first_page {
            let length = file.metadata()?.len();
            let pages = u32::try_from(length.div_ceil(PAGE_SIZE as u64)).unwrap_or(u32::MAX);
            // The number of pages; sqlite.org/fileformat2.html#the_database_header, read 2026-11.
            if let Some(count) = first_page.get_mut(28..32) {
                count.copy_from_slice(&pages.to_be_bytes());
            }
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&first_page)?;
        } else if file.metadata()?.len() > 20 {
            // A plain file has no write-ahead log.
            file.seek(SeekFrom::Start(18))?;
            file.write_all(&[1, 1])?;
        }
        Ok(())
    }

    /// Returns how many frames of a log are taken.
    fn until(self, log: &Path) -> io::Result<u64> {
        let Some(mut frames) = Frames::open(log)?.filter(|_| self.log != Log::None) else { return Ok(0) };
        let (mut number, mut until) = (0, 0);
        let has_header = frames.has_header;
        while let Some(frame) = frames.next()? {
            number += 1;
            let taken = match self.log {
                Log::Whole => frame.same_log || !has_header,
                Log::Read | Log::None => frame.follows,
            };
            if taken && frame.commit > 0 {
                until = number;
            }
        }
        Ok(until)
    }
}

/// Opens a copy to be read as far as it goes.
async fn reader(copy: &Path) -> Option<SqliteConnection> {
    let options = SqliteConnectOptions::new()
        .filename(copy)
        // It is a copy: a header that promises more pages than there are is no reason not to read the others.
        .pragma("writable_schema", "ON")
        .foreign_keys(false)
        .disable_statement_logging();
    SqliteConnection::connect_with(&options).await.ok()
}

/// Returns the first page of a new database, as a plain file has it, whose tables begin where they are said to.
async fn new_first_page(folder: &Path, roots: &[(String, i64)]) -> Result<Vec<u8>, StoreError> {
    let path = folder.join("empty.db");
    let mut connection = create(&path).await?;
    let fault = |error| store_error(&path, error);
    if !roots.is_empty() {
        let query = sqlx::raw_sql("PRAGMA writable_schema = ON");
        query.execute(&mut connection).await.map_err(fault)?;
    }
    if !roots.is_empty() {
        // A table that an older version has not begins nowhere.
        let names: Vec<&str> = roots.iter().map(|(name, _)| name.as_str()).collect();
        let query = "DELETE FROM sqlite_schema WHERE name NOT IN (SELECT value FROM json_each(?))";
        let query = sqlx::query(query).bind(serde_json::to_string(&names).expect("words are JSON"));
        query.execute(&mut connection).await.map_err(fault)?;
    }
    for (name, root) in roots {
        let query = sqlx::query("UPDATE sqlite_schema SET rootpage = ? WHERE name = ?").bind(root).bind(name);
        query.execute(&mut connection).await.map_err(fault)?;
    }
    answer::close(connection).await.map_err(|error| store_error(&path, error))?;
    let mut page = fs::read(&path).map_err(|error| io_error(&path, &error))?;
    page.truncate(PAGE_SIZE);
    if let Some(versions) = page.get_mut(18..20) {
        versions.fill(1);
    }
    fs::remove_file(&path).map_err(|error| io_error(&path, &error))?;
    Ok(page)
}

/// Makes a new database of the current schema.
pub(super) async fn create(path: &PathBuf) -> Result<SqliteConnection, StoreError> {
    private_file().create(true).truncate(true).open(path).map_err(|error| io_error(path, &error))?;
    let options = SqliteConnectOptions::new().filename(path).disable_statement_logging();
    let mut connection =
        SqliteConnection::connect_with(&options).await.map_err(|error| store_error(path, error))?;
    schema::prepare(&mut connection, path, false).await?;
    Ok(connection)
}
