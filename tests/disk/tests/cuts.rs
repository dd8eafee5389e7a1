//! What a cut may leave, by example: the model that everything else rests on.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::{Expect, expect};
use trunkline_disk::{Chance, Cut, Disk, Event, FileId, Files};

/// Does what the lines say and lists what cuts of one kind leave afterwards.
///
/// Bytes are shown as letters with their number, `.` for zeros and `?` for anything else.
fn check(cut: Cut, lines: &str, expected: Expect) {
    expected.assert_eq(&left(cut, lines).into_iter().collect::<Vec<_>>().join("\n"));
}

fn left(cut: Cut, lines: &str) -> BTreeSet<String> {
    let events = parse(lines);
    let mut left = BTreeSet::new();
    for seed in 0..200 {
        let mut chance = Chance::new(seed);
        let mut disk = Disk::holding(&Files::new(), chance.fork());
        events.iter().for_each(|event| disk.apply(event));
        left.insert(show(&disk.cut(cut, &mut chance)));
    }
    left
}

fn parse(lines: &str) -> Vec<Event> {
    let mut names: BTreeMap<&str, FileId> = BTreeMap::new();
    let number = |word: &str| word.parse::<u64>().unwrap();
    let mut events = Vec::new();
    for (line, fresh) in lines.lines().map(str::trim).zip(0..) {
        let words: Vec<&str> = line.split(' ').collect();
        let event = match words[..] {
            ["create", name] => {
                names.insert(name, FileId(fresh));
                Event::Create { file: names[name], name: name.to_owned() }
            }
            ["write", name, offset, bytes] => {
                let (letter, count) = bytes.split_at(1);
                let count = if count.is_empty() { 1 } else { number(count) };
                let bytes: Vec<u8> = letter.repeat(count as usize).into_bytes();
                Event::Write { file: names[name], offset: number(offset), bytes: bytes.into() }
            }
            ["resize", name, length] => Event::Resize { file: names[name], length: number(length) },
            ["sync", name] => Event::Sync { file: names[name], folder: false },
            ["sync", name, "and", "folder"] => Event::Sync { file: names[name], folder: true },
            ["fail", "to", "sync", name] => Event::FailedSync { file: names[name] },
            ["delete", name] => Event::Delete { name: name.to_owned(), folder: false },
            ["delete", name, "and", "sync", "folder"] => {
                Event::Delete { name: name.to_owned(), folder: true }
            }
            _ => panic!("{line}"),
        };
        events.push(event);
    }
    events
}

fn show(files: &Files) -> String {
    let file = |(name, bytes): (&String, &Vec<u8>)| {
        let sign = |byte: &u8| match byte {
            0 => '.',
            b'a'..=b'd' => char::from(*byte),
            _ => '?',
        };
        let mut text = String::new();
        for run in bytes.iter().map(sign).collect::<Vec<_>>().chunk_by(PartialEq::eq) {
            let (sign, count) = (run[0], run.len());
            text += &if count == 1 || sign == '?' { format!(" {sign}") } else { format!(" {sign}{count}") };
        }
        format!("{name}:{text}")
    };
    if files.is_empty() {
        "nothing".to_owned()
    } else {
        files.iter().map(file).collect::<Vec<_>>().join(", ")
    }
}

/// A file of four bytes that is on the disk, name and all.
const SAFE: &str = "create f
    write f 0 a4
    sync f and folder
    ";

fn then(lines: &str) -> String {
    format!("{SAFE}{lines}")
}

#[test]
fn what_was_not_synced_can_be_gone() {
    check(Cut::Nothing, &then("write f 0 b2\nwrite f 4 b"), expect!["f: a4"]);
    check(Cut::Nothing, &then("write f 0 b2\nsync f\nwrite f 4 b"), expect!["f: b2 a2"]);
}

#[test]
fn a_killed_process_loses_nothing_that_it_had_written() {
    check(Cut::Killed, "create f\nwrite f 0 a4", expect!["f: a4"]);
}

