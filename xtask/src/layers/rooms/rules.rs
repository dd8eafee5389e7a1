//! The rules of rooms, each a function from what was read of a crate to complaints.

use std::collections::{BTreeMap, BTreeSet};

use super::circles::circles;
use super::crate_text::CrateText;
use super::source::{Reference, Source};
use super::{PAGE, Plan, SELF};
use crate::report::Complaint;

/// Holds a crate against its plan.
pub(super) fn check(text: &CrateText, plan: &Plan) -> Vec<Complaint> {
    let mut complaints = listed(text, plan);
    for file in text.files.iter().filter(|file| !file.module.is_empty()) {
        complaints.extend(arrows(text, plan, file));
        complaints.extend(neighbours(text, plan, file));
    }
    for room in text.rooms() {
        complaints.extend(circles(text, room).iter().map(|circle| told_circle(circle)));
    }
    complaints.extend(methods(text, plan));
    complaints
}

/// Every room has a floor, and every room that has one exists.
fn listed(text: &CrateText, plan: &Plan) -> Vec<Complaint> {
    let rooms = text.rooms();
    let root = text.files.first().map_or_else(|| plan.name.to_owned(), |file| file.path.clone());
    let unlisted = rooms.iter().filter(|room| plan.floor(room).is_none()).map(|room| {
        let text = format!("declares `{room}`, which has no floor: give it one in {PAGE} and in {SELF}");
        Complaint::file(&root, text)
    });
    let gone = plan.rooms().filter(|room| !rooms.contains(room)).map(|room| {
        let text = format!("has no module `{room}`, which has a floor: take it out of {PAGE} and of {SELF}");
        Complaint::file(&root, text)
    });
    unlisted.chain(gone).collect()
}

/// What a file names of other rooms: floors below its own, by the module where it is defined.
fn arrows(text: &CrateText, plan: &Plan, file: &Source) -> Vec<Complaint> {
    let rooms = text.rooms();
    let Some(room) = file.module.first() else { return Vec::new() };
    let mut complaints = Vec::new();
    let mut said = BTreeSet::new();
    let imports = file.imports.iter().map(|import| &import.target);
    for reference in imports.chain(&file.paths) {
        let Some(words) = text.path_in_crate(file, reference) else { continue };
        let to = words.first().map_or("", String::as_str);
        if to == room || !said.insert((reference.line, words.clone())) {
            continue;
        }
        if !rooms.contains(to) {
            complaints.push(by_the_front(text, file, reference, &words));
        } else if let (Some(from), Some(onto)) = (plan.floor(room), plan.floor(to))
            && from <= onto
        {
            let stands = if from == onto { "beside" } else { "above" };
            let advice = format!(
                "{room} → {to}, which stands {stands} it: move what is needed to a floor below both, hand it in, \
                 or move a room in {PAGE} and {SELF}"
            );
            complaints.push(Complaint::line(&file.path, reference.line, advice));
        }
    }
    complaints.sort_by_key(|complaint| line_of(&complaint.place));
    complaints
}

