//! An answer that does not come, or not whole: what is asked again, what is not, and what is kept of it.

use expect_test::expect;

use crate::play::check;

#[test]
fn an_answer_that_contradicts_itself_is_asked_for_as_often_as_the_policy_says() {
    check(
        r#"
        12 times doubtful: shell c1 {"command":"rm -rf"}
        hush
        > go
        tell
        show attempts
        "#,
        expect![[r#"
            show attempts
                1 at n1, broken: the answer cannot be read (the call has two names): {"name":"rm"}; kept n2, asked again
                2 at n1, broken: the answer cannot be read (the call has two names): {"name":"rm"}; kept n3, asked again
                3 at n1, broken: the answer cannot be read (the call has two names): {"name":"rm"}; kept n4, asked again
                4 at n1, broken: the answer cannot be read (the call has two names): {"name":"rm"}; kept n5, asked again
                5 at n1, broken: the answer cannot be read (the call has two names): {"name":"rm"}; kept n6, asked again
                6 at n1, broken: the answer cannot be read (the call has two names): {"name":"rm"}; kept n7, asked again
                7 at n1, broken: the answer cannot be read (the call has two names): {"name":"rm"}; kept n8, asked again
                8 at n1, broken: the answer cannot be read (the call has two names): {"name":"rm"}; kept n9, asked again
                9 at n1, broken: the answer cannot be read (the call has two names): {"name":"rm"}; kept n10, given up
        "#]],
    );
}

#[test]
fn a_key_that_is_refused_ends_the_drive_at_once_and_is_recorded() {
    check(
        r#"
        unauthorized:
        unauthorized: I
        model: done
        > go
        resume
        show attempts
        resume
        "#,
        expect![[r#"
            > go
                + n1 under n0 person: go
                + decision/opened
                + decision/run
              request
                + runtime/attempt
                the model could not be asked
            resume
              request
                + n2 under n1 filed model: I
                + runtime/attempt
                the model could not be asked
            show attempts
                1 at n1, refused: authentication (status 401): invalid x-api-key; kept nothing, given up
                1 at n1, refused: authentication (status 401): invalid x-api-key; kept n2, given up
            resume
              request
                + n3 under n1 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_request_that_is_not_valid_ends_the_drive_at_once_and_is_recorded() {
    check(
        r#"
        invalid:
        invalid: I
        model: done
        > go
        resume
        show attempts
        resume
        "#,
        expect![[r#"
            > go
                + n1 under n0 person: go
                + decision/opened
                + decision/run
              request
                + runtime/attempt
                the model could not be asked
            resume
              request
                + n2 under n1 filed model: I
                + runtime/attempt
                the model could not be asked
            show attempts
                1 at n1, refused: invalid request (status 400): no; kept nothing, given up
                1 at n1, refused: invalid request (status 400): no; kept n2, given up
            resume
              request
                + n3 under n1 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_prompt_that_is_too_long_ends_the_drive_at_once_and_is_recorded() {
    check(
        r#"
        long:
        long: I
        model: done
        > go
        resume
        show attempts
        resume
        "#,
        expect![[r#"
            > go
                + n1 under n0 person: go
                + decision/opened
                + decision/run
              request
                + runtime/attempt
                the model could not be asked
            resume
              request
                + n2 under n1 filed model: I
                + runtime/attempt
                the model could not be asked
            show attempts
                1 at n1, refused: context too long (status 400): prompt is too long; kept nothing, given up
                1 at n1, refused: context too long (status 400): prompt is too long; kept n2, given up
            resume
              request
                + n3 under n1 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_quota_that_is_used_up_ends_the_drive_at_once_and_is_recorded() {
    check(
        r#"
        quota:
        quota: I
        model: done
        > go
        resume
        show attempts
        resume
        "#,
        expect![[r#"
            > go
                + n1 under n0 person: go
                + decision/opened
                + decision/run
              request
                + runtime/attempt
                the model could not be asked
            resume
              request
                + n2 under n1 filed model: I
                + runtime/attempt
                the model could not be asked
            show attempts
                1 at n1, refused: quota exhausted (status 429): insufficient_quota; kept nothing, given up
                1 at n1, refused: quota exhausted (status 429): insufficient_quota; kept n2, given up
            resume
              request
                + n3 under n1 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn a_certificate_that_is_not_trusted_ends_the_drive_at_once_and_is_recorded() {
    check(
        r#"
        certificate:
        certificate: I
        model: done
        > go
        resume
        show attempts
        resume
        "#,
        expect![[r#"
            > go
                + n1 under n0 person: go
                + decision/opened
                + decision/run
              request
                + runtime/attempt
                the model could not be asked
            resume
              request
                + n2 under n1 filed model: I
                + runtime/attempt
                the model could not be asked
            show attempts
                1 at n1, refused: cannot reach http://localhost:1: invalid peer certificate: UnknownIssuer; kept nothing, given up
                1 at n1, refused: cannot reach http://localhost:1: invalid peer certificate: UnknownIssuer; kept n2, given up
            resume
              request
                + n3 under n1 model: done
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn an_address_that_never_answered_is_given_up_soon() {
    check(
        r#"
        20 times unreached:
        hush
        > go
        tell
        show attempts
        "#,
        expect![[r#"
            show attempts
                1 at n1, unreached: cannot reach http://localhost:1: Connection refused (os error 111); kept nothing, asked again
                2 at n1, unreached: cannot reach http://localhost:1: Connection refused (os error 111); kept nothing, asked again
                3 at n1, unreached: cannot reach http://localhost:1: Connection refused (os error 111); kept nothing, asked again
                4 at n1, unreached: cannot reach http://localhost:1: Connection refused (os error 111); kept nothing, given up
        "#]],
    );
}

#[test]
fn an_address_that_did_answer_is_given_up_later() {
    check(
        r#"
        model: read c1 {"path":"a"}
        20 times unreached:
        hush
        > go
        tell
        show attempts
        "#,
        expect![[r#"
            show attempts
                1 at n3, unreached: cannot reach http://localhost:1: Connection refused (os error 111); kept nothing, asked again
                2 at n3, unreached: cannot reach http://localhost:1: Connection refused (os error 111); kept nothing, asked again
                3 at n3, unreached: cannot reach http://localhost:1: Connection refused (os error 111); kept nothing, asked again
                4 at n3, unreached: cannot reach http://localhost:1: Connection refused (os error 111); kept nothing, asked again
                5 at n3, unreached: cannot reach http://localhost:1: Connection refused (os error 111); kept nothing, asked again
                6 at n3, unreached: cannot reach http://localhost:1: Connection refused (os error 111); kept nothing, asked again
                7 at n3, unreached: cannot reach http://localhost:1: Connection refused (os error 111); kept nothing, asked again
                8 at n3, unreached: cannot reach http://localhost:1: Connection refused (os error 111); kept nothing, asked again
                9 at n3, unreached: cannot reach http://localhost:1: Connection refused (os error 111); kept nothing, given up
        "#]],
    );
}
