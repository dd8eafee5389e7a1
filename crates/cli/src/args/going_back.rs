//! What can be typed about going back: what is shown of branches that were left, for how long, and at which price.
//!
//! Each family of figures is one option, `--lessons turns=5,count=3`, so that the help stays one screen.

use clap::{Args, ValueEnum};
use trunkline_runtime::revert::{CacheGrain, Decay, PrunePolicy, Rates, RenderPolicy, StallPolicy};

use crate::args::figures::figures;

/// The heading of these options in a help.
pub(crate) const HEADING: &str = "Going back";

/// How the model goes back, and what it reads of what it left.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct GoingBack {
    /// Who says what a branch came to if the model left it without a word: its calls alone, or a model [default: mechanical]
    #[arg(long, value_name = "HOW")]
    pub(crate) summaries: Option<Summaries>,
    /// The model that says it, at the same service; needs --summaries model [default: the model of the run]
    #[arg(long, value_name = "MODEL")]
    pub(crate) summary_model: Option<String>,
    /// What a summary may cost: `tokens` to write, `bytes` of the branch to read [default: tokens=200,bytes=24000]
    #[arg(long, value_name = "FIGURES", value_parser = SummaryLimits::read)]
    pub(crate) summary_limits: Option<SummaryLimits>,
    /// How long what was learned is shown: `turns`, and the newest `count` always; `finding-turns` and `finding-count` for
    /// findings; `cache-minding` to go only when the cache is lost anyway, or `exact` [default: turns=5,count=3,exact]
    #[arg(long, value_name = "FIGURES", value_parser = Lessons::read)]
    pub(crate) lessons: Option<Lessons>,
    /// Leave long results of tools out of the prompt `after` so many turns, looked at `every` so many, if they have more than
    /// `bytes`; `off` for never, `on` for after=20,every=10,bytes=4000 [default: off]
    #[arg(long, value_name = "FIGURES", value_parser = Pruning::read)]
    pub(crate) prune: Option<Pruning>,
    /// What cached tokens cost, so that the price of going back is told: `read` and `write` in percent of a plain token,
    /// `minimum` tokens of a prompt that is cached, `steps` of tokens (else the ends of requests) [default: nothing is cached]
    #[arg(long, value_name = "FIGURES", value_parser = RevertPrice::read)]
    pub(crate) revert_price: Option<RevertPrice>,
    /// When the run counts as getting nowhere: after `turns` with nothing new, `failing` turns, `lessons` that repeat; or
    /// `off` [default: turns=4,failing=8,lessons=2]
    #[arg(long, value_name = "FIGURES", value_parser = Stall::read)]
    pub(crate) stall: Option<Stall>,
}

/// Who says what a branch came to.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Summaries {
    /// What was called there, and nothing more
    Mechanical,
    /// A model, after the step back; nothing waits for it but the end of the run, and that a few seconds
    Model,
}

/// A value with the text that it was read from, for commands that are printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Typed<T> {
    pub(crate) text: String,
    pub(crate) value: T,
}

/// What one summary may cost: tokens of output, and bytes of the branch.
pub(crate) type SummaryLimits = Typed<(u32, usize)>;
/// For how long notes are shown; the figures of [`RenderPolicy`] but for its pruning.
pub(crate) type Lessons = Typed<RenderPolicy>;
/// Which results are left out.
pub(crate) type Pruning = Typed<Option<PrunePolicy>>;
/// What cached tokens cost.
pub(crate) type RevertPrice = Typed<Rates>;
/// When a run gets nowhere.
pub(crate) type Stall = Typed<StallPolicy>;

impl SummaryLimits {
    /// What a summary may cost unless told.
    pub(crate) const DEFAULT: (u32, usize) = (200, 24_000);

    fn read(text: &str) -> Result<Self, String> {
        let figures = figures(text, &["tokens", "bytes"], &[])?;
        let (tokens, bytes) = Self::DEFAULT;
        let value = (figures.number("tokens", 1, tokens)?, figures.number("bytes", 200, bytes)?);
        Ok(Typed { text: text.to_owned(), value })
    }
}

