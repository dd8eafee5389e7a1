//! Holds the walls: which crate may import which, what must not be in a crate's tree at all, and which room of a crate
//! may use which other.
//!
//! The table here and the one in `docs/ARCHITECTURE.md` must say the same; a difference is a failure, so that a wall
//! cannot be moved in one place only. Edges from tests count too: a crate is not tested with the floors above it.

mod rooms;

use std::collections::BTreeSet;

use crate::cargo::{cargo, text_of};
use crate::manifest::Manifest;
use crate::report::Tally;
use crate::workspace::{Crate, PREFIX, Workspace};

const PAGE: &str = "docs/ARCHITECTURE.md";
const SELF: &str = "xtask/src/layers.rs";

/// What one crate may import, and what must be absent.
struct Wall {
    name: &'static str,
    may_import: May,
    /// The page says "never" under IO / async.
    pure: bool,
    /// Beyond what purity asks for.
    absent: &'static [Absent],
}

enum May {
    Only(&'static [&'static str]),
    Everything,
}

/// Packages that must not be in the tree under these features.
struct Absent {
    flags: &'static [&'static str],
    packages: &'static [&'static str],
}

/// Clocks, chance, IO and async: what a pure crate must not even have below it.
const IMPURE: &[&str] = &[
    "async-std",
    "async-trait",
    "fastrand",
    "futures-util",
    "getrandom",
    "hyper",
    "libsqlite3-sys",
    "mio",
    "rand",
    "reqwest",
    "rusqlite",
    "rustix",
    "rustls",
    "smol",
    "socket2",
    "sqlx",
    "tempfile",
    "tokio",
    "tokio-postgres",
];
const NETWORK: &[&str] = &["hyper", "mio", "reqwest", "rustls", "socket2", "sqlx", "tokio", "tokio-postgres"];
const DATABASES: &[&str] = &["libsqlite3-sys", "rusqlite", "sqlx", "tokio-postgres"];
const BARE: &[&str] = &["--no-default-features"];

const WALLS: &[Wall] = &[
    Wall { name: "message-tree", may_import: May::Only(&[]), pure: true, absent: &[] },
    Wall { name: "sanitize", may_import: May::Only(&["message-tree"]), pure: true, absent: &[] },
    Wall { name: "revert", may_import: May::Only(&["message-tree"]), pure: true, absent: &[] },
    Wall { name: "resolve-queue", may_import: May::Only(&[]), pure: true, absent: &[] },
    Wall { name: "decision-objects", may_import: May::Only(&[]), pure: true, absent: &[] },
    Wall {
        name: "providers",
        may_import: May::Only(&["message-tree"]),
        pure: false,
        absent: &[Absent { flags: BARE, packages: IMPURE }, Absent { flags: &[], packages: NETWORK }],
    },
    Wall {
        name: "session-store",
        may_import: May::Only(&["message-tree"]),
        pure: false,
        absent: &[
            Absent { flags: BARE, packages: IMPURE },
            Absent { flags: &["--all-features"], packages: &["reqwest", "hyper"] },
        ],
    },
    Wall {
        name: "session-machine",
        may_import: May::Only(&[
            "message-tree",
            "sanitize",
            "revert",
            "resolve-queue",
            "decision-objects",
            "providers",
            "session-store",
        ]),
        pure: true,
        absent: &[],
    },
    Wall {
        name: "agent-traits",
        may_import: May::Only(&[
            "message-tree",
            "revert",
            "resolve-queue",
            "decision-objects",
            "providers",
            "session-store",
            "session-machine",
        ]),
        pure: false,
        absent: &[Absent {
            flags: &["--all-features"],
            packages: &["hyper", "mio", "reqwest", "rustls", "socket2", "sqlx", "tokio-postgres"],
        }],
    },
    Wall {
        name: "runtime",
        may_import: May::Only(&[
            "message-tree",
            "sanitize",
            "revert",
            "resolve-queue",
            "decision-objects",
            "providers",
            "session-store",
            "session-machine",
            "agent-traits",
        ]),
        pure: false,
        absent: &[
            Absent { flags: BARE, packages: DATABASES },
            Absent { flags: BARE, packages: &["hyper", "reqwest", "rustls"] },
        ],
    },
    Wall { name: "tools", may_import: May::Only(&["agent-traits", "git-binding"]), pure: false, absent: &[] },
    Wall {
        name: "transcripts",
        may_import: May::Only(&["message-tree"]),
        pure: false,
        absent: &[
            Absent { flags: BARE, packages: DATABASES },
            Absent { flags: &["--all-features"], packages: NETWORK },
        ],
    },
    Wall { name: "session-view", may_import: May::Only(&["message-tree"]), pure: true, absent: &[] },
    Wall { name: "git-binding", may_import: May::Only(&["decision-objects"]), pure: false, absent: &[] },
    Wall { name: "mcp", may_import: May::Only(&["runtime"]), pure: false, absent: &[] },
    Wall { name: "acp", may_import: May::Only(&["runtime"]), pure: false, absent: &[] },
    Wall { name: "cli", may_import: May::Everything, pure: false, absent: &[] },
];

