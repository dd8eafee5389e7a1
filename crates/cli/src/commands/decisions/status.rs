//! `trunkline decisions --status`: how intents, plans, tasks and runs stand, and by which object.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use trunkline_runtime::decision_objects::{Family, Object, ObjectName, Standing};

use crate::args::decisions::Decisions;
use crate::commands::decisions::check::Records;
use crate::commands::decisions::found::Book;
use crate::commands::decisions::objects;
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{BOLD, DIM, GREEN, RED, YELLOW, paint};
use crate::term::tell::tell_page;
use crate::term::text::{count, one_line};

/// Fewer characters of an id are never shown.
const SHORTEST_ID: usize = 13;
/// How much of a title, a prompt or a goal is shown.
const WORDS: usize = 60;

/// Of a session.
pub(super) fn session(args: &Decisions, book: &Book) -> Result<Exit, Fault> {
    let family = objects::all(book);
    if family.iter().next().is_none() {
        tell_page(&format!("no run has begun in session {}: nothing stands in any way\n", book.name));
        return Ok(Exit::Done);
    }
    tell_about(args, &family)
}

/// Of the records in a file. One that is no object is left out and told of.
pub(super) fn file(path: &Path, args: &Decisions) -> Result<Exit, Fault> {
    let (mut family, mut unread) = (Family::new(), 0);
    Records::open(path)?.each(|_, found| {
        match found.ok().and_then(|text| objects::read(text).ok().flatten()) {
            Some(object) => drop(family.add(object)),
            None => unread += 1,
        }
        Ok(())
    })?;
    if family.iter().next().is_none() {
        return Err(Fault::usage("there is no object in it").hint(
            "a record is a line of JSON; `trunkline decisions --check FILE` says what is wrong with each",
        ));
    }
    let exit = tell_about(args, &family)?;
    if unread == 0 {
        return Ok(exit);
    }
    let what = if unread == 1 { "is no object of ours" } else { "are no objects of ours" };
    tell_page(&format!("{} {what}; `--check` says why\n", count(unread, "record")));
    Ok(Exit::Failure)
}

fn tell_about(args: &Decisions, family: &Family) -> Result<Exit, Fault> {
    let standing = family.standing();
    let broken = family.violations().iter().filter(|violation| !violation.is_dangling()).count();
    if args.json {
        let lines: String = lines(family, &standing).iter().map(|line| format!("{line}\n")).collect();
        out::print_lines(lines.as_bytes())?;
    } else {
        out::print_page(&Shown { family, standing: &standing, names: Names::of(family) }.page())?;
    }
    if broken > 0 && !args.json {
        let contradict = if broken == 1 { "contradicts" } else { "contradict" };
        tell_page(&format!(
            "{} {contradict} the others; `--check` names what does not fit\n",
            count(broken, "object")
        ));
    }
    Ok(Exit::Done)
}

