//! `trunkline decide`: a person ends the open run, or takes back what an earlier one has changed.

mod found;
mod tasks;

use std::time::Instant;

use trunkline_runtime::decision_objects::{Decision, DecisionId, RunId};
use trunkline_runtime::orders::{Order, Settled, post, settled};
use trunkline_runtime::{
    AgentBuilder, Bounds, CloseAs, Comparison, EndTask, Event, FileChange, GivenTask, RuntimeError, Session,
};
use trunkline_session_store::{Claim, InboxId, SessionInfo, StoreError};

use self::tasks::Word;
use crate::args::decide::{Close, Decide, DecideAct, Retry, Rollback};
use crate::desk::letters::{self, Entrance, Heard, PATIENCE};
use crate::desk::place::{Place, Store};
use crate::desk::setup::{self, Folder};
use crate::desk::task::more_of;
use crate::desk::{clock, repository, store};
use crate::live::rollback::{exit_of, finished, stuck, tell_event};
use crate::live::unbound;
use crate::reading::session::Reading;
use crate::shown::verdict::verdict;
use crate::shown::{binding, checkpoint};
use crate::term::confirm::{Answer, agreed};
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{self, DIM, paint};
use crate::term::tell::{self, tell, tell_page};
use crate::term::text::{count, one_line};

/// How many files in the way are named.
const IN_THE_WAY: usize = 20;
/// How much of a diff is shown.
const DIFF_LINES: usize = 400;

/// `trunkline decide`.
pub(crate) async fn run(args: &Decide, place: &Place) -> Result<Exit, Fault> {
    place.in_folder(args.cwd.as_deref());
    let store = place.open_existing().await?;
    let info = match (&args.act, &args.session) {
        (DecideAct::Rollback(rollback), None) => {
            found::session_of(store.as_ref(), &rollback.decision, place).await?
        }
        (_, named) => store::find(store.as_ref(), named.as_deref()).await?,
    };
    let mut bounds = Bounds::default();
    if let DecideAct::Retry(retry) = &args.act {
        bounds.retries = retry.max_retries;
    }
    let call = Call { args, place, store, info, bounds };
    let word = Word { place, store: &call.store, info: &call.info };
    match &args.act {
        DecideAct::Checkpoint(close) => {
            call.close(close, CloseAs::Checkpoint { words: close.words.clone() }).await
        }
        DecideAct::Abandon(close) => {
            call.close(close, CloseAs::Abandon { reason: close.words.clone() }).await
        }
        DecideAct::Retry(Retry { close, .. }) => {
            call.close(close, CloseAs::Retry { reason: close.words.clone() }).await
        }
        DecideAct::Done(done) => {
            let reason = done.words.clone().unwrap_or_default();
            word.end_task(EndTask::Done { reason }, done.wait).await
        }
        DecideAct::Drop(close) => {
            word.end_task(EndTask::Drop { reason: close.words.clone() }, close.wait).await
        }
        DecideAct::Select(select) => word.select(select).await,
        DecideAct::Rollback(rollback) => call.rollback(rollback).await,
    }
}

/// What was asked for, and of which session.
struct Call<'a> {
    args: &'a Decide,
    place: &'a Place,
    store: Store,
    info: SessionInfo,
    /// What may be spent on the task from now on.
    bounds: Bounds,
}

/// What has to end first, and what can be typed for that.
struct First {
    what: &'static str,
    hints: Vec<String>,
}

