//! The tools that a project declares: which of them a model is offered, and what people are told of the others.

use etcetera::{BaseStrategy, choose_base_strategy};
use trunkline_runtime::session_machine::setup::LAYER_TOOLS;
use trunkline_runtime::{Agent, Tool};
use trunkline_tools::{CodingTools, Declarations, DeclaredTool, Refused, Trust, TrustedTools};

use crate::desk::no_model::NoModel;
use crate::term::fault::Fault;
use crate::term::shell::program;
use crate::term::text::{count, one_line};

/// So many that are no tools are told one by one.
const TOLD: usize = 5;

/// What comes of a project's declarations for one run.
#[derive(Default)]
pub(crate) struct Offer {
    /// What the model is offered.
    pub(crate) tools: Vec<Box<dyn Tool>>,
    /// Their names.
    pub(crate) names: Vec<String>,
    /// What people should know of the others, a line each.
    pub(crate) told: Vec<String>,
}

/// Returns where is kept what a person has trusted.
pub(crate) fn trusted() -> Result<TrustedTools, Fault> {
    let strategy = choose_base_strategy()
        .map_err(|error| Fault::new(format!("cannot tell where your data folder is: {error}")))?;
    Ok(TrustedTools::at(strategy.data_dir().join("trunkline").join("trusted_tools.json")))
}

/// Reads what the project of some tools declares.
pub(crate) fn read(tools: &CodingTools) -> Declarations {
    let mut found = tools.declared(LAYER_TOOLS.iter().map(|name| (*name).to_owned()));
    let (sound, wrong): (Vec<_>, Vec<_>) =
        found.tools.into_iter().map(|tool| (fault(&tool), tool)).partition(|(fault, _)| fault.is_none());
    found.tools = sound.into_iter().map(|(_, tool)| tool).collect();
    found
        .refused
        .extend(wrong.into_iter().map(|(fault, tool)| Refused::new(tool.file(), fault.unwrap_or_default())));
    found
}

/// Says why no agent can have a tool, if so. Asked of the one judge, so that a run does not begin that would end with its refusal.
fn fault(tool: &DeclaredTool) -> Option<String> {
    // Never run: where trust is kept does not matter.
    let tried = tool.clone().into_tool(TrustedTools::at("nowhere"));
    let built = Agent::builder(NoModel::new()).tools([tried]).build();
    // Not whose feature it would take: nobody can switch it on here.
    let told = built.err().map(|fault| Fault::from(fault).as_line());
    told.map(|why| {
        why.replace(
            " is only checked with the feature `json-schema` of trunkline-runtime",
            " demands more than is checked here",
        )
    })
}

/// Chooses what a model is offered of the tools that a project declares: those that a person has trusted, as they are now.
pub(crate) fn offer(tools: &CodingTools) -> Offer {
    let found = read(tools);
    let mut offer = Offer::default();
    let commands = program();
    if !found.tools.is_empty() {
        match trusted() {
            Ok(trusted) => choose(found.tools, &trusted, &commands, &mut offer),
            Err(fault) => {
                offer.told.push(format!("the tools of this project are not offered: {}", fault.as_line()))
            }
        }
    }
    for Refused { file, why, .. } in found.refused.iter().take(TOLD) {
        offer.told.push(one_line(&format!("{file} is no tool: {why}"), 400));
    }
    match found.refused.len().saturating_sub(TOLD) {
        0 => {}
        1 => offer.told.push(format!("another file there is no tool either: `{commands} tools`")),
        more => offer.told.push(format!("{more} more files there are no tools: `{commands} tools`")),
    }
    offer
}

fn choose(tools: Vec<DeclaredTool>, trusted: &TrustedTools, commands: &str, offer: &mut Offer) {
    let mut unknown = Vec::new();
    for tool in tools {
        let name = tool.name().to_owned();
        match trusted.trust(&tool) {
            Ok(Trust::Given) => {
                offer.names.push(name);
                offer.tools.push(tool.into_tool(trusted.clone()));
            }
            Ok(Trust::None) => unknown.push(name),
            Ok(Trust::Over(what)) => {
                let what = one_line(&what, 200);
                offer.told.push(format!(
                    "{name} is not offered: what you trusted has changed ({what}); look at it: `{commands} tools trust {name}`"
                ));
            }
            Err(fault) => {
                let why = Fault::from(fault).as_line();
                offer.told.push(format!("the tools of this project are not offered: {why}"));
                return;
            }
        }
    }
    if !unknown.is_empty() {
        let names = one_line(&unknown.join(", "), 200);
        let are = if unknown.len() == 1 { "is" } else { "are" };
        offer.told.push(format!(
            "{names} {are} not offered: {} of this project that you have not trusted; see `{commands} tools`",
            count(unknown.len(), "tool")
        ));
    }
}
