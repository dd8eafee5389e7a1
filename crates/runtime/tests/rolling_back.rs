//! What a run changed, taken back by a run of its own, also through kills.

use std::sync::Arc;

use expect_test::expect;
use proptest::prelude::*;
use serde_json::json;
use trunkline_runtime::decision_objects::{DecisionId, Verdict};
use trunkline_runtime::message_tree::Timestamp;
use trunkline_runtime::providers::Turn;
use trunkline_runtime::session_store::{Log, MemoryStore, Record, SessionStore};
use trunkline_runtime::{Agent, Approval, Cancel, CloseAs, Left, Limits, RuntimeError, Session};

use crate::fake_folder::{FakeFolder, Files, files};
use crate::kills::{Death, Mortal};
use crate::story::{World, replies, stop_line};

pub(crate) struct Scene {
    pub(crate) folder: FakeFolder,
    pub(crate) agent: Agent,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) session: Session,
}

/// One run after another has written these files, each all of one list.
pub(crate) async fn after_runs(before: &Files, runs: &[Vec<(&str, &str)>], commits: bool) -> Scene {
    let world = World::default();
    *world.files.lock().unwrap() = before.clone();
    let folder = FakeFolder::of(&world.files).restores();
    let mut turns = Vec::new();
    for (number, writes) in runs.iter().enumerate() {
        let mut turn = Turn::new();
        for (index, (path, text)) in writes.iter().enumerate() {
            turn = turn.call(format!("c{number}-{index}"), "edit", &json!({ "path": path, "text": text }));
        }
        turns.extend([turn, Turn::say("done")]);
    }
    let agent = world.agent(replies(turns)).approval(Approval::Always).commits(commits);
    let agent = agent.workspace(Arc::new(folder.clone())).build().unwrap();
    let store = Arc::new(MemoryStore::new());
    let mut session = agent.start(store.clone(), "t", None).await.unwrap();
    for number in 0..runs.len() {
        let stop = session.prompt(&format!("run {number}"), &Cancel::new()).await;
        assert!(stop_line(&stop).starts_with("decided "), "{}", stop_line(&stop));
    }
    Scene { folder, agent, store, session }
}

pub(crate) fn ids(session: &Session) -> Vec<DecisionId> {
    session.decisions().iter().map(trunkline_runtime::decision_objects::Decision::id).collect()
}

#[tokio::test]
async fn what_was_applied_is_taken_back_by_a_run_that_says_so() {
    let before = files(&[("a", "old")]);
    for commits in [false, true] {
        let mut scene = after_runs(&before, &[vec![("a", "new"), ("b", "more")]], commits).await;
        let of = ids(&scene.session)[0];
        let preview = scene.session.preview_rollback(of).await.unwrap();
        assert_eq!(preview.files.len(), 2);
        let decision = scene.session.rollback(of, None).await.unwrap();
        assert_eq!(scene.folder.now(), before);
        let Verdict::Rollback { of: undone, reverted_to, patch_set } = decision.verdict() else { panic!() };
        assert_eq!((*undone, reverted_to.is_some(), patch_set.is_some()), (of, commits, true));
        assert_eq!(decision.cites().files.len(), 2);
        assert!(scene.session.open_run().is_none());
        // The model hears of it with the next prompt, and is not asked before.
        assert_eq!(stop_line(&scene.session.resume(&Cancel::new()).await), "nothing to do");
        let again = scene.session.rollback(of, None).await.unwrap_err();
        assert!(again.to_string().contains("already rolled back"), "{again}");
        // What took it back can be taken back.
        scene.session.rollback(decision.id(), None).await.unwrap();
        assert_eq!(scene.folder.now(), files(&[("a", "new"), ("b", "more")]));
    }
}

