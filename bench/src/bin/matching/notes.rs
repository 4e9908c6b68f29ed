//! Notes with texts, and the queries by words, the same for every database.
//!
//! Words occur as often as those of a language: the second most frequent half as often as the first, and
//! so on. One word has all its matches among the oldest notes: the worst case for a list of the newest.

/// Words of a text.
const LENGTH: usize = 20;
/// Different words.
const VOCABULARY: f64 = 200_000.0;
/// How many of the oldest notes have the word of the oldest.
const OLDEST: u32 = 20;

const CONSONANTS: &[u8] = b"bcdfghjklmnprstvwz";
const VOWELS: &[u8] = b"aeiou";

/// The word of a rank; frequent words are short.
fn word(rank: u64) -> String {
    let mut word = String::new();
    let mut rest = rank;
    loop {
        let (consonants, vowels) = (CONSONANTS.len() as u64, VOWELS.len() as u64);
        word.push(char::from(CONSONANTS[(rest % consonants) as usize]));
        word.push(char::from(VOWELS[(rest / consonants % vowels) as usize]));
        rest /= consonants * vowels;
        if rest == 0 {
            return word;
        }
    }
}

/// The text of a note.
pub(crate) fn text(number: u32) -> String {
    let mut state = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let ranks = (0..LENGTH).map(|_| VOCABULARY.powf(draw()) as u64);
    let mut words: Vec<String> = ranks.map(word).collect();
    if number < OLDEST {
        words[0] = "oldest".to_owned();
    }
    words.join(" ")
}

/// When a note was added, in milliseconds.
pub(crate) fn added(number: u32) -> u64 {
    1_700_000_000_000 + u64::from(number) * 1_000
}

/// A query.
#[derive(Clone, Copy)]
pub(crate) struct WordQuery {
    pub(crate) text: &'static str,
    /// Complete words.
    pub(crate) words: &'static [&'static str],
    /// The beginning of another word.
    pub(crate) prefix: Option<&'static str>,
    /// How many match, instead of the newest 20.
    pub(crate) is_total: bool,
}

const fn page(
    text: &'static str,
    words: &'static [&'static str],
    prefix: Option<&'static str>,
) -> WordQuery {
    WordQuery { text, words, prefix, is_total: false }
}

const fn total(
    text: &'static str,
    words: &'static [&'static str],
    prefix: Option<&'static str>,
) -> WordQuery {
    WordQuery { text, words, prefix, is_total: true }
}

// Words of the ranks 1, 2, 30, 1,000 and 100,000.
const FREQUENT: &[&str] = &["ca", "da"];
const THREE: &[&str] = &["ca", "da", "re"];
const MIXED: &[&str] = &["ca", "napa"];
const RARE: &[&str] = &["nasera"];

pub(crate) const QUERIES: [WordQuery; 12] = [
    page("two frequent words: page", FREQUENT, None),
    total("two frequent words: total", FREQUENT, None),
    page("three words: page", THREE, None),
    total("three words: total", THREE, None),
    page("a frequent and a rarer word: page", MIXED, None),
    total("a frequent and a rarer word: total", MIXED, None),
    page("a rare word: page", RARE, None),
    page("the word of the oldest 20: page", &["oldest"], None),
    page("the beginning of many words: page", &[], Some("la")),
    total("the beginning of many words: total", &[], Some("la")),
    page("a word and the beginning of one: page", &["ca"], Some("nap")),
    total("a word and the beginning of one: total", &["ca"], Some("nap")),
];