impl Lessons {
    fn read(text: &str) -> Result<Self, String> {
        let known = ["turns", "count", "finding-turns", "finding-count"];
        let figures = figures(text, &known, &["cache-minding", "exact"])?;
        let mut value = RenderPolicy::default();
        value.lesson_window_turns = figures.number("turns", 0, value.lesson_window_turns)?;
        value.lesson_window_count = figures.number("count", 0, value.lesson_window_count)?;
        value.finding_window_turns = figures.number("finding-turns", 0, value.lesson_window_turns)?;
        value.finding_window_count = figures.number("finding-count", 0, value.lesson_window_count)?;
        value.decay = match figures.word() {
            Some("cache-minding") => Decay::CacheMinding,
            _ => Decay::Exact,
        };
        Ok(Typed { text: text.to_owned(), value })
    }
}

impl Pruning {
    fn read(text: &str) -> Result<Self, String> {
        let figures = figures(text, &["after", "every", "bytes"], &["on", "off"])?;
        let mut policy = PrunePolicy::default();
        policy.after_turns = figures.number("after", 1, policy.after_turns)?;
        policy.every_turns = figures.number("every", 1, policy.every_turns)?;
        policy.larger_than_bytes = figures.number("bytes", 0, policy.larger_than_bytes)?;
        let value = (figures.word() != Some("off")).then_some(policy);
        figures.alone("off")?;
        Ok(Typed { text: text.to_owned(), value })
    }
}

impl RevertPrice {
    fn read(text: &str) -> Result<Self, String> {
        let figures = figures(text, &["read", "write", "minimum", "steps"], &[])?;
        let read = figures.per_mille("read")?.ok_or(
            "`read` is missing: what a cached token costs, in percent of a plain one, such as read=10",
        )?;
        let write = figures.per_mille("write")?.unwrap_or(1_000);
        let minimum = figures.number("minimum", 0, 0_u64)?;
        let grain = match figures.has("steps") {
            true => CacheGrain::Steps(figures.number("steps", 1, 1_u64)?),
            false => CacheGrain::RequestEnds,
        };
        let value = Rates::new(read, write, minimum, grain, format!("--revert-price {text}"));
        Ok(Typed { text: text.to_owned(), value })
    }
}

impl Stall {
    fn read(text: &str) -> Result<Self, String> {
        let figures = figures(text, &["turns", "failing", "lessons"], &["off"])?;
        let mut value = StallPolicy::default();
        value.turns = figures.number("turns", 1, value.turns)?;
        value.failing_turns = figures.number("failing", 1, value.failing_turns)?;
        value.repeated_lessons = figures.number("lessons", 1, value.repeated_lessons)?;
        value.enabled = figures.word() != Some("off");
        figures.alone("off")?;
        Ok(Typed { text: text.to_owned(), value })
    }
}

impl GoingBack {
    /// Returns the flags that a next command needs to go on in the same way.
    pub(crate) fn flags(&self) -> Vec<(&'static str, String)> {
        let summaries = self.summaries.and_then(|how| how.to_possible_value());
        let text = |of: Option<&str>| of.map(str::to_owned);
        let all = [
            ("--summaries", summaries.map(|how| how.get_name().to_owned())),
            ("--summary-model", self.summary_model.clone()),
            ("--summary-limits", text(self.summary_limits.as_ref().map(|typed| typed.text.as_str()))),
            ("--lessons", text(self.lessons.as_ref().map(|typed| typed.text.as_str()))),
            ("--prune", text(self.prune.as_ref().map(|typed| typed.text.as_str()))),
            ("--revert-price", text(self.revert_price.as_ref().map(|typed| typed.text.as_str()))),
            ("--stall", text(self.stall.as_ref().map(|typed| typed.text.as_str()))),
        ];
        all.into_iter().filter_map(|(flag, value)| Some((flag, value?))).collect()
    }
}
