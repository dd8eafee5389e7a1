//! Plays a session as text: a script goes in, the steps and what each recorded come out.
//!
//! No task, no store, no clock: the log is a list, files are texts in a map. Before each step the log is folded again from its
//! beginning, and what comes next has to be the same; so each story is also a test of every kill between two steps.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write;
use std::time::Duration;

use expect_test::Expect;
use serde_json::json;
use trunkline_message_tree::{
    Message, MessageList, MessageTree, NodeId, Origin, Part, Timestamp, ToolChoice, ToolResult, ToolSpec,
};
use trunkline_providers::{Request, Support};
use trunkline_resolve_queue::{ProposalId, Rule, Scope, Verdict};
use trunkline_revert::{CacheGrain, CompactPolicy, Prompts, Rates};
use trunkline_session_machine::acts::apply::{self, Begun};
use trunkline_session_machine::acts::asked::Asked;
use trunkline_session_machine::acts::calls::{self, Returned};
use trunkline_session_machine::acts::look;
use trunkline_session_machine::acts::plan::Plan;
use trunkline_session_machine::acts::question::Pause;
use trunkline_session_machine::acts::recorded::complete;
use trunkline_session_machine::acts::reply::{self, Came};
use trunkline_session_machine::acts::view::View;
use trunkline_session_machine::acts::{
    close, close_request, decide, expire, hold, late, moves, open, propose, settle, stage, task,
};
use trunkline_session_machine::next::{Facts, Step, next};
use trunkline_session_machine::request::prompt;
use trunkline_session_machine::request::rendering::Rendering;
use trunkline_session_machine::rules::judging;
use trunkline_session_machine::setup::catalogue::Catalogue;
use trunkline_session_machine::setup::{AskedModel, Setup};
use trunkline_session_machine::state::State;
use trunkline_session_machine::{
    Access, Approval, CallPlace, CloseAs, EndTask, OnStall, PlanText, Reverts, RuntimeError, Said, Touched,
};
use trunkline_session_store::Record;

use crate::play_lines::{
    bounds_of, came_of, drawn, lines_of, name_of, policy_of, rule_of, said_of, task_of, told_of,
};
use crate::play_world::tools;

/// A day that does not change.
pub(crate) const START: u64 = 1_700_000_000_000;

/// Plays a script and compares what came of it.
pub(crate) fn check(script: &str, expected: Expect) {
    expected.assert_eq(&play(script).told);
}

