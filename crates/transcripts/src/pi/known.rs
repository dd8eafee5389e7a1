//! Which types of records and fields there are.

/// What an entry says beside its own fields.
const BASE: [&str; 4] = ["type", "id", "parentId", "timestamp"];

/// Tells whether a field belongs to every entry.
fn is_base(field: &str) -> bool {
    BASE.contains(&field)
}

/// Returns the fields of an entry of a type that no other type has, if the type is known.
pub(super) fn entry(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "session" => &[
            "version",
            "cwd",
            "parentSession",
            // Version 1.
            "provider",
            "modelId",
            "thinkingLevel",
            "branchedFrom",
            // oh-my-pi.
            "title",
            "titleSource",
            "additionalDirectories",
            "previousSessionFiles",
            "providerPromptCacheKey",
        ],
        "message" => &["message"],
        "model_change" => &["provider", "modelId", "model", "role", "resolvedModelIsFallback"],
        "thinking_level_change" => &["thinkingLevel", "configured"],
        "usage" => &["kind", "provider", "model", "usage", "note"],
        "compaction" => &[
            "summary",
            "firstKeptEntryId",
            "firstKeptEntryIndex",
            "tokensBefore",
            "details",
            "usage",
            "fromHook",
            "systemMessage",
            "shortSummary",
            "tokensAfter",
            "method",
            "providerReplayThroughEntryId",
            "preserveData",
            "fromExtension",
            "warning",
        ],
        "branch_summary" => &["fromId", "summary", "details", "usage", "fromHook", "fromExtension"],
        "custom" => &["customType", "data"],
        "custom_message" => &["customType", "content", "display", "details", "attribution"],
        "context_edit" => &["targetId", "replacement"],
        "label" => &["targetId", "label"],
        "session_info" => &["name"],
        // oh-my-pi.
        "title" => &["v", "title", "source", "updatedAt", "pad"],
        "title_change" => &["title", "previousTitle", "source", "trigger"],
        "model_usage" => {
            &["purpose", "role", "api", "provider", "model", "usage", "stopReason", "errorMessage"]
        }
        "service_tier_change" => &["serviceTier"],
        "ttsr_injection" => &["injectedRules"],
        "credential_pin" => &["provider", "hash"],
        "mode_change" => &["mode", "data"],
        "reset_boundary" => &[],
        "session_init" => &[
            "systemPrompt",
            "task",
            "tools",
            "agent",
            "modelRole",
            "resolvedModel",
            "readOnly",
            "outputSchema",
            "outputSchemaMode",
            "restrictToolNames",
            "spawns",
            "readSummarize",
            "advisor",
            "compactionThreshold",
            "isolated",
        ],
        _ => return None,
    })
}

/// Returns the fields of a message of a role, if the role is known.
pub(super) fn message(role: &str) -> Option<&'static [&'static str]> {
    Some(match role {
        "user" | "developer" => &[
            "content",
            "synthetic",
            "steering",
            "userInitiated",
            "historyRewriteAt",
            "attribution",
            "providerPayload",
            // Version 1.
            "attachments",
        ],
        "assistant" => &[
            "content",
            "api",
            "provider",
            "model",
            "usage",
            "stopReason",
            "rawStopReason",
            "errorMessage",
            "responseId",
            "responseModel",
            "thinkingLevel",
            "providerThinkingLevel",
            "diagnostics",
            "deferred",
            "endTurn",
            "contextSnapshot",
            "retryRecovery",
            "upstreamProvider",
            "upstreamModel",
            "stopDetails",
            "errorClassificationMessage",
            "toolCallAbortMessages",
            "providerPayload",
            "requestControls",
            "duration",
            "ttft",
        ],
        "toolResult" => &[
            "toolCallId",
            "toolName",
            "content",
            "details",
            "isError",
            "usage",
            "nestedCalls",
            "attribution",
        ],
        "system" => &["content", "sections", "toolsAdded", "toolsRemoved"],
        "custom" | "hookMessage" => &["customType", "content", "display", "details", "attribution"],
        "bashExecution" | "pythonExecution" => &[
            "command",
            "code",
            "output",
            "exitCode",
            "cancelled",
            "truncated",
            "fullOutputPath",
            "excludeFromContext",
            "meta",
            "images",
        ],
        "fileMention" => &["files"],
        "branchSummary" | "compactionSummary" => &["summary", "fromId", "tokensBefore"],
        _ => return None,
    })
}

/// Returns the names that are neither of every entry nor among those of its type.
pub(super) fn others(names: Vec<&str>) -> impl Iterator<Item = &str> {
    names.into_iter().filter(|name| !is_base(name) && *name != "role")
}
