//! Every place of a JSON text, changed in every way of a list.
//!
//! Chance finds what nobody thought of; this is what somebody did think of, tried at each key and each value.

use std::ops::Range;

/// A value of a text, and the key in front of it if it stands in an object.
struct Place {
    key: Option<Range<usize>>,
    value: Range<usize>,
}

/// What is put in the place of a value.
const VALUES: [(&str, &str); 27] = [
    ("null", "null"),
    ("true", "true"),
    ("a boolean in capitals", "True"),
    ("0", "0"),
    ("1", "1"),
    ("-1", "-1"),
    ("-0", "-0"),
    ("1.0", "1.0"),
    ("1e3", "1e3"),
    ("01", "01"),
    ("+1", "+1"),
    (".5", ".5"),
    ("2^32", "4294967296"),
    ("2^64", "18446744073709551616"),
    ("2^128", "340282366920938463463374607431768211456"),
    ("1e400", "1e400"),
    ("NaN", "NaN"),
    ("empty text", "\"\""),
    ("a blank", "\" \""),
    ("another word", "\"x\""),
    ("half a surrogate", "\"\\ud800\""),
    ("two halves", "\"\\ud83d\\ude00\""),
    ("a control sign as it is", "\"\u{1f}\""),
    ("empty array", "[]"),
    ("array of null", "[null]"),
    ("empty object", "{}"),
    ("object with a key twice", "{\"x\":1,\"x\":1}"),
];

/// How deep arrays are nested in the place of a value; the reader of JSON stops at 128 levels.
const DEPTHS: [usize; 7] = [30, 120, 124, 125, 126, 127, 200];

/// All changed texts, each with the name of its change.
pub(crate) fn variations(text: &str) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut add = |name: &str, parts: &[&str]| all.push((name.to_owned(), parts.concat().into_bytes()));
    for Place { key, value } in places(text) {
        let (before, old, after) = (&text[..value.start], &text[value.clone()], &text[value.end..]);
        for (name, new) in VALUES {
            add(name, &[before, new, after]);
        }
        for depth in DEPTHS {
            add(&format!("{depth} arrays"), &[before, &"[".repeat(depth), &"]".repeat(depth), after]);
        }
        add("in an array", &[before, "[", old, "]", after]);
        add("white space around", &[before, " \t\r\n", old, " \t\r\n", after]);
        add("another white space", &[before, "\u{a0}", old, after]);
        if let Some(inside) = old.strip_prefix('"').and_then(|old| old.strip_suffix('"')) {
            in_texts(inside, &mut |name, new| add(name, &[before, "\"", new, "\"", after]));
        }
        let Some(key) = key else { continue };
        let (front, name, member) = (&text[..key.start], &text[key.clone()], &text[key.start..value.end]);
        let bare = name.trim_matches('"');
        let escaped = escaped(bare);
        let rest = after.strip_prefix(',').unwrap_or(after);
        let (lone, kept) = match (front.strip_suffix(','), after.starts_with(',')) {
            (_, true) => (front, rest),
            (Some(front), false) => (front, after),
            (None, false) => (front, after),
        };
        add("no key", &[lone, kept]);
        add("key twice", &[front, member, ",", member, after]);
        add("key twice, once escaped", &[front, member, ",\"", &escaped, "\":", old, after]);
        add("key twice, first null", &[front, name, ":null,", member, after]);
        add("key twice, last null", &[front, member, ",", name, ":null", after]);
        add("key escaped", &[front, "\"", &escaped, "\":", old, after]);
        add("key in capitals", &[front, &name.to_uppercase(), ":", old, after]);
        add("key with a blank", &[front, "\"", bare, " \":", old, after]);
        add("another key", &[front, "\"x\":1,", member, after]);
        add("an empty key", &[front, "\"\":null,", member, after]);
        add("key without quotes", &[front, bare, ":", old, after]);
        add("a comma more", &[front, member, ",", after]);
        add("no colon", &[front, name, old, after]);
    }
    for (name, before, after) in [
        ("a line end after", "", "\n"),
        ("a comma after", "", ","),
        ("a brace after", "", "}"),
        ("a word after", "", "x"),
        ("an object after", "", "{}"),
        ("a NUL after", "", "\0"),
        ("a byte order mark", "\u{feff}", ""),
        ("a comment after", "", "//"),
        ("in an array", "[", "]"),
        ("as a text", "\"", "\""),
    ] {
        add(name, &[before, text, after]);
    }
    for half in [0, 1, text.len() / 2, text.len() - 1] {
        if text.is_char_boundary(half) {
            add("cut", &[&text[..half]]);
        }
    }
    let last_quote = text.rfind('"').unwrap_or(text.len());
    let (front, back) = text.as_bytes().split_at(last_quote);
    all.push(("bytes that are no text".to_owned(), [front, b"\xff", back].concat()));
    all
}