#[tokio::test]
async fn what_somebody_else_has_written_since_is_in_the_way_and_nothing_is_touched() {
    let mut scene = after_runs(&Files::new(), &[vec![("a", "1"), ("b", "1")], vec![("b", "2")]], false).await;
    let (first, second) = (ids(&scene.session)[0], ids(&scene.session)[1]);
    let (files_before, records) =
        (scene.folder.now(), scene.store.info(scene.session.id()).await.unwrap().records);
    let fault = scene.session.rollback(first, None).await.unwrap_err();
    assert!(matches!(&fault, RuntimeError::Conflicts { conflicts, .. } if conflicts.len() == 1));
    assert!(fault.to_string().contains("b has been changed since"), "{fault}");
    assert_eq!(scene.folder.now(), files_before);
    assert_eq!(scene.store.info(scene.session.id()).await.unwrap().records, records);
    // From the newest to the oldest it goes.
    scene.session.rollback(second, None).await.unwrap();
    scene.session.rollback(first, None).await.unwrap();
    assert_eq!(scene.folder.now(), Files::new());
}

#[tokio::test]
async fn what_changed_nothing_or_is_nowhere_cannot_be_taken_back() {
    let mut scene = after_runs(&Files::new(), &[vec![("a", "1")]], false).await;
    let stop = scene.session.prompt("and?", &Cancel::new()).await;
    assert_eq!(stop_line(&stop), "decided other: answered");
    let answered = ids(&scene.session)[1];
    let fault = scene.session.rollback(answered, None).await.unwrap_err();
    assert!(fault.to_string().contains("without changes"), "{fault}");
    let nobody: DecisionId = "01890000-0000-7000-8000-000000000000".parse().unwrap();
    let fault = scene.session.rollback(nobody, None).await.unwrap_err();
    expect!["there is no decision 01890000-0000-7000-8000-000000000000 in this session"]
        .assert_eq(&fault.to_string());
}

/// The rollback of what was applied gives the files of before, however often its process is killed: at any write of the
/// log, and after any of the files.
#[tokio::test]
async fn a_rollback_that_is_killed_anywhere_is_brought_to_its_end() {
    let before = files(&[("a", "old"), ("c", "stays")]);
    for commits in [false, true] {
        for death in [Death::Lost, Death::Kept, Death::Fenced] {
            for life in 0..7 {
                let scene = after_runs(&before, &[vec![("a", "new"), ("b", "more")]], commits).await;
                let Scene { folder, agent, store, session } = scene;
                let (id, of, left) = (session.id().clone(), ids(&session)[0], folder.now());
                drop(session);
                // Who was fenced out may be alive: a minute later its time is over.
                let later = World::default().agent(replies(Vec::new())).commits(commits);
                let later = later.clock(|| Timestamp(1_000_000)).workspace(Arc::new(folder.clone()));
                let later = later.build().unwrap();
                let mortal = Arc::new(Mortal::new(store.clone(), life, death));
                let mut session = agent.open(mortal, &id).await.unwrap();
                let why = Some("  the lock was held twice\n");
                let ended = session.rollback(of, why).await.is_ok();
                drop(session);
                let mut session = later.open(store.clone(), &id).await.unwrap();
                let begun =
                    session.decisions().iter().any(|one| matches!(one.verdict(), Verdict::Rollback { .. }));
                assert!(begun || !ended);
                assert_eq!(folder.now(), if begun { before.clone() } else { left }, "{death:?} {life}");
                assert!(session.open_run().is_none());
                if !begun {
                    session.rollback(of, why).await.unwrap();
                }
                let last = session.decisions().iter().find(|one| one.id() != of).unwrap();
                assert_eq!(last.rationale().map(|why| why.as_str()), Some("the lock was held twice"));
                assert_eq!(folder.now(), before);
                assert_eq!(session.decisions().iter().count(), 2, "one verdict for each run");
                assert_eq!(
                    folder.kept.lock().unwrap().commits.len(),
                    2 * usize::from(commits),
                    "no commit is made twice"
                );
            }
        }
    }
}

