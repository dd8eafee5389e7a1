//! An approval flow without messages, models or a store: two edits, a crash in the middle of one, a file that changed under the other.

#![expect(clippy::print_stdout, reason = "an example is there to be looked at")]

use std::collections::BTreeMap;
use std::error::Error;

use trunkline_resolve_queue::{
    Actor, ActorKind, Answer, Effect, Event, Fingerprint, Outcome, Proposal, ProposalId, Queue, Step,
    Verdict, observe,
};

/// The payload: which file gets which text.
type Edit = (String, String);
type Files = BTreeMap<String, String>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut files = Files::from([
        ("greeting.txt".to_owned(), "helo".to_owned()),
        ("count.txt".to_owned(), "1".to_owned()),
    ]);
    let mut log: Vec<String> = Vec::new();
    let mut queue = Queue::new();
    let person = Actor::new(ActorKind::Person, "anna");

    for (file, text) in [("greeting.txt", "hello"), ("count.txt", "2")] {
        let event = queue.stage(edit(&files, file, text), 1)?;
        keep(&mut queue, &mut log, event)?;
    }
    for entry in queue.pending() {
        println!("{}  {}  {}", entry.id, entry.proposal.label, entry.proposal.preview.text);
    }
    for id in [ProposalId(1), ProposalId(2)] {
        if let Answer::New(event) = queue.decide(id, Verdict::Approve, person.clone(), "looks right", 2)? {
            keep(&mut queue, &mut log, event)?;
        }
    }

    // The first is written, and the process dies before it can say so.
    if let Step::Apply { attempt, event } = queue.begin(ProposalId(1), &look(&files), 3)? {
        keep(&mut queue, &mut log, event)?;
        files.insert("greeting.txt".to_owned(), "hello".to_owned());
        println!("writing under the key {attempt} … and the process dies");
    }

    // All that is left is the log and the files.
    let mut queue = replayed(&log)?;
    let interrupted: Vec<ProposalId> = queue.interrupted().map(|entry| entry.id).collect();
    for id in interrupted {
        let entry = queue.get(id).ok_or("it was just listed")?;
        let found = observe(&entry.proposal, &look(&files));
        println!("after the restart, {id} is {}; the files say: {found:?}", entry.state);
        let event = queue.recover(id, found, Actor::new(ActorKind::Harness, ""), 4)?;
        keep(&mut queue, &mut log, event)?;
    }

    // Somebody else writes the second file before its turn comes.
    files.insert("count.txt".to_owned(), "7".to_owned());
    match queue.begin(ProposalId(2), &look(&files), 5)? {
        Step::Apply { attempt, event } => {
            keep(&mut queue, &mut log, event)?;
            let event = queue.finish(attempt, Outcome::Applied, 6)?;
            keep(&mut queue, &mut log, event)?;
        }
        Step::Stale { event, differing } => {
            for difference in differing {
                println!("not applied: {difference}");
            }
            keep(&mut queue, &mut log, event)?;
        }
    }

    println!();
    for entry in queue.iter() {
        println!("{}  {:<8}  {}", entry.id, entry.state, entry.proposal.label);
    }
    println!("\nthe log:");
    for line in &log {
        println!("{line}");
    }
    Ok(())
}

fn edit(files: &Files, file: &str, text: &str) -> Proposal<Edit> {
    let old = files.get(file).map_or("", String::as_str);
    let mut proposal = Proposal::new(format!("edit {file}"), "edit_file", (file.to_owned(), text.to_owned()));
    proposal.preview.text = format!("{old} -> {text}");
    proposal.fingerprints = vec![Fingerprint::digest(file, old)];
    proposal.after = vec![Fingerprint::digest(file, text)];
    proposal.effect = Effect::Reversible;
    proposal
}

/// A real caller hashes; here a file's text is its own digest.
fn look(files: &Files) -> Vec<Fingerprint> {
    files.iter().map(|(file, text)| Fingerprint::digest(file, text)).collect()
}

/// Stores first, records afterwards.
fn keep(queue: &mut Queue<Edit>, log: &mut Vec<String>, event: Event<Edit>) -> Result<(), Box<dyn Error>> {
    log.push(serde_json::to_string(&event)?);
    queue.record(event)?;
    Ok(())
}

fn replayed(log: &[String]) -> Result<Queue<Edit>, Box<dyn Error>> {
    let events: Vec<Event<Edit>> =
        log.iter().map(|line| serde_json::from_str(line)).collect::<Result<_, _>>()?;
    Ok(Queue::replay(events)?)
}