impl Call<'_> {
    async fn close(&self, args: &Close, close: CloseAs) -> Result<Exit, Fault> {
        if close.words().trim().is_empty() {
            return Err(Fault::usage("nothing was said with it").hint("say it in quotes, after the word"));
        }
        if let Some(holder) = letters::writer(self.store.as_ref(), &self.info).await? {
            return self.leave(&holder, close, args.wait).await;
        }
        self.close_here(close, args.wait).await
    }

    /// Closes the run in this process, if nobody writes the session by now.
    async fn close_here(&self, close: CloseAs, wait: bool) -> Result<Exit, Fault> {
        let folder = Folder::of(&self.info, self.args.cwd.as_deref(), Some("trunkline decide … -C DIR"))?;
        let agent = self.agent(&folder, self.args.bind)?.build()?;
        let mut session = match letters::enter(&agent, &self.store, &self.info, Claim::IfFree).await? {
            Entrance::Mine(session) => session,
            // It came in the meantime.
            Entrance::Theirs(holder) => return self.leave(&holder, close, wait).await,
        };
        let name = self.name().await;
        match session.finish_rollback().await {
            Ok(Some(ended)) => return self.finished(&ended, &name),
            Ok(None) => {}
            // What cannot be brought to its end can be given up.
            Err(_) if matches!(close, CloseAs::Abandon { .. }) => {}
            Err(fault) => return Err(stuck(fault.into(), self.place, &name)),
        }
        let task = self.task().await?;
        tasks::bound_retries(&mut session, task.as_ref(), self.bounds).await?;
        let decision = match session.close_run(close.clone()).await {
            Ok(decision) => decision,
            Err(fault) => return Err(self.refused(fault, &name)),
        };
        let more = task.as_ref().and_then(more_of).unwrap_or_default();
        self.closed(&decision, &close, &folder, (&name, &more))
    }

    /// Tells how a run was closed. `more` is what has to be typed for its task to go on.
    fn closed(
        &self,
        decision: &Decision,
        close: &CloseAs,
        folder: &Folder,
        (name, more): (&str, &str),
    ) -> Result<Exit, Fault> {
        let mut printed = out::Acts::default();
        printed.print(&format!("{}\n", verdict(decision)));
        tell_files(decision);
        tell_state(decision, folder);
        self.tell_left(decision, close, folder, name);
        let resume = match close {
            CloseAs::Retry { .. } => (format!("resume {name}{more}"), "try again"),
            CloseAs::Checkpoint { .. } => (format!("resume {name} -p \"…\""), "go on"),
            _ => (format!("resume {name} -p \"…\""), "something else"),
        };
        self.next(&[resume, (format!("show {name}"), "look at it")]);
        printed.end()?;
        Ok(Exit::Done)
    }

    /// Says what becomes of the files of a run that was closed: no run after it commits them.
    fn tell_left(&self, decision: &Decision, close: &CloseAs, folder: &Folder, name: &str) {
        if !decision.has_changes() {
            return;
        }
        if !folder.is_in_git() {
            return tell_page("the files stay as they are\n");
        }
        // A retry has opened the next run, and nothing is rolled back beside an open one.
        let when = match close {
            CloseAs::Retry { .. } => ", when the run that is open now has ended,",
            _ => "",
        };
        tell_page(&format!(
            "the files stay as they are, not committed; a later run commits only files that it changes itself: \
             `git commit` them, or{when}\n"
        ));
        let back = format!("decide rollback {} -s {name}", decision.id());
        tell::tell_command(&format!("{:<17}", "take them back"), &self.place.command(&back));
    }

    /// Leaves the order to whoever writes the session, for the run that is open now, and carries it out where that one ends
    /// without having read it.
    async fn leave(&self, holder: &str, close: CloseAs, wait: bool) -> Result<Exit, Fault> {
        let (store, info) = (self.store.as_ref(), &self.info);
        let reading = Reading::load(store, info).await?;
        let Some(run) = reading.open_run() else { return Err(self.refused(RuntimeError::NoOpenRun, "")) };
        let waits = reading.proposals().unsettled().next().is_some();
        if !self.bounds.is_empty() && !waits {
            tasks::check_retries(reading.task(), self.bounds)?;
            post(store, &info.id, &Order::BoundTask { bounds: self.bounds }, clock::now()).await?;
        }
        let request = Order::CloseRun { run, close: close.clone() };
        let letter = post(store, &info.id, &request, clock::now()).await?;
        let name = self.name().await;
        letters::tell_of_note(&name, holder, letters::WITHIN_A_SECOND);
        let since = Instant::now();
        loop {
            match letters::hear(store, info, letter).await? {
                Heard::Settled(settled) => return letters::told(settled),
                Heard::Gone => {
                    if let Some(exit) = self.read(letter, run, &close, &name).await? {
                        return Ok(exit);
                    }
                }
                Heard::NotYet if wait || since.elapsed() < PATIENCE => {}
                Heard::NotYet => {
                    let resume = self.place.command(&format!("resume {name}"));
                    tell(&format!("not read yet; if that one ends without it, `{resume}` reads it first\n"));
                    return Ok(Exit::Done);
                }
            }
        }
    }

    /// Reads the notes of a session that nobody writes any more, and tells what became of one that closes a run. `None` if
    /// somebody was quicker.
    async fn read(
        &self,
        letter: InboxId,
        run: RunId,
        close: &CloseAs,
        name: &str,
    ) -> Result<Option<Exit>, Fault> {
        let folder = Folder::of(&self.info, self.args.cwd.as_deref(), Some("trunkline decide … -C DIR"))?;
        let agent = self.agent(&folder, self.args.bind)?.build()?;
        let claim = Claim::IfFree;
        let Entrance::Mine(mut session) = letters::enter(&agent, &self.store, &self.info, claim).await?
        else {
            return Ok(None);
        };
        session.read_letters().await?;
        let settled = settled(self.store.as_ref(), &self.info.id, letter).await?;
        match session.decisions().iter().find(|decision| decision.run() == run) {
            Some(decision) if matches!(settled, Settled::Done { .. }) => {
                let task = self.task().await?;
                let more = task.as_ref().and_then(more_of).unwrap_or_default();
                self.closed(decision, close, &folder, (name, &more)).map(Some)
            }
            _ => letters::told(settled).map(Some),
        }
    }

    async fn rollback(&self, args: &Rollback) -> Result<Exit, Fault> {
        if args.reason.as_deref().is_some_and(|reason| reason.trim().is_empty()) {
            return Err(Fault::usage("nothing was said with --reason")
                .hint("say it in quotes, or leave --reason out"));
        }
        let reading = Reading::load(self.store.as_ref(), &self.info).await?;
        let of = found::decision(&reading, &args.decision, &self.name().await, self.place)?;
        if let Some(holder) = letters::lasting_writer(self.store.as_ref(), &self.info).await? {
            return Err(self.locked(holder, &self.name().await));
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
            Entrance::Theirs(holder) => return Err(self.locked(holder, &self.name().await)),
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
            true => out::print_page(&shown(&comparison))?,
            false => tell_page(&shown(&comparison)),
        }
        for line in first
            .iter()
            .flat_map(|first| std::iter::once(first.what).chain(first.hints.iter().map(String::as_str)))
        {
            tell_page(&format!("{line}\n"));
        }
        if !comparison.conflicts.is_empty() {
            return Err(self.in_the_way(&comparison.conflicts, &folder));
        }
        if args.dry_run {
            tell_page(&paint(DIM, "nothing was changed\n"));
            return Ok(Exit::Done);
        }
        let files = comparison.files.len();
        let question = format!(
            "make {} what {} before?",
            count(files, "file"),
            if files == 1 { "it was" } else { "they were" }
        );
        match agreed(args.yes || comparison.files.is_empty(), &question) {
            Answer::Yes => {}
            Answer::No => {
                tell_page("nothing was changed\n");
                return Ok(Exit::Failure);
            }
            Answer::Nobody => {
                let fault = Fault::usage("nothing was changed: nobody can be asked here");
                return Err(fault.hint("say --yes, or --dry-run to look"));
            }
        }
        self.roll(&mut session, of, args.reason.as_deref(), &folder, &name).await
    }

    fn in_the_way(&self, conflicts: &[String], folder: &Folder) -> Fault {
        in_the_way(conflicts, folder.is_in_git(), &self.place.command("decisions --all"))
    }

    async fn roll(
        &self,
        session: &mut Session,
        of: DecisionId,
        reason: Option<&str>,
        folder: &Folder,
        name: &str,
    ) -> Result<Exit, Fault> {
        let decision = match session.rollback(of, reason).await {
            Ok(decision) => decision,
            // Somebody wrote while the question stood.
            Err(RuntimeError::Conflicts { conflicts, .. }) => {
                return Err(self.in_the_way(&conflicts, folder));
            }
            Err(fault) => return Err(self.refused(fault, name)),
        };
        let mut printed = out::Acts::default();
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
        let mut printed = out::Acts::default();
        tell_page(finished(ended));
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
        session.open_run().is_some().then_some(First { what: "a run is open", hints })
    }

    /// Returns an agent that asks no model, and tells what is bound.
    fn agent(&self, folder: &Folder, binds: bool) -> Result<AgentBuilder, Fault> {
        if binds {
            folder.check_binding()?;
        }
        let unbound = unbound::ToldUnbound::default();
        let told = move |event: &Event| {
            tell_event(event);
            if let Some(line) = binding::told(event).filter(|_| unbound.is_news(event)) {
                tell_page(&line);
            }
        };
        Ok(setup::without_model(folder)?.binds(binds).on_event(told))
    }

    /// Says that nothing is taken back while somebody writes the session.
    fn locked(&self, holder: String, name: &str) -> Fault {
        let fault = StoreError::Locked { session: self.info.id.clone(), holder: Some(holder) };
        let cancel = self.place.command(&format!("cancel {name}"));
        Fault::of(&fault)
            .hint(format!("wait for it, or end it with `{cancel}`"))
            .hint("nothing was changed, and no note was left: say it again when that one has ended")
    }

    /// Returns the session's task, if it has one that has not ended.
    async fn task(&self) -> Result<Option<GivenTask>, Fault> {
        let info = self.store.info(&self.info.id).await?;
        let reading = Reading::load(self.store.as_ref(), &info).await?;
        Ok(reading.task().filter(|task| !task.has_ended()).cloned())
    }

    async fn name(&self) -> String {
        store::short_name(self.store.as_ref(), &self.info.id).await
    }

    fn next(&self, commands: &[(String, &str)]) {
        for (command, what) in commands {
            tell::tell_command(&format!("{what:<17}"), &self.place.command(command));
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

/// Says file by file what is otherwise, and what can be done about it.
fn in_the_way(conflicts: &[String], in_git: bool, list: &str) -> Fault {
    let fault = Fault::new("nothing was changed: some of the files are not what that run has left");
    let fault = conflicts.iter().take(IN_THE_WAY).fold(fault, |fault, one| fault.line(one_line(one, 200)));
    let more = conflicts.len().saturating_sub(IN_THE_WAY);
    let fault = if more > 0 { fault.line(format!("… and {more} more")) } else { fault };
    let fault = match in_git {
        true => fault.hint(
            "`git diff -- FILE` shows what is not committed of one; put what was written since aside with `git stash`, or \
             take it back by hand, and try again",
        ),
        false => fault.hint("take back by hand what was written since, and try again"),
    };
    fault
        .hint(format!("what later runs have done has to be rolled back first: `{list}` lists them"))
        .hint("the same with --dry-run looks again, and changes nothing")
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
    let (diff, left_out) = style::diff(&comparison.diff, "  ", DIFF_LINES);
    shown.push_str(&diff);
    if left_out > 0 {
        shown.push_str(&paint(DIM, &format!("  … {} left out\n", count(left_out, "more line"))));
    }
    shown
}

fn tell_files(decision: &Decision) {
    let files = decision.cites().files.len();
    if files > 0 {
        tell_page(&format!("{} changed\n", count(files, "file")));
    }
}

/// Says what a checkpoint names: where the conversation is, and where the files are.
fn tell_state(decision: &Decision, folder: &Folder) {
    let Some(state) = decision.verdict().checkpoint_state() else { return };
    let lines = checkpoint::files(state).join("\n  ");
    tell_page(&format!("at node {}; the files are {lines}\n", one_line(state.node.as_str(), 40)));
    if let Some(look) = checkpoint::look(state, repository::elsewhere(folder.as_str())) {
        tell::tell_command(&format!("{:<17}", "look at them"), &look);
    }
}
