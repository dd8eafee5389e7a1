//! What a person said to a question.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trunkline_resolve_queue::{Rule, Verdict};

use crate::words::plan_text::PlanText;

/// What a person said to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Said {
    /// Apply or drop.
    pub verdict: Verdict,
    /// Why; may be empty. It changes nothing in what is done.
    #[serde(default)]
    pub reason: String,
    /// Who they are; may be empty. The name of the actor in the record.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What of a divisible proposal is approved; empty for all of it. The rest counts as discarded.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub only: BTreeSet<String>,
    /// What they hand to the tool beside what they were shown, for the apply or for the discard hook; part of what is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Map<String, Value>>,
    /// What they decided ahead with it, as in "apply, and always for `src/**`". Recorded in one batch with the decision,
    /// or not at all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// The text of a plan that is approved in place of the proposed one; `None` for that one. Nothing else than a plan can be
    /// approved with another text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanText>,
    /// The words with which a model's request to end its run is approved in place of its own; `None` for those. Nothing else can be
    /// approved in other words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

impl Said {
    /// Says this of all of a proposal; the reason may be empty.
    pub fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        let (only, extra, rules) = (BTreeSet::new(), None, Vec::new());
        let (plan, words) = (None, None);
        Said { verdict, reason: reason.into(), name: String::new(), only, extra, rules, plan, words }
    }

    /// Hands this to the tool.
    #[must_use]
    pub fn handing(mut self, extra: Map<String, Value>) -> Self {
        self.extra = Some(extra);
        self
    }

    /// Decides the same ahead. A rule that names nobody is given by who says this.
    #[must_use]
    pub fn giving(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Do these parts, and not the others.
    #[must_use]
    pub fn only(mut self, parts: impl IntoIterator<Item = String>) -> Self {
        self.only.extend(parts);
        self
    }

    /// Approve this text of a plan, and not the proposed one.
    #[must_use]
    pub fn as_edited(mut self, plan: PlanText) -> Self {
        self.plan = Some(plan);
        self
    }

    /// Approve a model's request to end its run, in these words and not in its own.
    #[must_use]
    pub fn in_words(mut self, words: impl Into<String>) -> Self {
        self.words = Some(words.into());
        self
    }
}
