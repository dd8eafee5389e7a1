//! Holds what writers were told against what is there.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use trunkline_session_store::{Digest, Durability, Kept, SessionId};

use super::client::THERE;
use super::follower::Followed;
use super::journal::{Ack, Event, Journal, Nap, Told};
use super::nodes::{Left, Sample};

/// What came out of a run.
pub(crate) struct Run {
    pub(crate) synchronous: bool,
    pub(crate) begun: Instant,
    pub(crate) journals: Vec<Journal>,
    /// When the client was stopped that has a process of its own.
    pub(crate) naps: Vec<Nap>,
    pub(crate) followed: Vec<Followed>,
    pub(crate) samples: Vec<Sample>,
    /// The timelines that were left, and the last.
    pub(crate) histories: (Vec<Left>, u32),
    pub(crate) logs: Vec<(SessionId, Vec<Kept>)>,
}

/// What became of receipts that hold no more.
#[derive(Default)]
struct Losses {
    /// Flushed, committed, buffered.
    levels: [usize; 3],
    /// The writer heard it from its next call.
    told: usize,
    /// It had been told that its lease has ended, and they were lost after that.
    fenced: usize,
    /// It made no call under that lease since.
    not_asked: usize,
    /// Its next call succeeded.
    untold: Vec<String>,
    /// It had reached the node that took over.
    replicated: Vec<String>,
    /// Receipts that hold, of which a writer was told that they do not.
    wrongly: Vec<String>,
}

/// A lease of a writer.
struct Claimed<'a> {
    writer: u32,
    session: &'a SessionId,
    token: u64,
    begun: Instant,
    at: Instant,
    /// What was written under it is in the log.
    has_left_records: bool,
}

impl Run {
    /// Prints figures and verdicts; returns whether every promise was kept.
    pub(crate) fn print(&self) -> bool {
        let (left, last) = &self.histories;
        let losses = self.losses();
        let longest = self.longest();
        let fenced = self.events().filter(|event| matches!(event, Event::Fenced { .. })).count();
        let [flushed, committed, buffered] = self.acknowledged();
        let [lost, lost_committed, lost_buffered] = losses.levels;
        println!("fail-overs             {} (the last timeline is {last})", left.len());
        println!("records acknowledged   {flushed} flushed, {committed} committed, {buffered} buffered");
        println!(
            "lost                   {lost} flushed, {lost_committed} committed, {lost_buffered} buffered"
        );
        println!(
            "of these writers       told {}, fenced before {}, made no call since {}, not told {}",
            losses.told,
            losses.fenced,
            losses.not_asked,
            losses.untold.len()
        );
        println!("fenced writers         {fenced}");
        println!("longest pause          {:.1} s", longest.as_secs_f64());
        for nap in &self.naps {
            println!("client stopped         {:.1} s, {}", nap.slept.as_secs_f64(), self.after(nap));
        }
        println!(
            "followers              {} times the log was another",
            self.followed.iter().map(|followed| followed.replaced).sum::<u32>()
        );
        let mut kept = true;
        let mut check = |name: &str, found: &[String]| {
            kept &= found.is_empty();
            println!("{}  {name}: {}", if found.is_empty() { "ok   " } else { "FAIL " }, found.len());
            found.iter().take(5).for_each(|one| println!("      {one}"));
        };
        if self.synchronous {
            check("flushed records lost", &self.lost_flushed());
        }
        check("records lost although they were replicated", &losses.replicated);
        check("writers not told that a receipt holds no more", &losses.untold);
        check("writers told so of a receipt that holds", &losses.wrongly);
        check("records written twice", &self.twice());
        check("forks of a log", &self.forks());
        check("tokens that went back", &self.tokens());
        check("followers that ended with another log", &self.other_logs());
        check("answers that nobody expects", &self.odd());
        kept
    }