/// A write of the log fails, whichever it is, and the process lives on: whatever it does next brings the rollback to one end.
#[tokio::test]
async fn a_rollback_one_write_of_which_failed_comes_to_one_end_with_the_next_call() {
    let before = files(&[("a", "old"), ("c", "stays")]);
    let mut met = [0; 2];
    for commits in [false, true] {
        for death in [Death::Once, Death::Unheard] {
            for (life, next) in (0..6).flat_map(|life| [0, 1, 2].map(|next| (life, next))) {
                let scene = after_runs(&before, &[vec![("a", "new"), ("b", "more")]], commits).await;
                let Scene { folder, agent, store, session } = scene;
                let (id, of, left) = (session.id().clone(), ids(&session)[0], folder.now());
                drop(session);
                let mortal = Arc::new(Mortal::new(store.clone(), life, death));
                let mut session = agent.open(mortal, &id).await.unwrap();
                if session.rollback(of, None).await.is_ok() {
                    // There are not so many writes.
                    continue;
                }
                match next {
                    0 => drop(session.finish_rollback().await.unwrap()),
                    1 => drop(session.resume(&Cancel::new()).await.unwrap()),
                    _ => drop(session.prompt("and now?", &Cancel::new()).await.unwrap()),
                }
                let when = format!("{death:?} at {life}, then {next}");
                let rollbacks = session.decisions().iter();
                let rollbacks =
                    rollbacks.filter(|one| matches!(one.verdict(), Verdict::Rollback { .. })).count();
                met[rollbacks] += 1;
                assert_eq!(folder.now(), if rollbacks == 1 { before.clone() } else { left }, "{when}");
                assert!(session.open_run().is_none(), "{when}");
                let made = folder.kept.lock().unwrap().commits.len();
                assert_eq!(made, (1 + rollbacks) * usize::from(commits), "{when}");
                // The log says the same.
                drop(session);
                let session = agent.open(store, &id).await.unwrap();
                assert_eq!(
                    session.decisions().iter().count(),
                    1 + rollbacks + usize::from(next == 2),
                    "{when}"
                );
            }
        }
    }
    assert!(met[0] > 0 && met[1] > 0, "{met:?}");
}

#[tokio::test]
async fn a_rollback_that_is_cut_off_between_two_files_does_the_rest() {
    let before = files(&[("a", "old"), ("b", "old")]);
    for done in 1..3 {
        let scene = after_runs(&before, &[vec![("a", "1"), ("b", "2"), ("c", "3")]], false).await;
        let Scene { folder, agent, store, mut session } = scene;
        let of = ids(&session)[0];
        folder.kept.lock().unwrap().cut_after = Some(done);
        session.rollback(of, None).await.unwrap_err();
        assert!(session.open_run().is_some(), "nobody calls it done");
        let id = session.id().clone();
        drop(session);
        let session = agent.open(store, &id).await.unwrap();
        assert_eq!(folder.now(), before);
        assert!(session.open_run().is_none());
    }
}

/// A rollback of three files of which one was put back before it was cut off, and somebody has written another since.
async fn cut_off_and_written_into() -> (Scene, DecisionId) {
    // What is as before already was put back by nobody.
    let scene = after_runs(&Files::new(), &[vec![("a", "1"), ("b", "2"), ("c", "3")]], false).await;
    let Scene { folder, agent, store, mut session } = scene;
    folder.files.lock().unwrap().remove("c");
    let of = ids(&session)[0];
    folder.kept.lock().unwrap().cut_after = Some(1);
    session.rollback(of, Some("it broke the build")).await.unwrap_err();
    assert_eq!(folder.now(), files(&[("b", "2")]));
    folder.files.lock().unwrap().insert("b".to_owned(), "mine".to_owned());
    (Scene { folder, agent, store, session }, of)
}

