//! Texts of each kind of object: legal ones, ones in other spellings, and ones with something wrong.
//!
//! Oddities are rare, so that most texts have one at most and show what it comes to.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use trunkline_decision_objects::git_internal::Kind;

use crate::keys::Form::{
    self, Any, F64, Flattened, Hash, I32, List, ObjectHash, Struct, Tagged, Text, Time, U8, U32, U64,
    Untagged, Uuid, Word,
};
use crate::keys::{HEADER, Need, keys};

/// How far a text strays from the form.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Care {
    /// Everything is spelled as it is written; the order is kept.
    Even,
    /// What the reader takes as well.
    Loose,
    /// Now and then something that nobody takes.
    Careless,
}

/// A text of that kind.
pub(crate) fn text(kind: Kind, care: Care) -> BoxedStrategy<String> {
    let keys: Vec<_> = HEADER.iter().chain(keys(kind)).copied().collect();
    // A flattened struct is no array.
    object(&keys, care)
}

/// Any of the sixteen kinds.
pub(crate) fn any_kind() -> impl Strategy<Value = Kind> {
    select(&Kind::ALL)
}

fn object(keys: &[(&'static str, Need, Form)], care: Care) -> BoxedStrategy<String> {
    let entries: Vec<BoxedStrategy<Option<String>>> = keys
        .iter()
        .map(|&(key, need, form)| {
            let even = care == Care::Even;
            let value = match form {
                List(form) if even && need == Need::Filled => list(*form, care, 1),
                _ => value(form, care),
            };
            let absent = match need {
                Need::Yes => u32::from(care == Care::Careless),
                Need::Default => 10 * u32::from(!even),
                Need::Optional | Need::Filled => 20,
            };
            let null = u32::from(need == Need::Optional && !even) * 5;
            prop_oneof![
                40 => value.prop_map(move |value| Some(format!("\"{key}\":{value}"))),
                absent => Just(None),
                null => Just(Some(format!("\"{key}\":null"))),
            ]
            .boxed()
        })
        .collect();
    let oddity = match care {
        Care::Even => Just(0_u8).boxed(),
        Care::Loose => prop_oneof![30 => Just(0_u8), 3 => Just(1)].boxed(),
        Care::Careless => prop_oneof![30 => Just(0_u8), 3 => Just(1), 1 => Just(2), 1 => Just(3)].boxed(),
    };
    (entries, oddity, any::<prop::sample::Index>())
        .prop_map(|(entries, oddity, place)| {
            let mut entries: Vec<String> = entries.into_iter().flatten().collect();
            match oddity {
                1 if !entries.is_empty() => {
                    let length = entries.len();
                    entries.rotate_left(place.index(length));
                }
                2 if !entries.is_empty() => {
                    let twice = entries[place.index(entries.len())].clone();
                    entries.push(twice);
                }
                3 => entries.insert(place.index(entries.len() + 1), String::from("\"foo\":1")),
                _ => {}
            }
            let separator = if oddity == 1 { " ,\n" } else { "," };
            format!("{{{}}}", entries.join(separator))
        })
        .boxed()
}

fn value(form: Form, care: Care) -> BoxedStrategy<String> {
    let even = even(form, care);
    let loose = if care == Care::Even { None } else { loose(form, care) };
    let wrong = select(vec![
        "null",
        "1",
        "-1",
        "1.5",
        "\"\"",
        "\"x\"",
        "[]",
        "{}",
        "true",
        "[null]",
        "{\"other\":\"x\"}",
        "18446744073709551616",
        "1e400",
        "-0",
    ]);
    match (loose, care) {
        (None, Care::Careless) => prop_oneof![60 => even, 1 => wrong.prop_map(String::from)].boxed(),
        (None, _) => even,
        (Some(loose), Care::Careless) => {
            prop_oneof![50 => even, 8 => loose, 1 => wrong.prop_map(String::from)].boxed()
        }
        (Some(loose), _) => prop_oneof![5 => even, 1 => loose].boxed(),
    }
}

fn quoted(text: impl AsRef<str>) -> String {
    serde_json::to_string(text.as_ref()).expect("a text prints")
}

fn even(form: Form, care: Care) -> BoxedStrategy<String> {
    match form {
        Uuid => any::<u128>().prop_map(|id| quoted(uuid::Uuid::from_u128(id).to_string())).boxed(),
        Hash => prop_oneof!["[0-9a-f]{64}", "[0-9a-f]{40}0{24}"].prop_map(quoted).boxed(),
        ObjectHash => prop_oneof![
            vec(any::<u8>(), 20).prop_map(|bytes| format!("{{\"Sha1\":{}}}", numbers(&bytes))),
            vec(any::<u8>(), 32).prop_map(|bytes| format!("{{\"Sha256\":{}}}", numbers(&bytes))),
            vec(any::<u8>(), 32).prop_map(|bytes| format!("{{\"Blake3\":{}}}", numbers(&bytes))),
        ]
        .boxed(),
        Text => any::<String>().prop_map(quoted).boxed(),
        Time => (1970..10_000, 1..13, 1..29, 0..24, 0..60, select(vec!["", ".100", ".000001", ".123456789"]))
            .prop_map(|(year, month, day, hour, minute, rest)| {
                format!("\"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:07{rest}Z\"")
            })
            .boxed(),
        U8 => any::<u8>().prop_map(|number| number.to_string()).boxed(),
        U32 => any::<u32>().prop_map(|number| number.to_string()).boxed(),
        U64 => any::<u64>().prop_map(|number| number.to_string()).boxed(),
        I32 => any::<i32>().prop_map(|number| number.to_string()).boxed(),
        // Of few digits: many make git-internal's reader miss by one, see `written`.
        F64 => any::<i32>()
            .prop_map(|thousandths| f64::from(thousandths) / 1_000.0)
            .prop_map(|number| serde_json::to_string(&number).expect("a number prints"))
            .boxed(),
        Word(words) => select(words).prop_map(quoted).boxed(),
        Untagged(words) => {
            prop_oneof![select(words).prop_map(quoted), any::<String>().prop_map(quoted)].boxed()
        }
        Tagged(words) => prop_oneof![
            select(words).prop_map(quoted),
            any::<String>().prop_map(|text| format!("{{\"other\":{}}}", quoted(text)))
        ]
        .boxed(),
        Any => json(care),
        List(form) => list(*form, care, 0),
        Struct(keys) | Flattened(keys) => object(keys, care),
    }
}

fn list(form: Form, care: Care, least: usize) -> BoxedStrategy<String> {
    vec(value(form, care), least..4).prop_map(|items| format!("[{}]", items.join(","))).boxed()
}

fn loose(form: Form, care: Care) -> Option<BoxedStrategy<String>> {
    Some(match form {
        Uuid => any::<u128>()
            .prop_flat_map(|id| {
                let id = uuid::Uuid::from_u128(id);
                select(vec![
                    id.simple().to_string(),
                    id.braced().to_string(),
                    id.urn().to_string(),
                    id.to_string().to_uppercase(),
                    String::from("00000000-0000-0000-0000-000000000000"),
                    id.to_string()[1..].to_owned(),
                ])
            })
            .prop_map(quoted)
            .boxed(),
        Hash => prop_oneof!["[0-9A-F]{64}", "[0-9a-f]{40}", "[0-9a-g]{64}"].prop_map(quoted).boxed(),
        ObjectHash => vec(0_u8..255, 18..34)
            .prop_flat_map(|bytes| {
                let bytes = numbers(&bytes);
                select(vec![
                    format!("{{\"Sha1\":{bytes}}}"),
                    format!("{{\"Sha256\":{bytes}}}"),
                    format!("{{\"sha1\":{bytes}}}"),
                ])
            })
            .boxed(),
        Text => {
            "[a-z\\\\u]{0,8}".prop_map(|text| format!("\"{}\\u0041\\/\"", text.replace('\\', "\\n"))).boxed()
        }
        Time => loose_time().prop_map(quoted).boxed(),
        U8 => select(vec!["0", "1", "255", "256", "1.0", "-0", "01"]).prop_map(String::from).boxed(),
        U32 | U64 | I32 => select(vec![
            "0",
            "-1",
            "1.0",
            "1e2",
            "-0",
            "4294967295",
            "4294967296",
            "18446744073709551615",
            "18446744073709551616",
            "2147483648",
            "-2147483648",
        ])
        .prop_map(String::from)
        .boxed(),
        F64 => {
            select(vec!["0", "-0", "1", "1e3", "1E-3", "18446744073709551616", "0.10", "1e400", "-1e-400"])
                .prop_map(String::from)
                .boxed()
        }
        Word(words) => select(words)
            .prop_flat_map(|word| {
                select(vec![
                    format!("{{\"{word}\":null}}"),
                    format!("{{\"{word}\":{{}}}}"),
                    format!("{{\"{word}\":1}}"),
                    quoted(word.to_uppercase()),
                ])
            })
            .boxed(),
        Untagged(words) => select(words)
            .prop_flat_map(|word| {
                select(vec![
                    format!("{{\"{word}\":null}}"),
                    format!("{{\"{word}\":{{}}}}"),
                    format!("{{\"{word}\":[]}}"),
                    String::from("{\"other\":\"x\"}"),
                    quoted(word.to_uppercase()),
                ])
            })
            .boxed(),
        Tagged(words) => select(words)
            .prop_flat_map(|word| {
                select(vec![
                    format!("{{\"{word}\":null}}"),
                    format!("{{\"{word}\":{{}}}}"),
                    format!("{{\"{word}\":\"x\"}}"),
                    String::from("\"other\""),
                    String::from("{\"other\":null}"),
                    quoted(word.to_uppercase()),
                ])
            })
            .boxed(),
        // An array in the order of the keys, with more or fewer of them.
        Struct(keys) => {
            let values: Vec<BoxedStrategy<String>> =
                keys.iter().map(|&(_, _, form)| value(form, care)).collect();
            (values, 0..=keys.len() + 1)
                .prop_map(|(mut values, length)| {
                    values.push(String::from("null"));
                    values.truncate(length);
                    format!("[{}]", values.join(","))
                })
                .boxed()
        }
        Flattened(_) => Just(String::from("[\"linux\",\"x86_64\",\"/\"]")).boxed(),
        Any | List(_) => return None,
    })
}

fn loose_time() -> impl Strategy<Value = String> {
    let year = select(vec![
        "2026", "+12026", "-0001", "0000", "1969", "9999", "+262142", "-262143", "+262143", "26", "02026",
        "1900",
    ]);
    let rest = select(vec!["", ".1", ".1234567891", ".", ".000000000", " "]);
    let offset = select(vec![
        "Z",
        "z",
        "UTC",
        " utc",
        "+08:00",
        "-08:00",
        "+0800",
        "+08",
        "\u{2212}01:30",
        "+ 01:00",
        "+23:59",
        "+24:00",
        "+08: 30",
        "",
        "+08:60",
    ]);
    let between = select(vec!["T", "t", " ", "  ", "_"]);
    let clock = (0..25_u8, 0..61_u8, 0..62_u8);
    (year, 1..14_u8, 1..33_u8, between, clock, rest, offset, any::<bool>()).prop_map(
        |(year, month, day, between, (hour, minute, second), rest, offset, short)| {
            if short {
                format!("{year}- {month}-{day}{between}{hour}:{minute} :{second}{rest}{offset}")
            } else {
                format!("{year}-{month:02}-{day:02}{between}{hour:02}:{minute:02}:{second:02}{rest}{offset}")
            }
        },
    )
}

fn json(care: Care) -> BoxedStrategy<String> {
    let number = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<u64>().prop_map(|number| number.to_string()),
    ];
    let loose =
        select(vec!["1.0", "1e5", "-0", "1E400", "0.1", "18446744073709551616", "[[1.50]]", "\"\\u00e9\""]);
    let leaf = prop_oneof![
        4 => select(vec!["true", "false", "[]", "{}", "null"]).prop_map(String::from),
        4 => number,
        4 => any::<String>().prop_map(quoted),
        4 * u32::from(care != Care::Even) => loose.prop_map(String::from),
    ];
    leaf.prop_recursive(3, 12, 4, move |inner| {
        let entries = vec((if care == Care::Even { "[a-c]" } else { "[a-c\"]{0,2}" }, inner.clone()), 0..4);
        prop_oneof![
            vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            entries.prop_map(move |mut entries| {
                if care == Care::Even {
                    entries.sort();
                    entries.dedup_by(|one, other| one.0 == other.0);
                }
                let entries: Vec<String> =
                    entries.into_iter().map(|(key, value)| format!("{}:{value}", quoted(key))).collect();
                format!("{{{}}}", entries.join(","))
            }),
        ]
    })
    .boxed()
}

fn numbers(bytes: &[u8]) -> String {
    let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
    format!("[{}]", numbers.join(","))
}
