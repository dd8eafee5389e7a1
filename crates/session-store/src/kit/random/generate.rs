//! Makes lists of operations.

use super::super::chance::Chance;
use super::op::{Body, Off, Op, Piece, Question, Text};
use crate::Durability;

/// Around the size from which parts of bodies are kept apart, and well beyond it.
const SIZES: [usize; 7] = [4_040, 4_094, 4_095, 4_096, 4_097, 9_000, 30_000];

/// Returns about so many operations that begin with a session and its writer.
pub(super) fn list(chance: &mut Chance, steps: usize) -> Vec<Op> {
    let mut ops = vec![
        Op::Create { session: 1, door: 0 },
        Op::Claim { session: 1, slot: 'a', door: 0, take_over: false },
    ];
    while ops.len() < steps {
        op(chance, &mut ops);
    }
    ops.push(Op::Ask { session: 1, door: 1, question: Question::Everything });
    ops.push(Op::Reopen);
    ops.push(Op::Ask { session: 1, door: 0, question: Question::Everything });
    ops
}

fn op(chance: &mut Chance, ops: &mut Vec<Op>) {
    let session = chance.pick(1, &[1, 1, 2, 2, 3]);
    let slot = chance.pick('a', &['a', 'a', 'b']);
    let door = chance.below(2) as usize;
    let op = match chance.below(100) {
        0..5 => Op::Create { session, door },
        5..13 => Op::Claim { session, slot, door, take_over: chance.one_in(3) },
        13..17 => Op::Free { session, slot },
        17..52 => {
            // Often enough somebody holds the lease.
            if chance.one_in(4) {
                ops.push(Op::Claim { session, slot, door, take_over: chance.one_in(4) });
            }
            append(chance, session, slot)
        }
        52..56 => Op::Repeat { session, slot },
        56..64 => Op::Post { session, door, body: body(chance) },
        64..67 => Op::Amend { session, door, how: chance.below(10) },
        67..70 => Op::Delete { session, door },
        70..72 => Op::Collect { door, dry: chance.one_in(2) },
        72..74 => Op::Move { session, door },
        74..94 => Op::Ask { session, door, question: question(chance) },
        94..97 => {
            let (back, body) = (chance.below(4), text(chance));
            ops.push(Op::Keep { session, slot, back, body, is_ours: !chance.one_in(6) });
            Op::Ask { session, door, question: Question::Snapshot }
        }
        _ => Op::Reopen,
    };
    ops.push(op);
}

fn append(chance: &mut Chance, session: u64, slot: char) -> Op {
    let many = chance.pick(1, &[1, 2, 3, 3, 8]);
    let pieces = (0..chance.below(many + 1)).map(|_| piece(chance)).collect();
    let letters = match chance.below(4) {
        0 => (0..=chance.below(2)).map(|_| 1 + chance.below(5)).collect(),
        _ => Vec::new(),
    };
    let off = match chance.below(16) {
        0 => Off::Seq,
        1 => Off::Head,
        _ => Off::Nothing,
    };
    let level = chance
        .pick(Durability::Flushed, &[Durability::Committed, Durability::Buffered, Durability::Buffered]);
    Op::Append { session, slot, pieces, letters, off, level }
}

fn piece(chance: &mut Chance) -> Piece {
    match chance.below(100) {
        0..35 => Piece::Node((0..chance.pick(1, &[1, 1, 2, 3])).map(|_| text(chance)).collect()),
        35..37 => Piece::Skip,
        37..47 => Piece::Filed(chance.below(6) as u32, text(chance)),
        47..57 => Piece::Move(chance.below(6) as u32),
        57..75 => Piece::Note(body(chance)),
        75..92 => Piece::Key {
            kind: chance.pick('k', &['j']),
            key: chance.pick('x', &['y', 'z', '\u{1F327}']),
            state: if chance.one_in(2) { Text::Plain } else { text(chance) },
            once: chance.one_in(3),
        },
        _ => Piece::Blob(text(chance)),
    }
}

fn text(chance: &mut Chance) -> Text {
    match chance.below(12) {
        0 => Text::Empty,
        1..5 => Text::Plain,
        5..7 => Text::Odd,
        7 => Text::Nul,
        _ => Text::Large(chance.pick('x', &['Y']), chance.pick(SIZES[0], &SIZES[1..])),
    }
}

fn body(chance: &mut Chance) -> Body {
    match chance.below(32) {
        0..8 => Body::Null,
        8..12 => Body::Number,
        12..16 => Body::Object,
        16..20 => Body::Escapes,
        20 => Body::Open,
        21 => Body::Padded,
        22 => Body::Lines,
        _ => Body::Large(chance.pick('x', &['Y']), chance.pick(SIZES[0], &SIZES[1..])),
    }
}

fn question(chance: &mut Chance) -> Question {
    match chance.below(22) {
        0 => Question::Info,
        1 => Question::Sessions,
        2..4 => {
            let after = chance.pick(0, &[1, 2, 5, 9, 30, u64::MAX]);
            Question::Read { after, limit: chance.pick(1, &[0, 2, 3, 7, 100, usize::MAX]) }
        }
        4 => Question::After(chance.below(12)),
        5 => Question::Outline,
        6 => Question::Messages((0..chance.below(4)).map(|_| chance.below(6) as u32).collect()),
        7 => Question::Resume(chance.below(8) as usize),
        8 => Question::Verify,
        9 => Question::Blob(text(chance)),
        10 => Question::Inbox,
        11 => Question::Letter(chance.below(6)),
        12..14 => Question::Activity,
        14 => Question::Holder,
        15..18 => Question::Notes {
            all: chance.one_in(2),
            kind: chance.pick(None, &[Some('k'), Some('j')]),
            key: chance.pick(None, &[Some('x'), Some('y'), Some('\u{1F327}')]),
            state: chance.pick(None, &[Some(Text::Plain), Some(Text::Empty)]),
        },
        18 => Question::Export,
        19 => Question::Records((0..chance.below(6)).map(|_| chance.below(25)).collect()),
        20 => Question::Snapshot,
        _ => Question::Everything,
    }
}
