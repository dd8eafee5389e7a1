//! `trunkline tools`: what a project declares, and what of it a person has trusted.
//!
//! A definition comes with a repository: whatever of it is shown is made safe for a terminal.

use serde_json::{Value, json};
use trunkline_tools::{CodingTools, Declarations, DeclaredTool, Trust, TrustedTools};

use crate::args::tools::{Tools, ToolsAct};
use crate::desk::clock::now;
use crate::desk::declared;
use crate::desk::setup::Folder;
use crate::term::confirm::{Answer, agreed};
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::shell::program;
use crate::term::style::{BOLD, DIM, GREEN, YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::{one_line, safe};

/// The shortest beginning of a digest that names one.
const SHORTEST_DIGEST: usize = 16;

/// `trunkline tools`.
pub(crate) fn run(args: &Tools) -> Result<Exit, Fault> {
    let folder = Folder::named(&args.cwd)?;
    let path = folder.as_str().unwrap_or_default();
    let found = declared::read(&CodingTools::new(path)?);
    let trusted = declared::trusted()?;
    match &args.act {
        None => list(args, path, &found, &trusted),
        Some(ToolsAct::Show { name }) => {
            let tool = named(&found, name)?;
            out::print(&shown(tool, &trusted)?)?;
            Ok(Exit::Done)
        }
        Some(ToolsAct::Trust { name, digest }) => trust(named(&found, name)?, digest.as_deref(), &trusted),
        Some(ToolsAct::Forget { name }) => match trusted.take_back(path, name)? {
            true => {
                out::print(&format!("{} is not trusted any more\n", one_line(name, 80)))?;
                Ok(Exit::Done)
            }
            false => Err(Fault::usage(format!(
                "no tool {:?} of {} was trusted",
                one_line(name, 80),
                one_line(path, 200)
            ))
            .hint(known("trusted there: ", &trusted.named(path)?))),
        },
    }
}

/// How a tool stands, in a word, and what has changed since it was trusted.
fn standing(tool: &DeclaredTool, trusted: &TrustedTools) -> Result<(&'static str, Option<String>), Fault> {
    Ok(match trusted.trust(tool)? {
        Trust::Given => ("trusted", None),
        Trust::Over(what) => ("changed", Some(what)),
        Trust::None => ("not trusted", None),
    })
}

fn list(args: &Tools, folder: &str, found: &Declarations, trusted: &TrustedTools) -> Result<Exit, Fault> {
    let mut lines = String::new();
    let mut listed = Vec::new();
    let mut next = None;
    for tool in &found.tools {
        let (word, changed) = standing(tool, trusted)?;
        if word != "trusted" {
            next.get_or_insert(tool.name());
        }
        if args.json {
            listed.push(as_json(tool, word, changed.as_deref()));
            continue;
        }
        let style = if word == "trusted" { GREEN } else { YELLOW };
        let name = paint(BOLD, &format!("{:<20}", tool.name()));
        let word = paint(style, &format!("{word:<12}"));
        let about = one_line(tool.description(), 80);
        lines.push_str(&format!("{name}  {word}  {:<14}  {about}\n", tool.access()));
        if let Some(changed) = changed {
            lines.push_str(&format!("{:22}changed since: {}\n", "", one_line(&changed, 200)));
        }
    }
    if args.json {
        let refused: Vec<Value> =
            found.refused.iter().map(|one| json!({ "file": one.file, "why": one.why })).collect();
        out::print_json(&json!({ "version": 1, "folder": folder, "tools": listed, "refused": refused }))?;
        return Ok(Exit::Done);
    }
    out::print(&lines)?;
    for one in &found.refused {
        tell(&format!(
            "{} {}: {}\n",
            paint(YELLOW, "no tool:"),
            one_line(&one.file, 120),
            one_line(&one.why, 400)
        ));
    }
    if found.tools.is_empty() && found.refused.is_empty() {
        tell("this project declares no tools; docs/tools.md says how it would\n");
    }
    if let Some(name) = next {
        tell(&paint(DIM, &format!("  look at one, and trust it: {} tools trust {name}\n", program())));
    }
    Ok(Exit::Done)
}

fn as_json(tool: &DeclaredTool, word: &str, changed: Option<&str>) -> Value {
    json!({
        "name": tool.name(),
        "trust": word,
        "access": tool.access(),
        "description": tool.description(),
        "digest": tool.digest().ok(),
        "changed": changed,
    })
}

/// Returns what a person has to see of a tool.
fn shown(tool: &DeclaredTool, trusted: &TrustedTools) -> Result<String, Fault> {
    let cannot =
        |why: String| Fault::new(format!("{} cannot be trusted: {}", tool.name(), one_line(&why, 300)));
    // First, so that what is trusted is not newer than what is shown.
    let digest = tool.digest().map_err(cannot)?;
    let (word, changed) = standing(tool, trusted)?;
    let changed = changed.map(|what| format!(" since: {}", one_line(&what, 200))).unwrap_or_default();
    Ok(format!(
        "{}\n{}\n\n{}{}\ndigest {digest}\n",
        paint(BOLD, &tool.file()),
        safe(tool.text().trim_end()),
        safe(&tool.summary().map_err(cannot)?),
        format_args!("{word}{changed}"),
    ))
}

fn trust(tool: &DeclaredTool, digest: Option<&str>, trusted: &TrustedTools) -> Result<Exit, Fault> {
    let cannot =
        |why: String| Fault::new(format!("{} cannot be trusted: {}", tool.name(), one_line(&why, 300)));
    let now_digest = tool.digest().map_err(cannot)?;
    let name = tool.name();
    match digest {
        Some(named) => {
            let named = named.to_ascii_lowercase();
            if named.len() < SHORTEST_DIGEST || !now_digest.starts_with(&named) {
                return Err(Fault::usage(format!("the digest of {name} is not {}", one_line(&named, 80)))
                    .hint(format!(
                        "look at it: {} tools show {name}; its first {SHORTEST_DIGEST} digits are enough",
                        program()
                    )));
            }
        }
        None => {
            tell(&shown(tool, trusted)?);
            match agreed(false, &format!("trust {name} in this folder?")) {
                Answer::Yes => {}
                Answer::No => {
                    tell("nothing was trusted\n");
                    return Ok(Exit::Failure);
                }
                Answer::Nobody => {
                    return Err(Fault::usage("nobody can be asked here, and nothing is trusted unasked").hint(format!(
                        "where you have looked at it, name its digest: {} tools trust {name} --digest DIGEST",
                        program()
                    )));
                }
            }
        }
    }
    trusted.give(tool, &now_digest, now().0)?;
    out::print(&format!("{name} is trusted; the next run is offered it\n"))?;
    Ok(Exit::Done)
}

fn named<'t>(found: &'t Declarations, name: &str) -> Result<&'t DeclaredTool, Fault> {
    if let Some(tool) = found.tools.iter().find(|tool| tool.name() == name) {
        return Ok(tool);
    }
    let file = format!("/{name}.json");
    if let Some(refused) = found.refused.iter().find(|one| one.file.ends_with(&file)) {
        return Err(Fault::new(format!(
            "{} is no tool: {}",
            one_line(&refused.file, 120),
            one_line(&refused.why, 400)
        )));
    }
    let names: Vec<String> = found.tools.iter().map(|tool| tool.name().to_owned()).collect();
    let fault = Fault::usage(format!("this project declares no tool {:?}", one_line(name, 80)));
    let others = match found.refused.len() {
        0 => String::new(),
        1 => format!("; another is no tool, `{} tools` says why", program()),
        more => format!("; {more} others are no tools, `{} tools` says why", program()),
    };
    Err(fault.hint(known("it declares ", &names) + &others))
}

fn known(before: &str, names: &[String]) -> String {
    let names = if names.is_empty() { "none".to_owned() } else { one_line(&names.join(", "), 300) };
    format!("{before}{names}")
}
