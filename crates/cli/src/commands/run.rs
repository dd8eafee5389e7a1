//! `trunkline run`: a model is given a task.
//!
//! stdout gets the answer and nothing else; all that happens on the way is told on stderr.

use std::sync::Arc;

use trunkline_runtime::NewTask;
use trunkline_runtime::orders::Order;

use crate::args::Run;
use crate::args::terms::policy_of;
use crate::desk::model::{self, variable};
use crate::desk::place::Place;
use crate::desk::setup::{self, Folder};
use crate::desk::summaries::with_summaries;
use crate::desk::task;
use crate::live::drive::Drive;
use crate::term::fault::{Exit, Fault};
use crate::term::stdin::read_stdin;
use crate::term::text;

/// `trunkline run`.
pub(crate) async fn run(args: &Run, place: &Place) -> Result<Exit, Fault> {
    let before = model::Before::default();
    let asked = model::open(&args.model, &before, variable)?;
    let asked = with_summaries(asked, &args.model, &before, &args.terms.going_back, variable)?;
    let typed = match args.prompt.as_deref() {
        Some("-") => Some(read_stdin()?),
        typed => typed.map(str::to_owned),
    };
    if typed.as_ref().is_some_and(|typed| typed.trim().is_empty()) {
        return Err(Fault::usage("the prompt is empty"));
    }
    let given =
        |task: &String| task::read(task, typed.as_deref(), setup::bounds(&args.terms, args.max_retries));
    let given = args.task.as_ref().map(given).transpose()?;
    // What is said beside a task follows it.
    let said = given.iter().map(NewTask::text).chain(typed.iter().cloned());
    let prompt = said.collect::<Vec<String>>().join("\n\n");
    let folder = Folder::named(&args.cwd)?;
    if args.terms.commit {
        folder.check_commit()?;
    }
    let instructions = match &args.system {
        Some(path) => std::fs::read(path)
            .map_err(|error| error.to_string())
            .and_then(text::decoded)
            .map_err(|why| Fault::usage(format!("cannot read {}: {why}", path.display())))?,
        None => setup::instructions(&args.terms),
    };
    let terms = &args.terms;
    let drive = Drive::new(place, &args.model, terms, policy_of(terms)).beside(asked.tape.clone());
    let agent = drive.agent(asked, &folder, Some(instructions))?;
    let store = place.open().await?;
    let title = text::one_line(given.as_ref().map_or(&prompt, |task| &task.title), 80);
    let mut session = agent.start(Arc::clone(&store), &title, folder.as_str()).await?;
    if let Some(task) = given {
        session.order(Order::GiveTask { task }).await?;
    }
    drive.go(session, store.as_ref(), Some(&prompt)).await
}
