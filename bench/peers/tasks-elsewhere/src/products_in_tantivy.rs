//! Products in tantivy: prices and times are columns, brands are terms.

use std::ops::Bound;
use std::path::{Path, PathBuf};

use tantivy::collector::Count;
use tantivy::query::{BooleanQuery, Query, RangeQuery, TermQuery};
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema};
use tantivy::{Index, IndexReader, Order, TantivyDocument, Term};

use crate::on_tantivy::{bytes_in, page};
use crate::products::{BRANDS, Order as Sorted, ProductQuery, Wanted, product};
use crate::{Outcome, Peer};

pub(crate) struct Tantivy {
    folder: PathBuf,
    index: Index,
    reader: IndexReader,
    fields: Fields,
}

struct Fields {
    name: Field,
    cents: Field,
    added: Field,
    brand: Field,
    /// The seller, or one word if there is none.
    seller: Field,
}

const NONE: &str = "none";

impl Tantivy {
    pub(crate) fn open(folder: &Path) -> Outcome<Tantivy> {
        let mut schema = Schema::builder();
        let fields = Fields {
            name: schema.add_u64_field("name", FAST | STORED),
            cents: schema.add_u64_field("cents", FAST | INDEXED | STORED),
            added: schema.add_u64_field("added", FAST | STORED),
            brand: schema.add_text_field("brand", STRING | STORED),
            seller: schema.add_text_field("seller", STRING | STORED),
        };
        let index = Index::create_in_dir(folder, schema.build())?;
        let reader = index.reader()?;
        Ok(Tantivy { folder: folder.to_owned(), index, reader, fields })
    }

    fn search(&self, query: &ProductQuery, brand: Option<&str>) -> BooleanQuery {
        let term = |field: Field, text: &str| -> Box<dyn Query> {
            let term = Term::from_field_text(field, text);
            Box::new(TermQuery::new(term, IndexRecordOption::Basic))
        };
        let mut parts: Vec<Box<dyn Query>> = vec![];
        if let Some((least, greatest)) = query.cents {
            let bound = |cents| Bound::Included(Term::from_field_u64(self.fields.cents, cents));
            parts.push(Box::new(RangeQuery::new(bound(least), bound(greatest))));
        }
        parts.extend(brand.map(|brand| term(self.fields.brand, brand)));
        parts.extend(query.is_unsold.then(|| term(self.fields.seller, NONE)));
        BooleanQuery::intersection(parts)
    }
}

impl Peer<ProductQuery> for Tantivy {
    fn load(&mut self, count: u32) -> Outcome<()> {
        let mut writer = self.index.writer(1_000_000_000)?;
        for number in 0..count {
            let product = product(number);
            let mut document = TantivyDocument::default();
            // Texts sort in columns of their own only; a name is a number in another notation.
            document.add_u64(self.fields.name, u64::from_str_radix(&product.name, 16)?);
            document.add_u64(self.fields.cents, product.cents);
            document.add_u64(self.fields.added, product.added);
            document.add_text(self.fields.brand, product.brand);
            document.add_text(self.fields.seller, product.seller.as_deref().unwrap_or(NONE));
            writer.add_document(document)?;
        }
        writer.commit()?;
        writer.wait_merging_threads()?;
        Ok(self.reader.reload()?)
    }

    fn run(&mut self, query: &ProductQuery) -> Outcome<u64> {
        let searcher = self.reader.searcher();
        let count = |brand: Option<&str>| -> Outcome<u64> {
            Ok(searcher.search(&self.search(query, brand), &Count)? as u64)
        };
        match query.result {
            Wanted::Total => count(query.brand),
            Wanted::Brands => BRANDS.iter().map(|brand| count(Some(brand))).sum(),
            Wanted::Page => {
                let (field, order) = match query.order {
                    Sorted::Newest => ("added", Order::Desc),
                    Sorted::Name => ("name", Order::Asc),
                };
                page(&searcher, &self.search(query, query.brand), field, order)
            }
        }
    }

    fn bytes(&mut self) -> Outcome<u64> {
        bytes_in(&self.folder)
    }
}