/// A line for each thing, for programs.
fn lines(family: &Family, standing: &Standing) -> Vec<Value> {
    let said = |by: Option<ObjectName>| by.map(|by| by.to_string());
    let texts = |ids: &mut dyn Iterator<Item = String>| ids.collect::<Vec<String>>();
    let mut lines = Vec::new();
    for (id, intent) in &standing.intents {
        lines.push(json!({
            "version": 1, "kind": "intent", "id": id.to_string(),
            "state": intent.state.map(|state| state.as_str()), "by": said(intent.by),
            "plan": intent.plan.map(|plan| plan.to_string()),
            "release": intent.release.map(|(commit, by)| json!({ "commit": commit.to_string(), "by": by.to_string() })),
            "runs": texts(&mut intent.runs.iter().map(ToString::to_string)),
            "revised_by": texts(&mut intent.revised_by.iter().map(ToString::to_string)),
        }));
    }
    for (id, plan) in &standing.plans {
        let step = |step: &trunkline_runtime::decision_objects::StepStanding| json!({ "step": step.step.to_string(), "state": step.state.map(|state| state.as_str()), "by": said(step.by) });
        lines.push(json!({
            "version": 1, "kind": "plan", "id": id.to_string(), "state": plan.state.as_str(), "finished": plan.is_finished(),
            "steps": plan.steps.iter().map(step).collect::<Vec<_>>(),
            "revised_by": texts(&mut plan.revised_by.iter().map(ToString::to_string)),
        }));
    }
    for (id, task) in &standing.tasks {
        lines.push(json!({
            "version": 1, "kind": "task", "id": id.to_string(), "state": task.state.as_str(), "by": said(task.by),
            "committed": task.committed.map(|(commit, by)| json!({ "commit": commit.to_string(), "by": ObjectName::from(by).to_string() })),
            "runs": texts(&mut task.runs.iter().map(ToString::to_string)),
        }));
    }
    for (id, run) in in_order(family, standing) {
        lines.push(json!({
            "version": 1, "kind": "run", "id": id.to_string(), "state": run.state.as_str(), "by": said(run.by),
            "decision": run.decision.map(|decision| decision.to_string()),
            "undone_by": run.undone_by.map(|by| by.to_string()),
            "intent": run.intent.map(|intent| intent.to_string()),
            "patch_set": run.patch_set.map(|chosen| chosen.to_string()),
            "candidates": texts(&mut run.candidates.iter().map(ToString::to_string)),
            "followed_by": texts(&mut run.followed_by.iter().map(ToString::to_string)),
        }));
    }
    if let Some((commit, by)) = standing.release {
        lines.push(json!({
            "version": 1, "kind": "release", "commit": commit.to_string(), "by": ObjectName::from(by).to_string(),
        }));
    }
    lines
}

/// The runs in the order in which the family has them.
fn in_order<'a>(
    family: &'a Family,
    standing: &'a Standing,
) -> impl Iterator<
    Item = (trunkline_runtime::decision_objects::RunId, &'a trunkline_runtime::decision_objects::RunStanding),
> {
    family.iter().filter_map(|object| match object {
        Object::Run(run) => Some((run.id(), standing.runs.get(&run.id())?)),
        _ => None,
    })
}

/// The beginnings of ids that nothing else in a family has.
struct Names(Vec<String>);

impl Names {
    fn of(family: &Family) -> Self {
        let ids: BTreeSet<String> = family.iter().map(|object| object.name().id.to_string()).collect();
        Names(ids.into_iter().collect())
    }

    fn short(&self, id: impl ToString) -> String {
        let id = id.to_string();
        let place = self.0.partition_point(|other| *other < id);
        let beside = [place.checked_sub(1), Some(place), Some(place + 1)];
        let others = beside.into_iter().flatten().filter_map(|place| self.0.get(place));
        let shared =
            |other: &String| id.bytes().zip(other.bytes()).take_while(|(one, two)| one == two).count() + 1;
        let length = others.filter(|other| **other != id).map(shared).max().unwrap_or(0).max(SHORTEST_ID);
        id.get(..length).unwrap_or(&id).trim_end_matches('-').to_owned()
    }

    /// Returns what says so; nothing, without a colour, if nothing does.
    fn by(&self, by: Option<ObjectName>) -> String {
        by.map(|by| paint(DIM, &format!("by {} {}", by.kind, self.short(by.id)))).unwrap_or_default()
    }
}

struct Shown<'a> {
    family: &'a Family,
    standing: &'a Standing,
    names: Names,
}

