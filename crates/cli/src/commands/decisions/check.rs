//! Whether records keep the rules, and everything that is wrong with those that do not.
//!
//! Takes what the strict parser refuses: nothing is lost for being wrong, and nothing that is wrong is passed over.

mod records;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};
use trunkline_runtime::decision_objects::{
    Family, Object, ObjectKind, ObjectName, Rule, Violation, git_internal, salvage,
};
use trunkline_runtime::{projected_objects, recorded_objects};

pub(super) use self::records::Records;
use crate::args::decisions::Decisions;
use crate::commands::decisions::found::Book;
use crate::commands::decisions::{lines, objects};
use crate::desk::place::Place;
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{BOLD, DIM, GREEN, RED, YELLOW, paint};
use crate::term::tell::{self, tell_page};
use crate::term::text::{count, one_line};

/// How many records of a kind are shown, with a fault and without, and how many faults of each, unless all are asked for.
const LISTED: usize = 100;
const FAULTS: usize = 20;
/// So much is written at once: a call for each line would take longer than the check.
const PIECE: usize = 64 * 1024;

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
pub(super) fn file(path: &Path, args: &Decisions) -> Result<Exit, Fault> {
    let mut records = Records::open(path)?;
    let mut family = Family::new();
    // A byte for each: what is no object needs no second look unless it is shown.
    let mut looks = Vec::new();
    records.each(|number, found| {
        let Ok(text) = found else {
            looks.push(Look::Unreadable);
            return Ok(());
        };
        let (checked, object) = checked(number, text);
        looks.push(match &object {
            Some(_) => Look::Object,
            None if checked.unreadable.is_some() => Look::Unreadable,
            None => Look::Broken,
        });
        family.extend(object);
        Ok(())
    })?;
    if looks.is_empty() {
        return Err(Fault::usage("there is nothing in it").hint(
            "a record is a line of JSON, as `trunkline decisions --json | jq -c '.decision // empty'` prints them",
        ));
    }
    let alone = looks.len() == 1;
    let mut wrong = by_name(&family);
    drop(family);
    let mut told = Told::new(args);
    let mut looks = looks.into_iter();
    records.each(|number, found| {
        // Another one than before only if somebody writes the file meanwhile.
        match looks.next() {
            Some(look @ (Look::Broken | Look::Unreadable)) if told.has_shown_enough() => {
                told.count(look);
                return Ok(());
            }
            _ => {}
        }
        let (mut checked, object) = match &found {
            Ok(text) => checked(number, text),
            Err((text, why)) => {
                (Checked { unreadable: Some(why.clone()), ..Checked::new(number, text) }, None)
            }
        };
        // Said where the name stands first; what has it too is told of there.
        for violation in object.and_then(|object| wrong.remove(&object.name())).unwrap_or_default() {
            match may_be_elsewhere(&violation.rule) {
                false => checked.violations.push(violation.rule.to_string()),
                // Of a record alone, everything that it names is.
                true if alone => {}
                true => checked.remarks.push(violation.rule.to_string()),
            }
        }
        told.tell(&checked)
    })?;
    told.end()
}

