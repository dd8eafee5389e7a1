//! Feeds bodies to a wire's decoders: whole, in pieces, cut short and damaged.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::chance::Chance;
use super::order::{self, show};
use super::{Answer, Promise, Report, Samples};
use crate::{DecodeError, Event, Request, Wire};

// Bodies up to this length are split and cut at every byte, which costs its square; longer ones at so many places.
const EVERY: usize = 3 * 1024;
const PLACES: usize = 512;
const RANDOM_PIECES: usize = 48;
const DAMAGED: usize = 96;
// Deeper than a parser with a limit goes, and shallow enough for the stack of one that has none.
const DEEP: usize = 600;

/// What came of a body.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Read {
    pub(super) events: Vec<Event>,
    pub(super) outcome: Result<(), DecodeError>,
}

/// Checks one answer; returns what came of it if it can be read.
pub(super) fn check(
    wire: &dyn Wire,
    answer: &Answer,
    chance: &mut Chance,
    report: &mut Report,
) -> Option<Read> {
    let name = &answer.name;
    let whole = read(wire, &answer.request, [answer.body.as_slice()], name, report)?;
    let fault = whole.outcome.as_ref().err().map(|fault| format!("{name}: {fault}"));
    let readable = fault.is_none();
    report.check(Promise::Answered, fault);
    if !readable {
        return None;
    }
    order::check(report, name, &whole.events, true);
    says(answer, &whole.events, report);
    in_pieces(wire, answer, &whole, chance, report);
    two_at_once(wire, answer, &whole, report);
    cut_short(wire, answer, &whole, chance, report);
    damaged(wire, answer, chance, report);
    Some(whole)
}

/// Compares what was read with what the sample says.
pub(super) fn says(answer: &Answer, events: &[Event], report: &mut Report) {
    let message = order::fold(events);
    if let Some(content) = &answer.content {
        let differs = (message.content != *content)
            .then(|| format!("{}: {} instead of {}", answer.name, show(&message.content), show(content)));
        report.check(Promise::Fold, differs);
    }
    if let Some(stop) = &answer.stop {
        let differs = (message.stop.as_ref() != Some(stop))
            .then(|| format!("{}: stopped with {} instead of {stop:?}", answer.name, show(&message.stop)));
        report.check(Promise::Stop, differs);
    }
}

fn in_pieces(wire: &dyn Wire, answer: &Answer, whole: &Read, chance: &mut Chance, report: &mut Report) {
    let body = answer.body.as_slice();
    let mut compare = |pieces: Vec<&[u8]>, how: String| {
        let at = format!("{}, {how}", answer.name);
        let Some(got) = read(wire, &answer.request, pieces, &at, report) else { return };
        report.check(Promise::Pieces, difference(&got, whole).map(|what| format!("{at}: {what}")));
    };
    compare(body.chunks(1).collect(), "byte by byte".to_owned());
    compare(body.chunks(1).flat_map(|byte| [&[][..], byte]).collect(), "with empty pieces".to_owned());
    for place in places(body.len(), chance) {
        let (head, tail) = body.split_at(place);
        compare(vec![head, tail], format!("split at byte {place}"));
    }
    for number in 0..RANDOM_PIECES {
        let most = 1 << (number % 8);
        compare(chance.pieces(body, most), format!("in random pieces of up to {most} bytes ({number})"));
    }
}

/// Two decoders of one wire, fed in turn.
fn two_at_once(wire: &dyn Wire, answer: &Answer, whole: &Read, report: &mut Report) {
    let outcome = guard(|| {
        let mut decoders = [wire.decoder(&answer.request), wire.decoder(&answer.request)];
        let mut events = [Vec::new(), Vec::new()];
        for piece in answer.body.chunks(7) {
            for (decoder, events) in decoders.iter_mut().zip(&mut events) {
                decoder.push(piece, events)?;
            }
        }
        for (decoder, events) in decoders.iter_mut().zip(&mut events) {
            decoder.finish(events)?;
        }
        Ok(events)
    });
    let fault = match outcome {
        Ok(Ok(both)) => {
            both.iter().any(|events| *events != whole.events).then(|| "other events than alone".to_owned())
        }
        Ok(Err::<_, DecodeError>(fault)) => Some(fault.to_string()),
        Err(panic) => Some(panic),
    };
    report
        .check(Promise::Apart, fault.map(|fault| format!("{}, two decoders in turn: {fault}", answer.name)));
}

fn cut_short(wire: &dyn Wire, answer: &Answer, whole: &Read, chance: &mut Chance, report: &mut Report) {
    let said = order::fold(&whole.events);
    let mut at_places = places(answer.body.len(), chance);
    at_places.insert(0, 0);
    for place in at_places {
        let at = format!("{}, cut after {place} of {} bytes", answer.name, answer.body.len());
        let (head, _) = answer.body.split_at(place);
        let Some(got) = read(wire, &answer.request, [head], &at, report) else { continue };
        let fault = match &got.outcome {
            // What is missing may say nothing: white space, a last count, a mark that nothing follows.
            Ok(()) => {
                let message = order::fold(&got.events);
                let shorter = message.content != said.content || message.stop != said.stop;
                shorter.then(|| format!("complete, and says {}", show(&message.content)))
            }
            Err(DecodeError::Cut) => (!whole.events.starts_with(&got.events))
                .then(|| "what came before is not how the answer begins".to_owned()),
            Err(other) => Some(format!("told as {} and not as cut", show(other))),
        };
        // The beginning of a good order is a good order, so the events need no check of their own.
        report.check(Promise::Cut, fault.map(|fault| format!("{at}: {fault}")));
    }
}

