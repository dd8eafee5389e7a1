//! What a session was given to do, as lines and as JSON.

use serde_json::{Value, json};
use trunkline_runtime::GivenTask;

use crate::reading::purpose::Purpose;
use crate::term::style::{BOLD, DIM, paint};
use crate::term::text::{grouped, one_line};

/// Returns the lines that stand above a conversation.
pub(crate) fn head(Purpose { intent, task }: &Purpose) -> String {
    let mut lines = String::new();
    if let Some(intent) = intent {
        lines.push_str(&format!("{}  {}\n", paint(BOLD, "intent"), one_line(intent, 200)));
    }
    let title = one_line(&task.title, 100);
    lines.push_str(&format!("{}    {title} · {}\n", paint(BOLD, "task"), task.state));
    lines.push_str(&format!("{}\n", paint(DIM, &format!("        spent: {}", spent(task)))));
    lines + "\n"
}

/// Says what was spent on a task, and of how much, where that is bounded.
fn spent(task: &GivenTask) -> String {
    let of = |spent: u64, most: Option<u64>, what: &str| match most {
        Some(most) => format!("{} of {} {what}", grouped(spent), grouped(most)),
        None => format!("{} {what}", grouped(spent)),
    };
    let bounds = task.bounds;
    let retries = of(task.retries.into(), bounds.retries.map(u64::from), "retries");
    let turns = of(task.turns.into(), bounds.turns.map(u64::from), "turns");
    format!("{retries}, {turns}, {}", of(task.tokens, bounds.tokens, "tokens"))
}

/// Adds that to what programs are told of a session.
pub(crate) fn add(shown: &mut Value, Purpose { intent, task }: &Purpose) {
    let GivenTask { retries, turns, tokens, bounds, .. } = task;
    shown["intent"] = json!(intent);
    shown["task"] = json!({
        "id": task.id.to_string(),
        "title": task.title,
        "state": task.state.to_string(),
        "spent": { "retries": retries, "turns": turns, "tokens": tokens },
        "bounds": bounds,
    });
}
