//! The state that a checkpoint names: the node of the conversation, and the files, kept or not.

use std::sync::Arc;

use async_trait::async_trait;
use expect_test::{Expect, expect};
use serde_json::json;
use trunkline_runtime::decision_objects::{CheckpointFiles, CheckpointState, Decision, RunId};
use trunkline_runtime::message_tree::Timestamp;
use trunkline_runtime::orders::{Order, Settled, post, settled};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::{
    Approval, Base, Changes, Checkpoint, Checkpoints, CloseAs, KeptFiles, Limits, Session, Touched,
    Workspace, WorkspaceFault,
};

use crate::fake_folder::{Act, FakeFolder};
use crate::kills::{Death, Mortal};
use crate::story::{Story, World, replies, stop_line};

/// A run that has written `a`, in a folder if there is one, and stops at the limit of turns.
async fn at_the_limit(world: &World, folder: Option<Arc<dyn Workspace>>) -> Story {
    let edit = Turn::new().call("c1", "edit", &json!({ "path": "a", "text": "new" }));
    let mut limits = Limits::default();
    limits.turns = 1;
    let agent = world.agent(replies(vec![edit, Turn::say("done"), Turn::say("again")]));
    let mut agent = agent.approval(Approval::Always).limits(limits);
    if let Some(folder) = folder {
        agent = agent.workspace(folder);
    }
    let mut story = Story::begin(world.clone(), agent).await;
    assert_eq!(stop_line(&story.prompt("write a").await), "at the limit of turns");
    story
}

/// The files of the world, in a folder that keeps them.
fn keeping(world: &World) -> FakeFolder {
    FakeFolder::of(&world.files).keeps()
}

fn put_down() -> CloseAs {
    CloseAs::Checkpoint { words: "a is written".to_owned() }
}

fn state(decision: &Decision) -> &CheckpointState {
    decision.verdict().checkpoint_state().expect("each checkpoint names one")
}

fn told(decision: &Decision) -> String {
    let CheckpointState { node, files } = state(decision);
    match files {
        CheckpointFiles::Kept { tree, commit, reference } => {
            let (tree, commit) = (tree.to_string(), commit.to_string());
            let reference = reference.as_str().replace(&decision.run().to_string(), "RUN");
            format!("{node}: tree {}, commit {}, {reference}", &tree[36..], &commit[36..])
        }
        CheckpointFiles::NotKept { reason } => format!("{node}: {reason}"),
    }
}

async fn check(world: &World, folder: Option<Arc<dyn Workspace>>, expected: Expect) {
    let mut story = at_the_limit(world, folder).await;
    let decision = story.session.close_run(put_down()).await.expect("whatever became of the files");
    assert_eq!(decision.verdict().to_string(), "checkpoint: a is written");
    expected.assert_eq(&told(&decision));
    // It is so for whoever reads it later.
    let story = story.restart().await;
    assert_eq!(told(story.session.decisions().iter().next().unwrap()), told(&decision));
}

#[tokio::test]
async fn a_checkpoint_names_the_node_and_the_files() {
    let world = World::default();
    let folder = keeping(&world);
    check(&world, Some(Arc::new(folder.clone())), expect!["n4: tree 0001, commit 0001, refs/kept/RUN"]).await;
    let asked = folder.kept.lock().unwrap().checkpoints.clone();
    let asked: Vec<_> = asked.iter().map(|one| (one.node.as_str(), one.words.as_str())).collect();
    assert_eq!(asked, [("n4", "a is written")], "it is asked for once");
    // Nobody else keeps files.
    for how in [CloseAs::Abandon { reason: "no".into() }, CloseAs::Retry { reason: "again".into() }] {
        let folder = keeping(&world);
        let mut story = at_the_limit(&world, Some(Arc::new(folder.clone()))).await;
        story.session.close_run(how).await.unwrap();
        assert_eq!(folder.count(Act::Keep), 0);
    }
}

#[tokio::test]
async fn where_nothing_keeps_files_it_says_so() {
    let full = |world: &World, why| -> Option<Arc<dyn Workspace>> {
        let folder = keeping(world);
        folder.fail(&[Act::Keep], 1, why);
        Some(Arc::new(folder))
    };
    let world = World::default;
    check(&world(), None, expect!["n4: the session was opened without its folder"]).await;
    let plain = expect!["n4: this workspace keeps no files: it has no version control"];
    check(&world(), Some(Arc::new(FakeFolder::plain())), plain).await;
    let one = world();
    check(&one, full(&one, "the disk is full"), expect!["n4: the disk is full"]).await;
    let one = world();
    check(&one, full(&one, " \n"), expect!["n4: it was not said why"]).await;
}

