//! git-internal's sixteen AI objects as tables: keys in the order in which they are written, and what may stand there.
//!
//! Read in the source of 0.10.4 (2026-11); those of 0.8 are the same. Its documentation differs in places
//! (`Plan.intent_id`, `Run.task_id`, `Decision.chosen_patchset`); what stands here is what is written.

use std::fmt;

/// Which of git-internal's AI objects a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "these are all that 0.8 to 0.10 have; whoever converts must know each"
)]
pub enum Kind {
    /// A request, one revision of it.
    Intent,
    /// A plan, one revision of it.
    Plan,
    /// A piece of work.
    Task,
    /// An attempt at a task.
    Run,
    /// The changes of a run.
    PatchSet,
    /// What a model was shown.
    ContextSnapshot,
    /// Which model made a run, and how it was set.
    Provenance,
    /// Something that happened to an intent.
    IntentEvent,
    /// Something that happened to a task.
    TaskEvent,
    /// Something that happened to a run.
    RunEvent,
    /// Something that happened to a step of a plan.
    PlanStepEvent,
    /// The tokens of a run.
    RunUsage,
    /// One call of a tool.
    ToolInvocation,
    /// A finding.
    Evidence,
    /// A piece of context.
    ContextFrame,
    /// The verdict on a run.
    Decision,
}

impl Kind {
    /// All of them: snapshots first, then events.
    pub const ALL: [Self; 16] = [
        Self::Intent,
        Self::Plan,
        Self::Task,
        Self::Run,
        Self::PatchSet,
        Self::ContextSnapshot,
        Self::Provenance,
        Self::IntentEvent,
        Self::TaskEvent,
        Self::RunEvent,
        Self::PlanStepEvent,
        Self::RunUsage,
        Self::ToolInvocation,
        Self::Evidence,
        Self::ContextFrame,
        Self::Decision,
    ];

    /// The word that stands in `object_type`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Plan => "plan",
            Self::Task => "task",
            Self::Run => "run",
            Self::PatchSet => "patch_set",
            Self::ContextSnapshot => "context_snapshot",
            Self::Provenance => "provenance",
            Self::IntentEvent => "intent_event",
            Self::TaskEvent => "task_event",
            Self::RunEvent => "run_event",
            Self::PlanStepEvent => "plan_step_event",
            Self::RunUsage => "run_usage",
            Self::ToolInvocation => "tool_invocation",
            Self::Evidence => "evidence",
            Self::ContextFrame => "context_frame",
            Self::Decision => "decision",
        }
    }

    /// The word that goes into the object hash, and into paths: another one for three of them. No JSON holds it.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::ContextSnapshot => "snapshot",
            Self::PatchSet => "patchset",
            Self::ToolInvocation => "invocation",
            same => same.as_str(),
        }
    }

    pub(super) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// The fields after the header.
    pub(super) const fn fields(self) -> &'static [Field] {
        match self {
            Self::Intent => INTENT,
            Self::Plan => PLAN,
            Self::Task => TASK,
            Self::Run => RUN,
            Self::PatchSet => PATCH_SET,
            Self::ContextSnapshot => CONTEXT_SNAPSHOT,
            Self::Provenance => PROVENANCE,
            Self::IntentEvent => INTENT_EVENT,
            Self::TaskEvent => TASK_EVENT,
            Self::RunEvent => RUN_EVENT,
            Self::PlanStepEvent => PLAN_STEP_EVENT,
            Self::RunUsage => RUN_USAGE,
            Self::ToolInvocation => TOOL_INVOCATION,
            Self::Evidence => EVIDENCE,
            Self::ContextFrame => CONTEXT_FRAME,
            Self::Decision => DECISION,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One key of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) key: &'static str,
    pub(super) shape: Shape,
    pub(super) presence: Presence,
}

/// When a key is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// Always.
    Required,
    /// Left out when there is nothing; `null` is read as nothing.
    Optional,
    /// A list that is left out when it is empty; `null` is no list.
    Filled,
    /// Always written; an absent one is read as the empty list or `null`.
    Defaulted,
}

