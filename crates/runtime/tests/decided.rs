//! The runs of a session as whoever looks reads them: the same as the writer's, and more where a record is damaged.

use std::sync::Arc;

use serde_json::json;
use trunkline_runtime::providers::Turn;
use trunkline_runtime::session_store::{Log, Note, Record};
use trunkline_runtime::{Approval, CloseAs, DecidedRuns, Limits, View, across, decided_runs, family};

use crate::fake_folder::FakeFolder;
use crate::story::{Story, World, replies};

const LAYER: &str = "decision";

/// Three runs: one that ran the same command twice, one that wrote a file, one that is open.
async fn log() -> (Story, Log) {
    let shell = |id: &str| Turn::new().call(id, "shell", &json!({ "path": "make check" }));
    let world = World::default();
    let turns = vec![
        shell("c1"),
        shell("c2"),
        Turn::say("It is fine."),
        Turn::new().call("c3", "edit", &json!({ "path": "a", "text": "new" })),
        Turn::say("I wrote a."),
    ];
    let agent =
        world.agent(replies(turns)).approval(Approval::Always).workspace(Arc::new(FakeFolder::plain()));
    let mut story = Story::begin(world, agent).await;
    story.prompt("check it").await.unwrap();
    story.prompt("write a").await.unwrap();
    story.cancel.cancel();
    story.prompt("and more").await.unwrap();
    let log = story.store().load(&story.id()).await.unwrap();
    (story, log)
}

fn of_layer(record: &Record) -> Option<&Note> {
    match record {
        Record::Note(note) if note.layer == LAYER => Some(note),
        _ => None,
    }
}

/// Everything that was read, each with the number of its record.
fn read(decided: &DecidedRuns) -> Vec<String> {
    let mut read = Vec::new();
    for run in &decided.runs {
        read.extend(run.opened.as_ref().map(|opened| opened.record.print()));
        read.extend(run.patch_sets.iter().map(|patch_set| patch_set.print()));
        read.extend(run.evidence.iter().map(|found| found.evidence.print()));
        read.extend(run.verdict.iter().map(|given| given.decision.print()));
    }
    read
}

#[tokio::test]
async fn it_is_what_the_writer_knows() {
    let (story, log) = log().await;
    let decided = decided_runs(&log);
    assert!(decided.unreadable.is_empty());
    assert_eq!(family(&log).violations(), [], "what the runtime writes fits together");
    let told: Vec<_> = decided
        .runs
        .iter()
        .filter_map(|run| run.verdict.as_ref())
        .map(|given| (given.newest, given.decision.clone()))
        .collect();
    assert_eq!(told, View::of(&log).unwrap().verdicts());
    assert_eq!(told.len(), 2);
    let goals: Vec<_> =
        decided.runs.iter().map(|run| &run.opened.as_ref().unwrap().record.opening().goal).collect();
    assert_eq!(goals, ["check it", "write a", "and more"]);
    assert!(decided.runs[2].verdict.is_none(), "it is open");
    assert_eq!(decided.runs[1].patch_set().map(|patch_set| patch_set.run()), Some(decided.runs[1].id));
    // The same verdicts are found in the store without reading the session.
    let found = story.store().notes(&across::verdicts()).await.unwrap();
    let found: Vec<_> = found.iter().map(|note| note.key.key.clone()).collect();
    assert_eq!(found, told.iter().map(|(_, decision)| decision.run().to_string()).collect::<Vec<_>>());
}