/// What a file names of other files of its room, where they are to stand apart. The file that declares them may.
fn neighbours(text: &CrateText, plan: &Plan, file: &Source) -> Vec<Complaint> {
    let [room, own, ..] = file.module.as_slice() else { return Vec::new() };
    if !plan.apart.contains(&room.as_str()) {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    let mut said = BTreeSet::new();
    let imports = file.imports.iter().map(|import| &import.target);
    for reference in imports.chain(&file.paths) {
        let Some(words) = text.path_in_crate(file, reference) else { continue };
        let Some((defined, _)) = text.definition(&words) else { continue };
        let [of, other, ..] = defined.module.as_slice() else { continue };
        if of == room && other != own && said.insert((reference.line, other.clone())) {
            let advice = format!(
                "{room}::{own} → {room}::{other}: files of this room do not use each other: call both from a floor above, \
                 or move what both need to a floor below"
            );
            complaints.push(Complaint::line(&file.path, reference.line, advice));
        }
    }
    complaints
}

fn line_of(place: &str) -> usize {
    place.rsplit(':').next().and_then(|line| line.parse().ok()).unwrap_or_default()
}

/// A name that the root passes on is for other crates; inside, it would hide the arrow.
fn by_the_front(text: &CrateText, file: &Source, reference: &Reference, words: &[String]) -> Complaint {
    let named = if words.is_empty() { "*".to_owned() } else { words.join("::") };
    let advice = match text.definition(words) {
        Some((defined, rest)) if !defined.module.is_empty() && !words.is_empty() => {
            let path = [defined.module.as_slice(), rest.as_slice()].concat().join("::");
            format!("name the module that defines it, `crate::{path}`")
        }
        _ => "name the module that defines it, or move it out of the root into one".to_owned(),
    };
    let advice = format!("names `crate::{named}` by the front of the crate: {advice}");
    Complaint::line(&file.path, reference.line, advice)
}

fn told_circle(circle: &[(String, usize)]) -> Complaint {
    let (first, line) = &circle[0];
    let way: Vec<String> = circle.iter().skip(1).map(|(path, line)| format!("{path}:{}", line + 1)).collect();
    let advice = format!(
        "a circle of files: → {} → {first}: move what several need into a file below them, or hand it in",
        way.join(" → ")
    );
    Complaint::line(first, *line, advice)
}

/// Methods stand with their type, and are not too many.
fn methods(text: &CrateText, plan: &Plan) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut counts: BTreeMap<(&str, &str), (usize, usize)> = BTreeMap::new();
    for file in &text.files {
        for one in &file.impls {
            let Some((home, line)) = home(text, file, &one.of) else { continue };
            if home.path != file.path {
                let text = format!(
                    "`impl {}` stands apart from its type, which is in {}: move the methods there, or make them functions \
                     that take what they need",
                    one.of, home.path
                );
                complaints.push(Complaint::line(&file.path, one.line, text));
            }
            let count = counts.entry((&home.path, name_of(home, &one.of))).or_insert((line, 0));
            count.1 += one.functions;
        }
    }
    for ((path, name), (line, count)) in &counts {
        let most = plan.most_methods_of(name);
        if *count > most {
            let text = format!(
                "`{name}` has {count} methods and functions of its own, {most} at most: give some to what its fields \
                 are made of, make them functions, or raise its number in {PAGE} and {SELF}"
            );
            complaints.push(Complaint::line(path, *line, text));
        }
    }
    for (name, _) in plan.more_methods {
        let found = counts.iter().any(|((_, found), (_, count))| found == name && *count > plan.most_methods);
        if !found {
            let text = format!(
                "no type `{name}` has more than {} methods: take its number out of {PAGE} and {SELF}",
                plan.most_methods
            );
            complaints.push(Complaint::file(&format!("crates/{}", plan.name), text));
        }
    }
    complaints
}

/// The file where a type is defined, and the line there.
fn home<'a>(text: &'a CrateText, file: &'a Source, name: &str) -> Option<(&'a Source, usize)> {
    let in_file = |file: &'a Source, name: &str| {
        let found = file.types.iter().find(|(found, _)| found == name)?;
        Some((file, found.1))
    };
    if let Some(found) = in_file(file, name) {
        return Some(found);
    }
    let imported = file.imports.iter().find(|import| import.name.as_deref() == Some(name));
    let imported = imported.and_then(|import| {
        let words = text.path_in_crate(file, &import.target)?;
        let (file, rest) = text.definition(&words)?;
        in_file(file, rest.first()?)
    });
    // By a path or by a glob: then its name has to do.
    imported.or_else(|| text.files.iter().find_map(|file| in_file(file, name)))
}

