//! What a person asks for, and how it is handed to the program inside.

use super::network::Layout;

/// How a commit is replicated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// `synchronous_mode_strict`: a commit waits for one standby, and for ever if there is none.
    Sync,
    /// A commit waits for no standby.
    Async,
}

impl Mode {
    pub(super) fn name(self) -> &'static str {
        match self {
            Mode::Sync => "sync",
            Mode::Async => "async",
        }
    }

    fn read(word: &str) -> Option<Mode> {
        [Mode::Sync, Mode::Async].into_iter().find(|mode| mode.name() == word)
    }
}

/// How the writers reach the primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Through {
    /// HAProxy leads to it.
    Proxy,
    /// Their URL names all hosts.
    Hosts,
    /// Every other writer in another way.
    Both,
}

impl Through {
    fn name(self) -> &'static str {
        match self {
            Through::Proxy => "proxy",
            Through::Hosts => "hosts",
            Through::Both => "both",
        }
    }

    fn read(word: &str) -> Option<Through> {
        [Through::Proxy, Through::Hosts, Through::Both].into_iter().find(|through| through.name() == word)
    }
}

/// A run that a person asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) seed: u64,
    pub(super) minutes: u64,
    /// One fail-over, and then the end.
    pub(super) single: bool,
    pub(super) modes: Vec<Mode>,
    pub(super) through: Through,
}

impl Options {
    /// Reads `[--seed N] [--minutes M] [--mode sync|async] [--through proxy|hosts|both] [--single]`.
    pub(super) fn read(words: &[&str]) -> Result<Options, String> {
        let modes = vec![Mode::Sync, Mode::Async];
        let mut options = Options { seed: 1, minutes: 3, single: false, modes, through: Through::Both };
        let mut rest = words;
        while let [word, after @ ..] = rest {
            rest = match (*word, after) {
                ("--single", after) => {
                    options.single = true;
                    after
                }
                ("--seed", [seed, after @ ..]) => {
                    options.seed =
                        seed.parse().map_err(|_| format!("--seed wants a whole number, not `{seed}`"))?;
                    after
                }
                ("--minutes", [minutes, after @ ..]) => {
                    let read = minutes.parse().ok().filter(|minutes| (1..=1000).contains(minutes));
                    options.minutes = read.ok_or_else(|| {
                        format!("--minutes wants a whole number from 1 to 1000, not `{minutes}`")
                    })?;
                    after
                }
                ("--mode", [mode, after @ ..]) => {
                    let read =
                        Mode::read(mode).ok_or_else(|| format!("--mode is sync or async, not `{mode}`"))?;
                    options.modes = vec![read];
                    after
                }
                ("--through", [through, after @ ..]) => {
                    options.through = Through::read(through)
                        .ok_or_else(|| format!("--through is proxy, hosts or both, not `{through}`"))?;
                    after
                }
                (word, _) => {
                    return Err(format!(
                        "failover takes --seed N, --minutes M, --mode sync|async, --through proxy|hosts|both and --single, \
                         not `{word}`"
                    ));
                }
            };
        }
        Ok(options)
    }

    /// The words for the program inside, which runs one mode.
    pub(super) fn inside(&self, layout: Layout, mode: Mode) -> Vec<String> {
        let single = if self.single { "single" } else { "long" };
        vec![
            layout.name().to_owned(),
            mode.name().to_owned(),
            single.to_owned(),
            self.through.name().to_owned(),
            self.seed.to_string(),
            self.minutes.to_string(),
        ]
    }

    /// Reads those words again.
    pub(super) fn of_inside(words: &[&str]) -> Option<(Options, Layout, Mode)> {
        let [layout, mode, length, through, seed, minutes] = words else { return None };
        let mode = Mode::read(mode)?;
        let options = Options {
            seed: seed.parse().ok()?,
            minutes: minutes.parse().ok()?,
            single: *length == "single",
            modes: vec![mode],
            through: Through::read(through)?,
        };
        Some((options, Layout::read(layout)?, mode))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_in_any_order() {
        let read = Options::read(&["--mode", "async", "--single", "--seed", "7"]);
        let expected =
            Options { seed: 7, minutes: 3, single: true, modes: vec![Mode::Async], through: Through::Both };
        assert_eq!(read, Ok(expected));
    }

    #[test]
    fn a_wrong_word_is_told() {
        for words in
            [&["--seed"][..], &["--seed", "x"], &["--minutes", "0"], &["--mode", "both"], &["--through"]]
        {
            assert!(Options::read(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn what_goes_inside_comes_out_again() {
        let modes = vec![Mode::Sync];
        let options = Options { seed: 7, minutes: 2, single: false, modes, through: Through::Hosts };
        let words = options.inside(Layout::Loopback, Mode::Sync);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_eq!(Options::of_inside(&words), Some((options, Layout::Loopback, Mode::Sync)));
    }
}
