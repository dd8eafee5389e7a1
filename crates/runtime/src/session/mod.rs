//! What people may ask of a session.

pub(crate) mod agent;
pub(crate) mod children;
pub(crate) mod compaction;
pub(crate) mod opening;
pub(crate) mod view;

use crate::writer::events::Events;
use std::sync::Arc;

use trunkline_decision_objects::{Decision, DecisionId, RunId};
use trunkline_message_tree::{Message, MessageTree, Name, NameKind, Names, Naming, NodeId, ToolResult};
use trunkline_resolve_queue::{ChoiceQueue, Directive, Place, ProposalId, Rule, RuleId, Verdict};
use trunkline_revert::{CompactPlan, MergeRecord, Proposal, ProposalId as StepId};
use trunkline_session_machine::acts::decide::Decided;
use trunkline_session_machine::acts::{changes, compact, hold, roll_back as rollback};
use trunkline_session_machine::{
    CallPlace, CloseAs, Compacted, Comparison, Event, Late, RuntimeError, Said, Stop,
};
use trunkline_session_store::SessionId;

use crate::driver::bind::{catch_up, catch_up_to_close};
use crate::driver::compact::compact_now;
use crate::driver::decide::decide_all;
use crate::driver::letters::read_letters;
use crate::driver::orders::{Done, carry_out_now};
use crate::driver::rollback_order::{finish_rollback, roll_back};
use crate::driver::summaries::finish_summaries;
use crate::driver::{drive, prompt};
use crate::orders::{MoveAct, Order, Prompt, StepAnswer};
use crate::writer::Writer;
use trunkline_agent_traits::Cancel;

/// A session that is open for writing. Nobody else can write it before this is dropped, or they take it over: then
/// this one can write nothing more, and says so with [`RuntimeError::TakenOver`].
///
/// Stop a drive with its [`Cancel`], which keeps what was streamed. A future that is dropped instead loses nothing that
/// was recorded, and the session goes on from there; what was being written may need a second call, after
/// [`RuntimeError::Store`].
pub struct Session {
    pub(crate) writer: Writer,
}

impl Session {
    /// Returns the session's name.
    pub fn id(&self) -> &SessionId {
        self.writer.id()
    }

    /// Gives the model a prompt and drives the session until it stops.
    ///
    /// While calls wait for a decision, or files are being put back, the prompt waits too, in the session's inbox.
    ///
    /// A prompt is words, or parts: words with pictures and documents beside them.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use trunkline_runtime::providers::{Scripted, Turn};
    /// # use trunkline_runtime::session_store::MemoryStore;
    /// use trunkline_runtime::message_tree::{Media, MediaSource, Part};
    /// use trunkline_runtime::{Agent, Cancel};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let agent = Agent::builder(Scripted::new("scripted", "m", |_| Turn::say("A dot."))).build()?;
    /// # let mut session = agent.start(Arc::new(MemoryStore::new()), "a picture", None).await?;
    /// let picture = Media {
    ///     media_type: "image/gif".to_owned(),
    ///     source: MediaSource::Base64("R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=".to_owned()),
    /// };
    /// session.prompt(vec![Part::Image(picture), Part::text("What is this?")], &Cancel::new()).await?;
    /// # assert_eq!(session.answer(), "A dot.");
    /// # Ok(())
    /// # }
    /// ```
    ///
    ///
    /// What is shown is stored in the log, in full where it is given as bytes. A wire without a place for it is sent a line of
    /// words in its place, which is told as a repair with [`Event::Asking`].
    ///
    /// # Errors
    ///
    /// Any [`RuntimeError`]; what was recorded is kept, and [`resume`](Session::resume) goes on from there.
    pub async fn prompt(
        &mut self,
        words: impl Into<Prompt> + Send,
        cancel: &Cancel,
    ) -> Result<Stop, RuntimeError> {
        prompt(&mut self.writer, words.into(), cancel).await
    }

    /// Drives the session on from where it is until it stops.
    ///
    /// # Errors
    ///
    /// Any [`RuntimeError`]; what was recorded is kept.
    pub async fn resume(&mut self, cancel: &Cancel) -> Result<Stop, RuntimeError> {
        drive(&mut self.writer, cancel, false).await
    }

