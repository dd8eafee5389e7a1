//! A session whose log says itself how its entries hang together: which one continues which, and where it goes on.
//!
//! A reader turns the records of its format into entries, in the order of the file; what the conversations are, and the
//! tree, follow from these for every format alike.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use trunkline_message_tree::{Message, Role, Timestamp, Usage};

use crate::conversation::{Conversation, Kind, LeftOut, Listed};
use crate::fault::{Fault, FaultKind};
use crate::source::{self, Source};

/// A session as it was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// The session's id.
    pub(crate) id: String,
    /// The title, if one was given.
    pub(crate) title: Option<String>,
    /// The folder that the agent worked in.
    pub(crate) cwd: Option<String>,
    /// The session that this one was copied from or works for, by its id.
    pub(crate) parent: Option<String>,
    /// When the file says that it began, for one in which nothing was said.
    pub(crate) started: Option<Timestamp>,
    /// Where each record of the file stands, in order. Blank lines and lines that are no records have none.
    pub(crate) records: Vec<Range<usize>>,
    /// Records that belong to the session as a whole, by position, such as its header and its title.
    pub(crate) labels: Vec<usize>,
    /// What was said, in the order of the file.
    pub(crate) entries: Vec<Entry>,
    /// The entry where the session goes on; none where nothing was said.
    pub(crate) head: Option<usize>,
    /// Whether a summary that stands among what a later compaction kept is sent with it.
    pub(crate) keeps_summaries: bool,
    /// The conversations, and the last entry of each.
    listed: Vec<Listed>,
    ends: Vec<Option<usize>>,
}

/// One message in its place.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The entry that it continues, which stands above it; none for the first of its kind.
    pub(crate) parent: Option<usize>,
    /// When it was written.
    pub(crate) at: Option<Timestamp>,
    /// The message; its node is set when a conversation is made of it.
    pub(crate) message: Message,
    /// Where it stands.
    pub(crate) source: Source,
    /// What it is in the session.
    pub(crate) part: Part,
}

/// What an entry is in its session.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Part {
    /// Something that was said.
    #[default]
    Said,
    /// The same words as those of an entry above, written once more, as after a compaction.
    Copy {
        /// That entry.
        of: usize,
    },
    /// A summary in place of the line that it continues.
    Compaction {
        /// The first entry of that line that is sent word for word all the same, behind the summary.
        kept: Option<usize>,
    },
    /// Goes on with the summary that the entry before it begins, and stands with it before what is sent word for word.
    MoreOfCompaction,
    /// Tells of a branch that was left.
    BranchSummary {
        /// The branch's last entry.
        of: Option<usize>,
    },
}

impl Log {
    /// Notes a record and returns its position.
    pub(crate) fn record(&mut self, range: Range<usize>) -> usize {
        self.records.push(range);
        self.records.len() - 1
    }

    /// Adds an entry and returns its position. A parent that is not above it is none.
    pub(crate) fn push(&mut self, mut entry: Entry) -> usize {
        let place = self.entries.len();
        entry.parent = entry.parent.filter(|parent| *parent < place);
        self.entries.push(entry);
        place
    }

    /// Finds the conversations: the one that goes on, what its compactions cover, newest first, and what was left, in the order of
    /// its ends in the file.
    pub(crate) fn finish(mut self) -> Self {
        let mut found = vec![(Kind::Main, self.head)];
        let mut met = vec![false; self.entries.len()];
        let mut end = self.head;
        while let Some(entry) = end.and_then(|at| self.entries.get(at)) {
            end.into_iter().for_each(|at| met[at] = true);
            end = entry.parent;
            if matches!(entry.part, Part::Compaction { .. }) {
                found.extend(end.map(|end| (Kind::Covered, Some(end))));
            }
        }
        let mut continued = vec![false; self.entries.len()];
        for parent in self.entries.iter().filter_map(|entry| entry.parent) {
            continued[parent] = true;
        }
        let ends = (0..self.entries.len()).filter(|at| !continued[*at] && !met[*at]);
        found.extend(ends.map(|end| (Kind::Branch, Some(end))));
        for (kind, end) in found {
            self.listed.push(Listed { id: self.id.clone(), kind });
            self.ends.push(end);
        }
        self
    }

    /// Returns the names of the conversations.
    pub(crate) fn listed(&self) -> &[Listed] {
        &self.listed
    }

    /// Returns the entries from the first to `end`.
    pub(crate) fn line(&self, end: usize) -> Vec<usize> {
        let up = std::iter::successors(Some(end), |at| self.entries.get(*at).and_then(|entry| entry.parent));
        let mut line: Vec<usize> = up.collect();
        line.reverse();
        line
    }

