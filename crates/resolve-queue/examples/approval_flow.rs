//! An approval flow in thirty lines: a tool offers an edit, a person approves it, the process dies while it is applied, and
//! the next one finds out what became of it.

#![expect(clippy::print_stdout, reason = "an example is there to be looked at")]

use std::error::Error;

use trunkline_resolve_queue::{
    Actor, ActorKind, Answer, Effect, Event, Fingerprint, Offer, Proposal, Queue, Start, Step, Verdict,
};

fn main() -> Result<(), Box<dyn Error>> {
    let (mut file, mut log, mut queue) = ("helo".to_owned(), Vec::new(), Queue::new());

    let mut edit = Proposal::new("edit greeting.txt", "edit_file", "hello".to_owned());
    (edit.fingerprints, edit.after) = (look(&file), look("hello"));
    edit.effect = Effect::Reversible;
    let Offer::Staged { id, events } = queue.offer(edit, 1)? else { return Err("nothing to do".into()) };
    for event in events {
        keep(&mut queue, &mut log, event)?;
    }

    let anna = Actor::new(ActorKind::Person, "anna");
    if let Answer::New(event) = queue.decide(id, Verdict::Approve, anna.clone(), "a typo", 2)? {
        keep(&mut queue, &mut log, event)?;
    }

    let start = Start::leased("process 1", 60_000).keeping(look(&file));
    let Step::Apply { attempt, event } = queue.begin_with(id, &look(&file), start, 3)? else {
        return Err("the file has changed".into());
    };
    keep(&mut queue, &mut log, event)?;
    file = queue.get(id).ok_or("it was staged")?.proposal.payload.clone();
    println!("written under the key {attempt}, and the process dies before it can say so");

    // All that is left is the log and the file.
    let events = log.iter().map(|line| serde_json::from_str(line)).collect::<Result<Vec<_>, _>>()?;
    let mut queue: Queue<String> = Queue::replay(events)?;
    let found = queue.get(id).ok_or("it was staged")?.observe(&look(&file));
    if let Err(early) = queue.recover(id, found, anna.clone(), 4) {
        println!("too early: {early}");
    }
    let recovered = queue.recover(id, found, anna, 60_000)?;
    keep(&mut queue, &mut log, recovered)?;
    println!(
        "the file says {found:?}, so {id} is applied; next could be: {}",
        queue.undo(id, "helo".into())?.label
    );
    println!("the log:\n{}", log.join("\n"));
    Ok(())
}

/// A real caller hashes; here a file's text is its own digest.
fn look(text: &str) -> Vec<Fingerprint> {
    vec![Fingerprint::digest("greeting.txt", text)]
}

/// Stores first, records afterwards.
fn keep(
    queue: &mut Queue<String>,
    log: &mut Vec<String>,
    event: Event<String>,
) -> Result<(), Box<dyn Error>> {
    log.push(serde_json::to_string(&event)?);
    queue.record(event)?;
    Ok(())
}
