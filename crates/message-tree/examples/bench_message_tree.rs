//! Measures what a tree costs, against the least that the same shape and the same text ask for.
//!
//! Both sides of each ratio take turns in one run, because only their ratio means anything. `cargo xtask bench message-tree`;
//! it ends with exit code 1 if a bar is missed.

#![expect(clippy::print_stdout, reason = "a bench speaks to people")]

use std::error::Error;
use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use trunkline_message_tree::{
    Author, Content, Entry, HeadMove, Message, MessageTree, MoveId, MoveKind, Names, NodeId, Origin, Role,
    StopReason, Timestamp, ToolCall, Usage,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

const AT: Timestamp = Timestamp(0);
const SMALL: u32 = 100;
const LARGE: u32 = 100_000;
/// How many operations one sample is made of: a clock reads in steps of some 20 ns.
const BATCH: u32 = 64;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let done = match arguments.get(1).map(String::as_str) {
        Some("hold") => hold(&arguments[2..]).map(|()| true),
        _ => measure(),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(fault) => {
            println!("# {fault}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Outcome<bool> {
    let mut report = Report { good: true };
    walks(&mut report)?;
    growing(&mut report)?;
    moving(&mut report)?;
    hostile(&mut report)?;
    memory(&mut report)?;
    Ok(report.good)
}

/// A walk from the head to the root, with every cache emptied before, against the same over bare parents.
fn walks(report: &mut Report) -> Outcome<()> {
    let tree = branched(LARGE, "a few words")?;
    let parents: Vec<u32> = tree
        .nodes()
        .map(|(_, node)| node.parent().map_or(u32::MAX, |parent| parent.index() as u32))
        .collect();
    let mut other = vec![1_u8; 96 << 20];
    let mut sweep = || {
        other.iter_mut().step_by(64).for_each(|byte| *byte = byte.wrapping_add(1));
        black_box(other.last().copied());
    };
    let plain = || {
        let (mut at, mut sum) = (tree.head().index() as u32, 0_u64);
        while at != u32::MAX {
            sum += u64::from(at);
            at = parents[at as usize];
        }
        sum
    };
    let line =
        || -> u64 { tree.ancestry(tree.head()).into_iter().flatten().map(|(id, _)| id.index() as u64).sum() };
    let ids = || -> u64 { tree.trunk().ids().iter().map(|id| id.index() as u64).sum() };
    let messages = || tree.trunk().messages().filter(|message| message.role == Role::User).count();
    assert_eq!((plain(), plain()), (line(), ids()), "all walk the same line");
    let mut times: [Vec<Duration>; 6] = Default::default();
    for _ in 0..60 {
        for (place, times) in times.iter_mut().enumerate() {
            if place < 4 {
                sweep();
            }
            times.push(match place {
                0 | 4 => time(plain),
                1 | 5 => time(line),
                2 => time(ids),
                _ => time(messages),
            });
        }
    }
    let [plain, line, ids, messages, warm_plain, warm_line] = times.map(least);
    let steps = tree.trunk().ids().len();
    println!(
        "# {steps} steps: bare parents {plain:?}, warm {warm_plain:?}; messages of the trunk {messages:?}"
    );
    report.at_most("cold walk of the trunk, head to root / bare u32 parents", ratio(line, plain), 2.0);
    report.at_most("the same, warm", ratio(warm_line, warm_plain), 2.0);
    report.at_most("cold walk of the kept trunk / bare u32 parents", ratio(ids, plain), 2.0);
    Ok(())
}

/// Appending to a small tree and to a large one.
fn growing(report: &mut Report) -> Outcome<()> {
    let sizes = [SMALL, 1_000, 10_000, LARGE];
    let mut trees = Vec::new();
    for size in sizes {
        trees.push(branched(size, "a few words")?);
    }
    let mut times: [Vec<Duration>; 4] = Default::default();
    // Old small trees stay: a new one gets new memory from the system then, like the large one.
    let mut old = Vec::new();
    for _ in 0..400 {
        for (size, (tree, times)) in sizes.iter().zip(trees.iter_mut().zip(&mut times)) {
            if tree.len() > 2 * *size as usize {
                old.push(std::mem::replace(tree, branched(*size, "a few words")?));
            }
            let messages: Vec<Message> = (0..BATCH).map(|_| Message::user(words(1_000))).collect();
            let start = Instant::now();
            for message in messages {
                append(tree, message)?;
            }
            times.push(start.elapsed());
        }
    }
    let [small, thousand, ten_thousand, large] = times.map(median);
    println!(
        "# an append at 100 nodes {:?}, 1,000 {:?}, 10,000 {:?}, 100,000 {:?}",
        small / BATCH,
        thousand / BATCH,
        ten_thousand / BATCH,
        large / BATCH
    );
    report.at_most("append at 100,000 nodes / at 100", ratio(large, small), 1.2);
    Ok(())
}

/// Moving the head by a few nodes, asking what is on the trunk, taking back and making again.
fn moving(report: &mut Report) -> Outcome<()> {
    let mut trees = [branched(SMALL, "a few words")?, branched(LARGE, "a few words")?];
    let mut moves: [Vec<Duration>; 2] = Default::default();
    let mut asks: [Vec<Duration>; 2] = Default::default();
    let mut undos: [Vec<Duration>; 2] = Default::default();
    for _ in 0..600 {
        for (place, tree) in trees.iter_mut().enumerate() {
            let head = tree.head();
            let ids = tree.trunk().ids();
            let back = ids[ids.len() - 6];
            let start = Instant::now();
            for _ in 0..BATCH / 4 {
                move_head(tree, back)?;
                move_head(tree, head)?;
            }
            moves[place].push(start.elapsed());
            let newest = tree.newest().index() as u32;
            asks[place].push(time(|| {
                (newest - BATCH..newest).filter(|id| tree.is_on_trunk(NodeId::new(*id))).count()
            }));
            move_head(tree, back)?;
            let start = Instant::now();
            for _ in 0..BATCH / 4 {
                take(tree.plan_undo(AT), tree)?;
                take(tree.plan_redo(AT), tree)?;
            }
            undos[place].push(start.elapsed());
            move_head(tree, head)?;
        }
    }
    for (name, times) in [
        ("a head move at 100,000 nodes / at 100", moves),
        ("is_on_trunk at 100,000 nodes / at 100", asks),
        ("undo and redo at 100,000 nodes / at 100", undos),
    ] {
        let [small, large] = times.map(median);
        println!("# {BATCH} of them: {small:?}, {large:?}");
        report.at_most(name, ratio(large, small), 1.2);
    }
    Ok(())
}

/// Histories that somebody makes up to be slow.
fn hostile(report: &mut Report) -> Outcome<()> {
    let mut few = branched(SMALL, "a few words")?;
    let mut many = branched(SMALL, "a few words")?;
    let there = few.trunk().ids()[40];
    for (tree, times) in [(&mut few, 10), (&mut many, 20_000)] {
        move_head(tree, there)?;
        for _ in 0..times {
            take(tree.plan_undo(AT), tree)?;
            take(tree.plan_redo(AT), tree)?;
        }
    }
    let first = MoveId(few.moves().iter().position(|made| made.to == there).unwrap_or(0) as u32);
    let mut times: [Vec<Duration>; 2] = Default::default();
    for _ in 0..200 {
        for (tree, times) in [&few, &many].into_iter().zip(&mut times) {
            let ask = || (0..8_000).filter(|_| black_box(tree).is_in_force(black_box(first))).count();
            times.push(time(ask));
        }
    }
    let [small, large] = times.map(least);
    println!("# 8,000 of them: {small:?}, {large:?}; after 20 and 40,000 moves of undo and redo");
    report.at_most("is_in_force after 40,000 undos and redos / after 20", ratio(large, small), 1.2);

    let mut names = Names::default();
    for number in 0..2_000 {
        let name = format!("branch-{number}").try_into()?;
        let node = Some(NodeId::new(number % many.len() as u32));
        names.record(trunkline_message_tree::Naming {
            name,
            kind: trunkline_message_tree::NameKind::Branch,
            node,
        });
    }
    let all = time(|| names.all(&many).count());
    let reflog = time(|| many.reflog().filter(|entry| entry.in_force).count());
    println!("# 2,000 branches of 40,000 moves: where all of them lead {all:?}; the reflog {reflog:?}");
    report.at_most(
        "microseconds until the end of a branch is found, 40,000 moves",
        micros(all) / 2_000.0,
        5.0,
    );
    report.at_most("nanoseconds for an entry of the reflog", 1_000.0 * micros(reflog) / 40_000.0, 100.0);
    Ok(())
}

/// What a tree adds to the process, each time in one of its own, for what a coding agent writes and for short messages.
fn memory(report: &mut Report) -> Outcome<()> {
    println!(
        "# bytes of resident memory for a node, and what is left of them after 64 bytes, by the bytes of text"
    );
    let program = std::env::current_exe()?;
    for (mix, bar) in
        [("agent", Some(1.3)), ("chat", Some(1.3)), ("1000", Some(1.3)), ("8000", Some(1.3)), ("200", None)]
    {
        for made in ["appended", "replayed"] {
            let output = Command::new(&program).args(["hold", made, mix]).output()?;
            let text = String::from_utf8(output.stdout)?;
            let mut numbers = text.split_whitespace().map(str::parse::<u64>);
            let mut next = || numbers.next().ok_or("a process that measures says three numbers");
            let (nodes, bytes, held) = (next()??, next()??, next()??);
            let value = (held as f64 - 64.0 * nodes as f64) / bytes as f64;
            println!("# {mix}, {made}: {nodes} nodes, {} of text each, {} held", bytes / nodes, held / nodes);
            let name = format!("memory of {mix}, {made}, without 64 bytes a node / text");
            match bar {
                Some(bar) => report.at_most(&name, value, bar),
                None => println!("{name}  {value:.2}  -  measured"),
            }
        }
    }
    Ok(())
}

/// Builds one tree and says how many nodes it has, how much text, and how many bytes the process has grown.
fn hold(arguments: &[String]) -> Outcome<()> {
    let [made, mix] = arguments else { return Err("hold MADE MIX".into()) };
    let mut source = Source::new(mix)?;
    let (count, mut bytes) = (60_000_000 / source.mean(), 0);
    // Once before, so that what all trees share is there.
    let warm = MessageTree::new(Message::system("be brief"), AT);
    let mut line = String::with_capacity(1 << 17);
    let before = resident()?;
    let mut tree = MessageTree::new(source.next(), AT);
    for id in 1..count as u32 {
        let message = source.next();
        bytes += text_of(&message);
        if made == "replayed" {
            // As a log gives it back.
            let parent = Some(tree.head());
            let entry = Entry::Node {
                id: NodeId::new(id),
                parent,
                at: AT,
                link: trunkline_message_tree::Link::Next,
                message,
            };
            line.clear();
            line.push_str(&serde_json::to_string(&entry)?);
            tree.record(serde_json::from_str(&line)?)?;
        } else {
            append(&mut tree, message)?;
        }
    }
    let held = resident()?.saturating_sub(before);
    println!("{} {bytes} {held}", tree.len());
    drop((tree, warm));
    Ok(())
}

/// Messages of one kind, without end.
struct Source {
    mix: String,
    made: usize,
}

impl Source {
    fn new(mix: &str) -> Outcome<Self> {
        let known = ["agent", "chat"].contains(&mix) || mix.parse::<usize>().is_ok();
        known.then(|| Source { mix: mix.to_owned(), made: 0 }).ok_or_else(|| "no such mix".into())
    }

    /// Returns about how many bytes of text a message has.
    fn mean(&self) -> usize {
        let mut source = Source { mix: self.mix.clone(), made: 0 };
        (0..200).map(|_| text_of(&source.next())).sum::<usize>() / 200
    }

    fn next(&mut self) -> Message {
        let at = self.made;
        self.made += 1;
        match self.mix.as_str() {
            // A prompt, then rounds of a call and what the tool said, then an answer.
            "agent" => match at % 22 {
                0 => Message::user(words(400)),
                21 => written(vec![Content::text(words(900))], StopReason::EndTurn),
                step if step % 2 == 1 => {
                    let arguments = format!(
                        "{{\"path\":\"crates/thing/src/lib.rs\",\"text\":\"{}\"}}",
                        words([80, 600, 60, 150][at / 2 % 4])
                    );
                    let call = ToolCall {
                        id: format!("toolu_01A09q90qw90lq9178{at:06}"),
                        name: "edit_file".to_owned(),
                        arguments,
                        signature: None,
                    };
                    let content = vec![Content::text(words(120)), Content::ToolCall(call)];
                    written(content, StopReason::ToolUse)
                }
                _ => {
                    let text = words([300, 6_000, 2_000, 12_000][at / 2 % 4]);
                    Message::tool_result(format!("toolu_01A09q90qw90lq9178{:06}", at - 1), text, false)
                }
            },
            // People and models in turn.
            "chat" if at % 2 == 1 => written(vec![Content::text(words(1_800))], StopReason::EndTurn),
            "chat" => Message::user(words(250)),
            size => Message::user(words(size.parse().unwrap_or(200))),
        }
    }
}

fn written(content: Vec<Content>, stop: StopReason) -> Message {
    let mut message = Message::new(Role::Assistant, Author::Model, content);
    message.origin = Some(Origin::new("anthropic", "claude-opus-4-5"));
    message.stop = Some(stop);
    message.usage = Some(Usage { input_tokens: 40_000, output_tokens: 300, ..Usage::default() });
    message
}

fn words(bytes: usize) -> String {
    const WORDS: &str = "all work and no play makes an agent dull ";
    let mut text = String::with_capacity(bytes);
    while text.len() < bytes {
        text.push_str(&WORDS[..WORDS.len().min(bytes - text.len())]);
    }
    text
}

/// Returns the bytes that somebody or something wrote: texts, arguments, names, ids.
fn text_of(message: &Message) -> usize {
    let block = |block: &Content| match block {
        Content::Text { text } => text.len(),
        Content::ToolCall(call) => call.id.len() + call.name.len() + call.arguments.len(),
        Content::ToolResult(result) => result.call_id.len() + result.text().len(),
        _ => 0,
    };
    let origin = message.origin.as_ref().map_or(0, |origin| origin.provider.len() + origin.model.len());
    origin + message.content.iter().map(block).sum::<usize>()
}

fn resident() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no such line")?;
    Ok(line.split_whitespace().next().ok_or("no number")?.parse::<u64>()? * 1024)
}

/// Returns a tree of so many nodes on the trunk, with a branch of three that was left every hundred.
fn branched(nodes: u32, text: &str) -> Outcome<MessageTree> {
    let mut tree = MessageTree::new(Message::system("be brief"), AT);
    while tree.trunk().ids().len() < nodes as usize {
        append(&mut tree, Message::user(text))?;
        if tree.len() % 100 == 60 {
            let back = tree.trunk().ids()[tree.trunk().ids().len() - 4];
            move_head(&mut tree, back)?;
        }
    }
    Ok(tree)
}

fn append(tree: &mut MessageTree, message: Message) -> Outcome<NodeId> {
    let mut draft = tree.draft();
    let id = draft.append(message, AT)?;
    for entry in draft.into_entries() {
        tree.record(entry)?;
    }
    Ok(id)
}

fn move_head(tree: &mut MessageTree, to: NodeId) -> Outcome<()> {
    let head_move = HeadMove { from: tree.head(), to, kind: MoveKind::ModelRevert, at: AT };
    Ok(tree.record(Entry::Move(head_move))?)
}

fn take(head_move: Option<HeadMove>, tree: &mut MessageTree) -> Outcome<()> {
    Ok(tree.record(Entry::Move(head_move.ok_or("there is a move to take back")?))?)
}

struct Report {
    good: bool,
}

impl Report {
    fn at_most(&mut self, name: &str, value: f64, bar: f64) {
        let verdict = if value <= bar { "ok" } else { "SHORT" };
        self.good &= value <= bar;
        println!("{name}  {value:.2}  {bar:.2}  {verdict}");
    }
}

fn time<T>(run: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(run());
    start.elapsed()
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

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
