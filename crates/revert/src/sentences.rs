//! Cuts what a model said into sentences.
//!
//! Where the rule is in doubt it does not cut: a sentence too long is still true, half a path or a number is not.

/// Words before a full stop that is not one, in lower case; single letters with stops between need no listing.
const ABBREVIATIONS: [&str; 18] = [
    "al", "approx", "bzw", "ca", "cf", "dr", "eq", "etc", "fig", "inc", "incl", "ltd", "mr", "mrs", "prof",
    "resp", "st", "vs",
];

/// Returns the sentences of a text, in order, without list and heading signs. Costs one step per character.
///
/// - Fenced code is left out; nothing is cut inside of `` `code` ``.
/// - A line break ends a sentence before an empty line, a list item, a heading, a quotation, a table row or fenced
///   code, and after a heading. Other lines are continued.
/// - `。` `！` `？` `｡` `．` end a sentence wherever they stand.
/// - `.` `!` `?` `…` end one if white space follows, and then no lower-case letter. A stop after a single letter
///   (`J.`, `e.g.`), a number that begins the sentence (`1.`) or one of a few abbreviations (`vs.`) does not.
/// - Closing quotation marks, brackets and emphasis belong to the sentence that they follow.
/// - What holds neither letter nor digit is no sentence.
pub(crate) fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for paragraph in paragraphs(text) {
        cut(&paragraph, &mut found);
    }
    found
}

/// Returns the pieces between which a line break ends a sentence, white space folded.
fn paragraphs(text: &str) -> Vec<Vec<char>> {
    let mut paragraphs: Vec<String> = vec![String::new()];
    let mut fence: Option<&str> = None;
    for line in text.lines().map(str::trim) {
        let opens =
            ["```", "~~~"].into_iter().find(|sign| line.starts_with(sign) && !line[3..].contains(*sign));
        match (fence, opens) {
            (Some(open), Some(sign)) if open == sign => fence = None,
            (None, Some(sign)) => {
                fence = Some(sign);
                paragraphs.push(String::new());
            }
            (Some(_), _) => {}
            (None, None) => {
                let (is_item, bare) = without_sign(line);
                if is_item || line.is_empty() {
                    paragraphs.push(String::new());
                }
                if let Some(last) = paragraphs.last_mut() {
                    last.push_str(bare);
                    last.push(' ');
                }
                if line.starts_with('#') {
                    paragraphs.push(String::new());
                }
            }
        }
    }
    let folded =
        |paragraph: &String| paragraph.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
    paragraphs.iter().map(folded).filter(|paragraph: &Vec<char>| !paragraph.is_empty()).collect()
}

/// Returns whether a line begins something of its own, and the line without the signs that say so.
fn without_sign(line: &str) -> (bool, &str) {
    let mut bare = line;
    while let Some(rest) = after_sign(bare) {
        bare = rest.trim_start();
    }
    (bare.len() < line.len() || line.starts_with('|'), bare)
}

/// Returns what follows the sign of a list item, a heading, a quotation or a table row; `None` if there is no sign.
fn after_sign(line: &str) -> Option<&str> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = line[digits..].strip_prefix(['.', ')']).filter(|_| digits > 0);
    let bare = line.trim_start_matches(['-', '*', '+', '•', '#', '>', '|']);
    let signed = (bare.len() < line.len()).then_some(bare);
    numbered.or(signed).filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

fn cut(paragraph: &[char], found: &mut Vec<String>) {
    let (mut start, mut at, mut in_code) = (0, 0, false);
    while at < paragraph.len() {
        let sign = paragraph[at];
        at += 1;
        if sign == '`' {
            // One that is never closed opens nothing.
            in_code = !in_code && paragraph[at..].contains(&'`');
        }
        if in_code || !is_stop(sign) && !is_wide_stop(sign) {
            continue;
        }
        let closed = at + paragraph[at..].iter().take_while(|sign| is_closing(**sign)).count();
        let ends = is_wide_stop(sign) || stop_ends(&paragraph[start..at], &paragraph[closed..]);
        if ends {
            push(&paragraph[start..closed], found);
            (start, at) = (closed, closed);
        }
    }
    push(&paragraph[start..], found);
}

/// Returns whether the stop that ends `sentence` also ends it in meaning, given what comes after it.
fn stop_ends(sentence: &[char], after: &[char]) -> bool {
    match after {
        [] => return true,
        [space, next, ..] if *space == ' ' && !next.is_lowercase() => {}
        _ => return false,
    }
    let Some(('.', before)) = sentence.split_last().map(|(stop, before)| (*stop, before)) else {
        return true;
    };
    let word: String = before.iter().rev().take_while(|sign| **sign != ' ').collect();
    let word: String = word.chars().rev().collect::<String>().to_lowercase();
    let word = word.trim_start_matches(|sign: char| !sign.is_alphanumeric());
    let single_letters = word.split('.').all(|piece| {
        let mut signs = piece.chars();
        signs.next().is_some_and(char::is_alphabetic) && signs.next().is_none()
    });
    let numbers_it = !before.iter().skip_while(|sign| **sign == ' ').any(|sign| *sign == ' ')
        && word.bytes().all(|byte| byte.is_ascii_digit());
    !single_letters && !numbers_it && !ABBREVIATIONS.contains(&word)
}

fn push(sentence: &[char], found: &mut Vec<String>) {
    if sentence.iter().any(|sign| sign.is_alphanumeric()) {
        found.push(sentence.iter().collect::<String>().trim().to_owned());
    }
}

fn is_stop(sign: char) -> bool {
    matches!(sign, '.' | '!' | '?' | '…')
}

/// Returns whether the sign is a stop of a script that puts no space after it.
fn is_wide_stop(sign: char) -> bool {
    matches!(sign, '。' | '！' | '？' | '｡' | '．')
}

fn is_closing(sign: char) -> bool {
    matches!(sign, ')' | ']' | '"' | '\'' | '”' | '’' | '»' | '*' | '_' | '」' | '』' | '）' | '】' | '》')
}
