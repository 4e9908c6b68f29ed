//! Searches: texts whose words every list can be filtered by.

use std::borrow::Cow;
use std::collections::BTreeSet;

use keyloom_value::{Item, Value};
use rust_stemmers::{Algorithm, Stemmer};

use super::entity::Entity;
use super::id::{FieldId, SearchId};
use crate::words::FoldedText;

/// Some texts of an entity whose words every list can be filtered by.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Search {
    /// Its name.
    pub name: String,
    /// The fields with the texts.
    pub fields: Vec<FieldId>,
    /// The language whose words are compared by their stems.
    pub(crate) language: Option<Language>,
    /// Whether the last word of a request can be the beginning of one.
    pub(crate) has_prefixes: bool,
}

/// What a search finds an entity by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Term {
    /// A word, or its stem.
    Word(String),
    /// The beginning of a longer word.
    Prefix(String),
}

/// A language with a stemmer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Language(Algorithm);

/// Languages, by their names in a model.
pub(crate) const LANGUAGES: &[(&str, Language)] = &[
    ("arabic", Language(Algorithm::Arabic)),
    ("danish", Language(Algorithm::Danish)),
    ("dutch", Language(Algorithm::Dutch)),
    ("english", Language(Algorithm::English)),
    ("finnish", Language(Algorithm::Finnish)),
    ("french", Language(Algorithm::French)),
    ("german", Language(Algorithm::German)),
    ("greek", Language(Algorithm::Greek)),
    ("hungarian", Language(Algorithm::Hungarian)),
    ("italian", Language(Algorithm::Italian)),
    ("norwegian", Language(Algorithm::Norwegian)),
    ("portuguese", Language(Algorithm::Portuguese)),
    ("romanian", Language(Algorithm::Romanian)),
    ("russian", Language(Algorithm::Russian)),
    ("spanish", Language(Algorithm::Spanish)),
    ("swedish", Language(Algorithm::Swedish)),
    ("tamil", Language(Algorithm::Tamil)),
    ("turkish", Language(Algorithm::Turkish)),
];

impl Search {
    /// Maximum number of terms of an entity in one search.
    pub const TERMS_MAX: usize = 5_000;

    /// Whether the last word of a request can be the beginning of one.
    pub fn has_prefixes(&self) -> bool {
        self.has_prefixes
    }

    /// What the search finds an entity with these fields by. More than the maximum are not returned.
    pub fn terms(&self, entity: &Entity, fields: &Item) -> BTreeSet<Term> {
        let mut terms = BTreeSet::new();
        for text in self.texts(entity, fields) {
            for word in FoldedText::new(text).words() {
                terms.insert(Term::Word(self.normal(word)));
                terms.extend(self.prefixes(word).map(|prefix| Term::Prefix(prefix.to_owned())));
                if terms.len() > Search::TERMS_MAX {
                    return terms;
                }
            }
        }
        terms
    }

    /// What an entity must have to be found by a text: of each element at least one term. The last word
    /// may be the beginning of one, unless something follows it.
    pub fn wanted(&self, text: &str) -> Vec<Vec<Term>> {
        let text = FoldedText::new(text);
        let mut words = text.words().peekable();
        let mut wanted = vec![];
        while let Some(word) = words.next() {
            let may_go_on = self.has_prefixes && words.peek().is_none() && text.ends_in_word();
            let prefix = may_go_on.then(|| Term::Prefix(word.to_owned()));
            wanted.push([Term::Word(self.normal(word))].into_iter().chain(prefix).collect());
        }
        wanted
    }

    /// Whether an entity with these fields has too many terms.
    pub(crate) fn is_too_long(&self, entity: &Entity, fields: &Item) -> bool {
        // No word has more terms than characters, and folding makes at most 18 of 3 bytes.
        let terms_max = |text: &str| if text.is_ascii() { text.len() } else { 6 * text.len() };
        let terms_max: usize = self.texts(entity, fields).map(terms_max).sum();
        terms_max > Search::TERMS_MAX && self.terms(entity, fields).len() > Search::TERMS_MAX
    }

    /// The texts that are searched.
    fn texts<'i>(&self, entity: &Entity, fields: &'i Item) -> impl Iterator<Item = &'i str> {
        let values = self.fields.iter().filter_map(|id| fields.get(&entity.field(*id).name));
        values.flat_map(|value| match value {
            Value::L(elements) => elements.iter().filter_map(Value::as_s).collect(),
            value => value.as_s().into_iter().collect::<Vec<_>>(),
        })
    }

    /// The word by which others with the same stem are found.
    fn normal(&self, word: &str) -> String {
        let stem = |language: Language| Stemmer::create(language.0).stem(word);
        let stem = self.language.map(stem).filter(|stem| !stem.is_empty());
        stem.unwrap_or(Cow::Borrowed(word)).into_owned()
    }

    /// Every beginning of a word but the word itself.
    fn prefixes<'w>(&self, word: &'w str) -> impl Iterator<Item = &'w str> {
        let ends = word.char_indices().skip(1).filter(|_| self.has_prefixes);
        ends.map(|(end, _)| &word[..end])
    }
}

