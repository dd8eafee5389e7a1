#![doc = include_str!("../README.md")]

mod asks;
mod boundary;
mod branch_tools;
mod cache;
mod carried_words;
mod compact;
mod digest;
mod gist;
mod ledger;
mod left_out;
mod live;
mod mark;
mod merge;
mod merge_refusal;
mod note;
mod observation;
mod one_line;
mod own_branches;
mod plan;
mod price;
mod proposal;
mod prune;
mod prune_asked;
mod quote;
mod recall;
mod record;
mod refusal;
mod render;
mod request;
mod returning;
mod sentences;
mod stall;
mod targets;
mod tool;
mod unread;

pub use asks::{Ask, AskRefusal, Granted, drain_asks};
pub use branch_tools::{
    MERGE_TOOL_LABEL, MERGE_TOOL_NAME, PRUNE_TOOL_LABEL, PRUNE_TOOL_NAME, RECALL_TOOL_LABEL,
    RECALL_TOOL_NAME, RETURN_TOOL_LABEL, RETURN_TOOL_NAME, is_conversation_tool, merge_tool_spec,
    outline_tool_spec_with_branches, prune_tool_spec, recall_tool_spec, return_tool_spec,
};
pub use cache::{Break, BreakCause, cache_break, cache_break_at};
pub use compact::{
    CompactPlan, CompactPolicy, PromptTokens, Uncovered, is_far_from_compaction, plan_compaction,
    plan_compaction_now, prompt_tokens, token_bytes,
};
pub use digest::Digest;
pub use ledger::{EffectClass, Effects, LastError, Ledger, LedgerEntry, Listed, Told, mechanical};
pub use left_out::Sent;
pub use live::LiveContext;
pub use mark::mark;
pub use merge::{Merge, MergeOutcome, MergeRecord, Sentence, merge, merge_own};
pub use merge_refusal::{MergeReason, MergeRefusal, MergeRefused};
pub use note::{Note, NoteKind, SummaryBy};
pub use observation::{Observation, Seen, StallEvent, Tests};
pub use own_branches::{LeftBy, NotOwn, OwnBranches};
pub use plan::{Mover, Plan, Prompts, drain, plan};
pub use price::{CacheGrain, CacheMiss, Expected, Price, Rates, estimate_tokens};
pub use proposal::{
    Answer, Proposal, ProposalError, ProposalEvent, ProposalId, ProposalIdError, Proposals, Source,
};
pub use prune::{PrunePolicy, Pruned};
pub use prune_asked::{
    PrunePlan, PruneReason, PruneRecord, PruneRefusal, PruneRequest, Prunings, Stays, parse_branches,
    plan_pruning,
};
pub use quote::quoted;
pub use recall::{RecallReason, RecallRefusal, parse_recalled, recall};
pub use record::{Outcome, PromptCopy, Rebased, Record};
pub use refusal::{Reason, Refusal};
pub use render::{Clock, Decay, NoteState, RenderPolicy, Rendered, note_states, render, render_at, turn};
pub use request::{ArgumentError, CallPlace, Category, Request, requests};
pub use returning::{ReturnReason, ReturnRefusal, plan_return};
pub use stall::{Stall, StallPolicy, Watch, Why};
pub use targets::{Target, outline, outline_branches, targets};
pub use tool::{
    OUTLINE_TOOL_NAME, TOOL_DESCRIPTION, TOOL_LABEL, TOOL_NAME, outline_tool_spec, tool_spec, tool_spec_for,
};
pub use unread::UnreadRequest;
