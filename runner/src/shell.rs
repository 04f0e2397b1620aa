//! Command lines that can be pasted into a shell.

use std::borrow::Cow;

/// A word as a shell reads it back.
pub(crate) fn quoted(word: &str) -> Cow<'_, str> {
    // `shlex` quotes more than it needs to, such as the commas and signs of QEMU's options.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,/:%+@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    // What cannot be quoted, a zero byte, cannot have come from a command line.
    shlex::try_quote(word).unwrap_or(Cow::Borrowed(word))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        assert_eq!(quoted("shift=0,sleep=off"), "shift=0,sleep=off");
        for word in ["a b", "it's", "", "$HOME", "\u{e4}", "-g 1; ls"] {
            assert_eq!(shlex::split(&quoted(word)), Some(vec![word.to_owned()]));
        }
    }
}
