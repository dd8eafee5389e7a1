//! `trunkline decide`: a person ends the open run, or takes back what an earlier one has changed.

use std::collections::BTreeMap;

use serde::Deserialize;
use trunkline_runtime::decision_objects::{Decision, DecisionId, Verdict};
use trunkline_runtime::letters::Request;
use trunkline_runtime::{
    AgentBuilder, CloseAs, Comparison, Event, FileChange, RuntimeError, Session, Stop, across,
};
use trunkline_session_store::{Claim, SessionId, SessionInfo, SessionStore, StoreError};

use crate::agreement::{Answer, agreed};
use crate::args::{Close, Decide, DecideAct, Resume, Rollback};
use crate::bound;
use crate::fault::{Exit, Fault};
use crate::letters::{self, Entrance};
use crate::paint::{self, DIM, paint, tell};
use crate::place::{Place, Store};
use crate::progress::verdict;
use crate::reading::Reading;
use crate::run::{Drive, policy_of};
use crate::setup::{self, Folder};
use crate::store;
use crate::text::{count, one_line};

/// How many decisions are named where one was looked for, and how many files in the way.
const NAMED: usize = 5;
const IN_THE_WAY: usize = 20;
/// How much of a diff is shown.
const DIFF_LINES: usize = 400;
/// The newest decision that changed files.
const LAST: &str = "last";

/// `trunkline decide`.
pub(crate) async fn run(args: &Decide, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let info = match (&args.act, &args.session) {
        (DecideAct::Rollback(rollback), None) => {
            session_of(store.as_ref(), &rollback.decision, place).await?
        }
        (_, named) => store::find(store.as_ref(), named.as_deref()).await?,
    };
    let call = Call { args, place, store, info };
    match &args.act {
        DecideAct::Checkpoint(close) => {
            call.close(close, CloseAs::Checkpoint { words: close.words.clone() }).await
        }
        DecideAct::Abandon(close) => {
            call.close(close, CloseAs::Abandon { reason: close.words.clone() }).await
        }
        DecideAct::Retry(close) => call.close(close, CloseAs::Retry { reason: close.words.clone() }).await,
        DecideAct::Rollback(rollback) => call.rollback(rollback).await,
    }
}

/// What was asked for, and of which session.
struct Call<'a> {
    args: &'a Decide,
    place: &'a Place,
    store: Store,
    info: SessionInfo,
}

/// What has to end first, and what can be typed for that.
struct First {
    what: &'static str,
    hints: Vec<String>,
}

/// Says what became of a rollback that was cut off.
pub(crate) fn finished(ended: &Decision) -> &'static str {
    match ended.verdict() {
        Verdict::Rollback { .. } => "a rollback that was cut off is finished\n",
        _ => "a rollback that was cut off could not be finished and was given up\n",
    }
}

/// Returns how the program ends with that.
pub(crate) fn exit_of(ended: &Decision) -> Exit {
    match ended.verdict() {
        Verdict::Rollback { .. } => Exit::Done,
        _ => Exit::Failure,
    }
}

/// Says that a rollback was cut off and cannot be brought to its end now.
fn stuck(fault: Fault, place: &Place, name: &str) -> Fault {
    let give_up = place.command(&format!("decide abandon \"…\" -s {name}"));
    fault
        .line("a rollback was cut off, and this stands in the way of its rest")
        .hint(format!("mend that and try again, or give it up with `{give_up}`"))
}

/// Brings a rollback that was cut off to its end, for `resume`: that needs no model. `None` if somebody else does it.
pub(crate) async fn finish_rollback(
    args: &Resume,
    place: &Place,
    store: &Store,
    info: &SessionInfo,
) -> Result<Option<Exit>, Fault> {
    let name = store::short_name(store.as_ref(), &info.id).await;
    let again = place.command(&format!("resume {name} -C DIR"));
    let folder = Folder::of(info, args.cwd.as_deref(), Some(&again))?;
    let terms = &args.terms;
    if terms.bind {
        folder.check_binding()?;
    }
    let agent = setup::without_model(&folder)?.commits(terms.commit).binds(terms.bind);
    let agent = agent.names_decisions(terms.trailer).build()?;
    let claim = if args.take_over { Claim::TakeOver } else { Claim::IfFree };
    let Entrance::Mine(mut session) = letters::enter(&agent, store, info, claim).await? else {
        return Ok(None);
    };
    let Some(ended) = session.finish_rollback().await.map_err(|fault| stuck(fault.into(), place, &name))?
    else {
        return Ok(None);
    };
    if !terms.quiet {
        tell(finished(&ended));
        tell(&format!("{}\n", verdict(&ended)));
    }
    if terms.json && args.prompt.is_none() {
        let exit = exit_of(&ended);
        let drive = Drive::new(place, &args.model, terms, policy_of(terms));
        paint::print_json(&drive.as_json(&session, &Ok(Stop::Decided(Box::new(ended)))))?;
        return Ok(Some(exit));
    }
    Ok(Some(exit_of(&ended)))
}

