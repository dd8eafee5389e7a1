//! Holds the order of rooms inside crates: which module may use which, and how much of one type is in one place.
//!
//! A room is a module directly below the root of a crate, a file or a folder. The table here and the one in
//! `docs/ARCHITECTURE.md` must say the same. A crate without a row is not looked at.

mod circles;
mod crate_text;
mod rules;
mod source;
mod tokens;

use crate_text::CrateText;

use super::{backticked, settle};
use crate::report::Tally;
use crate::workspace::{Crate, Workspace};

const PAGE: &str = "docs/ARCHITECTURE.md";
const SELF: &str = "xtask/src/layers/rooms.rs";
const HEAD: &str = "| crate | rooms, from bottom to top";

/// How many methods and functions a type has at most, where its crate says nothing else.
const MOST_METHODS: usize = 25;

/// The rooms of one crate.
struct Plan {
    name: &'static str,
    /// From bottom to top; rooms of one floor do not know each other.
    floors: &'static [&'static [&'static str]],
    /// Rooms whose files do not use each other at all.
    apart: &'static [&'static str],
    most_methods: usize,
    /// Types that may have more, each with its own number.
    more_methods: &'static [(&'static str, usize)],
}

const PLANS: &[Plan] = &[
    Plan {
        name: "session-machine",
        floors: &[
            &["words"],
            &["notes"],
            &["setup"],
            &["state"],
            &["rules", "reading"],
            &["request"],
            &["acts"],
            &["next"],
        ],
        apart: &[],
        most_methods: MOST_METHODS,
        more_methods: &[],
    },
    Plan {
        name: "runtime",
        floors: &[&["world"], &["orders"], &["writer"], &["effects"], &["driver"], &["session"]],
        apart: &["effects"],
        most_methods: MOST_METHODS,
        more_methods: &[("Session", 45), ("AgentBuilder", 38)],
    },
    Plan {
        name: "cli",
        floors: &[
            &["term"],
            &["args"],
            &["reading"],
            &["shown"],
            &["desk", "files"],
            &["live"],
            &["commands"],
        ],
        apart: &[],
        most_methods: MOST_METHODS,
        more_methods: &[],
    },
    Plan {
        name: "transcripts",
        floors: &[
            &["conversation", "fault", "format", "json", "time"],
            &["convert", "file_name", "growth", "mend", "packed", "salvage", "source"],
            &["anthropic", "atif", "lines", "log", "markdown", "openai_chat"],
            &["beside", "claude_code", "codex", "gemini_cli", "opencode", "pi", "session_tree"],
            &["sniff"],
            &["list"],
            &["transcript"],
        ],
        apart: &[],
        most_methods: MOST_METHODS,
        more_methods: &[],
    },
];

impl Plan {
    fn floor(&self, room: &str) -> Option<usize> {
        self.floors.iter().position(|floor| floor.contains(&room))
    }

    fn rooms(&self) -> impl Iterator<Item = &'static str> {
        self.floors.iter().flat_map(|floor| floor.iter().copied())
    }

    fn most_methods_of(&self, name: &str) -> usize {
        let own = self.more_methods.iter().find(|(of, _)| *of == name);
        own.map_or(self.most_methods, |(_, most)| *most)
    }

    /// The row as the page has it.
    fn row(&self) -> String {
        let room = |room: &&str| match self.apart.contains(room) {
            true => format!("`{room}` (files apart)"),
            false => format!("`{room}`"),
        };
        let floor = |floor: &&[&str]| floor.iter().map(room).collect::<Vec<_>>().join(", ");
        let floors = self.floors.iter().map(floor).collect::<Vec<_>>().join(" < ");
        let more =
            self.more_methods.iter().map(|(name, most)| format!("; `{name}` {most}")).collect::<String>();
        format!("| `{}` | {floors} | {}{more} |", self.name, self.most_methods)
    }
}

/// Checks the page, then each crate that has a row; each is one check.
pub(super) fn run(workspace: &Workspace, page: &str) -> Result<Tally, String> {
    let mut sum = settle("the table of rooms", disagreements(PLANS, page));
    let files = workspace.files()?;
    for plan in PLANS {
        let problems = match workspace.crates.iter().find(|one| one.name == plan.name) {
            Some(one) => {
                let complaints = rules::check(&read(workspace, one, &files)?, plan);
                complaints.iter().map(ToString::to_string).collect()
            }
            None => vec![format!("no crate has this name: take its row out of {PAGE} and {SELF}")],
        };
        sum += settle(&format!("rooms of {}", plan.name), problems);
    }
    Ok(sum)
}

fn read(workspace: &Workspace, one: &Crate, files: &[String]) -> Result<CrateText, String> {
    let folder = format!("crates/{}/src", one.name);
    let mut texts = Vec::new();
    for path in files {
        if let Some(inside) = path.strip_prefix(&folder).and_then(|path| path.strip_prefix('/'))
            && inside.ends_with(".rs")
        {
            texts.push((inside.to_owned(), workspace.text(path)?.unwrap_or_default()));
        }
    }
    Ok(CrateText::read(&folder, &texts))
}

/// Where the page and the plans differ. Rows are compared as they are written, so that both read the same.
fn disagreements(plans: &[Plan], page: &str) -> Vec<String> {
    let mut lines = page.lines().skip_while(|line| !line.starts_with(HEAD));
    if lines.next().is_none() {
        return vec![format!(
            "{PAGE} has no table that begins with `{HEAD}`: the order of rooms is read there"
        )];
    }
    let rows: Vec<&str> =
        lines.take_while(|line| line.starts_with('|')).filter(|line| !line.starts_with("|---")).collect();
    let mut problems = Vec::new();
    for plan in plans {
        let own = plan.row();
        if !rows.contains(&own.as_str()) {
            problems.push(format!(
                "{SELF} has a plan of {} that {PAGE} has not; its row would be {own}",
                plan.name
            ));
        }
    }
    for row in rows {
        let name = backticked(row).next().unwrap_or_default();
        if !plans.iter().any(|plan| plan.name == name) {
            problems.push(format!("{PAGE} has rooms for `{name}`, {SELF} has none"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Plan = Plan {
        name: "a",
        floors: &[&["words", "notes"], &["next"]],
        apart: &["notes"],
        most_methods: 25,
        more_methods: &[("Front", 45)],
    };
    const PAGE_OF_IT: &str = "\
text

| crate | rooms, from bottom to top | most methods |
|---|---|---|
| `a` | `words`, `notes` (files apart) < `next` | 25; `Front` 45 |

| `not` | a row |
";

    #[test]
    fn a_page_that_says_the_same_is_fine() {
        assert_eq!(disagreements(&[PLAN], PAGE_OF_IT), [""; 0]);
    }

    #[test]
    fn a_moved_room_is_noticed_in_both_directions() {
        let moved = Plan { floors: &[&["words"], &["notes"], &["next"]], ..PLAN };
        let problems = disagreements(&[moved], PAGE_OF_IT);
        assert_eq!(problems.len(), 1);
        assert!(
            problems[0].ends_with("| `a` | `words` < `notes` (files apart) < `next` | 25; `Front` 45 |"),
            "{problems:?}"
        );
        let problems = disagreements(&[], PAGE_OF_IT);
        assert!(problems.len() == 1 && problems[0].contains("has rooms for `a`"), "{problems:?}");
    }

    #[test]
    fn a_page_without_the_table_is_refused() {
        assert_eq!(disagreements(&[], "| crate |\n").len(), 1);
    }
}