/// Plays a script. Each line is one of:
///
/// ```text
/// approval always      who decides: person (as unless told), model or always
/// reverts              the model may leave a branch
/// reverts told         and is told if it gets nowhere; or `person`, who is told instead, `accept`, nobody, or `off`
/// may merge            the model may do that as well; also go, prune; leave words of a person, or rebase them
/// rates                it is known what tokens cost
/// window 600           a prompt may have so many tokens, else it is compacted
/// plans                each run needs a plan that a person approves; `off` takes that back, for what goes on with the session
/// closes               the model may ask for the end of its run; `off` takes that back
/// tool own             a tool more, for which nobody is asked
/// script               a tool `script`, which runs a command unasked and proposes
/// means words          whatever command is called, this is what its tool says that it runs
/// folder               the files of runs are looked at; commits: and committed; looks: around calls that may change some, too
/// hook edit            the tool is told when what it has staged ends without having been applied
/// hears p1 = words     and says this to that; or `!words`, as a failure; `crash`; or `kill`, which ends the process. Nothing unless told
/// without tools        the next process has none; with tools: those that a play has
/// intents              it is recorded what the session is for
/// offers 10 s          what is staged has so much time
/// demands              the service takes the demand that a tool is called
/// choices soft 2 3     a model is reminded, held after two turns, and for three; or `once 3`, held at once
/// model: words         an answer of the model, in the order in which it is asked
/// model: read c1 {"path":"a"}; shell c2 {"command":"make"}; say and words beside calls
/// 5 times model: read c {"path":"a"}   the line so often
/// cut: words           an answer that breaks off; limit: one that ends at the output limit
/// busy: words          an answer that fails, after these words or none; also unauthorized, unreached
/// result c1 = words    what a call gives; "done" unless told
/// propose c1 a = text  the call stages that a file gets this text; "unwritable" cannot be written
/// write c1 a = text    the call writes that file itself
/// file a = text        somebody writes a file
/// pass 10 s            time passes; also ms
/// stored once 0        the session is stored with that; `once 0` never reminds
/// hush, tell           steps and records are not told from here on, and told again
/// > words              a prompt; the session goes on until it stops
/// resume, cancel       it goes on; with cancel nothing new is begun
/// reword p1 words      a person approves a request to end the run, in these words
/// edit p1 Do it\n1. so   a person approves a plan with another text
/// approve p1, discard p1 why, approve p1 with {"mode":1} why, undo, redo, go n3, merge n3, back n3 lesson, close checkpoint words
/// rule deny path a/**  a rule that the agent has; see `rule_of` for all that it may say
/// give deny path a/**  a person gives a rule
/// accept p0, decline p0 why   a step back that was proposed
/// task title           a task; `done words` and `drop why` end it; bound retries 1, bound turns 3, bound tokens 9
/// select 2 why         the second candidate of the run that has the newest is the one
/// late n2 0 words      what the first call of n2 gave comes, or comes again
/// crash p1             an apply begins, and nothing is heard of it any more; `crash p1 after`: but all of it is written
/// kill apply           the process ends when it would begin the next apply
/// show sent            what the model was sent last; also tools, notes, steps, results, files, rules, decisions, verdict, touched,
///                      attempts, commit, family, candidates
/// ```
pub(crate) fn play(script: &str) -> Play {
    let mut play = Play::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let repeated = line.split_once(" times ").and_then(|(times, line)| Some((times.parse().ok()?, line)));
        let (times, line) = repeated.unwrap_or((1, line));
        (0..times).for_each(|_| play.line(line));
    }
    play
}

/// A session in memory, with the world around it.
pub(crate) struct Play {
    pub(crate) told: String,
    pub(crate) log: Vec<Record>,
    pub(crate) setup: Setup,
    pub(crate) state: State,
    replies: VecDeque<Came>,
    pub(crate) results: HashMap<String, String>,
    pub(crate) proposed: HashMap<String, Vec<(String, String)>>,
    pub(crate) hears: HashMap<ProposalId, String>,
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) base: BTreeMap<String, String>,
    commits: bool,
    /// Whether files are looked at around calls.
    pub(crate) looks: bool,
    /// What calls write by themselves.
    pub(crate) writes: HashMap<String, (String, String)>,
    pub(crate) committed: Option<String>,
    /// The message of that.
    pub(crate) message: String,
    /// Those of the agent.
    rules: Vec<Rule>,
    pub(crate) sent: Option<Request>,
    /// What proposals have written, as it was told when the end of a run was looked at.
    pub(crate) touched: Vec<Touched>,
    pub(crate) names: u128,
    now: u64,
    /// Turns that lead nowhere are noticed.
    watches: bool,
    /// Nothing is told.
    hushed: bool,
    /// The process ends before the next apply.
    pub(crate) killed: bool,
    /// What every command means by now.
    pub(crate) meant: Option<String>,
}

impl Play {
    fn new() -> Self {
        let origin = Origin::new("made-up", "parrot");
        let mut setup = Setup::new(AskedModel::new(origin, "none", |_| Support::None));
        setup.catalogue = tools();
        setup.complete();
        let tree = MessageTree::new(Message::system("Be short."), Timestamp(START));
        let root = Record::Entry(tree.root_entry());
        let state = State::begin(Some(&root)).unwrap();
        Play {
            told: String::new(),
            log: vec![root],
            setup,
            state,
            replies: VecDeque::new(),
            results: HashMap::new(),
            proposed: HashMap::new(),
            looks: false,
            writes: HashMap::new(),
            hears: HashMap::new(),
            files: BTreeMap::new(),
            base: BTreeMap::new(),
            commits: false,
            committed: None,
            message: String::new(),
            rules: Vec::new(),
            sent: None,
            touched: Vec::new(),
            names: 0,
            now: START,
            watches: false,
            hushed: false,
            killed: false,
            meant: None,
        }
    }

