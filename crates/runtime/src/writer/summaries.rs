//! What is being asked of summarizers, and what has come of it.

use std::collections::{HashMap, VecDeque};
use std::sync::LazyLock;

use tokio::task::{Id as TaskId, JoinError, JoinSet};
use trunkline_session_machine::acts::summaries;
use trunkline_session_machine::state::rare::{Rare, Unchanged};
use trunkline_session_machine::state::revert::Part;

use trunkline_agent_traits::{Meter, SummaryError};

/// What is being asked. Dropping it stops the asking.
pub(crate) struct Summaries {
    pub(crate) asking: Rare<Asking>,
    /// The notes before this one were made by other processes.
    pub(crate) ours_from: usize,
}

#[derive(Default)]
pub(crate) struct Asking {
    pub(crate) tasks: JoinSet<Result<String, SummaryError>>,
    pub(crate) by_task: HashMap<TaskId, UnderWay>,
    /// What has come and waits for the end of a turn.
    pub(crate) came: VecDeque<Came>,
    /// What is asked, and what waits.
    pub(crate) asked: summaries::Asking,
}

/// A summary that is asked for.
pub(crate) struct UnderWay {
    pub(crate) asked: summaries::Asked,
    pub(crate) meter: Meter,
}

/// A summary that has come, or why it has not.
#[derive(Clone)]
pub(crate) struct Came {
    pub(crate) asked: summaries::Asked,
    pub(crate) answer: Result<String, String>,
}

impl Unchanged for Asking {
    fn unchanged() -> &'static Self {
        static ASKING: LazyLock<Asking> = LazyLock::new(Asking::default);
        &ASKING
    }
}

impl Summaries {
    pub(crate) fn new(part: &Part) -> Self {
        Summaries { asking: Rare::default(), ours_from: part.notes.len() }
    }

    /// Takes in what has come. Waits for nothing.
    pub(crate) fn take_ready(&mut self) {
        let Some(asking) = self.asking.changed() else { return };
        while let Some(joined) = asking.tasks.try_join_next_with_id() {
            asking.take(joined);
        }
    }
}

impl Asking {
    pub(crate) fn take(&mut self, joined: Result<(TaskId, Result<String, SummaryError>), JoinError>) {
        let (task, answer) = match joined {
            Ok((task, answer)) => (task, answer.map_err(|fault| told(&fault))),
            Err(fault) => (fault.id(), Err("the summarizer crashed".to_owned())),
        };
        if let Some(UnderWay { asked, meter }) = self.by_task.remove(&task) {
            let asked = summaries::Asked { usage: meter.counted(), ..asked };
            self.came.push_back(Came { asked, answer });
        }
    }
}

/// Returns an error with its causes, on one short line.
fn told(fault: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(fault), |fault| fault.source());
    let line = causes.map(ToString::to_string).collect::<Vec<String>>().join(": ");
    line.split_whitespace().collect::<Vec<&str>>().join(" ").chars().take(300).collect()
}
