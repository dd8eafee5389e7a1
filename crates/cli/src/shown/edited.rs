//! What a person may change before they approve it: the text of a plan, or the words of a model's request to end its run.

use trunkline_runtime::{PlanText, Said};

use crate::shown::{close_request, plan};

/// A text that is approved as it is or as a person has changed it.
pub(crate) trait Edited: Sized + Clone + PartialEq + Send + 'static {
    /// What it is called where a file holds none.
    const WHAT: &'static str;
    /// Said where somebody gives one with a refusal.
    const REFUSED: &'static str;
    /// Said at the terminal where somebody asks for a rule.
    const RULE: &'static str;

    /// Returns what an editor is given.
    fn form(&self) -> String;
    /// Reads what an editor has left.
    fn read(text: &str) -> Result<Self, String>;
    /// Shows it.
    fn shown(&self, indent: &str) -> String;
    /// Approves it in place of what was proposed.
    fn approve(self, said: Said) -> Said;
}

impl Edited for PlanText {
    const WHAT: &'static str = "plan";
    const REFUSED: &'static str = "a plan that is refused needs no text; say why with --reason";
    const RULE: &'static str = "no rule approves a plan: type a for this one\n";

    fn form(&self) -> String {
        plan::to_edit(self)
    }

    fn read(text: &str) -> Result<Self, String> {
        PlanText::parse(text).map_err(|fault| fault.to_string())
    }

    fn shown(&self, indent: &str) -> String {
        plan::shown(self, indent)
    }

    fn approve(self, said: Said) -> Said {
        said.as_edited(self)
    }
}

/// The words of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words(pub(crate) String);

impl Edited for Words {
    const WHAT: &'static str = "words";
    const REFUSED: &'static str = "a request that is refused needs no words; say why with --reason";
    const RULE: &'static str = "a rule for this names the tool: `trunkline rules add allow --tool request_decision`; type a for this one\n";

    fn form(&self) -> String {
        close_request::to_edit(&self.0)
    }

    fn read(text: &str) -> Result<Self, String> {
        close_request::parsed(text).map(Words).ok_or_else(|| "it is blank".to_owned())
    }

    fn shown(&self, indent: &str) -> String {
        close_request::quoted(&self.0, indent)
    }

    fn approve(self, said: Said) -> Said {
        said.in_words(self.0)
    }
}
