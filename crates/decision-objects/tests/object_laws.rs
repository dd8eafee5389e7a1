//! What holds of every object, whatever its kind.

use proptest::prelude::*;
use trunkline_decision_objects::{Digest, Object, ObjectKind};

use crate::given_objects::any_object;

proptest! {
    #[test]
    fn an_object_comes_back_from_its_text(object in any_object()) {
        let text = object.print();
        prop_assert_eq!(Digest::of(text.as_bytes()), object.digest());
        let parsed = Object::parse_verified(text.as_bytes(), object.digest());
        prop_assert_eq!(parsed.as_ref(), Ok(&object));
        // The word under `type` is the kind's, and no other kind reads the text.
        let head = format!("{{\"type\":\"{}\",\"version\":1,", object.kind());
        prop_assert!(text.starts_with(&head), "{}", text);
        for &kind in ObjectKind::ALL.iter().filter(|kind| **kind != object.kind()) {
            let other = text.replacen(&format!("\"{}\"", object.kind()), &format!("\"{kind}\""), 1);
            prop_assert!(Object::parse(other.as_bytes()).is_err(), "{}", other);
        }
    }

    #[test]
    fn a_changed_byte_is_refused_or_makes_another_value(
        object in any_object(),
        place in any::<prop::sample::Index>(),
        byte: u8,
    ) {
        let mut bytes = object.print().into_bytes();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        match Object::parse(&bytes) {
            Ok(other) => {
                let again = Object::parse(other.print().as_bytes());
                prop_assert_eq!(again.as_ref(), Ok(&other));
                prop_assert_eq!(other == object, other.digest() == object.digest());
            }
            Err(error) => prop_assert!(error.path().starts_with('$')),
        }
    }

    #[test]
    fn an_object_shows_its_kind_and_its_name(object in any_object()) {
        let shown = object.to_string();
        let (kind, id) = shown.split_once(": ").expect("they are parted");
        prop_assert_eq!(id, object.name().id.to_string());
        let word = kind.chars().map(|letter| match letter.is_ascii_uppercase() {
            true => format!("_{}", letter.to_ascii_lowercase()),
            false => letter.to_string(),
        });
        prop_assert_eq!(word.collect::<String>(), format!("_{}", object.kind()));
    }

    #[test]
    fn a_text_that_was_cut_is_refused(object in any_object(), place in any::<prop::sample::Index>()) {
        let text = object.print();
        prop_assert!(Object::parse(&text.as_bytes()[..place.index(text.len())]).is_err());
    }

    #[test]
    fn no_bytes_make_the_parser_of_objects_panic(bytes: Vec<u8>, text in "[{}\\[\\]\",:a-z0-9\\\\ ]{0,64}") {
        for json in [bytes.as_slice(), text.as_bytes()] {
            let _ = Object::parse(json);
        }
        for &kind in ObjectKind::ALL {
            let json = format!("{{\"type\":\"{kind}\",\"version\":1,{text}}}");
            let _ = Object::parse(json.as_bytes());
        }
    }
}
