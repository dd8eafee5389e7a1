//! `trunkline decisions --export`: the objects of a session in the form of another system, and what is lost by that.
//!
//! What came in that form goes out as it came. Nothing that has no place there is made up: it is told.

use std::collections::BTreeMap;

use trunkline_runtime::decision_objects::git_internal::{Kind, NoForm, export};
use trunkline_runtime::decision_objects::{Family, Object, RunId};
use trunkline_session_store::SessionStore;

use crate::args::decisions::Decisions;
use crate::commands::decisions::found::{Book, Known};
use crate::commands::decisions::objects::{self, is_git_internal, taken_in};
use crate::files::new_file;
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{CYAN, DIM, YELLOW, paint};
use crate::term::tell::tell_page;
use crate::term::text::{count, one_line};

/// How many of those that were left out are named.
const NAMED: usize = 20;

/// What an export has come to.
#[derive(Default)]
struct Out {
    text: String,
    written: usize,
    left_out: Vec<String>,
    /// Whether a run is among them that has no task.
    lacks_task: bool,
    /// What was lost, by the kind of the object and the key, and of how many.
    lost: BTreeMap<(String, String), usize>,
}

/// Writes those of a session, or of one run of it.
pub(super) fn one(args: &Decisions, book: &Book, run: Option<RunId>) -> Result<Exit, Fault> {
    let mut out = Out::default();
    out.add(book, run);
    out.end(args)
}

/// Writes those of all sessions, the oldest first.
pub(super) async fn all(args: &Decisions, store: &dyn SessionStore, known: &Known) -> Result<Exit, Fault> {
    let mut out = Out::default();
    for info in known.sessions.iter().rev() {
        out.add(&Book::load(store, known, info).await?, None);
    }
    out.end(args)
}

impl Out {
    fn add(&mut self, book: &Book, run: Option<RunId>) {
        let taken_in = taken_in(book);
        // What came in our own form is one of ours, whoever made it.
        let mut own = objects::own(book);
        let ours = taken_in.iter().filter(|(_, json)| !is_git_internal(json));
        own.extend(ours.filter_map(|(_, json)| objects::read(json).ok().flatten()));
        self.project(&match run {
            Some(run) => objects::of_run(&own, run),
            None => own,
        });
        for (_, json) in taken_in.into_iter().filter(|(_, json)| is_git_internal(json)) {
            let is_meant = |wanted: RunId| {
                objects::read(json).ok().flatten().as_ref().and_then(Object::run) == Some(wanted)
            };
            if run.is_none_or(is_meant) {
                self.text.push_str(json);
                self.text.push('\n');
                self.written += 1;
            }
        }
    }

    fn project(&mut self, family: &Family) {
        for one in export(family) {
            match one.projected {
                Ok(projected) => {
                    self.text.push_str(&projected.json);
                    self.text.push('\n');
                    self.written += 1;
                    for key in projected.lost {
                        *self.lost.entry((one.object.kind.to_string(), key)).or_default() += 1;
                    }
                }
                Err(error) => {
                    self.lacks_task |= matches!(error, NoForm::Needs { kind: Kind::Run, field: "task" });
                    self.left_out.push(format!("{}: {error}", one.object));
                }
            }
        }
    }

    fn end(self, args: &Decisions) -> Result<Exit, Fault> {
        if self.written == 0 && self.left_out.is_empty() {
            tell_page("no run has begun there: there is nothing to export\n");
            return Ok(Exit::Done);
        }
        let to = match &args.output {
            Some(path) => {
                // Whole or not at all: a part of it would be taken in without a word.
                new_file::write(path, self.text.as_bytes())?;
                format!("written to {}", path.display())
            }
            None => {
                out::print_lines(self.text.as_bytes())?;
                "written".to_owned()
            }
        };
        tell_page(&format!("{} {to}\n", count(self.written, "object")));
        for line in self.left_out.iter().take(NAMED) {
            tell_page(&format!("{} {}\n", paint(YELLOW, "left out:"), one_line(line, 200)));
        }
        let more = self.left_out.len().saturating_sub(NAMED);
        if more > 0 {
            tell_page(&paint(DIM, &format!("… {} left out\n", count(more, "more object"))));
        }
        if self.lacks_task {
            tell_page(&format!("{} a run that begins with `run --task` has one\n", paint(CYAN, "hint:")));
        }
        for ((kind, key), number) in &self.lost {
            let told = format!("{kind}: {}, in {number}\n", one_line(key, 120));
            tell_page(&format!("{} {told}", paint(YELLOW, "has no place there:")));
        }
        Ok(if self.left_out.is_empty() { Exit::Done } else { Exit::Failure })
    }
}
