//! What a plan says: a title and steps, as a model proposes it and as a person writes it in an editor.
//!
//! Who approves a plan has read it, so nothing is kept in it that cannot be seen: signs that move a cursor or turn the order of
//! words are taken out before anybody is asked. The text form is read back as it was printed.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How long a title may be, in characters.
const TITLE: usize = 200;
/// How many steps a plan may have.
const STEPS: usize = 100;
/// How long a step may be, with how one sees that it is done, in characters.
const STEP: usize = 4000;
/// How long all of it may be, in characters: what nobody reads to its end nobody approves.
const WHOLE: usize = 32_000;
/// What stands before the words on how one sees that a step is done, in the text form.
const DONE_WHEN: &str = "done when:";

/// What a plan says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PlanText {
    /// What it is for, on one line.
    pub title: String,
    /// What is to be done, in order; at least one step.
    pub steps: Vec<PlanStepText>,
}

/// One step of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PlanStepText {
    /// What is to be done.
    pub text: String,
    /// How one sees that it is done, on one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_when: Option<String>,
}

/// Why a text is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanTextError {
    /// There is no title.
    #[error("the plan has no title: say on one line what it is for")]
    NoTitle,
    /// There are no steps.
    #[error("the plan has no steps: say what is to be done, one step after the other")]
    NoSteps,
    /// A step says nothing.
    #[error("step {number} of the plan says nothing")]
    EmptyStep {
        /// Which, from 1.
        number: usize,
    },
    /// Something has the wrong type, or is not known.
    #[error("{what}; a plan is {{\"title\": TEXT, \"steps\": [{{\"text\": TEXT, \"done_when\": TEXT}}, …]}}")]
    Shape {
        /// What is wrong.
        what: String,
    },
    /// A line before the first step is none.
    #[error("line {line} belongs to no step: begin each step with a number, such as `1. …`")]
    NoStep {
        /// Which, from 1.
        line: usize,
    },
    /// It is too long.
    #[error("{what} has {found} {unit}; at most {most} are allowed")]
    TooLong {
        /// What.
        what: String,
        /// How long it is.
        found: usize,
        /// In what.
        unit: &'static str,
        /// How long it may be.
        most: usize,
    },
}

impl PlanText {
    /// Begins a plan without steps.
    pub fn new(title: impl Into<String>) -> Self {
        PlanText { title: title.into(), steps: Vec::new() }
    }

    /// Adds a step.
    #[must_use]
    pub fn step(mut self, text: impl Into<String>) -> Self {
        self.steps.push(PlanStepText { text: text.into(), done_when: None });
        self
    }

    /// Says how one sees that the last step is done.
    #[must_use]
    pub fn done_when(mut self, words: impl Into<String>) -> Self {
        if let Some(step) = self.steps.last_mut() {
            step.done_when = Some(words.into());
        }
        self
    }

    /// Reads what a model wrote as the arguments of a call. A step may be a text alone.
    ///
    /// # Errors
    ///
    /// [`PlanTextError`]; each text tells a model what to write instead.
    pub fn of_arguments(arguments: &Map<String, Value>) -> Result<Self, PlanTextError> {
        let shape = |what: String| PlanTextError::Shape { what };
        if let Some(name) = arguments.keys().find(|name| !["title", "steps"].contains(&name.as_str())) {
            let name: String = name.chars().take(40).collect();
            return Err(shape(format!("a plan has no {name:?}")));
        }
        let title = match arguments.get("title") {
            None | Some(Value::Null) => return Err(PlanTextError::NoTitle),
            Some(Value::String(title)) => title.clone(),
            Some(_) => return Err(shape("the title is no text".to_owned())),
        };
        let steps = match arguments.get("steps") {
            None | Some(Value::Null) => return Err(PlanTextError::NoSteps),
            Some(Value::Array(steps)) => steps,
            Some(_) => return Err(shape("the steps are no list".to_owned())),
        };
        let read = |(number, step): (usize, &Value)| match step {
            Value::String(text) => Ok(PlanStepText { text: text.clone(), done_when: None }),
            step => PlanStepText::deserialize(step)
                .map_err(|_| shape(format!("step {number} is neither a text nor such an object"))),
        };
        let steps: Result<Vec<PlanStepText>, PlanTextError> = (1..).zip(steps).map(read).collect();
        PlanText { title, steps: steps? }.tidied()
    }