    /// The longest time from the first try of a batch to its receipt, without the time that its process was stopped.
    fn longest(&self) -> Duration {
        let waited = |ack: &Ack| {
            let began = ack.at.checked_sub(ack.waited).unwrap_or(ack.at);
            let both = |nap: &Nap| {
                let (from, to) = (began.max(nap.from), ack.at.min(nap.from + nap.slept));
                to.saturating_duration_since(from)
            };
            let naps = self.naps.iter().filter(|_| Self::of_client(ack));
            ack.waited.saturating_sub(naps.map(both).sum())
        };
        self.acks().map(waited).max().unwrap_or_default()
    }

    fn of_client(ack: &Ack) -> bool {
        let writer = ack.label.split('-').next().and_then(|number| number.parse().ok());
        writer.is_some_and(|writer| THERE.contains(&writer))
    }

    /// Tells what the writers of a client were told first after they woke.
    fn after(&self, nap: &Nap) -> String {
        let woken = nap.from + nap.slept.saturating_sub(Duration::from_millis(100));
        let mut counts = BTreeMap::new();
        for journal in self.journals.iter().filter(|journal| THERE.contains(&journal.writer)) {
            let first = journal.events.iter().find_map(|event| match event {
                Event::Claimed { at, .. } if *at >= woken => Some("claimed a session"),
                Event::Kept(ack) if ack.at >= woken => Some("went on"),
                Event::Lost { at, .. } if *at >= woken => Some("told of a loss"),
                Event::Fenced { at, .. } if *at >= woken => Some("fenced"),
                _ => None,
            });
            *counts.entry(first.unwrap_or("made no call since")).or_insert(0) += 1;
        }
        let words = counts.iter().map(|(what, count)| format!("{count} {what}"));
        format!("then of its writers {}", words.collect::<Vec<String>>().join(", "))
    }

    fn events(&self) -> impl Iterator<Item = &Event> {
        self.journals.iter().flat_map(|journal| &journal.events)
    }

    fn acks(&self) -> impl Iterator<Item = &Ack> {
        self.events().filter_map(|event| match event {
            Event::Kept(ack) => Some(ack),
            _ => None,
        })
    }

    fn acknowledged(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        self.acks().for_each(|ack| counts[level(ack)] += 1);
        counts
    }

    /// Whether a receipt still holds.
    fn holds(&self, ack: &Ack) -> bool {
        let log = self.logs.iter().find(|(session, _)| *session == ack.session);
        let place = usize::try_from(ack.seq).unwrap_or(usize::MAX).wrapping_sub(1);
        log.and_then(|(_, log)| log.get(place)).is_some_and(|kept| kept.digest == ack.digest)
    }

    fn lost_flushed(&self) -> Vec<String> {
        let flushed = self.acks().filter(|ack| ack.level == Durability::Flushed);
        flushed.filter(|ack| !self.holds(ack)).map(told).collect()
    }

