//! A plan, as a person needs it to decide.

use serde_json::Value;
use trunkline_runtime::resolve_queue::{Entry, ProposalId, Queue, State};
use trunkline_runtime::{PlanRecord, PlanText};

use crate::reading::session::Reading;
use crate::term::style::{BOLD, DIM, YELLOW, paint};
use crate::term::text::{one_line, safe};

/// What an editor shows below a plan.
const ABOUT_FORM: &str = "\n\
# Change the plan, save it and close the editor; you are asked before it counts.\n\
# The first line says what it is for. Each step begins with a number, and a line `done when: …` below it says how one sees\n\
# that it is done. Lines that begin with # are left out.\n";

/// Returns whether a proposal is a plan.
pub(crate) fn is_plan(entry: &Entry<Value>) -> bool {
    PlanRecord::of_proposal(&entry.proposal).is_some()
}

/// Returns the plan that waits for a person, if one does.
pub(crate) fn waiting(proposals: &Queue<Value>) -> Option<&Entry<Value>> {
    proposals.pending().find(|entry| is_plan(entry))
}

/// Returns what an editor is given to change a plan.
pub(crate) fn to_edit(plan: &PlanText) -> String {
    format!("{plan}{ABOUT_FORM}")
}

/// Shows the text of a plan.
pub(crate) fn shown(plan: &PlanText, indent: &str) -> String {
    let mut shown = format!("{indent}{}\n", paint(BOLD, &one_line(&plan.title, 200)));
    for line in plan.steps_text().lines() {
        shown.push_str(&format!("{indent}  {}\n", safe(line)));
    }
    shown
}

/// Says on a line that a plan waits, or that one is needed; nothing otherwise.
pub(crate) fn standing(reading: &Reading) -> Option<String> {
    match waiting(reading.proposals()) {
        Some(entry) => Some(format!(
            "{} {} {} {}\n",
            paint(YELLOW, "±"),
            paint(BOLD, &entry.id.to_string()),
            one_line(&entry.proposal.label, 100),
            paint(YELLOW, "waits for you; nothing but reading is done before")
        )),
        None if reading.view().staged().plans.is_on() => {
            Some(format!("{} {}\n", paint(YELLOW, "◇"), paint(YELLOW, NEEDED)))
        }
        None => None,
    }
}

/// Said where a plan is needed and none waits.
pub(crate) const NEEDED: &str = "nothing but reading is done before you approve a plan";

/// Returns what can be typed about a plan in a session, each after what it is for.
pub(crate) fn commands(id: ProposalId, name: &str) -> [(&'static str, String); 4] {
    [
        ("look", format!("resolve {id} -s {name}")),
        ("approve", format!("resolve {id} apply -s {name}")),
        ("change", format!("resolve {id} apply --edit -s {name}")),
        ("refuse", format!("resolve {id} discard -s {name} --reason \"…\"")),
    ]
}

/// Returns how a state is called where it is that of a plan: nothing of it was written anywhere.
pub(crate) fn word(state: State) -> String {
    match state {
        State::Applied => "approved".to_owned(),
        State::Discarded => "refused".to_owned(),
        state => state.to_string(),
    }
}

/// Returns what can be typed, as dim lines.
pub(crate) fn next(commands: impl IntoIterator<Item = (&'static str, String)>) -> String {
    commands.into_iter().map(|(what, command)| paint(DIM, &format!("  {what:<8} {command}\n"))).collect()
}
