//! What it costs to take a session up whose trunk is short and whose log is long.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use trunkline_message_tree::{Entry, MessageTree};
use trunkline_runtime::Agent;
use trunkline_session_store::{Header, Restoring, SessionId, SessionStore};

use crate::long_sessions::{Outcome, Times, store};
use crate::{Lines, turn};

/// How long it may take to open the long session, against one that has no more than its trunk.
const BAR: f64 = 3.0;
/// Messages on the trunk of both.
const TRUNK: usize = 1_000;
/// Rounds of a branch that is left.
const BRANCH: usize = 250;

/// Opens sessions of `length` messages and of `TRUNK` in turn, in memory and then on disk.
pub(crate) async fn measure(
    (what, path): (&str, &Path),
    (agent, prompt): (&Agent, &str),
    (length, times): (usize, usize),
    lines: &mut Lines,
) -> Outcome<()> {
    let made = store(None).await?;
    let (short, long) =
        (build(agent, &made, prompt, TRUNK).await?, build(agent, &made, prompt, length).await?);
    let on_disk = store(Some(path)).await?;
    for session in [&short, &long] {
        copy(&made, &on_disk, session).await?;
    }
    for (name, store) in [("memory", made), ("SQLite", on_disk)] {
        // The first opening after a copy reads the whole log, and keeps a snapshot.
        let first = opening(agent, &store, &long).await?;
        let (mut base, mut took) = (Times::default(), Times::default());
        for _ in 0..times {
            base.0.push(opening(agent, &store, &short).await?);
            took.0.push(opening(agent, &store, &long).await?);
        }
        println!("    {TRUNK} {base}   {length} {took}   the first {first:.0?}");
        lines.print(&format!("{name}, opening, {what}: {length} against {TRUNK}"), base.ratio(&took), BAR);
    }
    Ok(())
}

/// Lives a session until it has so many messages, most of them on branches that were left, and a trunk of `TRUNK`.
async fn build(
    agent: &Agent,
    store: &Arc<dyn SessionStore>,
    prompt: &str,
    length: usize,
) -> Outcome<SessionId> {
    let mut session = agent.start(Arc::clone(store), "", None).await?;
    while session.tree().trunk().ids().len() < TRUNK / 2 {
        turn(&mut session, prompt).await?;
    }
    let fork = session.tree().head();
    while session.tree().len() + TRUNK / 2 < length {
        for _ in 0..BRANCH {
            turn(&mut session, prompt).await?;
        }
        session.revert(fork, Some("it leads nowhere")).await?;
    }
    while session.tree().trunk().ids().len() < TRUNK {
        turn(&mut session, prompt).await?;
    }
    Ok(session.id().clone())
}

async fn copy(from: &Arc<dyn SessionStore>, to: &Arc<dyn SessionStore>, session: &SessionId) -> Outcome<()> {
    let info = from.info(session).await?;
    let kept = from.read(session, 0, usize::MAX).await?;
    let mut rows = kept.into_iter().map(Ok);
    to.restore(Restoring::new(Header::of(&info), &mut rows)).await?;
    Ok(())
}

async fn opening(agent: &Agent, store: &Arc<dyn SessionStore>, session: &SessionId) -> Outcome<Duration> {
    let start = Instant::now();
    let opened = agent.open(Arc::clone(store), session).await?;
    let took = start.elapsed();
    if opened.tree().trunk().ids().len() < TRUNK {
        return Err("the trunk is not what it was".into());
    }
    drop(opened);
    Ok(took)
}

/// What a session costs beside its trunk that is open and does nothing, with six short messages.
pub(crate) async fn idle(path: &Path, agent: &Agent, prompt: &str, lines: &mut Lines) -> Outcome<()> {
    let store = store(Some(path)).await?;
    let mut ids = Vec::new();
    for _ in 0..IDLE + SHARED {
        let mut session = agent.start(Arc::clone(&store), "", None).await?;
        while session.tree().len() < 6 {
            turn(&mut session, prompt).await?;
        }
        ids.push(session.id().clone());
    }
    // What all of them share is there after some.
    let (mut sessions, mut trunks) = (Vec::new(), Vec::new());
    let mut before = 0;
    for (number, id) in ids.iter().enumerate() {
        if number == SHARED {
            before = memory()?;
        }
        sessions.push(agent.open(Arc::clone(&store), id).await?);
    }
    let session = memory()?.saturating_sub(before) as f64 / IDLE as f64;
    for (number, session) in sessions.iter().enumerate() {
        if number == SHARED {
            before = memory()?;
        }
        trunks.push(copy_of(session.tree())?);
    }
    let trunk = memory()?.saturating_sub(before) as f64 / IDLE as f64;
    println!("    {session:.0} bytes of an idle session on SQLite, opened, and {trunk:.0} of a trunk alone");
    lines.print("idle session beside its trunk / 2,000 bytes", (session - trunk) / 2_000.0, 1.0);
    let before = memory()?;
    for session in &mut sessions {
        turn(session, prompt).await?;
    }
    let more = memory()?.saturating_sub(before) as f64 / (IDLE + SHARED) as f64;
    println!("    {more:.0} bytes more on average after one more turn, with its messages");
    drop((sessions, trunks));
    Ok(())
}

/// Returns a tree that shares nothing with another one.
fn copy_of(tree: &MessageTree) -> Outcome<MessageTree> {
    let mut entries = tree.entries();
    let Some(Entry::Node { message, at, .. }) = entries.next() else { return Err("it has no root".into()) };
    let mut copy = MessageTree::new(message, at);
    for entry in entries {
        copy.record(entry)?;
    }
    Ok(copy)
}

const IDLE: usize = 1_000;
const SHARED: usize = 100;

/// Returns the memory of this process, as the operating system says.
fn memory() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no such line")?;
    Ok(line.split_whitespace().next().ok_or("no number")?.parse::<u64>()? * 1024)
}
