//! How large the trunk is, from what the provider has counted and what bytes show.
//!
//! Only the newest part is walked: up to the last report before the place where the revert goes.

use trunkline_message_tree::{
    Content, Covered, Message, MessageTree, NodeId, Part, Role, ToolResult, TrunkItem,
};

use super::{CacheGrain, Rates};
use crate::left_out::{LeftOut, State};

/// Bytes of UTF-8 per token where nothing better is known: the usual rule of thumb for English and code.
const BYTES_PER_TOKEN: u64 = 4;

/// A ratio that was measured on a trunk is believed from 1 byte per token up to this many.
pub(crate) const MOST_BYTES_PER_TOKEN: u64 = 16;

/// The newest items, in which the ratio is measured whatever the target, so that prices of two targets compare. What a service
/// reports of its cache is looked for in as many.
const CALIBRATED_ITEMS: usize = 256;

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
        // Nodes before it that a compaction stands for, less the one that is shown in their place.
        let mut missing = 0;
        for Covered { first, last, .. } in tree.trunk().covers() {
            // It is shown only when the trunk goes on behind its span.
            if first <= depth && depth <= last {
                let shown = tree.trunk().ids()[first..=depth].iter().filter_map(|id| tree.node(*id).ok());
                let uncovered_bytes = shown.map(|node| bytes_of(node.message())).sum();
                return Cut { position: first - missing, uncovered_bytes };
            }
            if last >= depth {
                break;
            }
            missing += last - first;
        }
        Cut { position: depth + 1 - missing, ..whole }
    }
}

/// The newest part of the trunk as it is sent, with what is known of its size.
pub(crate) struct Measure {
    /// The position of the first item that was walked; 0 if there is no report before it.
    from: usize,
    /// `bytes[i]` are those of the first `i` items that were walked.
    bytes: Vec<u64>,
    /// Reports: the position of an item and the tokens before it. Neither ever falls.
    points: Vec<(usize, u64)>,
    /// Where requests of the same model ended, in order.
    request_ends: Vec<usize>,
    ratio: Ratio,
}

impl Measure {
    /// Walks from the head back to the last report at or before `boundary`.
    pub(crate) fn new(tree: &MessageTree, boundary: usize) -> Measure {
        Measure::of(tree, &LeftOut::nothing(), boundary)
    }

    /// Likewise, of a trunk that is sent without some results. A report tells of the prompt as it is if nothing was left out since.
    /// If that holds for none, the newest is taken less what was left out since then.
    pub(crate) fn of(tree: &MessageTree, left_out: &LeftOut<'_>, boundary: usize) -> Measure {
        let (len, newest_first) = items(tree);
        let same = by_the_last_model(tree);
        let (mut sizes, mut points, mut request_ends): (_, Vec<(usize, u64)>, _) =
            (Vec::new(), Vec::new(), Vec::new());
        let mut calibration = Calibration::default();
        let mut walked = 0_u64;
        let mut above = u64::MAX;
        let mut out_since = 0;
        for (back, (id, message, is_current)) in newest_first.enumerate() {
            let (position, size) = (len - back - 1, left_out.bytes(id, message));
            sizes.push(size);
            // What came after the newest report is not in it.
            walked += if points.is_empty() { 0 } else { size };
            // Between two requests nothing was left out that came there.
            calibration.bytes += bytes_of(message);
            if is_current && same(message) {
                request_ends.push(position);
                let reported = message.usage.map_or(0, |usage| usage.input_tokens);
                let out_then = left_out.at(id);
                // A count above a later one is of a prompt that has shrunk since, or is false: the newest is believed.
                if (1..=above).contains(&reported) {
                    if back < CALIBRATED_ITEMS {
                        calibration.report(reported, out_then);
                    }
                    above = reported;
                    if points.is_empty() && out_then != left_out.now() {
                        out_since = left_out.since(tree, id);
                        points.push((position, reported));
                    } else if out_then == left_out.now() {
                        points.push((position, reported));
                    }
                }
            }
            // If the newest count is below what the walked bytes make, all bytes are needed.
            let newest = points.first().map_or(0, |(_, tokens)| *tokens);
            let believed = newest >= walked / MOST_BYTES_PER_TOKEN;
            let told = points.last().is_some_and(|(position, _)| *position <= boundary);
            if told && believed && back + 1 >= CALIBRATED_ITEMS {
                break;
            }
        }
        let ratio = calibration.ratio();
        if let Some((_, newest)) = points.first_mut() {
            *newest = newest.saturating_sub(ratio.tokens(out_since));
        }
        points.reverse();
        request_ends.reverse();
        let mut bytes = vec![0];
        bytes.extend(sizes.iter().rev().scan(0, |sum, size| {
            *sum += size;
            Some(*sum)
        }));
        Measure { from: len - sizes.len(), bytes, points, request_ends, ratio }
    }