    fn losses(&self) -> Losses {
        let mut losses = Losses::default();
        for journal in &self.journals {
            // Receipts under the current lease of each session that are gone, and of which nothing was said yet.
            let mut open: BTreeMap<&SessionId, Vec<&Ack>> = BTreeMap::new();
            let mut sound: BTreeMap<&SessionId, Vec<&Ack>> = BTreeMap::new();
            for event in &journal.events {
                match event {
                    Event::Claimed { session, .. } => {
                        losses.not_asked += open.remove(session).map_or(0, |acks| acks.len());
                        sound.remove(session);
                    }
                    Event::Kept(ack) => {
                        let gone = open.remove(&ack.session).unwrap_or_default();
                        let later = !self.holds(ack);
                        // It stands on what came before it: then both went together, later.
                        let (with_it, untold): (Vec<&Ack>, Vec<&Ack>) =
                            gone.into_iter().partition(|earlier| later && earlier.seq < ack.seq);
                        losses.untold.extend(untold.into_iter().map(told));
                        if later {
                            losses.levels[level(ack)] += 1;
                            // What is only in line is in no server's log yet.
                            if let Some(why) = self.replicated(ack.at).filter(|_| level(ack) < 2) {
                                losses.replicated.push(format!("{}, {why}", told(ack)));
                            }
                            let open = open.entry(&ack.session).or_default();
                            open.extend(with_it);
                            open.push(ack);
                        } else {
                            sound.entry(&ack.session).or_default().push(ack);
                        }
                    }
                    Event::Lost { session, told: said, .. } => {
                        let gone = open.remove(session).unwrap_or_default();
                        let covered = |ack: &Ack| match said {
                            Told::From(from) => ack.seq >= *from,
                            Told::Acknowledged(_) => true,
                        };
                        let (heard, not): (Vec<&Ack>, Vec<&Ack>) =
                            gone.into_iter().partition(|ack| covered(ack));
                        losses.told += heard.len();
                        if !not.is_empty() {
                            open.insert(session, not);
                        }
                        let named = |ack: &&&Ack| match said {
                            Told::From(from) => ack.seq >= *from,
                            Told::Acknowledged(seq) => ack.seq == *seq,
                        };
                        let wrongly = sound.get(session).into_iter().flatten().filter(named);
                        losses.wrongly.extend(wrongly.map(|ack| told(ack)));
                    }
                    Event::Fenced { session, at } => {
                        let gone = open.remove(session).unwrap_or_default();
                        let (after, before): (Vec<&Ack>, Vec<&Ack>) =
                            gone.into_iter().partition(|ack| self.was_lost_by(ack.at, *at));
                        losses.fenced += before.len();
                        losses.untold.extend(after.into_iter().map(told));
                    }
                    Event::Odd(_) => {}
                }
            }
            losses.not_asked += open.values().map(Vec::len).sum::<usize>();
        }
        losses
    }

    /// Tells why what was acknowledged at a moment stands in the part of a timeline that the next one goes on from, if it does.
    fn replicated(&self, at: Instant) -> Option<String> {
        let (left, last) = &self.histories;
        let nexts = left.iter().skip(1).map(|left| left.timeline).chain([*last]);
        let since = |at: Instant| at.saturating_duration_since(self.begun).as_secs_f64();
        let found = left.iter().zip(nexts).find_map(|(left, next)| {
            // One that had not begun has nothing of it.
            self.first_seen(left.timeline).filter(|first| *first <= at)?;
            let next = self.first_seen(next);
            let known = self
                .of(left.timeline)
                .filter(|sample| sample.end <= left.end && next.is_none_or(|next| sample.at < next))
                .max_by_key(|sample| sample.at)
                .filter(|known| at < known.at)?;
            let (timeline, end) = (left.timeline, left.end);
            Some(format!(
                "acknowledged at {:.2} s; timeline {timeline} was left at {end:X} and had come to {:X} at {:.2} s",
                since(at),
                known.end,
                since(known.at)
            ))
        });
        found.filter(|_| !self.in_doubt(at))
    }

    /// Whether a record that was acknowledged at one moment, and is lost, was lost at another one already.
    fn was_lost_by(&self, acknowledged: Instant, at: Instant) -> bool {
        let (left, last) = &self.histories;
        let nexts = left.iter().skip(1).map(|left| left.timeline).chain([*last]);
        let taken_over = nexts.filter_map(|next| self.first_seen(next)).find(|next| acknowledged < *next);
        taken_over.is_some_and(|taken_over| taken_over < at) && !self.in_doubt(at)
    }

    /// Whether two nodes thought at that moment that they lead: then it is not known who gave a receipt.
    fn in_doubt(&self, at: Instant) -> bool {
        let (left, last) = &self.histories;
        let nexts = left.iter().skip(1).map(|left| left.timeline).chain([*last]);
        left.iter().zip(nexts).any(|(left, next)| {
            let next = self.first_seen(next);
            let old = self.of(left.timeline).map(|sample| sample.at).max();
            next.zip(old).is_some_and(|(next, old)| next <= at && at <= old + Duration::from_secs(1))
        })
    }