    /// Reads the text form, as a person leaves it in a file: the title on the first line, and steps that begin with a number or
    /// a dash. A line with `done when:` says how one sees that the step is done. Lines that begin with `#` are left out.
    ///
    /// # Errors
    ///
    /// [`PlanTextError`]
    pub fn parse(text: &str) -> Result<Self, PlanTextError> {
        let mut plan: Option<PlanText> = None;
        for (number, line) in (1..).zip(text.lines()) {
            let words = line.trim();
            if words.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some(plan) = &mut plan else {
                plan = Some(PlanText::new(words));
                continue;
            };
            let indented = line.len() - line.trim_start().len() > 1;
            match (begun(words), plan.steps.last_mut()) {
                (Some(first), None) => *plan = std::mem::take(plan).step(first),
                (Some(first), Some(_)) if !indented => *plan = std::mem::take(plan).step(first),
                (_, Some(step)) => {
                    step.text.push('\n');
                    step.text.push_str(words);
                }
                (None, None) => return Err(PlanTextError::NoStep { line: number }),
            }
        }
        plan.ok_or(PlanTextError::NoTitle)?.tidied()
    }

    /// Returns it without what cannot be seen and without blanks that say nothing; a line of a step with `done when:` becomes what
    /// it says.
    ///
    /// # Errors
    ///
    /// [`PlanTextError`] if it has no title or no steps, or is too long.
    pub fn tidied(self) -> Result<Self, PlanTextError> {
        // A number says more than the time that it takes to tidy up a megabyte.
        let raw = |step: &PlanStepText| step.text.len() + step.done_when.as_ref().map_or(0, String::len);
        let bytes = self.title.len() + self.steps.iter().map(raw).sum::<usize>();
        within("the plan", bytes, "bytes", WHOLE * 4)?;
        within("the plan", self.steps.len(), "steps", STEPS)?;
        // A heading of Markdown would be taken for a remark when it is read back.
        let title = on_one_line(&self.title);
        let title = title.trim_start_matches(|c| c == '#' || shapes_nothing(c)).to_owned();
        if title.is_empty() {
            return Err(PlanTextError::NoTitle);
        }
        within("the title", title.chars().count(), "characters", TITLE)?;
        if self.steps.is_empty() {
            return Err(PlanTextError::NoSteps);
        }
        let (mut steps, mut whole) = (Vec::new(), title.chars().count());
        for (number, step) in (1..).zip(self.steps) {
            let step = step.tidied().ok_or(PlanTextError::EmptyStep { number })?;
            let found = step.text.chars().count() + step.done_when.iter().flat_map(|one| one.chars()).count();
            within(&format!("step {number}"), found, "characters", STEP)?;
            whole += found;
            steps.push(step);
        }
        within("the plan", whole, "characters", WHOLE)?;
        Ok(PlanText { title, steps })
    }

    /// Returns the steps alone, numbered, in the text form.
    pub fn steps_text(&self) -> String {
        let mut text = String::new();
        for (number, step) in (1..).zip(&self.steps) {
            text.push_str(&format!("{number}. {}\n", step.text.replace('\n', "\n   ")));
            if let Some(done) = &step.done_when {
                text.push_str(&format!("   {DONE_WHEN} {done}\n"));
            }
        }
        text
    }
}

/// Prints the text form, which [`PlanText::parse`] reads.
impl fmt::Display for PlanText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n\n{}", self.title, self.steps_text())
    }
}

