//! Each place of an object's text, changed in each way of a list: refused, or taken for what stands there.

use proptest::prelude::*;
use serde_json::Value;
use trunkline_decision_objects::{Object, ParseError};

use crate::given::one_in;
use crate::given_objects::any_object;
use crate::variations::variations;

/// The same value in other letters.
const SAME: [&str; 5] =
    ["white space around", "a line end after", "escaped", "a slash escaped", "key escaped"];

/// Nowhere in our form is there room for any of these.
const NEVER: [&str; 21] = [
    "null",
    "1e3",
    "1e400",
    "-0",
    "1.0",
    "2^64",
    "2^128",
    "half a surrogate",
    "array of null",
    "empty object",
    "object with a key twice",
    "30 arrays",
    "key twice",
    "key twice, once escaped",
    "key twice, first null",
    "key twice, last null",
    "key in capitals",
    "key with a blank",
    "another key",
    "an empty key",
    "a comma more",
];

/// What a text says, whatever the order of keys and items: files are sorted when they are read.
fn unordered(json: &[u8]) -> Option<Value> {
    fn sort(value: &mut Value) {
        match value {
            Value::Array(items) => {
                items.iter_mut().for_each(sort);
                items.sort_by_key(Value::to_string);
            }
            Value::Object(entries) => entries.values_mut().for_each(sort),
            _ => {}
        }
    }
    let mut value = serde_json::from_slice(json).ok()?;
    sort(&mut value);
    Some(value)
}

/// What must hold of one changed text.
fn check(
    object: &Object,
    name: &str,
    bytes: &[u8],
    parsed: Result<Object, ParseError>,
) -> Result<(), TestCaseError> {
    let shown = String::from_utf8_lossy(bytes);
    match parsed {
        Ok(other) => {
            prop_assert!(!NEVER.contains(&name), "{}: {}", name, shown);
            // Nothing is dropped, added or read as something else.
            let printed = other.print();
            prop_assert_eq!(unordered(bytes), unordered(printed.as_bytes()), "{}: {}", name, shown);
            prop_assert_eq!(Object::parse(printed.as_bytes()), Ok(other.clone()));
            if SAME.contains(&name) {
                prop_assert_eq!(&other, object);
            }
        }
        Err(error) => {
            prop_assert!(!SAME.contains(&name), "{}: {}: {}", name, error, shown);
            prop_assert!(error.path().starts_with('$'));
        }
    }
    Ok(())
}

proptest! {
    // Each case tries thousands of texts.
    #![proptest_config(one_in(8))]

    #[test]
    fn whatever_one_place_is_changed_to_nothing_is_misread(object in any_object()) {
        for (name, bytes) in variations(&object.print()) {
            check(&object, &name, &bytes, Object::parse(&bytes))?;
        }
    }
}
