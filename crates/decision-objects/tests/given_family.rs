//! Whole families for the other tests: written as texts, since a text can also say what no constructor lets through.

use proptest::collection::vec;
use proptest::prelude::*;
use trunkline_decision_objects::{Object, ObjectKind, ObjectName, Timestamp};
use uuid::Uuid;

/// How a run of a generated family ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Commit,
    Checkpoint,
    Abandon,
    Retry,
    /// Of the latest commit that was not rolled back; an abandon, if there is none.
    Rollback,
    Answered,
    /// No decision yet.
    Open,
}

/// What one run of a generated family is like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) end: End,
    /// Whether the evidence names its decision.
    pub(crate) linked: bool,
    pub(crate) usages: u64,
    pub(crate) steps: bool,
}

/// One run of a family, by the numbers of what belongs to it; its patch sets are `100 * number + 1` (chosen, if any is)
/// and `+ 2` (rejected), its evidence, provenance and frame have its own number, and so has its decision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunOf {
    pub(crate) number: u128,
    pub(crate) task: u128,
    pub(crate) follows: Option<u128>,
    pub(crate) undoes: Option<u128>,
    pub(crate) shape: Shape,
}

/// Objects in the order in which they came to be, and what they are.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) objects: Vec<Object>,
    pub(crate) runs: Vec<RunOf>,
    events: u128,
    seconds: i64,
}

pub(crate) fn id(number: u128) -> String {
    Uuid::from_u128(number).to_string()
}

pub(crate) fn name(kind: ObjectKind, number: u128) -> ObjectName {
    ObjectName { kind, id: Uuid::from_u128(number) }
}

pub(crate) fn time(seconds: i64) -> Timestamp {
    Timestamp::from_milliseconds(1_790_000_000_000 + 1000 * seconds).expect("a test time is in range")
}

const ACTOR: &str = r#"{"kind":"agent","id":"coder-1"}"#;

