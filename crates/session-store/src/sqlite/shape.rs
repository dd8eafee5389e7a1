//! What a database says of its own tables, compared with what this program makes.
//!
//! SQLite reads a schema in which single bytes have changed: a table is not found any more, or is taken for another one, and
//! the driver's thread dies over the name of a column that is not text. So nobody reads from tables before this was compared.

use std::collections::BTreeSet;

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::answer::Ask;

/// What SQLite makes by itself for numbers that are never given again.
const SEQUENCE: &str = "CREATE TABLE sqlite_sequence(name,seq)";

/// A table or an index, as the schema has it. Its words may be no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    kind: Vec<u8>,
    name: Vec<u8>,
    table: Vec<u8>,
    /// The page that it begins on.
    root: i64,
    sql: Option<Vec<u8>>,
}

/// The schema of a database.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    objects: Vec<Object>,
    pages: i64,
}

impl Shape {
    /// Reads it, without a look at any table.
    pub(super) async fn read(connection: &mut SqliteConnection) -> sqlx::Result<Self> {
        // As bytes: what is damaged must not be taken for text.
        let query = "SELECT CAST(type AS BLOB), CAST(name AS BLOB), CAST(tbl_name AS BLOB), rootpage, CAST(sql AS BLOB)
                     FROM sqlite_schema ORDER BY rowid";
        let objects = sqlx::query(query).all_rows(&mut *connection).await?.iter().map(object).collect();
        let pages = sqlx::query("SELECT page_count FROM pragma_page_count").value(connection).await?;
        Ok(Shape { objects, pages })
    }

    /// Returns what is wrong with it, where these are the statements that make such a schema; without any, only whether all
    /// of it is text.
    pub(super) fn damage(&self, statements: &[&str]) -> Option<String> {
        let words = |object: &Object| {
            let Object { kind, name, table, sql, .. } = object;
            [Some(kind), Some(name), Some(table), sql.as_ref()]
                .into_iter()
                .flatten()
                .all(|word| is_text(word))
        };
        if let Some(object) = self.objects.iter().find(|object| !words(object)) {
            let name = String::from_utf8_lossy(&object.name);
            return Some(format!("its schema is damaged: what it says of {name:?} is no text"));
        }
        let mut roots = BTreeSet::new();
        for made in made_by(statements) {
            let (kind, name) = (text(&made.kind), text(&made.name));
            let found = self.objects.iter().find(|object| object.name == made.name);
            let Some(found) = found else {
                return Some(format!("its schema is damaged: {kind} {name} is missing"));
            };
            if (Object { root: 0, ..found.clone() }) != made {
                return Some(format!("its schema is damaged: {kind} {name} is not as it was made"));
            }
            // The first page is that of the schema itself.
            if !(2..=self.pages).contains(&found.root) || !roots.insert(found.root) {
                let root = found.root;
                return Some(format!("its schema is damaged: {kind} {name} cannot begin on page {root}"));
            }
        }
        None
    }

    /// Returns whether they were these statements that made it, whatever has become of a part of it.
    pub(super) fn is_made_by(&self, statements: &[&str]) -> bool {
        let made = made_by(statements);
        let same = |object: &&Object| made.contains(&Object { root: 0, ..Object::clone(object) });
        self.objects.len() >= made.len() && self.objects.iter().filter(same).count() > made.len() / 2
    }

    /// Returns on which page each of those begins that the statements make, as far as what is left says so. One that is
    /// damaged is known by its name, by its statement, or as the only one that is left.
    pub(super) fn roots(&self, statements: &[&str]) -> Option<Vec<(String, i64)>> {
        let mut left: Vec<&Object> = self.objects.iter().collect();
        let mut missing = made_by(statements);
        let mut roots = Vec::new();
        let ways: [fn(&Object, &Object) -> bool; 4] = [
            |made, found| made.name == found.name && made.table == found.table,
            |made, found| made.sql.is_some() && made.sql == found.sql,
            |made, found| {
                made.name == found.name
                    || made.sql.is_none()
                        && (&made.kind, &made.table, &made.sql) == (&found.kind, &found.table, &found.sql)
            },
            |made, found| made.name.len() == found.name.len() && made.sql.is_some() == found.sql.is_some(),
        ];
        for fits in ways {
            missing.retain(|made| {
                let Some(place) = left.iter().position(|found| fits(made, found)) else { return true };
                roots.push((text(&made.name), left.remove(place).root));
                false
            });
        }
        missing.is_empty().then_some(roots)
    }
}

fn object(row: &SqliteRow) -> Object {
    let bytes = |column: usize| row.try_get::<Option<Vec<u8>>, _>(column).unwrap_or_default();
    Object {
        kind: bytes(0).unwrap_or_default(),
        name: bytes(1).unwrap_or_default(),
        table: bytes(2).unwrap_or_default(),
        root: row.try_get(3).unwrap_or_default(),
        sql: bytes(4),
    }
}

/// Returns what such statements make, with what SQLite makes for it.
fn made_by(statements: &[&str]) -> Vec<Object> {
    let mut made = Vec::new();
    for sql in statements.iter().flat_map(|part| part.split(';')).map(str::trim).filter(|sql| !sql.is_empty())
    {
        let mut words = sql.split_whitespace().skip(1);
        let (kind, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let table = if kind == "INDEX" { words.nth(1).unwrap_or_default() } else { name };
        made.push(new_object(kind, name, table, Some(sql)));
        if sql.contains("UNIQUE") {
            made.push(new_object("index", &format!("sqlite_autoindex_{name}_1"), name, None));
        }
        if sql.contains("AUTOINCREMENT") {
            made.push(new_object("table", "sqlite_sequence", "sqlite_sequence", Some(SEQUENCE)));
        }
    }
    made
}

fn new_object(kind: &str, name: &str, table: &str, sql: Option<&str>) -> Object {
    Object {
        kind: kind.to_ascii_lowercase().into_bytes(),
        name: name.as_bytes().to_vec(),
        table: table.as_bytes().to_vec(),
        root: 0,
        sql: sql.map(|sql| sql.as_bytes().to_vec()),
    }
}

fn is_text(word: &[u8]) -> bool {
    std::str::from_utf8(word).is_ok_and(|word| !word.contains('\0'))
}

fn text(word: &[u8]) -> String {
    String::from_utf8_lossy(word).into_owned()
}