impl PlanStepText {
    /// Returns the step without what cannot be seen; `None` if nothing is left of it.
    fn tidied(self) -> Option<Self> {
        let (mut lines, mut done): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for line in self.text.lines() {
            let line = on_one_line(line);
            match words_of_done(&line) {
                Some(words) => done.push(words.to_owned()),
                None if line.is_empty() => {}
                None => lines.push(line),
            }
        }
        done.extend(self.done_when.map(|words| on_one_line(&words)));
        let done: Vec<&str> = done.iter().map(|one| without_done(one)).collect();
        let done = done.into_iter().filter(|one| !one.is_empty()).collect::<Vec<_>>().join(" ");
        let done_when = Some(done).filter(|done| !done.is_empty());
        (!lines.is_empty()).then(|| PlanStepText { text: lines.join("\n"), done_when })
    }
}

/// Returns what follows the words that say how a step is seen to be done, if a line begins with them.
fn words_of_done(line: &str) -> Option<&str> {
    let begins = line.get(..DONE_WHEN.len()).is_some_and(|first| first.eq_ignore_ascii_case(DONE_WHEN));
    begins.then(|| line[DONE_WHEN.len()..].trim_start_matches(shapes_nothing).trim_end())
}

/// Returns a line without such words in front, however often they stand there.
fn without_done(line: &str) -> &str {
    let mut line = line;
    while let Some(rest) = words_of_done(line) {
        line = rest;
    }
    line
}

/// Returns what a line says behind the number or the dash with which a step begins.
fn begun(line: &str) -> Option<&str> {
    let rest = match line.strip_prefix(['-', '*']) {
        Some(rest) => rest,
        None => {
            let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
            (rest.len() < line.len()).then_some(rest)?.strip_prefix(['.', ')'])?
        }
    };
    (rest.is_empty() || rest.starts_with(' ') || rest.starts_with('\t')).then(|| rest.trim())
}

/// Puts words on one line, white space folded, without signs that are not drawn and move what is. What shapes others without being
/// drawn itself stays where it does that, as in emoji and in Persian words, so that a text of such signs alone is empty.
fn on_one_line(text: &str) -> String {
    let seen = |c: char| if is_blank(c) { Some(' ') } else { (!is_hidden(c)).then_some(c) };
    let mut signs = text.chars().filter_map(seen).peekable();
    let (mut shown, mut last) = (String::new(), ' ');
    while let Some(sign) = signs.next() {
        let stays = match sign {
            _ if is_joiner(sign) => {
                let joins = signs.peek().is_some_and(|next| !shapes_nothing(*next));
                joins && last != ' ' && !is_joiner(last)
            }
            '\u{e0100}'..='\u{e01ef}' => is_ideograph(last),
            _ => !is_selector(sign) || !shapes_nothing(last),
        };
        if stays {
            shown.push(sign);
            last = sign;
        }
    }
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether a sign is drawn as nothing but room: white space, the fillers of Hangul, the empty pattern of Braille.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}')
}

/// Returns whether a sign is not drawn: controls, marks of direction, blanks without width (UAX #9), and what else is passed over where it
/// is not known (`Default_Ignorable_Code_Point`, Unicode 16), but for joiners and selectors.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}')
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}')
        || matches!(c, '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}')
}

/// Returns whether a sign joins the two beside it, or keeps them apart.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Returns whether a sign chooses the form of the one before it.
fn is_selector(c: char) -> bool {
    matches!(c, '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Returns whether a sign is neither drawn nor one that shapes anything where it comes first.
fn shapes_nothing(c: char) -> bool {
    is_blank(c) || is_joiner(c) || is_selector(c)
}

/// Returns whether a sign is one of those that have variants in the Ideographic Variation Database.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3fffd}')
}

fn within(what: &str, found: usize, unit: &'static str, most: usize) -> Result<(), PlanTextError> {
    match found <= most {
        true => Ok(()),
        false => Err(PlanTextError::TooLong { what: what.to_owned(), found, unit, most }),
    }
}