/// The folder tells no states here, so that the verdict cites no files.
#[tokio::test]
async fn what_a_person_has_put_down_leads_to_its_patch_set() {
    for (how, tool, files) in [
        (CloseAs::Checkpoint { words: "half".to_owned() }, "edit", Some(1)),
        (CloseAs::Abandon { reason: "no".to_owned() }, "edit", Some(1)),
        (CloseAs::Checkpoint { words: "nothing yet".to_owned() }, "read", None),
    ] {
        let world = World::default();
        let edit = Turn::new().call("c1", tool, &json!({ "path": "a", "text": "new" }));
        let mut limits = Limits::default();
        limits.turns = 1;
        let agent = world.agent(replies(vec![edit])).approval(Approval::Always).limits(limits);
        let mut story = Story::begin(world, agent.workspace(Arc::new(FakeFolder::plain()))).await;
        story.prompt("write a").await.unwrap();
        let decision = story.session.close_run(how.clone()).await.unwrap();
        assert!(decision.cites().files.is_empty() && decision.verdict().patch_set().is_none());
        let decided = decided_runs(&story.store().load(&story.id()).await.unwrap());
        let run = decided.of_decision(decision.id()).unwrap();
        let given = run.verdict.as_ref().unwrap();
        assert_eq!(given.patch_set, run.patch_sets.last().map(|patch_set| patch_set.id()), "{how:?}");
        assert_eq!(run.patch_set().map(|patch_set| patch_set.files().len()), files, "{how:?}");
    }
}

#[tokio::test]
async fn evidence_leads_to_its_call_also_where_two_calls_ran_the_same_command() {
    let (_, log) = log().await;
    let decided = decided_runs(&log);
    let calls: Vec<_> =
        decided.runs[0].evidence.iter().map(|found| found.call.as_ref().unwrap().id.as_str()).collect();
    assert_eq!(calls, ["c1", "c2"]);
}

#[tokio::test]
async fn whichever_record_is_damaged_it_is_kept_and_hides_no_other() {
    let (_, log) = log().await;
    let whole = read(&decided_runs(&log));
    let mut tried = 0;
    for place in 0..log.records.len() {
        let Some(note) = of_layer(&log.records[place].1) else { continue };
        // Marks are not read, findings only lead from evidence to calls, and how files were left only serves a rollback.
        if ["run", "finding", "left"].contains(&note.kind.as_str()) {
            continue;
        }
        tried += 1;
        let body =
            note.body.replacen("\"id\\\":\\\"", "\"id\\\":\\\"x", 1).replacen("\"id\":\"", "\"id\":\"x", 1);
        let mut damaged = log.clone();
        assert_ne!(note.body, body);
        damaged.records[place].1 = Record::Note(Note { body: body.clone(), ..note.clone() });
        assert!(View::of(&damaged).is_err() || note.kind == "evidence", "the writer refuses it");
        let decided = decided_runs(&damaged);
        assert_eq!(decided.unreadable.len(), 1);
        let lost = &decided.unreadable[0];
        assert_eq!((lost.seq, &lost.body), (damaged.records[place].0, &body), "byte for byte");
        assert!(lost.faults[0].contains("$.id: "), "{:?}", lost.faults);
        let left = read(&decided);
        assert_eq!(left.len(), whole.len() - 1);
        assert!(left.iter().all(|record| whole.contains(record)));
    }
    assert_eq!(tried, 8, "three openings, two findings of evidence, one patch set, two verdicts");
}

#[tokio::test]
async fn a_second_verdict_is_kept_beside_the_first_which_stands() {
    let (_, mut log) = log().await;
    let decided = decided_runs(&log);
    let [first, second, _] = decided.runs.as_slice() else { panic!("three runs") };
    let (one, two) = (first.decision().unwrap(), second.decision().unwrap());
    let body = two.print().replace(&two.run().to_string(), &one.run().to_string());
    let seq = log.records.len() as u64 + 1;
    let at = trunkline_runtime::message_tree::Timestamp(9);
    log.records.push((seq, Record::Note(Note::new(LAYER, "decided", at, body))));
    // Said again, the same is nothing new.
    log.records.push((seq + 1, Record::Note(Note::new(LAYER, "decided", at, one.print()))));
    assert!(!family(&log).violations().is_empty(), "a run has one decision");
    let again = decided_runs(&log);
    assert_eq!(again.runs, decided.runs);
    assert_eq!(again.unreadable.len(), 1);
    assert_eq!(
        again.unreadable[0].faults,
        [format!("run {} has its verdict already, decision {}", one.run(), one.id())]
    );
}
