//! What a revert costs and saves in prompt tokens, and whether the provider's cache did what was expected.
//!
//! Counts come from the provider: the `input_tokens` of an assistant message are the whole prompt before it, tools and
//! notes included, so two reports on the trunk give the exact size of what stands between them. Everything else is
//! estimated, and the result says so.
//!
//! Prices and minimum sizes change with every model and are arguments, see [`Rates`].

use std::fmt;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{
    Content, Message, MessageTree, NodeId, Part, Role, ToolResult, TrunkItem, Usage,
};

use crate::Plan;

/// Bytes of UTF-8 per token where nothing better is known: the usual rule of thumb for English and code.
const BYTES_PER_TOKEN: u64 = 4;

/// A ratio that was measured on a trunk is believed from 1 byte per token up to this many.
const MOST_BYTES_PER_TOKEN: u64 = 16;

/// The newest items, in which the ratio is measured whatever the target, so that prices of two targets compare.
const CALIBRATED_ITEMS: usize = 256;

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
    /// [`estimate_tokens`] gives it. What the turn appends after the plan is not counted.
    ///
    /// It is assumed that the cache is warm, that every request was sent with caching as `rates` say, and that both
    /// ways go on with the same messages. What no request has held yet is not cached, whether it stays or leaves. Two
    /// kinds of counts are not used: those of a model other than the one that wrote last, and those from before a
    /// compaction that now stands in front. A note that decayed or a result that was pruned since is still in the older
    /// counts. Pictures and documents count only where a report holds them.
    ///
    /// Costs one step per message that leaves and on to the last report before them, at least 256; on a trunk with
    /// compactions or without reports, one per message.
    pub fn of(tree: &MessageTree, plan: &Plan, note_tokens: u64, rates: &Rates) -> Price {
        let cut = Cut::at(tree, plan.target);
        let measure = Measure::new(tree, cut.position);
        let (kept, kept_exact) = measure.tokens_before(cut.position);
        let (whole, whole_exact) = measure.tokens_before(measure.end());
        let whole = whole.max(kept);

        let (cached, cached_exact) = measure.cached_before(cut.position, rates);
        let (cached_now, _) = measure.cached_before(measure.end(), rates);
        let uncovered = measure.ratio.tokens(cut.uncovered_bytes);
        let recached = (kept - cached).saturating_add(uncovered).saturating_add(note_tokens);

        Price {
            leaving: whole - kept,
            kept,
            cached,
            recached,
            pays_after_turns: rates.pays_after((cached_now, whole - cached_now), (cached, recached)),
            estimated: !(kept_exact && whole_exact),
            kept_estimated: !kept_exact,
            counted: measure.points.last().map_or(0, |(_, tokens)| *tokens),
            expected: Expected::new(cached, cached_exact, rates.grain, measure.reads),
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
    /// Whether the provider had reported reads from its cache on the trunk that was left.
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
    /// A usage without input was not reported and says nothing. A provider that reports no read and never did on this
    /// trunk does not cache, or does not tell: that is no miss either.
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
    Measure::new(tree, usize::MAX).ratio.tokens(text.len() as u64)
}

/// Where the prompt of now and the one after the revert part.
pub(crate) struct Cut {
    /// The first item that leaves.
    pub(crate) position: usize,
    /// Nodes up to the target that a compaction stood for and that are sent themselves again. At most: an older
    /// compaction inside may stand for some of them.
    pub(crate) uncovered_bytes: u64,
}

impl Cut {
    pub(crate) fn at(tree: &MessageTree, target: NodeId) -> Cut {
        let whole = Cut { position: usize::MAX, uncovered_bytes: 0 };
        let Some(target) = tree.node(target).ok().filter(|_| tree.is_on_trunk(target)) else { return whole };
        let depth = target.depth();
        if tree.covering().is_empty() {
            return Cut { position: depth + 1, ..whole };
        }
        for (position, item) in tree.trunk().items().enumerate() {
            match item {
                TrunkItem::Node(_, node) if node.depth() > depth => return Cut { position, ..whole },
                // It is shown only when the trunk goes on behind its span.
                TrunkItem::Cover { span: (first, last), .. } if last >= depth => {
                    let shown = tree.trunk().messages().skip(first).take((depth + 1).saturating_sub(first));
                    return Cut { position, uncovered_bytes: shown.map(bytes_of).sum() };
                }
                _ => {}
            }
        }
        whole
    }
}

/// The newest part of the trunk as it is sent, with what is known of its size.
pub(crate) struct Measure {
    /// The position of the first item that was walked; 0 if there is no report before it.
    from: usize,
    /// `bytes[i]` are those of the first `i` items that were walked.
    bytes: Vec<u64>,
    /// Reports: the position of an item and the tokens before it. Neither ever falls.
    pub(crate) points: Vec<(usize, u64)>,
    /// Where requests of the same model ended, in order.
    request_ends: Vec<usize>,
    pub(crate) ratio: Ratio,
    /// Whether the provider ever reported a read.
    reads: bool,
}

impl Measure {
    /// Walks from the head back to the last report at or before `boundary`.
    pub(crate) fn new(tree: &MessageTree, boundary: usize) -> Measure {
        let (len, newest_first) = items(tree);
        let messages = || tree.trunk().messages().rev();
        let model = messages().find(|message| message.role == Role::Assistant);
        let same = |message: &Message| {
            message.role == Role::Assistant && model.is_some_and(|model| model.origin == message.origin)
        };

        let (mut sizes, mut points, mut request_ends) = (Vec::new(), Vec::new(), Vec::new());
        let mut calibration = Calibration::default();
        let mut above = u64::MAX;
        for (back, (message, is_current)) in newest_first.enumerate() {
            let (position, size) = (len - back - 1, bytes_of(message));
            sizes.push(size);
            calibration.bytes += size;
            if !is_current || !same(message) {
                continue;
            }
            request_ends.push(position);
            let reported = message.usage.map_or(0, |usage| usage.input_tokens);
            // A count above a later one is of a prompt that has shrunk since, or is false: the newest is believed.
            if (1..=above).contains(&reported) {
                if back < CALIBRATED_ITEMS {
                    calibration.report(reported);
                }
                above = reported;
                points.push((position, reported));
                if position <= boundary && back + 1 >= CALIBRATED_ITEMS {
                    break;
                }
            }
        }
        points.reverse();
        request_ends.reverse();
        let mut bytes = vec![0];
        bytes.extend(sizes.iter().rev().scan(0, |sum, size| {
            *sum += size;
            Some(*sum)
        }));
        Measure {
            from: len - sizes.len(),
            bytes,
            points,
            request_ends,
            ratio: calibration.ratio(),
            reads: messages().any(|message| {
                same(message) && message.usage.is_some_and(|usage| usage.cache_read_tokens > 0)
            }),
        }
    }

    /// Returns the number of items of the trunk.
    pub(crate) fn end(&self) -> usize {
        self.from + self.bytes.len() - 1
    }

    /// Returns how many tokens before an item are in the cache, and whether the provider counted them.
    fn cached_before(&self, position: usize, rates: &Rates) -> (u64, bool) {
        let position = position.min(self.end());
        let sent = self.request_ends.iter().rev().find(|end| **end <= position);
        let sent = sent.map_or((0, true), |end| self.tokens_before(*end));
        let (tokens, exact) = match rates.grain {
            CacheGrain::RequestEnds => sent,
            CacheGrain::Steps(step) => {
                // What no request has held yet cannot be cached.
                let all_sent = self.request_ends.last().is_some_and(|end| *end >= position);
                let (tokens, exact) = if all_sent { self.tokens_before(position) } else { sent };
                (tokens - tokens % step.max(1), exact)
            }
        };
        (if tokens < rates.minimum_tokens { 0 } else { tokens }, exact)
    }

    fn bytes_between(&self, first: usize, end: usize) -> u64 {
        let at = |position: usize| self.bytes.get(position.saturating_sub(self.from)).unwrap_or(&0);
        at(end).saturating_sub(*at(first))
    }

    /// Returns the tokens before an item, and whether the provider counted them. Never falls with the position.
    pub(crate) fn tokens_before(&self, position: usize) -> (u64, bool) {
        let position = position.min(self.end());
        let next = self.points.iter().find(|(at, _)| *at >= position);
        let last = self.points.iter().rev().find(|(at, _)| *at <= position);
        match (last, next) {
            (Some((at, tokens)), _) if *at == position => (*tokens, true),
            // Between two reports the sum is known and shared out by bytes.
            (Some((first, before)), Some((end, after))) => {
                let (part, all) = (self.bytes_between(*first, position), self.bytes_between(*first, *end));
                let share = u128::from(after - before) * u128::from(part) / u128::from(all.max(1));
                (before.saturating_add(saturated(share)), false)
            }
            // Tools stand at the very front and have no bytes here, so the first report is taken from its end.
            (None, Some((end, after))) => {
                (after.saturating_sub(self.ratio.tokens(self.bytes_between(position, *end))), false)
            }
            (Some((first, before)), None) => {
                let bytes = self.bytes_between(*first, position);
                (before.saturating_add(self.ratio.tokens(bytes)), bytes == 0)
            }
            (None, None) => (self.ratio.tokens(self.bytes_between(0, position)), false),
        }
    }
}

/// Returns how many items the trunk has, and the items, newest first, each with whether a request that ended before it
/// had the same compactions in front as now.
fn items(tree: &MessageTree) -> (usize, Box<dyn Iterator<Item = (&Message, bool)> + '_>) {
    if tree.covering().is_empty() {
        let newest_first = tree.trunk().messages().rev().map(|message| (message, true));
        return (tree.trunk().ids().len(), Box::new(newest_first));
    }
    let mut youngest_cover = None;
    let shown = tree.trunk().items().map(|item| {
        // A covering node itself may bring a usage: of the request that made the summary, not of this trunk.
        if let TrunkItem::Cover { id, .. } = item {
            youngest_cover = youngest_cover.max(Some(id));
        }
        (item.message(), youngest_cover < Some(item.id()))
    });
    let shown: Vec<(&Message, bool)> = shown.collect();
    (shown.len(), Box::new(shown.into_iter().rev()))
}

/// Collects what the spans between reports say of bytes and tokens, newest first.
#[derive(Default)]
struct Calibration {
    /// Bytes since the last report.
    bytes: u64,
    newer: Option<u64>,
    ratio: Ratio,
}

impl Calibration {
    fn report(&mut self, tokens: u64) {
        // The bytes include those of the message that brought the report: it stands in the later prompt.
        if let Some(newer) = self.newer {
            self.ratio.bytes = self.ratio.bytes.saturating_add(self.bytes);
            self.ratio.tokens = self.ratio.tokens.saturating_add(newer.saturating_sub(tokens));
        }
        self.newer = Some(tokens);
        self.bytes = 0;
    }

    fn ratio(self) -> Ratio {
        let Ratio { bytes, tokens } = self.ratio;
        let believed = tokens > 0 && tokens <= bytes && bytes / tokens <= MOST_BYTES_PER_TOKEN;
        if believed { self.ratio } else { Ratio { bytes: BYTES_PER_TOKEN, tokens: 1 } }
    }
}

/// So many bytes make so many tokens.
#[derive(Copy, Clone, Default)]
pub(crate) struct Ratio {
    bytes: u64,
    tokens: u64,
}

impl Ratio {
    pub(crate) fn tokens(self, bytes: u64) -> u64 {
        saturated((u128::from(bytes) * u128::from(self.tokens)).div_ceil(u128::from(self.bytes.max(1))))
    }
}

/// Returns the bytes of a message that become tokens: no ids and signatures, and no pictures and documents, whose
/// tokens do not follow from their bytes.
fn bytes_of(message: &Message) -> u64 {
    let blocks = message.content.iter().map(|block| match block {
        Content::Text { text } | Content::Thinking { text, .. } => text.len(),
        Content::RedactedThinking { data } => data.len(),
        Content::ToolCall(call) => call.name.len() + call.arguments.len(),
        Content::ToolResult(ToolResult { content, .. }) => content.iter().map(part_bytes).sum(),
        Content::ServerCall { json, .. }
        | Content::ServerResult { json, .. }
        | Content::Opaque { json, .. } => json.len(),
        Content::Image(_) | Content::Document(_) => 0,
    });
    blocks.map(|bytes| bytes as u64).sum()
}

fn part_bytes(part: &Part) -> usize {
    match part {
        Part::Text { text } => text.len(),
        Part::Opaque { json, .. } => json.len(),
        Part::Image(_) | Part::Document(_) => 0,
    }
}

fn saturated(count: u128) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Returns a number with commas between thousands.
pub(crate) fn grouped(count: u64) -> String {
    if count < 1_000 {
        return count.to_string();
    }
    format!("{},{:03}", grouped(count / 1_000), count % 1_000)
}
