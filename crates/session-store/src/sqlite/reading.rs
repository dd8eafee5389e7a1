//! Reading records: many in one row.
//!
//! Each row that comes from the database crosses from its thread to ours, which costs more than reading it. So SQLite
//! joins some records into one text, and we take it apart: a line of numbers, one of names where there are any, and the
//! body, which is JSON and so has no line breaks.

use std::collections::HashMap;
use std::path::Path;

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqlitePool};

use super::fault::store_error;
use super::rows::{RecordRow, get, read, stored};
use crate::cut::join;
use crate::{Digest, Spine, StoreError};

/// How many records SQLite joins into one row.
pub(super) const PER_ROW: u64 = 64;

/// Joins the records `?2 < seq <= ?3` of session `?1`, of which there is at least one; with their digests if `?4`.
pub(super) const JOINED: &str = "
WITH RECURSIVE part(first) AS (SELECT ?2 UNION ALL SELECT first + 64 FROM part WHERE first + 64 < ?3)
SELECT (
    SELECT group_concat(line, char(10)) FROM (
        SELECT seq || ' ' || kind || ' ' || ifnull(node, '-') || ' ' || ifnull(parent, '-') || ' ' || at || ' '
               || ifnull(cuts, '-') || ' ' || iif(?4, hex(digest), '-')
               || CASE WHEN layer IS NULL THEN '' ELSE ' ' || json_array(layer, name, key, state, once) END
               || char(10) || ifnull(json, '') AS line
        FROM records LEFT JOIN bodies USING (body)
        WHERE session = ?1 AND seq > first AND seq <= min(first + 64, ?3)
        ORDER BY seq
    )
) FROM part";

/// A record in a joined row.
pub(super) struct Joined<'a> {
    pub(super) seq: u64,
    pub(super) spine: Spine,
    pub(super) digest: Option<Digest>,
    pub(super) body: &'a str,
    /// Whether large strings were cut out of the body.
    pub(super) is_cut: bool,
}

/// Takes a joined row apart. An error has the number of the record, as far as that can be read.
pub(super) fn take_apart(text: &str) -> impl Iterator<Item = Result<Joined<'_>, (Option<u64>, String)>> {
    let mut lines = text.split('\n');
    std::iter::from_fn(move || {
        let first = lines.next()?;
        Some(match lines.next() {
            Some(body) => one(first, body),
            None => Err((None, "its body is missing".to_owned())),
        })
    })
}

fn one<'a>(line: &str, body: &'a str) -> Result<Joined<'a>, (Option<u64>, String)> {
    let mut words = line.splitn(8, ' ');
    let mut word = || words.next().unwrap_or_default();
    let number = |word: &str| word.parse::<i64>().map_err(|_| format!("{word:?} is not a number"));
    let seq = read(number(word()).map_err(|reason| (None, reason))?);
    let maybe = |word: &str| if word == "-" { Ok(None) } else { number(word).map(Some) };
    let mut inner = || -> Result<Joined<'a>, String> {
        let (kind, node, parent) = (number(word())?, maybe(word())?, maybe(word())?);
        let (at, cuts) = (number(word())?, maybe(word())?);
        let digest = match word() {
            "-" => None,
            word => Some(Digest::parse(&word.to_ascii_lowercase()).map_err(|error| error.to_string())?),
        };
        let (layer, name, key, state, once) = match word() {
            "" => (None, None, None, None, None),
            names => serde_json::from_str::<Names>(names).map_err(|error| error.to_string())?,
        };
        let once = once.map(|once| once != 0);
        let spine = RecordRow { kind, node, parent, at, layer, name, key, state, once }.spine()?;
        if body.is_empty() {
            return Err("its body is missing".to_owned());
        }
        Ok(Joined { seq, spine, digest, body, is_cut: cuts.is_some() })
    };
    inner().map_err(|reason| (Some(seq), reason))
}

type Names = (Option<String>, Option<String>, Option<String>, Option<String>, Option<i64>);

/// What was cut out of the bodies of some records, by their numbers.
#[derive(Default)]
pub(super) struct Cuts(HashMap<u64, Vec<(usize, String)>>);

impl Cuts {
    /// Reads what was cut out of the records `after < seq <= until`.
    pub(super) async fn read(
        readers: &SqlitePool,
        path: &Path,
        session: i64,
        after: u64,
        until: u64,
    ) -> Result<Self, StoreError> {
        let query = "SELECT seq, place, text FROM records JOIN cuts USING (body) JOIN parts USING (part)
                     WHERE session = ? AND seq > ? AND seq <= ? AND records.cuts IS NOT NULL ORDER BY seq, place";
        let query = sqlx::query(query).bind(session).bind(stored(after)).bind(stored(until));
        let found = query.fetch_all(readers).await.map_err(|error| store_error(path, error))?;
        let mut cuts = Cuts::default();
        for row in &found {
            cuts.add(row)
                .map_err(|reason| StoreError::Corrupt { place: path.display().to_string(), reason })?;
        }
        Ok(cuts)
    }

    fn add(&mut self, row: &SqliteRow) -> Result<(), String> {
        let place: i64 = get(row, "place")?;
        let place = usize::try_from(place).map_err(|_| format!("a part stands at {place}"))?;
        let seq = read(get(row, "seq")?);
        let text: String = row.try_get("text").map_err(|error| error.to_string())?;
        self.0.entry(seq).or_default().push((place, text));
        Ok(())
    }

    /// Puts the body of a record together again.
    pub(super) fn join(&self, seq: u64, rest: &str) -> Result<String, String> {
        let parts = self.0.get(&seq).map(Vec::as_slice).unwrap_or_default();
        let parts: Vec<(usize, &str)> = parts.iter().map(|(place, text)| (*place, text.as_str())).collect();
        if parts.is_empty() {
            return Err("a part of its body is missing".to_owned());
        }
        join(rest, &parts).ok_or_else(|| "a part of its body has no place".to_owned())
    }
}
