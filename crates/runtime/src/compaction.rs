//! Asks for a summary and puts it in the place of what it stands for.
//!
//! The summary comes first and the boundary with it, in one batch: a kill, a cancel or a failure at any moment leaves
//! either all of it or nothing.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use trunkline_session_machine::Compacted;
use trunkline_session_machine::acts::compact::{self, Made};
use trunkline_session_machine::prefixes::binds_reasoning;

use async_trait::async_trait;
use trunkline_message_tree::{Message, StopReason, Usage};
use trunkline_providers::{ErrorKind, ProviderError, Request};
use trunkline_revert::{CompactPlan, CompactPolicy};

use crate::asking_beside::ask_beside;
use crate::{Cancel, Session};
use trunkline_session_machine::rendering::Rendering;
use trunkline_session_machine::{Attempt, Event, RuntimeError, prompt};

/// When prompts are compacted, and who writes the summaries.
#[derive(Clone)]
#[non_exhaustive]
pub struct Compaction {
    /// When, and how much of the end stays as it is.
    pub policy: CompactPolicy,
    pub(crate) compactor: Option<Arc<dyn Compactor>>,
}

impl Compaction {
    /// Returns the compaction whose summaries the agent's own model writes.
    pub fn new(policy: CompactPolicy) -> Self {
        Compaction { policy, compactor: None }
    }

    /// Sets who writes the summaries.
    #[must_use]
    pub fn by(mut self, compactor: Arc<dyn Compactor>) -> Self {
        self.compactor = Some(compactor);
        self
    }
}

impl fmt::Debug for Compaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compaction").field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// Writes the summary that stands for a span of the conversation.
#[async_trait]
pub trait Compactor: Send + Sync {
    /// Returns the summary. `ask` is an instruction and the span, quoted; see [`CompactPlan::prompt`].
    ///
    /// It may be dropped at any time, when somebody cancels.
    ///
    /// # Errors
    ///
    /// Why there is none, on one line. Then nothing is compacted, and it is tried again when the prompt has grown.
    async fn summarize(&self, ask: Vec<Message>) -> Result<CompactionSummary, String>;
}

/// A summary and what it cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionSummary {
    /// The summary.
    pub text: String,
    /// What the provider counted for it. It is kept with the node and counts towards the limits of a drive.
    pub usage: Option<Usage>,
}

impl CompactionSummary {
    /// Returns a summary of which nobody counted what it cost.
    pub fn new(text: impl Into<String>) -> Self {
        CompactionSummary { text: text.into(), usage: None }
    }
}

/// Why there is no summary.
enum Unwritten {
    /// The service refused before it wrote a word.
    Refused(ProviderError),
    /// In words, and what the provider counted for the attempt.
    Told(String, Option<Usage>),
}

fn spent(usage: Option<Usage>) -> u64 {
    usage.map_or(0, |usage| usage.input_tokens.saturating_add(usage.output_tokens))
}

impl Session {
    /// Returns what [`compact`](Session::compact) would cover now; `None` if the agent does not compact, a turn is open, or
    /// there is nothing to cover.
    pub fn compaction_plan(&self) -> Option<CompactPlan> {
        compact::coverable(&self.view())
    }

    /// Compacts now, as a person, however small the prompt is.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if there is nothing to cover, no summary came, or it was cancelled: then nothing has
    /// changed; [`RuntimeError::Store`].
    pub async fn compact(&mut self, cancel: &Cancel) -> Result<Compacted, RuntimeError> {
        self.catch_up().await?;
        let inbox = self.read_inbox().await?;
        self.take_old_cancels(inbox).await?;
        let refused = |reason: String| RuntimeError::Refused { reason };
        if self.settings().setup.compaction.is_none() {
            return Err(refused("this agent does not compact; build it with `with_compaction`".to_owned()));
        }
        let Some(plan) = self.compaction_plan() else {
            let why = if self.state.open_turn().is_some() {
                "calls are open; compact when they have their results"
            } else {
                "there is nothing to compact: what stands before the newest turns is too little"
            };
            return Err(refused(why.to_owned()));
        };
        let made = self.make(plan, cancel).await;
        if let Ok(inbox) = self.look_at_inbox().await {
            self.take_old_cancels(inbox).await?;
        }
        match made?.0 {
            Made::Covered(compacted) => Ok(compacted),
            Made::Failed(reason) => Err(refused(format!("nothing was compacted: {reason}"))),
            Made::Nothing => Err(refused("nothing was compacted: it was cancelled, or overtaken".to_owned())),
        }
    }

    /// Carries out a plan of the turn machine. Returns the tokens that the summary cost.
    pub(crate) async fn compact_span(
        &mut self,
        plan: CompactPlan,
        cancel: &Cancel,
    ) -> Result<u64, RuntimeError> {
        Ok(self.make(plan, cancel).await?.1)
    }

    /// After a request that the provider refused because it was too long: compacts, so that it can be made again, or
    /// gives the fault back.
    pub(crate) async fn make_room(
        &mut self,
        fault: RuntimeError,
        cancel: &Cancel,
    ) -> Result<u64, RuntimeError> {
        let too_long = matches!(&fault, RuntimeError::Provider(fault) if fault.kind() == Some(ErrorKind::ContextTooLong));
        let Some(plan) = compact::room(&self.view()).filter(|_| too_long) else { return Err(fault) };
        match self.make(plan, cancel).await? {
            (Made::Covered(_), tokens) => Ok(tokens),
            (Made::Nothing, tokens) if cancel.is_cancelled() => Ok(tokens),
            (Made::Failed(_) | Made::Nothing, _) => Err(fault),
        }
    }

