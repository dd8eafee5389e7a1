//! Options that stand between a program and the word that says what it does: `git -C . push` is `git push`.
//!
//! Each program reads its own line its own way, so well-known ones stand in a table. What the table does not know is
//! doubted and never taken for harmless; a program that is not in it is doubted whatever it is given.

/// More words than this are not looked through.
const LOOKED_AT: usize = 1_024;

/// How a program reads the options before its first word. Lists are words with blanks between them.
struct Program {
    names: &'static str,
    /// Options that stand alone. A long one may come with `=`.
    flags: &'static str,
    /// Options that take the next word, or what follows `=` or the letter.
    valued: &'static str,
    /// Those of both that change nothing about what is done, where, and to what.
    harmless: &'static str,
    /// What else may stand before the first word, by its first sign or by having an `=` in it.
    before: &'static [char],
    /// All words are targets, in whatever order.
    targets: bool,
}

const PLAIN: Program =
    Program { names: "", flags: "", valued: "", harmless: "", before: &[], targets: false };

/// From the manuals of git 2.51, Docker 28, Podman 5, kubectl 1.34, Helm 3, npm 11, pnpm 10, Yarn 4, cargo 1.91, GNU make
/// 4.4, Go 1.25, systemd 257, AWS CLI 2 and others, read 2026-11.
const PROGRAMS: [Program; 17] = [
    Program {
        names: "git",
        flags: "-v --version -h --help -p --paginate -P --no-pager --bare --no-replace-objects \
            --no-lazy-fetch --no-optional-locks --no-advice --exec-path --html-path --man-path \
            --info-path --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs \
            --list-cmds",
        valued: "-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source \
            --shallow-file",
        harmless: "-P --no-pager --no-optional-locks --no-lazy-fetch --no-advice",
        ..PLAIN
    },
    Program {
        names: "docker podman nerdctl",
        flags: "-D --debug --tls --tlsverify -v --version -r --remote --noout --syslog --trace \
            --transient-store",
        valued: "-c --config --context -H --host -l --log-level --tlscacert --tlscert --tlskey \
            --connection --url --identity --root --runroot --runtime --storage-driver --storage-opt \
            --cgroup-manager --namespace -n -a --address --module --volumepath --tmpdir \
            --events-backend --imagestore --ssh",
        harmless: "-D --debug",
        ..PLAIN
    },
    Program {
        names: "docker-compose podman-compose",
        flags: "--all-resources --compatibility --dry-run --verbose -v --version",
        valued: "-f --file -p --project-name --project-directory --profile --env-file --ansi --parallel \
            --progress",
        ..PLAIN
    },
    Program {
        names: "kubectl oc",
        flags: "--insecure-skip-tls-verify --match-server-version --warnings-as-errors \
            --disable-compression --help -h",
        valued: "--as --as-group --as-uid --cache-dir --certificate-authority --client-certificate \
            --client-key --cluster --context --kubeconfig -n --namespace --password --profile \
            --profile-output --request-timeout -s --server --tls-server-name --token --user \
            --username -v --v --vmodule --log-flush-frequency",
        harmless: "--warnings-as-errors",
        ..PLAIN
    },
    Program {
        names: "helm",
        flags: "--debug -h --help --kube-insecure-skip-tls-verify",
        valued: "--kube-context -n --namespace --kubeconfig --kube-apiserver --kube-as-group \
            --kube-as-user --kube-ca-file --kube-token --kube-tls-server-name --registry-config \
            --repository-cache --repository-config --burst-limit --qps",
        harmless: "--debug",
        ..PLAIN
    },
    Program {
        names: "npm",
        flags: "-g --global -s --silent -q --quiet -d --verbose --offline --workspaces \
            --include-workspace-root -f --force -y --yes --no-color",
        valued: "--prefix -C -w --workspace --userconfig --globalconfig --cache --registry --loglevel \
            --otp --tag --access",
        harmless: "-s --silent -q --quiet --verbose --no-color",
        ..PLAIN
    },
    Program {
        names: "pnpm",
        flags: "-r --recursive -w --workspace-root -s --silent --color --no-color --stream",
        valued: "-C --dir --prefix -F --filter --filter-prod --loglevel --reporter",
        harmless: "-s --silent --color --no-color",
        ..PLAIN
    },
    Program {
        names: "yarn bun",
        flags: "-s --silent --verbose --offline --json --bun",
        valued: "--cwd --config --registry --cache-folder --modules-folder --filter",
        harmless: "-s --silent --verbose",
        ..PLAIN
    },
    Program {
        names: "cargo",
        flags: "-q --quiet -v --verbose --offline --locked --frozen --list -V --version -h --help",
        valued: "--color --config -C -Z --explain",
        harmless: "-q --quiet -v --verbose --offline --locked --frozen --color",
        before: &['+'],
        ..PLAIN
    },
    Program {
        names: "make gmake ninja samu",
        flags: "-b -m -B --always-make -d -e --environment-overrides -i --ignore-errors -k --keep-going \
            -L -n --just-print --dry-run -p -q -r -R -s --silent --quiet -S -t --touch -v -w \
            --print-directory --no-print-directory --trace --debug -O --output-sync",
        valued: "-C --directory -f --file --makefile -I --include-dir -o --old-file --assume-old -W \
            --what-if --new-file --assume-new -E --eval -j --jobs -l --load-average --max-load",
        harmless: "-s --silent --quiet -k --keep-going --no-print-directory -w",
        before: &['='],
        targets: true,
    },
    Program { names: "go", flags: "", valued: "-C", ..PLAIN },
    Program {
        names: "just task rake gradle gradlew mvn mvnw ant mage invoke",
        before: &['='],
        targets: true,
        ..PLAIN
    },
    Program {
        names: "systemctl journalctl loginctl",
        flags: "--user --system --no-pager -q --quiet --no-block --no-ask-password --now -f --force -a \
            --all -l --full --no-legend --runtime --no-wall",
        valued: "-H --host -M --machine -t --type -p --property --root -n -o",
        harmless: "--no-pager -q --quiet --no-legend",
        ..PLAIN
    },
    Program { names: "terraform tofu", flags: "-chdir -help -version", ..PLAIN },
    Program {
        names: "aws",
        flags: "--debug --no-verify-ssl --no-paginate --no-sign-request --no-cli-pager \
            --no-cli-auto-prompt --cli-auto-prompt",
        valued: "--profile --region --output --endpoint-url --query --color --ca-bundle \
            --cli-read-timeout --cli-connect-timeout --cli-binary-format --version",
        harmless: "--no-cli-pager --color",
        ..PLAIN
    },
    Program { names: "gh", flags: "--help --version", valued: "-R --repo --hostname", ..PLAIN },
    Program {
        names: "hg",
        flags: "-y --noninteractive -q --quiet -v --verbose --debug --debugger --traceback --time \
            --profile --hidden",
        valued: "-R --repository --cwd --config --encoding --encodingmode --color --pager",
        harmless: "-q --quiet --noninteractive -y",
        ..PLAIN
    },
];