#[tokio::test]
async fn who_writes_into_a_rollback_that_was_cut_off_keeps_their_bytes_and_the_rest_is_undone() {
    let (Scene { folder, agent, store, session }, of) = cut_off_and_written_into().await;
    let id = session.id().clone();
    drop(session);
    let mut session = agent.open(store, &id).await.unwrap();
    assert_eq!(folder.now(), files(&[("a", "1"), ("b", "mine")]));
    let ended = session.finish_rollback().await.unwrap().unwrap();
    expect!["abandon: b has been changed since"].assert_eq(&ended.verdict().to_string());
    expect!["it broke the build"].assert_eq(ended.rationale().map_or("", |why| why.as_str()));
    assert!(!ended.has_changes());
    assert_eq!(session.finish_rollback().await.unwrap(), None, "it is told once");
    // What stood in the way may go away.
    folder.files.lock().unwrap().insert("b".to_owned(), "2".to_owned());
    session.rollback(of, None).await.unwrap();
    assert_eq!(folder.now(), Files::new());
}

#[tokio::test]
async fn what_a_rollback_has_done_and_nobody_can_undo_is_told_as_it_is() {
    let (Scene { folder, agent, store, session }, of) = cut_off_and_written_into().await;
    let run = session.decisions().get(of).unwrap().run().to_string();
    let log = store.load(session.id()).await.unwrap();
    let left = log.records.iter().find_map(|(_, record)| match record {
        Record::Note(note) if note.kind == "left" => serde_json::from_str::<Left>(&note.body).ok(),
        _ => None,
    });
    let left = left.filter(|left| left.run == run).unwrap();
    folder.kept.lock().unwrap().forgotten.extend(left.tree);
    let id = session.id().clone();
    drop(session);
    let mut session = agent.open(store, &id).await.unwrap();
    assert_eq!(folder.now(), files(&[("b", "mine")]));
    let ended = session.finish_rollback().await.unwrap().unwrap();
    expect!["abandon: b has been changed since; 1 file had been put back before, and nobody has kept what was there to undo it: a"]
        .assert_eq(&ended.verdict().to_string());
    expect!["Not all of the files were taken back: b has been changed since; 1 file had been put back before, and nobody has kept what was there to undo it: a"]
        .assert_eq(&session.tree().trunk().messages().last().unwrap().text());
    let cited: Vec<(&str, bool)> =
        ended.cites().files.iter().map(|file| (file.path.as_str(), file.after.is_some())).collect();
    assert_eq!(cited, [("a", false)]);
    // Where it is kept after all, that can be taken back too.
    folder.kept.lock().unwrap().forgotten.clear();
    session.rollback(ended.id(), None).await.unwrap();
    assert_eq!(folder.now(), files(&[("a", "1"), ("b", "mine")]));
}

/// What a run has changed can be taken back however it has ended.
#[tokio::test]
async fn what_a_run_had_changed_before_a_person_closed_it_is_taken_back() {
    let close = |word: &str| match word {
        "checkpoint" => CloseAs::Checkpoint { words: "half".to_owned() },
        "abandon" => CloseAs::Abandon { reason: "half".to_owned() },
        _ => CloseAs::Retry { reason: "half".to_owned() },
    };
    for word in ["checkpoint", "abandon", "retry"] {
        let world = World::default();
        let folder = FakeFolder::of(&world.files).restores();
        let edit = Turn::new().call("c1", "edit", &json!({ "path": "a", "text": "new" }));
        let mut limits = Limits::default();
        limits.turns = 1;
        let agent = world.agent(replies(vec![edit])).approval(Approval::Always).limits(limits);
        let agent = agent.workspace(Arc::new(folder.clone())).build().unwrap();
        let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
        session.prompt("write a", &Cancel::new()).await.unwrap();
        let closed = session.close_run(close(word)).await.unwrap();
        if word == "retry" {
            session.preview_rollback(closed.id()).await.unwrap();
            let fault = session.rollback(closed.id(), None).await.unwrap_err();
            assert!(fault.to_string().starts_with("a run is open: "), "{fault}");
            session.close_run(close("abandon")).await.unwrap();
        }
        assert_eq!(folder.now(), files(&[("a", "new")]));
        session.rollback(closed.id(), None).await.unwrap();
        assert_eq!(folder.now(), Files::new(), "{word}");
    }
}

