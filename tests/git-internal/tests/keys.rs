//! What stands in each kind of object, read in git-internal's source.
//!
//! Written apart from the tables that our reader uses, so that one can find the other's faults.

use trunkline_decision_objects::git_internal::Kind;

/// What stands under a key.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    Uuid,
    Hash,
    ObjectHash,
    Text,
    Time,
    U8,
    U32,
    U64,
    I32,
    F64,
    /// A plain enum.
    Word(&'static [&'static str]),
    /// An enum with an untagged last variant.
    Untagged(&'static [&'static str]),
    /// An enum whose last variant carries a text.
    Tagged(&'static [&'static str]),
    Any,
    List(&'static Form),
    Struct(&'static [(&'static str, Need, Form)]),
    /// A struct that is read through `flatten`.
    Flattened(&'static [(&'static str, Need, Form)]),
}

/// Whether a key may be left out, and whether it may be `null`.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Need {
    Yes,
    Optional,
    /// A list that is left out when it is empty.
    Filled,
    /// Always written.
    Default,
}

use Form::{
    Any, F64, Flattened, Hash, I32, List, ObjectHash, Struct, Tagged, Text, Time, U8, U32, U64, Untagged,
    Uuid, Word,
};
use Need::{Default, Filled, Optional, Yes};

pub(crate) type Keys = &'static [(&'static str, Need, Form)];

const ACTOR: Keys = &[
    ("kind", Yes, Untagged(&["human", "agent", "system", "mcp_client"])),
    ("id", Yes, Text),
    ("display_name", Optional, Text),
];
const ARTIFACT: Form = Struct(&[("store", Yes, Text), ("key", Yes, Text)]);
const TYPES: Form = Word(&["decision", "intent", "blob", "offset_zstdelta", "context_snapshot", "run_usage"]);
pub(crate) const HEADER: Keys = &[
    ("object_id", Yes, Uuid),
    ("object_type", Yes, TYPES),
    ("version", Yes, U8),
    ("created_at", Yes, Time),
    ("created_by", Yes, Struct(ACTOR)),
];

