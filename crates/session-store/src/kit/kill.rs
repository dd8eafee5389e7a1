//! Writers that are killed: nothing that they were promised may be missing.
//!
//! A writer is a process of its own that runs [`write_for_ever`] and tells on its standard output what was acknowledged.
//! A killed process tests the death of processes only: what the loss of power leaves behind is another matter.

use std::convert::Infallible;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use trunkline_message_tree::{Entry, Timestamp};

use super::chance::Chance;
use super::contract::soon;
use super::made::*;
use super::verdict::{Broken, Verdict, brief, guard, words};
use super::{Figures, Options, Place, Promise, Report, Subject};
use crate::{
    Batch, Claim, Digest, Durability, InboxId, LetterState, Receipt, Record, SessionStore, StoreError,
};

/// Begins each line that is for the kit. What a test harness writes may stand before it.
const MARK: &str = "kit-report ";

/// Writes to a session that the kit has made, and tells on the standard output what was acknowledged: what the process
/// has to run that [`Place::writer`] starts. It ends only when it is killed or something fails.
///
/// # Errors
///
/// What the store says; [`StoreError::Io`] if nobody reads the standard output any more.
pub async fn write_for_ever(store: &dyn SessionStore, seed: u64) -> Result<Infallible, StoreError> {
    let lease = match store.lease(&session(1)).await {
        // Of one that was killed, and may live on for a while.
        Err(StoreError::Locked { .. }) => store.claim(&session(1), Claim::TakeOver).await?,
        other => other?,
    };
    tell(format_args!("ready"))?;
    loop {
        let info = store.info(&session(1)).await?;
        let id = info.nodes as u32;
        let mut chance = Chance::new(seed, u64::from(id));
        let levels = [Durability::Committed, Durability::Buffered, Durability::Buffered];
        let letter = match chance.one_in(2) {
            true => {
                let letter = store.post(&session(1), "prompt", &id.to_string(), Timestamp(1)).await?;
                tell(format_args!("posted {letter}"))?;
                Some(letter)
            }
            false => None,
        };
        let records = batch_of(id, letter);
        let batch = Batch::new(position(&info), records).consuming(letter);
        let receipt = store.append(&lease, batch.with(chance.pick(Durability::Flushed, &levels))).await?;
        let Receipt { seq, digest, durability } = receipt;
        tell(format_args!("kept {seq} {digest} {durability}"))?;
    }
}

// Past whatever a test harness would keep back.
fn tell(what: std::fmt::Arguments<'_>) -> Result<(), StoreError> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{MARK}{what}").and_then(|()| out.flush()).map_err(|error| StoreError::Io {
        place: "the standard output".to_owned(),
        reason: error.to_string(),
    })
}

/// A node and some notes, so that a part of them would be noticed; now and then with a large part that others have too.
fn batch_of(id: u32, letter: Option<InboxId>) -> Vec<Record> {
    let text = if id.is_multiple_of(3) { "large ".repeat(1_500) } else { "x".repeat(id as usize % 300) };
    let letter = letter.map_or(0, |letter| letter.0);
    let mut records = vec![node(id, id - 1, &text)];
    for _ in 0..size(id) {
        records.push(note(&format!("{{\"node\":{id},\"letter\":{letter}}}")));
    }
    records
}

fn size(id: u32) -> u32 {
    1 + id % 4
}

/// What one writer said before it died.
#[derive(Default)]
struct Said {
    receipts: Vec<Receipt>,
    letters: Vec<InboxId>,
    /// Whether it said anything at all.
    spoke: bool,
}

impl Said {
    fn hear(&mut self, line: &str) {
        let Some((_, line)) = line.split_once(MARK) else { return };
        self.spoke = true;
        let words: Vec<&str> = line.split_whitespace().collect();
        let read = || match words.as_slice() {
            ["kept", seq, digest, level] => {
                let level = match *level {
                    "flushed" => Durability::Flushed,
                    "committed" => Durability::Committed,
                    _ => Durability::Buffered,
                };
                Some(Ok(Receipt::new(seq.parse().ok()?, Digest::parse(digest).ok()?, level)))
            }
            ["posted", id] => Some(Err(InboxId(id.parse().ok()?))),
            _ => None,
        };
        match read() {
            Some(Ok(receipt)) => self.receipts.push(receipt),
            Some(Err(letter)) => self.letters.push(letter),
            // The last line of one that was killed may be cut.
            None => {}
        }
    }
}