fn damaged(wire: &dyn Wire, answer: &Answer, chance: &mut Chance, report: &mut Report) {
    for number in 0..DAMAGED {
        let body = damage(&answer.body, number, chance);
        let at = format!("{}, damaged ({number}): {}", answer.name, show(&String::from_utf8_lossy(&body)));
        let Some(at_once) = read(wire, &answer.request, [body.as_slice()], &at, report) else { continue };
        let short =
            at_once.outcome.is_ok() && !at_once.events.iter().any(|event| matches!(event, Event::Stopped(_)));
        report.check(Promise::Hostile, short.then(|| format!("{at}: complete without a reason to stop")));
        for pieces in [body.chunks(1).collect(), chance.pieces(&body, 40)] {
            let Some(got) = read(wire, &answer.request, pieces, &at, report) else { continue };
            report.check(Promise::Pieces, difference(&got, &at_once).map(|what| format!("{at}: {what}")));
        }
    }
}

/// Bodies that come from something that is no model.
pub(super) fn nothing_is_an_answer(wire: &dyn Wire, samples: &Samples, report: &mut Report) {
    let Some(request) = samples.answers.first().map(|answer| &answer.request) else { return };
    let deep = "[".repeat(DEEP);
    let bodies: [&[u8]; 14] = [
        b"",
        b"\r\n\r\n",
        b"{}",
        b"[]",
        b"null",
        b"OK",
        b"data: {}\n\n",
        b"data: null\n\ndata: [DONE]\n\n",
        b"data: [DONE]\n\n",
        b"<html><body>502 Bad Gateway</body></html>",
        b"\xef\xbb\xbf<!DOCTYPE html>",
        b"\xff\xfe\x00\x01\x00\x00\x00",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03",
        deep.as_bytes(),
    ];
    for body in bodies {
        let at = format!("the body {}", show(&String::from_utf8_lossy(body)));
        let Some(got) = read(wire, request, [body], &at, report) else { continue };
        report.check(Promise::Hostile, got.outcome.is_ok().then(|| format!("{at}: taken for an answer")));
    }
}

/// Decodes a body that comes in pieces. A panic is a finding and gives nothing.
fn read<'a>(
    wire: &dyn Wire,
    request: &Request,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    at: &str,
    report: &mut Report,
) -> Option<Read> {
    let read = guard(|| {
        let mut decoder = wire.decoder(request);
        let mut events = Vec::new();
        for piece in pieces {
            if let Err(fault) = decoder.push(piece, &mut events) {
                return Read { events, outcome: Err(fault) };
            }
        }
        let outcome = decoder.finish(&mut events);
        Read { events, outcome }
    });
    read.map_err(|panic| report.check(Promise::Hostile, Some(format!("{at}: {panic}")))).ok()
}

/// Runs code that is not ours; a panic comes back as its words.
pub(super) fn guard<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    // What a panic leaves half done is thrown away with the decoder.
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let words = panic.downcast_ref::<&str>().copied().map(str::to_owned);
        let words = words.or_else(|| panic.downcast_ref::<String>().cloned());
        format!("it panics: {}", words.unwrap_or_default())
    })
}

/// Tells how a reading differs from the one that is right.
fn difference(got: &Read, right: &Read) -> Option<String> {
    if got == right {
        return None;
    }
    let same = got.events.iter().zip(&right.events).take_while(|(got, right)| got == right).count();
    Some(match (got.events.get(same), right.events.get(same)) {
        (None, None) => format!("ends with {} instead of {}", show(&got.outcome), show(&right.outcome)),
        (got, right) => format!("event {same} is {} instead of {}", show(&got), show(&right)),
    })
}

/// Returns where a body is split and cut: at every byte if it is short. Both ends are left out.
fn places(length: usize, chance: &mut Chance) -> Vec<usize> {
    match length {
        0 => Vec::new(),
        1..=EVERY => (1..length).collect(),
        _ => (0..PLACES).map(|_| 1 + chance.below(length - 1)).collect(),
    }
}

fn damage(body: &[u8], kind: usize, chance: &mut Chance) -> Vec<u8> {
    let mut damaged = body.to_vec();
    let range = chance.range(body.len(), 64);
    let bytes: Vec<u8> = match kind % 8 {
        0 => range.clone().map(|_| chance.byte()).collect(),
        1 => Vec::new(),
        2 => body.get(range.clone()).unwrap_or_default().repeat(2),
        3 => b"[".repeat(DEEP),
        4 => body.to_vec(),
        5 => b"\xc3\x28\x00\xff".to_vec(),
        6 => b"-1e999".to_vec(),
        _ => b"\"".to_vec(),
    };
    damaged.splice(range, bytes);
    if kind.is_multiple_of(3) {
        let end = chance.below(damaged.len() + 1);
        damaged.truncate(end);
    }
    damaged
}