/// What stands before the word that says what a program does.
pub(crate) enum Before {
    /// So many words that the program is known to take for options.
    Options(usize),
    /// Options of which one may give other words a meaning that does not stand in them.
    Renaming,
    /// Something that is not known here.
    Unknown,
}

/// Reads the words that follow a program, up to the one that says what to do. `program` is its bare name in small letters.
pub(crate) fn before(program: &str, words: &[String]) -> Before {
    let Some(known) = find(program) else { return Before::Unknown };
    let mut at = 0;
    let mut renames = false;
    while let Some(word) = words.get(at).filter(|_| at < LOOKED_AT) {
        if word == "--" {
            at += 1;
            break;
        }
        if !is_option(word) {
            let early = word.starts_with(|first| known.before.contains(&first))
                || (known.before.contains(&'=') && word.contains('='));
            if early {
                at += 1;
                continue;
            }
            break;
        }
        let Some(takes) = known.takes(word) else { return Before::Unknown };
        let value = match takes {
            Takes::Nothing => None,
            Takes::Attached(value) => Some(value),
            Takes::Next => words.get(at + 1).map(String::as_str),
        };
        if matches!(option_of(word), "-c" | "--config" | "--config-env") {
            renames |= value.is_none_or(may_rename);
        }
        at += if matches!(takes, Takes::Next) { 2 } else { 1 };
    }
    match (renames, at < LOOKED_AT) {
        (true, _) => Before::Renaming,
        (false, true) => Before::Options(at.min(words.len())),
        (false, false) => Before::Unknown,
    }
}

/// Returns how many words after a program are options that change nothing about what is done.
pub(crate) fn harmless(program: &str, words: &[String]) -> usize {
    let Some(known) = find(program) else { return 0 };
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| has(known.harmless, option_of(word))) {
        let after = match known.takes(word) {
            Some(Takes::Nothing) if !word.contains('=') => at + 1,
            Some(Takes::Attached(_)) if word.starts_with("--") => at + 1,
            Some(Takes::Next) => at + 2,
            _ => return at,
        };
        if after > words.len() {
            return at;
        }
        at = after;
    }
    at
}