pub(super) fn check(subject: &dyn Subject, options: &Options, report: &mut Report) {
    let place = match guard(|| subject.place()) {
        Ok(Ok(place)) => place,
        Ok(Err(words)) | Err(Broken(words)) => return report.check(Promise::Killed, Some(words)),
    };
    let place = &*place;
    if place.writer(options.seed, None).is_none() && place.writer(options.seed, Some(0)).is_none() {
        return;
    }
    if let Err(broken) = prepare(subject, options, place) {
        return report.check(Promise::Killed, Some(broken.to_string()));
    }
    let mut deaths =
        Deaths { subject, options, place, kept: Kept::default(), unsure: 0, struck: false, report };
    let mut chance = Chance::new(options.seed, 5_000);
    let mut tried = false;
    for kill in 0..options.kills {
        let seed = options.seed.wrapping_add(u64::from(kill));
        let Some(command) = place.writer(seed, None) else { break };
        let (lines, pause) = (chance.below(12), Duration::from_micros(chance.below(3_000)));
        let how = format!("killed {pause:?} after {lines} lines (seed {seed})");
        if !deaths.one(command, Some((lines as usize, pause)), &how) {
            return;
        }
        tried = true;
    }
    for write in 0..u64::from(options.writes) {
        let Some(command) = place.writer(options.seed, Some(write)) else { break };
        let how = format!("dead before write {write} (seed {})", options.seed);
        if !deaths.one(command, None, &how) {
            return;
        }
        tried = true;
    }
    // Whatever the last one left, another writer goes on with it. It has to come so far that it was promised something.
    if let Some(command) = place.writer(options.seed, None).filter(|_| tried) {
        deaths.one(command, Some((8, Duration::ZERO)), &format!("killed at last (seed {})", options.seed));
    }
}

/// What all writers were promised. What was found after one death has to be there after all later ones.
#[derive(Default)]
struct Kept {
    receipts: Vec<Receipt>,
    letters: Vec<InboxId>,
    /// Where the log ended when it was last looked at. It had been read up to there, acknowledged or not.
    end: Option<Receipt>,
}

/// Writers that die in one place, one after the other.
struct Deaths<'a> {
    subject: &'a dyn Subject,
    options: &'a Options,
    place: &'a dyn Place,
    report: &'a mut Report,
    kept: Kept,
    /// Whether a writer that was to die before one of its writes came so far that it said something.
    struck: bool,
    /// How many died without a word before. Until one does speak, they may as well be programs that do not run.
    unsure: u64,
}

impl Deaths<'_> {
    /// Runs a writer and judges what its death left behind; returns whether to go on.
    fn one(&mut self, command: Command, until: Option<(usize, Duration)>, how: &str) -> bool {
        match self.run_and_judge(command, until) {
            Err(broken) => {
                self.report.check(Promise::Killed, Some(format!("{how}: {broken}")));
                return false;
            }
            Ok(spoke) if until.is_none() => {
                self.struck |= spoke;
                self.unsure += 1;
                if self.struck {
                    let deaths = std::mem::take(&mut self.unsure);
                    self.count(deaths);
                }
            }
            Ok(_) => self.count(1),
        }
        true
    }

    fn count(&mut self, deaths: u64) {
        self.report.figures.cut_points += deaths;
        for _ in 0..deaths {
            self.report.check(Promise::Killed, None);
        }
    }

    /// Returns whether the writer said anything.
    fn run_and_judge(&mut self, command: Command, until: Option<(usize, Duration)>) -> Result<bool, Broken> {
        let said = run(command, self.options.patience, until)?;
        let figures = &mut self.report.figures;
        figures.acknowledged += said.receipts.len() as u64;
        self.kept.letters.extend(&said.letters);
        let judged = judge(self.subject, self.options, self.place, &said, &mut self.kept, figures);
        super::run_within(self.subject, self.options.patience, judged)??;
        Ok(said.spoke)
    }
}

fn prepare(subject: &dyn Subject, options: &Options, place: &dyn Place) -> Verdict {
    super::run_within(subject, options.patience, async {
        let handle = place.open().await?;
        handle.store().create(new_session(1)).await?;
        handle.close().await;
        Ok(())
    })?
}

/// Runs a writer until it has said so many lines and some time has passed, or until it dies by itself.
fn run(mut command: Command, patience: Duration, until: Option<(usize, Duration)>) -> Result<Said, Broken> {
    let child = command.stdin(Stdio::null()).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| Broken(format!("the writer cannot be started: {error}")))?;
    let (lines, complaint) = (lines_of(&mut child), complaint_of(&mut child));
    let mut said = Said::default();
    let result = hear(&lines, &mut said, patience, until.map(|(lines, _)| lines));
    if let (Ok(()), Some((_, pause))) = (&result, until) {
        thread::sleep(pause);
    }
    // It may be dead already.
    let _ = child.kill();
    let status = child.wait().map_err(|error| Broken(format!("the writer cannot be waited for: {error}")))?;
    lines.iter().for_each(|line| said.hear(&line));
    if !was_killed(status) {
        let complaint = complaint.and_then(|complaint| complaint.join().ok()).unwrap_or_default();
        fail!(
            "the writer ended by itself with {status} and was not killed; it said: {}",
            brief(complaint.trim())
        );
    }
    result.map(|()| said)
}

/// Elsewhere than on Unix nobody can tell, and all that ends counts as killed.
fn was_killed(status: ExitStatus) -> bool {
    !cfg!(unix) || status.code().is_none()
}

/// Reads lines on a thread, because a writer may say nothing for ever.
fn lines_of(child: &mut Child) -> Receiver<String> {
    let (sender, lines) = channel();
    if let Some(out) = child.stdout.take() {
        thread::spawn(move || {
            let mut all = BufReader::new(out).lines().map_while(Result::ok);
            all.try_for_each(|line| sender.send(line))
        });
    }
    lines
}

