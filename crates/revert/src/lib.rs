#![doc = include_str!("../README.md")]

mod boundary;
mod cache;
mod compact;
mod digest;
mod gist;
mod ledger;
mod live;
mod mark;
mod merge;
mod merge_refusal;
mod note;
mod observation;
mod one_line;
mod plan;
mod price;
mod proposal;
mod prune;
mod quote;
mod record;
mod refusal;
mod render;
mod request;
mod sentences;
mod stall;
mod targets;
mod tool;
mod unread;

pub use cache::{Break, BreakCause, cache_break};
pub use compact::{
    CompactPlan, CompactPolicy, PromptTokens, Uncovered, is_far_from_compaction, plan_compaction,
    plan_compaction_now, prompt_tokens, token_bytes,
};
pub use digest::Digest;
pub use ledger::{EffectClass, Effects, LastError, Ledger, LedgerEntry, Listed, Told, mechanical};
pub use live::LiveContext;
pub use mark::mark;
pub use merge::{Merge, MergeOutcome, MergeRecord, Sentence, merge};
pub use merge_refusal::{MergeReason, MergeRefusal};
pub use note::{Note, NoteKind, SummaryBy};
pub use observation::{Observation, Seen, StallEvent, Tests};
pub use plan::{Mover, Plan, Prompts, drain, plan};
pub use price::{CacheGrain, CacheMiss, Expected, Price, Rates, estimate_tokens};
pub use proposal::{
    Answer, Proposal, ProposalError, ProposalEvent, ProposalId, ProposalIdError, Proposals, Source,
};
pub use prune::{PrunePolicy, Pruned};
pub use quote::quoted;
pub use record::{Outcome, PromptCopy, Rebased, Record};
pub use refusal::{Reason, Refusal};
pub use render::{Clock, Decay, NoteState, RenderPolicy, Rendered, note_states, render, render_at, turn};
pub use request::{ArgumentError, CallPlace, Category, Request, requests};
pub use stall::{Stall, StallPolicy, Watch, Why};
pub use targets::{Target, outline, targets};
pub use tool::{
    OUTLINE_TOOL_NAME, TOOL_DESCRIPTION, TOOL_LABEL, TOOL_NAME, outline_tool_spec, tool_spec, tool_spec_for,
};
pub use unread::UnreadRequest;