    /// After a reply that ended because the window was full: compacts, where there is anything to compact, so that the next
    /// one has room. Returns the tokens that the summary cost.
    pub(crate) async fn make_room_for_more(&mut self, cancel: &Cancel) -> Result<u64, RuntimeError> {
        match compact::room(&self.view()) {
            Some(plan) => self.compact_span(plan, cancel).await,
            None => Ok(0),
        }
    }

    /// Asks for a summary and puts it in the place of what it stands for. Returns what came of it, and the tokens that it cost.
    async fn make(&mut self, plan: CompactPlan, cancel: &Cancel) -> Result<(Made, u64), RuntimeError> {
        self.tell(&Event::Compacting(plan.clone()));
        let ask = plan.prompt(&self.state.tree);
        let summarized = loop {
            let summarized = tokio::select! {
                biased;
                () = cancel.cancelled() => return Ok((Made::Nothing, 0)),
                asked = self.asked_to_end() => {
                    asked.map_err(|by| self.lost(by))?;
                    cancel.cancel();
                    return Ok((Made::Nothing, 0));
                }
                summarized = self.summarize(ask.clone()) => summarized,
            };
            match summarized {
                Err(Unwritten::Refused(fault)) => {
                    let fault = RuntimeError::from(fault);
                    if !self.learn(&fault).await? {
                        break Err((error_line(&fault), None));
                    }
                }
                Err(Unwritten::Told(reason, usage)) => break Err((reason, usage)),
                Ok(summary) => {
                    self.on_trial.clear();
                    break Ok(summary);
                }
            }
        };
        let usage = summarized.as_ref().map_or_else(|(_, usage)| *usage, |summary| summary.usage);
        let tokens = spent(usage);
        // Whatever came meanwhile comes first: a move of the head may have left the span.
        self.take_letters(cancel).await?;
        if cancel.is_cancelled() {
            return Ok((Made::Nothing, tokens));
        }
        let summary = match &summarized {
            Ok(summary) => Ok((summary.text.as_str(), summary.usage)),
            Err((reason, _)) => Err(reason.clone()),
        };
        let plan = compact::cover(&self.view(), plan, summary)?;
        Ok((self.write(plan, None).await?, tokens))
    }

    async fn summarize(&self, ask: Vec<Message>) -> Result<CompactionSummary, Unwritten> {
        let settings = self.settings();
        match &settings.compactor {
            Some(compactor) => compactor.summarize(ask).await.map_err(|reason| Unwritten::Told(reason, None)),
            None => self.summarize_by_model(ask).await,
        }
    }

    /// Asks the model for a summary, with no tools and nothing of the conversation beside the quotation.
    async fn summarize_by_model(&self, ask: Vec<Message>) -> Result<CompactionSummary, Unwritten> {
        let settings = self.settings();
        let provider = settings.provider.as_ref();
        let mut request = Request::new(provider.origin().model.clone(), Vec::<Message>::new());
        request.max_output_tokens = Some(settings.setup.asking.max_output_tokens);
        request.extra.clone_from(&settings.setup.asking.extra);
        request.traits = self.state.wants.of(&settings.setup.model);
        prompt::fill(&mut request, ask, None, &settings.setup.model);
        let tell = |failed: u32, fault: &ProviderError, wait: Duration| {
            let attempt = Attempt::beside(self.state.tree.head(), failed, provider.origin().clone(), fault);
            self.tell(&Event::AttemptFailed { attempt, wait: Some(wait) });
        };
        let (message, usage) = match ask_beside(provider, request, settings.setup.asking.retries, tell).await
        {
            Ok(answered) => answered,
            Err((fault, _)) if fault.wants().is_some() => return Err(Unwritten::Refused(fault)),
            Err((fault, usage)) => return Err(Unwritten::Told(fault.to_string(), usage)),
        };
        let told = |reason: &str| Err(Unwritten::Told(reason.to_owned(), usage));
        match message.stop {
            // Half a summary would stand for the whole of what it leaves out.
            Some(StopReason::MaxTokens | StopReason::ContextWindow | StopReason::Cut | StopReason::Pause) => {
                told("the summary was cut off")
            }
            Some(StopReason::Refusal) => told("the model refused to write the summary"),
            _ => Ok(CompactionSummary { text: message.text(), usage }),
        }
    }

    /// Records where and why the next request does not continue the one before it, before it is sent.
    pub(crate) async fn note_break(&mut self) -> Result<(), RuntimeError> {
        let (binds, at) = (binds_reasoning(&self.state, &self.settings().setup), self.settings().now());
        let setting = &self.agent.settings.setup.revert;
        let rendering = Rendering::of(&mut self.kept.rendering, setting, binds);
        rendering.refresh(&self.state);
        let lost = rendering.live().cache_break(&self.state.tree, &self.state.revert, at);
        if let Some(lost) = lost {
            self.commit(vec![lost], None).await?;
            // Notes may go with what is lost anyway.
            let setting = &self.agent.settings.setup.revert;
            Rendering::of(&mut self.kept.rendering, setting, binds).refresh(&self.state);
        }
        let delayed = self.kept.rendering.as_ref().and_then(|kept| kept.live().delayed(&self.state.revert));
        if let Some((notes, messages)) = delayed {
            self.tell(&Event::DecayDelayed { notes, messages });
        }
        Ok(())
    }
}

/// Says what a provider said, without the layers around it.
fn error_line(fault: &RuntimeError) -> String {
    std::error::Error::source(fault).map_or_else(|| fault.to_string(), ToString::to_string)
}
