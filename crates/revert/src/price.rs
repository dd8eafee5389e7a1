//! What a revert costs and saves in prompt tokens, and whether the provider's cache did what was expected.
//!
//! Counts come from the provider: the `input_tokens` of an assistant message are the whole prompt before it, tools and
//! notes included, so two reports on the trunk give the exact size of what stands between them. Everything else is
//! estimated, and the result says so.
//!
//! Prices and minimum sizes change with every model and are arguments, see [`Rates`].

mod measure;

use std::fmt;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{Message, MessageTree, NodeId, Usage};

pub(crate) use self::measure::{
    Cut, MOST_BYTES_PER_TOKEN, Measure, by_the_last_model, bytes_of, result_bytes,
};
use crate::Plan;

/// About how many bytes the line has that stands in place of a result.
const LINE_BYTES: u64 = 90;

/// Where a provider's cache can end.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CacheGrain {
    /// At the end of an earlier request: breakpoints that the client sets, one of them on the last message.
    RequestEnds,
    /// Anywhere, in whole steps of this many tokens; 0 counts as 1.
    Steps(u64),
}

/// What cached tokens cost, and what is cached at all.
///
/// No provider's figures are built in: they differ by model and change. Take them from the provider's own page and say
/// which and when in `source`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Rates {
    /// A token read from the cache, in thousandths of a plain input token: 100 is a tenth of the price.
    pub read_per_mille: u32,
    /// A token that is written to the cache, likewise: 1,250 is a quarter more than plain, 1,000 is no surcharge.
    pub write_per_mille: u32,
    /// Prompts and prefixes of fewer tokens are not cached.
    pub minimum_tokens: u64,
    /// Where the cached prefix can end.
    pub grain: CacheGrain,
    /// Where the figures are from and when they were read.
    pub source: String,
}

impl Rates {
    /// Returns the rates of one model.
    pub fn new(
        read_per_mille: u32,
        write_per_mille: u32,
        minimum_tokens: u64,
        grain: CacheGrain,
        source: impl Into<String>,
    ) -> Self {
        Rates { read_per_mille, write_per_mille, minimum_tokens, grain, source: source.into() }
    }

    /// Returns the rates of a provider that does not cache, or of which nothing is known.
    pub fn uncached() -> Self {
        Rates::new(1_000, 1_000, u64::MAX, CacheGrain::Steps(1), "nothing is cached")
    }

    /// Returns what one prompt costs, in thousandths of a plain input token.
    fn cost(&self, cached: u64, fresh: u64) -> u128 {
        let prompt = u128::from(cached) + u128::from(fresh);
        if prompt < u128::from(self.minimum_tokens) {
            return prompt * 1_000;
        }
        u128::from(cached) * u128::from(self.read_per_mille)
            + u128::from(fresh) * u128::from(self.write_per_mille)
    }

    /// Returns the turn, from 1, from whose end on leaving has cost no more than staying; `None` if there is none.
    ///
    /// Both are cached and fresh tokens of the next prompt; from then on all of it is cached.
    fn pays_after(&self, staying: (u64, u64), leaving: (u64, u64)) -> Option<u32> {
        let first = |(cached, fresh)| self.cost(cached, fresh);
        let later = |(cached, fresh): (u64, u64)| self.cost(cached.saturating_add(fresh), 0);
        // A first turn that is cheaper is no gain if every later one is dearer, as below the minimum of the cache.
        let gain = later(staying).checked_sub(later(leaving))?;
        match (first(leaving).saturating_sub(first(staying)), gain) {
            (0, _) => Some(1),
            (_, 0) => None,
            (extra, gain) => u32::try_from(extra.div_ceil(gain)).ok()?.checked_add(1),
        }
    }
}

/// What a revert costs and saves, in tokens of the prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Price {
    /// Tokens that leave the prompt. With `kept` they are the whole prompt as the next request would have had it.
    pub leaving: u64,
    /// Tokens at the beginning of the prompt that stay as they are, tools and instructions included.
    pub kept: u64,
    /// The part of `kept` that the provider should still have in its cache.
    pub cached: u64,
    /// Tokens of the next request that have to be read anew: the note, what a compaction no longer covers, and what of
    /// `kept` is not cached.
    pub recached: u64,
    /// The turn, from 1, from whose end on the revert has paid; `None` if it never does by its tokens alone.
    pub pays_after_turns: Option<u32>,
    /// Whether anything beside the note's own size was estimated.
    pub estimated: bool,
    /// Whether `kept` was; `leaving` nearly always is, because nobody has counted the end of the trunk yet.
    pub kept_estimated: bool,
    /// Tokens of the whole prompt that the provider counted in its last report; the rest is estimated.
    pub counted: u64,
    expected: Expected,
}