/// Whether a crate is one of those that ask the world nothing.
pub(crate) fn is_pure(name: &str) -> bool {
    WALLS.iter().any(|wall| wall.name == name && wall.pure)
}

/// Checks the page, then each crate; each is one check.
pub(crate) fn run(workspace: &Workspace) -> Result<Tally, String> {
    let page = workspace.text(PAGE)?.unwrap_or_default();
    let mut sum = settle("the table", disagreements(&parse_page(&page)?));
    sum += settle("xtask", dependencies_of_xtask(workspace)?);
    for one in &workspace.crates {
        sum += settle(&one.name, broken_walls(workspace, one)?);
    }
    sum += rooms::run(workspace, &page)?;
    Ok(sum)
}

fn settle(what: &str, problems: Vec<String>) -> Tally {
    for problem in &problems {
        println!("{what}: {problem}");
    }
    if problems.is_empty() {
        println!("{what}: ok");
    }
    Tally::of(problems.is_empty())
}

fn dependencies_of_xtask(workspace: &Workspace) -> Result<Vec<String>, String> {
    let text = workspace.text("xtask/Cargo.toml")?.unwrap_or_default();
    let names: Vec<String> = Manifest::parse(&text).dependencies().into_iter().map(String::from).collect();
    let problem =
        |name| format!("xtask is std-only and imports {name}: a helper package beside xtask/api can have it");
    Ok(names.into_iter().map(problem).collect())
}

fn broken_walls(workspace: &Workspace, one: &Crate) -> Result<Vec<String>, String> {
    let Some(wall) = WALLS.iter().find(|wall| wall.name == one.name) else {
        return Ok(vec![format!(
            "has no wall: write the decision in docs/decisions/, then a row in {PAGE} and one in {SELF}"
        )]);
    };
    let mut problems = Vec::new();
    if let May::Only(allowed) = wall.may_import {
        for name in imports(workspace, one)? {
            if name != one.name && !allowed.contains(&name.as_str()) {
                problems.push(format!(
                    "imports {name}, an edge that does not exist: take it out of crates/{}/Cargo.toml \
                     ([dev-dependencies] count too: stories of several crates live in tests/), \
                     or decide in docs/decisions/ that it should exist and write it into {PAGE} and {SELF}",
                    one.name
                ));
            }
        }
    }
    if wall.pure {
        problems.extend(present(workspace, one, &["--all-features"], IMPURE)?);
    }
    for absent in wall.absent {
        problems.extend(present(workspace, one, absent.flags, absent.packages)?);
    }
    Ok(problems)
}

/// The crates of ours that this one names in its manifest, in any kind of dependency, under all features.
fn imports(workspace: &Workspace, one: &Crate) -> Result<BTreeSet<String>, String> {
    let mut call = vec!["tree", "-p", &one.package, "-e", "normal,build,dev"];
    call.extend(["--depth", "1", "--prefix", "none", "--all-features"]);
    let tree = text_of(&mut cargo(workspace, call))?;
    Ok(packages(&tree).filter_map(|name| name.strip_prefix(PREFIX)).map(String::from).collect())
}

/// Tells which of the banned packages stand anywhere below the crate, and how they got there.
fn present(
    workspace: &Workspace,
    one: &Crate,
    flags: &[&str],
    banned: &[&str],
) -> Result<Vec<String>, String> {
    let mut call = vec!["tree", "-p", &one.package, "-e", "normal", "--prefix", "none"];
    call.extend(flags);
    let tree = text_of(&mut cargo(workspace, &call))?;
    let found: BTreeSet<&str> = packages(&tree).filter(|name| banned.contains(name)).collect();
    let under = if flags.is_empty() { "default features".to_owned() } else { flags.join(" ") };
    let problem = |name: &str| {
        let asked =
            [&["cargo", "tree", "-p", &one.package, "-e", "normal"], flags, &["-i", name]].concat().join(" ");
        format!("has {name} in its tree with {under}, which it must not: `{asked}` shows who brings it")
    };
    Ok(found.into_iter().map(problem).collect())
}

/// The package names in the output of `cargo tree --prefix none`.
fn packages(tree: &str) -> impl Iterator<Item = &str> {
    tree.lines().filter_map(|line| line.split_whitespace().next())
}

/// One crate as the page's table has it.
#[derive(Debug, PartialEq)]
struct Row {
    name: String,
    /// `None` is everything.
    may_import: Option<BTreeSet<String>>,
    pure: bool,
}

