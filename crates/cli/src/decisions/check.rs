//! Whether records keep the rules, and everything that is wrong with those that do not.
//!
//! Takes what the strict parser refuses: nothing is lost for being wrong, and nothing that is wrong is passed over.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use trunkline_runtime::decision_objects::{
    Family, Object, ObjectKind, ObjectName, Rule, Violation, git_internal, salvage,
};
use trunkline_runtime::{family, recorded_objects};

use super::found::Book;
use super::lines;
use crate::fault::{Exit, Fault};
use crate::paint::{self, BOLD, DIM, GREEN, RED, YELLOW, paint, tell};
use crate::place::Place;
use crate::text::{count, one_line};

/// What a file may have at most: the largest stores have less of these.
const MOST: u64 = 256 * 1024 * 1024;

/// A record, and what is wrong with it.
#[derive(Serialize)]
struct Checked<'a> {
    version: u32,
    /// Its line in the file, or its number in the log.
    record: u64,
    /// What it says it is; empty if it says nothing.
    kind: String,
    /// Its name.
    id: String,
    /// Why it is no record at all.
    unreadable: Option<String>,
    violations: Vec<String>,
    /// What is worth a word and breaks no rule.
    remarks: Vec<String>,
    /// Byte for byte.
    original: &'a str,
}

/// `trunkline decisions --check FILE`.
pub(super) fn file(path: &Path, json: bool) -> Result<Exit, Fault> {
    let text = read(path)?;
    // One record may go over many lines; then the first of them is none by itself.
    let whole = serde_json::from_str::<&RawValue>(&text).map(RawValue::get);
    let records: Vec<(u64, &str)> = match whole {
        Ok(whole) => vec![(1, whole)],
        Err(_) => (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()).collect(),
    };
    if records.is_empty() {
        return Err(Fault::usage("there is nothing in it").hint("a record is a line of JSON"));
    }
    let alone = records.len() == 1;
    let mut family = Family::new();
    let mut all = Vec::with_capacity(records.len());
    for (number, original) in records {
        let (checked, object) = checked(number, original);
        all.push((checked, object.as_ref().map(Object::name)));
        family.extend(object);
    }
    let mut wrong = by_name(&family);
    let mut told = Told::default();
    for (mut checked, name) in all {
        // Said where the name stands first; what has it too is told of there.
        for violation in name.and_then(|name| wrong.remove(&name)).unwrap_or_default() {
            match may_be_elsewhere(&violation.rule) {
                false => checked.violations.push(violation.rule.to_string()),
                // Of a record alone, everything that it names is.
                true if alone => {}
                true => checked.remarks.push(violation.rule.to_string()),
            }
        }
        told.tell(&checked, json)?;
    }
    Ok(told.end(json))
}

/// Whether it is wrong only as long as nothing is missing: a file holds what somebody put into it.
const fn may_be_elsewhere(rule: &Rule) -> bool {
    matches!(
        rule,
        Rule::Dangling { .. }
            | Rule::UnknownStep { plan: None, .. }
            | Rule::PredecessorUndecided { .. }
            | Rule::OutOfOrder { .. }
            | Rule::UsageSum { .. }
    )
}

fn by_name(family: &Family) -> BTreeMap<ObjectName, Vec<Violation>> {
    let mut wrong: BTreeMap<ObjectName, Vec<Violation>> = BTreeMap::new();
    for violation in family.violations() {
        wrong.entry(violation.object).or_default().push(violation);
    }
    wrong
}

fn read(path: &Path) -> Result<String, Fault> {
    let shown = one_line(&path.display().to_string(), 120);
    let cannot = |error: std::io::Error| Fault::new(format!("cannot read {shown}: {error}"));
    let source: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(std::fs::File::open(path).map_err(cannot)?),
    };
    let mut bytes = Vec::new();
    source.take(MOST + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > MOST {
        return Err(Fault::new(format!("{shown} has more than {} MiB", MOST / 1024 / 1024))
            .hint("check it in parts: a record is a line"));
    }
    String::from_utf8(bytes).map_err(|error| Fault::new(format!("{shown} is not UTF-8: {error}")))
}