pub(crate) fn keys(kind: Kind) -> Keys {
    match kind {
        Kind::Intent => &[
            ("parents", Filled, List(&Uuid)),
            ("prompt", Yes, Text),
            ("spec", Optional, Any),
            ("analysis_context_frames", Filled, List(&Uuid)),
        ],
        Kind::Plan => &[
            ("intent", Yes, Uuid),
            ("parents", Filled, List(&Uuid)),
            ("context_frames", Filled, List(&Uuid)),
            (
                "steps",
                Default,
                List(&Struct(&[
                    ("step_id", Yes, Uuid),
                    ("description", Yes, Text),
                    ("inputs", Optional, Any),
                    ("checks", Optional, Any),
                ])),
            ),
        ],
        Kind::Task => &[
            ("title", Yes, Text),
            ("description", Optional, Text),
            ("goal", Optional, Tagged(&["feature", "bugfix", "ci", "style", "perf", "chore"])),
            ("constraints", Filled, List(&Text)),
            ("acceptance_criteria", Filled, List(&Text)),
            ("requester", Optional, Struct(ACTOR)),
            ("parent", Optional, Uuid),
            ("intent", Optional, Uuid),
            ("origin_step_id", Optional, Uuid),
            ("dependencies", Filled, List(&Uuid)),
        ],
        Kind::Run => &[
            ("task", Yes, Uuid),
            ("plan", Optional, Uuid),
            ("commit", Yes, Hash),
            ("snapshot", Optional, Uuid),
            (
                "environment",
                Optional,
                Flattened(&[("os", Yes, Text), ("arch", Yes, Text), ("cwd", Yes, Text)]),
            ),
        ],
        Kind::PatchSet => &[
            ("run", Yes, Uuid),
            ("sequence", Yes, U32),
            ("commit", Yes, Hash),
            ("format", Yes, Word(&["unified_diff", "git_diff"])),
            ("artifact", Optional, ARTIFACT),
            (
                "touched",
                Default,
                List(&Struct(&[
                    ("path", Yes, Text),
                    ("change_type", Yes, Word(&["add", "modify", "delete", "rename", "copy"])),
                    ("lines_added", Yes, U32),
                    ("lines_deleted", Yes, U32),
                ])),
            ),
            ("rationale", Optional, Text),
        ],
        Kind::ContextSnapshot => &[
            ("selection_strategy", Yes, Word(&["explicit", "heuristic"])),
            (
                "items",
                Filled,
                List(&Struct(&[
                    ("kind", Yes, Tagged(&["file", "url", "snippet", "command", "image"])),
                    ("path", Yes, Text),
                    ("preview", Optional, Text),
                    ("blob", Optional, ObjectHash),
                ])),
            ),
            ("summary", Optional, Text),
        ],
        Kind::Provenance => &[
            ("run_id", Yes, Uuid),
            ("provider", Yes, Text),
            ("model", Yes, Text),
            ("parameters", Optional, Any),
            ("temperature", Optional, F64),
            ("max_tokens", Optional, U64),
        ],
        Kind::IntentEvent => &[
            ("intent_id", Yes, Uuid),
            ("kind", Yes, Untagged(&["analyzed", "completed", "cancelled"])),
            ("reason", Optional, Text),
            ("result_commit", Optional, Hash),
            ("next_intent_id", Optional, Uuid),
        ],
        Kind::TaskEvent => &[
            ("task_id", Yes, Uuid),
            ("kind", Yes, Word(&["created", "running", "blocked", "done", "failed", "cancelled"])),
            ("reason", Optional, Text),
            ("run_id", Optional, Uuid),
        ],
        Kind::RunEvent => &[
            ("run_id", Yes, Uuid),
            (
                "kind",
                Yes,
                Word(&["created", "patching", "validating", "completed", "failed", "checkpointed"]),
            ),
            ("reason", Optional, Text),
            ("error", Optional, Text),
            ("metrics", Optional, Any),
            ("patchset_id", Optional, Uuid),
        ],
        Kind::PlanStepEvent => &[
            ("plan_id", Yes, Uuid),
            ("step_id", Yes, Uuid),
            ("run_id", Yes, Uuid),
            ("status", Yes, Word(&["pending", "progressing", "completed", "failed", "skipped"])),
            ("reason", Optional, Text),
            ("consumed_frames", Filled, List(&Uuid)),
            ("produced_frames", Filled, List(&Uuid)),
            ("spawned_task_id", Optional, Uuid),
            ("outputs", Optional, Any),
        ],
        Kind::RunUsage => &[
            ("run_id", Yes, Uuid),
            ("input_tokens", Yes, U64),
            ("output_tokens", Yes, U64),
            ("total_tokens", Yes, U64),
            ("cost_usd", Optional, F64),
        ],
        Kind::ToolInvocation => &[
            ("run_id", Yes, Uuid),
            ("tool_name", Yes, Text),
            (
                "io_footprint",
                Optional,
                Struct(&[("paths_read", Filled, List(&Text)), ("paths_written", Filled, List(&Text))]),
            ),
            ("args", Default, Any),
            ("status", Yes, Word(&["ok", "error"])),
            ("result_summary", Optional, Text),
            ("artifacts", Filled, List(&ARTIFACT)),
        ],
        Kind::Evidence => &[
            ("run_id", Yes, Uuid),
            ("patchset_id", Optional, Uuid),
            ("kind", Yes, Untagged(&["test", "lint", "build"])),
            ("tool", Yes, Text),
            ("command", Optional, Text),
            ("exit_code", Optional, I32),
            ("summary", Optional, Text),
            ("report_artifacts", Filled, List(&ARTIFACT)),
        ],
        Kind::ContextFrame => &[
            ("intent_id", Optional, Uuid),
            ("run_id", Optional, Uuid),
            ("plan_id", Optional, Uuid),
            ("step_id", Optional, Uuid),
            (
                "kind",
                Yes,
                Tagged(&["intent_analysis", "step_summary", "code_change", "system_state", "tool_call"]),
            ),
            ("summary", Yes, Text),
            ("data", Optional, Any),
            ("token_estimate", Optional, U64),
        ],
        Kind::Decision => &[
            ("run_id", Yes, Uuid),
            ("decision_type", Yes, Untagged(&["commit", "checkpoint", "abandon", "retry", "rollback"])),
            ("chosen_patchset_id", Optional, Uuid),
            ("result_commit_sha", Optional, Hash),
            ("checkpoint_id", Optional, Text),
            ("rationale", Optional, Text),
        ],
    }
}