    /// Returns the entries of a conversation as they are sent: behind a compaction only what it kept, and the summary first.
    fn sent(&self, end: usize) -> Vec<usize> {
        let is_summary = |at: &usize| matches!(self.entries[*at].part, Part::Compaction { .. });
        // There can be as many summaries as entries: none is asked for what stands before another one.
        let (mut rest, mut next) = (Vec::new(), Some(end));
        while let Some(at) = next {
            rest.push(at);
            next = self.entries.get(at).and_then(|entry| entry.parent);
            if is_summary(&at) {
                break;
            }
        }
        rest.reverse();
        let kept = match self.entries[rest[0]].part {
            Part::Compaction { kept } => kept,
            _ => return rest,
        };
        let covered = next.filter(|_| kept.is_some()).map(|end| self.line(end)).unwrap_or_default();
        let kept = covered.iter().position(|at| Some(*at) == kept).and_then(|from| covered.get(from..));
        // Instructions that the record of the summary repeats stand before it, in place of those that it keeps.
        let is_system = |at: &usize| self.entries[*at].message.role == Role::System;
        let record = |at: &usize| &self.entries[*at].source.records;
        let leads = rest.get(1).is_some_and(|at| is_system(at) && record(at) == record(&rest[0]));
        let is_more = |at: &usize| self.entries[*at].part == Part::MoreOfCompaction;
        let is_dropped = |at: &usize| !self.keeps_summaries && (is_summary(at) || is_more(at));
        let kept = kept.unwrap_or_default().iter().filter(|at| !(is_dropped(at) || leads && is_system(at)));
        let more = rest.iter().skip(1).take_while(|at| is_more(at)).count();
        let (first, after) = rest.split_at(1 + usize::from(leads) + more);
        let (instructions, summary) =
            if leads { (first.get(1), first.get(..1)) } else { (None, Some(first)) };
        let summary = summary.unwrap_or_default();
        instructions.into_iter().chain(summary).chain(kept).chain(after).copied().collect()
    }

    /// Makes the messages of a conversation, and tells where they stand.
    pub(crate) fn conversation(&self, index: usize) -> Option<(Conversation, Vec<Source>)> {
        let (Listed { id, kind }, end) = (self.listed.get(index)?.clone(), *self.ends.get(index)?);
        let sent = end.map(|end| self.sent(end)).unwrap_or_default();
        let said = || sent.iter().map(|at| &self.entries[*at]);
        let messages = said().enumerate().map(|(place, entry)| {
            let mut message = entry.message.clone();
            message.node = source::node(place);
            message
        });
        let origin = said().rev().find_map(|entry| entry.message.origin.as_ref());
        let conversation = Conversation {
            id,
            title: self.title.clone().filter(|_| kind == Kind::Main),
            kind,
            cwd: self.cwd.clone(),
            model: origin.map(|origin| origin.model.clone()),
            started: said().filter_map(|entry| entry.at).min().or(self.started),
            ended: said().filter_map(|entry| entry.at).max().or(self.started),
            messages: messages.collect(),
        };
        Some((conversation, said().map(|entry| entry.source.clone()).collect()))
    }

    /// Returns what each answer took, without those that were written once more.
    pub(crate) fn usages(&self) -> impl Iterator<Item = Usage> {
        let own = self.entries.iter().filter(|entry| !matches!(entry.part, Part::Copy { .. }));
        own.filter_map(|entry| entry.message.usage)
    }

    /// Counts what is not in one conversation.
    pub(crate) fn left_out(&self, conversation: usize) -> LeftOut {
        let records = |at: &usize| self.entries[*at].source.records.iter().copied();
        let written = self.ends.get(conversation).copied().flatten();
        let line = written.map(|end| self.line(end)).unwrap_or_default();
        let mut met: HashSet<usize> =
            written.map(|end| self.sent(end)).iter().flatten().flat_map(records).collect();
        let written = met.len();
        let covered = line.iter().flat_map(records).filter(|record| met.insert(*record)).count();
        let all = 0..self.entries.len();
        let elsewhere =
            all.flat_map(|at| records(&at).collect::<Vec<_>>()).filter(|record| met.insert(*record)).count();
        let labels = self.labels.iter().filter(|label| met.insert(**label)).count();
        let told = written + covered + elsewhere + labels;
        LeftOut { covered, elsewhere, of_other_kinds: self.records.len().saturating_sub(told) }
    }
}

/// What is new in a file: types of records and fields that its reader does not know, each with the line where it was first
/// seen and how often.
#[derive(Debug, Default)]
pub(crate) struct News(HashMap<(String, Option<String>), (usize, usize)>);

impl News {
    /// Notes a record of a type that is not known.
    pub(crate) fn record(&mut self, line: usize, kind: &str) {
        self.note(line, kind, None);
    }

    /// Notes the fields of a record that are not among the known ones.
    pub(crate) fn fields<'f>(
        &mut self,
        line: usize,
        kind: &str,
        fields: impl IntoIterator<Item = &'f str>,
        known: &[&str],
    ) {
        for field in fields {
            if !known.contains(&field) {
                self.note(line, kind, Some(field));
            }
        }
    }

    fn note(&mut self, line: usize, kind: &str, field: Option<&str>) {
        /// A file can be made to have a new one on each line.
        const MOST: usize = 1_000;
        /// Longer names are cut.
        const LONGEST: usize = 100;
        let short = |text: &str| text.chars().take(LONGEST).collect::<String>();
        let key = (short(kind), field.map(short));
        if self.0.len() < MOST || self.0.contains_key(&key) {
            self.0.entry(key).or_insert((line, 0)).1 += 1;
        }
    }

    /// Reports all of it, in the order of the lines.
    pub(crate) fn report(self, faults: &mut Vec<Fault>) {
        let mut news: Vec<_> = self.0.into_iter().collect();
        news.sort_by(|(one, at), (other, there)| (at.0, one).cmp(&(there.0, other)));
        faults.extend(news.into_iter().map(|((name, field), (line, count))| {
            let kind = match field {
                None => FaultKind::UnknownRecord { name, count },
                Some(field) => FaultKind::UnknownField { record: name, field, count },
            };
            Fault { line, kind }
        }));
    }
}
