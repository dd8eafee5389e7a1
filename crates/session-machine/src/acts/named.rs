//! Names that a model or a tool chose, for a line of words of the harness.

/// How many subjects of a part are named, and how much of each, in characters.
const NAMES: usize = 20;
const NAME: usize = 200;

/// Names some subjects, in one line.
pub(crate) fn named<'a>(subjects: impl Iterator<Item = &'a str>) -> String {
    let plain = |subject: &str| subject.chars().filter(|c| !c.is_control()).take(NAME).collect::<String>();
    let mut names: Vec<String> = subjects.take(NAMES + 1).map(plain).collect();
    if names.len() > NAMES {
        names.truncate(NAMES);
        names.push("and more".to_owned());
    }
    names.join(", ")
}

/// Returns a name that a model or a tool chose, for a line of words of the harness.
pub(crate) fn on_one_line(name: &str) -> String {
    const MOST: usize = 200;
    let line: String = name.chars().take(MOST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if name.chars().nth(MOST).is_some() { format!("{line}…") } else { line }
}
