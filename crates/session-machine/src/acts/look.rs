//! Looks at the files around calls that may change some: what else is different at the end of a run is not its change.

use trunkline_session_store::Record;

use crate::acts::asked::Asked;
use crate::acts::plan::Plan;
use crate::acts::question::{Pause, Question};
use crate::acts::view::View;
use crate::notes::look;
use crate::words::event::Event;
use crate::words::files::{Base, Span};

/// What came of a look.
pub(crate) struct Look {
    /// How the files are; `None` if that could not be told.
    pub(crate) files: Option<Base>,
    /// What is told if it failed and that is news.
    pub(crate) event: Option<Event>,
}

/// Returns the span in which calls of the open run could change files and after which nobody has looked yet.
pub fn open_span<'a>(view: &View<'a>) -> Option<&'a Span> {
    spans(view)?.last().filter(|span| span.to.is_none())
}

/// Looks right before calls that may change files. Without a record if the open run does without.
///
/// Where that fails it is recorded: what became different since the look before it then counts as the run's.
pub(crate) fn before(
    view: &View<'_>,
    asked: &mut Asked<'_>,
) -> Result<(Option<Record>, Option<Event>), Pause> {
    if spans(view).is_none() {
        return Ok((None, None));
    }
    let look = look(view, asked)?;
    Ok((Some(look::before(look.files, view.at)), look.event))
}

/// Looks when the last of them has ended. A fault leaves the span open until the next look, or the end of the run.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn after(view: &View<'_>, asked: &mut Asked<'_>) -> Result<Plan, Pause> {
    // The run may have ended meanwhile.
    if open_span(view).is_none() {
        return Ok(Plan::nothing());
    }
    let Look { files, event } = look(view, asked)?;
    let records = files.map(|files| look::after(files, view.at)).into_iter().collect();
    Ok(Plan { records, events: event.into_iter().collect(), then: () })
}

/// Looks where calls were cut off, or did not stop, and nobody has looked since: what a person writes from now on is not
/// taken for theirs. What is, is told.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn late(view: &View<'_>, asked: &mut Asked<'_>) -> Result<Plan, Pause> {
    let Some(from) = open_span(view).map(|span| &span.from) else { return Ok(Plan::nothing()) };
    let Look { files, event } = look(view, asked)?;
    let Some(files) = files else {
        return Ok(Plan { events: event.into_iter().collect(), ..Plan::nothing() });
    };
    let taken_in = match files.tree == from.tree {
        true => Vec::new(),
        false => {
            let changes = asked.own_changes(Question::OwnChanges(from.clone(), Vec::new(), None))?;
            let changes = changes.map(|own| own.changes.files.iter().map(|file| file.path.clone()).collect());
            changes.unwrap_or_default()
        }
    };
    let mut plan = Plan::of(vec![look::late(files, view.at)]);
    if !taken_in.is_empty() {
        plan.events.push(Event::TakenIn { files: taken_in });
    }
    Ok(plan)
}

/// Looks. Where that fails the reason is told, once until it works again.
fn look(view: &View<'_>, asked: &mut Asked<'_>) -> Result<Look, Pause> {
    let why = match asked.look()? {
        Ok(files) => return Ok(Look { files: Some(files.clone()), event: None }),
        Err(why) => why.clone(),
    };
    let is_news = view.state.decision.run.as_ref().is_some_and(|run| !run.looks.is_fault_told());
    Ok(Look { files: None, event: is_news.then_some(Event::LookFailed { why }) })
}

fn spans<'a>(view: &View<'a>) -> Option<&'a [Span]> {
    view.state.decision.run.as_ref()?.looks.spans()
}