impl Call<'_> {
    async fn close(&self, args: &Close, close: CloseAs) -> Result<Exit, Fault> {
        if close.words().trim().is_empty() {
            return Err(Fault::usage("nothing was said with it").hint("say it in quotes, after the word"));
        }
        if let Some(holder) = letters::writer(self.store.as_ref(), &self.info).await? {
            return self.leave(&holder, close, args.wait).await;
        }
        let folder = Folder::of(&self.info, self.args.cwd.as_deref(), Some("trunkline decide … -C DIR"))?;
        let agent = self.agent(&folder, self.args.bind)?.build()?;
        let mut session = match letters::enter(&agent, &self.store, &self.info, Claim::IfFree).await? {
            Entrance::Mine(session) => session,
            // It came in the meantime.
            Entrance::Theirs(holder) => return self.leave(&holder, close, args.wait).await,
        };
        let name = self.name().await;
        match session.finish_rollback().await {
            Ok(Some(ended)) => return self.finished(&ended, &name),
            Ok(None) => {}
            // What cannot be brought to its end can be given up.
            Err(_) if matches!(close, CloseAs::Abandon { .. }) => {}
            Err(fault) => return Err(stuck(fault.into(), self.place, &name)),
        }
        let decision = match session.close_run(close.clone()).await {
            Ok(decision) => decision,
            Err(fault) => return Err(self.refused(fault, &name)),
        };
        let mut printed = paint::Acts::default();
        printed.print(&format!("{}\n", verdict(&decision)));
        tell_files(&decision);
        let resume = match close {
            CloseAs::Retry { .. } => (format!("resume {name}"), "try again"),
            CloseAs::Checkpoint { .. } => (format!("resume {name} -p \"…\""), "go on"),
            _ => (format!("resume {name} -p \"…\""), "something else"),
        };
        self.next(&[resume, (format!("show {name}"), "look at it")]);
        printed.end()?;
        Ok(Exit::Done)
    }

    /// Leaves the order to whoever writes the session: for the run that is open now.
    async fn leave(&self, holder: &str, close: CloseAs, wait: bool) -> Result<Exit, Fault> {
        let reading = Reading::load(self.store.as_ref(), &self.info).await?;
        let Some(run) = reading.open_run() else { return Err(self.refused(RuntimeError::NoOpenRun, "")) };
        let request = Request::CloseRun { run, close };
        letters::leave(self.store.as_ref(), &self.info, holder, &request, wait).await
    }

    async fn rollback(&self, args: &Rollback) -> Result<Exit, Fault> {
        let reading = Reading::load(self.store.as_ref(), &self.info).await?;
        let of = wanted(&reading, &args.decision)?;
        if let Some(holder) = letters::writer(self.store.as_ref(), &self.info).await? {
            return Err(StoreError::Locked { session: self.info.id.clone(), holder: Some(holder) }.into());
        }
        if args.dry_run && reading.has_open_rollback() {
            // Whoever opens the session finishes that one first, and nothing is to be written.
            let fault = Fault::new("a rollback was cut off here, and is finished first");
            return Err(fault.hint("the same without --dry-run finishes it, and so does `resume`"));
        }
        let folder = Folder::of(&self.info, self.args.cwd.as_deref(), Some("trunkline decide … -C DIR"))?;
        if args.commit {
            folder.check_commit()?;
        }
        let agent = self.agent(&folder, self.args.bind && !args.dry_run)?.commits(args.commit).build()?;
        let mut session = match letters::enter(&agent, &self.store, &self.info, Claim::IfFree).await? {
            Entrance::Mine(session) => session,
            Entrance::Theirs(holder) => {
                return Err(StoreError::Locked { session: self.info.id.clone(), holder: Some(holder) }.into());
            }
        };
        let name = self.name().await;
        let ended =
            session.finish_rollback().await.map_err(|fault| stuck(fault.into(), self.place, &name))?;
        if let Some(ended) = ended {
            // That is what was asked for now, or all that can come of it.
            return self.finished(&ended, &name);
        }
        let first = self.first(&session, &name);
        if let (Some(first), false) = (&first, args.dry_run) {
            return Err(first.hints.iter().fold(Fault::new(first.what), |fault, hint| fault.hint(hint)));
        }
        let comparison = session.preview_rollback(of).await.map_err(|fault| self.refused(fault, &name))?;
        // Somebody who agreed beforehand need not be there to read it.
        match args.dry_run {
            true => paint::print(&shown(&comparison))?,
            false => tell(&shown(&comparison)),
        }
        for line in first
            .iter()
            .flat_map(|first| std::iter::once(first.what).chain(first.hints.iter().map(String::as_str)))
        {
            tell(&format!("{line}\n"));
        }
        if !comparison.conflicts.is_empty() {
            return Err(in_the_way(&comparison.conflicts));
        }
        if args.dry_run {
            tell(&paint(DIM, "nothing was changed\n"));
            return Ok(Exit::Done);
        }
        let question = format!("make {} what they were?", count(comparison.files.len(), "file"));
        match agreed(args.yes || comparison.files.is_empty(), &question) {
            Answer::Yes => {}
            Answer::No => {
                tell("nothing was changed\n");
                return Ok(Exit::Failure);
            }
            Answer::Nobody => {
                let fault = Fault::usage("nothing was changed: nobody can be asked here");
                return Err(fault.hint("say --yes, or --dry-run to look"));
            }
        }
        self.roll(&mut session, of, &name).await
    }

    async fn roll(&self, session: &mut Session, of: DecisionId, name: &str) -> Result<Exit, Fault> {
        let decision = match session.rollback(of).await {
            Ok(decision) => decision,
            // Somebody wrote while the question stood.
            Err(RuntimeError::Conflicts { conflicts, .. }) => return Err(in_the_way(&conflicts)),
            Err(fault) => return Err(self.refused(fault, name)),
        };
        let mut printed = paint::Acts::default();
        printed.print(&format!("{}\n", verdict(&decision)));
        tell_files(&decision);
        // Outside of git nobody has kept what was there until now.
        let again = session.preview_rollback(decision.id()).await;
        let mut next = vec![(format!("resume {name} -p \"…\""), "go on")];
        if again.is_ok_and(|again| again.conflicts.is_empty()) {
            next.insert(0, (format!("decide rollback {} -s {name}", decision.id()), "take it back"));
        }
        self.next(&next);
        printed.end()?;
        Ok(Exit::Done)
    }

    /// Tells how a rollback has ended that somebody had begun before.
    fn finished(&self, ended: &Decision, name: &str) -> Result<Exit, Fault> {
        let mut printed = paint::Acts::default();
        tell(finished(ended));
        printed.print(&format!("{}\n", verdict(ended)));
        tell_files(ended);
        self.next(&[(format!("show {name}"), "look at it")]);
        printed.end()?;
        Ok(exit_of(ended))
    }

    /// Says what has to end before something is taken back.
    fn first(&self, session: &Session, name: &str) -> Option<First> {
        let command = |typed: String| self.place.command(&typed);
        if session.proposals().unsettled().next().is_some() {
            let resolve = command(format!("resolve -s {name}"));
            let hints = vec![format!("`{resolve}` lists it; decide on it first")];
            return Some(First { what: "a proposal waits to be decided", hints });
        }
        let hints = vec![
            format!("let it end with `{}`", command(format!("resume {name}"))),
            format!("or close it with `{}`", command(format!("decide abandon \"…\" -s {name}"))),
        ];
        session.has_open_run().then_some(First { what: "a run is open", hints })
    }

    /// Returns an agent that asks no model, and tells what is bound.
    fn agent(&self, folder: &Folder, binds: bool) -> Result<AgentBuilder, Fault> {
        if binds {
            folder.check_binding()?;
        }
        let told = |event: &Event| tell(&bound::told(event).unwrap_or_default());
        Ok(setup::without_model(folder)?.binds(binds).on_event(told))
    }

    async fn name(&self) -> String {
        store::short_name(self.store.as_ref(), &self.info.id).await
    }

    fn next(&self, commands: &[(String, &str)]) {
        for (command, what) in commands {
            tell(&paint(DIM, &format!("  {what:<17}{}\n", self.place.command(command))));
        }
    }

    fn refused(&self, fault: RuntimeError, name: &str) -> Fault {
        let hint = match &fault {
            RuntimeError::Unsettled { .. } => "resolve".to_owned(),
            RuntimeError::NoOpenRun => "sessions".to_owned(),
            _ => return Fault::from(fault),
        };
        let what = match &fault {
            RuntimeError::Unsettled { .. } => {
                format!("`{}` lists them", self.place.command(&format!("{hint} -s {name}")))
            }
            _ => format!("`{}` tells where each session stands", self.place.command(&hint)),
        };
        Fault::from(fault).hint(what)
    }
}

