//! What a service wants, as its answers and refusals show it.

use trunkline_message_tree::Message;
use trunkline_providers::{ErrorKind, ProviderError, Trait};

use crate::acts::plan::Plan;
use crate::acts::view::View;
use crate::notes::service;
use crate::words::asked::Asked;

/// How often in a row results are cut shorter before a refusal is told.
const MOST_CUTS: u8 = 3;
/// A result of fewer bytes is not what makes a list too long.
const LEAST_RESULT: usize = 4096;

/// Notes whom the next request goes to, where that was named by its address and is news.
pub fn note_asked(view: &View<'_>, url: Option<&str>) -> Plan {
    let origin = &view.setup.model.origin;
    let (provider, model) = (origin.provider.clone(), origin.model.clone());
    let now = Asked { provider, model, url: url.map(str::to_owned) };
    let news = match view.state.wants.last_asked() {
        None => now.url.is_some(),
        Some(known) => *known != now && (known.url.is_some() || now.url.is_some()),
    };
    Plan::of(news.then(|| service::asked(&now, view.at)).into_iter().collect())
}

/// After a list that was too long and cannot be summed up: takes the window for so small that the largest result is cut. What follows
/// is whether that is news. `cuts` is how often it was done in a row.
pub fn shrink(view: &View<'_>, fault: &ProviderError, cuts: u8) -> Plan<bool> {
    let nothing = || Plan::nothing().then(false);
    if fault.kind() != Some(ErrorKind::ContextTooLong) || cuts >= MOST_CUTS {
        return nothing();
    }
    let rendered = view.rendered();
    let results = rendered.iter().flat_map(Message::results);
    let largest = results.map(|result| result.text().len()).max().unwrap_or_default();
    if largest < LEAST_RESULT {
        return nothing();
    }
    let model = &view.setup.model;
    let known = view.state.wants.window(model, view.setup.window());
    // Of what is cut, two bytes stay for each token: a quarter of the largest, and each time a quarter of that.
    let fitting = largest as u64 / 8;
    let tokens = known.map_or(fitting, |known| fitting.min(known / 4));
    if tokens < 256 {
        return nothing();
    }
    Plan::of(vec![service::window(model.service(), tokens, view.at)]).then(true)
}

/// What a refusal has taught.
pub enum Learned {
    /// Nothing new. What was believed in vain is dropped if `forgets` says so.
    Nothing {
        /// Whether what was on trial is not believed any more.
        forgets: bool,
    },
    /// The service wants this, and can be asked so.
    Wants(Vec<Trait>),
}

/// After a request that was refused: notes what the service wants otherwise, if it said so. What was learned in vain is dropped.
/// `on_trial` is what was learned since it answered last.
pub fn learn(view: &View<'_>, fault: &ProviderError, on_trial: &[Trait]) -> Plan<Learned> {
    let (model, at) = (&view.setup.model, view.at);
    // Of each it is tried once until the service answers, or it could have us ask for ever.
    let wanted = fault.wants().map(|one| match (one, view.setup.asking.bound_reasoning) {
        // That it binds was denied, and what it refused is left out all the same.
        (Trait::BoundReasoning, Some(false)) => Trait::NoEarlierReasoning,
        (one, _) => one,
    });
    if let Some(one) = wanted.filter(|one| !on_trial.contains(one)) {
        let newest = view.state.tree.newest();
        let until = (one == Trait::NoEarlierReasoning).then_some(newest);
        let mut records = vec![service::refused(model.service(), one, until, at)];
        let mut learned = vec![one];
        if one == Trait::BoundReasoning {
            // Behind what the reasoning so far was written is not known.
            let so_far = Trait::NoEarlierReasoning;
            records.push(service::refused(model.service(), so_far, Some(newest), at));
            learned.push(so_far);
        }
        return Plan::of(records).then(Learned::Wants(learned));
    }
    let forgets = fault.wants().is_some() || fault.kind() == Some(ErrorKind::InvalidRequest);
    let dropped = on_trial.iter().filter(|_| forgets).map(|one| service::dropped(model.service(), *one, at));
    Plan::of(dropped.collect()).then(Learned::Nothing { forgets })
}
