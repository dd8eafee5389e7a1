//! Drives a session by hand: no store, no network, no async. The log is a list in memory, the model and the tool are made up.

#![expect(clippy::print_stdout, reason = "an example shows something")]

use std::error::Error;

use serde_json::json;
use trunkline_message_tree::{
    Author, Content, Entry, Message, MessageTree, Origin, Role, StopReason, Timestamp, ToolCall, ToolSpec,
};
use trunkline_providers::Support;
use trunkline_session_machine::acts::asked::{Asked, find_out};
use trunkline_session_machine::acts::calls::{Returned, begin, finish};
use trunkline_session_machine::acts::close::{announce, conclude};
use trunkline_session_machine::acts::open::{begin_run, prompt};
use trunkline_session_machine::acts::plan::Plan;
use trunkline_session_machine::acts::question::{Answer, Pause, Question};
use trunkline_session_machine::acts::recorded::complete;
use trunkline_session_machine::acts::reply::{Came, take_reply};
use trunkline_session_machine::acts::settle::settle;
use trunkline_session_machine::acts::view::View;
use trunkline_session_machine::next::{Facts, Step, next};
use trunkline_session_machine::setup::{AskedModel, Setup};
use trunkline_session_machine::state::State;
use trunkline_session_machine::words::start::Start;
use trunkline_session_machine::{Access, RuntimeError, ToolOutput};
use trunkline_session_store::Record;
use uuid::Uuid;

fn main() -> Result<(), Box<dyn Error>> {
    let origin = Origin::new("made-up", "parrot");
    let mut setup = Setup::new(AskedModel::new(origin.clone(), "none", |_| Support::None));
    let spec = ToolSpec::new("read", "Reads a file", json!({ "type": "object" }));
    setup.catalogue.add(spec, Access::ReadOnly);
    setup.complete();

    let mut session = Session::begin(setup)?;
    session.perform(|view, asked| prompt(view, asked, "What is in it?"))?;
    loop {
        let step = session.find_out(|view, asked| next(view, asked, &Facts::default()))?;
        match step {
            Step::OpenRun => session.perform(begin_run)?,
            Step::Request => {
                let said = session.state.tree.trunk().ids().len();
                let mut reply = match said {
                    2 => {
                        let arguments = r#"{"path":"a.txt"}"#.to_owned();
                        let call = ToolCall {
                            id: "c1".to_owned(),
                            name: "read".to_owned(),
                            arguments,
                            signature: None,
                        };
                        Message::new(Role::Assistant, Author::Model, vec![Content::ToolCall(call)])
                    }
                    _ => Message::assistant("There is a word in it."),
                };
                (reply.origin, reply.stop) = (Some(origin.clone()), Some(StopReason::EndTurn));
                let plan = take_reply(&session.view(), Came::whole(reply))?;
                session.write(plan)??;
            }
            Step::Run(calls) => {
                session.perform(|view, asked| begin(view, asked, &calls))?;
                for call in &calls {
                    let output = ToolOutput::text("word");
                    let returned = Returned {
                        output,
                        pushed: vec![],
                        ran: true,
                        elapsed: Default::default(),
                        effects: Default::default(),
                    };
                    let plan = finish(&session.view(), (&call.place, &call.tool, None), returned)?;
                    session.write(plan)?;
                }
            }
            Step::Settle => session.perform(settle)?,
            Step::Conclude => {
                let found = session.perform(|view, asked| announce(view, asked, false))?;
                session.perform(|view, asked| conclude(view, asked, &found, (false, None), None))?;
                break;
            }
            _ => return Err("this example has no other steps".into()),
        }
    }
    println!("{}", session.state.answer());
    Ok(())
}

/// A session in memory. Its clock counts the records.
struct Session {
    state: State,
    setup: Setup,
    names: u128,
}

impl Session {
    fn begin(setup: Setup) -> Result<Self, RuntimeError> {
        let tree = MessageTree::new(Message::system("Be short."), Timestamp(0));
        let state = State::begin(Some(&Record::Entry(tree.root_entry())))?;
        Ok(Session { state, setup, names: 0 })
    }

    fn view(&self) -> View<'_> {
        View::new(&self.state, &self.setup, Timestamp(self.state.seq))
    }

    /// Asks an act until it has all answers.
    fn find_out<T>(
        &mut self,
        act: impl Fn(&View<'_>, &mut Asked<'_>) -> Result<T, Pause>,
    ) -> Result<T, RuntimeError> {
        let mut names = self.names;
        let learned = find_out(&self.view(), act, |question| {
            Ok(match question {
                Question::Calls(calls) => Answer::Calls(calls.iter().map(|_| Ok(None)).collect()),
                Question::Ids(count) => {
                    names += *count as u128;
                    let first = names - *count as u128;
                    Answer::Ids(
                        (first..names).map(|name| Uuid::from_u128((7 << 76) | (2 << 62) | name)).collect(),
                    )
                }
                Question::Start => Answer::Start(Ok(Start::default())),
                other => {
                    return Err(RuntimeError::Refused { reason: format!("not answered here: {other:?}") });
                }
            })
        });
        self.names = names;
        learned
    }

    fn perform<T>(
        &mut self,
        act: impl Fn(&View<'_>, &mut Asked<'_>) -> Result<Plan<T>, Pause>,
    ) -> Result<T, RuntimeError> {
        let plan = self.find_out(act)?;
        self.write(plan)
    }

    /// Takes in what was planned. A store would be written first.
    fn write<T>(&mut self, plan: Plan<T>) -> Result<T, RuntimeError> {
        let mut records = plan.records;
        complete(&self.state, &self.setup, &mut records)?;
        for record in &records {
            match record {
                Record::Entry(Entry::Node { id, message, .. }) => {
                    println!("{:>3} {id} {:?}: {}", self.state.seq, message.author, message.text());
                }
                Record::Entry(Entry::Move(moved)) => println!("{:>3} to {}", self.state.seq, moved.to),
                Record::Note(note) => println!("{:>3} {}/{}", self.state.seq, note.layer, note.kind),
                Record::Blob(_) => println!("{:>3} bytes", self.state.seq),
            }
            self.state.record(record)?;
        }
        Ok(plan.then)
    }
}