/// What the first look at a record has found.
#[derive(Clone, Copy)]
enum Look {
    /// An object, which the others may contradict.
    Object,
    /// Something is wrong with it.
    Broken,
    /// It is no record.
    Unreadable,
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

impl<'a> Checked<'a> {
    fn new(record: u64, original: &'a str) -> Self {
        Checked {
            version: 1,
            record,
            kind: String::new(),
            id: String::new(),
            unreadable: None,
            violations: Vec::new(),
            remarks: Vec::new(),
            original,
        }
    }
}

/// Judges one text by itself, and gives the object that it is, if nothing is wrong with it.
fn checked(number: u64, original: &str) -> (Checked<'_>, Option<Object>) {
    let mut checked = Checked::new(number, original);
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
pub(super) fn session(book: &Book, args: &Decisions, place: &Place) -> Result<Exit, Fault> {
    let mut told = Told::new(args);
    let taken_in = objects::taken_in(book);
    let mut wrong = by_name(&objects::all(book));
    let mut read = BTreeSet::new();
    for (seq, object) in recorded_objects(&book.log) {
        read.insert(seq);
        let original = object.print();
        // Said where the name stands first; what has it too is told of there.
        let (remarks, violations) =
            wrong.remove(&object.name()).unwrap_or_default().into_iter().partition(is_elsewhere);
        let lines = |found: Vec<Violation>| found.iter().map(|found| found.rule.to_string()).collect();
        told.tell(&Checked {
            kind: object.kind().to_string(),
            id: object.name().id.to_string(),
            violations: lines(violations),
            remarks: lines(remarks),
            ..Checked::new(seq, &original)
        })?;
    }
    // What follows from the log is no record; where it does not fit, that is told all the same.
    for (seq, object) in projected_objects(&book.log) {
        let Some(found) = wrong.remove(&object.name()) else { continue };
        let original = object.print();
        let (remarks, violations) = found.into_iter().partition(is_elsewhere);
        let lines = |found: Vec<Violation>| found.iter().map(|found| found.rule.to_string()).collect();
        told.tell(&Checked {
            kind: object.kind().to_string(),
            id: object.name().id.to_string(),
            violations: lines(violations),
            remarks: lines(remarks),
            ..Checked::new(seq, &original)
        })?;
    }
    for (seq, text) in taken_in {
        let (mut checked, object) = checked(seq, text);
        let found = object.and_then(|object| wrong.remove(&object.name())).unwrap_or_default();
        for violation in found {
            let told = violation.rule.to_string();
            match may_be_elsewhere(&violation.rule) {
                true => checked.remarks.push(told),
                false => checked.violations.push(told),
            }
        }
        told.tell(&checked)?;
    }
    // What can be read and contradicts what came before has been told of.
    for record in book.decided.unreadable.iter().filter(|record| !read.contains(&record.seq)) {
        told.tell(&Checked {
            kind: record.kind.clone(),
            id: record.run.clone().unwrap_or_default(),
            violations: record.faults.clone(),
            ..Checked::new(record.seq, &record.body)
        })?;
    }
    if told.records == 0 {
        tell_page(&format!("no run has begun in session {}: there is nothing to check\n", book.name));
        return Ok(Exit::Done);
    }
    let exit = told.end()?;
    if exit == Exit::Done && !args.json {
        let proof = place.command(&format!("doctor {}", book.name));
        tell::tell_command("that nothing was changed or dropped is proven by  ", &proof);
    }
    Ok(exit)
}

/// Whether it only names a decision that may stand in another session, as a rollback does.
fn is_elsewhere(violation: &Violation) -> bool {
    matches!(&violation.rule, Rule::Dangling { to, .. } if to.kind == ObjectKind::Decision)
}

/// Prints records one by one, and counts them.
struct Told {
    json: bool,
    /// How many are shown of those with a fault and of those without, and how many faults of each.
    listed: usize,
    faults: usize,
    records: usize,
    broken: usize,
    unreadable: usize,
    /// What is not written yet.
    pending: String,
}

impl Told {
    fn new(args: &Decisions) -> Self {
        let limit = |usual: usize| if args.full { usize::MAX } else { usual };
        Told {
            json: args.json,
            listed: limit(LISTED),
            faults: limit(FAULTS),
            records: 0,
            broken: 0,
            unreadable: 0,
            pending: String::new(),
        }
    }

    fn fine(&self) -> usize {
        self.records - self.broken - self.unreadable
    }

    /// Returns whether more with a fault are only counted.
    fn has_shown_enough(&self) -> bool {
        !self.json && self.broken + self.unreadable >= self.listed
    }

    fn count(&mut self, look: Look) {
        self.records += 1;
        self.broken += usize::from(matches!(look, Look::Broken));
        self.unreadable += usize::from(matches!(look, Look::Unreadable));
    }

    fn tell(&mut self, checked: &Checked<'_>) -> Result<(), Fault> {
        self.records += 1;
        self.broken += usize::from(!checked.violations.is_empty());
        self.unreadable += usize::from(checked.unreadable.is_some());
        let is_fine = checked.violations.is_empty() && checked.unreadable.is_none();
        let alike = if is_fine { self.fine() } else { self.broken + self.unreadable };
        if self.json {
            self.pending.push_str(&lines::line(checked));
        } else if alike <= self.listed {
            self.show(checked);
        }
        if self.pending.len() >= PIECE { self.write() } else { Ok(()) }
    }

    fn show(&mut self, checked: &Checked<'_>) {
        let standing = match (&checked.unreadable, checked.violations.len()) {
            (Some(_), _) => paint(YELLOW, "unreadable"),
            (None, 0) => paint(GREEN, "ok"),
            (None, number) => paint(RED, &count(number, "violation")),
        };
        let named = format!("{} {}", one_line(&checked.kind, 30), one_line(&checked.id, 40));
        let number = paint(DIM, &format!("{:>4}", checked.record));
        let shown = &mut self.pending;
        shown.push_str(&format!("{number}  {}  {standing}\n", paint(BOLD, named.trim())));
        let faults = checked.unreadable.iter().chain(&checked.violations);
        for line in faults.take(self.faults) {
            shown.push_str(&format!("      {}\n", one_line(line, 300)));
        }
        for remark in checked.remarks.iter().take(self.faults) {
            shown.push_str(&format!("      {}\n", paint(DIM, &one_line(remark, 300))));
        }
        let more =
            [&checked.violations, &checked.remarks].map(|lines| lines.len().saturating_sub(self.faults));
        if more != [0, 0] {
            let more = format!("… {} more; --full shows all", more.iter().sum::<usize>());
            shown.push_str(&format!("      {}\n", paint(DIM, &more)));
        }
    }

    fn write(&mut self) -> Result<(), Fault> {
        let pending = std::mem::take(&mut self.pending);
        match self.json {
            true => out::print_lines(pending.as_bytes()),
            false => out::print_page(&pending),
        }
    }

    /// Sums up, and says how the program ends.
    fn end(mut self) -> Result<Exit, Fault> {
        if !self.json {
            let kinds = [(self.broken + self.unreadable, "with a fault"), (self.fine(), "without a fault")];
            for (number, what) in kinds {
                let more = number.saturating_sub(self.listed);
                if more > 0 {
                    let more = format!("… {} {what}; --full shows all", count(more, "more record"));
                    self.pending.push_str(&format!("{}\n", paint(DIM, &more)));
                }
            }
        }
        self.write()?;
        if !self.json {
            let unreadable = match self.unreadable {
                0 => String::new(),
                number => format!(", {number} cannot be read"),
            };
            let told = count(self.records, "record");
            tell_page(&format!("{told}: {} ok, {} with violations{unreadable}\n", self.fine(), self.broken));
        }
        Ok(match (self.broken, self.unreadable) {
            (0, 0) => Exit::Done,
            (0, _) => Exit::Failure,
            _ => Exit::Broken,
        })
    }
}
