//! Characters that nobody can see, or that move what stands beside them.
//!
//! Whoever approves a text approves what they see of it; the shell and the model get all of it. So everything that is
//! not drawn by default is spelled out, but for what emoji and some scripts are really joined by: there, it shows.

use std::borrow::Cow;

/// Spells out what nobody can see, as `\u{200b}`: control and direction characters, and whatever Unicode says is not drawn by
/// default, unless it joins an emoji or the letters of a script that needs it. Line ends and tabs stay.
///
/// For previews, names and whatever else a person decides by.
///
/// ```
/// assert_eq!(trunkline_tools::spelled("rm\u{200b} \u{e0041}x"), r"rm\u{200b} \u{e0041}x");
/// assert_eq!(trunkline_tools::spelled("👩\u{200d}🔧 ❤\u{fe0f}"), "👩\u{200d}🔧 ❤\u{fe0f}");
/// ```
pub fn spelled(text: &str) -> Cow<'_, str> {
    replaced(text, |character, spelled| spelled.extend(character.escape_unicode()))
}

/// Replaces what nobody can see, as [`spelled`] does, by what `write` puts in its place.
pub fn replaced(text: &str, mut write: impl FnMut(char, &mut String)) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut copied = 0;
    let mut last = Last::default();
    let mut rest = text.char_indices();
    while let Some((at, character)) = rest.next() {
        let hides = hides(&last, character, rest.as_str().chars().next());
        last.advance(character, hides, rest.as_str());
        if hides {
            shown.push_str(&text[copied..at]);
            write(character, &mut shown);
            copied = at + character.len_utf8();
        }
    }
    match copied {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(shown + &text[copied..]),
    }
}

/// What was read last, as far as it says what may follow.
#[derive(Default)]
struct Last {
    /// The character before.
    before: Option<char>,
    /// The one before that.
    earlier: Option<char>,
    /// Tags of a flag that are still to come, for they are known to be one.
    tags: usize,
}

impl Last {
    fn advance(&mut self, character: char, hidden: bool, rest: &str) {
        // What is spelled out joins nothing.
        let Last { before, tags, .. } = if hidden { Last::default() } else { std::mem::take(self) };
        let flag = || FLAGS.iter().find(|flag| rest.starts_with(**flag));
        self.tags = match character {
            '\u{1f3f4}' => flag().map_or(0, |flag| flag.chars().count()),
            _ => tags.saturating_sub(1),
        };
        self.earlier = before;
        self.before = (!hidden).then_some(character);
    }
}

/// Whether a character cannot be seen where it stands.
fn hides(last: &Last, character: char, after: Option<char>) -> bool {
    match character {
        '\n' | '\t' => false,
        '\r' => after != Some('\n'),
        control if control.is_control() => true,
        // Line and paragraph separator, and what annotates: no letters, and not in the property.
        '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}' => true,
        invisible if is_ignorable(invisible) => !joins(last, invisible, after),
        _ => false,
    }
}

/// Default_Ignorable_Code_Point (DerivedCoreProperties of Unicode 17.0, read 2026-11). It holds the direction marks too.
fn is_ignorable(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Whether it does between its neighbours what it is for. One of a kind: what follows another of them joins nothing.
fn joins(last: &Last, character: char, after: Option<char>) -> bool {
    let Some(before) = last.before else { return false };
    match character {
        // ZWJ: one emoji of several, or a shape of letters; at the end of a word behind a sign that kills a vowel.
        '\u{200d}' => {
            let emoji = is_emoji(before) || (before == '\u{fe0f}' && last.earlier.is_some_and(is_emoji));
            (emoji && after.is_some_and(is_emoji))
                || (joining_script(before).is_some()
                    && joining_script(before) == after.and_then(joining_script))
                || is_virama(before)
        }
        '\u{200c}' => {
            joining_script(before).is_some() && joining_script(before) == after.and_then(joining_script)
        }
        // As an emoji or as text; digits of keycaps.
        '\u{fe0e}' | '\u{fe0f}' => {
            is_emoji(before) || (matches!(before, '0'..='9' | '#' | '*') && after == Some('\u{20e3}'))
        }
        // Other forms of signs and of ideographs.
        '\u{fe00}'..='\u{fe0d}' => {
            is_ideograph(before)
                || matches!(before, '\u{2205}'..='\u{2aff}' | '\u{1000}'..='\u{109f}' | '\u{a840}'..='\u{a877}')
        }
        '\u{e0100}'..='\u{e01ef}' => is_ideograph(before),
        '\u{180b}'..='\u{180f}' => matches!(before, '\u{1820}'..='\u{18aa}'),
        // A syllable of old Hangul that lacks its first or its second part.
        '\u{115f}' => matches!(after, Some('\u{1161}'..='\u{11a7}')),
        '\u{1160}' => matches!(before, '\u{1100}'..='\u{115e}' | '\u{a960}'..='\u{a97c}'),
        '\u{e0020}'..='\u{e007f}' => last.tags > 0,
        _ => false,
    }
}

/// The tags of the flags of England, Scotland and Wales, the only ones in use (UTS #51), as they follow a black flag.
const FLAGS: [&str; 3] = [
    "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

/// Whether it may be drawn as an emoji: the blocks in which those of UTS #51 stand.
fn is_emoji(character: char) -> bool {
    matches!(
        character,
        '\u{a9}'
            | '\u{ae}'
            | '\u{203c}'
            | '\u{2049}'
            | '\u{2122}'
            | '\u{2139}'
            | '\u{2190}'..='\u{21ff}'
            | '\u{2300}'..='\u{23ff}'
            | '\u{24c2}'
            | '\u{25a0}'..='\u{27bf}'
            | '\u{2900}'..='\u{297f}'
            | '\u{2b00}'..='\u{2bff}'
            | '\u{3030}'
            | '\u{303d}'
            | '\u{3297}'
            | '\u{3299}'
            | '\u{1f000}'..='\u{1faff}'
    )
}

fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// Returns which of the scripts whose letters are joined, or kept apart, by an invisible character it belongs to: the blocks
/// of Arabic, Syriac, N'Ko and Mongolian, and those of India and its neighbours, a hundred and twenty-eight characters each.
fn joining_script(character: char) -> Option<u32> {
    let code = u32::from(character);
    match code {
        _ if !character.is_alphanumeric() && !is_virama(character) => None,
        0x0600..=0x06ff | 0x0750..=0x077f | 0x08a0..=0x08ff | 0xfb50..=0xfdff | 0xfe70..=0xfefc => {
            Some(0x0600)
        }
        0x0700..=0x074f | 0x07c0..=0x07ff => Some(code & !0x3f),
        0x0900..=0x0dff => Some(code & !0x7f),
        0x1000..=0x109f => Some(0x1000),
        0x1780..=0x17d3 => Some(0x1780),
        0x1820..=0x18aa => Some(0x1820),
        _ => None,
    }
}

/// The signs that kill a vowel in the scripts of India, behind which a joiner shapes the letter before.
fn is_virama(character: char) -> bool {
    matches!(
        u32::from(character),
        0x094d | 0x09cd | 0x0a4d | 0x0acd | 0x0b4d | 0x0bcd | 0x0c4d | 0x0ccd | 0x0d4d | 0x0dca | 0x1039
    )
}