/// Reads the table whose head begins with `| crate | may import`.
fn parse_page(page: &str) -> Result<Vec<Row>, String> {
    let mut lines = page.lines().skip_while(|line| !line.starts_with("| crate | may import"));
    if lines.next().is_none() {
        return Err(format!(
            "{PAGE} has no table that begins with `| crate | may import`: layers reads its rules there"
        ));
    }
    let mut rows: Vec<Row> = Vec::new();
    for line in lines.take_while(|line| line.starts_with('|')).filter(|line| !line.starts_with("|---")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [names, imports, io] = cells[..] else {
            return Err(format!(
                "{PAGE}: the table of crates has three cells a row, this has {}: {line}",
                cells.len()
            ));
        };
        let may_import = if imports.starts_with("everything") {
            None
        } else if imports.starts_with("all of the above") {
            Some(rows.iter().map(|row| row.name.clone()).collect())
        } else {
            // Words in brackets explain: "`runtime` (the macro crate: nothing)".
            let imports = imports.split('(').next().unwrap_or_default();
            Some(backticked(imports).map(String::from).collect())
        };
        for name in backticked(names) {
            rows.push(Row {
                name: name.to_owned(),
                may_import: may_import.clone(),
                pure: io.starts_with("never"),
            });
        }
    }
    Ok(rows)
}

fn backticked(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Where the page and the table in this file differ.
fn disagreements(rows: &[Row]) -> Vec<String> {
    let mut problems = Vec::new();
    for row in rows {
        match WALLS.iter().find(|wall| wall.name == row.name) {
            None => problems.push(format!("{PAGE} has a row for {}, {SELF} has none", row.name)),
            Some(wall) => {
                let ours = match wall.may_import {
                    May::Only(names) => Some(names.iter().map(ToString::to_string).collect()),
                    May::Everything => None,
                };
                if ours != row.may_import {
                    let (page, own) = (shown(&row.may_import), shown(&ours));
                    problems.push(format!(
                        "{PAGE} lets {} import {page}, {SELF} lets it import {own}: make them agree, \
                         with a record in docs/decisions/ for an edge that is new",
                        row.name
                    ));
                }
                if wall.pure != row.pure {
                    problems.push(format!(
                        "{PAGE} and {SELF} differ on whether {} does IO: make them agree",
                        row.name
                    ));
                }
            }
        }
    }
    let missing = WALLS.iter().filter(|wall| !rows.iter().any(|row| row.name == wall.name));
    problems.extend(missing.map(|wall| format!("{SELF} has a wall for {}, {PAGE} has no row", wall.name)));
    problems
}

fn shown(names: &Option<BTreeSet<String>>) -> String {
    match names {
        None => "everything".to_owned(),
        Some(names) if names.is_empty() => "nothing".to_owned(),
        Some(names) => names.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
text

| crate | may import (ours) | IO / async |
|---|---|---|
| `a` | nothing (generic over `T`) | never (data in) |
| `b` | `a` | sockets |
| `c` | all of the above; b is a default-on feature | yes |
| `d`, `e`, a macro crate (later) | `c` (the macro crate: nothing) | yes |
| `f` | everything | yes |

| `not` | a row |
";

    fn row(name: &str, may_import: Option<&[&str]>, pure: bool) -> Row {
        let may_import = may_import.map(|names| names.iter().map(ToString::to_string).collect());
        Row { name: name.to_owned(), may_import, pure }
    }

    #[test]
    fn the_table_is_read_with_its_words() {
        let expected = vec![
            row("a", Some(&[]), true),
            row("b", Some(&["a"]), false),
            row("c", Some(&["a", "b"]), false),
            row("d", Some(&["c"]), false),
            row("e", Some(&["c"]), false),
            row("f", None, false),
        ];
        assert_eq!(parse_page(TABLE), Ok(expected));
    }

    #[test]
    fn a_page_without_the_table_is_refused() {
        assert!(parse_page("| crate |\n").is_err());
    }

    #[test]
    fn a_moved_wall_is_noticed_in_both_directions() {
        let problems =
            disagreements(&[row("sanitize", Some(&["revert"]), false), row("attic", Some(&[]), true)]);
        let of = |name: &str| problems.iter().filter(|problem| problem.contains(name)).count();
        assert_eq!(of("lets sanitize import revert"), 1);
        assert_eq!(of("whether sanitize does IO"), 1);
        assert_eq!(of("attic"), 1);
        assert_eq!(of("has no row"), WALLS.len() - 1);
    }

    #[test]
    fn package_names_are_the_first_words() {
        let tree = "trunkline-cli v0.1.0 (somewhere)\ntokio v1.50.0\nserde v1.0.0 (*)\n";
        assert_eq!(packages(tree).collect::<Vec<_>>(), ["trunkline-cli", "tokio", "serde"]);
    }
}
