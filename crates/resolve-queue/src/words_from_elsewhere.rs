//! Words that do not stand behind the program that gets them: `echo push | xargs git` is `git push`.
//!
//! Another program can add words that it reads, or put them in the place of a mark; a shell that is given a text fills in
//! what a variable holds; an alias gives words another meaning. None of it can be seen in the text, so where it could
//! make what a rule is about, that is doubted.

use crate::global_options::{self, Before, Follows};

/// With more words than this the program alone is reason to doubt.
const LOOKED_AT: usize = 1_024;
/// How many marks of a program are kept, the two that need no option first.
const MARKS: usize = 8;

/// Programs that run another with words that they read.
const ADDING: &str =
    "xargs gxargs xe apply entr watch watchexec watchman parallel env_parallel sem rush rust-parallel";
/// Those of them that take whole lines for commands where they are given none.
const RUNNING_LINES: &str = "parallel env_parallel sem rush rust-parallel";
/// Their options that take the next word.
const VALUED: &str = "-a --arg-file -j --jobs -P --max-procs -n --max-args -N --max-replace-args -L -l --max-lines \
    -s --max-chars -S --sshlogin -d --delimiter -C --colsep -I -U --delay --joblog --timeout --retries --results \
    --tmpdir --tempdir --load --memfree --workdir --wd --halt --tagstring";
/// Programs that do so behind one of their options.
const ADDING_BEHIND: [(&str, &str); 2] =
    [("find gfind bfs", "-exec -execdir -ok -okdir"), ("fd fdfind", "-x -X --exec --exec-batch")];
/// Programs that run what they are given.
const RUNNING: &str = "env sudo doas nice ionice nohup setsid timeout gtimeout stdbuf time chrt taskset unshare \
    nsenter chroot flock strace ltrace busybox toybox xargs gxargs parallel";
const SHELLS: &str = "sh bash dash ash zsh ksh mksh fish";

/// The words of a command, also in small letters.
#[derive(Copy, Clone)]
pub(crate) struct Words<'w> {
    pub(crate) said: &'w [String],
    pub(crate) lower: &'w [String],
}

impl<'w> Words<'w> {
    fn from(self, at: usize) -> Self {
        let (said, lower) = (self.said.get(at..), self.lower.get(at..));
        Words { said: said.unwrap_or_default(), lower: lower.unwrap_or_default() }
    }

    fn up_to(self, at: usize) -> Self {
        Words { said: &self.said[..at], lower: &self.lower[..at] }
    }
}

/// Whether a command may become what is wanted by words that are not behind the program: those that another program adds, or
/// an alias that is defined here. `wanted` is in small letters.
pub(crate) fn may_say(words: Words<'_>, wanted: &[String]) -> bool {
    adds(words, wanted) || defines_alias(words, wanted)
}

/// Returns what the words that another program puts in have in them: `{}`, and what `xargs -I` names.
pub(crate) fn marks(words: Words<'_>) -> Vec<String> {
    let mut marks = vec!["{}".to_owned()];
    let is_adding = |word: &String| {
        has(ADDING, name(word)) || ADDING_BEHIND.iter().any(|(names, _)| has(names, name(word)))
    };
    let Some(at) = words.lower.iter().position(is_adding) else { return marks };
    // As `entr` says it.
    marks.push("/_".to_owned());
    let mut rest = words.from(at + 1).said.iter();
    while let Some(word) = rest.next() {
        let long = word.strip_prefix("--replace=").or_else(|| word.strip_prefix("-i"));
        let short = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        let short = short.and_then(|letters| letters.split_once(['I', 'J', 'U'])).map(|(_, mark)| mark);
        let mark = match (long, short) {
            (Some(mark), _) => mark,
            (None, Some("")) => rest.next().map_or("", String::as_str),
            (None, Some(mark)) => mark,
            (None, None) => "",
        };
        if !mark.is_empty() {
            // The last one counts. A few are enough; each is looked for in every word.
            if marks.len() == MARKS {
                marks.remove(2);
            }
            marks.push(mark.to_lowercase());
        }
    }
    marks
}

/// Whether a text that another shell may read says what is wanted, with words that it fills in: `git "$1"`, `git {}`.
pub(crate) fn fills_in(text: &str, marks: &[String], by_shell: bool, wanted: &[String]) -> bool {
    let filled = |word: &str| {
        word.contains(['$', '`'])
            || (by_shell && word.contains(['*', '?', '[', '{']))
            || marks.iter().any(|mark| word.contains(mark.as_str()))
    };
    let bare: String = text.chars().filter(|sign| !"'\"\\".contains(*sign)).collect();
    let splits = |sign: char| sign.is_whitespace() || sign.is_control() || "();|&<>!".contains(sign);
    let said: Vec<String> = bare.split(splits).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let Some(last) = said.iter().rposition(|word| filled(word)) else { return false };
    let lower: Vec<String> = said.iter().map(|word| word.to_lowercase()).collect();
    let words = Words { said: &said, lower: &lower };
    (0..last).any(|from| follows(words.from(from), wanted, &filled) == Some(Follows::All))
}

