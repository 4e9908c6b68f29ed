//! tantivy: a search engine as a library. Tags are terms, the number of a task is a column.

use std::path::{Path, PathBuf};

use tantivy::collector::{Count, TopDocs};
use tantivy::query::{BooleanQuery, Query, TermQuery};
use tantivy::schema::{FAST, Field, IndexRecordOption, STORED, STRING, Schema};
use tantivy::{DocAddress, Index, IndexReader, Order, Searcher, TantivyDocument, Term};

use crate::tasks::{PAGE, ResultKind, TagQuery, name, tags};
use crate::{Outcome, Peer};

pub(crate) struct Tantivy {
    folder: PathBuf,
    index: Index,
    reader: IndexReader,
    number: Field,
    name: Field,
    tag: Field,
}

impl Tantivy {
    pub(crate) fn open(folder: &Path) -> Outcome<Tantivy> {
        let mut schema = Schema::builder();
        let number = schema.add_u64_field("number", FAST | STORED);
        let name = schema.add_text_field("name", STORED);
        let tag = schema.add_text_field("tag", STRING | STORED);
        let index = Index::create_in_dir(folder, schema.build())?;
        let reader = index.reader()?;
        Ok(Tantivy { folder: folder.to_owned(), index, reader, number, name, tag })
    }
}

impl Peer<TagQuery> for Tantivy {
    fn load(&mut self, tasks: u32) -> Outcome<()> {
        let mut writer = self.index.writer(1_000_000_000)?;
        for number in 0..tasks {
            let mut document = TantivyDocument::default();
            document.add_u64(self.number, number.into());
            document.add_text(self.name, name(number));
            for (key, value) in tags(number, tasks) {
                document.add_text(self.tag, format!("{key}:{value}"));
            }
            writer.add_document(document)?;
        }
        writer.commit()?;
        writer.wait_merging_threads()?;
        Ok(self.reader.reload()?)
    }

    fn run(&mut self, query: &TagQuery) -> Outcome<u64> {
        let term = |(key, value): &(&str, &str)| -> Box<dyn Query> {
            let term = Term::from_field_text(self.tag, &format!("{key}:{value}"));
            Box::new(TermQuery::new(term, IndexRecordOption::Basic))
        };
        let search = BooleanQuery::intersection(query.tags.iter().map(term).collect());
        let searcher = self.reader.searcher();
        let order = match query.result {
            ResultKind::Total => return Ok(searcher.search(&search, &Count)? as u64),
            ResultKind::Oldest => Order::Asc,
            ResultKind::Newest => Order::Desc,
        };
        page(&searcher, &search, "number", order)
    }

    fn bytes(&mut self) -> Outcome<u64> {
        bytes_in(&self.folder)
    }
}

/// Reads the first documents in the order of a column; returns how many there are.
pub(crate) fn page(
    searcher: &Searcher,
    search: &dyn Query,
    column: &str,
    order: Order,
) -> Outcome<u64> {
    let top = TopDocs::with_limit(PAGE).order_by_fast_field::<u64>(column, order);
    let found: Vec<(Option<u64>, DocAddress)> = searcher.search(search, &top)?;
    for (_, address) in &found {
        std::hint::black_box(searcher.doc::<TantivyDocument>(*address)?);
    }
    Ok(found.len() as u64)
}

/// The size of all files in a folder.
pub(crate) fn bytes_in(folder: &Path) -> Outcome<u64> {
    let mut bytes = 0;
    for file in std::fs::read_dir(folder)? {
        bytes += file?.metadata()?.len();
    }
    Ok(bytes)
}