    /// Estimates the tokens of so many bytes.
    pub(crate) fn tokens(&self, bytes: u64) -> u64 {
        self.ratio.tokens(bytes)
    }

    /// Returns the prompt of the last report.
    pub(crate) fn counted(&self) -> u64 {
        self.points.last().map_or(0, |(_, tokens)| *tokens)
    }

    /// Returns the number of items of the trunk.
    pub(crate) fn end(&self) -> usize {
        self.from + self.bytes.len() - 1
    }

    /// Returns how many tokens before an item are in the cache, and whether the provider counted them.
    pub(crate) fn cached_before(&self, position: usize, rates: &Rates) -> (u64, bool) {
        let position = position.min(self.end());
        let sent = self.request_ends[..self.request_ends.partition_point(|end| *end <= position)].last();
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

    /// Returns the tokens from one item up to another. A provider that counts less than the bytes can make is not believed:
    /// some count only what was not in their cache.
    pub(crate) fn tokens_between(&self, first: usize, end: usize) -> u64 {
        let counted = self.tokens_before(end).0.saturating_sub(self.tokens_before(first).0);
        counted.max(self.bytes_between(first, end) / MOST_BYTES_PER_TOKEN)
    }

    fn bytes_between(&self, first: usize, end: usize) -> u64 {
        let at = |position: usize| self.bytes.get(position.saturating_sub(self.from)).unwrap_or(&0);
        at(end).saturating_sub(*at(first))
    }

    /// Returns the tokens before an item, and whether the provider counted them. Never falls with the position.
    ///
    /// Never below what the bytes must make: some providers count only what was not in their cache.
    pub(crate) fn tokens_before(&self, position: usize) -> (u64, bool) {
        let position = position.min(self.end());
        let (tokens, counted) = self.told_before(position);
        let least = self.bytes_between(0, position) / MOST_BYTES_PER_TOKEN;
        (tokens.max(least), counted && tokens >= least)
    }

    /// Returns the same as the reports tell it.
    fn told_before(&self, position: usize) -> (u64, bool) {
        let next = self.points.get(self.points.partition_point(|(at, _)| *at < position));
        let last = self.points[..self.points.partition_point(|(at, _)| *at <= position)].last();
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

/// Tells what the model that wrote last on the trunk has written.
pub(crate) fn by_the_last_model(tree: &MessageTree) -> impl Fn(&Message) -> bool {
    let model = tree.trunk().messages().rev().find(|message| message.role == Role::Assistant);
    move |message| {
        let origins = model.map(|model| (&model.origin, &message.origin));
        message.role == Role::Assistant
            && origins.is_some_and(|origins| match origins {
                (Some(model), Some(wrote)) => wrote.agrees_with(model),
                (model, wrote) => model == wrote,
            })
    }
}

/// Returns whether the provider reported a read from its cache lately: for one of the newest 256 messages.
pub(crate) fn reads(tree: &MessageTree) -> bool {
    let same = by_the_last_model(tree);
    tree.trunk()
        .messages()
        .rev()
        .take(CALIBRATED_ITEMS)
        .any(|message| same(message) && message.usage.is_some_and(|usage| usage.cache_read_tokens > 0))
}

type Items<'a> = Box<dyn Iterator<Item = (NodeId, &'a Message, bool)> + 'a>;

/// Returns how many items the trunk has, and the items, newest first, each with whether a request that ended before it
/// had the same compactions in front as now.
fn items(tree: &MessageTree) -> (usize, Items<'_>) {
    if tree.covering().is_empty() {
        let newest_first = tree.trunk().ids().iter().zip(tree.trunk().messages()).rev();
        let newest_first = newest_first.map(|(id, message)| (*id, message, true));
        return (tree.trunk().ids().len(), Box::new(newest_first));
    }
    // What was lifted stood in the requests between its coming and the move.
    let lifted = tree.covering().iter().filter_map(|cover| {
        let on_trunk = tree.node(*cover).ok()?.parent().is_some_and(|end| tree.is_on_trunk(end));
        let by = tree.lifted_by(*cover).filter(|_| on_trunk)?;
        Some((*cover, tree.reflog().nth(by.index())?.newest))
    });
    let lifted: Vec<(NodeId, NodeId)> = lifted.collect();
    // Of the spans before each item only the youngest counts.
    let mut covers: Vec<(usize, NodeId)> = Vec::new();
    let mut missing = 0;
    for cover in tree.trunk().covers() {
        let youngest = covers.last().map_or(cover.by, |(_, youngest)| cover.by.max(*youngest));
        covers.push((cover.first, youngest));
        missing += cover.last - cover.first;
    }
    let mut depth = tree.trunk().ids().len();
    let shown = tree.trunk().items().rev().map(move |item| {
        depth = match item {
            TrunkItem::Cover { span, .. } => span.0,
            TrunkItem::Node(..) => depth - 1,
        };
        covers.truncate(covers.partition_point(|(first, _)| *first <= depth));
        // A covering node itself may bring a usage: of the request that made the summary, not of this trunk.
        let youngest = covers.last().map(|(_, youngest)| *youngest);
        let stood = |(cover, newest): &(NodeId, NodeId)| *cover < item.id() && item.id() <= *newest;
        (item.id(), item.message(), youngest < Some(item.id()) && !lifted.iter().any(stood))
    });
    (tree.trunk().ids().len() - missing, Box::new(shown))
}

/// Collects what the spans between reports say of bytes and tokens, newest first.
#[derive(Default)]
struct Calibration {
    /// Bytes since the last report.
    bytes: u64,
    /// The tokens of that, and what was left out of it.
    newer: Option<(u64, State)>,
    ratio: Ratio,
}

impl Calibration {
    fn report(&mut self, tokens: u64, out: State) {
        // The bytes include those of the message that brought the report: it stands in the later prompt.
        if let Some((newer, _)) = self.newer.filter(|(_, then)| *then == out) {
            self.ratio.bytes = self.ratio.bytes.saturating_add(self.bytes);
            self.ratio.tokens = self.ratio.tokens.saturating_add(newer.saturating_sub(tokens));
        }
        self.newer = Some((tokens, out));
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
struct Ratio {
    bytes: u64,
    tokens: u64,
}

impl Ratio {
    fn tokens(self, bytes: u64) -> u64 {
        saturated((u128::from(bytes) * u128::from(self.tokens)).div_ceil(u128::from(self.bytes.max(1))))
    }
}

/// Returns the bytes of a message that become tokens: no ids and signatures, and no pictures and documents, whose
/// tokens do not follow from their bytes.
pub(crate) fn bytes_of(message: &Message) -> u64 {
    let blocks = message.content.iter().map(|block| match block {
        Content::ToolResult(result) => result_bytes(result),
        Content::Text { text } | Content::Thinking { text, .. } => text.len() as u64,
        Content::RedactedThinking { data } => data.len() as u64,
        Content::ToolCall(call) => (call.name.len() + call.arguments.len()) as u64,
        Content::ServerCall { json, .. }
        | Content::ServerResult { json, .. }
        | Content::Opaque { json, .. } => json.len() as u64,
        Content::Image(_) | Content::Document(_) => 0,
    });
    blocks.sum()
}

/// The same of one result.
pub(crate) fn result_bytes(result: &ToolResult) -> u64 {
    result.content.iter().map(|part| part_bytes(part) as u64).sum()
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