/// Whether a name is that of a shell that may be given a text to run.
pub(crate) fn is_shell(word: &str) -> bool {
    has(SHELLS, name(word))
}

fn adds(words: Words<'_>, wanted: &[String]) -> bool {
    let marks = marks(words);
    let is_mark = |word: &str| marks.iter().any(|mark| word.contains(mark.as_str()));
    let any = |run: Words<'_>| {
        (0..run.lower.len()).any(|from| {
            let rest = run.from(from);
            begins(rest, wanted, &is_mark) || is_program_put_in(rest, wanted, &is_mark)
        })
    };
    if let Some(at) = words.lower.iter().position(|word| has(ADDING, name(word))) {
        let given = words.from(at + 1);
        // GNU parallel: what is behind is a list of words to add.
        let list = given.lower.iter().position(|word| word.starts_with(":::"));
        let lists = given.lower.iter().filter(|word| word.starts_with(":::")).count();
        let run = given.up_to(list.unwrap_or(given.lower.len()));
        let names_list = given.lower.iter().any(|word| word.starts_with("--arg-"));
        if any(run) || (names_list && names(given, wanted)) || runs_what_is_added(run, &is_mark) {
            return true;
        }
        // One list of whole commands stands on the line itself.
        if lists != 1 && has(RUNNING_LINES, name(&words.lower[at])) && has_no_command(run) {
            return true;
        }
    }
    ADDING_BEHIND.iter().any(|(names, options)| {
        let Some(at) = words.lower.iter().position(|word| has(names, name(word))) else { return false };
        let given = words.from(at + 1);
        let behind = |word: &String| {
            // `--exec=git` and `-xgit` name the program in the same word.
            let long = word.split_once('=').is_some_and(|(option, _)| has(options, option));
            let short = word.get(..2).is_some_and(|letter| has(options, letter));
            has(options, word) || long || short
        };
        let Some(option) = given.said.iter().position(behind) else { return false };
        let first = &given.lower[option];
        let joined = first.split_once('=').map(|(_, program)| program);
        let joined = joined.or_else(|| first.get(2..).filter(|_| !has(options, &given.said[option])));
        let run = given.from(option + 1);
        let joined = joined.map(|program| {
            let put = |words: &[String]| {
                [program.to_owned()].into_iter().chain(words.iter().cloned()).collect::<Vec<_>>()
            };
            (put(run.said), put(run.lower))
        });
        any(run)
            || runs_what_is_added(run, &is_mark)
            || joined.is_some_and(|(said, lower)| any(Words { said: &said, lower: &lower }))
    })
}

/// Whether words begin what is wanted, so that others behind them can complete it.
fn begins(words: Words<'_>, wanted: &[String], is_mark: &dyn Fn(&str) -> bool) -> bool {
    follows(words, wanted, is_mark).is_some_and(|follows| follows != Follows::Other)
}

/// How far words that begin with the program say what is wanted; `None` if they do not.
fn follows(words: Words<'_>, wanted: &[String], is_any: &dyn Fn(&str) -> bool) -> Option<Follows> {
    let (program, acts) = wanted.split_first()?;
    let said = words.lower.first()?;
    if said != program && name(said) != program {
        return None;
    }
    let rest = words.from(1);
    if rest.lower.len() > LOOKED_AT {
        return Some(Follows::All);
    }
    let options = match global_options::before(name(said), rest.said) {
        Before::Options(count) => count,
        Before::Renaming | Before::Unknown => 0,
    };
    // Behind options that are known nothing is taken for what one of them takes.
    Some(global_options::follow(name(said), rest.from(options).lower, acts, is_any))
}

/// Whether all but the program stands here, and that is put in.
fn is_program_put_in(words: Words<'_>, wanted: &[String], is_mark: &dyn Fn(&str) -> bool) -> bool {
    match (words.lower.split_first(), wanted.split_first()) {
        (Some((said, rest)), Some((_, acts))) => is_mark(said) && !acts.is_empty() && rest.starts_with(acts),
        _ => false,
    }
}

fn names(words: Words<'_>, wanted: &[String]) -> bool {
    wanted.first().is_some_and(|program| words.lower.iter().any(|word| name(word) == program))
}