/// Finds the session of a decision, wherever in the store it is; the newest session if none has one of that name.
async fn session_of(store: &dyn SessionStore, named: &str, place: &Place) -> Result<SessionInfo, Fault> {
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    let lower = named.trim().to_ascii_lowercase();
    if lower.is_empty() || lower == LAST {
        return store::find(store, None).await;
    }
    let mut holders: BTreeMap<SessionId, String> = BTreeMap::new();
    for note in store.notes(&across::verdicts()).await? {
        // What cannot be read cannot be rolled back.
        let id = serde_json::from_str::<Named>(&note.body).ok().map(|decision| decision.id);
        if let Some(id) = id.filter(|id| id.starts_with(&lower)) {
            holders.entry(note.session).or_insert(id);
        }
    }
    let found: Vec<(&SessionId, &String)> = holders.iter().take(NAMED).collect();
    match found.as_slice() {
        [] => store::find(store, None).await,
        [(session, _)] => Ok(store.info(session).await?),
        several => {
            let (shown, sessions) = (one_line(named, 60), count(holders.len(), "session"));
            let mut fault = Fault::usage(format!("{shown:?} is the beginning of decisions in {sessions}"));
            for (session, id) in several {
                let name = store::short_name(store, session).await;
                let command = format!("decide rollback {} -s {name}", one_line(id, 40));
                fault = fault.line(place.command(&command));
            }
            Err(fault.hint("type more of it, or name the session"))
        }
    }
}

