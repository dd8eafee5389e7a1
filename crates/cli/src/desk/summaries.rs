//! Whom to ask what branches came to: a model at the service that is asked anyway, so that nothing goes elsewhere.

use std::sync::Arc;

use trunkline_providers::{CassetteFile, Provider, Record};

use crate::args::going_back::{GoingBack, Summaries};
use crate::args::model::Model;
use crate::desk::asked::api_of;
use crate::desk::cassette::Tape;
use crate::desk::model::{Asked, Before, again, choose, usual};
use crate::term::fault::Fault;

/// Adds who says what branches came to, if a model does: another one of the same service, or the same one. A recording has
/// their answers too.
pub(crate) fn with_summaries(
    asked: Asked,
    typed: &Model,
    before: &Before,
    going_back: &GoingBack,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Asked, Fault> {
    if going_back.summaries != Some(Summaries::Model) {
        return Ok(asked);
    }
    let record = match &asked.tape {
        Tape::Plays(player) => {
            let player: Box<dyn Provider> = Box::new(player.clone());
            return Ok(Asked { summaries: Some(player), ..asked });
        }
        Tape::Records(file, _) => Some(Arc::<CassetteFile>::clone(file) as Arc<dyn Record>),
        Tape::None => None,
    };
    let origin = asked.provider.origin();
    let mut named = again(typed, before, &env).unwrap_or_else(|| usual(typed, before, &env));
    named.model = going_back.summary_model.clone().or_else(|| Some(origin.model.clone()));
    // The name of a model must not lead to another service.
    if named.dialect.is_none() {
        named.provider = api_of(&origin.provider).or(named.provider);
    }
    let summaries = choose(&named, before.last.as_ref(), &env)?.provider(record, typed.bounds())?;
    Ok(Asked { summaries: Some(summaries), ..asked })
}
