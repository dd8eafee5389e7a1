//! The objects that follow from a log, as text.

use std::collections::BTreeMap;

use expect_test::expect;
use serde_json::json;
use trunkline_decision_objects::{Decision, IntentEventKind, Object, ObjectName};
use trunkline_message_tree::{Entry, NodeId, Timestamp};
use trunkline_resolve_queue::{ActorKind, Queue, State};
use trunkline_session_machine::Proposal;
use trunkline_session_machine::reading::family::{
    Candidate, CandidateOf, candidates, family_of, projected_objects,
};
use trunkline_session_store::{Header, Log, Note, Record, SessionId, SessionInfo, Tally};

use crate::play::{START, check, play};

/// Returns the log of a session that somebody reads.
pub(crate) fn log_of(records: &[Record]) -> Log {
    let id = SessionId::parse("0192f3a4-0000-7000-8000-000000000001").unwrap();
    let tally = Tally::new(&id, Timestamp(0));
    let header = Header {
        id,
        title: String::new(),
        tags: Default::default(),
        archived: false,
        workspace: None,
        created_at: Timestamp(0),
        head: tally.head,
        records: 0,
        nodes: 0,
        digest: None,
    };
    Log::new(SessionInfo::new(&header, &tally), (1..).zip(records.iter().cloned()).collect())
}

/// Each object in a line, without times; names are `run 1` in the order in which they come.
pub(crate) fn told(records: &[Record]) -> Vec<String> {
    let mut names: BTreeMap<ObjectName, usize> = BTreeMap::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let objects = projected_objects(&log_of(records));
    for (_, object) in &objects {
        let name = object.name();
        names.entry(name).or_insert_with(|| {
            let count = counts.entry(name.kind.to_string()).or_default();
            *count += 1;
            *count
        });
    }
    let ids: BTreeMap<String, String> =
        names.iter().map(|(name, number)| (name.id.to_string(), format!("{} {number}", name.kind))).collect();
    let line = |(seq, object): &(u64, Object)| {
        let fields: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(&object.print()).unwrap();
        let shown = fields.iter().filter(|(key, _)| !HIDDEN.contains(&key.as_str())).map(|(key, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let text = ids.iter().fold(text, |text, (id, name)| text.replace(id, name));
            format!("{key}={}", text.replace('\n', " / "))
        });
        format!("{seq:>3} {}: {}", ids[&object.name().id.to_string()], shown.collect::<Vec<_>>().join(" "))
    };
    objects.iter().map(line).collect()
}

/// What would make a line long.
const HIDDEN: [&str; 13] = [
    "type",
    "id",
    "at",
    "by",
    "actor",
    "base_commit",
    "base_tree",
    "cites",
    "diff_digest",
    "decided_by",
    "rationale",
    "base",
    "approved_by",
];

pub(crate) fn candidates_told(records: &[Record]) -> Vec<String> {
    let line = |one: &Candidate| {
        let of = match &one.of {
            CandidateOf::Run => "the run".to_owned(),
            CandidateOf::Proposal(id) => id.to_string(),
            CandidateOf::Branch { end, applied } => format!("{end} with {applied:?}"),
            _ => "something else".to_owned(),
        };
        let files: Vec<&str> = one.patch_set.files().iter().map(|file| file.path.as_str()).collect();
        format!("{} of {of}: {}", one.sequence, files.join(", "))
    };
    candidates(&log_of(records)).iter().map(line).collect()
}