    fn of(&self, timeline: u32) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |sample| sample.timeline == timeline)
    }

    fn first_seen(&self, timeline: u32) -> Option<Instant> {
        self.of(timeline).map(|sample| sample.at).min()
    }

    fn twice(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let labels = self.logs.iter().flat_map(|(_, log)| log.iter().skip(1));
        labels.filter(|kept| !seen.insert(&kept.body)).map(|kept| kept.body.clone()).collect()
    }

    /// Numbers for which several records were acknowledged: with one of them lost that is told elsewhere, but where writes
    /// are synchronous it cannot be.
    fn forks(&self) -> Vec<String> {
        let mut first: BTreeMap<(&SessionId, u64), Digest> = BTreeMap::new();
        let mut forks = Vec::new();
        for ack in self.acks() {
            if self.synchronous && ack.level != Durability::Flushed {
                continue;
            }
            let digest = *first.entry((&ack.session, ack.seq)).or_insert(ack.digest);
            if digest != ack.digest && self.synchronous {
                forks.push(told(ack));
            }
        }
        for (session, log) in &self.logs {
            let broken = log.windows(2).find(|pair| match pair {
                [one, other] => other.seq != one.seq + 1,
                _ => false,
            });
            forks.extend(broken.map(|_| format!("the log of {session} has a gap")));
        }
        forks
    }

    /// Leases that were given after another one, with a smaller token. Where a server takes over that had not received all,
    /// its predecessor may still believe that it leads: what that gives to those who have not met the other one is lost.
    fn tokens(&self) -> Vec<String> {
        let mut claims: Vec<Claimed> =
            self.journals.iter().flat_map(|journal| self.claims(journal)).collect();
        claims.sort_by_key(|claim| claim.begun);
        let mut back = Vec::new();
        for (place, claim) in claims.iter().enumerate() {
            let earlier = claims
                .iter()
                .take(place)
                .filter(|other| other.session == claim.session && other.at < claim.begun);
            let Some(most) = earlier.max_by_key(|other| other.token).filter(|most| most.token >= claim.token)
            else {
                continue;
            };
            let excused = !self.synchronous
                && most.writer != claim.writer
                && !claim.has_left_records
                && self.in_doubt(claim.at);
            if !excused {
                let Claimed { session, token, writer, .. } = claim;
                back.push(format!("{session}: {token} of writer {writer} after {}", most.token));
            }
        }
        back
    }

    /// The leases of a writer.
    fn claims<'a>(&self, journal: &'a Journal) -> Vec<Claimed<'a>> {
        let mut claims: Vec<Claimed<'a>> = Vec::new();
        for event in &journal.events {
            match event {
                Event::Claimed { session, token, begun, at } => claims.push(Claimed {
                    writer: journal.writer,
                    session,
                    token: *token,
                    begun: *begun,
                    at: *at,
                    has_left_records: false,
                }),
                Event::Kept(ack) if self.holds(ack) => {
                    if let Some(claim) = claims.last_mut() {
                        claim.has_left_records = true;
                    }
                }
                _ => {}
            }
        }
        claims
    }

    fn other_logs(&self) -> Vec<String> {
        let differs = |followed: &&Followed| {
            let log = self.logs.iter().find(|(session, _)| *session == followed.session);
            let digests = log.map(|(_, log)| log.iter().map(|kept| kept.digest)).into_iter().flatten();
            !digests.eq(followed.digests.iter().copied())
        };
        self.followed.iter().filter(differs).map(|followed| followed.session.to_string()).collect()
    }

    fn odd(&self) -> Vec<String> {
        let of_writers = self.journals.iter().flat_map(|journal| {
            journal.events.iter().filter_map(|event| match event {
                Event::Odd(what) => Some(format!("writer {}: {what}", journal.writer)),
                _ => None,
            })
        });
        of_writers.chain(self.followed.iter().flat_map(|followed| followed.odd.clone())).collect()
    }
}

fn level(ack: &Ack) -> usize {
    match ack.level {
        Durability::Flushed => 0,
        Durability::Committed => 1,
        Durability::Buffered => 2,
    }
}

fn told(ack: &Ack) -> String {
    let Ack { session, label, seq, level, .. } = ack;
    format!("record {seq} of {session}, {label:?}, {level}")
}