/// Whether words say what others do, but with options between them, or with options of theirs in another order, joined or
/// apart. `words` and `wanted` are in small letters and without the program.
pub(crate) fn among_options(program: &str, words: &[String], wanted: &[String]) -> bool {
    let (options, acts): (Vec<&String>, Vec<&String>) = wanted.iter().partition(|word| is_option(word));
    if words.len() > LOOKED_AT {
        return acts.iter().all(|act| words.contains(act));
    }
    options.iter().all(|option| has_option(words, option)) && in_order(program, words, &acts)
}

/// Whether an option is among the words: as it is, with a value, or as letters that are joined or set apart otherwise.
fn has_option(words: &[String], option: &str) -> bool {
    let given =
        |word: &String| word == option || word.strip_prefix(option).is_some_and(|rest| rest.starts_with('='));
    if words.iter().any(given) {
        return true;
    }
    let Some(wanted) = letters(option) else { return false };
    let told: String = words.iter().filter_map(|word| letters(word)).collect();
    wanted.chars().all(|letter| told.contains(letter))
}

/// Returns the letters of short options; of more than four letters a word is rather a long option.
fn letters(word: &str) -> Option<&str> {
    let letters = word.strip_prefix('-')?;
    let short = (1..=4).contains(&letters.len()) && letters.bytes().all(|sign| sign.is_ascii_alphabetic());
    short.then_some(letters)
}

/// How far words say what others do.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Follows {
    /// To the end.
    All,
    /// So far; more words could complete it.
    Begun,
    /// They say something else.
    Other,
}

/// Whether acts stand in the words one after another with nothing but options, and what they may take, between them.
fn in_order(program: &str, words: &[String], acts: &[&String]) -> bool {
    follow_acts(program, words, acts, &|_| false) == Follows::All
}

/// Reads how far words say what is wanted, with options between them. Options that are wanted are not looked for. `is_any` tells of a word
/// that can be anything.
pub(crate) fn follow(
    program: &str,
    words: &[String],
    wanted: &[String],
    is_any: &dyn Fn(&str) -> bool,
) -> Follows {
    let acts: Vec<&String> = wanted.iter().filter(|word| !is_option(word)).collect();
    follow_acts(program, words, &acts, is_any)
}

fn follow_acts(program: &str, words: &[String], acts: &[&String], is_any: &dyn Fn(&str) -> bool) -> Follows {
    let anywhere = find(program).is_some_and(|known| known.targets);
    let mut rest = acts.iter();
    let Some(mut act) = rest.next() else { return Follows::All };
    let mut may_be_value = false;
    for word in words {
        if is_any(word) {
            return Follows::All;
        }
        if word == *act && !is_option(word) {
            match rest.next() {
                Some(next) => act = next,
                None => return Follows::All,
            }
            may_be_value = false;
        } else if is_option(word) {
            may_be_value = !word.contains('=');
        } else if anywhere || may_be_value || word.starts_with('+') {
            may_be_value = false;
        } else {
            return Follows::Other;
        }
    }
    Follows::Begun
}

enum Takes<'w> {
    Nothing,
    Attached(&'w str),
    Next,
}

impl Program {
    /// Returns what an option takes; `None` if it is not known.
    fn takes<'w>(&self, word: &'w str) -> Option<Takes<'w>> {
        if let Some((option, value)) = word.split_once('=')
            && (has(self.valued, option) || has(self.flags, option))
        {
            return Some(Takes::Attached(value));
        }
        if has(self.valued, word) {
            return Some(Takes::Next);
        }
        if has(self.flags, word) {
            return Some(Takes::Nothing);
        }
        let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
        for (place, letter) in letters.char_indices() {
            let option = format!("-{letter}");
            let after = &letters[place + letter.len_utf8()..];
            if has(self.valued, &option) {
                return Some(if after.is_empty() { Takes::Next } else { Takes::Attached(after) });
            }
            if !has(self.flags, &option) {
                return None;
            }
        }
        Some(Takes::Nothing)
    }
}

fn find(program: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|known| has(known.names, program))
}

fn has(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

fn option_of(word: &str) -> &str {
    word.split_once('=').map_or(word, |(option, _)| option)
}

/// Whether a setting can give a word another meaning: an alias, or a file in which there may be one.
fn may_rename(setting: &str) -> bool {
    let setting = setting.to_lowercase();
    !setting.contains('=') || setting.starts_with("alias.") || setting.starts_with("include")
}