impl Shown<'_> {
    fn page(&self) -> String {
        let mut page = String::new();
        for object in self.family.iter() {
            if let Object::Intent(intent) = object {
                let Some(stands) = self.standing.intents.get(&intent.id()) else { continue };
                let state = stands.state.map_or("new", |state| state.as_str());
                page.push_str(&self.line(
                    "intent",
                    intent.id(),
                    state,
                    intent.content().prompt.as_str(),
                    stands.by,
                ));
                if let Some(plan) = stands.plan {
                    page.push_str(&self.under("plan", &self.names.short(plan)));
                }
                if let Some((commit, _)) = stands.release {
                    page.push_str(&self.under("commit", &commit.to_string()));
                }
                if !stands.revised_by.is_empty() {
                    page.push_str(&self.under("revised by", &self.listed(&stands.revised_by)));
                }
            }
        }
        self.plans(&mut page);
        for object in self.family.iter() {
            if let Object::Task(task) = object
                && let Some(stands) = self.standing.tasks.get(&task.id())
            {
                let title = task.content().title.as_str();
                page.push_str(&self.line("task", task.id(), stands.state.as_str(), title, stands.by));
                if let Some((commit, by)) = stands.committed {
                    let by = self.names.by(Some(by.into()));
                    let open = if stands.state.is_terminal() { "" } else { "  the task has not ended" };
                    page.push_str(&self.under("commit", &format!("{commit}  {by}{open}")));
                }
            }
        }
        self.runs(&mut page);
        if let Some((commit, by)) = self.standing.release {
            let by = self.names.by(Some(by.into()));
            page.push_str(&format!("{}  {commit}  {by}\n", paint(BOLD, "release")));
        }
        page
    }

    fn plans(&self, page: &mut String) {
        for object in self.family.iter() {
            let Object::Plan(plan) = object else { continue };
            let Some(stands) = self.standing.plans.get(&plan.id()) else { continue };
            let words = count(stands.steps.len(), "step");
            page.push_str(&self.line("plan", plan.id(), stands.state.as_str(), &words, None));
            for (step, content) in stands.steps.iter().zip(&plan.content().steps) {
                let state = step.state.map_or("-", |state| state.as_str());
                let words = one_line(content.description.as_str(), WORDS);
                let line = format!("    {}  {words}  {}", coloured(state), self.names.by(step.by));
                page.push_str(&format!("{}\n", line.trim_end()));
            }
            if !stands.revised_by.is_empty() {
                page.push_str(&self.under("revised by", &self.listed(&stands.revised_by)));
            }
        }
    }

    fn runs(&self, page: &mut String) {
        for object in self.family.iter() {
            let Object::Run(run) = object else { continue };
            let Some(stands) = self.standing.runs.get(&run.id()) else { continue };
            page.push_str(&self.line("run", run.id(), stands.state.as_str(), &run.opening().goal, stands.by));
            if let Some(by) = stands.undone_by {
                page.push_str(&self.under("undone by", &self.names.short(by)));
            }
            match (stands.patch_set, stands.candidates.len()) {
                (Some(chosen), several) if several > 1 => {
                    let of = format!("{} of {several} candidates", self.names.short(chosen));
                    page.push_str(&self.under("selected", &of));
                }
                (None, several) if several > 1 => {
                    page.push_str(&self.under("selected", &format!("none of {several} candidates")));
                }
                _ => {}
            }
            if !stands.followed_by.is_empty() {
                page.push_str(&self.under("followed by", &self.listed(&stands.followed_by)));
            }
        }
    }

    fn line(
        &self,
        kind: &str,
        id: impl ToString,
        state: &str,
        words: &str,
        by: Option<ObjectName>,
    ) -> String {
        let (name, words) = (self.names.short(id), one_line(words, WORDS));
        let line = format!(
            "{}  {}  {words}  {}",
            paint(BOLD, &format!("{kind} {name}")),
            coloured(state),
            self.names.by(by)
        );
        format!("{}\n", line.trim_end())
    }

    fn under(&self, what: &str, words: &str) -> String {
        format!("    {}  {words}\n", paint(DIM, what))
    }

    fn listed(&self, ids: &[impl ToString]) -> String {
        ids.iter().map(|id| self.names.short(id.to_string())).collect::<Vec<_>>().join(", ")
    }
}

fn coloured(state: &str) -> String {
    let colour = match state {
        "completed" | "done" | "finished" => GREEN,
        "failed" | "cancelled" => RED,
        "blocked" | "checkpointed" => YELLOW,
        _ => DIM,
    };
    paint(colour, state)
}
