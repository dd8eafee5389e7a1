//! What records of Codex are made of, so that what is new in a file can be told (its source, the schema that 0.171
//! prints, and files of 0.146 and 0.171, read 2026-11).

/// Fields around a payload.
pub(super) const ENVELOPE: [&str; 5] = ["timestamp", "ordinal", "type", "payload", "metadata"];

/// Fields of the header before there were envelopes.
pub(super) const OLD_HEADER: [&str; 4] = ["id", "timestamp", "instructions", "git"];

/// Types of records that say nothing to the model and are not read.
pub(super) const SILENT: [&str; 6] = [
    "world_state",
    "retained_context",
    "security_risk_score",
    "realtime_item",
    "inter_agent_communication_metadata",
    "rollout_reference",
];

/// Fields of a `session_meta`.
pub(super) const META: [&str; 32] = [
    "account_scoped",
    "agent_nickname",
    "agent_path",
    "agent_role",
    "attached_thread",
    "base_instructions",
    "cli_version",
    "context_window",
    "creator_account_id",
    "creator_user_id",
    "cwd",
    "dynamic_tools",
    "forked_from_id",
    "forked_from_ordinal_exclusive",
    "git",
    "history_base",
    "history_mode",
    "id",
    "instructions",
    "memory_mode",
    "model",
    "model_provider",
    "multi_agent_version",
    "originator",
    "parent_thread_id",
    "runtime_workspace_roots",
    "selected_capability_roots",
    "session_id",
    "source",
    "subagent_history_start_ordinal",
    "thread_source",
    "timestamp",
];

/// Fields of a `turn_context`.
pub(super) const CONTEXT: [&str; 30] = [
    "active_permission_profile",
    "approval_policy",
    "approvals_reviewer",
    "base_instructions",
    "collaboration_mode",
    "comp_hash",
    "current_date",
    "cwd",
    "cyber_access_program",
    "developer_instructions",
    "disabled_plugin_ids",
    "effort",
    "file_system_sandbox_policy",
    "final_output_json_schema",
    "model",
    "multi_agent_mode",
    "multi_agent_version",
    "network",
    "permission_profile",
    "personality",
    "realtime_active",
    "root_turn_id",
    "sandbox_policy",
    "summary",
    "timezone",
    "trace_id",
    "truncation_policy",
    "turn_id",
    "user_instructions",
    "workspace_roots",
];

/// Fields of a `compacted`.
pub(super) const COMPACTED: [&str; 13] = [
    "compaction_response_id",
    "first_window_id",
    "guardian_history",
    "latest_token_usage_record",
    "mcp_resource_origins",
    "message",
    "previous_window_id",
    "replacement_history",
    "replacement_history_metadata",
    "resume_metadata",
    "retained_context",
    "window_id",
    "window_number",
];

/// Fields of a `token_usage_record`.
pub(super) const USAGE: [&str; 8] = [
    "response_id",
    "root_turn_id",
    "session_id",
    "thread_id",
    "thread_token_usage",
    "turn_id",
    "turn_token_usage",
    "usage",
];

/// Fields of what one agent says to another.
pub(super) const INTER_AGENT: [&str; 8] = [
    "id",
    "author",
    "recipient",
    "other_recipients",
    "content",
    "encrypted_content",
    "trigger_turn",
    "internal_chat_message_metadata_passthrough",
];

/// Events that are known, read or not. Their fields are many and say nothing to the model: they are not looked at.
pub(super) const EVENTS: [&str; 53] = [
    "agent_message",
    "agent_reasoning",
    "agent_reasoning_raw_content",
    "agent_reasoning_section_break",
    "background_event",
    "collab_agent_interaction_end",
    "collab_agent_spawn_end",
    "collab_close_end",
    "collab_resume_end",
    "collab_waiting_end",
    "context_compacted",
    "deprecation_notice",
    "dynamic_tool_call_request",
    "dynamic_tool_call_response",
    "entered_review_mode",
    "environment_connected",
    "environment_disconnected",
    "error",
    "exec_command_end",
    "exited_review_mode",
    "guardian_assessment",
    "guardian_warning",
    "image_generation_end",
    "item_completed",
    "item_started",
    "mcp_tool_call_begin",
    "mcp_tool_call_end",
    "model_reroute",
    "model_verification",
    "patch_apply_begin",
    "patch_apply_end",
    "plan_update",
    "safety_buffering",
    "session_configured",
    "stream_error",
    "sub_agent_activity",
    "task_complete",
    "task_started",
    "thread_goal_updated",
    "thread_name_updated",
    "thread_queue_changed",
    "thread_rolled_back",
    "thread_settings_applied",
    "token_count",
    "turn_aborted",
    "turn_complete",
    "turn_diff",
    "turn_started",
    "undo_completed",
    "user_message",
    "view_image_tool_call",
    "warning",
    "web_search_end",
];

/// Fields that every item may have.
const OF_ALL: [&str; 7] = [
    "type",
    "id",
    "status",
    "encrypted_content",
    "internal_chat_message_metadata_passthrough",
    "metadata",
    "timestamp",
];

/// Returns the fields that an item of a type has besides those that every item may have; nothing for an unknown type.
pub(super) fn item(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "message" => &["role", "content", "phase", "end_turn"],
        "agent_message" => &["author", "recipient", "content"],
        "reasoning" => &["summary", "content"],
        "function_call" => &["name", "namespace", "arguments", "call_id", "encrypted_function_args"],
        "function_call_output" | "custom_tool_call_output" => &["call_id", "name", "namespace", "output"],
        "custom_tool_call" => &["name", "namespace", "input", "call_id"],
        "local_shell_call" => &["call_id", "action"],
        "tool_search_call" => &["call_id", "execution", "arguments"],
        "tool_search_output" => &["call_id", "execution", "tools"],
        "web_search_call" => &["action", "call_id"],
        "image_generation_call" => &["revised_prompt", "result", "call_id"],
        "compaction" | "compaction_summary" | "context_compaction" | "compaction_trigger" | "other" => &[],
        "ghost_snapshot" => &["ghost_commit"],
        "additional_tools" => &["role", "tools"],
        "configuration_update" => &["reasoning"],
        _ => return None,
    })
}

/// Returns the fields of an item that are not known.
pub(super) fn new_fields<'f>(kind: &str, names: &[&'f str]) -> Vec<&'f str> {
    let own = item(kind).unwrap_or_default();
    names.iter().filter(|name| !own.contains(name) && !OF_ALL.contains(name)).copied().collect()
}
