//! Large strings are cut out of bodies, so that equal ones are stored once.
//!
//! Whole bodies are hardly ever equal, since they hold ids; what repeats is what they carry: a file that was read three
//! times, an image, a message on two branches. What is cut out is the raw text between the quotes of a JSON string, so
//! that putting it back needs no parser and gives the same bytes.

/// Shorter strings stay: a row of its own would cost more than it saves.
pub(crate) const CUT_FROM: usize = 4096;

/// A body without its large strings, and each of them with its place in what is left.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) rest: String,
    pub(crate) parts: Vec<(usize, String)>,
}

impl Cut {
    /// Cuts a body, which is JSON; nothing if there is nothing to cut.
    pub(crate) fn of(body: &str) -> Option<Self> {
        if body.len() < CUT_FROM {
            return None;
        }
        let mut cut = Cut { rest: String::new(), parts: Vec::new() };
        let mut copied = 0;
        let mut at = 0;
        while let Some(open) = find(body, at, b'"') {
            let start = open + 1;
            let end = end_of_string(body, start)?;
            if let Some(part) = body.get(start..end).filter(|part| part.len() >= CUT_FROM) {
                cut.rest.push_str(body.get(copied..start)?);
                cut.parts.push((cut.rest.len(), part.to_owned()));
                copied = end;
            }
            at = end + 1;
        }
        if cut.parts.is_empty() {
            return None;
        }
        cut.rest.push_str(body.get(copied..)?);
        Some(cut)
    }
}

/// Puts a body together again; nothing if a place is not one. The places must be in order.
pub(crate) fn join(rest: &str, parts: &[(usize, &str)]) -> Option<String> {
    let length = rest.len() + parts.iter().map(|(_, part)| part.len()).sum::<usize>();
    let mut body = String::with_capacity(length);
    let mut copied = 0;
    for (place, part) in parts {
        body.push_str(rest.get(copied..*place)?);
        body.push_str(part);
        copied = *place;
    }
    body.push_str(rest.get(copied..)?);
    Some(body)
}

fn find(text: &str, from: usize, byte: u8) -> Option<usize> {
    let rest = text.as_bytes().get(from..)?;
    rest.iter().position(|found| *found == byte).map(|place| from + place)
}

/// Returns where the string that starts at `from` ends: at its closing quote.
fn end_of_string(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = text.as_bytes().get(at..)?;
        at += rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        match text.as_bytes().get(at)? {
            b'"' => return Some(at),
            _ => at += 2,
        }
    }
}
