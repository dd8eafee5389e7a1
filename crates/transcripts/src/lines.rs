//! The records of a file of JSON lines, one after the other, past every line that is none.

use crate::fault::Fault;
use crate::json::{self, Fields, Value};
use crate::salvage::{BLANK, Records, salvage};

/// One record.
pub(crate) struct Line<'r, 'a> {
    /// The line that it stands on, from 1.
    pub(crate) number: usize,
    /// Its bytes.
    pub(crate) raw: &'a str,
    /// Its fields.
    pub(crate) fields: &'r Fields<'a>,
}

/// Gives each record of a text to `take`. What is whole on a line that is not JSON is a record too if `is_record` says so, and
/// the line is reported; so is a line that holds something other than an object.
pub(crate) fn each<'a>(
    text: &'a str,
    faults: &mut Vec<Fault>,
    is_record: impl Fn(&Fields<'a>) -> bool,
    mut take: impl FnMut(&Line<'_, 'a>, &mut Vec<Fault>),
) {
    for (index, raw) in json::lines(text).enumerate() {
        let (number, raw) = (index + 1, raw.trim_matches(BLANK));
        if raw.is_empty() {
            continue;
        }
        let read = Value::read(raw);
        if let Some(fields) = read.as_ref().ok().and_then(Value::fields) {
            take(&Line { number, raw, fields: &fields }, faults);
            continue;
        }
        match Fields::parse(raw) {
            Ok(fields) => take(&Line { number, raw, fields: &fields }, faults),
            Err(reason) => {
                let salvaged = salvage(raw, &reason, Records::WithId, &is_record);
                faults.push(Fault { line: number, kind: salvaged.fault });
                for (raw, fields) in &salvaged.records {
                    take(&Line { number, raw, fields }, faults);
                }
            }
        }
    }
}