/// Finds the decision that is meant.
fn wanted(reading: &Reading, named: &str) -> Result<DecisionId, Fault> {
    let decisions: Vec<&Decision> = reading.verdicts().iter().rev().map(|(_, decision)| decision).collect();
    let changed = |decision: &&&Decision| decision.has_changes();
    let named = named.trim().to_ascii_lowercase();
    if named == LAST {
        let last = decisions.iter().find(changed).map(|decision| decision.id());
        return last.ok_or_else(|| Fault::new("no run of this session has changed anything"));
    }
    let fits = |decision: &&&Decision| !named.is_empty() && decision.id().to_string().starts_with(&named);
    let found: Vec<&&Decision> = decisions.iter().filter(fits).collect();
    if let [one] = found.as_slice() {
        return Ok(one.id());
    }
    let shown = one_line(&named, 60);
    let (fault, some) = match found.is_empty() {
        true => (
            Fault::usage(format!("there is no decision {shown:?} in this session")),
            decisions.iter().filter(changed).collect(),
        ),
        false => {
            (Fault::usage(format!("{shown:?} is the beginning of {}", count(found.len(), "decision"))), found)
        }
    };
    let line =
        |decision: &Decision| format!("{}  {}", decision.id(), one_line(&decision.verdict().to_string(), 80));
    let fault = some.iter().take(NAMED).fold(fault, |fault, decision| fault.line(line(decision)));
    Err(fault.hint("`trunkline decisions --all` lists those of all sessions"))
}

fn in_the_way(conflicts: &[String]) -> Fault {
    let fault = Fault::new("nothing was changed: some of the files are not what that run has left");
    let fault = conflicts.iter().take(IN_THE_WAY).fold(fault, |fault, one| fault.line(one_line(one, 200)));
    let more = conflicts.len().saturating_sub(IN_THE_WAY);
    let fault = if more > 0 { fault.line(format!("… and {more} more")) } else { fault };
    fault.hint("roll back what was done later first, or put these files back by hand")
}

/// Says file by file what would be done.
fn shown(comparison: &Comparison) -> String {
    let mut shown = String::new();
    for file in &comparison.files {
        let verb = match file.change {
            FileChange::Added => "create",
            FileChange::Deleted => "remove",
            _ => "restore",
        };
        shown.push_str(&format!("{verb} {}\n", one_line(&file.path, 200)));
    }
    let (diff, left_out) = paint::diff(&comparison.diff, "  ", DIFF_LINES);
    shown.push_str(&diff);
    if left_out > 0 {
        shown.push_str(&paint(DIM, &format!("  … {} left out\n", count(left_out, "more line"))));
    }
    shown
}

fn tell_files(decision: &Decision) {
    let files = decision.cites().files.len();
    if files > 0 {
        tell(&format!("{} changed\n", count(files, "file")));
    }
}
