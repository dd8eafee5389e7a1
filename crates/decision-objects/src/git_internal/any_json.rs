//! JSON whose form nobody fixed, brought into the one spelling in which git-internal writes it again.
//!
//! Its reader takes such a value for a general JSON value: keys are sorted, the last of two equal keys wins, numbers that
//! are no whole number of 64 bits become floating-point ones. The settings of the JSON library (order kept, numbers kept)
//! would change that in a program that switches them on; what is here does not depend on them.

use std::collections::BTreeMap;

use crate::invalid::excerpt;
use crate::json::{Fault, ParseError, Raw, push_quoted, read};

/// How deep git-internal's reader goes, all objects and arrays counted.
const DEPTH: usize = 127;

/// Prints the value as git-internal would; so many objects and arrays stand around it.
pub(super) fn respelled(raw: Raw<'_>, around: usize) -> Result<String, ParseError> {
    let mut out = String::with_capacity(raw.get().len());
    write(raw, DEPTH - around, &mut out)?;
    Ok(out)
}

/// Prints a number as a floating-point one, in the fewest digits that mean it.
///
/// What git-internal wrote so comes back as it was. Its own reader takes the nearest number or the one beside it, so that
/// there a number of sixteen digits can become another one each time it is read.
pub(super) fn float(raw: Raw<'_>) -> Result<String, ParseError> {
    read::expect_type(raw, "a number")?;
    let value: f64 = raw.get().parse().unwrap_or(f64::INFINITY);
    if value.is_infinite() {
        let expected = "a number within the range of 64-bit floating point";
        return Err(Fault::NumberRange { found: excerpt(raw.get()), expected }.into());
    }
    Ok(serde_json::to_string(&value)
        .expect("a number has no map keys and no failing writer, the only ways to fail"))
}

fn write(raw: Raw<'_>, depth: usize, out: &mut String) -> Result<(), ParseError> {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'{') => {
            let depth = deeper(depth)?;
            // Sorted by key; of two equal ones the later stays, but both are read.
            let mut sorted = BTreeMap::new();
            for (key, value) in read::entries(raw)? {
                let mut json = String::new();
                write(value, depth, &mut json)?;
                sorted.insert(key, json);
            }
            out.push('{');
            for (index, (key, json)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_quoted(out, &key);
                out.push(':');
                out.push_str(&json);
            }
            out.push('}');
        }
        Some(b'[') => {
            let depth = deeper(depth)?;
            out.push('[');
            for (index, value) in read::items(raw)?.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(value, depth, out)?;
            }
            out.push(']');
        }
        Some(b'"') => push_quoted(out, &read::text_of(raw)?),
        Some(b't' | b'f' | b'n') => out.push_str(text),
        _ if is_whole(text) => out.push_str(text),
        _ => out.push_str(&float(raw)?),
    }
    Ok(())
}

/// `-0` is none: it is the floating-point number -0.0.
fn is_whole(text: &str) -> bool {
    text != "-0" && (text.parse::<u64>().is_ok() || text.parse::<i64>().is_ok())
}

fn deeper(depth: usize) -> Result<usize, ParseError> {
    depth.checked_sub(1).ok_or_else(|| Fault::Syntax { message: String::from("nested too deeply") }.into())
}
