//! `trunkline compact`: a summary takes the place of older messages, and they stay in the tree.

use trunkline_runtime::revert::{CompactPlan, CompactPolicy, Sent};
use trunkline_runtime::{Cancel, Compaction};
use trunkline_session_store::Claim;

use crate::args::Compact;
use crate::desk::letters::{self, Entrance};
use crate::desk::place::Place;
use crate::desk::setup::{self, Folder};
use crate::desk::{model, settings, store};
use crate::live::interrupt;
use crate::reading::session::Reading;
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{DIM, MAGENTA, paint};
use crate::term::tell::tell;
use crate::term::text::{count, grouped, one_line};

/// `trunkline compact`.
pub(crate) async fn run(args: &Compact, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), args.session.as_deref()).await?;
    let reading = Reading::load(store.as_ref(), &info).await?;
    let tree = reading.tree();
    let sent = Sent::whole(tree).without(&reading.view().going_back().prunings);
    // Whoever names no window means the prompt as it is.
    let policy = CompactPolicy::new(args.window.unwrap_or_else(|| sent.tokens().tokens));
    if args.dry_run {
        let told = match sent.compaction_now(reading.notes(), &policy) {
            Some(plan) => planned(&plan),
            None => "there is nothing to compact\n".to_owned(),
        };
        out::print(&told)?;
        return Ok(Exit::Done);
    }
    let folder = Folder::for_moves(&reading)?;
    settings::check_outside(args.settings.as_deref(), reading.info.workspace.as_deref())?;
    let before = model::before(store.as_ref(), &reading).await?;
    let asked = model::open(&args.model, &before, |name| std::env::var(name).ok())?;
    let (builder, _) = setup::agent(asked.provider, &folder)?;
    let agent = setup::with_model(builder, &args.model, asked.url)
        .with_revert()
        .with_compaction(Compaction::new(policy))
        .retries(setup::retries(&args.model))
        .build()?;
    let name = store::short_name(store.as_ref(), &info.id).await;
    let mut session = match letters::enter(&agent, &store, &info, Claim::IfFree).await? {
        Entrance::Mine(session) => session,
        Entrance::Theirs(holder) => {
            return Err(Fault::new(format!("session {name} is being written by {holder}"))
                .hint("a run that was begun with `--window` compacts by itself"));
        }
    };
    tell(&paint(DIM, &format!("asking {} for a summary\n", one_line(&asked.words, 100))));
    let cancel = Cancel::new();
    let watching = interrupt::watch(&cancel);
    let made = session.compact(&cancel).await;
    watching.abort();
    let moved = session.tree().head() != tree.head();
    if made.is_err() && moved {
        let (head, see) = (session.tree().head(), place.command(&format!("reflog {name}")));
        let fault = Fault::new(format!("nothing was compacted: the head was moved to {head} meanwhile"));
        return Err(fault.hint(format!("see who did it with: {see}")));
    }
    if made.is_err() && cancel.is_cancelled() {
        tell("nothing was compacted: it was cancelled\n");
        return Ok(Exit::Interrupted);
    }
    let made = made?;
    let words = format!(
        "⤓ {} now stands for {} to {} ({})",
        made.node,
        made.plan.from,
        made.plan.to,
        count(made.plan.covered, "message")
    );
    out::print(&format!("{}\n", paint(MAGENTA, &words)))?;
    let (leaving, comes) = (grouped(made.plan.leaving), grouped(made.summary_tokens));
    tell(&format!("about {leaving} prompt tokens leave, about {comes} come\n"));
    let see = place.command(&format!("tree {name}"));
    tell(&paint(DIM, &format!("  see it  {see}\n")));
    Ok(Exit::Done)
}

/// Says what a compaction would do.
fn planned(plan: &CompactPlan) -> String {
    let notes = match plan.pinned.len() {
        0 => String::new(),
        pinned => format!("; {} of it stay", count(pinned, "pinned note")),
    };
    format!(
        "{} to {} would be covered ({}{notes})\nabout {} prompt tokens, about {} without them; the summary comes on top\n",
        plan.from,
        plan.to,
        count(plan.covered, "message"),
        before(plan),
        grouped(plan.tokens.tokens.saturating_sub(plan.leaving))
    )
}

/// Returns how large the prompt was, and how much of that the provider counted.
fn before(plan: &CompactPlan) -> String {
    let counted = match plan.tokens.counted {
        0 => "estimated".to_owned(),
        counted => format!("{} of them counted", grouped(counted)),
    };
    format!("{} ({counted})", grouped(plan.tokens.tokens))
}
