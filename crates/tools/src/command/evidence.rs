//! Guesses what a command proves, for the verdict of a run.
//!
//! A guess that says "test" too easily would let a run claim tests that never decided anything: in `cargo test | tail`
//! the exit code is that of `tail`. So only a command whose exit code must be that of the test counts as one.

/// Returns `test`, `lint`, `build` or `command`.
pub(crate) fn kind(command: &str) -> &'static str {
    let Some(steps) = steps(command) else { return "command" };
    // Joined by `&&`, all must succeed; the most telling one names the whole.
    let kinds: Vec<&str> = steps.iter().map(|step| kind_of_step(step)).collect();
    ["test", "lint", "build"].into_iter().find(|kind| kinds.contains(kind)).unwrap_or("command")
}

/// Splits a command into the steps that all must succeed, each as words; `None` if its exit code can be something else's.
fn steps(command: &str) -> Option<Vec<Vec<String>>> {
    let mut steps = vec![vec![String::new()]];
    let mut quote = None;
    let mut before = ' ';
    let mut rest = command.trim().trim_end_matches(';').chars().peekable();
    while let Some(character) = rest.next() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (Some(_), _) => push(&mut steps, character),
            (None, '\'' | '"') => quote = Some(character),
            (None, '|' | ';' | '\n' | '`' | '(' | ')' | '{' | '}') => return None,
            (None, '&') if before == '>' => push(&mut steps, character),
            (None, '&') => match rest.peek() {
                Some('&') => {
                    rest.next();
                    steps.push(vec![String::new()]);
                }
                Some('>') => push(&mut steps, character),
                _ => return None,
            },
            (None, space) if space.is_whitespace() => {
                if let Some(step) = steps.last_mut() {
                    step.push(String::new());
                }
            }
            (None, _) => push(&mut steps, character),
        }
        before = character;
    }
    for step in &mut steps {
        step.retain(|word| !word.is_empty());
    }
    Some(steps)
}

fn push(steps: &mut [Vec<String>], character: char) {
    if let Some(word) = steps.last_mut().and_then(|step| step.last_mut()) {
        word.push(character);
    }
}

fn kind_of_step(words: &[String]) -> &'static str {
    // `NAME=value` before the program, and programs that only start another.
    let wraps = |word: &str| word.contains('=') || ["env", "time", "nice", "timeout", "exec"].contains(&word);
    let mut words =
        words.iter().map(String::as_str).skip_while(|word| wraps(word) || word.parse::<f64>().is_ok());
    let Some(program) = words.next().map(|path| path.rsplit('/').next().unwrap_or(path)) else {
        return "command";
    };
    if !RUNNERS.contains(&program) && !SHELLS.contains(&program) {
        return of_words(program);
    }
    // A command inside a command would have to be judged like the outer one; nobody needs that.
    if SHELLS.contains(&program) && words.clone().any(|word| word.starts_with('-')) {
        return "command";
    }
    // What a runner does is said by its first words; later ones are names of tests and files.
    let told: Vec<&str> = words.filter(|word| !word.starts_with(['-', '+'])).take(2).collect();
    let found = told.into_iter().map(of_words).find(|kind| *kind != "command");
    found.unwrap_or(if program == "make" || program == "ninja" { "build" } else { "command" })
}

/// Programs that do what their arguments say.
const RUNNERS: [&str; 29] = [
    "bazel", "bun", "bundle", "cargo", "cmake", "composer", "deno", "dotnet", "go", "gradle", "gradlew",
    "just", "make", "meson", "mix", "mvn", "mvnw", "ninja", "npm", "npx", "pnpm", "poetry", "python",
    "python3", "swift", "task", "uv", "yarn", "zig",
];

const SHELLS: [&str; 4] = ["sh", "bash", "dash", "zsh"];

const TESTS: [&str; 13] = [
    "test", "tests", "nextest", "pytest", "unittest", "jest", "vitest", "mocha", "rspec", "phpunit", "ctest",
    "tox", "spec",
];
const LINTS: [&str; 14] = [
    "lint",
    "clippy",
    "fmt",
    "format",
    "eslint",
    "ruff",
    "flake8",
    "pylint",
    "mypy",
    "prettier",
    "shellcheck",
    "golangci",
    "vet",
    "rubocop",
];
const BUILDS: [&str; 13] = [
    "build", "check", "compile", "cc", "gcc", "clang", "rustc", "javac", "tsc", "package", "assemble",
    "make", "cmake",
];

fn of_words(text: &str) -> &'static str {
    let has = |known: &[&str]| {
        text.split(|character: char| !character.is_ascii_alphanumeric()).any(|word| known.contains(&word))
    };
    match () {
        () if has(&TESTS) => "test",
        () if has(&LINTS) => "lint",
        () if has(&BUILDS) => "build",
        () => "command",
    }
}
