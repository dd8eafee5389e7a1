//! Compares two JSON values by what they mean to a service.
//!
//! What differs in form only is said once, as a [`Rule`] with a sentence; whatever no rule explains is a difference. A
//! field that is absent and one that is null are the same everywhere, and so are `1` and `1.0`.

use serde_json::{Map, Value};

/// Why a difference in form is none in meaning, or one that is wanted.
#[derive(Clone, Copy)]
pub struct Rule {
    /// What it is about.
    pub about: About,
    /// The reason, in one sentence.
    pub sentence: &'static str,
    /// Looks at one place where the two sides differ.
    pub explain: fn(&Spot<'_>) -> Verdict,
}

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// Two forms that say the same.
    Form,
    /// We say something else on purpose, or something more.
    Choice,
    /// Our model has no word for it, and it is not sent.
    Unsaid,
}

/// A place where the two sides differ.
pub struct Spot<'a> {
    /// The place, such as `messages[].content[].text`.
    pub path: &'a str,
    /// What was recorded; null if it is not there.
    pub theirs: &'a Value,
    /// What we wrote; null if it is not there.
    pub ours: &'a Value,
    /// The whole recorded body.
    pub their_body: &'a Value,
    /// The host that was asked, or the recorder's name for the service.
    pub service: &'a str,
}

impl Spot<'_> {
    /// Whether the place is one of these; a `*` at the beginning stands for anything before.
    pub fn is(&self, places: &[&str]) -> bool {
        places.iter().any(|place| match place.strip_prefix('*') {
            Some(end) => self.path.ends_with(end),
            None => self.path == *place,
        })
    }

    /// Whether the recorded side has nothing here.
    pub fn is_added(&self) -> bool {
        self.theirs.is_null()
    }

    /// Whether our side has nothing here.
    pub fn is_missing(&self) -> bool {
        self.ours.is_null()
    }
}

/// What a rule says of a place.
pub enum Verdict {
    /// It does not explain the difference.
    No,
    /// There is no difference in meaning.
    Explained,
    /// The two sides in one form; they are compared on.
    Instead(Value, Value),
}

impl Verdict {
    /// [`Verdict::Explained`] if it holds.
    pub fn explained_if(holds: bool) -> Self {
        if holds { Verdict::Explained } else { Verdict::No }
    }
}

/// What was found between two bodies.
#[derive(Debug, Default)]
pub struct Comparison {
    /// The rules that were needed, by their number.
    pub explained: Vec<usize>,
    /// What no rule explains.
    pub differences: Vec<Difference>,
}

/// A place where the two sides say different things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The place, with the types and roles of what lies on the way.
    pub path: String,
    /// Not written, added, or changed.
    pub how: How,
    /// What was recorded and what we wrote, in short.
    pub sides: (String, String),
}

/// How two sides differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// The recorded side has it, ours does not.
    Lost,
    /// Our side has it, the recorded one does not.
    Added,
    /// Both have it, and it is not the same.
    Changed,
}

/// Compares what was recorded with what we wrote.
pub fn compare(theirs: &Value, ours: &Value, rules: &[Rule], service: &str) -> Comparison {
    let mut comparison = Comparison::default();
    let mut walk = Walk { rules, service, body: theirs, into: &mut comparison };
    walk.node(&Path::default(), theirs, ours, 0);
    comparison.explained.sort_unstable();
    comparison.explained.dedup();
    comparison
}

struct Walk<'a> {
    rules: &'a [Rule],
    service: &'a str,
    body: &'a Value,
    into: &'a mut Comparison,
}

/// A place in two spellings: one for rules, and one for people, with types and roles in it.
#[derive(Clone, Default)]
struct Path {
    plain: String,
    shown: String,
}

impl Path {
    fn field(&self, name: &str) -> Path {
        let dot = if self.plain.is_empty() { "" } else { "." };
        Path { plain: format!("{}{dot}{name}", self.plain), shown: format!("{}{dot}{name}", self.shown) }
    }

    fn element(&self, element: &Value) -> Path {
        let label = |name: &str| element[name].as_str().unwrap_or_default();
        let label = match (label("role"), label("type")) {
            ("", kind) => kind.to_owned(),
            (role, "" | "message") => role.to_owned(),
            (role, kind) => format!("{role} {kind}"),
        };
        Path { plain: format!("{}[]", self.plain), shown: format!("{}[{label}]", self.shown) }
    }
}

impl Walk<'_> {
    /// Compares two values; rules before `from` have had their turn here.
    fn node(&mut self, path: &Path, theirs: &Value, ours: &Value, from: usize) {
        if same(theirs, ours) {
            return;
        }
        for (number, rule) in self.rules.iter().enumerate().skip(from) {
            let spot = Spot { path: &path.plain, theirs, ours, their_body: self.body, service: self.service };
            match (rule.explain)(&spot) {
                Verdict::No => {}
                Verdict::Explained => return self.into.explained.push(number),
                Verdict::Instead(theirs, ours) => {
                    self.into.explained.push(number);
                    return self.node(path, &theirs, &ours, number + 1);
                }
            }
        }
        match (theirs, ours) {
            (Value::Object(theirs), Value::Object(ours)) => self.fields(path, theirs, ours),
            (Value::Array(their_list), Value::Array(our_list)) if their_list.len() == our_list.len() => {
                for (theirs, ours) in their_list.iter().zip(our_list) {
                    self.node(&path.element(theirs), theirs, ours, 0);
                }
            }
            (Value::Array(theirs), Value::Array(ours)) => {
                let sides = (shape(theirs), shape(ours));
                let how = How::Changed;
                self.into.differences.push(Difference { path: format!("{}[]", path.shown), how, sides });
            }
            _ => {
                let how = match (theirs, ours) {
                    (_, Value::Null) => How::Lost,
                    (Value::Null, _) => How::Added,
                    _ => How::Changed,
                };
                let sides = (short(theirs), short(ours));
                self.into.differences.push(Difference { path: path.shown.clone(), how, sides });
            }
        }
    }

    fn fields(&mut self, path: &Path, theirs: &Map<String, Value>, ours: &Map<String, Value>) {
        for (name, value) in theirs {
            self.node(&path.field(name), value, ours.get(name).unwrap_or(&Value::Null), 0);
        }
        for (name, value) in ours.iter().filter(|(name, _)| !theirs.contains_key(*name)) {
            self.node(&path.field(name), &Value::Null, value, 0);
        }
    }
}

/// Whether two values are the same but for the spelling of numbers and fields that are null.
pub fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        // Our model keeps such settings in single precision.
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64().zip(other.as_f64()).is_some_and(|(one, other)| near(one, other))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let covers = |one: &Map<String, Value>, other: &Map<String, Value>| {
                one.iter().all(|(name, value)| same(value, other.get(name).unwrap_or(&Value::Null)))
            };
            covers(one, other) && covers(other, one)
        }
        _ => one == other,
    }
}

fn near(one: f64, other: f64) -> bool {
    one == other || (one - other).abs() <= f64::from(f32::EPSILON) * one.abs().max(other.abs())
}

/// Returns the beginning of a value, on one line.
pub fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(70) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn shape(list: &[Value]) -> String {
    let labels: Vec<String> = list
        .iter()
        .map(|element| {
            let words = ["role", "type"].map(|name| element[name].as_str().unwrap_or_default());
            let label = words.join(" ").trim().to_owned();
            if label.is_empty() { short(element) } else { label }
        })
        .collect();
    let text = labels.join(", ");
    let text = text.char_indices().nth(160).map_or(text.as_str(), |(end, _)| &text[..end]);
    format!("{} elements: {text}", list.len())
}