impl Price {
    /// Returns the price of a plan on the tree for which it was made.
    ///
    /// `note_tokens` is everything that the revert puts after its target: the note, and messages that are copied there;
    /// [`estimate_tokens`] gives it. What the turn appends after the plan is not counted; in the price that
    /// [`Outcome::with_price`](crate::Outcome::with_price) gives, it is.
    ///
    /// It is assumed that the cache is warm, that every request was sent with caching as `rates` say, and that both
    /// ways go on with the same messages. What no request has held yet is not cached, whether it stays or leaves. Two
    /// kinds of counts are not used: those of a model other than the one that wrote last, and those from before a
    /// compaction that now stands in front. A note that decayed or a result that was pruned since is still in the older
    /// counts. Pictures and documents count only where a report holds them.
    ///
    /// Costs one step per message that leaves and on to the last report before them, at least 256, and one per covering node of
    /// the tree; on a trunk without reports, or where what a compaction stood for is sent again, one per message of it.
    pub fn of(tree: &MessageTree, plan: &Plan, note_tokens: u64, rates: &Rates) -> Price {
        let cut = Cut::at(tree, plan.target);
        let measure = Measure::new(tree, cut.position);
        Price::measured(tree, &cut, &measure, (note_tokens, 0), rates)
    }

    /// Returns the price of going to a node: `stays` is what will stand after it, `appended` what leaves although the tree
    /// does not have it yet.
    pub(crate) fn at<'a, 'b>(
        tree: &MessageTree,
        target: NodeId,
        (note, copies): (&str, impl Iterator<Item = &'b Message>),
        appended: impl IntoIterator<Item = &'a Message>,
        rates: &Rates,
    ) -> Price {
        let cut = Cut::at(tree, target);
        let measure = Measure::new(tree, cut.position);
        let stays = measure.tokens(note.len() as u64 + copies.map(bytes_of).sum::<u64>());
        let leaves = measure.tokens(appended.into_iter().map(bytes_of).sum());
        Price::measured(tree, &cut, &measure, (stays, leaves), rates)
    }

    /// Returns the price of leaving out what these nodes of the trunk hold.
    pub(crate) fn without(tree: &MessageTree, nodes: &[NodeId], rates: &Rates) -> Price {
        let first = nodes.iter().filter(|node| tree.is_on_trunk(**node)).min_by_key(|node| node.index());
        let before = first.and_then(|first| tree.node(*first).ok()?.parent()).unwrap_or(tree.head());
        let cut = Cut::at(tree, before);
        let measure = Measure::new(tree, cut.position);
        let messages = nodes.iter().filter_map(|id| tree.node(*id).ok()).map(|node| node.message());
        let (mut leaves, mut stays) = (0_u64, 0_u64);
        for message in messages {
            leaves += bytes_of(message);
            stays += message.results().count() as u64 * LINE_BYTES;
        }
        let (kept, kept_exact) = measure.tokens_before(cut.position);
        let (whole, _) = measure.tokens_before(measure.end());
        let behind = whole.max(kept) - kept;
        let leaving = measure.tokens(leaves.saturating_sub(stays)).min(behind);
        let (cached, cached_exact) = measure.cached_before(cut.position, rates);
        let (cached_now, _) = measure.cached_before(measure.end(), rates);
        let recached = (kept - cached).saturating_add(behind - leaving);
        Price {
            leaving,
            kept,
            cached,
            recached,
            pays_after_turns: rates
                .pays_after((cached_now, whole.max(kept).saturating_sub(cached_now)), (cached, recached)),
            estimated: true,
            kept_estimated: !kept_exact,
            counted: measure.counted(),
            expected: Expected::new(cached, cached_exact, rates.grain, measure::reads(tree)),
        }
    }

    /// `stays` and `leaves` are tokens that no request has held yet.
    fn measured(
        tree: &MessageTree,
        cut: &Cut,
        measure: &Measure,
        (stays, leaves): (u64, u64),
        rates: &Rates,
    ) -> Price {
        let (kept, kept_exact) = measure.tokens_before(cut.position);
        let (whole, whole_exact) = measure.tokens_before(measure.end());
        let whole = whole.max(kept).saturating_add(leaves);

        let (cached, cached_exact) = measure.cached_before(cut.position, rates);
        let (cached_now, _) = measure.cached_before(measure.end(), rates);
        let uncovered = measure.tokens(cut.uncovered_bytes);
        let recached = (kept - cached).saturating_add(uncovered).saturating_add(stays);

        Price {
            leaving: whole - kept,
            kept,
            cached,
            recached,
            pays_after_turns: rates.pays_after((cached_now, whole - cached_now), (cached, recached)),
            estimated: !(kept_exact && whole_exact && leaves == 0),
            kept_estimated: !kept_exact,
            counted: measure.counted(),
            expected: Expected::new(cached, cached_exact, rates.grain, measure::reads(tree)),
        }
    }

    /// Returns what to keep for the next request, to be checked against its usage.
    pub fn expected(&self) -> Expected {
        self.expected
    }

    /// Returns the price on one line for a person; `~` stands before what is estimated.
    pub fn text(&self) -> String {
        let about = |estimated, count| format!("{}{}", if estimated { "~" } else { "" }, grouped(count));
        let pays = match self.pays_after_turns {
            Some(1) => "pays from the first turn".to_owned(),
            Some(turn) => format!("pays from turn {turn}"),
            None => "does not pay by its tokens alone".to_owned(),
        };
        let cached =
            if self.cached == 0 { "none".to_owned() } else { about(self.kept_estimated, self.cached) };
        format!(
            "{} prompt tokens leave, {} stay ({cached} of them cached), {} are read anew; {pays}",
            about(self.estimated, self.leaving),
            about(self.kept_estimated, self.kept),
            about(true, self.recached),
        )
    }
}

/// What the next request should read from the provider's cache.
///
/// Holds for one request of the same model with the same tools and instructions: drop it when one of them changes.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Expected {
    /// Tokens.
    pub read: u64,
    /// How many fewer are no miss: a fiftieth if `read` rests on reports, a quarter if it is estimated, and never less
    /// than one step of the cache.
    pub slack: u64,
    /// Whether the provider had reported reads from its cache for one of the newest 256 messages of the trunk that was left.
    pub read_before: bool,
}