    /// Takes in the letters that others have left, as far as they can take effect now, without asking the model.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Store`] and whatever a letter's effect can fail with.
    pub async fn read_letters(&mut self) -> Result<(), RuntimeError> {
        read_letters(&mut self.writer).await
    }

    /// Carries out what somebody asks of the session, at once: the same as its letter would. What it leads to happens in the next drive,
    /// but for the discard hooks of what it has ended: it is recorded by then, they are waited for unless the [`Cancel`] of the drive before
    /// is given, and a caller that does not wait for the answer leaves them to the next drive.
    ///
    /// The methods beside this one are orders with their own answers. [`Order::Cancel`] cancels the [`Cancel`] of the drive before: a
    /// letter that cancels ends the next one.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`], [`RuntimeError::Proposal`], [`RuntimeError::Rule`], [`RuntimeError::NoOpenRun`] and
    /// [`RuntimeError::Unsettled`] if it cannot be carried out, and then nothing has changed; [`RuntimeError::Workspace`];
    /// [`RuntimeError::Verdict`]; [`RuntimeError::Store`]; [`RuntimeError::TakenOver`].
    pub async fn order(&mut self, order: Order) -> Result<Done, RuntimeError> {
        carry_out_now(&mut self.writer, order).await
    }

    /// Puts a directive of the caller's own into the tool-choice queue: what one of the next turns is held to.
    ///
    /// It is stored, and asked in the next drive, before any proposal is. What became of it is told by
    /// [`Event::Choice`](crate::Event::Choice).
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Store`]; [`RuntimeError::TakenOver`].
    pub async fn direct(&mut self, directive: Directive, place: Place) -> Result<(), RuntimeError> {
        catch_up(&mut self.writer).await?;
        let plan = hold::direct(&self.writer.view(), directive, place);
        self.writer.write(plan, None).await
    }

    /// Ends the open run as a person, with what it changed until now. Calls that have not run do not run.
    ///
    /// A run that is closed as [`CloseAs::Retry`] is followed at once by another one, whose prompt is the reason; after
    /// [`CloseAs::Checkpoint`] the next prompt, or the next [`resume`](Session::resume), begins the one that continues it.
    /// After [`CloseAs::Abandon`] nothing goes on before there is a prompt. Files are left as they are.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::NoOpenRun`]; [`RuntimeError::Unsettled`] while proposals wait to be decided or carried out;
    /// [`RuntimeError::Refused`] if nothing was said with it, or if its changes are committed already;
    /// [`RuntimeError::Workspace`] if it cannot be computed what it changed, as without the folder in which it began;
    /// [`RuntimeError::AlreadyDecided`]; [`RuntimeError::Store`]; [`RuntimeError::TakenOver`]. Then the run goes on.
    pub async fn close_run(&mut self, how: CloseAs) -> Result<Decision, RuntimeError> {
        // Which run is open is known after what was written last is.
        catch_up_to_close(&mut self.writer, &how).await?;
        let run = self.open_run().ok_or(RuntimeError::NoOpenRun)?;
        match self.order(Order::CloseRun { run, close: how }).await? {
            Done::Closed(decision) => Ok(*decision),
            other => Err(unexpected(&other)),
        }
    }

    /// Returns which files the open run has changed until now, by path; empty if that is nothing, or no run is open.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Workspace`] if that cannot be computed.
    pub async fn changed_files(&self) -> Result<Vec<String>, RuntimeError> {
        let changes = self.writer.find_out(changes::find).await?.changes;
        Ok(changes.into_iter().flat_map(|changes| changes.files).map(|file| file.path).collect())
    }

    /// Returns what [`compact`](Session::compact) would cover now; `None` if the agent does not compact, a turn is open, or
    /// there is nothing to cover.
    pub fn compaction_plan(&self) -> Option<CompactPlan> {
        compact::coverable(&self.writer.view())
    }

    /// Compacts now, as a person, however small the prompt is.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if there is nothing to cover, no summary came, or it was cancelled: then nothing has
    /// changed; [`RuntimeError::Store`].
    pub async fn compact(&mut self, cancel: &Cancel) -> Result<Compacted, RuntimeError> {
        catch_up(&mut self.writer).await?;
        compact_now(&mut self.writer, cancel).await
    }

    /// Decides on a proposal as a person. What it leads to happens in the next drive.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Proposal`] if there is no such proposal, or it was decided otherwise, or it cannot be decided now;
    /// [`RuntimeError::Refused`] for an approval of what a rule forbids, which has to be taken back first;
    /// [`RuntimeError::Store`]; [`RuntimeError::TakenOver`].
    pub async fn decide(
        &mut self,
        id: ProposalId,
        verdict: Verdict,
        reason: &str,
    ) -> Result<(), RuntimeError> {
        self.decide_with(id, Said::new(verdict, reason)).await
    }

    /// Like [`decide`](Session::decide), with all that a person can say to it.
    ///
    /// # Errors
    ///
    /// Those of [`decide`](Session::decide), also for a part that there is not; [`RuntimeError::Rule`] for a rule that
    /// was not given by a person. Then nothing of it is recorded.
    pub async fn decide_with(&mut self, id: ProposalId, said: Said) -> Result<(), RuntimeError> {
        self.order(Order::Verdict { proposal: id, said, seen: None }).await.map(drop)
    }

    /// Says the same to several proposals, in one batch: to these, or with `None` to all that wait for a decision or
    /// failed. Each gets its own result, by id; what is refused of one is no reason to refuse the others. Rules that are
    /// given with it are recorded once, if any of them was decided.
    ///
    /// # Errors
    ///
    /// Those of [`decide_with`](Session::decide_with) that are not about one proposal.
    pub async fn decide_all(
        &mut self,
        ids: Option<&[ProposalId]>,
        said: &Said,
    ) -> Result<Decided, RuntimeError> {
        catch_up(&mut self.writer).await?;
        decide_all(&mut self.writer, ids, said).await
    }

    /// Gives a rule as a person: it decides from the next step on, also on what waits.
    ///
    /// One of the scope always is the caller's to keep, in [`AgentBuilder::rules`](crate::AgentBuilder::rules): an agent that
    /// keeps rules, but not this one, drops it when it opens the session.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Rule`] unless [`Rule::given_by`] is a person; [`RuntimeError::Store`];
    /// [`RuntimeError::TakenOver`].
    pub async fn give_rule(&mut self, rule: Rule) -> Result<RuleId, RuntimeError> {
        match self.order(Order::GiveRule { rule }).await? {
            Done::RuleGiven(id) => Ok(id),
            other => Err(unexpected(&other)),
        }
    }

    /// Takes a rule back as a person. What it decided stays decided. One that the agent keeps outside of sessions does not
    /// come back into this one by itself.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Rule`] if there is no such rule or it does not count any more; [`RuntimeError::Store`];
    /// [`RuntimeError::TakenOver`].
    pub async fn revoke_rule(&mut self, id: RuleId, reason: &str) -> Result<(), RuntimeError> {
        self.order(Order::RevokeRule { rule: id, reason: reason.to_owned() }).await.map(drop)
    }

    /// Takes in what a call gave that ended outside of the loop, as of a tool that goes on in the background.
    ///
    /// `call.node` and `call.index` name the call; the ids in `call` and `result` are not looked at, because they repeat.
    /// The model is not asked: drive the session on with [`resume`](Session::resume).
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if there is no such call; [`RuntimeError::Store`].
    pub async fn late_result(&mut self, call: &CallPlace, result: ToolResult) -> Result<Late, RuntimeError> {
        match self.order(Order::LateResult { call: call.clone(), result }).await? {
            Done::Late(late) => Ok(late),
            Done::Waits => Ok(Late::Waiting),
            other => Err(unexpected(&other)),
        }
    }

    /// Puts the head on any node that stands in a conversation, as a person, with nothing to say about what is left.
    ///
    /// Where that is on a branch that was left, the model is told that the branch is back, as after an undo.
    ///
    /// Returns where the head was put: `to`, or the last result of the calls that `to` belongs to, because a conversation
    /// cannot go on between a call and its result. [`undo`](Session::undo) takes it back. While a run is open, a head that
    /// ends in words of the model is followed by words of the harness, so that the model can be asked.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if there is no such node, it was only filed under another one, its calls never got their
    /// results, or the head is there already; [`RuntimeError::Store`].
    pub async fn go(&mut self, to: NodeId) -> Result<NodeId, RuntimeError> {
        match move_head(self, MoveAct::Go { to }).await? {
            Done::Moved(to) => Ok(to),
            other => Err(unexpected(&other)),
        }
    }

    /// Merges branches into the trunk: what came of them follows the head as words of the harness.
    ///
    /// `tips` are the ends of the branches. What it would say without doing it: [`trunkline_revert::merge`] on
    /// [`tree`](Session::tree) and [`notes`](Session::notes), after [`load_whole`](Session::load_whole). Calls of an open turn that have not run do not run.
    /// [`undo`](Session::undo) takes it back together with what came after it.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] with branches that could be merged; [`RuntimeError::Store`].
    pub async fn merge(&mut self, tips: &[NodeId]) -> Result<MergeRecord, RuntimeError> {
        match move_head(self, MoveAct::Merge { tips: tips.to_vec() }).await? {
            Done::Merged(merged) => Ok(*merged),
            other => Err(unexpected(&other)),
        }
    }

    /// Gives a name to a node, or to the line that goes through it. A name that is taken moves there.
    ///
    /// A bookmark stays at its node. A branch leads to the head as long as its node is on the trunk, and then to where the
    /// head left that line.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if the text cannot be a name, as `n12`, or there is no such node; [`RuntimeError::Store`].
    pub async fn name(&mut self, name: &str, kind: NameKind, node: NodeId) -> Result<(), RuntimeError> {
        let naming = Naming { name: checked(name)?, kind, node: Some(node) };
        self.order(Order::Name { naming }).await.map(drop)
    }

    /// Says what [`rollback`](Session::rollback) would do to the files, and which of them stand in its way. Changes nothing,
    /// and can also be asked while a run is open or something waits.
    ///
    /// # Errors
    ///
    /// Those of [`rollback`](Session::rollback) that come neither of files that were changed since nor of what has to end first.
    pub async fn preview_rollback(&mut self, of: DecisionId) -> Result<Comparison, RuntimeError> {
        catch_up(&mut self.writer).await?;
        self.writer.load_whole().await?;
        self.writer.find_out(|view, asked| rollback::preview(view, asked, of)).await
    }

    /// Takes back what a decision brought about, as a person: the files that its run has changed become what they were
    /// before it, all of them or none. The conversation stays as it is; the model is told which files were restored.
    ///
    /// This is a run of its own. It is committed if the agent commits, and ends as
    /// [`Verdict::Rollback`](trunkline_decision_objects::Verdict::Rollback). One that is cut off is brought to its end when the
    /// session is opened again. The `reason` is recorded before the first file is written: it becomes the rationale of the
    /// decision, whoever brings the rollback to its end, and the model is told it.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if the reason is blank, while a run is open, if there is no such decision in this session, if it changed nothing or
    /// was rolled back already, or if it is not recorded how it left the files; [`RuntimeError::Unsettled`];
    /// [`RuntimeError::Conflicts`] if somebody has changed the files since; [`RuntimeError::Workspace`] if they cannot be
    /// read or written, and then nothing is changed or the next call of [`resume`](Session::resume) does the rest;
    /// [`RuntimeError::Store`]; [`RuntimeError::TakenOver`].
    pub async fn rollback(&mut self, of: DecisionId, reason: Option<&str>) -> Result<Decision, RuntimeError> {
        catch_up(&mut self.writer).await?;
        roll_back(&mut self.writer, of, reason).await
    }

    /// Brings a rollback that was cut off to its end, and returns how it ended; also, once, of one that ended when the
    /// session was opened. `None` if there is none. Waits for a process that may still be at it, after this one has taken the
    /// session over: at most [`APPLY_LEASE`](crate::APPLY_LEASE).
    ///
    /// It needs no model. It ends as [`Verdict::Rollback`](trunkline_decision_objects::Verdict::Rollback), or as
    /// [`Verdict::Abandon`](trunkline_decision_objects::Verdict::Abandon) if somebody has changed the files meanwhile.
    ///
    /// # Errors
    ///
    /// Those of [`rollback`](Session::rollback) that come of files or of the store; [`RuntimeError::Refused`] if somebody asks
    /// to cancel while this waits.
    pub async fn finish_rollback(&mut self) -> Result<Option<Decision>, RuntimeError> {
        catch_up(&mut self.writer).await?;
        finish_rollback(&mut self.writer).await
    }

    /// Moves the head back, as a person: prompts may be left behind, and a lesson taken along.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] with targets that would work; [`RuntimeError::Store`].
    pub async fn revert(&mut self, to: NodeId, lesson: Option<&str>) -> Result<(), RuntimeError> {
        let lesson = lesson.map(str::to_owned);
        move_head(self, MoveAct::Revert { to, lesson }).await.map(drop)
    }

    /// Takes back the latest move of the head.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if there is none; [`RuntimeError::Store`].
    pub async fn undo(&mut self) -> Result<(), RuntimeError> {
        move_head(self, MoveAct::Undo).await.map(drop)
    }

    /// Makes the latest move again that was taken back.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if there is none; [`RuntimeError::Store`].
    pub async fn redo(&mut self) -> Result<(), RuntimeError> {
        move_head(self, MoveAct::Redo).await.map(drop)
    }

    /// Answers a step back that is proposed, as a person. One that is accepted is carried out: their words may be left behind. Of one
    /// that is declined the model is not told.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if it is not open, or if it is accepted and proposes no step, or the head went elsewhere since;
    /// [`RuntimeError::Store`].
    pub async fn answer_revert(&mut self, id: StepId, answer: StepAnswer) -> Result<(), RuntimeError> {
        let expected_head = head_of(self).await?;
        self.order(Order::StepBack { proposal: id, answer, expected_head }).await.map(drop)
    }

    /// Waits for the summaries that are asked for, at most five minutes, and writes down what has come.
    ///
    /// For whoever is about to leave a session and does not want to lose them; nothing else waits for them. While calls
    /// are open they are kept back.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Store`]; [`RuntimeError::TakenOver`].
    pub async fn finish_summaries(&mut self) -> Result<(), RuntimeError> {
        catch_up(&mut self.writer).await?;
        finish_summaries(&mut self.writer).await
    }

    /// Offers to take back what an applied proposal did. Returns the proposal that would do it, which waits to be decided like
    /// any other. What wrote to the same files since and waits is put aside for it. Where a part was taken back already, it
    /// is the undo of the rest.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if it was not applied, or not here; if it did more than files show; if what it wrote over was
    /// not kept; if its tool is not there or cannot take it back; if all of it was taken back; if a rule forbids it.
    /// [`RuntimeError::Store`];
    /// [`RuntimeError::TakenOver`].
    pub async fn take_back(&mut self, id: ProposalId) -> Result<ProposalId, RuntimeError> {
        match self.order(Order::TakeBack { proposal: id }).await? {
            Done::Offered(offered) => Ok(offered),
            other => Err(unexpected(&other)),
        }
    }

    /// Reads everything that was ever recorded, if it is not in memory. Costs in proportion to the log.
    ///
    /// What needs it does so by itself: a person's moves, merges, rollbacks, undoing an edit, a verdict on a proposal that is not in
    /// memory, a late result, a summary that was lost, and the first request after a move back.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Store`] if the log cannot be read.
    pub async fn load_whole(&mut self) -> Result<(), RuntimeError> {
        self.writer.load_whole().await
    }

    /// Tells an observer what happens in this session from now on, in order, after the one that the agent was built with. It
    /// runs on the driver's own time: be quick.
    ///
    /// In place of any observer that was given here before. What happened while the session was opened only the agent's own
    /// is told.
    pub fn on_event(&mut self, observer: impl Fn(&Event) + Send + Sync + 'static) {
        self.writer.observer = Some(Arc::new(move |_, event| observer(event)));
    }

    /// Returns a stream of what happens in this session from now on, in order. It ends when the session is dropped.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use trunkline_runtime::providers::{Event as Piece, Scripted, Turn};
    /// # use trunkline_runtime::session_store::MemoryStore;
    /// use trunkline_runtime::{Agent, Cancel, Event};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let agent = Agent::builder(Scripted::new("scripted", "poet", |_| Turn::say("Roses are red."))).build()?;
    /// let mut session = agent.start(Arc::new(MemoryStore::new()), "a poem", None).await?;
    /// let mut events = session.events();
    /// let reader = tokio::spawn(async move {
    ///     let mut poem = String::new();
    ///     while let Some(told) = events.next().await {
    ///         if let Event::Stream(Piece::TextDelta(piece)) = told.event {
    ///             poem += &piece;
    ///         }
    ///     }
    ///     poem
    /// });
    /// session.prompt("a poem, please", &Cancel::new()).await?;
    /// drop(session);
    /// assert_eq!(reader.await?, "Roses are red.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn events(&self) -> Events {
        self.writer.readers.add()
    }

    /// Returns everything that was said, wherever it stands; where the session [is not whole](Session::is_whole), without the
    /// messages of branches that were left.
    pub fn tree(&self) -> &MessageTree {
        &self.writer.state.tree
    }

    /// Returns the names that nodes and branches were given.
    pub fn names(&self) -> &Names {
        &self.writer.state.names
    }

    /// Returns every merge, oldest first, also those that were undone: see
    /// [`MessageTree::is_in_force`](trunkline_message_tree::MessageTree::is_in_force) of their move.
    pub fn merges(&self) -> &[MergeRecord] {
        &self.writer.state.revert.merges
    }

    /// Returns the notes that reverts have left, oldest first.
    pub fn notes(&self) -> &[trunkline_revert::Note] {
        &self.writer.state.revert.notes
    }

    /// Returns the steps back that are proposed and that nobody has answered, oldest first.
    pub fn proposed_reverts(&self) -> impl DoubleEndedIterator<Item = &Proposal> {
        self.writer.state.revert.steps.open.open()
    }

    /// Returns the staged actions and what became of them; where the session [is not whole](Session::is_whole), without those
    /// that were settled on branches that were left.
    pub fn proposals(&self) -> &trunkline_resolve_queue::Queue<serde_json::Value> {
        &self.writer.state.resolve.queue
    }

    /// Returns the rules that were given in this session, also those that do not count any more.
    pub fn rules(&self) -> &trunkline_resolve_queue::Rules {
        &self.writer.state.resolve.rules
    }

    /// Returns what the model decided with its tool, by the place of the call, oldest first; where the session
    /// [is not whole](Session::is_whole), on the trunk.
    pub fn resolutions(
        &self,
    ) -> impl Iterator<Item = (&CallPlace, &trunkline_resolve_queue::ResolutionDetails)> {
        self.writer.state.resolve.choices.resolved()
    }

    /// Returns the verdicts of this session's runs; where the session [is not whole](Session::is_whole), only the latest and
    /// those that came since.
    pub fn decisions(&self) -> &trunkline_decision_objects::Decisions {
        &self.writer.state.decision.decisions
    }

    /// Returns the open run, if there is one.
    pub fn open_run(&self) -> Option<RunId> {
        self.writer.state.decision.run.as_ref().map(|run| run.record.id())
    }

    /// Returns the model's last words on the trunk; empty if it has said nothing.
    pub fn answer(&self) -> String {
        self.writer.state.answer()
    }

    /// Returns the trunk as the model would be sent it, before it is made legal for a wire.
    pub fn rendered(&self) -> Vec<Message> {
        self.writer.view().rendered()
    }

    /// Returns what the next turns are held to, and what was asked of earlier ones.
    pub fn choices(&self) -> ChoiceQueue {
        hold::queue(&self.writer.view())
    }

    /// Returns whether everything that was ever recorded is in memory.
    ///
    /// A long session is taken up without what it does not go on with: on branches that were left the nodes of
    /// [`tree`](Session::tree) [are bare](trunkline_message_tree::Node::is_bare), and what is settled there is not among
    /// decisions, proposals and resolutions. [`load_whole`](Session::load_whole) reads it.
    pub fn is_whole(&self) -> bool {
        self.writer.state.whole
    }
}

async fn move_head(session: &mut Session, act: MoveAct) -> Result<Done, RuntimeError> {
    let expected_head = head_of(session).await?;
    session.order(Order::Move { act, expected_head }).await
}

/// Returns the head, with what was written last if it is not known yet whether that was kept.
async fn head_of(session: &mut Session) -> Result<NodeId, RuntimeError> {
    catch_up(&mut session.writer).await?;
    Ok(session.tree().head())
}

/// What an order came to is what was asked for; should it not be, nothing is lost by saying so.
fn unexpected(done: &Done) -> RuntimeError {
    RuntimeError::Refused { reason: format!("the order was carried out otherwise: {done:?}") }
}

fn checked(name: &str) -> Result<Name, RuntimeError> {
    Name::parse(name).map_err(|fault| RuntimeError::Refused { reason: fault.to_string() })
}
