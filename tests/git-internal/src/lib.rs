//! git-internal itself, held beside our reading of its JSON.
//!
//! A package of its own workspace, so that the hundred crates which come with git-internal stay out of everybody's
//! lockfile and out of what is published. `cargo xtask test git-internal` runs its tests, `cargo xtask bench
//! decision-objects` its measurement.

use git_internal::errors::GitError;
use git_internal::hash::ObjectHash;
use git_internal::internal::object::ObjectTrait;
use git_internal::internal::object::context::ContextSnapshot;
use git_internal::internal::object::context_frame::ContextFrame;
use git_internal::internal::object::decision::Decision;
use git_internal::internal::object::evidence::Evidence;
use git_internal::internal::object::intent::Intent;
use git_internal::internal::object::intent_event::IntentEvent;
use git_internal::internal::object::patchset::PatchSet;
use git_internal::internal::object::plan::Plan;
use git_internal::internal::object::plan_step_event::PlanStepEvent;
use git_internal::internal::object::provenance::Provenance;
use git_internal::internal::object::run::Run;
use git_internal::internal::object::run_event::RunEvent;
use git_internal::internal::object::run_usage::RunUsage;
use git_internal::internal::object::task::Task;
use git_internal::internal::object::task_event::TaskEvent;
use git_internal::internal::object::tool::ToolInvocation;
use trunkline_decision_objects::git_internal::Kind;

/// Lets git-internal read a text as an object of that kind, and returns what it writes again.
///
/// # Errors
///
/// What its reader says.
pub fn respelled(kind: Kind, json: &[u8]) -> Result<String, GitError> {
    fn through<T: ObjectTrait>(json: &[u8]) -> Result<String, GitError> {
        // The hash is not looked at.
        let data = T::from_bytes(json, ObjectHash::default())?.to_data()?;
        Ok(String::from_utf8(data).expect("JSON is UTF-8"))
    }

    match kind {
        Kind::Intent => through::<Intent>(json),
        Kind::Plan => through::<Plan>(json),
        Kind::Task => through::<Task>(json),
        Kind::Run => through::<Run>(json),
        Kind::PatchSet => through::<PatchSet>(json),
        Kind::ContextSnapshot => through::<ContextSnapshot>(json),
        Kind::Provenance => through::<Provenance>(json),
        Kind::IntentEvent => through::<IntentEvent>(json),
        Kind::TaskEvent => through::<TaskEvent>(json),
        Kind::RunEvent => through::<RunEvent>(json),
        Kind::PlanStepEvent => through::<PlanStepEvent>(json),
        Kind::RunUsage => through::<RunUsage>(json),
        Kind::ToolInvocation => through::<ToolInvocation>(json),
        Kind::Evidence => through::<Evidence>(json),
        Kind::ContextFrame => through::<ContextFrame>(json),
        Kind::Decision => through::<Decision>(json),
    }
}