#[test]
fn a_process_killed_in_a_write_wrote_its_beginning() {
    check(
        Cut::KilledWriting,
        &then("write f 2 b4"),
        expect![[r#"
        f: a2 b a
        f: a2 b2
        f: a2 b3
        f: a4"#]],
    );
}

#[test]
fn writes_arrive_in_any_order() {
    check(
        Cut::First,
        &then("write f 0 b\nwrite f 1 c\nwrite f 2 d"),
        expect![[r#"
        f: b a3
        f: b c a2
        f: b c d a"#]],
    );
    check(
        Cut::Some,
        &then("write f 0 b\nwrite f 1 c"),
        expect![[r#"
        f: a c a2
        f: a4
        f: b a3
        f: b c a2"#]],
    );
}

#[test]
fn a_sync_is_one_of_its_file_alone() {
    check(
        Cut::Nothing,
        &then("create g\nwrite g 0 b\nwrite f 0 c\nsync g and folder"),
        expect!["f: a4, g: b"],
    );
}

#[test]
fn a_name_needs_its_folder() {
    check(
        Cut::Some,
        "create f\nwrite f 0 a\nsync f",
        expect![[r#"
        f: a
        nothing"#]],
    );
    check(
        Cut::Some,
        &then("delete f"),
        expect![[r#"
        f: a4
        nothing"#]],
    );
    check(Cut::Some, &then("delete f and sync folder"), expect!["nothing"]);
}

#[test]
fn a_name_leads_to_the_old_file_or_the_new_one() {
    check(
        Cut::Some,
        &then("delete f\ncreate f\nwrite f 0 b\nsync f"),
        expect![[r#"
        f: a4
        f: b
        nothing"#]],
    );
}

#[test]
fn a_write_is_torn_anywhere_and_harms_nothing_beside_it() {
    check(
        Cut::Torn,
        &then("write f 1 b2"),
        expect![[r#"
        f: a b a2
        f: a b2 a
        f: a4"#]],
    );
}

#[test]
fn a_write_is_torn_between_sectors_in_any_order() {
    let sectors =
        |text: &str| !text.split(' ').any(|run| run.starts_with('b') && !matches!(run, "b512" | "b1024"));
    let left = left(Cut::Torn, "create f\nwrite f 0 a1600\nsync f and folder\nwrite f 512 b1024");
    let left: Vec<String> = left.into_iter().filter(|text| sectors(text)).collect();
    expect![[r#"
        f: a1024 b512 a64
        f: a1600
        f: a512 b1024 a64
        f: a512 b512 a576"#]]
    .assert_eq(&left.join("\n"));
}

#[test]
fn new_room_holds_zeros_or_anything() {
    check(
        Cut::Some,
        &then("write f 6 b\nwrite f 5 c"),
        expect![[r#"
        f: a4
        f: a4 . c
        f: a4 . c b
        f: a4 .2 b"#]],
    );
    check(
        Cut::Mangled,
        &then("write f 6 b"),
        expect![[r#"
        f: a4
        f: a4 .2 b
        f: a4 .3
        f: a4 ?
        f: a4 ? b
        f: a4 ? d b"#]],
    );
}

#[test]
fn a_file_is_as_long_as_it_was_at_some_moment() {
    check(
        Cut::Some,
        &then("resize f 2\nwrite f 2 b"),
        expect![[r#"
        f: a2
        f: a2 b
        f: a2 b a
        f: a4"#]],
    );
}

#[test]
fn what_a_failed_sync_dropped_comes_with_no_later_one() {
    check(
        Cut::Nothing,
        &then("write f 0 b\nfail to sync f\nwrite f 3 c\nsync f"),
        expect![[r#"
        f: a3 c
        f: b a2 c"#]],
    );
    check(Cut::Killed, &then("write f 0 b\nfail to sync f\nwrite f 3 c\nsync f"), expect!["f: b a2 c"]);
}
