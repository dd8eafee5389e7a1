//! What is left over when somebody leaves: calls that had begun, runs whose prompt is gone, proposals that stand nowhere.

use serde_json::json;
use trunkline_runtime::message_tree::{NodeId, Timestamp};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::revert::Prompts;
use trunkline_runtime::{AgentBuilder, Approval, LeftBranch, OnStall, Reverts, Summarizer, SummaryError};

use crate::recovering::soon;
use crate::story::{Story, World, replies, stop_line};

fn n(index: u32) -> NodeId {
    NodeId::new(index)
}

fn call(id: &str, tool: &str, path: &str) -> Turn {
    Turn::new().call(id, tool, &json!({ "path": path, "text": "new" }))
}

fn revert(id: &str, step: &str, summary: &str) -> Turn {
    let arguments = json!({ "category": "failure", "step": step, "summary": summary });
    Turn::new().call(id, "revert_to_state", &arguments)
}

async fn story(reverts: Reverts, turns: Vec<Turn>) -> Story {
    story_of(turns, |agent| agent.with_reverts(reverts)).await
}

async fn story_of(turns: Vec<Turn>, set_up: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Story {
    let world = World::default();
    for name in ["a", "b"] {
        world.files.lock().unwrap().insert(name.to_owned(), format!("text of {name}"));
    }
    let agent = set_up(world.agent(replies(turns))).approval(Approval::Always);
    Story::begin(world, agent).await
}

#[tokio::test]
async fn a_merge_never_says_of_a_call_that_had_begun_that_it_was_not_run() {
    let both = call("c1", "sleep", "a").call("c2", "shell", &json!({ "path": "rm" }));
    let mut story = story(Reverts::default(), vec![Turn::say("One way."), both, Turn::say("well")]).await;
    story.prompt("do it").await.unwrap();
    story.session.go(n(1)).await.unwrap();
    let world = story.world.clone();
    let asleep = async {
        while world.effects().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        stop = story.resume() => panic!("it sleeps until somebody stops it: {stop:?}"),
        () = soon(asleep) => {}
    }
    assert_eq!(world.effects(), ["sleeps"]);
    let mut story = story.restart().await;
    story.session.merge(&[n(2)]).await.unwrap();
    let tree = story.tree();
    assert!(
        tree.contains("result c1!: outcome unknown: this call had begun when the program ended"),
        "{tree}"
    );
    assert!(tree.contains("result c2!: not run: a person merged other branches here first"), "{tree}");
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    let sent = story.world.last_request();
    assert!(sent.contains("outcome unknown") && sent.matches("not run").count() == 1, "{sent}");
}

/// Returns the verdicts, oldest first.
fn verdicts(story: &Story) -> Vec<String> {
    story.session.decisions().iter().map(|one| one.verdict().to_string()).collect()
}

const BY_MODEL: &str = "abandon: the model left the prompt that it started from";
const ANSWERED: &str = "other: answered";

#[tokio::test]
async fn a_model_that_leaves_the_prompt_of_its_run_ends_it_and_a_new_one_goes_on() {
    let turns = vec![
        call("c1", "read", "a"),
        Turn::say("one"),
        call("c2", "read", "b"),
        revert("c3", "n3", "the second prompt led nowhere"),
        Turn::say("again from a"),
    ];
    let mut story = story(Reverts::default().prompts(Prompts::Leave), turns).await;
    story.prompt("first").await.unwrap();
    assert_eq!(stop_line(&story.prompt("second").await), "decided other: answered");
    assert_eq!(verdicts(&story), [ANSWERED, BY_MODEL, ANSWERED]);
    assert_eq!(story.session.answer(), "again from a");
    let story = story.restart().await;
    assert_eq!(verdicts(&story), [ANSWERED, BY_MODEL, ANSWERED]);
    assert!(story.session.open_run().is_none());
}

#[tokio::test]
async fn a_model_that_goes_back_to_an_answer_has_nothing_left_to_do() {
    let turns = vec![Turn::say("one"), call("c2", "read", "b"), revert("c3", "n2", "no"), Turn::say("never")];
    let mut story = story(Reverts::default().prompts(Prompts::Leave), turns).await;
    story.prompt("first").await.unwrap();
    assert_eq!(stop_line(&story.prompt("second").await), "nothing to do");
    assert_eq!(verdicts(&story), [ANSWERED, BY_MODEL]);
    assert_eq!(story.session.tree().head(), n(2));
    assert_eq!(stop_line(&story.resume().await), "nothing to do");
    assert_eq!(stop_line(&story.prompt("third").await), "decided other: answered");
}

#[tokio::test]
async fn a_run_that_started_from_a_merge_ends_when_the_model_leaves_that() {
    let turns = vec![
        Turn::say("One way. It is long."),
        call("c1", "read", "a"),
        Turn::say("The other."),
        call("c2", "read", "b"),
        revert("c3", "n4", "the merge misled me"),
        Turn::say("done"),
    ];
    let mut story = story(Reverts::default(), turns).await;
    story.prompt("do it").await.unwrap();
    story.session.go(n(1)).await.unwrap();
    story.resume().await.unwrap();
    story.session.merge(&[n(2)]).await.unwrap();
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    assert_eq!(verdicts(&story), [ANSWERED, ANSWERED, BY_MODEL, ANSWERED], "{}", story.tree());
}

#[tokio::test]
async fn a_policy_that_leaves_the_prompt_of_a_run_ends_it() {
    let mut turns = vec![call("c0", "read", "a"), Turn::say("one")];
    for _ in 0..3 {
        turns.extend([call("c", "read", "b"), revert("r", "n5", "b says nothing")]);
    }
    turns.push(Turn::say("done"));
    let mut story = story(Reverts::default().prompts(Prompts::Leave).on_stall(OnStall::Accept), turns).await;
    story.prompt("first").await.unwrap();
    let stop = stop_line(&story.prompt("second").await);
    assert!(!story.session.tree().is_on_trunk(n(5)), "{}", story.tree());
    assert_eq!(
        verdicts(&story)[..2],
        [ANSWERED, "abandon: a step back left the prompt that it started from"]
    );
    assert_eq!(
        (story.session.open_run().is_some(), stop.as_str()),
        (false, "nothing to do"),
        "{}",
        story.tree()
    );
}

/// Returns what the note says that a branch wrote, with a clock that goes on by `step`.
async fn written(target: &str, step: i64) -> Vec<String> {
    let turns = vec![
        call("c1", "edit", "kept"),
        call("c2", "read", "a"),
        call("c3", "edit", "left"),
        call("c4", "read", "a"),
        revert("c5", target, "no"),
        Turn::say("done"),
    ];
    let clock = std::sync::Mutex::new(1_000_000_u64);
    let agent = World::default().agent(replies(turns)).with_revert().approval(Approval::Always);
    let agent = agent.clock(move || {
        let mut now = clock.lock().unwrap();
        *now = now.checked_add_signed(step).unwrap();
        Timestamp(*now)
    });
    let mut story = Story::begin(World::default(), agent).await;
    let _ = story.prompt("do it").await;
    let sent = story.session.rendered();
    let note = sent.iter().find(|message| message.text().contains("[revert-lesson]")).unwrap().text();
    note.lines().filter(|line| line.starts_with("Writes")).map(str::to_owned).collect()
}

#[tokio::test]
async fn what_a_branch_wrote_does_not_hang_on_the_clock() {
    for step in [1, 0, -1] {
        assert_eq!(written("n6", step).await, ["Writes: left"], "{step}");
        assert_eq!(written("n1", step).await, ["Writes: kept; left"], "{step}");
    }
}

/// Three reverts with one lesson, and what comes then.
async fn same_lessons(then: Vec<Turn>) -> Story {
    let mut turns = vec![call("c0", "read", "a")];
    for _ in 0..3 {
        turns.extend([call("c", "read", "b"), revert("r", "n3", "b says nothing")]);
    }
    turns.extend(then);
    let mut story = story(Reverts::default().on_stall(OnStall::TellPerson), turns).await;
    story.prompt("do it").await.unwrap();
    story
}

#[tokio::test]
async fn what_reverts_that_teach_nothing_lead_to_is_open_until_there_is_news() {
    let reasons = |story: &Story| -> Vec<String> {
        story.session.proposed_reverts().map(|open| open.because.to_string()).collect()
    };
    // What was done on a branch that was left is no news on the next one.
    let mut story = same_lessons(vec![call("c9", "read", "b"), Turn::say("done")]).await;
    assert_eq!(reasons(&story), ["2 steps back in a row taught only what was known"], "{}", story.tree());
    let again = story.restart().await;
    assert_eq!(reasons(&again).len(), 1);
    story = same_lessons(vec![call("c9", "read", "c"), Turn::say("done")]).await;
    assert_eq!(reasons(&story), Vec::<String>::new(), "there was news");
}

#[tokio::test]
async fn what_reverts_that_teach_nothing_lead_to_is_overtaken_by_a_word_of_a_person() {
    let turns = vec![Turn::say("I wait"), call("c9", "read", "b"), Turn::say("done")];
    let mut story = same_lessons(turns).await;
    assert_eq!(story.session.proposed_reverts().count(), 1);
    story.prompt("go on").await.unwrap();
    assert_eq!(story.session.proposed_reverts().count(), 0);
}

/// A model that asks the person twice for the same step, and then for another one.
async fn asking() -> Story {
    let turns = vec![
        Turn::say("hello"),
        call("c1", "read", "a"),
        revert("c2", "n2", "a dead end"),
        revert("c3", "n2", "a dead end, as I said"),
        revert("c4", "n1", "all of it"),
        Turn::say("I wait"),
    ];
    let mut story = story(Reverts::default().prompts(Prompts::Ask), turns).await;
    story.prompt("hi").await.unwrap();
    story.prompt("read a").await.unwrap();
    story
}

/// Returns what was recorded of steps back.
async fn steps(story: &Story) -> Vec<String> {
    use trunkline_runtime::revert::ProposalEvent;
    use trunkline_runtime::session_store::SessionStore;
    let log = story.store.load(&story.id()).await.unwrap();
    let view = trunkline_runtime::View::of(&log).unwrap();
    let word = |event: &ProposalEvent| match event {
        ProposalEvent::Made(proposal) => format!("{} made", proposal.id),
        ProposalEvent::Answered { id, answer, .. } => format!("{id} {answer:?}"),
        other => format!("{other:?}"),
    };
    view.going_back().steps.told.iter().map(word).collect()
}

#[tokio::test]
async fn a_person_is_asked_once_for_a_step_that_a_model_asks_for_again_and_again() {
    let story = asking().await;
    assert_eq!(steps(&story).await, ["p0 made", "p0 Overtaken", "p1 made"], "{}", story.tree());
    let targets: Vec<_> =
        story.session.proposed_reverts().map(|open| open.request.as_ref().unwrap().target).collect();
    assert_eq!(targets, [n(1)]);
}

#[tokio::test]
async fn a_step_that_a_model_asked_for_is_overtaken_when_the_person_goes_elsewhere() {
    let mut story = asking().await;
    story.session.go(n(2)).await.unwrap();
    assert_eq!(story.session.proposed_reverts().count(), 0);
    assert_eq!(steps(&story).await.last().unwrap(), "p1 Overtaken");
    let story = story.restart().await;
    assert_eq!(story.session.proposed_reverts().count(), 0);
}

/// Returns what the last verdict says that was considered.
fn considered(story: &Story) -> Vec<String> {
    let decision = story.session.decisions().iter().last().unwrap();
    decision.considered().iter().map(|one| one.reason.to_string()).collect()
}

#[tokio::test]
async fn a_verdict_names_every_branch_that_was_left_with_a_copy_of_its_prompt() {
    let turns = vec![
        Turn::say("hello"),
        call("c1", "read", "a"),
        revert("c2", "n2", "first"),
        call("c3", "read", "b"),
        revert("c4", "n2", "second"),
        Turn::say("done"),
    ];
    let mut story = story(Reverts::default().prompts(Prompts::Rebase), turns).await;
    story.prompt("hi").await.unwrap();
    story.prompt("read").await.unwrap();
    let considered = considered(&story);
    assert_eq!(considered.len(), 2, "{considered:?}");
    assert!(considered[0].contains("first") && considered[1].contains("second"), "{considered:?}");
}

/// Says at once what every branch came to.
struct AtOnce;

#[async_trait::async_trait]
impl Summarizer for AtOnce {
    async fn summarize(&self, _: LeftBranch) -> Result<String, SummaryError> {
        Ok("a was read in vain".to_owned())
    }
}

#[tokio::test]
async fn a_verdict_names_a_branch_once_in_the_words_that_came_last() {
    let mut turns = vec![call("c1", "read", "a"), call("c2", "read", "a"), revert("c3", "n3", "")];
    turns.extend([call("c4", "read", "b"), call("c5", "read", "b"), Turn::say("done")]);
    let mut story = story_of(turns, |agent| agent.with_revert().summarizer(AtOnce)).await;
    story.prompt("read").await.unwrap();
    assert_eq!(story.session.notes().len(), 2, "the summary came in time");
    let considered = considered(&story);
    assert_eq!(considered.len(), 1, "{considered:?}");
    assert!(considered[0].contains("a was read in vain"), "{considered:?}");
}

#[tokio::test]
async fn advice_of_another_version_or_that_does_not_fit_is_passed_over() {
    use trunkline_runtime::session_store::{Batch, Note, Position, Record, SessionStore};
    let turns = vec![
        Turn::say("hello"),
        call("c1", "read", "a"),
        revert("c2", "n2", "a dead end"),
        Turn::say("I wait"),
        revert("c3", "n2", "again"),
        Turn::say("I wait"),
    ];
    let mut story = story(Reverts::default().prompts(Prompts::Ask), turns).await;
    story.prompt("hi").await.unwrap();
    story.prompt("read a").await.unwrap();
    assert_eq!(steps(&story).await, ["p0 made"]);
    let Story { world, store, agent, session, cancel } = story;
    let id = session.id().clone();
    drop(session);
    let notes = [
        ("turn", r#"{"node":{"later":1}}"#),
        ("break", "[]"),
        ("compaction_failed", "{}"),
        ("proposal", r#"{"made":{"id":6,"because":{"kind":"a later one"},"head":"n2","at_turn":1}}"#),
        (
            "proposal",
            r#"{"made":{"id":2,"because":{"kind":"same_lessons","reverts":2},"head":"n2","at_turn":1}}"#,
        ),
        ("proposal", r#"{"answered":{"id":3,"answer":{"became":"overtaken"},"by":"harness"}}"#),
        ("proposal", r#"{"answered":{"id":0,"answer":{"became":"postponed"},"by":"person"}}"#),
        ("proposal", r#"{"withdrawn":{"id":0}}"#),
    ];
    let records =
        notes.map(|(kind, body)| Record::Note(Note::new("revert", kind, Timestamp(9), body))).to_vec();
    let info = store.info(&id).await.unwrap();
    let lease = store.lease(&id).await.unwrap();
    let batch = Batch::new(Position { seq: info.records, head: info.head }, records);
    store.append(&lease, batch).await.unwrap();
    drop(lease);
    let session = agent.open(store.clone(), &id).await.unwrap();
    let mut story = Story { world, store, agent, session, cancel };
    assert_eq!(
        story.session.proposed_reverts().count(),
        0,
        "what became of it is not known, but that it is answered"
    );
    story.prompt("and now?").await.unwrap();
    let open: Vec<String> = story.session.proposed_reverts().map(|open| open.id.to_string()).collect();
    assert_eq!(open, ["p7"], "no name is used twice");
    let story = story.restart().await;
    assert_eq!(story.session.proposed_reverts().count(), 1);
}

#[tokio::test]
async fn what_the_tree_hangs_on_is_still_read_strictly() {
    use trunkline_runtime::session_store::{Batch, Note, Position, Record, SessionStore};
    for kind in ["note", "drained", "merge"] {
        let story = story(Reverts::default(), vec![]).await;
        let Story { store, agent, session, .. } = story;
        let id = session.id().clone();
        drop(session);
        let info = store.info(&id).await.unwrap();
        let lease = store.lease(&id).await.unwrap();
        let record = Record::Note(Note::new("revert", kind, Timestamp(9), "[]"));
        let batch = Batch::new(Position { seq: info.records, head: info.head }, vec![record]);
        store.append(&lease, batch).await.unwrap();
        drop(lease);
        assert!(agent.open(store.clone(), &id).await.is_err(), "{kind}");
    }
}
