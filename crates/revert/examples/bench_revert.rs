//! Measures what going back costs, and what keeping the list that a model is sent costs, in short and in long sessions.
//!
//! Both sides of each ratio take turns in one run, because only their ratio means anything. `cargo xtask bench revert`; it
//! ends with exit code 1 if a bar is missed.

#![expect(clippy::print_stdout, reason = "a bench speaks to people")]

use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use trunkline_message_tree::{
    Author, Content, Entry, HeadMove, Message, MessageTree, MoveKind, NodeId, Role, Timestamp, ToolCall,
    ToolResult,
};
use trunkline_revert::{
    Category, EffectClass, Effects, Ledger, LiveContext, Mover, Note, NoteState, Observation, Price, Rates,
    RenderPolicy, Request, Seen, StallEvent, StallPolicy, Watch, cache_break, mark, merge, note_states,
    outline, plan, render, targets, turn,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

const AT: Timestamp = Timestamp(0);
const SMALL: usize = 100;
const LARGE: usize = 100_000;
/// How many operations one sample is made of.
const BATCH: usize = 16;

fn main() -> ExitCode {
    let mut report = Report { good: true };
    let done = context(&mut report).and_then(|()| whole(&mut report)).and_then(|()| hostile(&mut report));
    match done {
        Ok(()) => ExitCode::from(u8::from(!report.good)),
        Err(fault) => {
            println!("# {fault}");
            ExitCode::FAILURE
        }
    }
}

/// An append and a revert with everything that the next request needs, at 100 nodes and at 100,000.
fn context(report: &mut Report) -> Outcome<()> {
    let mut sessions = [Session::new(SMALL)?, Session::new(LARGE)?];
    // What was used stays, so that a new small session gets new memory from the system, as the large one does.
    let mut old = Vec::new();
    let mut appends: [Vec<Duration>; 2] = Default::default();
    let mut tree_appends: [Vec<Duration>; 2] = Default::default();
    let mut reverts: [Vec<Duration>; 2] = Default::default();
    for round in 0..240 {
        // Not always of one length, or each would meet the same list at the moment when it grows.
        old.push(std::mem::replace(&mut sessions[0], Session::new(SMALL + round % 12 * 12)?));
        for (place, session) in sessions.iter_mut().enumerate() {
            // Once unmeasured, so that neither finds the processor's caches full of the other.
            for _ in 0..BATCH {
                let message = session.message();
                session.append(message)?;
                session.refresh();
            }
            session.revert(8)?;
            session.refresh();
            let messages: Vec<Message> = (0..BATCH).map(|_| session.message()).collect();
            let (mut brought, mut appended) = (Duration::ZERO, Duration::ZERO);
            for message in messages {
                let start = Instant::now();
                session.append(message)?;
                appended += start.elapsed();
                session.refresh();
                brought += start.elapsed();
            }
            appends[place].push(brought);
            tree_appends[place].push(appended);
            // From here back by six nodes to where a group of calls and results ends.
            let start = Instant::now();
            session.revert(8)?;
            session.refresh();
            let lost = session.live.cache_break(&session.tree, &session.notes, &[]);
            reverts[place].push(start.elapsed());
            assert!(lost.is_some(), "what was sent before is no beginning of what is sent now");
        }
    }
    for session in &sessions {
        let anew = session.anew();
        assert!(session.live.messages().iter().map(|message| &**message).eq(&anew), "the law holds here too");
    }
    let [_, large] = &sessions;
    println!("# the large session: {} nodes, {} notes", large.tree.len(), large.notes.len());
    let [few, many] = tree_appends.map(median);
    println!("# the append alone: {:?}, {:?}", few / BATCH as u32, many / BATCH as u32);
    let [few, many] = appends.map(median);
    println!("# an append and the context after it: {:?}, {:?}", few / BATCH as u32, many / BATCH as u32);
    report.at_most("context after an append at 100,000 nodes / at 100", ratio(many, few), 1.2);
    let [few, many] = reverts.map(median);
    println!("# a revert, from the request to the context and the break of the cache: {few:?}, {many:?}");
    report.at_most("apply_revert at 100,000 nodes / at 100", ratio(many, few), 1.2);

    let (mut anew, mut kept) = (Vec::new(), Vec::new());
    let [_, large] = &mut sessions;
    for _ in 0..7 {
        anew.push(time(|| large.anew()));
        let message = large.message();
        large.append(message)?;
        kept.push(time(|| large.live.refresh(&large.tree, &large.notes, &[])));
    }
    let (anew, kept) = (median(anew), median(kept));
    println!("# all of it anew: {anew:?}, {:.0} ns a message", nanos(anew) / large.tree.len() as f64);
    report.at_most(
        "context brought up to date / rendered and marked anew, 100,000 nodes",
        ratio(kept, anew),
        0.001,
    );
    Ok(())
}

/// What is done once a turn or when somebody asks.
fn whole(report: &mut Report) -> Outcome<()> {
    let mut small = Session::new(1_000)?;
    let large = Session::new(LARGE)?;
    // The whole trunk is sent in any case, so this is held against one look at each message of it.
    let (mut look, mut price) = (Vec::new(), Vec::new());
    let request = Request::new(Category::Failure, large.back(6), None);
    let planned = plan(&large.tree, &request, Mover::PERSON).map_err(|refusal| refusal.to_string())?;
    for _ in 0..20 {
        look.push(time(|| large.tree.trunk().messages().map(bytes).sum::<usize>()));
        price.push(time(|| Price::of(&large.tree, &planned, 60, &Rates::uncached())));
    }
    let (look, price) = (least(look), least(price));
    println!("# adding up the lengths of 100,000 messages {look:?}; the price of a revert {price:?}");
    report.at_most("price of a revert / adding up the lengths of the trunk", ratio(price, look), 12.0);

    let mut plans: [Vec<Duration>; 2] = Default::default();
    let mut refusals: [Vec<Duration>; 2] = Default::default();
    for _ in 0..400 {
        for (place, session) in [&small, &large].into_iter().enumerate() {
            let good = Request::new(Category::Failure, session.back(6), None);
            let bad = Request::new(Category::Failure, NodeId::new(u32::MAX), None);
            plans[place].push(time(|| {
                (0..BATCH).filter(|_| plan(&session.tree, black_box(&good), Mover::PERSON).is_ok()).count()
            }));
            refusals[place].push(time(|| plan(&session.tree, black_box(&bad), Mover::PERSON).is_err()));
        }
    }
    let [few, many] = plans.map(median);
    println!("# a plan: {:?}, {:?}", few / BATCH as u32, many / BATCH as u32);
    report.at_most("plan at 100,000 nodes / at 1,000", ratio(many, few), 1.2);
    let [few, many] = refusals.map(median);
    println!("# a refusal with targets that would work: {few:?}, {many:?}");
    report.at_most("refusal at 100,000 nodes / at 1,000", ratio(many, few), 1.2);
    let mut large = large;
    let policy = RenderPolicy::default();
    large.append(Message::assistant("so it is"))?;
    let quiet = time(|| cache_break(&large.tree, &large.notes, &policy, &[]));
    large.revert(8)?;
    let moved = time(|| cache_break(&large.tree, &large.notes, &policy, &[]));
    println!("# whether the cache breaks, 100,000 nodes: {quiet:?}; after a revert {moved:?}");
    let (listed, all) = (
        (0..20).map(|_| time(|| outline(&large.tree, Mover::PERSON, None))).collect(),
        (0..20).map(|_| time(|| targets(&large.tree, Mover::PERSON, None))).collect(),
    );
    println!("# outline of 100,000 nodes {:?}; all targets {:?}", least(listed), least(all));

    let span: Vec<NodeId> = small.tree.trunk().ids().to_vec();
    let effects = |call: &ToolCall| Effects::new(EffectClass::Reversible).writing(call.name.clone());
    let ledgers = (0..40).map(|_| time(|| Ledger::of(&small.tree, &span, effects))).collect();
    let ledger = nanos(least(ledgers)) / span.len() as f64;
    report.at_most("microseconds a node for the ledger of 1,000 nodes", ledger / 1_000.0, 5.0);

    let head = small.tree.head();
    let to = small.tree.trunk().ids()[SMALL];
    small.move_head(to)?;
    small.append(Message::assistant("The other way is shorter."))?;
    let merges = (0..40).map(|_| time(|| merge(&small.tree, &small.notes, &[head]).is_ok())).collect();
    println!("# merging a branch of 900 nodes: {:?}", least(merges));

    let mut times: [Vec<Duration>; 2] = Default::default();
    let mut watches = [Watch::new(StallPolicy::default()), Watch::new(StallPolicy::default())];
    let mut number = 0_u32;
    let mut observe = |watch: &mut Watch, count: usize| {
        let start = Instant::now();
        for _ in 0..count {
            number += 1;
            let call = call(number as usize, "read_file");
            let result = ToolResult {
                call_id: call.id.clone(),
                content: vec![trunkline_message_tree::Part::text(format!("line {number}\n").repeat(40))],
                is_error: false,
            };
            let turn = Observation::new(NodeId::new(number), [Seen::of(&call, Some(&result))]);
            black_box(watch.observe(&StallEvent::Turn(turn)));
        }
        start.elapsed()
    };
    for (watch, turns) in watches.iter_mut().zip([1_500, LARGE]) {
        observe(watch, turns);
    }
    for _ in 0..100 {
        for (watch, times) in watches.iter_mut().zip(&mut times) {
            times.push(observe(watch, BATCH));
        }
    }
    let [few, many] = times.map(median);
    println!(
        "# a turn that is watched, digests included: {:?}, {:?}",
        few / BATCH as u32,
        many / BATCH as u32
    );
    report.at_most("watching a turn after 100,000 turns / after 1,500", ratio(many, few), 1.2);
    Ok(())
}

/// Histories that somebody makes up to be slow: ten times as many moves may cost ten times as much, and not a hundred.
fn hostile(report: &mut Report) -> Outcome<()> {
    for (name, undoes) in [("reverts", false), ("reverts, each undone and made again", true)] {
        let mut sessions = Vec::new();
        for times in [1_000, 10_000] {
            let mut session = Session::new(60)?;
            session.live.refresh(&session.tree, &session.notes, &[]);
            for _ in 0..times {
                let message = Message::assistant("another way");
                session.append(message)?;
                session.revert(1)?;
                if undoes {
                    session.undo()?;
                    session.redo()?;
                }
            }
            session.refresh();
            sessions.push(session);
        }
        let mut rendered: [Vec<Duration>; 2] = Default::default();
        let mut states: [Vec<Duration>; 2] = Default::default();
        let mut reverts: [Vec<Duration>; 2] = Default::default();
        for _ in 0..30 {
            for (place, session) in sessions.iter_mut().enumerate() {
                rendered[place].push(time(|| session.anew()));
                let now = turn(&session.tree);
                let policy = RenderPolicy::default();
                states[place].push(time(|| {
                    let states = note_states(&session.tree, &session.notes, &policy, now);
                    states.iter().filter(|state| **state == NoteState::Shown).count()
                }));
                // The first one finds the processor's caches full of what was measured before.
                for measured in [false, true] {
                    session.append(Message::assistant("another way"))?;
                    let start = Instant::now();
                    session.revert(1)?;
                    session.refresh();
                    if measured {
                        reverts[place].push(start.elapsed());
                    }
                }
                assert_eq!(session.live.messages().len(), session.anew().len(), "the law holds here too");
            }
        }
        let [few, many] = states.map(least);
        println!("# {} notes: states {few:?}, {many:?}", sessions[1].notes.len());
        report.at_most(&format!("note_states after 10,000 {name} / after 1,000"), ratio(many, few), 40.0);
        let [few, many] = rendered.map(least);
        println!("# rendered and marked anew: {few:?}, {many:?}");
        report.at_most(&format!("rendering after 10,000 {name} / after 1,000"), ratio(many, few), 40.0);
        let [few, many] = reverts.map(median);
        println!("# one more: {few:?}, {many:?}");
        report.at_most(&format!("one more after 10,000 {name} / after 1,000"), ratio(many, few), 2.0);
    }
    Ok(())
}

/// A session of a coding agent, with a revert every twenty nodes: a hundred nodes hold as many notes in their time as any more.
struct Session {
    tree: MessageTree,
    notes: Vec<Note>,
    live: LiveContext,
    made: usize,
    turn: u32,
}

impl Session {
    fn new(nodes: usize) -> Outcome<Self> {
        let mut session = Session {
            tree: MessageTree::new(Message::system("You are careful. ".repeat(40)), AT),
            notes: Vec::new(),
            live: LiveContext::new(RenderPolicy::default()),
            made: 0,
            turn: 0,
        };
        while session.tree.trunk().ids().len() < nodes {
            let message = session.message();
            session.append(message)?;
            if session.made.is_multiple_of(20) {
                session.revert(8)?;
            }
        }
        session.refresh();
        Ok(session)
    }

    /// Returns the next message: calls and results in turn, and a word of the harness now and then.
    fn message(&mut self) -> Message {
        self.made += 1;
        match (self.made, self.made % 2) {
            (made, _) if made % 24 == 23 => Message::harness("go on"),
            (made, 1) => {
                let content = vec![
                    Content::text("Let me look at the next file before I change anything."),
                    Content::ToolCall(call(made, "read_file")),
                ];
                Message::new(Role::Assistant, Author::Model, content)
            }
            (made, _) => {
                let text = "fn walk(messages: &[Message]) -> usize { messages.len() }\n".repeat(20);
                Message::tool_result(format!("toolu_01A09q90qw90lq9178{:06}", made - 1), text, false)
            }
        }
    }

    fn append(&mut self, message: Message) -> Outcome<()> {
        self.turn += u32::from(message.role == Role::Assistant);
        let mut draft = self.tree.draft();
        draft.append(message, AT)?;
        for entry in draft.into_entries() {
            self.tree.record(entry)?;
        }
        Ok(())
    }

    /// Goes back by so many nodes, or by a few less to the end of a group: the plan, the move and the note.
    fn revert(&mut self, nodes: usize) -> Outcome<()> {
        let lesson = "the parser does not know dates; look at the calendar first";
        let request = Request::new(Category::Failure, self.back(nodes), Some(lesson));
        let planned = plan(&self.tree, &request, Mover::PERSON).map_err(|refusal| refusal.to_string())?;
        let outcome = planned.outcome(&[], AT, self.turn);
        self.tree.record(Entry::Move(outcome.head_move))?;
        self.notes.push(outcome.note);
        black_box(outcome.record);
        Ok(())
    }

    fn undo(&mut self) -> Outcome<()> {
        let undo = self.tree.plan_undo(AT).ok_or("there is a move to take back")?;
        self.notes.extend(Note::undone(&self.tree, &undo, self.turn));
        Ok(self.tree.record(Entry::Move(undo))?)
    }

    fn redo(&mut self) -> Outcome<()> {
        let redo = self.tree.plan_redo(AT).ok_or("there is a move to make again")?;
        Ok(self.tree.record(Entry::Move(redo))?)
    }

    fn move_head(&mut self, to: NodeId) -> Outcome<()> {
        let head_move = HeadMove { from: self.tree.head(), to, kind: MoveKind::Fork, at: AT };
        Ok(self.tree.record(Entry::Move(head_move))?)
    }

    fn refresh(&mut self) {
        black_box(self.live.refresh(&self.tree, &self.notes, &[]));
    }

    fn anew(&self) -> Vec<Message> {
        mark(render(&self.tree, &self.notes, &RenderPolicy::default(), turn(&self.tree)))
    }

    fn back(&self, nodes: usize) -> NodeId {
        let ids = self.tree.trunk().ids();
        ids[ids.len() - 1 - nodes]
    }
}

fn call(number: usize, name: &str) -> ToolCall {
    ToolCall {
        id: format!("toolu_01A09q90qw90lq9178{number:06}"),
        name: name.to_owned(),
        arguments: format!(r#"{{"path":"crates/thing/src/lib.rs","first_line":{number}}}"#),
        signature: None,
    }
}

fn bytes(message: &Message) -> usize {
    let block = |block: &Content| match block {
        Content::Text { text } => text.len(),
        Content::ToolCall(call) => call.arguments.len(),
        Content::ToolResult(result) => result.content.len(),
        _ => 0,
    };
    message.content.iter().map(block).sum()
}

struct Report {
    good: bool,
}

impl Report {
    fn at_most(&mut self, name: &str, value: f64, bar: f64) {
        let verdict = if value <= bar { "ok" } else { "SHORT" };
        self.good &= value <= bar;
        println!("{name}  {value:.4}  {bar}  {verdict}");
    }
}

fn time<T>(run: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let out = black_box(run());
    let time = start.elapsed();
    drop(out);
    time
}

fn least(times: Vec<Duration>) -> Duration {
    times.into_iter().min().unwrap_or_default()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

fn nanos(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}
