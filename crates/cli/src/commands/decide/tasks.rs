//! A person's word on what a session is for: its task is done or not wanted, and which of a run's candidates is the one.

use trunkline_runtime::decision_objects::TaskState;
use trunkline_runtime::orders::Order;
use trunkline_runtime::{Bounds, Candidate, Done, EndTask, GivenTask, RuntimeError, Session, candidates};
use trunkline_session_store::SessionInfo;

use crate::args::decide::Select;
use crate::desk::letters::{self, Entrance};
use crate::desk::place::{Place, Store};
use crate::desk::{setup, store};
use crate::reading::session::Reading;
use crate::shown::candidate::candidate;
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{GREEN, YELLOW, paint};
use crate::term::tell::tell_page;
use crate::term::text::{count, one_line};

/// How many candidates are named where one was looked for.
const NAMED: usize = 9;

/// Whose session it is about.
pub(super) struct Word<'a> {
    pub(super) place: &'a Place,
    pub(super) store: &'a Store,
    pub(super) info: &'a SessionInfo,
}

impl Word<'_> {
    /// Ends the session's task.
    pub(super) async fn end_task(&self, end: EndTask, wait: bool) -> Result<Exit, Fault> {
        let reading = Reading::load(self.store.as_ref(), self.info).await?;
        let request = Order::EndTask { end };
        let mut session = match self.enter(&reading).await? {
            Entrance::Mine(session) => session,
            Entrance::Theirs(holder) => return self.leave_word(&holder, &request, wait).await,
        };
        let done = carry_out(&mut session, request).await?;
        let Done::TaskEnded(event) = done else { return Ok(Exit::Done) };
        let title = reading.task().map(|task| one_line(&task.title, 80)).unwrap_or_default();
        let state = event.content().state;
        let style = if state == TaskState::Done { GREEN } else { YELLOW };
        out::print(&format!("{} the task “{title}”\n", paint(style, state.as_str())))?;
        Ok(Exit::Done)
    }

    /// Records which candidate of a run is the one.
    pub(super) async fn select(&self, args: &Select) -> Result<Exit, Fault> {
        let log = self.store.load(&self.info.id).await?;
        let all = candidates(&log);
        let chosen = self.find(&all, args).await?;
        let (run, patch_set) = (chosen.patch_set.run(), chosen.patch_set.id());
        let request = Order::Select { run, patch_set, reason: args.reason.clone().unwrap_or_default() };
        let reading = Reading::of(&log)?;
        let mut session = match self.enter(&reading).await? {
            Entrance::Mine(session) => session,
            Entrance::Theirs(holder) => return self.leave_word(&holder, &request, args.wait).await,
        };
        carry_out(&mut session, request).await?;
        out::print(&format!("{} {}\n", paint(GREEN, "selected"), candidate(chosen)))?;
        tell_page("nothing was applied by that\n");
        Ok(Exit::Done)
    }

    async fn find<'c>(&self, all: &'c [Candidate], args: &Select) -> Result<&'c Candidate, Fault> {
        let (run, which) = (args.run.trim().to_ascii_lowercase(), args.candidate.trim().to_ascii_lowercase());
        let list = self.place.command(&format!(
            "decisions -s {}",
            store::short_name(self.store.as_ref(), &self.info.id).await
        ));
        let of_run: Vec<&Candidate> = match run.as_str() {
            "last" => {
                let last = all.last().map(|candidate| candidate.patch_set.run());
                all.iter().filter(|candidate| Some(candidate.patch_set.run()) == last).collect()
            }
            run => all
                .iter()
                .filter(|one| !run.is_empty() && one.patch_set.run().to_string().starts_with(run))
                .collect(),
        };
        let first = of_run.first().ok_or_else(|| {
            Fault::usage(format!("no run {:?} of this session has candidates", one_line(&args.run, 60)))
                .hint(format!("`{list}` lists the runs; a run is named by its own id, or `last`"))
        })?;
        if of_run.iter().any(|one| one.patch_set.run() != first.patch_set.run()) {
            return Err(Fault::usage(format!(
                "{:?} is the beginning of several runs",
                one_line(&args.run, 60)
            ))
            .hint("type more of it"));
        }
        let fits = |one: &&&Candidate| {
            which.parse() == Ok(one.sequence)
                || (which.len() > 3 && one.patch_set.id().to_string().starts_with(&which))
        };
        let found: Vec<&&Candidate> = of_run.iter().filter(fits).collect();
        match found.as_slice() {
            [one] => Ok(one),
            _ => {
                let shown = one_line(&args.candidate, 60);
                let fault = Fault::usage(format!("{shown:?} is none of the run's candidates, or several"));
                let fault = of_run.iter().take(NAMED).fold(fault, |fault, one| fault.painted(candidate(one)));
                let diffs = self.place.command(&format!("decisions {} --diff", first.patch_set.run()));
                Err(fault
                    .hint("name one by its number, or by the beginning of its patch set's id")
                    .hint(format!("`{diffs}` shows what each changes")))
            }
        }
    }

    async fn enter(&self, reading: &Reading) -> Result<Entrance, Fault> {
        let agent = async { setup::for_moves(reading) };
        letters::enter_free(self.store, self.info, agent).await
    }

    async fn leave_word(&self, holder: &str, request: &Order, wait: bool) -> Result<Exit, Fault> {
        let store = self.store.as_ref();
        match letters::ask(self.place, store, self.info, holder, request, wait).await? {
            Some(settled) => letters::told(settled),
            None => Ok(Exit::Done),
        }
    }
}

/// Says how often the session's task may be tried again, before it is. Nothing is said where it cannot be tried again all the same.
pub(super) async fn bound_retries(
    session: &mut Session,
    task: Option<&GivenTask>,
    bounds: Bounds,
) -> Result<(), Fault> {
    if bounds.retries.is_none() {
        return Ok(());
    }
    let waits = session.proposals().unsettled().next().is_some();
    if session.open_run().is_none() || waits {
        return Ok(());
    }
    check_retries(task, bounds)?;
    carry_out(session, Order::BoundTask { bounds }).await.map(drop)
}

/// Refuses a bound on retries that leaves none.
pub(super) fn check_retries(task: Option<&GivenTask>, bounds: Bounds) -> Result<(), Fault> {
    let Some(most) = bounds.retries else { return Ok(()) };
    if let Some(task) = task.filter(|task| !task.has_ended() && task.retries >= most) {
        let made = count(task.retries as usize, "time");
        return Err(Fault::usage(format!(
            "the task was tried again {made} already, and --max-retries counts those"
        ))
        .hint(format!("say --max-retries {} for one more", task.retries.saturating_add(1))));
    }
    Ok(())
}

async fn carry_out(session: &mut Session, request: Order) -> Result<Done, Fault> {
    session.order(request).await.map_err(|fault| match fault {
        RuntimeError::Refused { reason } => Fault::new(one_line(&reason, 300)),
        other => other.into(),
    })
}