/// Reads what goes to its standard error: all of it, so that nothing waits there, and keeps how that began.
fn complaint_of(child: &mut Child) -> Option<JoinHandle<String>> {
    let mut errors = child.stderr.take()?;
    Some(thread::spawn(move || {
        let mut begin = Vec::new();
        // What cannot be read is only missing in a message.
        let _ = errors.by_ref().take(4_096).read_to_end(&mut begin);
        let _ = std::io::copy(&mut errors, &mut std::io::sink());
        String::from_utf8_lossy(&begin).into_owned()
    }))
}

/// Hears so many lines that are for the kit, or all until the writer dies.
fn hear(lines: &Receiver<String>, said: &mut Said, patience: Duration, many: Option<usize>) -> Verdict {
    let until = Instant::now() + patience;
    let mut heard = 0;
    while many.is_none_or(|many| heard < many) {
        match (lines.recv_timeout(until.saturating_duration_since(Instant::now())), many) {
            // One that goes on talking is never waited for, and would go on for ever.
            (Ok(_), None) if Instant::now() > until => fail!("the writer still lives after {patience:?}"),
            (Ok(line), _) => {
                heard += usize::from(line.contains(MARK));
                said.hear(&line);
            }
            (Err(RecvTimeoutError::Disconnected), None) => return Ok(()),
            (Err(RecvTimeoutError::Disconnected), Some(_)) => fail!("the writer died by itself"),
            (Err(RecvTimeoutError::Timeout), None) => fail!("the writer still lives after {patience:?}"),
            (Err(RecvTimeoutError::Timeout), Some(many)) => {
                fail!("the writer said {heard} of {many} lines within {patience:?}")
            }
        }
    }
    Ok(())
}

async fn judge(
    subject: &dyn Subject,
    options: &Options,
    place: &dyn Place,
    said: &Said,
    kept: &mut Kept,
    figures: &mut Figures,
) -> Verdict {
    let handle = place.open().await?;
    let store = handle.store();
    let verified = store.verify(&session(1)).await?;
    let gone = |receipt: &&Receipt| !verified.holds(receipt);
    let earlier = kept.receipts.iter().filter(gone).count() as u64;
    figures.lost += earlier;
    ensure!(
        earlier == 0,
        "{earlier} of {} batches that were there after earlier deaths are gone; {} records are there",
        kept.receipts.len(),
        verified.records
    );
    if let Some(end) = kept.end.as_ref().filter(gone) {
        let (before, now) = (end.seq, verified.records);
        fail!(
            "{before} records were read after the death before this one; now {now} are there, or other ones"
        );
    }
    for receipt in said.receipts.iter() {
        if verified.holds(receipt) {
            kept.receipts.push(*receipt);
        } else if receipt.durability == Durability::Buffered && receipt.seq > verified.records {
            figures.buffered_lost += 1;
        } else {
            figures.lost += 1;
        }
    }
    ensure!(
        figures.lost == 0,
        "{} of {} acknowledged batches are gone; {} records are there",
        figures.lost,
        said.receipts.len(),
        verified.records
    );
    kept.end = Some(Receipt::new(verified.records, verified.digest, Durability::Flushed));
    let log = store.load(&session(1)).await?;
    let mut rest = log.records.iter().skip(1).map(|(_, record)| record).peekable();
    while let Some(record) = rest.next() {
        let Record::Entry(Entry::Node { id, .. }) = record else {
            fail!("a batch begins with {record:?}");
        };
        let id = id.index() as u32;
        let mut letter = None;
        for _ in 0..size(id) {
            let Some(Record::Note(note)) = rest.next() else {
                fail!("the batch of n{id} is not there as a whole");
            };
            letter = note.body.rsplit_once(':').and_then(|(_, rest)| rest.strip_suffix('}'));
        }
        let letter: u64 = letter.and_then(|letter| letter.parse().ok()).unwrap_or(0);
        let expected = batch_of(id, Some(InboxId(letter)));
        let is = expected.first().is_some_and(|expected| expected == record);
        ensure!(is, "n{id} is not what was written: {record:?}");
        if letter > 0 {
            let state = store.letter(&session(1), InboxId(letter)).await?;
            let consumed = matches!(state, LetterState::Consumed { .. });
            ensure!(consumed, "letter {letter} waits, and its batch n{id} is there");
        }
    }
    let waiting = store.inbox(&session(1)).await?;
    for letter in &kept.letters {
        if let Err(error) = store.letter(&session(1), *letter).await {
            fail!("letter {letter} was posted and is gone: {}", words(&error));
        }
    }
    for letter in waiting {
        let effect = format!("\"letter\":{}}}", letter.id);
        let had = log
            .records
            .iter()
            .any(|(_, record)| matches!(record, Record::Note(note) if note.body.ends_with(&effect)));
        ensure!(!had, "letter {} waits, and had its effect", letter.id);
    }
    drop(soon(&*store, &session(1), options.patience / 2 + subject.lease_outlives()).await?);
    drop(store);
    handle.close().await;
    Ok(())
}