/// Other spellings of a text, and texts near to it.
fn in_texts(inside: &str, add: &mut impl FnMut(&str, &str)) {
    add("escaped", &escaped(inside));
    add("escaped in capitals", &escaped(inside).replace("\\u00", "\\U00"));
    add("capitals", &inside.to_uppercase());
    add("a blank in front", &format!(" {inside}"));
    add("a blank behind", &format!("{inside} "));
    add("a NUL behind", &format!("{inside}\\u0000"));
    add("a slash escaped", &inside.replace('/', "\\/"));
    add("an escape of its own", &format!("{inside}\\x"));
    if let Some(first) = inside.chars().next() {
        add("one letter less", &inside[first.len_utf8()..]);
    }
    if inside.len() == 36 && inside.bytes().filter(|byte| *byte == b'-').count() == 4 {
        add("simple id", &inside.replace('-', ""));
        add("braced id", &format!("{{{inside}}}"));
        add("urn of an id", &format!("urn:uuid:{inside}"));
        add("nil id", "00000000-0000-0000-0000-000000000000");
        add("id of ones", "ffffffff-ffff-ffff-ffff-ffffffffffff");
        add("dashes elsewhere", &format!("-{}", inside.replacen('-', "", 1)));
    }
    if inside.len() == 64 && inside.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        add("40 digits", &inside[..40]);
        add("filled up with zeros", &format!("{}{}", &inside[..40], "0".repeat(24)));
        add("all zeros", &"0".repeat(64));
        add("0x", &format!("0x{}", &inside[2..]));
    }
    if inside.ends_with('Z') && inside.contains('T') {
        for (name, new) in [
            ("an offset", inside.replace('Z', "+08:00")),
            ("offset zero", inside.replace('Z', "+00:00")),
            ("no offset", inside.replace('Z', "")),
            ("small letters", inside.to_lowercase()),
            ("a space for T", inside.replace('T', " ")),
            ("a tenth", "2026-11-21T20:49:30.1Z".to_owned()),
            ("ten digits", "2026-11-21T20:49:30.0123456789Z".to_owned()),
            ("a leap second", "2016-12-31T23:59:60Z".to_owned()),
            ("no leap year", "2100-02-29T00:00:00Z".to_owned()),
            ("before 1970", "1969-12-31T23:59:59Z".to_owned()),
            ("five digits", "+12026-01-01T00:00:00Z".to_owned()),
            ("midnight as 24", "2026-01-01T24:00:00Z".to_owned()),
        ] {
            add(name, &new);
        }
    }
}

/// The same text with its first letter by number.
fn escaped(text: &str) -> String {
    match text.chars().next() {
        Some(first) if first != '\\' && u32::from(first) < 0x80 => {
            format!("\\u{:04x}{}", u32::from(first), &text[1..])
        }
        _ => text.to_owned(),
    }
}

/// The places of a compact JSON text, the outermost value left out.
fn places(text: &str) -> Vec<Place> {
    let mut places = Vec::new();
    let end = value(text, 0, &mut places);
    assert_eq!(end, text.len(), "{text}");
    places
}

/// Walks one value and returns its end.
fn value(text: &str, start: usize, places: &mut Vec<Place>) -> usize {
    let bytes = text.as_bytes();
    match bytes[start] {
        b'"' => string(bytes, start),
        open @ (b'{' | b'[') => {
            let mut at = start + 1;
            while !matches!(bytes[at], b'}' | b']') {
                at += usize::from(bytes[at] == b',');
                let key = (open == b'{').then(|| at..string(bytes, at));
                at = key.as_ref().map_or(at, |key| key.end + 1);
                let end = value(text, at, places);
                places.push(Place { key, value: at..end });
                at = end;
            }
            at + 1
        }
        _ => text[start..].find([',', '}', ']']).map_or(text.len(), |length| start + length),
    }
}

fn string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}
