//! Whatever a model writes and whenever its process dies: every request is legal, nothing is bricked, nothing is
//! applied twice.
//!
//! The scripted provider encodes each request on a real wire, so an illegal history fails the drive with an error that
//! no kill explains. Both wires are tried.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use trunkline_runtime::message_tree::{NodeId, StopReason, notation};
use trunkline_runtime::providers::{OpenAiChat, ProviderError, Scripted, Turn};
use trunkline_runtime::resolve_queue::{ProposalId, State, Verdict};
use trunkline_runtime::session_store::{MemoryStore, SessionStore};
use trunkline_runtime::{Agent, Approval, Cancel, Limits, Reverts, RuntimeError, Stop, View, across};

use crate::kills::{Death, Mortal};
use crate::story::{World, tools};

#[derive(Clone, Debug)]
enum Block {
    Say(String),
    Call { id: String, tool: &'static str, arguments: String },
}

#[derive(Clone, Debug)]
struct Reply {
    blocks: Vec<Block>,
    stop: Option<StopReason>,
    breaks: bool,
}

/// What happens between two drives.
#[derive(Clone, Debug)]
enum Act {
    Resume,
    Prompt,
    Decide { id: u32, approve: bool },
    Revert(u32),
    Undo,
    Redo,
}

fn block() -> impl Strategy<Value = Block> {
    let id = prop_oneof![Just("a"), Just("b"), Just(""), Just("odd id:1")].prop_map(str::to_owned);
    let tool = prop_oneof![
        3 => Just("read"),
        3 => Just("edit"),
        2 => Just("shell"),
        1 => Just("panic"),
        1 => Just("nonsense"),
        2 => Just("resolve"),
        3 => Just("revert_to_state"),
        2 => Just("return_to_branch"),
        1 => Just("merge_left_branch"),
        2 => Just("prune_result"),
        1 => Just("recall_result"),
        1 => Just("list_revert_targets"),
    ];
    let arguments = prop_oneof![
        4 => "[ab]".prop_map(|path| format!(r#"{{"path":"{path}","text":"new"}}"#)),
        1 => Just(r#"{"path":"a","text":"unwritable"}"#.to_owned()),
        3 => (0_u32..20).prop_map(|step| format!(
            r#"{{"category":"failure","step":"n{step}","branch":"n{step}","branches":[{step}],"results":["n{step}"],"result":{step},"summary":"s"}}"#
        )),
        3 => (0_u32..4, any::<bool>()).prop_map(|(id, apply)| {
            let action = if apply { "apply" } else { "discard" };
            format!(r#"{{"action":"{action}","reason":"r","id":"p{id}"}}"#)
        }),
        1 => Just(String::new()),
        1 => Just(r#"{"path":"#.to_owned()),
        1 => Just("null".to_owned()),
    ];
    prop_oneof![
        1 => prop_oneof![Just(String::new()), Just(" ".to_owned()), Just("words ".to_owned())].prop_map(Block::Say),
        4 => (id, tool, arguments).prop_map(|(id, tool, arguments)| Block::Call { id, tool, arguments }),
    ]
}

fn reply() -> impl Strategy<Value = Reply> {
    let stop = prop_oneof![
        8 => Just(None),
        1 => Just(Some(StopReason::MaxTokens)),
        1 => Just(Some(StopReason::EndTurn)),
        1 => Just(Some(StopReason::Refusal)),
        1 => Just(Some(StopReason::Other("odd".to_owned()))),
    ];
    (prop::collection::vec(block(), 0..4), stop, prop::bool::weighted(0.1))
        .prop_map(|(blocks, stop, breaks)| Reply { blocks, stop, breaks })
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => Just(Act::Resume),
        2 => Just(Act::Prompt),
        3 => (0_u32..5, any::<bool>()).prop_map(|(id, approve)| Act::Decide { id, approve }),
        1 => (0_u32..20).prop_map(Act::Revert),
        1 => Just(Act::Undo),
        1 => Just(Act::Redo),
    ]
}

fn turn(reply: &Reply) -> Turn {
    let mut turn = Turn::new();
    for block in &reply.blocks {
        turn = match block {
            Block::Say(text) => turn.and_say(text.clone()),
            Block::Call { id, tool, arguments } => turn.call_raw(id.clone(), *tool, arguments.clone()),
        };
    }
    if let Some(stop) = &reply.stop {
        turn = turn.stop(stop.clone());
    }
    if reply.breaks { turn.fail(ProviderError::Cut) } else { turn }
}

async fn live(
    replies: Vec<Reply>,
    acts: Vec<Act>,
    deaths: Vec<usize>,
    approval: Approval,
    chat: bool,
) -> Result<(), TestCaseError> {
    let world = World::default();
    let inner = Arc::new(MemoryStore::new());
    let next = Arc::new(AtomicUsize::new(0));
    let script = move |_: &_| {
        let at = next.fetch_add(1, Ordering::SeqCst);
        replies.get(at).map_or_else(|| Turn::say("done"), turn)
    };
    let model = Scripted::new("test", "script", script);
    let model = if chat { model.on(OpenAiChat::default()) } else { model };
    let mut limits = Limits::default();
    limits.turns = 30;
    let reverts = Reverts::default().offer_merge().offer_return().offer_pruning();
    let agent =
        Agent::builder(model).system("You work.").approval(approval).with_reverts(reverts).limits(limits);
    let agent = agent.tools(tools(&world)).build();
    let agent = agent.map_err(|fault| TestCaseError::fail(fault.to_string()))?;

    let mut deaths = deaths.into_iter();
    let mut id = None;
    let mut known = String::new();
    for act in std::iter::once(Act::Prompt).chain(acts).chain([Act::Resume, Act::Resume]) {
        // Each act is a life of its own; some of them are cut short.
        let left = deaths.next().unwrap_or(usize::MAX);
        let death = [Death::Lost, Death::Kept, Death::Fenced][left % 3];
        let store: Arc<dyn SessionStore> = Arc::new(Mortal::new(inner.clone(), left, death));
        let opened = match &id {
            None => agent.start(store, "t", None).await,
            Some(id) => agent.open(store, id).await,
        };
        let mut session = match opened {
            Ok(session) => session,
            Err(fault) => {
                explained(&fault, left)?;
                continue;
            }
        };
        id = Some(session.id().clone());
        let printed = notation::print_tree(session.tree());
        prop_assert!(printed.starts_with(&known), "nothing that was said is lost");
        let cancel = Cancel::new();
        let outcome = match act {
            Act::Resume => session.resume(&cancel).await,
            Act::Prompt => session.prompt("go", &cancel).await,
            Act::Decide { id, approve } => {
                let verdict = if approve { Verdict::Approve } else { Verdict::Discard };
                session.decide(ProposalId(id), verdict, "because").await.map(|()| Stop::Idle)
            }
            Act::Revert(node) => session.revert(NodeId::new(node), Some("s")).await.map(|()| Stop::Idle),
            Act::Undo => session.undo().await.map(|()| Stop::Idle),
            Act::Redo => session.redo().await.map(|()| Stop::Idle),
        };
        if let Err(fault) = &outcome {
            explained(fault, left)?;
        }
        let log = inner.load(session.id()).await.map_err(|fault| TestCaseError::fail(fault.to_string()))?;
        let view = View::of(&log).map_err(|fault| TestCaseError::fail(fault.to_string()))?;
        known = notation::print_tree(view.tree());
        found(&inner, &view).await?;
    }

    // However it went: an undisturbed life brings it to an end, or to somebody who has to decide.
    let Some(id) = id else { return Ok(()) };
    let mut session =
        agent.open(inner.clone(), &id).await.map_err(|fault| TestCaseError::fail(fault.to_string()))?;
    for _ in 0..12 {
        match session.resume(&Cancel::new()).await {
            Ok(Stop::Waiting(waiting)) => {
                for id in waiting {
                    let entry = session.proposals().get(id).map(|entry| entry.state);
                    // A person may always say no to what waits.
                    if matches!(entry, Some(State::Proposed | State::Failed)) {
                        let declined = session.decide(id, Verdict::Discard, "no").await;
                        prop_assert!(declined.is_ok(), "{id}: {declined:?}");
                    }
                }
            }
            Ok(Stop::Idle | Stop::Decided(_)) if session.open_run().is_none() => break,
            Ok(_) => {}
            Err(fault) => explained(&fault, usize::MAX)?,
        }
    }
    prop_assert!(
        session.open_run().is_none(),
        "the run gets its verdict:\n{}",
        notation::print_tree(session.tree())
    );
    let applied =
        session.proposals().iter().filter(|entry| entry.state == State::Applied).collect::<Vec<_>>();
    let edits = applied.iter().filter(|entry| entry.proposal.source_tool == "edit").count();
    let wrote = world.effects().iter().filter(|effect| effect.starts_with("wrote")).count();
    prop_assert!(wrote >= edits, "what counts as applied was written");
    prop_assert!(
        wrote <= session.proposals().iter().map(|entry| entry.attempts as usize).sum(),
        "and not twice"
    );
    Ok(())
}

/// Checks that what is found by key across sessions is what the log of the one session says.
async fn found(store: &MemoryStore, view: &View) -> Result<(), TestCaseError> {
    for state in State::ALL {
        let word = if *state == State::Proposed { "pending".to_owned() } else { state.to_string() };
        let found = store.notes(&across::pending_proposals().in_state(word)).await;
        let found = found.map_err(|fault| TestCaseError::fail(fault.to_string()))?;
        let mut found: Vec<String> = found.into_iter().map(|note| note.key.key).collect();
        found.sort();
        let meant = view.proposals().iter().filter(|entry| entry.state == *state);
        let mut meant: Vec<String> = meant.map(|entry| entry.id.to_string()).collect();
        meant.sort();
        prop_assert_eq!(found, meant, "{}", state);
    }
    let open = store.notes(&across::open_runs()).await;
    let open = open.map_err(|fault| TestCaseError::fail(fault.to_string()))?;
    prop_assert_eq!(open.len(), usize::from(view.open_run().is_some()));
    Ok(())
}

/// Lets an error pass that a kill, a broken reply or a refusal explains.
fn explained(fault: &RuntimeError, left: usize) -> Result<(), TestCaseError> {
    match fault {
        RuntimeError::Store(_) | RuntimeError::TakenOver { .. } if left < usize::MAX => Ok(()),
        RuntimeError::Provider(ProviderError::Cut)
        | RuntimeError::NothingCame { .. }
        | RuntimeError::Refused { .. }
        | RuntimeError::Proposal(_) => Ok(()),
        other => Err(TestCaseError::fail(format!("{other}: {other:?}"))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_session_is_never_bricked(
        replies in prop::collection::vec(reply(), 0..8),
        acts in prop::collection::vec(act(), 0..6),
        deaths in prop::collection::vec(prop_oneof![0_usize..12, Just(usize::MAX)], 0..6),
        approval in prop_oneof![Just(Approval::Person), Just(Approval::Model), Just(Approval::Always)],
        chat in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime");
        runtime.block_on(live(replies, acts, deaths, approval, chat))?;
    }
}
