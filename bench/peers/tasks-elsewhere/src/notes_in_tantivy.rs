//! Notes in tantivy: words are terms, the time is a column.

use std::path::{Path, PathBuf};

use tantivy::collector::Count;
use tantivy::query::{BooleanQuery, Query, RegexQuery, TermQuery};
use tantivy::schema::{FAST, Field, IndexRecordOption, STORED, Schema, TEXT};
use tantivy::{Index, IndexReader, Order, TantivyDocument, Term};

use crate::notes::{WordQuery, added, text};
use crate::on_tantivy::{bytes_in, page};
use crate::{Outcome, Peer};

pub(crate) struct Tantivy {
    folder: PathBuf,
    index: Index,
    reader: IndexReader,
    text: Field,
    added: Field,
}

impl Tantivy {
    pub(crate) fn open(folder: &Path) -> Outcome<Tantivy> {
        let mut schema = Schema::builder();
        let text = schema.add_text_field("text", TEXT | STORED);
        let added = schema.add_u64_field("added", FAST | STORED);
        let index = Index::create_in_dir(folder, schema.build())?;
        let reader = index.reader()?;
        Ok(Tantivy { folder: folder.to_owned(), index, reader, text, added })
    }
}

impl Peer<WordQuery> for Tantivy {
    fn load(&mut self, count: u32) -> Outcome<()> {
        let mut writer = self.index.writer(1_000_000_000)?;
        for number in 0..count {
            let mut document = TantivyDocument::default();
            document.add_text(self.text, text(number));
            document.add_u64(self.added, added(number));
            writer.add_document(document)?;
        }
        writer.commit()?;
        writer.wait_merging_threads()?;
        Ok(self.reader.reload()?)
    }

    fn run(&mut self, query: &WordQuery) -> Outcome<u64> {
        let term = |word: &&str| -> Box<dyn Query> {
            let term = Term::from_field_text(self.text, word);
            Box::new(TermQuery::new(term, IndexRecordOption::Basic))
        };
        let mut parts: Vec<Box<dyn Query>> = query.words.iter().map(term).collect();
        if let Some(prefix) = query.prefix {
            parts.push(Box::new(RegexQuery::from_pattern(&format!("{prefix}.*"), self.text)?));
        }
        let search = BooleanQuery::intersection(parts);
        let searcher = self.reader.searcher();
        match query.is_total {
            true => Ok(searcher.search(&search, &Count)? as u64),
            false => page(&searcher, &search, "added", Order::Desc),
        }
    }

    fn bytes(&mut self) -> Outcome<u64> {
        bytes_in(&self.folder)
    }
}
