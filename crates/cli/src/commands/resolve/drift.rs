//! Whether the files are still as a proposal was computed from.
//!
//! Only looked at, and nothing is recorded: what counts is the comparison right before an apply.

use std::collections::BTreeMap;
use std::path::Path;

use trunkline_runtime::Tool;
use trunkline_runtime::resolve_queue::{ProposalId, State, SubjectState, differences};
use trunkline_session_store::SessionInfo;
use trunkline_tools::CodingTools;

use crate::reading::session::Reading;
use crate::term::text::one_line;

/// How many files are named that are not as they were.
const NAMED: usize = 8;

/// What was found of the proposals that wait, a line for each file that differs.
#[derive(Debug, Default)]
pub(super) struct Drift {
    found: BTreeMap<ProposalId, Vec<String>>,
}

impl Drift {
    /// Looks at the folder of a session, or the one that was named instead. Finds nothing where there is none.
    pub(super) async fn of(info: &SessionInfo, reading: &Reading, instead: Option<&Path>) -> Self {
        let mut drift = Drift::default();
        let waits =
            |state: State| matches!(state, State::Proposed | State::Failed | State::Approved | State::Stale);
        let waiting: Vec<_> = reading.proposals().unsettled().filter(|entry| waits(entry.state)).collect();
        let folder = instead.or(info.workspace.as_deref().map(Path::new)).filter(|folder| folder.is_dir());
        let (Some(folder), false) = (folder, waiting.is_empty()) else { return drift };
        let Ok(tools) = CodingTools::new(folder) else { return drift };
        let tools: Vec<Box<dyn Tool>> = tools.into_tools();
        for entry in waiting {
            let Some(tool) = tools.iter().find(|tool| tool.spec().name == entry.proposal.source_tool) else {
                continue;
            };
            let expected = entry.compared();
            let subjects: Vec<String> = expected.iter().map(|one| one.subject.clone()).collect();
            if subjects.is_empty() {
                continue;
            }
            let Some(executor) = tool.as_executor() else { continue };
            let observed = executor.observe(&subjects).await;
            let found: Vec<String> = differences(&expected, &observed)
                .into_iter()
                .filter_map(|differing| {
                    let named = one_line(&differing.subject, 120);
                    Some(match (&differing.expected, differing.found?) {
                        (_, SubjectState::Absent) => format!("{named} is gone since"),
                        (SubjectState::Absent, _) => format!("{named} has come into being since"),
                        _ => format!("{named} has changed since"),
                    })
                })
                .collect();
            if !found.is_empty() {
                drift.found.insert(entry.id, found);
            }
        }
        drift
    }

    /// Returns a line for each file that is not as it was, and one for the rest if there are many.
    pub(super) fn lines(&self, id: ProposalId) -> Vec<String> {
        let found = self.found.get(&id).map(Vec::as_slice).unwrap_or_default();
        let mut lines: Vec<String> = found.iter().take(NAMED).cloned().collect();
        if let Some(more) = found.len().checked_sub(NAMED).filter(|more| *more > 0) {
            lines.push(format!("… and {more} more"));
        }
        lines
    }

    /// Says the same on one line.
    pub(super) fn mark(&self, id: ProposalId) -> Option<String> {
        let found = self.found.get(&id)?;
        let first = found.first()?;
        Some(match found.len() - 1 {
            0 => first.clone(),
            more => format!("{first}, and {more} more"),
        })
    }
}
