//! Reads links out of Markdown and follows those that stay in the repository.
//!
//! Headings become anchors as GitHub makes them, which is where these pages are read.

use std::collections::BTreeMap;

/// A link as written.
#[derive(Debug, PartialEq)]
pub(crate) struct Link {
    /// The line, counted from 0.
    pub(crate) line: usize,
    /// What stands between the brackets, without a title.
    pub(crate) target: String,
}

/// Lists the links of a page: `[text](target)`, and definitions `[name]: target`. Code is not searched.
pub(crate) fn of(page: &str) -> Vec<Link> {
    let mut links = Vec::new();
    for (line, text) in prose(page) {
        let text = without_code(text);
        for part in text.split("](").skip(1) {
            let end = closing_bracket(part);
            push(&mut links, line, &part[..end]);
        }
        if let Some(definition) = text.trim_start().strip_prefix('[')
            && let Some((name, target)) = definition.split_once("]: ")
            && !name.contains(']')
        {
            push(&mut links, line, target);
        }
    }
    links
}

fn push(links: &mut Vec<Link>, line: usize, target: &str) {
    // A title may follow: `[text](target "title")`.
    let target = target.split_whitespace().next().unwrap_or_default().trim_matches(['<', '>']);
    links.push(Link { line, target: target.to_owned() });
}

/// Follows a link from the page at `from`. Links that leave the repository, and paths of Rust items, are not followed.
///
/// `files` is sorted, as git lists it.
pub(crate) fn follow(
    from: &str,
    target: &str,
    files: &[String],
    pages: &BTreeMap<&str, String>,
) -> Result<(), String> {
    if target.contains("://") || target.starts_with("mailto:") || target.contains("::") {
        return Ok(());
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { from.to_owned() } else { resolved(from, path)? };
    let folder = format!("{path}/");
    let is_there =
        path.is_empty() || files.contains(&path) || files.iter().any(|file| file.starts_with(&folder));
    if !is_there {
        return Err(format!("the link `{target}` leads nowhere: there is no {path} in the repository"));
    }
    match pages.get(path.as_str()) {
        Some(page) if !anchor.is_empty() && !anchors(page).iter().any(|one| one == anchor) => {
            Err(format!("the link `{target}` leads nowhere: {path} has no heading `#{anchor}`"))
        }
        _ => Ok(()),
    }
}

/// The path from the root that a relative path means.
fn resolved(from: &str, path: &str) -> Result<String, String> {
    let mut steps: Vec<&str> = from.split('/').collect();
    steps.pop();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop().ok_or_else(|| format!("the link `{path}` leaves the repository"))?;
            }
            step => steps.push(step),
        }
    }
    Ok(steps.join("/"))
}

/// The anchors of a page's headings; the second heading of the same name gets `-1`.
fn anchors(page: &str) -> Vec<String> {
    let mut anchors = Vec::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (_, line) in prose(page) {
        let words = line.trim_start_matches('#');
        let depth = line.len() - words.len();
        if (1..=6).contains(&depth) && words.starts_with(' ') {
            let anchor = anchor_of(words.trim());
            let count = seen.entry(anchor.clone()).or_default();
            anchors.push(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
            *count += 1;
        }
    }
    anchors
}

fn anchor_of(heading: &str) -> String {
    // A link in a heading gives its text only.
    let mut text = String::new();
    for (index, part) in heading.split("](").enumerate() {
        text.push_str(if index == 0 { part } else { &part[closing_bracket(part)..] });
    }
    text.to_lowercase()
        .chars()
        .filter_map(|sign| match sign {
            ' ' => Some('-'),
            '-' | '_' => Some(sign),
            sign if sign.is_alphanumeric() => Some(sign),
            _ => None,
        })
        .collect()
}

/// Where the bracket closes that opened before this text; brackets in the target nest.
fn closing_bracket(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, sign) in text.char_indices() {
        match sign {
            '(' => depth += 1,
            ')' if depth == 0 => return at,
            ')' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// The lines outside fenced code, with their numbers.
fn prose(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<&str> = None;
    page.lines().enumerate().filter(move |(_, line)| {
        let line = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => return true,
            _ => {}
        }
        false
    })
}

/// The line with code between backticks blanked.
fn without_code(line: &str) -> String {
    let parts: Vec<&str> = line.split('`').collect();
    // An odd backtick at the end opens nothing.
    let closed = parts.len() - usize::from(parts.len().is_multiple_of(2));
    let keep = |(index, part): (usize, &&str)| {
        if index % 2 == 0 || index >= closed { (*part).to_owned() } else { String::new() }
    };
    parts.iter().enumerate().map(keep).collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(page: &str) -> Vec<String> {
        of(page).into_iter().map(|link| link.target).collect()
    }

    #[test]
    fn links_are_found_with_and_without_titles() {
        assert_eq!(
            targets("see [a](b.md) and [c](d.md \"title\"), ![e](<f.png>)"),
            ["b.md", "d.md", "f.png"]
        );
        assert_eq!(targets("[name]: docs/a.md"), ["docs/a.md"]);
        assert_eq!(targets("[a](b(c).md)"), ["b(c).md"]);
    }

    #[test]
    fn code_has_no_links() {
        assert_eq!(targets("`[a](b)` [c](d)\n```text\n[e](f)\n```\n[`g`](h)"), ["d", "h"]);
    }

    #[test]
    fn a_link_leads_to_a_file_a_folder_or_a_heading() {
        let files = ["README.md", "docs/A.md", "docs/decisions/0001.md"].map(String::from);
        let page = "# The `house`: who?\n## Again\n## Again\n[x](#again-1)".to_owned();
        let pages = BTreeMap::from([("README.md", String::new()), ("docs/A.md", page)]);
        let follow = |from: &str, target: &str| follow(from, target, &files, &pages).is_ok();
        assert!(follow("README.md", "docs/A.md"));
        assert!(follow("README.md", "docs/decisions/"));
        assert!(follow("README.md", "docs/A.md#the-house-who"));
        assert!(follow("docs/A.md", "../README.md"));
        assert!(follow("docs/A.md", "#again-1"));
        assert!(follow("docs/A.md", "https://example.com/x"));
        assert!(follow("docs/A.md", "crate::Tree"));
        assert!(!follow("README.md", "docs/B.md"));
        assert!(!follow("README.md", "docs/A.md#nobody"));
        assert!(!follow("docs/A.md", "../../x.md"));
    }
}
