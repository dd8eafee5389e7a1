//! What a commit of a run says.
//!
//! Both parts of it are somebody else's words: they write no trailers, and nothing that a terminal obeys.

/// Writes a commit message: the prompt's first line as the subject, the model's last words as the body.
pub(crate) fn commit_message(goal: &str, answer: &str) -> String {
    let (goal, answer) = (printable(goal), printable(answer));
    let subject: String = goal.lines().next().unwrap_or("").trim().chars().take(72).collect();
    let subject = if subject.is_empty() { "Changes of an agent's run".to_owned() } else { subject };
    let body: String = answer.trim().chars().take(4000).collect();
    // A line of the model's must not be taken for a trailer, which names decisions and people. Git reads none that is indented.
    let body: Vec<String> = body
        .lines()
        .map(|line| if is_trailer(line) { format!(" {line}") } else { line.to_owned() })
        .collect();
    if body.is_empty() { subject } else { format!("{subject}\n\n{}", body.join("\n")) }
}

/// Leaves out what a terminal obeys, and what turns the direction of writing.
fn printable(text: &str) -> String {
    let turns = |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control() && !turns(*c)).collect()
}

/// Returns whether git could read a line as `Key: value`.
fn is_trailer(line: &str) -> bool {
    let key = line.split_once(':').map_or("", |(key, _)| key.trim_end());
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
