use super::*;

fn read(text: &str) -> Result<Value<'_>, String> {
    let source = Source { name: "f", text };
    parse(&source).map_err(|fault| super::super::fault::refusal(&source, vec![fault]).to_string())
}

fn keys(text: &str) -> Vec<(String, bool)> {
    match read(text).expect("fine").kind {
        Kind::Object(members) => {
            members.into_iter().map(|one| (one.key.into(), one.value.is_some())).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn order_repetition_and_missing_values_are_kept() {
    let text = "/* a */ {\"b\": 1, // c\n 'a': [2,], \"b\", \"b\": {},}";
    let expected = [("b", true), ("a", true), ("b", false), ("b", true)];
    assert_eq!(keys(text), expected.map(|(key, has)| (key.to_owned(), has)));
}

#[test]
fn faults_say_where_and_what_is_expected() {
    let faults = [
        ("", "1:1: the file is empty"),
        ("// nothing\n", "the file is empty"),
        ("{", "1:2: the file ends where a key in quotes is expected"),
        ("{\"a\" 1}", "1:6: `1` where a colon is expected"),
        ("{\"a\": 1 \"b\": 2}", "1:9: \"b\" where a comma or `}` is expected"),
        ("{\"a\": RUN}", "1:7: `RUN` cannot stand here; if this is a template"),
        ("{\"a\": @RUN@}", "1:7: `@RUN@` cannot stand here; if this is a template"),
        ("{\"a\": True}", "1:7: `True` cannot stand here; write `true`"),
        ("{\"a\": Nil }", "1:7: `Nil` where a value is expected; if this"),
        ("{\"a\": 1}}", "1:9: `}` where the end of the file is expected"),
        ("{\"a\": \"", "1:7: "),
        ("{a: 1}", "1:2: `a` where a key in quotes is expected"),
        ("{\"a\": 0x10}", "1:7: hexadecimal"),
        ("/* {", "1:1: unterminated comment"),
    ];
    for (text, expected) in faults {
        let message = read(text).expect_err(text);
        assert!(message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn depth_and_size_are_bounded() {
    let deep = "[".repeat(5_000_000);
    assert!(read(&deep).unwrap_err().contains("1:17: nested deeper than 16"));
    let wide = format!("[{}]", "0,".repeat(1_000_001));
    assert!(read(&wide).unwrap_err().contains("more than 1000000 values"));
}