/// Why something is taken back is recorded with what is about to be restored, and told to the model; a log without it is what
/// it was.
#[tokio::test]
async fn a_rollback_says_why_where_that_was_said() {
    let noted = |log: &Log| -> Vec<String> {
        let notes = log.records.iter().filter_map(|(_, record)| match record {
            Record::Note(note) if note.kind == "restoring" => Some(note.body.clone()),
            _ => None,
        });
        notes.collect()
    };
    let mut told = Vec::new();
    for reason in [None, Some(" it broke\nthe build ")] {
        let scene = after_runs(&files(&[("a", "old")]), &[vec![("a", "new")]], false).await;
        let Scene { store, mut session, .. } = scene;
        let of = ids(&session)[0];
        let fault = session.rollback(of, Some(" \n")).await.unwrap_err();
        expect!["say why it is taken back, or give no reason"].assert_eq(&fault.to_string());
        assert!(noted(&store.load(session.id()).await.unwrap()).is_empty());
        let decision = session.rollback(of, reason).await.unwrap();
        let note = noted(&store.load(session.id()).await.unwrap()).remove(0);
        told.push(note.replace(&of.to_string(), "ID"));
        told.push(session.tree().trunk().messages().last().unwrap().text());
        told.push(decision.rationale().map_or_else(|| "-".to_owned(), ToString::to_string));
    }
    expect![[r#"
        {"of":"ID","commits":false,"files":["a"]}
        A person takes back what an earlier run has changed. These files become what they were before it: a. Read them again before you rely on them.
        -
        {"of":"ID","commits":false,"files":["a"],"reason":"it broke\nthe build"}
        A person takes back what an earlier run has changed. These files become what they were before it: a. Read them again before you rely on them. They say why: it broke
        the build
        it broke
        the build"#]].assert_eq(&told.join("\n"));
}

/// Whoever finishes it need not know what was wanted.
#[tokio::test]
async fn a_rollback_is_committed_if_whoever_asked_for_it_wanted_that() {
    for wanted in [true, false] {
        let before = files(&[("a", "old")]);
        let scene = after_runs(&before, &[vec![("a", "new"), ("b", "more")]], wanted).await;
        let Scene { folder, store, mut session, .. } = scene;
        let made = folder.kept.lock().unwrap().commits.len();
        folder.kept.lock().unwrap().cut_after = Some(1);
        let of = ids(&session)[0];
        session.rollback(of, None).await.unwrap_err();
        let id = session.id().clone();
        drop(session);
        let other = World::default().agent(replies(Vec::new())).commits(!wanted);
        let other = other.workspace(Arc::new(folder.clone())).build().unwrap();
        let mut session = other.open(store, &id).await.unwrap();
        assert_eq!(folder.now(), before);
        let ended = session.finish_rollback().await.unwrap().unwrap();
        let Verdict::Rollback { reverted_to, .. } = ended.verdict() else { panic!() };
        assert_eq!(reverted_to.is_some(), wanted);
        assert_eq!(folder.kept.lock().unwrap().commits.len(), made + usize::from(wanted));
    }
}

#[tokio::test]
async fn a_rollback_that_an_import_brings_along_writes_nothing_here() {
    let scene = after_runs(&Files::new(), &[vec![("a", "1"), ("b", "2")]], false).await;
    let Scene { folder, agent, store, mut session } = scene;
    let of = ids(&session)[0];
    folder.kept.lock().unwrap().cut_after = Some(1);
    session.rollback(of, None).await.unwrap_err();
    let id = session.id().clone();
    drop(session);
    let now = folder.now();
    store.post(&id, "distrust", "{}", Timestamp(1)).await.unwrap();
    let mut session = agent.open(store, &id).await.unwrap();
    assert_eq!(stop_line(&session.resume(&Cancel::new()).await), "nothing to do");
    assert_eq!(folder.now(), now);
    let verdicts: Vec<String> = session.decisions().iter().map(|one| one.verdict().to_string()).collect();
    assert!(verdicts.iter().any(|one| one.starts_with("abandon: this session was brought")), "{verdicts:?}");
    // How its runs have left other files than these is nothing to go by either.
    let fault = session.rollback(of, None).await.unwrap_err();
    assert!(fault.to_string().contains("brought here from elsewhere"), "{fault}");
    assert_eq!(folder.now(), now);
}

/// It was cut off, and somebody has written one of its files since: the prompt that finds this out is no part of it.
#[tokio::test]
async fn a_prompt_that_finds_a_rollback_to_be_given_up_is_answered() {
    let scene = after_runs(&Files::new(), &[vec![("a", "1"), ("b", "2")]], false).await;
    let Scene { folder, agent, store, mut session } = scene;
    let of = ids(&session)[0];
    folder.kept.lock().unwrap().cut_after = Some(1);
    session.rollback(of, None).await.unwrap_err();
    let id = session.id().clone();
    drop(session);
    folder.kept.lock().unwrap().cut_after = Some(0);
    let mut session = agent.open(store, &id).await.unwrap();
    assert!(session.open_run().is_some(), "the disk is full");
    folder.kept.lock().unwrap().cut_after = None;
    folder.files.lock().unwrap().insert("b".to_owned(), "mine".to_owned());
    let stop = session.prompt("and now?", &Cancel::new()).await;
    assert_eq!(stop_line(&stop), "decided other: answered");
    let words = session.tree().trunk().messages().any(|message| message.text() == "and now?");
    let verdicts: Vec<String> =
        session.decisions().iter().map(|one| one.verdict().kind().to_string()).collect();
    assert_eq!((words, &verdicts[1..]), (true, &["abandon".to_owned(), "other".to_owned()][..]));
    assert_eq!(folder.now().get("b").map(String::as_str), Some("mine"));
}

#[tokio::test]
async fn a_rollback_that_can_never_end_can_be_given_up() {
    let scene = after_runs(&Files::new(), &[vec![("a", "1"), ("b", "2"), ("c", "3")]], false).await;
    let Scene { folder, agent, store, mut session } = scene;
    let of = ids(&session)[0];
    folder.kept.lock().unwrap().cut_after = Some(1);
    session.rollback(of, None).await.unwrap_err();
    let id = session.id().clone();
    drop(session);
    folder.kept.lock().unwrap().cut_after = Some(0);
    let mut session = agent.open(store, &id).await.unwrap();
    assert!(session.open_run().is_some());
    let later = CloseAs::Checkpoint { words: "later".to_owned() };
    let fault = session.close_run(later).await.unwrap_err();
    assert!(fault.to_string().contains("or abandon it"), "{fault}");
    let decision = session.close_run(CloseAs::Abandon { reason: "b is stuck".to_owned() }).await.unwrap();
    // What it had done until then is named.
    assert_eq!((decision.cites().files.len(), decision.considered().len()), (1, 1));
    let stop = session.prompt("and now?", &Cancel::new()).await;
    assert!(stop_line(&stop).starts_with("decided "), "{}", stop_line(&stop));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// From whatever files, after whatever run: what was taken back is what was there, byte for byte.
    #[test]
    fn a_rollback_gives_the_files_of_before(
        before in prop::collection::btree_map("[a-d]", "[ -~]{0,6}", 0..4),
        writes in prop::collection::btree_map("[a-f]", "[ -~]{1,6}", 1..5),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let writes: Vec<(&str, &str)> = writes.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            let changes = writes.iter().any(|(path, text)| before.get(*path).map(String::as_str) != Some(*text));
            let mut scene = after_runs(&before, &[writes], false).await;
            let of = ids(&scene.session)[0];
            let rolled = scene.session.rollback(of, None).await;
            assert_eq!(rolled.is_ok(), changes, "{rolled:?}");
            assert_eq!(scene.folder.now(), before);
        });
    }
}
