//! Gives calls names that a wire takes, the same ones every time.
//!
//! A model may call a tool that nobody has, under a name that no provider takes back. The name that is sent in its place is
//! made of the one that was written and a digest of it, never of what comes later: a list that grows keeps the names of its
//! beginning.

use super::call_ids::{digits, hash, is_written_in};
use super::noted::Noted;
use crate::{IdAlphabet, NameRule, RequestFacts, WireRules};

/// What stands before the digest where nothing of the written name can.
const STEM: &str = "tool";

/// The names given so far.
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// By the name that was written.
    given: Noted<String, String>,
    used: Noted<String, ()>,
}

impl Names {
    pub(super) fn new(goes_back: bool) -> Self {
        Names { given: Noted::new(goes_back), used: Noted::new(goes_back) }
    }

    /// Returns where it stands.
    pub(super) fn mark(&self) -> [usize; 2] {
        [self.given.mark(), self.used.mark()]
    }

    /// Forgets the names that were given since.
    pub(super) fn go_back(&mut self, [given, used]: [usize; 2]) {
        self.given.go_back(given);
        self.used.go_back(used);
    }

    /// Returns the name that is sent in place of the one that was written; nothing if that one may stay.
    pub(super) fn give(&mut self, written: &str, rules: &WireRules, facts: &RequestFacts) -> Option<String> {
        // What becomes words needs no name that the wire takes.
        let quoted = rules.tool_blocks_need_tools && facts.tools_offered == Some(false);
        if quoted || fits(written, rules, facts) {
            return None;
        }
        if let Some(given) = self.given.get(written) {
            return Some(given.clone());
        }
        // A rule set that leaves almost no names must not keep us here for ever.
        let attempts = self.used.len() as u32 + 64;
        let is_free = |name: &String| !self.used.contains(name) && !facts.tools.contains(name);
        let made = |n| derive(written, n, &rules.names);
        let given = (1..=attempts).map(made).find(is_free).unwrap_or_else(|| made(1));
        self.used.insert(given.clone(), ());
        self.given.insert(written.to_owned(), given.clone());
        Some(given)
    }
}

/// Returns whether the wire takes the name of a called tool: it looks right, or a tool is offered under it.
pub(crate) fn fits(name: &str, rules: &WireRules, facts: &RequestFacts) -> bool {
    looks_right(name, &rules.names) || (!name.is_empty() && facts.tools.iter().any(|tool| tool == name))
}

fn looks_right(name: &str, rule: &NameRule) -> bool {
    let leads = |first: &u8| !rule.leads_with_letter || first.is_ascii_alphabetic() || *first == b'_';
    name.as_bytes().first().is_some_and(leads)
        && rule.max_length.is_none_or(|most| name.len() <= most)
        && is_written_in(name, rule.alphabet)
}

/// Returns the `n`th name made from what was written: what can be kept of it, and a digest that tells it from others.
fn derive(written: &str, n: u32, rule: &NameRule) -> String {
    let digest: String = digits(hash(written, n)).chars().take(8).collect();
    let join = if rule.alphabet == IdAlphabet::Alphanumeric { "" } else { "_" };
    // Every provider takes 64, whatever more its rule gives.
    let most = rule.max_length.unwrap_or(64).min(64);
    let room = most.saturating_sub(digest.len() + join.len() + usize::from(rule.leads_with_letter));
    let sign = |sign: char| match sign {
        _ if sign.is_ascii_alphanumeric() => Some(sign),
        '_' | '-' if rule.alphabet != IdAlphabet::Alphanumeric => Some(sign),
        _ if rule.alphabet == IdAlphabet::Alphanumeric => None,
        _ => Some('_'),
    };
    let kept: String = written.chars().filter_map(sign).take(room).collect();
    let says_something = kept.bytes().any(|byte| byte.is_ascii_alphanumeric());
    let head = if says_something { kept } else { STEM.chars().take(room).collect() };
    let name = format!("{head}{join}{digest}");
    let leads = name.bytes().next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_');
    let name = if rule.leads_with_letter && !leads { format!("t{name}") } else { name };
    name.chars().take(most).collect()
}

/// Returns whether a part of a result refers to a tool that the request is known not to offer, where the wire minds.
pub(crate) fn refers_to_nothing(json: &str, rules: &WireRules, facts: &RequestFacts) -> bool {
    #[derive(serde::Deserialize)]
    struct Reference {
        #[serde(rename = "type")]
        kind: String,
        tool_name: Option<String>,
    }
    let is_known = !facts.tools.is_empty() || facts.tools_offered == Some(false);
    if !rules.references_need_tools || !is_known || !json.contains("tool_reference") {
        return false;
    }
    let Ok(part) = serde_json::from_str::<Reference>(json) else { return false };
    part.kind == "tool_reference" && part.tool_name.is_none_or(|name| !facts.tools.contains(&name))
}
