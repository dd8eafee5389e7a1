//! What was found, for people: a part for each wire, and what must be looked at.

use std::collections::BTreeMap;
use std::fmt;

use super::compare::{About, Comparison, Difference, How, Rule};
use crate::recorded::Protocol;

/// What was found in a folder.
#[derive(Debug, Default)]
pub struct Report {
    /// How many files there are.
    pub files: usize,
    /// How many exchanges are in them.
    pub exchanges: usize,
    /// What could not be read at all.
    pub unread: Vec<String>,
    /// Exchanges that ask for something other than an answer to a conversation, by the shape of their path.
    pub elsewhere: BTreeMap<String, Vec<String>>,
    /// What was found of each wire.
    pub wires: BTreeMap<Protocol, WireReport>,
}

/// What was found of one wire.
#[derive(Debug, Default)]
pub struct WireReport {
    rules: Vec<(About, &'static str)>,
    /// How many exchanges there are.
    pub exchanges: usize,
    /// How many of them the service accepted.
    pub accepted: usize,
    /// Those for which we have no wire.
    pub without_wire: usize,
    /// The others, by the kind that we read from their answer and by their status.
    pub refused: BTreeMap<(String, u16), usize>,
    /// Streams that were decoded.
    pub streams: usize,
    /// Answers that came whole and were decoded.
    pub wholes: usize,
    /// The blocks that the answers fold to.
    pub blocks: BTreeMap<String, usize>,
    /// Answers that do not decode for a reason that lies with them, with what they say.
    pub not_decoded: BTreeMap<(String, String), Vec<String>>,
    /// Fields of answers that our decoder does not look at.
    pub not_taken: BTreeMap<String, Vec<String>>,
    /// Answers that we should decode and do not.
    pub failed: Vec<String>,
    /// Answers that depend on where their bytes are cut.
    pub split_differences: Vec<String>,
    /// Answers that our encoder does not send back.
    pub not_taken_back: BTreeMap<String, Vec<String>>,
    /// Requests that could not be read into our words.
    pub not_read: BTreeMap<String, Vec<String>>,
    /// Accepted requests that our encoder refuses, and whether that is meant.
    pub not_encoded: BTreeMap<(bool, String), Vec<String>>,
    /// Fields that our model has no word for and that were carried as they are.
    pub extra: BTreeMap<String, Vec<String>>,
    /// Requests that were written and compared.
    pub compared: usize,
    /// Those without any difference that needs a word.
    pub identical: usize,
    /// Those with differences in form, or that we choose.
    pub equal: usize,
    explained: BTreeMap<usize, Vec<String>>,
    differences: BTreeMap<(String, How), Vec<(String, Difference)>>,
}

impl WireReport {
    /// Returns a report that has seen nothing.
    pub fn new(rules: &[Rule]) -> Self {
        let rules = rules.iter().map(|rule| (rule.about, rule.sentence)).collect();
        WireReport { rules, ..WireReport::default() }
    }

    /// Takes in what was found between a recorded request and ours.
    pub fn compared(&mut self, place: &str, comparison: Comparison) {
        self.compared += 1;
        match (comparison.explained.is_empty(), comparison.differences.is_empty()) {
            (true, true) => self.identical += 1,
            (false, true) => self.equal += 1,
            (_, false) => {}
        }
        for number in comparison.explained {
            self.explained.entry(number).or_default().push(place.to_owned());
        }
        for difference in comparison.differences {
            let key = (difference.path.clone(), difference.how);
            self.differences.entry(key).or_default().push((place.to_owned(), difference));
        }
    }

