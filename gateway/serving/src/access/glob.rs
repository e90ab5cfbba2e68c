//! Shell globs of `*` and `?`; all other characters stand for themselves.

/// A pattern of node ids.
#[derive(Debug)]
pub(super) struct Glob(Vec<char>);

impl Glob {
    pub(super) fn new(pattern: &str) -> Self {
        Self(pattern.chars().collect())
    }

    /// Whether the whole text matches, in at most text × pattern steps: only the last `*` is retried,
    /// since a longer match of an earlier one cannot help.
    pub(super) fn matches(&self, text: &str) -> bool {
        let pattern = &self.0;
        let text: Vec<char> = text.chars().collect();
        let (mut at, mut in_text) = (0, 0);
        // Position after the last `*`, and in the text where its match ends.
        let mut star: Option<(usize, usize)> = None;
        while in_text < text.len() {
            match pattern.get(at) {
                Some('*') => {
                    at += 1;
                    star = Some((at, in_text));
                }
                Some(c) if *c == '?' || *c == text[in_text] => {
                    at += 1;
                    in_text += 1;
                }
                _ => {
                    let Some((after, end)) = star else { return false };
                    at = after;
                    in_text = end + 1;
                    star = Some((after, in_text));
                }
            }
        }
        pattern[at..].iter().all(|c| *c == '*')
    }
}