impl Expected {
    fn new(read: u64, exact: bool, grain: CacheGrain, read_before: bool) -> Self {
        let step = if let CacheGrain::Steps(step) = grain { step } else { 0 };
        let share = if exact { read / 50 } else { read / 4 };
        Expected { read, slack: share.max(step), read_before }
    }

    /// Compares with what the provider reported for the next request; `None` if the cache held.
    ///
    /// A usage without input was not reported and says nothing. A provider that reports no read and did not lately
    /// does not cache, or does not tell: that is no miss either.
    pub fn check(&self, usage: &Usage) -> Option<CacheMiss> {
        let read = usage.cache_read_tokens;
        let silent = usage.input_tokens == 0 || (read == 0 && !self.read_before);
        let lost = self.read.saturating_sub(read);
        if silent || lost == 0 || lost <= self.slack {
            return None;
        }
        Some(CacheMiss { expected: self.read, read, lost })
    }
}

/// A provider read less from its cache than an unchanged prefix should have given.
///
/// The cache had expired, or the bytes before the revert's target changed after all.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CacheMiss {
    /// Tokens that should have come from the cache.
    pub expected: u64,
    /// Tokens that did.
    pub read: u64,
    /// The difference.
    pub lost: u64,
}

impl fmt::Display for CacheMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [expected, read, lost] = [self.expected, self.read, self.lost].map(grouped);
        write!(f, "cache miss: {expected} prompt tokens expected from the cache, {read} read, {lost} lost")
    }
}

/// Estimates the tokens of a text, at the ratio of bytes to tokens that the reports on this trunk show.
///
/// Without reports 4 bytes are a token. Anything but an empty text is at least one.
pub fn estimate_tokens(tree: &MessageTree, text: &str) -> u64 {
    Measure::new(tree, usize::MAX).tokens(text.len() as u64)
}

/// Returns a number with commas between thousands.
pub(crate) fn grouped(count: u64) -> String {
    if count < 1_000 {
        return count.to_string();
    }
    format!("{},{:03}", grouped(count / 1_000), count % 1_000)
}
