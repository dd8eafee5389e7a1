//! On what the server tells of changes, and in which words.
//!
//! Any role may listen on any channel of its database, and hear what others are told. So the name of a channel cannot be
//! guessed, and what is said on it is no id.

use super::rows::name_of;
use super::schema::{MARK, Schema};
use crate::SessionId;

/// How many digits of a digest stand for a session. Two with the same word would only be looked at for nothing.
const DIGITS: usize = 24;

/// Where changes are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Channel {
    pub(super) name: String,
    /// What the words are made with; nothing in a schema of version 4, where they are the ids.
    key: Option<String>,
}

impl Channel {
    /// Returns the channel of a schema. All programs that use it agree on that.
    pub(super) fn of(found: &Schema, schema: &str) -> Self {
        let name = match &found.secret {
            Some(secret) => name_of(&[MARK, "channel", secret]).to_string(),
            None => schema.to_owned(),
        };
        // 63 bytes: the longest name that PostgreSQL takes.
        let name = format!("trunkline.{name}").chars().take(63).collect();
        Channel { name, key: found.secret.clone() }
    }

    /// Returns the word that tells of a session.
    pub(super) fn word_of(&self, session: &SessionId) -> String {
        match &self.key {
            Some(key) => {
                let digest = name_of(&[MARK, "word", key, session.as_str()]).to_string();
                digest.chars().take(DIGITS).collect()
            }
            None => session.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(secret: Option<&str>) -> Channel {
        let found = Schema { version: 5, secret: secret.map(str::to_owned) };
        Channel::of(&found, "red")
    }

    #[test]
    fn nothing_that_is_told_can_be_guessed_without_the_secret() {
        let session = SessionId::parse("00000000-0000-7000-8000-000000000001").expect("it is a UUID");
        let (one, other, old) = (channel(Some("one")), channel(Some("other")), channel(None));
        assert_eq!((old.name.as_str(), old.word_of(&session)), ("trunkline.red", session.to_string()));
        for channel in [&one, &other] {
            assert!(channel.name.len() == 63 && !channel.name.contains("red"), "{channel:?}");
            let word = channel.word_of(&session);
            assert!(word.len() == DIGITS && !session.as_str().contains(&word[..8]), "{word}");
            assert!(!channel.name.contains(&word), "who knows the name does not know the words");
        }
        assert_ne!((&one.name, one.word_of(&session)), (&other.name, other.word_of(&session)));
    }
}