impl World {
    /// Two intents, three plans and a snapshot, and no run yet.
    ///
    /// Plans 1 and 2 are for intent 1 and have step 1, plan 3 is for intent 2 and has step 3.
    pub(crate) fn new() -> Self {
        let mut world = Self { objects: Vec::new(), runs: Vec::new(), events: 0, seconds: 0 };
        for (number, parents) in [(1, String::new()), (2, format!("\"{}\"", id(1)))] {
            world.put(
                "intent",
                number,
                &format!(r#""parents":[{parents}],"prompt":"fix it","analysis_frames":[]"#),
            );
        }
        world.event("intent_event", &format!(r#""intent":"{}","kind":"analyzed""#, id(1)));
        for (number, intent, parents, step) in
            [(1, 1, String::new(), 1), (2, 1, format!("\"{}\"", id(1)), 1), (3, 2, String::new(), 3)]
        {
            let step = format!(r#"{{"id":"{}","description":"look"}}"#, id(step));
            world.put(
                "plan",
                number,
                &format!(r#""intent":"{}","parents":[{parents}],"frames":[],"steps":[{step}]"#, id(intent)),
            );
        }
        world.put("context_snapshot", 1, r#""selection":"explicit","items":[]"#);
        world
    }

    pub(crate) fn of(shapes: &[Shape]) -> Self {
        let mut world = Self::new();
        for &shape in shapes {
            world.run(shape);
        }
        world.event("intent_event", &format!(r#""intent":"{}","kind":"completed""#, id(1)));
        world
    }

    /// What is now, a second later each time.
    pub(crate) fn tick(&mut self) -> Timestamp {
        self.seconds += 1;
        time(self.seconds)
    }

    pub(crate) fn add(&mut self, json: &str) {
        match Object::parse(json.as_bytes()) {
            Ok(object) => self.objects.push(object),
            Err(error) => panic!("{error} in {json}"),
        }
    }

    pub(crate) fn put(&mut self, kind: &str, number: u128, body: &str) {
        let (id, at) = (id(number), self.tick());
        self.add(&format!(r#"{{"type":"{kind}","version":1,"id":"{id}","at":"{at}","by":{ACTOR},{body}}}"#));
    }

    /// Adds an event with a name of its own.
    pub(crate) fn event(&mut self, kind: &str, body: &str) {
        self.events += 1;
        self.put(kind, self.events, body);
    }

    pub(crate) fn open(&mut self, number: u128, more: &str) {
        let (id, at) = (id(number), self.tick());
        self.add(&format!(
            r#"{{"type":"run","version":1,"id":"{id}","at":"{at}","actor":{ACTOR},"goal":"fix it"{more}}}"#
        ));
    }

    pub(crate) fn decide(&mut self, number: u128, run: u128, verdict: &str, more: &str) {
        let (id, run, at) = (id(number), id(run), self.tick());
        self.add(&format!(
            r#"{{"type":"decision","version":1,"id":"{id}","run":"{run}","at":"{at}","decided_by":{ACTOR},"verdict":{verdict},{more}}}"#
        ));
    }

    pub(crate) fn prove(&mut self, number: u128, run: u128, more: &str) {
        let (id, run, at) = (id(number), id(run), self.tick());
        self.add(&format!(
            r#"{{"type":"evidence","version":1,"id":"{id}","run":"{run}","at":"{at}"{more},"kind":"test","tool":"cargo"}}"#
        ));
    }

    fn run(&mut self, mut shape: Shape) {
        let number = self.runs.len() as u128 + 1;
        // As many minutes as the stated skew has, and one more, so that what is before the run is so beyond doubt.
        self.seconds += 360;
        let before = self.runs.last().copied();
        let follows = before.filter(|run| matches!(run.shape.end, End::Retry | End::Checkpoint));
        let task = follows.map_or(number, |run| run.task);
        if follows.is_none() {
            self.task(number);
        }
        let undone: Vec<u128> = self.runs.iter().filter_map(|run| run.undoes).collect();
        let mut commits = self.runs.iter().filter(|run| run.shape.end == End::Commit).map(|run| run.number);
        let undoes = commits.rfind(|number| !undone.contains(number)).filter(|_| shape.end == End::Rollback);
        if shape.end == End::Rollback && undoes.is_none() {
            shape.end = End::Abandon;
        }
        self.begin(number, task, follows);
        self.work(number, task, shape);
        if shape.end != End::Open {
            self.close(number, task, shape, undoes);
        }
        let follows = follows.map(|run| run.number);
        self.runs.push(RunOf { number, task, follows, undoes, shape });
    }

    fn task(&mut self, number: u128) {
        let parent = if number == 1 { String::new() } else { format!(r#","parent":"{}""#, id(1)) };
        let needs = if number == 1 { String::new() } else { format!("\"{}\"", id(1)) };
        let rest = format!(r#""intent":"{}","origin_step":"{}","dependencies":[{needs}]"#, id(1), id(1));
        let lists = r#""constraints":[],"acceptance_criteria":[]"#;
        self.put("task", number, &format!(r#""title":"fix it",{lists}{parent},{rest}"#));
        self.event("task_event", &format!(r#""task":"{}","state":"created""#, id(number)));
    }

    fn begin(&mut self, number: u128, task: u128, follows: Option<RunOf>) {
        let follows = follows.map_or_else(String::new, |run| {
            let word = if run.shape.end == End::Retry { "retry_of" } else { "continues" };
            format!(r#","{word}":"{}""#, id(run.number))
        });
        let (task, one) = (id(task), id(1));
        self.open(number, &format!(r#"{follows},"task":"{task}","plan":"{one}","snapshot":"{one}""#));
        let run = id(number);
        self.put("provenance", number, &format!(r#""run":"{run}","provider":"anthropic","model":"m""#));
        self.event("run_event", &format!(r#""run":"{run}","state":"created""#));
        self.event("task_event", &format!(r#""task":"{task}","state":"running","run":"{run}""#));
    }

    fn work(&mut self, number: u128, task: u128, shape: Shape) {
        let (run, chosen) = (id(number), id(100 * number + 1));
        for patch_set in [100 * number + 1, 100 * number + 2] {
            let (id, digest) = (id(patch_set), "0".repeat(64));
            self.add(&format!(
                r#"{{"type":"patch_set","version":1,"id":"{id}","run":"{run}","files":[],"diff_digest":"{digest}"}}"#
            ));
        }
        self.event("run_event", &format!(r#""run":"{run}","state":"patching","patch_set":"{chosen}""#));
        let call = r#""tool":"edit","reads":[],"writes":["a"],"args":"{}","status":"ok","artifacts":[]"#;
        let (started, ended) = (self.tick(), self.tick());
        self.event(
            "tool_invocation",
            &format!(r#""run":"{run}",{call},"started":"{started}","ended":"{ended}""#),
        );
        let (plan, step) = (id(1), id(1));
        let frame = format!(r#""run":"{run}","plan":"{plan}","step":"{step}""#);
        self.put(
            "context_frame",
            number,
            &format!(r#"{frame},"kind":"code_change","summary":"it was a lock""#),
        );
        if shape.steps {
            let of = format!(r#""plan":"{plan}","step":"{step}","run":"{run}""#);
            let used = format!(r#""consumed":["{run}"],"produced":[]"#); // A frame has the number of its run.
            let spawned = format!(r#","spawned_task":"{}""#, id(task));
            for (state, more) in [("pending", ""), ("progressing", spawned.as_str()), ("completed", "")] {
                self.event("step_event", &format!(r#"{of},"state":"{state}",{used}{more}"#));
            }
        }
        self.event("run_event", &format!(r#""run":"{run}","state":"validating""#));
        for usage in 0..shape.usages {
            let cache = r#""cache_read_tokens":100,"cache_write_tokens":5,"microdollars":3"#;
            let counts = format!(r#""input_tokens":{},"output_tokens":7,{cache}"#, 10 + usage);
            self.event("usage", &format!(r#""run":"{run}",{counts}"#));
        }
        let linked = shape.linked && shape.end != End::Open;
        let decision = if linked { format!(r#","decision":"{run}""#) } else { String::new() };
        self.prove(number, number, &format!(r#","patch_set":"{chosen}"{decision}"#));
    }

    fn close(&mut self, number: u128, task: u128, shape: Shape, undoes: Option<u128>) {
        let (run, task, chosen) = (id(number), id(task), id(100 * number + 1));
        let oid = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
        let verdict = match shape.end {
            End::Commit => format!(r#"{{"kind":"commit","patch_set":"{chosen}","commit":"{oid}"}}"#),
            End::Checkpoint => r#"{"kind":"checkpoint","checkpoint":"n12"}"#.into(),
            End::Retry => r#"{"kind":"retry","reason":"the lock"}"#.into(),
            End::Answered => r#"{"kind":"other","label":"answered","reason":"it asked"}"#.into(),
            End::Rollback => {
                let of = id(undoes.unwrap_or(1));
                format!(r#"{{"kind":"rollback","of":"{of}","patch_set":"{chosen}"}}"#)
            }
            End::Abandon | End::Open => r#"{"kind":"abandon","reason":"no use"}"#.into(),
        };
        let usages = shape.usages;
        let input: u64 = (0..usages).map(|usage| 10 + usage).sum();
        let cost = format!(
            r#"{{"input_tokens":{input},"output_tokens":{},"cache_read_tokens":{},"cache_write_tokens":{},"microdollars":{}}}"#,
            7 * usages,
            100 * usages,
            5 * usages,
            3 * usages
        );
        let rejected = format!(r#"{{"patch_set":"{}","reason":"worse"}}"#, id(100 * number + 2));
        let cites = format!(r#"{{"nodes":[],"proposals":[],"files":[],"cost":{cost}}}"#);
        let more = format!(r#""evidence":["{run}"],"considered":[{rejected}],"cites":{cites}"#);
        self.decide(number, number, &verdict, &more);
        let (end, task_end) = match shape.end {
            End::Commit | End::Rollback | End::Answered => ("completed", Some(r#""done""#)),
            End::Checkpoint => ("checkpointed", None),
            End::Retry => ("failed", None),
            End::Abandon | End::Open => ("failed", Some(r#""failed","reason":"no use""#)),
        };
        self.event("run_event", &format!(r#""run":"{run}","state":"{end}""#));
        if let Some(state) = task_end {
            self.event("task_event", &format!(r#""task":"{task}","state":{state},"run":"{run}""#));
        }
    }

    /// Replaces the object of that name by what its text becomes.
    pub(crate) fn edit(&mut self, of: ObjectName, from: &str, to: &str) {
        let place = self.objects.iter().position(|object| object.name() == of).expect("it is there");
        let text = self.objects[place].print();
        assert!(text.contains(from), "no {from} in {text}");
        let text = text.replacen(from, to, 1);
        match Object::parse(text.as_bytes()) {
            Ok(object) => self.objects[place] = object,
            Err(error) => panic!("{error} in {text}"),
        }
    }

    /// The object of that kind whose text has all of this in it.
    pub(crate) fn find(&self, kind: ObjectKind, parts: &[&str]) -> ObjectName {
        let fits = |object: &&Object| {
            object.kind() == kind && parts.iter().all(|part| object.print().contains(part))
        };
        self.objects.iter().find(fits).map(Object::name).expect("it is there")
    }

    pub(crate) fn remove(&mut self, of: ObjectName) {
        self.objects.retain(|object| object.name() != of);
    }
}

pub(crate) fn any_shape() -> impl Strategy<Value = Shape> {
    use End::{Abandon, Answered, Checkpoint, Commit, Open, Retry, Rollback};
    let ends = [Commit, Checkpoint, Abandon, Retry, Rollback, Answered, Open];
    (prop::sample::select(ends.to_vec()), any::<bool>(), 0_u64..3, any::<bool>())
        .prop_map(|(end, linked, usages, steps)| Shape { end, linked, usages, steps })
}

pub(crate) fn any_world() -> impl Strategy<Value = World> {
    vec(any_shape(), 1..8).prop_map(|shapes| World::of(&shapes))
}

/// The same on top of a commit: runs and patch sets say on which, as git-internal wants it.
pub(crate) fn based(mut world: World) -> World {
    let oid = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
    for object in &mut world.objects {
        let text = object.print();
        let text = match object {
            Object::Run(_) => text.replace(r#""goal":"#, &format!(r#""base_commit":"{oid}","goal":"#)),
            Object::PatchSet(_) => text.replace(r#""files":"#, &format!(r#""base":"{oid}","files":"#)),
            _ => continue,
        };
        match Object::parse(text.as_bytes()) {
            Ok(based) => *object = based,
            Err(error) => panic!("{error} in {text}"),
        }
    }
    world
}
