//! A demo played again: the part of its model, for `demo`, which begins one, and `resume`, which takes one up.
//!
//! The session says that it is one by its instructions, and the folder by a mark.

pub(crate) mod paced;
pub(crate) mod project;
pub(crate) mod script;

use std::path::Path;
use std::time::Duration;

use trunkline_message_tree::NodeId;
use trunkline_providers::{Provider, Scripted};

use self::paced::Paced;
use crate::args::terms::{Policy, Terms};
use crate::reading::session::Reading;

/// A file in the demo's repository, where git does not look, that names it as ours.
pub(crate) const MARK: &str = ".git/trunkline-demo";
pub(crate) const WORDS: &str = "the demo's scripted model";
const PAUSE: Duration = Duration::from_millis(15);

/// What a demo is taken up with.
pub(crate) struct Part {
    /// The model.
    pub(crate) provider: Box<dyn Provider>,
    /// The terms it runs under.
    pub(crate) terms: Terms,
    /// What the model has yet to be told, if the demo was killed before it could.
    pub(crate) prompt: Option<&'static str>,
    /// Who the model is, for people.
    pub(crate) words: &'static str,
}

/// Returns what a session that the demo began is taken up with; `None` for all others.
///
/// Both have to say so: the session by its instructions, the folder by its mark. A task of a person's own in the demo's
/// folder is no demo, and a file that was imported cannot make one of a folder.
pub(crate) fn part_of(session: &Reading) -> Option<Part> {
    let workspace = session.info.workspace.as_deref()?;
    let instructions = session.tree().node(NodeId::ROOT).ok()?.message().text();
    if instructions != script::INSTRUCTIONS || !Path::new(workspace).join(MARK).is_file() {
        return None;
    }
    let prompt = (session.info.nodes == 1).then_some(script::PROMPT);
    Some(Part { provider: scripted(PAUSE), terms: terms(), prompt, words: WORDS })
}

/// Returns what a demo runs under: its model decides, and its run ends in a commit.
pub(crate) fn terms() -> Terms {
    Terms { policy: Some(Policy::Model), commit: true, ..Terms::default() }
}

/// Returns the model, which pauses before each piece.
pub(crate) fn scripted(pause: Duration) -> Box<dyn Provider> {
    Box::new(Paced { script: Scripted::new("scripted", "demo", script::answer), pause })
}