    /// Returns how much of it must not be.
    pub fn failures(&self) -> usize {
        let unexplained: usize =
            self.not_encoded.iter().filter(|((meant, _), _)| !meant).map(|(_, places)| places.len()).sum();
        let not_read: usize = self.not_read.values().map(Vec::len).sum();
        self.failed.len() + self.split_differences.len() + self.differences.len() + unexplained + not_read
    }
}

impl Report {
    /// Returns how much must not be: nothing if all is well.
    pub fn failures(&self) -> usize {
        self.wires.values().map(WireReport::failures).sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} files, {} exchanges", self.files, self.exchanges)?;
        for unread in &self.unread {
            writeln!(f, "  not read: {unread}")?;
        }
        for (protocol, wire) in &self.wires {
            writeln!(f, "\n{}: {wire}", protocol.name())?;
        }
        let elsewhere: usize = self.elsewhere.values().map(Vec::len).sum();
        if elsewhere > 0 {
            writeln!(f, "\nnot a conversation of these wires: {elsewhere} exchanges")?;
        }
        for (shape, places) in &self.elsewhere {
            writeln!(f, "  {:>4}  {shape}  ({})", places.len(), example(places))?;
        }
        if self.wires.values().any(|wire| !wire.refused.is_empty()) {
            writeln!(f, "\n{:<20} {:>6}  {:<18} {:>5}", "refused", "status", "wire", "count")?;
        }
        for (protocol, wire) in &self.wires {
            for ((kind, status), count) in &wire.refused {
                writeln!(f, "{kind:<20} {status:>6}  {:<18} {count:>5}", protocol.name())?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for WireReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WireReport { exchanges, accepted, compared, identical, equal, .. } = self;
        writeln!(f, "{exchanges} exchanges, {accepted} accepted; {} equal", identical + equal)?;
        if self.without_wire > 0 {
            return writeln!(f, "  no wire of ours speaks it");
        }
        writeln!(
            f,
            "  answers: {} streams and {} whole ones decoded, the same under every split",
            self.streams, self.wholes
        )?;
        let blocks: Vec<String> = self.blocks.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        writeln!(f, "  folded to: {}", blocks.join(", "))?;
        if !self.not_taken.is_empty() {
            let fields: Vec<String> =
                self.not_taken.iter().map(|(name, places)| format!("{name} ({})", places.len())).collect();
            writeln!(f, "  fields of answers not looked at: {}", fields.join(", "))?;
        }
        for ((what, why), places) in &self.not_decoded {
            let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
            writeln!(f, "  not decoded: {what}{why}: {}", listed(places))?;
        }
        for (why, places) in &self.not_taken_back {
            writeln!(f, "  not taken back: {why}: {}", listed(places))?;
        }
        for failed in &self.failed {
            writeln!(f, "  FAILED to decode: {failed}")?;
        }
        for difference in &self.split_differences {
            writeln!(f, "  FAILED under a split: {difference}")?;
        }
        writeln!(
            f,
            "  requests: {compared} written and compared: {identical} are the same, {equal} mean the same, {} differ",
            compared - identical - equal
        )?;
        for ((meant, why), places) in &self.not_encoded {
            let word = if *meant { "not written" } else { "FAILED to encode" };
            writeln!(f, "  {word}: {why}: {}", listed(places))?;
        }
        for (why, places) in &self.not_read {
            writeln!(f, "  FAILED to read: {why}: {}", listed(places))?;
        }
        if !self.extra.is_empty() {
            let extra: Vec<String> =
                self.extra.iter().map(|(name, places)| format!("{name} ({})", places.len())).collect();
            writeln!(f, "  carried as extra: {}", extra.join(", "))?;
        }
        for about in [About::Form, About::Choice, About::Unsaid] {
            for (number, places) in &self.explained {
                let Some((of, sentence)) = self.rules.get(*number).filter(|(of, _)| *of == about) else {
                    continue;
                };
                let word = match of {
                    About::Form => "the same",
                    About::Choice => "our choice",
                    About::Unsaid => "NO WORD",
                };
                writeln!(f, "  {word:<10} {:>4}  {sentence}  ({})", places.len(), example(places))?;
            }
        }
        for ((path, how), found) in &self.differences {
            let Some((place, difference)) = found.first() else { continue };
            let (theirs, ours) = &difference.sides;
            let how = match how {
                How::Lost => format!("not written: {theirs}"),
                How::Added => format!("added: {ours}"),
                How::Changed => format!("{theirs} became {ours}"),
            };
            writeln!(f, "  DIFFERS    {:>4}  {path}  {how}  ({place})", found.len())?;
        }
        Ok(())
    }
}

/// A few of the places.
fn listed(places: &[String]) -> String {
    format!("{} ({})", places.len(), example(places))
}

fn example(places: &[String]) -> &str {
    places.first().map_or("", String::as_str)
}