/// Whether the words end in a program that runs what it is given, and nothing is given to it yet.
fn runs_what_is_added(words: Words<'_>, is_mark: &dyn Fn(&str) -> bool) -> bool {
    if words.lower.len() > LOOKED_AT {
        return words.lower.iter().any(|word| has(RUNNING, name(word)) || is_shell(word));
    }
    (0..words.lower.len()).any(|at| {
        let rest = &words.lower[at + 1..];
        if is_shell(&words.lower[at]) {
            let takes_text = |word: &String| is_option(word) && !word.starts_with("--") && word.contains('c');
            return rest.iter().any(takes_text) && rest.iter().all(|word| is_option(word) || is_mark(word));
        }
        let mut behind_option = false;
        has(RUNNING, name(&words.lower[at]))
            && rest.iter().all(|word| {
                let value = std::mem::replace(&mut behind_option, is_option(word) && !word.contains('='));
                let number = word.starts_with(|sign: char| sign.is_ascii_digit());
                value || is_option(word) || number || word.contains('=') || is_mark(word)
            })
    })
}

/// Whether there is nothing but options.
fn has_no_command(words: Words<'_>) -> bool {
    let mut rest = words.said.iter();
    while let Some(word) = rest.next() {
        if !is_option(word) {
            return false;
        }
        if has(VALUED, word) {
            rest.next();
        }
    }
    true
}

/// Whether an alias is defined here that may stand for what is wanted.
fn defines_alias(words: Words<'_>, wanted: &[String]) -> bool {
    let Some(program) = wanted.first() else { return false };
    // What a shell's own alias stands for can be put together from several.
    let mut behind = words.lower.iter().skip_while(|word| *word != "alias").skip(1);
    let of_shell = behind.any(|word| !is_option(word) && word.contains('='));
    let is_set = |word: &String| match word.split_once('=') {
        Some((variable, value)) if is_variable(variable) => match program.as_str() {
            "git" => variable.starts_with("git_config") || value.contains("alias."),
            "cargo" => variable.starts_with("cargo_alias"),
            _ => false,
        },
        _ => false,
    };
    // To what git runs as an alias it adds the words that follow: `!npm`.
    let runs = |word: &String| {
        let Some((_, text)) = word.split_once('!') else { return false };
        let said: Vec<String> = text.split_whitespace().map(|word| word.replace(['\'', '"'], "")).collect();
        begins(Words { said: &said, lower: &said }, wanted, &|_| false)
    };
    of_shell
        || words
            .lower
            .iter()
            .any(|word| is_set(word) || runs(word) || (program == "git" && word.contains("[alias")))
        || (0..words.lower.len()).any(|at| {
            name(&words.lower[at]) == program && {
                let rest = words.from(at + 1);
                let skipped = match global_options::before(program, rest.said) {
                    Before::Options(count) => count,
                    Before::Renaming | Before::Unknown => 0,
                };
                names_alias(program, rest.from(skipped).lower)
            }
        })
}

/// Whether what a program is told is to give a name to words: `git config alias.p push`, `gh alias set p 'pr merge'`.
fn names_alias(program: &str, words: &[String]) -> bool {
    let Some((act, rest)) = words.split_first() else { return false };
    if rest.len() > LOOKED_AT {
        return matches!(act.as_str(), "config" | "alias");
    }
    match act.as_str() {
        "config" if program == "git" => {
            let is_key = |word: &String| word.starts_with("alias") || word.starts_with("include");
            // A key that nothing follows is only asked for.
            rest.iter().position(is_key).is_some_and(|key| {
                let renames = rest.iter().any(|word| word.ends_with("rename-section"));
                (renames || key + 1 < rest.len()) && !only_looks(rest.get(..key).unwrap_or_default())
            })
        }
        "alias" => {
            let verb = rest.iter().find(|word| !is_option(word));
            !rest.is_empty() && !verb.is_some_and(|verb| has("list ls delete remove rm", verb))
        }
        _ => false,
    }
}

/// Whether `git config` is told to show or remove, by the words before the key.
fn only_looks(before: &[String]) -> bool {
    let mut words = before.iter();
    let mut verb = None;
    while let Some(word) = words.next() {
        if has("--comment --file -f --blob --type -t --default --value --url", word) {
            // The next word is its value, whatever that says.
            words.next();
        } else if has("--get --get-all --get-regexp --unset --unset-all --list -l --remove-section", word) {
            return true;
        } else if !is_option(word) {
            verb.get_or_insert(word);
        }
    }
    verb.is_some_and(|verb| has("get unset list remove-section", verb))
}

fn is_variable(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|sign| sign.is_ascii_alphanumeric() || sign == b'_')
}

fn has(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

fn name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}