/// What may stand under a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Uuid,
    /// Always 64 digits, whatever the repository's object format is.
    Hash,
    /// `{"Sha1":[…]}`, `{"Sha256":[…]}` or `{"Blake3":[…]}` with the bytes as numbers.
    ObjectHash,
    Text,
    Time,
    /// A whole number from 0 to the given one.
    Unsigned(u64, &'static str),
    /// A whole number of 32 bits.
    Signed,
    Float,
    /// One of these words and nothing else.
    Word(&'static [&'static str], &'static str),
    /// The same in a header. Those of a header are read by way of a buffer, which takes `{"intent":{}}` too.
    HeaderWord(&'static [&'static str], &'static str),
    /// One of these words, or any other text, written the same way.
    OpenWord(&'static [&'static str]),
    /// One of these words, or any text as `{"other":"x"}`.
    TaggedWord(&'static [&'static str], &'static str),
    /// Any JSON, with so many objects and arrays around it.
    Json(usize),
    List(&'static Shape),
    Record(&'static [Field]),
    /// A record that is written with further keys; its own reader refuses those.
    OpenRecord(&'static [Field]),
}

const fn required(key: &'static str, shape: Shape) -> Field {
    Field { key, shape, presence: Presence::Required }
}

const fn optional(key: &'static str, shape: Shape) -> Field {
    Field { key, shape, presence: Presence::Optional }
}

const fn filled(key: &'static str, shape: &'static Shape) -> Field {
    Field { key, shape: Shape::List(shape), presence: Presence::Filled }
}

const fn defaulted(key: &'static str, shape: Shape) -> Field {
    Field { key, shape, presence: Presence::Defaulted }
}

const U8: Shape = Shape::Unsigned(u8::MAX as u64, "a whole number from 0 to 255");
const U32: Shape = Shape::Unsigned(u32::MAX as u64, "a whole number from 0 to 4294967295");
const U64: Shape = Shape::Unsigned(u64::MAX, "a whole number from 0 to 18446744073709551615");

pub(super) const ACTOR: &[Field] = &[
    required("kind", Shape::OpenWord(&["human", "agent", "system", "mcp_client"])),
    required("id", Shape::Text),
    optional("display_name", Shape::Text),
];

/// What every object says first.
pub(super) const HEADER: &[Field] = &[
    required("object_id", Shape::Uuid),
    required("object_type", OBJECT_TYPE),
    required("version", U8),
    required("created_at", Shape::Time),
    required("created_by", Shape::Record(ACTOR)),
];

const OBJECT_TYPE: Shape = Shape::HeaderWord(
    &[
        "decision",
        "commit",
        "tree",
        "blob",
        "tag",
        "offset_zstdelta",
        "offset_delta",
        "hash_delta",
        "context_snapshot",
        "evidence",
        "patch_set",
        "plan",
        "provenance",
        "run",
        "task",
        "intent",
        "tool_invocation",
        "context_frame",
        "intent_event",
        "task_event",
        "run_event",
        "plan_step_event",
        "run_usage",
    ],
    "one of git-internal's 23 object types",
);

const ARTIFACT: &[Field] = &[required("store", Shape::Text), required("key", Shape::Text)];

const INTENT: &[Field] = &[
    filled("parents", &Shape::Uuid),
    required("prompt", Shape::Text),
    optional("spec", Shape::Json(1)),
    filled("analysis_context_frames", &Shape::Uuid),
];

const PLAN: &[Field] = &[
    required("intent", Shape::Uuid),
    filled("parents", &Shape::Uuid),
    filled("context_frames", &Shape::Uuid),
    defaulted(
        "steps",
        Shape::List(&Shape::Record(&[
            required("step_id", Shape::Uuid),
            required("description", Shape::Text),
            optional("inputs", Shape::Json(3)),
            optional("checks", Shape::Json(3)),
        ])),
    ),
];

pub(super) const GOALS: &[&str] =
    &["feature", "bugfix", "refactor", "docs", "perf", "test", "chore", "build", "ci", "style"];

const TASK: &[Field] = &[
    required("title", Shape::Text),
    optional("description", Shape::Text),
    optional(
        "goal",
        Shape::TaggedWord(
            GOALS,
            "feature, bugfix, refactor, docs, perf, test, chore, build, ci, style or {\"other\": …}",
        ),
    ),
    filled("constraints", &Shape::Text),
    filled("acceptance_criteria", &Shape::Text),
    optional("requester", Shape::Record(ACTOR)),
    optional("parent", Shape::Uuid),
    optional("intent", Shape::Uuid),
    optional("origin_step_id", Shape::Uuid),
    filled("dependencies", &Shape::Uuid),
];

const RUN: &[Field] = &[
    required("task", Shape::Uuid),
    optional("plan", Shape::Uuid),
    required("commit", Shape::Hash),
    optional("snapshot", Shape::Uuid),
    optional(
        "environment",
        Shape::OpenRecord(&[
            required("os", Shape::Text),
            required("arch", Shape::Text),
            required("cwd", Shape::Text),
        ]),
    ),
];

const PATCH_SET: &[Field] = &[
    required("run", Shape::Uuid),
    required("sequence", U32),
    required("commit", Shape::Hash),
    required("format", Shape::Word(&["unified_diff", "git_diff"], "unified_diff or git_diff")),
    optional("artifact", Shape::Record(ARTIFACT)),
    defaulted(
        "touched",
        Shape::List(&Shape::Record(&[
            required("path", Shape::Text),
            required(
                "change_type",
                Shape::Word(
                    &["add", "modify", "delete", "rename", "copy"],
                    "add, modify, delete, rename or copy",
                ),
            ),
            required("lines_added", U32),
            required("lines_deleted", U32),
        ])),
    ),
    optional("rationale", Shape::Text),
];

const CONTEXT_SNAPSHOT: &[Field] = &[
    required("selection_strategy", Shape::Word(&["explicit", "heuristic"], "explicit or heuristic")),
    filled(
        "items",
        &Shape::Record(&[
            required(
                "kind",
                Shape::TaggedWord(
                    &["file", "url", "snippet", "command", "image"],
                    "file, url, snippet, command, image or {\"other\": …}",
                ),
            ),
            required("path", Shape::Text),
            optional("preview", Shape::Text),
            optional("blob", Shape::ObjectHash),
        ]),
    ),
    optional("summary", Shape::Text),
];

const PROVENANCE: &[Field] = &[
    required("run_id", Shape::Uuid),
    required("provider", Shape::Text),
    required("model", Shape::Text),
    optional("parameters", Shape::Json(1)),
    optional("temperature", Shape::Float),
    optional("max_tokens", U64),
];

const INTENT_EVENT: &[Field] = &[
    required("intent_id", Shape::Uuid),
    required("kind", Shape::OpenWord(&["analyzed", "completed", "cancelled"])),
    optional("reason", Shape::Text),
    optional("result_commit", Shape::Hash),
    optional("next_intent_id", Shape::Uuid),
];

const TASK_EVENT: &[Field] = &[
    required("task_id", Shape::Uuid),
    required(
        "kind",
        Shape::Word(
            &["created", "running", "blocked", "done", "failed", "cancelled"],
            "created, running, blocked, done, failed or cancelled",
        ),
    ),
    optional("reason", Shape::Text),
    optional("run_id", Shape::Uuid),
];

const RUN_EVENT: &[Field] = &[
    required("run_id", Shape::Uuid),
    required(
        "kind",
        Shape::Word(
            &["created", "patching", "validating", "completed", "failed", "checkpointed"],
            "created, patching, validating, completed, failed or checkpointed",
        ),
    ),
    optional("reason", Shape::Text),
    optional("error", Shape::Text),
    optional("metrics", Shape::Json(1)),
    optional("patchset_id", Shape::Uuid),
];

const PLAN_STEP_EVENT: &[Field] = &[
    required("plan_id", Shape::Uuid),
    required("step_id", Shape::Uuid),
    required("run_id", Shape::Uuid),
    required(
        "status",
        Shape::Word(
            &["pending", "progressing", "completed", "failed", "skipped"],
            "pending, progressing, completed, failed or skipped",
        ),
    ),
    optional("reason", Shape::Text),
    filled("consumed_frames", &Shape::Uuid),
    filled("produced_frames", &Shape::Uuid),
    optional("spawned_task_id", Shape::Uuid),
    optional("outputs", Shape::Json(1)),
];

const RUN_USAGE: &[Field] = &[
    required("run_id", Shape::Uuid),
    required("input_tokens", U64),
    required("output_tokens", U64),
    required("total_tokens", U64),
    optional("cost_usd", Shape::Float),
];

const TOOL_INVOCATION: &[Field] = &[
    required("run_id", Shape::Uuid),
    required("tool_name", Shape::Text),
    optional(
        "io_footprint",
        Shape::Record(&[filled("paths_read", &Shape::Text), filled("paths_written", &Shape::Text)]),
    ),
    defaulted("args", Shape::Json(1)),
    required("status", Shape::Word(&["ok", "error"], "ok or error")),
    optional("result_summary", Shape::Text),
    filled("artifacts", &Shape::Record(ARTIFACT)),
];

const EVIDENCE: &[Field] = &[
    required("run_id", Shape::Uuid),
    optional("patchset_id", Shape::Uuid),
    required("kind", Shape::OpenWord(&["test", "lint", "build"])),
    required("tool", Shape::Text),
    optional("command", Shape::Text),
    optional("exit_code", Shape::Signed),
    optional("summary", Shape::Text),
    filled("report_artifacts", &Shape::Record(ARTIFACT)),
];

const CONTEXT_FRAME: &[Field] = &[
    optional("intent_id", Shape::Uuid),
    optional("run_id", Shape::Uuid),
    optional("plan_id", Shape::Uuid),
    optional("step_id", Shape::Uuid),
    required(
        "kind",
        Shape::TaggedWord(
            &[
                "intent_analysis",
                "step_summary",
                "code_change",
                "system_state",
                "error_recovery",
                "checkpoint",
                "tool_call",
            ],
            "intent_analysis, step_summary, code_change, system_state, error_recovery, checkpoint, tool_call or \
             {\"other\": …}",
        ),
    ),
    required("summary", Shape::Text),
    optional("data", Shape::Json(1)),
    optional("token_estimate", U64),
];

const DECISION: &[Field] = &[
    required("run_id", Shape::Uuid),
    required("decision_type", Shape::OpenWord(&["commit", "checkpoint", "abandon", "retry", "rollback"])),
    optional("chosen_patchset_id", Shape::Uuid),
    optional("result_commit_sha", Shape::Hash),
    optional("checkpoint_id", Shape::Text),
    optional("rationale", Shape::Text),
];