#[test]
fn a_session_with_a_task_is_told_from_its_intent_to_its_end() {
    check(
        r#"
        hush
        intents
        folder
        approval always
        task write a // a is new
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: I wrote a.
        > write a, please
        done a is there
        show family
        "#,
        expect![[r#"
            show family
                  2 intent 1: analysis_frames=[] parents=[] prompt=write a version=1
                  3 task 1: acceptance_criteria=["a is new"] constraints=[] dependencies=[] intent=intent 1 requester={"id":"user","kind":"human"} title=write a version=1
                  3 task_event 1: state=created task=task 1 version=1
                  5 run 1: goal=write a, please intent=intent 1 task=task 1 version=1
                  5 run_event 1: run=run 1 state=created version=1
                  5 task_event 2: run=run 1 state=running task=task 1 version=1
                  7 provenance 1: model=parrot provider=made-up run=run 1 version=1
                 11 tool_invocation 1: args={"path":"a"} artifacts=[] call=c1 ended=2023-11-14T22:13:20.007Z reads=[] run=run 1 started=2023-11-14T22:13:20.006Z status=ok summary=done / Staged as p1. Nothing is written before it is approved; you will be told. tool=edit version=1 writes=[]
                 15 run_event 2: reason=p1 was applied run=run 1 state=patching version=1
                 18 patch_set 1: diff= files=[{"added_lines":1,"change":"added","deleted_lines":0,"path":"a"}] run=run 1 version=1
                 20 decision 1: considered=[] evidence=[] run=run 1 verdict={"kind":"other","label":"applied","patch_set":"patch_set 1","reason":"files were changed and not committed"} version=1
                 20 run_event 3: patch_set=patch_set 1 reason=files were changed and not committed run=run 1 state=completed version=1
                 22 task_event 3: reason=a is there state=done task=task 1 version=1
                 22 intent_event 1: intent=intent 1 kind=completed reason=a is there version=1
        "#]],
    );
}

/// A plan as the log has it: the call that proposes it waits, and a person approves another text.
#[test]
fn plans_are_told_with_what_a_person_made_of_them() {
    let mut play = play("intents\nmodel: I have a plan.\n> write a");
    let at = Timestamp(START + 90);
    // The run is still open there.
    play.log.truncate(5);
    let id = |number: u32| format!("01900000-0000-7000-8000-{number:012}");
    let step =
        |number: u32, text: &str| json!({ "id": id(number), "text": text, "done_when": "it \"is\" there" });
    let proposed = json!({ "id": id(1), "title": "a", "steps": [step(2, "write a"), step(3, "look at it")] });
    let mut proposal =
        Proposal::new("a plan", "propose_plan", json!({ "tool": "propose_plan", "plan": proposed }));
    proposal.deciders = [ActorKind::Person].into();
    let staged = Queue::default().stage(proposal, at.0).unwrap();
    let note = |kind: &str, body: String| Record::Note(Note::new("resolve", kind, at, body));
    play.log.push(note("event", serde_json::to_string(&staged).unwrap()));
    let edited = json!({ "id": id(4), "revises": id(1), "title": "a", "steps": [step(2, "write a")] });
    let approved = json!({ "proposal": "p1", "call": { "node": "n2", "index": 0, "id": "c1" }, "plan": id(4), "edited": edited });
    play.log.push(note("plan_approved", approved.to_string()));
    // What no plan can say is none, and nothing speaks of it.
    let twice = json!({ "id": id(5), "title": "a", "steps": [step(6, "write a"), step(6, "write a")] });
    let odd = json!({ "proposal": "p1", "call": { "node": "n2", "index": 0, "id": "c1" }, "plan": id(5), "edited": twice });
    play.log.push(note("plan_approved", odd.to_string()));
    assert_eq!(family_of(&log_of(&play.log)).violations(), []);
    let shown: Vec<String> = told(&play.log).iter().map(|line| line.trim_start().to_owned()).collect();
    expect![[r#"
        3 intent 1: analysis_frames=[] parents=[] prompt=write a version=1
        4 run 1: goal=write a intent=intent 1 version=1
        4 run_event 1: run=run 1 state=created version=1
        6 plan 1: frames=[] intent=intent 1 parents=[] steps=[{"checks":"\"it \\\"is\\\" there\"","description":"write a","id":"01900000-0000-7000-8000-000000000002"},{"checks":"\"it \\\"is\\\" there\"","description":"look at it","id":"01900000-0000-7000-8000-000000000003"}] version=1
        7 plan 2: frames=[] intent=intent 1 parents=["plan 1"] steps=[{"checks":"\"it \\\"is\\\" there\"","description":"write a","id":"01900000-0000-7000-8000-000000000002"}] version=1
        7 selection 1: intent=intent 1 plan=plan 2 version=1
        7 step_event 1: consumed=[] plan=plan 2 produced=[] run=run 1 state=pending step=01900000-0000-7000-8000-000000000002 version=1"#]].assert_eq(&shown.join("\n"));
}

#[test]
fn a_session_that_keeps_no_intents_has_runs_and_what_they_did() {
    check(
        r#"
        hush
        model: read c1 {"path":"a"}; shell c2 {"command":"make"}
        > look
        discard p1 not now
        model: I could not.
        resume
        show family
        "#,
        expect![[r#"
            show family
                  3 run 1: goal=look version=1
                  3 run_event 1: run=run 1 state=created version=1
                  5 provenance 1: model=parrot provider=made-up run=run 1 version=1
                 12 tool_invocation 1: args={"path":"a"} artifacts=[] call=c1 ended=2023-11-14T22:13:20.005Z reads=[] run=run 1 started=2023-11-14T22:13:20.004Z status=ok summary=done tool=read version=1 writes=[]
                 13 tool_invocation 2: args={"command":"make"} artifacts=[] call=c2 reads=[] run=run 1 status=denied summary=not run: the person declined it: not now tool=shell version=1 writes=[]
                 15 decision 1: considered=[{"named":"p1 (run make)","reason":"not now"}] evidence=[] run=run 1 verdict={"kind":"other","label":"answered","reason":"the model answered and no file was changed"} version=1
                 15 run_event 2: reason=the model answered and no file was changed run=run 1 state=completed version=1
        "#]],
    );
}

#[test]
fn what_was_proposed_again_and_what_was_left_are_candidates() {
    check(
        r#"
        hush
        intents
        folder
        reverts off
        approval always
        model: edit c1 {"path":"a"}
        propose c1 a = first
        model: revert_to_state r1 {"category":"failure","step":"n1","lesson":"not so"}
        model: edit c2 {"path":"b"}
        propose c2 b = second
        model: I wrote b.
        > write
        show candidates
        "#,
        expect![[r#"
            show candidates
                1 of n6 with [ProposalId(1)]: a
                2 of the run: a, b
        "#]],
    );
}

#[test]
fn a_proposal_that_a_newer_one_took_the_place_of_is_a_candidate() {
    check(
        r#"
        hush
        intents
        folder
        propose c1 a = first
        propose c2 a = second
        model: edit c1 {"path":"a"}; edit c2 {"path":"a"}
        > write
        approve p2
        model: I wrote it.
        resume
        show candidates
        "#,
        expect![[r#"
            show candidates
                1 of p1: a
                2 of the run: a
        "#]],
    );
}

/// A branch is left while its run goes on, chosen, and then the run ends: what was shown is there still.
#[test]
fn what_was_chosen_is_a_candidate_after_the_end_of_its_run() {
    for end in ["close abandon no", "close checkpoint half", "resume"] {
        let play = play(&format!(
            r#"
            folder
            approval always
            propose c1 a = first
            model: edit c1 {{"path":"a"}}
            > write
            back n1 not so
            select 1 the first
            {end}
            "#
        ));
        let chosen = candidates_told(&play.log);
        assert_eq!(
            chosen.first().map(String::as_str),
            Some("1 of n4 with [ProposalId(1)]: a"),
            "{end}: {chosen:?}"
        );
        assert_eq!(family_of(&log_of(&play.log)).violations(), [], "{end}");
    }
}

/// No session writes such a log; who only looks is not caught in it.
#[test]
fn a_log_whose_nodes_hang_on_themselves_is_read_to_its_end() {
    let play = play(
        r#"
        folder
        approval always
        propose c1 a = first
        model: edit c1 {"path":"a"}
        > write
        back n1 not so
        "#,
    );
    for loops in [|id: u32| id, |id: u32| 5 - id] {
        let mut log = play.log.clone();
        for record in &mut log {
            if let Record::Entry(Entry::Node { id, parent, .. }) = record
                && (2..4).contains(&id.index())
            {
                *parent = Some(NodeId::new(loops(u32::try_from(id.index()).unwrap())));
            }
        }
        assert_eq!(
            candidates(&log_of(&log)).len(),
            family_of(&log_of(&log)).iter().filter(is_patch_set).count()
        );
    }
}

fn is_patch_set(object: &&Object) -> bool {
    matches!(object, Object::PatchSet(_))
}

/// Who reads the family sees in which runs files were changed: a command that was allowed changes none that it shows, and a plan none.
#[test]
fn what_was_allowed_and_shows_in_no_file_patches_nothing() {
    let play = play(
        r#"
        plans
        intents
        model: propose_plan c1 {"title":"t","steps":["make it"]}
        > make
        approve p1
        model: shell c2 {"command":"make"}
        resume
        approve p2
        model: It is made.
        resume
        "#,
    );
    let applied = play.state.resolve.queue.iter().filter(|entry| entry.state == State::Applied).count();
    assert_eq!(applied, 2, "{}", play.told);
    let told = told(&play.log);
    assert!(!told.iter().any(|line| line.contains("patching")), "{told:#?}");
}

#[test]
fn a_plan_that_is_approved_is_selected_and_one_that_is_refused_is_dropped() {
    let play = play(
        r#"
        plans
        intents
        model: propose_plan c1 {"title":"t","steps":["make it","burn it"]}
        > make
        discard p1 nothing is burnt
        model: propose_plan c2 {"title":"t","steps":["make it"]}
        resume
        edit p2 t\n1. make it well
        model: It is made.
        resume
        "#,
    );
    let log = log_of(&play.log);
    let family = family_of(&log);
    assert_eq!(family.violations(), []);
    let told: Vec<String> = told(&play.log)
        .into_iter()
        .filter(|line| line.contains("step_event") || line.contains(" selection "))
        .map(|line| line.trim_start().to_owned())
        .collect();
    expect![[r#"
         10 step_event 1: consumed=[] plan=plan 1 produced=[] reason=the plan was refused: nothing is burnt run=run 1 state=skipped step=00000000-0000-7000-8000-000000000004 version=1
         10 step_event 2: consumed=[] plan=plan 1 produced=[] reason=the plan was refused: nothing is burnt run=run 1 state=skipped step=00000000-0000-7000-8000-000000000005 version=1
         19 selection 1: intent=intent 1 plan=plan 3 version=1
         19 step_event 3: consumed=[] plan=plan 3 produced=[] run=run 1 state=pending step=00000000-0000-7000-8000-000000000009 version=1"#]].assert_eq(&told.join("\n"));
    let standing = family.standing();
    let plans: Vec<&str> = standing.plans.values().map(|plan| plan.state.as_str()).collect();
    assert_eq!(plans, ["dropped", "superseded", "open"]);
    let selected = standing.intents.values().next().and_then(|intent| intent.plan);
    assert_eq!(selected, standing.plans.keys().last().copied());
}

/// A rollback brings back what the one before took back, so the intent ends with that commit.
#[test]
fn a_rollback_of_a_rollback_gives_an_intent_its_commit_back() {
    let play = play(
        r#"
        hush
        intents
        commits
        approval always
        task write a
        model: edit c1 {"path":"a"}
        propose c1 a = new
        model: I wrote a.
        > write a, please
        done a is there
        "#,
    );
    let decided = play.log.iter().find_map(|record| match record {
        Record::Note(note) if note.kind == "decided" => Decision::parse(note.body.as_bytes()).ok(),
        _ => None,
    });
    let committed = decided.expect("the run has ended").id().to_string();
    let id = |number: usize| format!("01900000-0000-7000-8000-{number:012}");
    let released = |rollbacks: usize| {
        let mut log = play.log.clone();
        let done = log.pop().expect("the task is done");
        let mut undone = committed.clone();
        for number in 1..=rollbacks {
            let (run, at) = (id(number), r#""at":"2023-11-14T22:13:21Z""#);
            let by = r#"{"kind":"human","id":"user"}"#;
            let opened = json!({ "prompt": "n1", "base": {}, "run": format!(r#"{{"type":"run","version":1,"id":"{run}",{at},"actor":{by},"goal":"undo"}}"#) });
            let decision = format!(
                r#"{{"type":"decision","version":1,"id":"{}","run":"{run}",{at},"decided_by":{by},"verdict":{{"kind":"rollback","of":"{undone}"}},"evidence":[],"considered":[]}}"#,
                id(100 + number)
            );
            assert!(
                Decision::parse(decision.as_bytes()).is_ok(),
                "{:?}",
                Decision::parse(decision.as_bytes())
            );
            let note = |kind: &str, body: String| {
                Record::Note(Note::new("decision", kind, Timestamp(START + 1000), body))
            };
            log.extend([note("opened", opened.to_string()), note("decided", decision)]);
            undone = id(100 + number);
        }
        log.push(done);
        let family = family_of(&log_of(&log));
        let standing = family.standing();
        let said = family.iter().find_map(|object| match object {
            Object::IntentEvent(event) => Some(event.content().kind.clone()),
            _ => None,
        });
        let Some(IntentEventKind::Completed { result_commit }) = said else { panic!("the intent has ended") };
        let release = standing.intents.values().next().and_then(|intent| intent.release);
        assert_eq!(result_commit, release.map(|(commit, _)| commit), "{rollbacks}");
        result_commit.is_some()
    };
    assert_eq!([0, 1, 2, 3].map(released), [true, false, true, false]);
}
