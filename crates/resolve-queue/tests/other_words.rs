//! The same command in other words: options between a program and what it does, and several commands on a line.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use trunkline_resolve_queue::{
    Actor, ActorKind, CommandPattern, Effect, Fit, On, Rule, RuleTarget, RuleVerdict, Rules, Wanted,
};

fn check(words: &[&str], commands: &[&str], expected: Expect) {
    let pattern = CommandPattern::beginning(words.iter().copied()).expect("it has words");
    let line = |command: &&str| {
        let allows = if pattern.allows(command) { "allows" } else { "" };
        format!("{:7} {allows:6} {command}\n", format!("{:?}", pattern.catches(command)))
    };
    expected.assert_eq(&commands.iter().map(line).collect::<String>());
}

#[test]
fn git_is_seen_through_its_options() {
    check(
        &["git", "push"],
        &[
            "git push origin",
            "git --no-pager push",
            "git -P --no-optional-locks push",
            "git -C . push",
            "git -C. push",
            "git -C push status",
            "git -c a.b=c push",
            "git -c a.b=c -C x --git-dir y --work-tree=z push -f",
            "git --exec-path=/tmp push",
            "git -p push",
            "git --new-option push",
            "git --new-option x push",
            "git -c alias.p=push p",
            "git -c include.path=x p",
            "git --config-env=alias.p=X p",
            "/usr/bin/git -C . push",
            "/usr/lib/git-core/git-push",
            "git 'push'",
            "GIT -C . push",
            "sudo git -C . push",
            "env -i git --no-pager push",
            "timeout -s KILL 5 git -C . push",
            "xargs -n1 git -C . push",
            "nice -n 5 git -C x push",
            "sh -c 'git -C . push'",
            "ls && git -C . push",
            "(git -C . push)",
            "git submodule foreach 'git -C . push'",
            "git rebase --exec='git push' x",
            "git stash push",
            "git commit -m push",
            "git -C x status",
            "git --no-pager log push",
            "git",
            "gitk push",
        ],
        expect![[r#"
            Yes     allows git push origin
            Yes     allows git --no-pager push
            Yes     allows git -P --no-optional-locks push
            Yes            git -C . push
            Yes            git -C. push
            No             git -C push status
            Yes            git -c a.b=c push
            Yes            git -c a.b=c -C x --git-dir y --work-tree=z push -f
            Yes            git --exec-path=/tmp push
            Yes            git -p push
            Perhaps        git --new-option push
            Perhaps        git --new-option x push
            Perhaps        git -c alias.p=push p
            Perhaps        git -c include.path=x p
            Perhaps        git --config-env=alias.p=X p
            Yes            /usr/bin/git -C . push
            Perhaps        /usr/lib/git-core/git-push
            Yes     allows git 'push'
            Yes            GIT -C . push
            Perhaps        sudo git -C . push
            Perhaps        env -i git --no-pager push
            Perhaps        timeout -s KILL 5 git -C . push
            Perhaps        xargs -n1 git -C . push
            Perhaps        nice -n 5 git -C x push
            Perhaps        sh -c 'git -C . push'
            Yes            ls && git -C . push
            Yes            (git -C . push)
            Perhaps        git submodule foreach 'git -C . push'
            Perhaps        git rebase --exec='git push' x
            No             git stash push
            No             git commit -m push
            No             git -C x status
            No             git --no-pager log push
            No             git
            No             gitk push
        "#]],
    );
}

#[test]
fn so_are_other_programs() {
    let said = |words: &[&str], command: &str| {
        let pattern = CommandPattern::beginning(words.iter().copied()).expect("it has words");
        let allows = if pattern.allows(command) { "allows" } else { "" };
        format!("{:7} {allows:6} {command}\n", format!("{:?}", pattern.catches(command)))
    };
    let told: String = [
        (["docker", "push"], "docker --context prod push x"),
        (["docker", "push"], "docker -Dl info push x"),
        (["docker", "push"], "podman push x"),
        (["docker", "push"], "docker --debug push x"),
        (["docker", "compose"], "docker-compose up"),
        (["podman", "rm"], "podman --remote rm x"),
        (["kubectl", "delete"], "kubectl -n prod delete pod x"),
        (["kubectl", "delete"], "kubectl -nprod --context=p delete pod x"),
        (["kubectl", "delete"], "kubectl get pods delete"),
        (["helm", "uninstall"], "helm --kube-context p uninstall x"),
        (["npm", "publish"], "npm --prefix x publish"),
        (["npm", "publish"], "npm --silent publish"),
        (["npm", "publish"], "npm -w a publish"),
        (["pnpm", "publish"], "pnpm -r --filter x publish"),
        (["yarn", "publish"], "yarn --cwd x publish"),
        (["cargo", "publish"], "cargo +nightly publish"),
        (["cargo", "publish"], "cargo -q --color never publish"),
        (["cargo", "publish"], "cargo --config net.offline=true publish"),
        (["cargo", "publish"], "cargo --config alias.p=\"publish\" p"),
        (["cargo", "publish"], "cargo test publish"),
        (["make", "deploy"], "make -C x deploy"),
        (["make", "deploy"], "make -Cx -j4 deploy"),
        (["make", "deploy"], "make -s --no-print-directory deploy"),
        (["make", "deploy"], "make build deploy"),
        (["make", "deploy"], "make X=1 deploy"),
        (["make", "deploy"], "make build"),
        (["just", "deploy"], "just --set x 1 build deploy"),
        (["terraform", "apply"], "terraform -chdir=prod apply"),
        (["systemctl", "stop"], "systemctl --user stop x"),
        (["aws", "s3"], "aws --profile p s3 rm x"),
        (["gh", "pr"], "gh -R a/b pr merge"),
        (["hg", "push"], "hg -R x push"),
        (["unheard", "drop"], "unheard --force drop"),
        (["unheard", "drop"], "unheard --at place drop"),
        (["unheard", "drop"], "unheard list drop"),
    ]
    .iter()
    .map(|(words, command)| said(words, command))
    .collect();
    expect![[r#"
        Yes            docker --context prod push x
        Yes            docker -Dl info push x
        No             podman push x
        Yes     allows docker --debug push x
        Perhaps        docker-compose up
        Yes            podman --remote rm x
        Yes            kubectl -n prod delete pod x
        Yes            kubectl -nprod --context=p delete pod x
        No             kubectl get pods delete
        Yes            helm --kube-context p uninstall x
        Yes            npm --prefix x publish
        Yes     allows npm --silent publish
        Yes            npm -w a publish
        Yes            pnpm -r --filter x publish
        Yes            yarn --cwd x publish
        Yes            cargo +nightly publish
        Yes     allows cargo -q --color never publish
        Yes            cargo --config net.offline=true publish
        Perhaps        cargo --config alias.p="publish" p
        No             cargo test publish
        Yes            make -C x deploy
        Yes            make -Cx -j4 deploy
        Yes     allows make -s --no-print-directory deploy
        Perhaps        make build deploy
        Yes            make X=1 deploy
        No             make build
        Perhaps        just --set x 1 build deploy
        Yes            terraform -chdir=prod apply
        Yes            systemctl --user stop x
        Yes            aws --profile p s3 rm x
        Yes            gh -R a/b pr merge
        Yes            hg -R x push
        Perhaps        unheard --force drop
        Perhaps        unheard --at place drop
        No             unheard list drop
    "#]]
    .assert_eq(&told);
}

#[test]
fn options_of_a_rule_are_found_in_another_order_joined_and_apart() {
    check(
        &["rm", "-rf"],
        &[
            "rm -rf x",
            "rm -fr x",
            "rm -r -f x",
            "rm -v -r x -f",
            "rm -r x",
            "rm -i x",
            "rm --recursive --force x",
        ],
        expect![[r#"
            Yes     allows rm -rf x
            Perhaps        rm -fr x
            Perhaps        rm -r -f x
            Perhaps        rm -v -r x -f
            No             rm -r x
            No             rm -i x
            No             rm --recursive --force x
        "#]],
    );
    check(
        &["git", "push", "--force"],
        &["git push --force", "git push origin --force", "git -C x push origin --force=y", "git push origin"],
        expect![[r#"
            Yes     allows git push --force
            Perhaps        git push origin --force
            Perhaps        git -C x push origin --force=y
            No             git push origin
        "#]],
    );
    check(
        &["cargo", "+nightly"],
        &["cargo +nightly build", "cargo -q +nightly build", "cargo build"],
        expect![[r#"
            Yes     allows cargo +nightly build
            Perhaps allows cargo -q +nightly build
            No             cargo build
        "#]],
    );
}

#[test]
fn an_exact_rule_is_about_its_words_and_the_options_of_the_program() {
    let push = CommandPattern::exactly(["git", "push"]).expect("it has words");
    let said: String = [
        "git push",
        "git -C . push",
        "git --no-pager push",
        "git --new push",
        "git push origin",
        "git -C . push origin",
    ]
    .iter()
    .map(|command| {
        format!("{:7} {:5} {command}\n", format!("{:?}", push.catches(command)), push.allows(command))
    })
    .collect();
    expect![[r#"
        Yes     true  git push
        Yes     false git -C . push
        Yes     false git --no-pager push
        Perhaps false git --new push
        No      false git push origin
        No      false git -C . push origin
    "#]]
    .assert_eq(&said);
}

/// What rules say of commands: `allow git status`, `deny git push` and so on.
pub(crate) fn verdicts(rules: &[&str], commands: &[&str]) -> String {
    let mut all = Rules::new();
    for rule in rules {
        let (verdict, words) = rule.split_once(' ').expect("a verdict and words");
        let verdict = match verdict {
            "allow" => RuleVerdict::Allow,
            "ask" => RuleVerdict::Ask,
            _ => RuleVerdict::Deny,
        };
        let mut rule = Rule::new(verdict, Actor::new(ActorKind::Person, "anna"));
        match words {
            "run" => rule.tool = Some("run".to_owned()),
            words => {
                let pattern = CommandPattern::beginning(words.split(' ')).expect("it has words");
                rule.target = Some(RuleTarget::Command(pattern));
            }
        }
        let event = all.add(rule, 1).expect("it may be given");
        all.record(event).expect("it is legal");
    }
    let said = |command: &&str| {
        let judgement = all.judge(&Wanted::new("run", Effect::Irreversible, On::Command(command)), 2);
        let rules: Vec<String> = judgement.rules.iter().map(ToString::to_string).collect();
        format!("{:5} {:6} {command:?}\n", format!("{:?}", judgement.verdict), rules.join(","))
    };
    commands.iter().map(said).collect()
}

#[test]
fn what_stands_behind_the_words_of_an_allow_is_allowed_whatever_it_does() {
    // Nobody knows of every program which of its options write a file; the words alone are an exact rule.
    check(
        &["git", "log"],
        &["git log --output=f", "git log -p --ext-diff", "git --output=f log"],
        expect![[r#"
            Yes     allows git log --output=f
            Yes     allows git log -p --ext-diff
            Perhaps        git --output=f log
        "#]],
    );
}

#[test]
fn of_several_commands_on_a_line_each_must_be_allowed() {
    expect![[r#"
        Allow r1,r2  "git status && cargo test"
        Allow r1,r2  "git status; cargo test | cargo test"
        Allow r1     "git status || git status -s\n"
        Allow r1,r2  "git status\ncargo test --all"
        Ask          "git status && ls"
        Ask          "git status & cargo test"
        Ask          "git status |& cargo test"
        Ask          "git status &&"
        Ask          "git status ;; cargo test"
        Ask          "git status > x && cargo test"
        Ask   r3     "git status && cargo test $X"
        Ask   r3     "git status && (cargo test)"
        Ask   r3     "! git status && cargo test"
        Ask   r3     "if git status; then cargo test; fi"
        Allow r1     "git status 'a && b; c | d'"
        Ask   r3     "git status 'a && b"
        Ask          "git status && git -C x status"
        Allow r1     "git status && git --no-pager status"
        Deny  r3     "git status && git push"
        Deny  r3     "git status; git -C . push | cargo test"
        Ask   r3     "cargo test && sudo git push"
    "#]]
    .assert_eq(&verdicts(
        &["allow git status", "allow cargo test", "deny git push"],
        &[
            "git status && cargo test",
            "git status; cargo test | cargo test",
            "git status || git status -s\n",
            "git status\ncargo test --all",
            "git status && ls",
            "git status & cargo test",
            "git status |& cargo test",
            "git status &&",
            "git status ;; cargo test",
            "git status > x && cargo test",
            "git status && cargo test $X",
            "git status && (cargo test)",
            "! git status && cargo test",
            "if git status; then cargo test; fi",
            "git status 'a && b; c | d'",
            "git status 'a && b",
            "git status && git -C x status",
            "git status && git --no-pager status",
            "git status && git push",
            "git status; git -C . push | cargo test",
            "cargo test && sudo git push",
        ],
    ));
}

#[test]
fn what_allows_every_command_yields_to_what_forbids_one_in_other_words() {
    expect![[r#"
        Deny  r2     "git push"
        Deny  r2     "git -C . push"
        Deny  r2     "git --no-pager push"
        Deny  r2     "git -c a.b=c push"
        Ask   r2     "git --unheard push"
        Ask   r2     "git -c alias.x=push x"
        Allow r1     "git -C . status"
    "#]]
    .assert_eq(&verdicts(
        &["allow run", "deny git push"],
        &[
            "git push",
            "git -C . push",
            "git --no-pager push",
            "git -c a.b=c push",
            "git --unheard push",
            "git -c alias.x=push x",
            "git -C . status",
        ],
    ));
}

const OPTIONS: [&str; 12] = [
    "--no-pager",
    "-P",
    "-C .",
    "-c a.b=c",
    "--git-dir=x",
    "--git-dir x",
    "--exec-path=/x",
    "--unheard",
    "-z",
    "--bare",
    "--unheard y",
    "--no-advice",
];
/// Of these an allowing rule sees through no others.
const HARMLESS: [&str; 3] = ["--no-pager", "-P", "--no-advice"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn no_options_hide_what_is_forbidden_and_only_harmless_ones_pass_what_is_allowed(
        options in prop::collection::vec(prop::sample::select(OPTIONS.to_vec()), 0..5),
        around in prop::sample::select(vec!["", "sudo ", "env ", "ls; ", "sh -c '"]),
    ) {
        let pattern = CommandPattern::beginning(["git", "push"]).expect("it has words");
        let words = format!("git {} push", options.join(" "));
        let close = if around.ends_with('\'') { "'" } else { "" };
        prop_assert_ne!(pattern.catches(&format!("{around}{words}{close}")), Fit::No, "{}", words);
        let harmless = options.iter().all(|option| HARMLESS.contains(option));
        prop_assert_eq!(pattern.allows(&words), harmless, "{}", words);
    }

    #[test]
    fn what_is_allowed_through_options_is_caught_too(
        words in prop::collection::vec(prop::sample::select(vec!["git", "push", "-C", "-c", "--no-pager", "-P", "x", "a=b", "--color", "--"]), 1..6),
        wanted in prop::collection::vec(prop::sample::select(vec!["git", "push", "x", "-P"]), 1..3),
    ) {
        let pattern = CommandPattern::beginning(wanted).expect("it has words");
        let command = words.join(" ");
        if pattern.allows(&command) {
            prop_assert_eq!(pattern.catches(&command), Fit::Yes, "{}", command);
        }
    }

    #[test]
    fn a_line_is_allowed_only_if_each_command_of_it_is(
        parts in prop::collection::vec(prop::sample::select(vec!["ls", "ls -l", "rm x", "ls $X", "", "ls > x", "'ls'"]), 1..4),
        between in prop::sample::select(vec![" && ", "; ", " | ", " || ", "\n"]),
    ) {
        let allowed = |command: &str| verdicts(&["allow ls"], &[command]).starts_with("Allow");
        let line = parts.join(between);
        // A blank line is no command; between anything else, one is missing.
        let is_blank = |part: &str| between == "\n" && part.is_empty() && !line.trim().is_empty();
        prop_assert_eq!(allowed(&line), parts.iter().all(|part| is_blank(part) || allowed(part)), "{:?}", line);
    }
}
