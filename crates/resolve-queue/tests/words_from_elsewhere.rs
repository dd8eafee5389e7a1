//! Words that another program adds, that a shell fills in, and aliases that are defined on the line.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use trunkline_resolve_queue::{CommandPattern, Fit};

use crate::other_words::verdicts;

fn check(words: &[&str], commands: &[&str], expected: Expect) {
    let pattern = CommandPattern::beginning(words.iter().copied()).expect("it has words");
    let line = |command: &&str| format!("{:7} {command}\n", format!("{:?}", pattern.catches(command)));
    expected.assert_eq(&commands.iter().map(line).collect::<String>());
}

#[test]
fn what_another_program_adds_to_the_beginning_of_what_is_forbidden_is_asked() {
    check(
        &["git", "push"],
        &[
            "echo push | xargs git",
            "printf 'push origin' | xargs -n2 git",
            "seq 1 | parallel git",
            "xargs -r0 /usr/bin/git -C .",
            "xargs git -c",
            "xargs git --unheard",
            "sudo xargs -I% git %",
            "xargs -I % sudo git -C . %",
            "xargs -0I% git %",
            "xargs --replace=% git --no-pager %",
            "xargs -I '{}' '{}' push",
            "xargs -i git '{}'",
            "xargs sudo -u x git",
            "parallel git ::: push",
            "parallel -j4 ::: git ::: push",
            "parallel --arg-sep ,, git ,, push",
            "find push -exec git '{}' +",
            "find . -maxdepth 0 -execdir git '{}' ';'",
            "find . -exec git {} \\;",
            "fd push -x git",
            "fd push --exec=git",
            "fd push -Xgit",
            "entr git /_",
            "watch git",
            "busybox xargs git",
            "sh -c 'xargs git'",
            "sh -c 'git \"$@\"' _ push",
            "xargs sh -c 'git \"$0\"'",
            "xargs -I% sh -c 'git %'",
            "find . -exec sh -c 'git {}' ';'",
            "awk '{system(\"git \" $1)}'",
            "bash -c 'git pus?'",
            "echo 'git push' | parallel",
            "parallel -j 4 -a commands",
            "xargs env",
            "xargs -n2 sudo -u x",
            "xargs timeout 5",
            "xargs sh -c",
            "xargs -I% bash -c %",
            // The mark could be the program.
            "xargs -I% git log % push",
        ],
        expect![[r#"
            Perhaps echo push | xargs git
            Perhaps printf 'push origin' | xargs -n2 git
            Perhaps seq 1 | parallel git
            Perhaps xargs -r0 /usr/bin/git -C .
            Perhaps xargs git -c
            Perhaps xargs git --unheard
            Perhaps sudo xargs -I% git %
            Perhaps xargs -I % sudo git -C . %
            Perhaps xargs -0I% git %
            Perhaps xargs --replace=% git --no-pager %
            Perhaps xargs -I '{}' '{}' push
            Perhaps xargs -i git '{}'
            Perhaps xargs sudo -u x git
            Perhaps parallel git ::: push
            Perhaps parallel -j4 ::: git ::: push
            Perhaps parallel --arg-sep ,, git ,, push
            Perhaps find push -exec git '{}' +
            Perhaps find . -maxdepth 0 -execdir git '{}' ';'
            Perhaps find . -exec git {} \;
            Perhaps fd push -x git
            Perhaps fd push --exec=git
            Perhaps fd push -Xgit
            Perhaps entr git /_
            Perhaps watch git
            Perhaps busybox xargs git
            Perhaps sh -c 'xargs git'
            Perhaps sh -c 'git "$@"' _ push
            Perhaps xargs sh -c 'git "$0"'
            Perhaps xargs -I% sh -c 'git %'
            Perhaps find . -exec sh -c 'git {}' ';'
            Perhaps awk '{system("git " $1)}'
            Perhaps bash -c 'git pus?'
            Perhaps echo 'git push' | parallel
            Perhaps parallel -j 4 -a commands
            Perhaps xargs env
            Perhaps xargs -n2 sudo -u x
            Perhaps xargs timeout 5
            Perhaps xargs sh -c
            Perhaps xargs -I% bash -c %
            Perhaps xargs -I% git log % push
        "#]],
    );
}

#[test]
fn what_they_add_to_something_else_is_not() {
    check(
        &["git", "push"],
        &[
            "git ls-files -m | xargs git add",
            "xargs git -C . log",
            "xargs git --no-pager log --oneline",
            "xargs rm",
            "xargs",
            "xargs -0 grep -l push",
            "parallel gzip",
            "parallel -j4 gzip ::: a b",
            "parallel -j 4 gzip",
            "parallel ::: 'gzip a' 'gzip b'",
            "find . -name git -exec cat '{}' +",
            "find . -exec git log '{}' +",
            "fd git",
            "fd -x git add",
            "watch git status",
            "ls | entr make",
            "sh -c 'git log $1'",
            "awk '{print $1}' git",
            "git commit -m 'costs $5'",
        ],
        expect![[r#"
            No      git ls-files -m | xargs git add
            No      xargs git -C . log
            No      xargs git --no-pager log --oneline
            No      xargs rm
            No      xargs
            No      xargs -0 grep -l push
            No      parallel gzip
            No      parallel -j4 gzip ::: a b
            No      parallel -j 4 gzip
            No      parallel ::: 'gzip a' 'gzip b'
            No      find . -name git -exec cat '{}' +
            No      find . -exec git log '{}' +
            No      fd git
            No      fd -x git add
            No      watch git status
            No      ls | entr make
            No      sh -c 'git log $1'
            No      awk '{print $1}' git
            No      git commit -m 'costs $5'
        "#]],
    );
}

#[test]
fn so_are_the_options_and_later_words_of_a_rule() {
    check(
        &["git", "push", "--force"],
        &["xargs git push origin", "xargs git push", "xargs git", "sh -c 'git push $1'", "sh -c 'git push'"],
        expect![[r#"
            Perhaps xargs git push origin
            Perhaps xargs git push
            Perhaps xargs git
            Perhaps sh -c 'git push $1'
            No      sh -c 'git push'
        "#]],
    );
    check(
        &["gh", "pr", "merge"],
        &["xargs gh pr", "xargs -n1 gh -R a/b pr", "xargs gh", "xargs gh pr view", "sh -c 'gh $1'"],
        expect![[r#"
            Perhaps xargs gh pr
            Perhaps xargs -n1 gh -R a/b pr
            Perhaps xargs gh
            No      xargs gh pr view
            Perhaps sh -c 'gh $1'
        "#]],
    );
    check(
        &["curl"],
        &["echo curl | xargs", "xargs curl", "parallel curl ::: x", "xargs nice -n 5", "xargs rm"],
        expect![[r#"
            Perhaps echo curl | xargs
            Perhaps xargs curl
            Perhaps parallel curl ::: x
            Perhaps xargs nice -n 5
            No      xargs rm
        "#]],
    );
}

#[test]
fn an_alias_that_is_defined_on_the_line_is_asked() {
    check(
        &["git", "push"],
        &[
            "git config alias.p push",
            "git -C x config --global alias.p push",
            "git config set --local Alias.p push",
            "git config include.path x",
            "git config --rename-section a alias",
            "sudo git config alias.p push",
            "sh -c 'git config alias.p push; git p'",
            "env GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p GIT_CONFIG_VALUE_0=push git p",
            "export GIT_CONFIG_GLOBAL=x",
            "alias g=git",
            "alias -- g='git -C .' h=x",
            "sh -c 'alias g=git; g push'",
            "printf '[alias]\\np = push' >> .git/config",
            "git config alias.p",
            "git config --get alias.p x",
            "git config --unset alias.p x",
            "git config --list",
            "git config user.name ann",
            "git add alias.rs",
            "git log --grep alias.x",
            "alias",
            "make ALIAS=x",
            "cargo config alias.p push",
        ],
        expect![[r#"
            Perhaps git config alias.p push
            Perhaps git -C x config --global alias.p push
            Perhaps git config set --local Alias.p push
            Perhaps git config include.path x
            Perhaps git config --rename-section a alias
            Perhaps sudo git config alias.p push
            Perhaps sh -c 'git config alias.p push; git p'
            Perhaps env GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p GIT_CONFIG_VALUE_0=push git p
            Perhaps export GIT_CONFIG_GLOBAL=x
            Perhaps alias g=git
            Perhaps alias -- g='git -C .' h=x
            Perhaps sh -c 'alias g=git; g push'
            Perhaps printf '[alias]\np = push' >> .git/config
            No      git config alias.p
            No      git config --get alias.p x
            No      git config --unset alias.p x
            No      git config --list
            No      git config user.name ann
            No      git add alias.rs
            No      git log --grep alias.x
            No      alias
            No      make ALIAS=x
            No      cargo config alias.p push
        "#]],
    );
    check(
        &["gh", "pr", "merge"],
        &["gh alias set p 'pr merge'", "gh alias import x", "gh alias list x", "gh pr list"],
        expect![[r#"
            Perhaps gh alias set p 'pr merge'
            Perhaps gh alias import x
            No      gh alias list x
            No      gh pr list
        "#]],
    );
    check(
        &["cargo", "publish"],
        &["env CARGO_ALIAS_P=publish cargo p", "git config alias.p push"],
        expect![[r#"
            Perhaps env CARGO_ALIAS_P=publish cargo p
            No      git config alias.p push
        "#]],
    );
    check(
        &["npm", "publish"],
        &["git config alias.p '!npm'", "git -c alias.p='!npm' p publish", "git config alias.p '!ls'"],
        expect![[r#"
            Perhaps git config alias.p '!npm'
            Perhaps git -c alias.p='!npm' p publish
            No      git config alias.p '!ls'
        "#]],
    );
}

#[test]
fn a_line_with_what_is_doubted_in_one_of_its_commands_is_asked() {
    expect![[r#"
        Ask   r2     "echo push | xargs git"
        Ask   r2     "printf 'push origin' | xargs -n2 git"
        Ask   r2     "seq 1 | parallel git"
        Ask   r2     "git config alias.p push && git p"
        Ask   r2     "alias g=git\ng push"
        Ask   r2     "echo push | xargs git push"
        Allow r1     "git ls-files | xargs git add"
    "#]]
    .assert_eq(&verdicts(
        &["allow run", "deny git push"],
        &[
            "echo push | xargs git",
            "printf 'push origin' | xargs -n2 git",
            "seq 1 | parallel git",
            "git config alias.p push && git p",
            "alias g=git\ng push",
            "echo push | xargs git push",
            "git ls-files | xargs git add",
        ],
    ));
}

/// What looks like showing an alias, like more marks than anybody needs, and like more words than anybody reads.
#[test]
fn no_detour_hides_what_another_program_puts_in() {
    let many = format!("git config {} alias.p push && git p", "--local ".repeat(1_025));
    for (forbidden, command) in [
        ("git push", "echo push | xargs -Iaa -Ibb -Icc -Idd -Iee -Iff -I% git %"),
        ("git push", "git config --comment list alias.p push && git p"),
        ("git push", "git config --file unset alias.p push && git p"),
        ("git push", &many),
        ("gh pr merge", "gh alias set list 'pr merge' && gh list 5"),
        ("gh pr merge", "gh alias set rm 'pr merge' && gh rm 5"),
    ] {
        let pattern = CommandPattern::beginning(forbidden.split(' ')).expect("it has words");
        assert_ne!(pattern.catches(command), Fit::No, "{forbidden}: {}", &command[..command.len().min(80)]);
    }
    for command in
        ["git config --get alias.p", "git config unset alias.p", "git config --comment x --unset alias.p y"]
    {
        let pattern = CommandPattern::beginning(["git", "push"]).expect("it has words");
        assert_eq!(pattern.catches(command), Fit::No, "{command}");
    }
    let pattern = CommandPattern::beginning(["gh", "pr", "merge"]).expect("it has words");
    for command in ["gh alias list", "gh alias delete p"] {
        assert_eq!(pattern.catches(command), Fit::No, "{command}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn no_beginning_of_what_is_forbidden_passes_behind_a_program_that_adds_to_it(
        wanted in prop::sample::select(vec!["git push", "gh pr merge", "unheard drop all", "kubectl delete pod"]),
        kept in 1_usize..4,
        adding in prop::sample::select(vec!["xargs", "xargs -n 1", "sudo xargs -r", "parallel -j4", "fd x -x", "env xargs"]),
        option in prop::sample::select(vec!["", " --unheard", " --unheard=x"]),
    ) {
        let words: Vec<&str> = wanted.split(' ').collect();
        let pattern = CommandPattern::beginning(words.iter().copied()).expect("it has words");
        let begun = words[..kept.min(words.len())].join(" ");
        prop_assert_ne!(pattern.catches(&format!("{adding} {begun}{option}")), Fit::No);
    }
}