/// Judges one text by itself, and gives the object that it is, if nothing is wrong with it.
fn checked(number: u64, original: &str) -> (Checked<'_>, Option<Object>) {
    let mut checked = Checked {
        version: 1,
        record: number,
        kind: String::new(),
        id: String::new(),
        unreadable: None,
        violations: Vec::new(),
        remarks: Vec::new(),
        original,
    };
    let fields: Map<String, Value> = match serde_json::from_str(original) {
        Ok(fields) => fields,
        Err(fault) => {
            checked.unreadable = Some(format!("it is no JSON object: {fault}"));
            return (checked, None);
        }
    };
    let word = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
    let json = original.as_bytes();
    if fields.contains_key("object_type") || fields.contains_key("object_id") {
        checked.kind = word("object_type").unwrap_or_default();
        checked.id = word("object_id").unwrap_or_default();
        let object = match git_internal::import(json) {
            Ok(imported) => {
                for violation in imported.violations {
                    let told = violation.to_string();
                    match violation.is_harmless() {
                        true => checked.remarks.push(told),
                        false => checked.violations.push(told),
                    }
                }
                imported.object
            }
            Err(fault) => {
                checked.violations.push(fault.to_string());
                None
            }
        };
        return (checked, object);
    }
    checked.kind = word("type").unwrap_or_default();
    checked.id = word("id").unwrap_or_default();
    if checked.kind.is_empty() {
        checked.unreadable = Some("it has neither `type` nor `object_type`".to_owned());
        return (checked, None);
    }
    let salvaged = salvage(json);
    checked.violations = salvaged.faults.iter().map(ToString::to_string).collect();
    (checked, salvaged.object)
}

/// `trunkline decisions --check`, of a session.
pub(super) fn session(book: &Book, json: bool, place: &Place) -> Result<Exit, Fault> {
    let mut told = Told::default();
    let mut wrong = by_name(&family(&book.log));
    let mut read = BTreeSet::new();
    for (seq, object) in recorded_objects(&book.log) {
        read.insert(seq);
        let original = object.print();
        // Said where the name stands first; what has it too is told of there.
        let (remarks, violations) =
            wrong.remove(&object.name()).unwrap_or_default().into_iter().partition(is_elsewhere);
        let lines = |found: Vec<Violation>| found.iter().map(|found| found.rule.to_string()).collect();
        let checked = Checked {
            version: 1,
            record: seq,
            kind: object.kind().to_string(),
            id: object.name().id.to_string(),
            unreadable: None,
            violations: lines(violations),
            remarks: lines(remarks),
            original: &original,
        };
        told.tell(&checked, json)?;
    }
    // What can be read and contradicts what came before has been told of.
    for record in book.decided.unreadable.iter().filter(|record| !read.contains(&record.seq)) {
        let checked = Checked {
            version: 1,
            record: record.seq,
            kind: record.kind.clone(),
            id: record.run.clone().unwrap_or_default(),
            unreadable: None,
            violations: record.faults.clone(),
            remarks: Vec::new(),
            original: &record.body,
        };
        told.tell(&checked, json)?;
    }
    if told.records == 0 {
        tell(&format!("no run has begun in session {}: there is nothing to check\n", book.name));
        return Ok(Exit::Done);
    }
    let exit = told.end(json);
    if exit == Exit::Done && !json {
        let proof = place.command(&format!("doctor {}", book.name));
        tell(&paint(DIM, &format!("  that nothing was changed or dropped is proven by  {proof}\n")));
    }
    Ok(exit)
}

/// Whether it only names a decision that may stand in another session, as a rollback does.
fn is_elsewhere(violation: &Violation) -> bool {
    matches!(&violation.rule, Rule::Dangling { to, .. } if to.kind == ObjectKind::Decision)
}

/// Prints records one by one, and counts them.
#[derive(Default)]
struct Told {
    records: usize,
    broken: usize,
    unreadable: usize,
}

impl Told {
    fn tell(&mut self, checked: &Checked<'_>, json: bool) -> Result<(), Fault> {
        self.records += 1;
        self.broken += usize::from(!checked.violations.is_empty());
        self.unreadable += usize::from(checked.unreadable.is_some());
        if json {
            return paint::print_lines(lines::line(checked).as_bytes());
        }
        let standing = match (&checked.unreadable, checked.violations.len()) {
            (Some(_), _) => paint(YELLOW, "unreadable"),
            (None, 0) => paint(GREEN, "ok"),
            (None, number) => paint(RED, &count(number, "violation")),
        };
        let named = format!("{} {}", one_line(&checked.kind, 30), one_line(&checked.id, 40));
        let number = paint(DIM, &format!("{:>4}", checked.record));
        let mut shown = format!("{number}  {}  {standing}\n", paint(BOLD, named.trim()));
        for line in checked.unreadable.iter().chain(&checked.violations) {
            shown.push_str(&format!("      {}\n", one_line(line, 300)));
        }
        for remark in &checked.remarks {
            shown.push_str(&format!("      {}\n", paint(DIM, &one_line(remark, 300))));
        }
        paint::print(&shown)
    }

    /// Sums up, and says how the program ends.
    fn end(&self, json: bool) -> Exit {
        if !json {
            let fine = self.records - self.broken - self.unreadable;
            let unreadable = match self.unreadable {
                0 => String::new(),
                number => format!(", {number} cannot be read"),
            };
            let told = count(self.records, "record");
            tell(&format!("{told}: {fine} ok, {} with violations{unreadable}\n", self.broken));
        }
        match (self.broken, self.unreadable) {
            (0, 0) => Exit::Done,
            (0, _) => Exit::Failure,
            _ => Exit::Broken,
        }
    }
}
