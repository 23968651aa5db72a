//! Lines out of a stream of bytes, as whole as they came.

/// The longest line that is taken, in bytes; a longer one is skipped and counted as bad.
pub const LINE_MAX: usize = 8 * 1024 * 1024;

/// Takes bytes and gives lines. What is not ended when the stream breaks off was cut, and is never used.
#[derive(Debug, Default)]
pub struct Lines {
    kept: Vec<u8>,
    /// How much of `kept` has no line end in it.
    searched: usize,
    skipping: bool,
}

impl Lines {
    /// Takes bytes in; gives each line that they complete, without its end. `None` stands for one that was too long.
    pub fn push(&mut self, bytes: &[u8], mut line: impl FnMut(Option<&[u8]>)) {
        self.kept.extend_from_slice(bytes);
        let mut begin = 0;
        while let Some(length) = self.kept[self.searched..]
            .iter()
            .position(|byte| *byte == b'\n')
        {
            let end = self.searched + length;
            let text = &self.kept[begin..end];
            if std::mem::take(&mut self.skipping) || text.len() > LINE_MAX {
                line(None);
            } else {
                line(Some(text.strip_suffix(b"\r").unwrap_or(text)));
            }
            begin = end + 1;
            self.searched = begin;
        }
        self.kept.drain(..begin);
        if self.kept.len() > LINE_MAX {
            self.kept.clear();
            self.skipping = true;
        }
        self.searched = self.kept.len();
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn lines(parts: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
        let (mut lines, mut out) = (Lines::default(), Vec::new());
        for part in parts {
            lines.push(part, |line| out.push(line.map(<[u8]>::to_vec)));
        }
        out
    }

    #[test]
    fn a_line_that_is_cut_off_is_not_used() {
        assert_eq!(
            lines(&[b"one\r\ntw", b"o\n\nthr"]),
            [Some(b"one".to_vec()), Some(b"two".to_vec()), Some(vec![])]
        );
    }

    #[test]
    fn a_line_without_an_end_does_not_fill_the_memory() {
        let long = vec![b'x'; LINE_MAX + 1];
        assert_eq!(
            lines(&[&long, &long, b"x\nnext\n"]),
            [None, Some(b"next".to_vec())]
        );
    }

    proptest! {
        /// However the bytes are cut, the lines are the same.
        #[test]
        fn cuts_make_no_difference(text in "[a-c\n]{0,60}", cuts in vec(0..60_usize, 0..8)) {
            let mut places: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= text.len()).collect();
            places.extend([0, text.len()]);
            places.sort_unstable();
            let parts: Vec<&[u8]> = places.windows(2).map(|two| &text.as_bytes()[two[0]..two[1]]).collect();
            let mut whole: Vec<_> = text.split('\n').map(|line| Some(line.as_bytes().to_vec())).collect();
            whole.pop();
            prop_assert_eq!(lines(&parts), whole);
        }
    }
}
