//! The words of a text, as searches compare them.
//!
//! Case, width, ligatures and the diacritics of Latin and Greek letters are folded. Texts are split at
//! everything that is neither a letter, nor a digit, nor a mark, and then by Unicode's rules for word
//! boundaries. Han and Hiragana characters are words of one character each.
//!
//! Posting lists are named by words, so what this returns for a text must never change: the crates
//! with Unicode's tables have exact versions, and a test compares a digest of all characters.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

/// Maximum length of a word in characters; of longer ones only these are compared.
pub(crate) const WORD_MAX: usize = 32;

/// A text whose words can be read.
#[derive(Debug)]
pub(crate) struct FoldedText(String);

impl FoldedText {
    pub(crate) fn new(text: &str) -> FoldedText {
        FoldedText(match text.is_ascii() {
            true => text.to_ascii_lowercase(),
            false => folded(text),
        })
    }

    /// The words in their order, each as often as it occurs.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.0.split(|c| !is_part(c)).flat_map(|piece| {
            // ASCII has no other boundaries, and most text is ASCII.
            let (whole, rest) = if piece.is_ascii() { (piece, "") } else { ("", piece) };
            let whole = Some(whole).filter(|whole| !whole.is_empty());
            whole.into_iter().chain(rest.unicode_words()).map(cut)
        })
    }

    /// Whether the text ends with a word that may go on.
    pub(crate) fn ends_in_word(&self) -> bool {
        self.0.ends_with(is_part)
    }
}

fn folded(text: &str) -> String {
    let mut base = ' ';
    let mut plain = String::with_capacity(text.len());
    for character in text.nfkd().flat_map(char::to_lowercase) {
        if is_ignored(character) || is_diacritic(character) && is_latin_or_greek(base) {
            continue;
        }
        if !is_combining_mark(character) {
            base = character;
        }
        match plain_letters(character) {
            Some(letters) => plain.push_str(letters),
            None => plain.push(character),
        }
    }
    plain.nfc().collect()
}

/// Characters within words that are not seen.
fn is_ignored(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

fn is_diacritic(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}')
}

/// Letters whose diacritics are no letters of their own. Of others, such as the Cyrillic й, they are.
fn is_latin_or_greek(base: char) -> bool {
    matches!(base, 'a'..='z' | 'ß'..='\u{24f}' | '\u{370}'..='\u{3ff}')
}

/// Letters that have no decomposition, and are often written as others.
fn plain_letters(character: char) -> Option<&'static str> {
    Some(match character {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'đ' => "d",
        'ł' => "l",
        'ı' => "i",
        'ς' => "σ",
        _ => return None,
    })
}

fn is_part(character: char) -> bool {
    character.is_alphanumeric() || is_combining_mark(character)
}

/// The first characters of a word.
fn cut(word: &str) -> &str {
    word.char_indices().nth(WORD_MAX).map_or(word, |(end, _)| &word[..end])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        FoldedText::new(text).words().map(str::to_owned).collect()
    }

    #[test]
    fn words_of_many_scripts() {
        let cases: [(&str, &[&str]); 18] = [
            ("Fix the roof!", &["fix", "the", "roof"]),
            ("", &[]),
            (" -- !? ", &[]),
            (
                "don't e-mail a_b.c 3.14 x²",
                &["don", "t", "e", "mail", "a", "b", "c", "3", "14", "x2"],
            ),
            ("Crème BRÛLÉE", &["creme", "brulee"]),
            ("L’été d'Œuvre", &["l", "ete", "d", "oeuvre"]),
            ("STRASSE Straße ẞ", &["strasse", "strasse", "ss"]),
            ("İstanbul ISPARTA ılık", &["istanbul", "isparta", "ilik"]),
            ("ΣΊΣΥΦΟΣ Σίσυφος", &["σισυφοσ", "σισυφοσ"]),
            ("Йод йод", &["йод", "йод"]),
            ("ﬁne ｆｕｌｌ ①", &["fine", "full", "1"]),
            ("東京タワー", &["東", "京", "タワー"]),
            ("すし", &["す", "し"]),
            ("한국어 검색", &["한국어", "검색"]),
            ("हिन्दी में", &["हिन्दी", "में"]),
            ("می\u{200c}خواهم", &["میخواهم"]),
            ("co\u{ad}op naïve", &["coop", "naive"]),
            ("🎉 party🎉", &["party"]),
        ];
        for (text, expected) in cases {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn long_words_are_cut() {
        assert_eq!(words(&"é".repeat(40)), ["e".repeat(32)]);
        assert_eq!(words(&format!("{} b", "a".repeat(32))), ["a".repeat(32), "b".to_owned()]);
    }

    /// FNV-1a over what becomes of every character, alone and within a word.
    #[test]
    fn words_of_all_characters_never_change() {
        let mut digest: u64 = 0xcbf2_9ce4_8422_2325;
        let mut add = |text: &str| {
            for word in words(text) {
                for byte in word.bytes().chain([0xff]) {
                    digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
                }
            }
        };
        for character in (0..=0x10_ffff).filter_map(char::from_u32) {
            add(&format!("{character} a{character}b \u{5d0}{character}\u{5d0} か{character}か"));
        }
        assert_eq!(
            digest, 8_675_516_802_042_729_070,
            "posting lists of stored data have other names"
        );
    }

    proptest! {
        #[test]
        fn folding_twice_is_folding_once(text in "\\PC{0,40}") {
            let once = words(&text);
            prop_assert_eq!(words(&once.join(" ")), once);
        }

        #[test]
        fn ascii_has_the_words_of_unicode(text in "[ -~]{0,32}") {
            let slowly = folded(&text);
            let pieces = slowly.split(|c| !is_part(c));
            let of_unicode: Vec<&str> = pieces.flat_map(UnicodeSegmentation::unicode_words).collect();
            prop_assert_eq!(words(&text), of_unicode);
        }
    }
}
