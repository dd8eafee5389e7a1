//! What closes an export, and what seals what it says of its sessions.

use expect_test::expect;
use trunkline_session_store::{Export, Import, ImportError, MemoryStore, Restoring, SessionStore, import};

use crate::interchange::{check, exported, sample, unsealed};
use crate::material::{new_session, session, words};

/// Two sessions in one export.
async fn exported_together() -> String {
    let store = sample().await;
    store.create(new_session(2)).await.unwrap();
    let (mut export, mut bytes) = (Export::new(2), Vec::new());
    for number in [2, 1] {
        export.session(&store, &session(number), &mut bytes).await.unwrap();
    }
    export.finish(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn an_export_that_was_cut_between_sessions_is_noticed_and_what_is_whole_is_taken_in() {
    let text = exported_together().await;
    let second = text.rfind("{\"trunkline\":\"session\"").unwrap();
    let end = text.rfind("{\"trunkline\":\"end\"").unwrap();
    for (cut, sessions, told) in [
        (second, 1, "the export was cut off: its last line is missing, and 1 of 2 sessions are there"),
        (end, 2, "the export was cut off: its last line is missing, and 2 of 2 sessions are there"),
    ] {
        let store = MemoryStore::new();
        let error = import(&store, &text.as_bytes()[..cut]).await.unwrap_err();
        assert_eq!((words(&error).as_str(), store.sessions().await.unwrap().len()), (told, sessions));
        // Another export behind it does not hide that.
        let store = MemoryStore::new();
        let file = format!("{}{}", &text[..cut], unsealed(&exported(&sample().await).await));
        let mut import = Import::new(file.as_bytes());
        let mut errors = Vec::new();
        for _ in 0..4 {
            match import.next_session() {
                Ok(Some(header)) => {
                    let restored = store.restore(Restoring::new(header, &mut import.rows())).await;
                    drop(restored);
                }
                Ok(None) => break,
                Err(error) => errors.push(words(&error)),
            }
        }
        assert_eq!(errors, [told]);
    }
    let store = MemoryStore::new();
    assert_eq!(import(&store, text.as_bytes()).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_session_that_was_left_out_of_an_export_or_put_in_is_noticed() {
    let text = exported_together().await;
    let second = text.rfind("{\"trunkline\":\"session\"").unwrap();
    let end = text.rfind("{\"trunkline\":\"end\"").unwrap();
    let (one, two, end) = (&text[..second], &text[second..end], &text[end..]);
    for (file, told) in [
        ([one, end].concat(), "before it stand 1 with 1"),
        ([two, one, end].concat(), "the lines before it are not those that were written"),
        ([one, two, one, end].concat(), "before it stand 3 with 9"),
        (
            [one, two, &end.replace("\"records\":8", "\"records\":9")].concat(),
            "it says 2 sessions with 9 records, and before it stand 2 with 8",
        ),
    ] {
        // Told by whoever only looks, too.
        let mut import = Import::new(file.as_bytes());
        let error = loop {
            match import.next_session() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{told}: nothing was noticed"),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, ImportError::NotWhole { .. }), "{error:?}");
        assert!(words(&error).contains(told), "{error}");
    }
}

#[tokio::test]
async fn what_a_header_says_of_its_session_is_sealed() {
    let text = exported(&sample().await).await;
    for (from, to) in [
        ("\"title\":\"rain\"", "\"title\":\"sun\""),
        ("\"tags\":[\"late\",\"wet\"],", ""),
        ("\"workspace\":null", "\"workspace\":\"/elsewhere\""),
        ("\"created_at\":1", "\"created_at\":2"),
        ("\"workspace\"", "\"archived\":true,\"workspace\""),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        let store = MemoryStore::new();
        let error = import(&store, changed.as_bytes()).await.unwrap_err();
        let told =
            "line 1, column 1: what it says of the session is not what was written: its seal does not fit";
        assert_eq!(words(&error), told, "{from}");
        assert_eq!(store.sessions().await.unwrap(), [], "{from}");
    }
    // An older version is no way around it.
    let older = text.replace("\"version\":3", "\"version\":2");
    check(&older, expect!["line 1, column 1: only version 3 has seals, and here is one"]).await;
}

#[tokio::test]
async fn what_was_written_without_seals_is_read_as_it_was() {
    let store = sample().await;
    let text = exported(&store).await;
    let again = MemoryStore::new();
    import(&again, unsealed(&text).as_bytes()).await.unwrap();
    assert_eq!(exported(&again).await, text);
}

#[tokio::test]
async fn an_export_without_sessions_is_whole_too() {
    let mut bytes = Vec::new();
    Export::new(0).finish(&mut bytes).unwrap();
    expect![[r#"
        {"trunkline":"end","version":3,"sessions":0,"records":0,"digest":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}
    "#]]
    .assert_eq(std::str::from_utf8(&bytes).unwrap());
    assert_eq!(import(&MemoryStore::new(), bytes.as_slice()).await.unwrap(), []);
}