fn name_of<'a>(file: &'a Source, name: &str) -> &'a str {
    file.types.iter().map(|(found, _)| found.as_str()).find(|found| *found == name).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOORS: &[&[&str]] = &[&["words"], &["notes", "setup"], &["next"]];
    const PLAN: Plan =
        Plan { name: "a", floors: FLOORS, apart: &["setup"], most_methods: 2, more_methods: &[] };
    const ROOT: &str = "mod words;\nmod notes;\nmod setup;\nmod next;\npub use words::Word;\n";

    /// What is said of a crate with these files; the rooms that they leave out are empty.
    fn said_by(plan: &Plan, given: &[(&str, &str)]) -> Vec<String> {
        let mut files: BTreeMap<&str, &str> = BTreeMap::from([("lib.rs", ROOT)]);
        for room in ["notes.rs", "setup.rs", "next.rs"] {
            files.insert(room, "");
        }
        files.insert("words.rs", "pub struct Word;");
        for (path, text) in given {
            // A room is a file or a folder.
            if let Some(room) = path.strip_suffix("/mod.rs") {
                files.remove(format!("{room}.rs").as_str());
            }
            files.insert(path, text);
        }
        let files: Vec<_> = files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
        let complaints = super::check(&CrateText::read("src", &files), plan);
        complaints.iter().map(ToString::to_string).collect()
    }

    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let said = said_by(&PLAN, files);
        assert_eq!(said.len(), expected.len(), "{said:#?}");
        for (said, expected) in said.iter().zip(expected) {
            assert!(said.contains(expected), "{said} lacks {expected}");
        }
    }

    #[test]
    fn a_room_uses_the_floors_below() {
        check(
            &[
                ("notes.rs", "use crate::words::Word;"),
                (
                    "next.rs",
                    "use crate::{notes, setup::{self, x}};\nfn f() -> crate::words::Word { notes::g() }",
                ),
            ],
            &[],
        );
    }

    #[test]
    fn an_arrow_up_or_across_is_named_with_its_line() {
        check(
            &[("words.rs", "\npub struct Word;\nuse crate::{words::x, notes::{y, z as w}};")],
            &["src/words.rs:3: words → notes, which stands above it", "src/words.rs:3: words → notes"],
        );
        check(
            &[("notes.rs", "use crate::setup::*;")],
            &["src/notes.rs:1: notes → setup, which stands beside it"],
        );
    }

    #[test]
    fn paths_in_code_are_arrows_too() {
        check(
            &[("words.rs", "pub struct Word;\nfn f() { crate::next::g(); }")],
            &["src/words.rs:2: words → next"],
        );
        check(&[("setup.rs", "fn f(a: super::next::A) {}")], &["src/setup.rs:1: setup → next"]);
        check(
            &[(
                "setup.rs",
                "mod inner { use super::super::next; }\nmacro_rules! m { () => { $crate::next::g() } }",
            )],
            &["src/setup.rs:1: setup → next", "src/setup.rs:2: setup → next"],
        );
        check(
            &[("setup.rs", "mod x;"), ("setup/x.rs", "use super::super::next::A;")],
            &["src/setup/x.rs:1: setup → next"],
        );
    }

    #[test]
    fn files_of_a_room_that_stand_apart_do_not_use_each_other() {
        let files = [
            ("setup/mod.rs", "pub mod x;\npub mod y;\npub fn f() { x::g() }"),
            ("setup/x.rs", "use super::y::g;\nfn f() { crate::setup::y::h(); crate::words::w() }"),
            ("setup/y.rs", "pub fn g() {}\npub fn h() {}"),
        ];
        check(&files, &["src/setup/x.rs:1: setup::x → setup::y", "src/setup/x.rs:2: setup::x → setup::y"]);
        let elsewhere =
            files.map(|(path, text)| (path.replace("setup", "notes"), text.replace("setup", "notes")));
        let elsewhere: Vec<(&str, &str)> =
            elsewhere.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        check(&elsewhere, &[]);
    }

    #[test]
    fn what_is_no_code_or_for_tests_is_no_arrow() {
        check(
            &[(
                "setup.rs",
                "//! See crate::next.\npub(in crate::next) fn f() -> &'static str { \"crate::next::A\" }\n\
                 #[cfg(test)]\nmod tests { use crate::next::A; impl crate::words::Word {} }",
            )],
            &[],
        );
    }

    #[test]
    fn a_name_of_the_front_is_refused_and_its_module_told() {
        check(
            &[("next.rs", "use crate::{Word, notes};\nuse super::*;")],
            &[
                "src/next.rs:1: names `crate::Word` by the front of the crate: name the module that defines it, `crate::words::Word`",
                "src/next.rs:2: names `crate::*`",
            ],
        );
        // The root itself may name everything.
        check(&[("lib.rs", &format!("{ROOT}fn f() {{ next::g(); crate::Word; }}"))], &[]);
    }

    #[test]
    fn every_room_has_a_floor_and_every_floor_is_there() {
        let root = "mod words;\nmod notes;\nmod attic;\nmod next;\n#[cfg(test)] mod proofs;";
        check(
            &[("lib.rs", root), ("attic/mod.rs", ""), ("proofs.rs", "use crate::next::A;")],
            &["src/lib.rs: declares `attic`, which has no floor", "src/lib.rs: has no module `setup`"],
        );
    }

    #[test]
    fn a_circle_of_files_is_spelled_out() {
        check(
            &[
                ("notes/mod.rs", "mod a;\nmod b;\nmod c;"),
                ("notes/a.rs", "\nuse super::b::B;\npub struct A;"),
                ("notes/b.rs", "use super::c::C;\npub struct B;"),
                ("notes/c.rs", "pub struct C;\nfn f() -> super::a::A {}"),
            ],
            &["src/notes/a.rs:2: a circle of files: → src/notes/b.rs:1 → src/notes/c.rs:2 → src/notes/a.rs"],
        );
    }

    #[test]
    fn a_parent_and_a_child_that_use_each_other_are_a_circle() {
        let child = ("notes/a.rs", "use super::Limit;\npub struct A;");
        check(
            &[("notes.rs", "mod a;\nuse a::A;\npub struct Limit;"), child],
            &["src/notes.rs:2: a circle of files: → src/notes/a.rs:1 → src/notes.rs"],
        );
        check(
            &[("notes.rs", "mod a;\npub(crate) use a::A;\npub struct Limit;\nfn f() -> A {}"), child],
            &["src/notes.rs:4: a circle"],
        );
        check(
            &[("notes.rs", "mod a;\npub struct Limit;\nfn f() { a::g() }"), child],
            &["src/notes.rs:3: a circle"],
        );
    }

    #[test]
    fn a_parent_that_passes_names_on_is_in_no_circle() {
        check(
            &[
                ("notes.rs", "mod a;\nmod b;\npub(crate) use a::{A as First, g};\npub(crate) use b::*;"),
                ("notes/a.rs", "pub struct A;\npub fn g() {}"),
                ("notes/b.rs", "use super::{First, g};\npub struct B;"),
            ],
            &[],
        );
        // What it passes on is found behind it, by name or by `*`.
        check(
            &[
                ("notes.rs", "mod a;\nmod b;\npub(crate) use a::A;\npub(crate) use b::*;"),
                ("notes/a.rs", "pub struct A;\nfn f() -> super::B {}"),
                ("notes/b.rs", "use super::A;\npub struct B;"),
            ],
            &["src/notes/a.rs:2: a circle of files: → src/notes/b.rs:1 → src/notes/a.rs"],
        );
    }

    #[test]
    fn methods_stand_with_their_type() {
        check(
            &[
                ("notes.rs", "pub struct Note;\nimpl Note { fn a() {} }\nimpl Clone for Note {}"),
                ("next.rs", "use crate::notes::Note;\nimpl<T> From<Note> for T {}\nimpl Note { fn b() {} }"),
            ],
            &["src/next.rs:3: `impl Note` stands apart from its type, which is in src/notes.rs"],
        );
    }

    #[test]
    fn two_types_of_one_name_are_told_apart() {
        check(
            &[
                ("notes.rs", "struct Found;\nimpl Found { fn a() {} fn b() {} }"),
                (
                    "next.rs",
                    "struct Found<'a>(&'a u8);\nimpl<'a> Found<'a> where Found<'a>: Sized { fn c() {} }",
                ),
            ],
            &[],
        );
    }

    #[test]
    fn a_type_has_so_many_methods_over_all_its_blocks() {
        let many = "pub enum Note { A }\nimpl Note { fn a(f: fn(u8)) { fn inner() {} } }\n\
                    impl Note { fn b() {} const fn c() {} }";
        check(
            &[("notes.rs", many)],
            &["src/notes.rs:1: `Note` has 3 methods and functions of its own, 2 at most"],
        );
        let raised = Plan { more_methods: &[("Note", 3)], ..PLAN };
        assert_eq!(said_by(&raised, &[("notes.rs", many)]), [""; 0]);
        assert!(said_by(&raised, &[])[0].contains("no type `Note` has more than 2 methods"));
    }
}