    fn line(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "approval" => {
                self.setup.resolve.approval = match rest {
                    "always" => Approval::Always,
                    "model" => Approval::Model,
                    _ => Approval::Person,
                };
                self.setup.complete();
            }
            "reverts" => {
                let reverts = match rest {
                    "person" => Reverts::default().on_stall(OnStall::TellPerson),
                    "accept" => Reverts::default().on_stall(OnStall::Accept),
                    _ => Reverts::default(),
                };
                let mut stall = reverts.stall.clone();
                stall.enabled = rest != "off";
                let mut reverts = reverts.stall(stall);
                reverts.decide = self.setup.revert.as_ref().is_some_and(|reverts| reverts.decide);
                self.setup.revert = Some(Box::new(reverts));
                self.setup.complete();
                self.watches = !rest.is_empty();
                if self.watches {
                    self.state.revert.watch(&self.setup.revert);
                }
            }
            "may" => {
                let reverts = self.setup.revert.take().map(|reverts| match rest {
                    "merge" => reverts.offer_merge(),
                    "go" => reverts.offer_return(),
                    "rebase" => reverts.prompts(Prompts::Rebase),
                    "leave" => reverts.prompts(Prompts::Leave),
                    _ => reverts.offer_pruning(),
                });
                self.setup.revert = reverts.map(Box::new);
                self.setup.complete();
            }
            "rates" => {
                let rates = Rates::new(100, 1_250, 0, CacheGrain::Steps(1), "a test");
                self.setup.revert = self.setup.revert.take().map(|reverts| Box::new(reverts.rates(rates)));
            }
            "closes" => {
                self.setup.revert.get_or_insert_default().decide = rest != "off";
                self.setup.complete();
            }
            "window" => self.setup.compaction = rest.parse().ok().map(CompactPolicy::new),
            "plans" => {
                self.setup.plans = rest != "off";
                self.setup.complete();
            }
            "tool" => {
                self.setup
                    .catalogue
                    .add(ToolSpec::new(rest, "A tool", json!({ "type": "object" })), Access::Exclusive);
                self.setup.complete();
            }
            "hook" => self.setup.catalogue.hook(rest),
            "without" | "with" => {
                self.setup.catalogue = if word == "with" { tools() } else { Catalogue::default() };
                self.setup.complete();
            }
            "hears" => {
                let (proposal, words) = rest.split_once(" = ").unwrap();
                self.hears.insert(proposal.parse().unwrap(), words.to_owned());
            }
            "intents" => self.setup.keeps_intents = true,
            "folder" => self.setup.files.looks = true,
            "looks" => (self.looks, self.setup.files.looks) = (true, true),
            "commits" => (self.commits, self.setup.files.looks) = (true, true),
            "offers" => self.setup.expire_after = Some(Duration::from_millis(milliseconds_of(rest))),
            "pass" => self.now += milliseconds_of(rest),
            "demands" => {
                let origin = Origin::new("made-up", "parrot");
                self.setup.model = AskedModel::new(origin, "none", |_| Support::Native);
            }
            "choices" => self.setup.choices.policy = Some(policy_of(rest)),
            "stored" => {
                let plan = hold::under(&self.view(), policy_of(rest), None);
                self.record(plan).unwrap();
            }
            "kill" => self.killed = true,
            "means" => self.meant = Some(rest.to_owned()),
            "script" => {
                let spec = ToolSpec::new("script", "Runs a script that proposes", json!({"type": "object"}));
                self.setup.catalogue.add(spec, Access::Proposes);
                self.setup.complete();
            }
            "hush" => self.hushed = true,
            "tell" => self.hushed = false,
            "show" => self.show(rest),
            "result" => {
                let (call, text) = rest.split_once(" = ").unwrap();
                self.results.insert(call.to_owned(), text.to_owned());
            }
            "propose" => {
                let (call, change) = rest.split_once(' ').unwrap();
                let (path, text) = change.split_once(" = ").unwrap();
                let change = (path.to_owned(), text.to_owned());
                self.proposed.entry(call.to_owned()).or_default().push(change);
            }
            "write" => {
                let (call, change) = rest.split_once(' ').unwrap();
                let (path, text) = change.split_once(" = ").unwrap();
                self.writes.insert(call.to_owned(), (path.to_owned(), text.to_owned()));
            }
            "file" => {
                let (path, text) = rest.split_once(" = ").unwrap();
                self.files.insert(path.to_owned(), text.to_owned());
            }
            _ => match word.strip_suffix(':').and_then(|kind| came_of(kind, rest)) {
                Some(came) => self.replies.push_back(came),
                None => {
                    self.say(&shown(line));
                    let done = self.order(word, rest);
                    self.tell(done);
                }
            },
        }
    }

    fn order(&mut self, word: &str, rest: &str) -> Result<(), RuntimeError> {
        let (first, more) = rest.split_once(' ').unwrap_or((rest, ""));
        let proposal = || first.parse::<ProposalId>().unwrap();
        let node = || first.parse::<NodeId>().unwrap();
        match word {
            ">" => {
                self.perform(|view, asked| open::prompt(view, asked, &lines_of(rest)))?;
                self.drive(false)
            }
            "resume" => self.drive(false),
            "cancel" => self.drive(true),
            "approve" | "discard" => {
                let said = said_of(word, more);
                self.perform(|view, asked| decide::decide(view, asked, proposal(), (&said, None), None))
            }
            "reword" => {
                let said = Said::new(Verdict::Approve, "").in_words(lines_of(more));
                self.perform(|view, asked| decide::decide(view, asked, proposal(), (&said, None), None))
            }
            "edit" => {
                let text = PlanText::parse(&lines_of(more)).unwrap();
                let said = Said::new(Verdict::Approve, "").as_edited(text);
                self.perform(|view, asked| decide::decide(view, asked, proposal(), (&said, None), None))
            }
            "rule" => {
                let mut rule = rule_of(rest);
                rule.scope = Scope::Always;
                self.setup.resolve.model_by_rule |= judging::asks_model(&rule);
                self.setup.complete();
                self.rules.push(rule);
                let rules = self.rules.clone();
                self.perform(|view, _| decide::adopt_rules(view, &rules))
            }
            "give" => self.perform(|view, _| decide::give_rule(view, &rule_of(rest))).map(drop),
            "accept" => self.perform(|view, asked| settle::accept(view, asked, first.parse().unwrap())),
            "decline" => {
                self.perform(|view, _| settle::decline(view, first.parse().unwrap(), Some(&lines_of(more))))
            }
            "late" => {
                let (index, text) = more.split_once(' ').unwrap();
                let index = index.parse().unwrap();
                let place = CallPlace { node: node(), index, id: "made up".to_owned() };
                let content = vec![Part::text(lines_of(text))];
                let result = ToolResult { call_id: "made up".to_owned(), content, is_error: false };
                if !late::takes_late(&self.state, &place) {
                    self.say("    it waits");
                    return Ok(());
                }
                self.perform(|view, _| late::take(view, &place, &result)).map(drop)
            }
            "merge" => self.perform(|view, _| moves::merge(view, &[node()])).map(drop),
            "undo" => self.perform(moves::undo),
            "redo" => self.perform(moves::redo),
            "go" => self.perform(|view, asked| moves::go(view, asked, node())).map(drop),
            "back" => self.perform(|view, asked| {
                moves::go_back(view, asked, node(), Some(more).filter(|more| !more.is_empty()))
            }),
            "close" => {
                let words = more.to_owned();
                let how = match first {
                    "checkpoint" => CloseAs::Checkpoint { words },
                    "abandon" => CloseAs::Abandon { reason: words },
                    _ => CloseAs::Retry { reason: words },
                };
                close::check(&self.view(), &how, false)?;
                self.perform(|view, asked| close::close(view, asked, &how)).map(drop)
            }
            "task" => self.perform(|view, asked| task::give(view, asked, &task_of(rest))).map(drop),
            "bound" => self.perform(|view, _| task::bound(view, bounds_of(rest))),
            "done" => {
                let end = EndTask::Done { reason: rest.to_owned() };
                self.perform(|view, asked| task::end(view, asked, &end)).map(drop)
            }
            "drop" => {
                let end = EndTask::Drop { reason: rest.to_owned() };
                self.perform(|view, asked| task::end(view, asked, &end)).map(drop)
            }
            "select" => self.select(first.parse().unwrap(), more),
            "crash" => {
                let begun = self.perform(|view, asked| apply::begin(view, asked, proposal(), None))?;
                assert!(matches!(begun, Begun::Attempt(_)), "the attempt begins");
                if more == "after" {
                    self.write(proposal());
                }
                Ok(())
            }
            other => panic!("no such line: {other}"),
        }
    }

    fn tell(&mut self, done: Result<(), RuntimeError>) {
        if let Err(fault) = done {
            self.say(&format!("    {fault}"));
        }
    }

    pub(crate) fn say(&mut self, line: &str) {
        if !self.hushed {
            let _ = writeln!(self.told, "{line}");
        }
    }

    /// Goes on until nothing can go on.
    fn drive(&mut self, cancelled: bool) -> Result<(), RuntimeError> {
        let mut facts = Facts::default();
        // Whoever wrote before is gone, since one play is one process after another.
        (facts.cancelled, facts.before.gone) = (cancelled, true);
        for _ in 0..100 {
            let step = self.next(&facts)?;
            if !matches!(step, Step::Expire | Step::TellUntold | Step::LookUp(..)) {
                self.say(&format!("  {}", name_of(&step)));
            }
            match step {
                Step::Answer(answers) => {
                    let plan = calls::answer(&self.view(), answers);
                    self.record(plan)?;
                }
                Step::Gate(place, asked) => {
                    self.perform(|view, _| stage::stage_gate(view, &place, &asked))?;
                }
                Step::AskForPlan => self.perform(|view, _| propose::ask_for_plan(view))?,
                Step::AskToClose(place, close) => {
                    self.perform(|view, _| close_request::ask_to_close(view, &place, &close))?;
                }
                Step::CloseAsAsked => {
                    let (decision, _) = self.perform(close_request::close_as_asked)?;
                    if !matches!(decision.verdict(), trunkline_decision_objects::Verdict::Retry { .. }) {
                        return Ok(());
                    }
                }
                Step::ProposePlan(place, text) => {
                    self.perform(|view, asked| propose::propose_plan(view, asked, &place, &text))?;
                }
                Step::Run(running) => {
                    let attempts = self.perform(|view, asked| calls::begin(view, asked, &running))?;
                    for (call, attempt) in running.into_iter().zip(attempts) {
                        let output = self.output(&call.place, &call.tool);
                        let elapsed = Default::default();
                        let returned = Returned {
                            output,
                            pushed: Vec::new(),
                            ran: true,
                            elapsed,
                            effects: Default::default(),
                        };
                        let named = (&call.place, call.tool.as_str(), attempt);
                        let plan = calls::finish(&self.view(), named, returned)?;
                        self.record(plan)?;
                        if let Some((path, text)) = self.writes.get(&call.place.id) {
                            self.files.insert(path.clone(), text.clone());
                        }
                    }
                    self.perform(look::after)?;
                }
                Step::Resolve(place, arguments) => self.resolve(&place, &arguments, cancelled)?,
                Step::Ask(_) | Step::Stop(_) => return Ok(()),
                Step::Settle => self.perform(settle::settle)?,
                Step::Apply(id) => self.apply(id, None)?,
                Step::Check(id) => self.perform(|view, asked| apply::check(view, asked, id))?,
                Step::Approve(id) => self.perform(|view, _| decide::approve_ahead(view, id))?,
                Step::Forbid(id) => self.perform(|view, _| decide::decide_ahead(view, id))?,
                Step::GiveUp(id) => self.perform(|view, _| apply::give_up(view, id))?,
                Step::Nudge(words) => {
                    facts.nudged += 1;
                    self.perform(|view, _| open::say(view, &words))?;
                }
                Step::OpenRun => self.perform(open::begin_run)?,
                Step::Wait(until) => facts.waited = Some(until),
                Step::Request => {
                    let held = self.perform(|view, _| hold::hold(view))?;
                    let mut kept = None;
                    let rendering = Rendering::of(&mut kept, &self.setup.revert, false);
                    let prompt =
                        prompt::build(&self.state, rendering, &self.setup, held, &MessageList::new());
                    if prompt.request.tool_choice != ToolChoice::default() {
                        let _ = writeln!(self.told, "    held to {:?}", prompt.request.tool_choice);
                    }
                    self.sent = Some(prompt.request);
                    let Some(came) = self.replies.pop_front() else {
                        self.say("    the model has no more answers");
                        return Ok(());
                    };
                    let plan = reply::take_reply(&self.view(), came)?;
                    self.record(plan)??;
                }
                Step::Conclude => {
                    let commits = self.commits;
                    let found = self.perform(|view, asked| close::announce(view, asked, commits))?;
                    self.perform(|view, asked| close::conclude(view, asked, &found, (commits, None), None))?;
                    return Ok(());
                }
                Step::Expire => self.perform(|view, _| expire::expire_due(view))?,
                Step::CallHook(id) => self.call_hook(id, None)?,
                Step::TellUntold => self.perform(|view, _| open::tell_untold(view))?,
                Step::LookUp(id, sight) => self.look_up(id, sight)?,
                Step::Bind(_) | Step::AskGit => panic!("no git was given"),
                Step::Compact(_) | Step::MakeRoom(_) => panic!("no policy was given"),
                Step::ReadInbox { .. } | Step::AwaitApply(..) => panic!("nobody else is there"),
            }
        }
        panic!("no end:\n{}", self.told)
    }

    /// Returns what happens next; a fold of the whole log has to say the same.
    fn next(&mut self, facts: &Facts) -> Result<Step, RuntimeError> {
        let step = self.find_out(|view, asked| next(view, asked, facts))?;
        let mut folded = State::begin(self.log.first())?;
        if self.watches {
            folded.revert.watch(&self.setup.revert);
        }
        self.log.iter().skip(1).try_for_each(|record| folded.record(record))?;
        let shown = self.view().rendered();
        let kept = std::mem::replace(&mut self.state, folded);
        assert_eq!(shown, self.view().rendered(), "a resume shows the model something else");
        let again = self.find_out(|view, asked| next(view, asked, facts))?;
        assert_eq!(name_of(&step), name_of(&again), "a resume goes another way\n{}", self.told);
        self.state = kept;
        Ok(step)
    }

    pub(crate) fn view(&self) -> View<'_> {
        View::new(&self.state, &self.setup, Timestamp(self.now))
    }

    pub(crate) fn perform<T>(
        &mut self,
        act: impl Fn(&View<'_>, &mut Asked<'_>) -> Result<Plan<T>, Pause>,
    ) -> Result<T, RuntimeError> {
        let plan = self.find_out(act)?;
        self.record(plan)
    }

    pub(crate) fn record<T>(&mut self, plan: Plan<T>) -> Result<T, RuntimeError> {
        let mut records = plan.records;
        complete(&self.state, &self.setup, &mut records)?;
        for record in records {
            self.say(&format!("    + {}", drawn(&record)));
            self.state.record(&record)?;
            self.log.push(record);
            self.now += 1;
        }
        for told in plan.events.iter().filter_map(told_of) {
            let _ = writeln!(self.told, "    ! {told}");
        }
        Ok(plan.then)
    }
}

/// A line without what would move a cursor.
fn shown(line: &str) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    line.chars().map(escaped).collect()
}

/// Reads `2 s`, or `2 ms`.
fn milliseconds_of(text: &str) -> u64 {
    let (number, unit) = text.split_once(' ').unwrap();
    number.parse::<u64>().unwrap() * if unit == "s" { 1000 } else { 1 }
}