/// A folder that answers anything.
struct Odd(KeptFiles);

#[async_trait]
impl Workspace for Odd {
    async fn base(&self) -> Result<Base, WorkspaceFault> {
        Ok(Base::default())
    }

    async fn changes(&self, _: &Base, _: &[Touched]) -> Result<Changes, WorkspaceFault> {
        Ok(Changes::default())
    }

    fn as_checkpoints(&self) -> Option<&dyn Checkpoints> {
        Some(self)
    }
}

#[async_trait]
impl Checkpoints for Odd {
    async fn keep_files(&self, _: &Checkpoint) -> Result<KeptFiles, WorkspaceFault> {
        Ok(self.0.clone())
    }
}

#[tokio::test]
async fn names_that_no_verdict_can_hold_are_no_reason_to_lose_one() {
    let world = World::default;
    let one = "1".repeat(40);
    let odd = |tree: &str, commit: &str, reference: &str| -> Option<Arc<dyn Workspace>> {
        let (tree, commit, reference) = (tree.to_owned(), commit.to_owned(), reference.to_owned());
        Some(Arc::new(Odd(KeptFiles { tree, commit, reference })))
    };
    check(&world(), odd("HEAD", &one, "refs/x"), expect!["n4: what keeps the files named no tree"]).await;
    check(
        &world(),
        odd(&one, &"0".repeat(40), "refs/x"),
        expect!["n4: what keeps the files named no commit"],
    )
    .await;
    check(&world(), odd(&one, &one, " "), expect!["n4: what keeps the files named no ref"]).await;
}

/// What a ref keeps of a run, as a verdict tells it.
fn fits(folder: &FakeFolder, session: &Session, run: RunId) {
    let decisions: Vec<_> = session.decisions().iter().filter(|decision| decision.run() == run).collect();
    let [decision] = decisions.as_slice() else { panic!("a run has one verdict: {decisions:?}") };
    let kept = folder.kept.lock().unwrap();
    assert_eq!(kept.refs.len(), 1, "one ref for the run");
    let by_ref = &kept.refs[&run.to_string()];
    match &state(decision).files {
        CheckpointFiles::Kept { tree, commit, reference } => {
            let named = (tree.to_string(), commit.to_string(), reference.as_str());
            assert_eq!(named, (by_ref.tree.clone(), by_ref.commit.clone(), by_ref.reference.as_str()));
        }
        CheckpointFiles::NotKept { reason } => panic!("{reason}"),
    }
}

#[tokio::test]
async fn a_kill_at_the_write_leaves_one_verdict_and_a_ref_that_fits_it() {
    for death in [Death::Lost, Death::Kept, Death::Fenced, Death::Once, Death::Unheard] {
        let world = World::default();
        let folder = keeping(&world);
        let story = at_the_limit(&world, Some(Arc::new(folder.clone()))).await;
        let Story { world: _world, store, agent, session, .. } = story;
        let (id, run) = (session.id().clone(), session.open_run().unwrap());
        drop(session);
        let mortal = Arc::new(Mortal::new(store.clone(), usize::MAX, death));
        let mut session = agent.open(mortal.clone(), &id).await.unwrap();
        mortal.die();
        session.close_run(put_down()).await.unwrap_err();
        assert_eq!(folder.count(Act::Keep), 1, "the ref comes before the record");
        drop(session);
        // Meanwhile somebody has written another file.
        world.files.lock().unwrap().insert("b".to_owned(), "other".to_owned());
        let mut session = agent.open(store.clone(), &id).await.unwrap();
        if session.open_run().is_some() {
            session.close_run(put_down()).await.unwrap();
        }
        fits(&folder, &session, run);
    }
}

#[tokio::test]
async fn a_letter_from_another_process_keeps_the_files_too() {
    let world = World::default();
    let folder = keeping(&world);
    let mut story = at_the_limit(&world, Some(Arc::new(folder.clone()))).await;
    let (id, run) = (story.id(), story.session.open_run().unwrap());
    let request = Order::CloseRun { run, close: put_down() };
    let letter = post(story.store.as_ref(), &id, &request, Timestamp(1)).await.unwrap();
    story.session.read_letters().await.unwrap();
    let settled = settled(story.store.as_ref(), &id, letter).await.unwrap();
    assert!(matches!(settled, Settled::Done { .. }), "{settled:?}");
    fits(&folder, &story.session, run);
}
