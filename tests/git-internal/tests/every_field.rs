//! Each field of each kind, changed in each way of a list: git-internal and our importer take the same and write the same.

use std::collections::BTreeMap;

use expect_test::expect;

use crate::laws::agree;
use crate::variations::variations;
use crate::written::one_of_each;

#[test]
fn whatever_one_field_is_changed_to_both_take_it_or_both_refuse_it() {
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut faults = Vec::new();
    for (kind, json, _) in one_of_each() {
        for (name, bytes) in variations(&json) {
            let count = counts.entry(name.clone()).or_default();
            match agree(kind, &bytes) {
                Ok(true) => count.0 += 1,
                Ok(false) => count.1 += 1,
                Err(fault) => faults.push(format!("{kind}, {name}: {fault}")),
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    let table: String = counts
        .iter()
        .map(|(name, (taken, refused))| format!("{name}: {taken} taken, {refused} refused\n"))
        .collect();
    expect![[r#"
        +1: 0 taken, 326 refused
        -0: 22 taken, 304 refused
        -1: 23 taken, 303 refused
        .5: 0 taken, 326 refused
        0: 99 taken, 227 refused
        01: 0 taken, 326 refused
        0x: 0 taken, 4 refused
        1: 99 taken, 227 refused
        1.0: 22 taken, 304 refused
        120 arrays: 20 taken, 306 refused
        124 arrays: 20 taken, 306 refused
        125 arrays: 13 taken, 313 refused
        126 arrays: 6 taken, 320 refused
        127 arrays: 0 taken, 326 refused
        1e3: 22 taken, 304 refused
        1e400: 0 taken, 326 refused
        200 arrays: 0 taken, 326 refused
        2^128: 22 taken, 304 refused
        2^32: 27 taken, 299 refused
        2^64: 22 taken, 304 refused
        30 arrays: 20 taken, 306 refused
        40 digits: 0 taken, 4 refused
        NaN: 0 taken, 326 refused
        a NUL after: 0 taken, 16 refused
        a NUL behind: 81 taken, 99 refused
        a blank: 99 taken, 227 refused
        a blank behind: 97 taken, 83 refused
        a blank in front: 97 taken, 83 refused
        a boolean in capitals: 0 taken, 326 refused
        a brace after: 0 taken, 16 refused
        a byte order mark: 0 taken, 16 refused
        a comma after: 0 taken, 16 refused
        a comma more: 0 taken, 251 refused
        a comment after: 0 taken, 16 refused
        a control sign as it is: 0 taken, 326 refused
        a leap second: 16 taken, 0 refused
        a line end after: 16 taken, 0 refused
        a slash escaped: 180 taken, 0 refused
        a space for T: 16 taken, 0 refused
        a tenth: 16 taken, 0 refused
        a word after: 0 taken, 16 refused
        all zeros: 4 taken, 0 refused
        an empty key: 8 taken, 243 refused
        an escape of its own: 0 taken, 180 refused
        an object after: 0 taken, 16 refused
        an offset: 16 taken, 0 refused
        another key: 8 taken, 243 refused
        another white space: 0 taken, 326 refused
        another word: 99 taken, 227 refused
        array of null: 20 taken, 306 refused
        as a text: 0 taken, 16 refused
        before 1970: 16 taken, 0 refused
        braced id: 55 taken, 0 refused
        bytes that are no text: 0 taken, 16 refused
        capitals: 155 taken, 25 refused
        cut: 0 taken, 64 refused
        dashes elsewhere: 0 taken, 55 refused
        empty array: 37 taken, 289 refused
        empty object: 21 taken, 305 refused
        empty text: 99 taken, 227 refused
        escaped: 180 taken, 0 refused
        escaped in capitals: 2 taken, 178 refused
        filled up with zeros: 4 taken, 0 refused
        five digits: 16 taken, 0 refused
        half a surrogate: 0 taken, 326 refused
        id of ones: 55 taken, 0 refused
        in an array: 20 taken, 322 refused
        key escaped: 251 taken, 0 refused
        key in capitals: 8 taken, 243 refused
        key twice: 8 taken, 243 refused
        key twice, first null: 8 taken, 243 refused
        key twice, last null: 8 taken, 243 refused
        key twice, once escaped: 8 taken, 243 refused
        key with a blank: 8 taken, 243 refused
        key without quotes: 0 taken, 251 refused
        midnight as 24: 0 taken, 16 refused
        nil id: 55 taken, 0 refused
        no colon: 0 taken, 251 refused
        no key: 76 taken, 175 refused
        no leap year: 0 taken, 16 refused
        no offset: 0 taken, 16 refused
        null: 64 taken, 262 refused
        object with a key twice: 20 taken, 306 refused
        offset zero: 16 taken, 0 refused
        one letter less: 96 taken, 83 refused
        simple id: 55 taken, 0 refused
        small letters: 16 taken, 0 refused
        ten digits: 16 taken, 0 refused
        true: 20 taken, 306 refused
        two halves: 99 taken, 227 refused
        urn of an id: 55 taken, 0 refused
        white space around: 326 taken, 0 refused
    "#]]
    .assert_eq(&table);
}