impl Term {
    /// The term in words.
    pub fn describe(&self) -> String {
        match self {
            Term::Word(word) => format!("the word `{word}`"),
            Term::Prefix(prefix) => format!("a longer word with `{prefix}`"),
        }
    }
}

impl Entity {
    /// The search of this name.
    pub fn find_search(&self, name: &str) -> Option<SearchId> {
        let index = self.searches.iter().position(|search| search.name == name)?;
        u16::try_from(index).ok().map(SearchId)
    }

    /// All searches with their ids.
    pub fn searches(&self) -> impl Iterator<Item = (SearchId, &Search)> {
        self.searches.iter().zip(0..).map(|(search, index)| (SearchId(index), search))
    }

    /// The search with this id, which must come from this entity.
    pub fn search(&self, id: SearchId) -> &Search {
        &self.searches[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn with_search<T>(keys: &str, f: impl FnOnce(&Entity, &Search) -> T) -> T {
        let text = format!(
            "[entity.task]\nfields.name = \"text?\"\nfields.notes = \"list of text = []\"\n\
             search.q = {{ fields = [\"name\", \"notes\"]{keys} }}\n"
        );
        let model = crate::check(&text).unwrap();
        let (_, entity) = model.entities().next().unwrap();
        f(entity, &entity.searches[0])
    }

    fn named(text: &str) -> Item {
        Item::from_iter([("name".into(), Value::from(text))])
    }

    /// Whether an entity with one text is found by another.
    fn finds(keys: &str, text: &str, wanted: &str) -> bool {
        with_search(keys, |entity, search| {
            let terms = search.terms(entity, &named(text));
            is_found(search, &terms, wanted)
        })
    }

    fn is_found(search: &Search, terms: &BTreeSet<Term>, wanted: &str) -> bool {
        search.wanted(wanted).iter().all(|any| any.iter().any(|term| terms.contains(term)))
    }

    #[test]
    fn all_words_must_occur_and_the_last_may_go_on() {
        let text = "Fix the roof of the café";
        for wanted in ["", "roof", "ROO", "the fix", "cafe", "fix r", "roof ", " ,the; roof!"] {
            assert!(finds("", text, wanted), "{wanted}");
        }
        for wanted in ["roo ", "ro fix", "roofs", "fix roo.", "x"] {
            assert!(!finds("", text, wanted), "{wanted}");
        }
        assert!(!finds(", prefixes = false", text, "roo"));
        assert!(finds(", prefixes = false", text, "roof"));
    }

    #[test]
    fn stems_are_compared_where_a_language_is_declared() {
        let english = ", language = \"english\"";
        for wanted in ["fix", "fixing roof", "roofs ", "roofed", "Repa", "repairin", "repairs "] {
            assert!(finds(english, "fixed the roof, repairing it", wanted), "{wanted}");
        }
        assert!(!finds(english, "fixed the roof", "roofer "));
        assert!(finds(", language = \"german\"", "Häuser in der Straße", "haus strasse"));
    }

    #[test]
    fn texts_of_all_fields_are_searched() {
        with_search("", |entity, search| {
            let mut fields = named("one two");
            fields.insert("notes", Value::L(vec![Value::from("three"), Value::from("Four")]));
            let words: Vec<Term> = search
                .terms(entity, &fields)
                .into_iter()
                .filter(|term| matches!(term, Term::Word(_)))
                .collect();
            let expected = ["four", "one", "three", "two"].map(|word| Term::Word(word.to_owned()));
            assert_eq!(words, expected);
        });
    }

    #[test]
    fn an_entity_has_at_most_5000_terms() {
        let text = |words: usize| (0..words).map(|n| format!("{n:04} ")).collect::<String>();
        with_search("", |entity, search| {
            // 4,500 words of four digits have 5 + 45 + 450 prefixes.
            assert!(!search.is_too_long(entity, &named(&text(4_500))));
            assert!(search.is_too_long(entity, &named(&text(4_501))));
            assert!(search.terms(entity, &named(&text(100_000))).len() <= Search::TERMS_MAX + 32);
        });
    }

    /// One character can become 18.
    #[test]
    fn characters_that_grow_are_counted() {
        with_search("", |entity, search| {
            let text = (0..900).map(|n| format!("{n}\u{fdfa} ")).collect::<String>();
            let has_many = search.terms(entity, &named(&text)).len() > Search::TERMS_MAX;
            assert_eq!(search.is_too_long(entity, &named(&text)), has_many);
        });
    }

    proptest! {
        /// Every text is found by itself, by each of its words, and by the beginnings of words.
        #[test]
        fn texts_are_found_by_their_words(text in "\\PC{0,60}", language in 0..19_usize) {
            let keys = LANGUAGES.get(language).map(|(name, _)| format!(", language = \"{name}\""));
            with_search(&keys.unwrap_or_default(), |entity, search| {
                let terms = search.terms(entity, &named(&text));
                prop_assert!(is_found(search, &terms, &text));
                for word in FoldedText::new(&text).words() {
                    prop_assert!(is_found(search, &terms, word), "{}", word);
                    for (end, _) in word.char_indices().skip(1) {
                        let prefix = &word[..end];
                        prop_assert!(is_found(search, &terms, prefix), "{}", prefix);
                    }
                }
                Ok(())
            })?;
        }
    }
}
