//! Products in PostgreSQL and SQLite: one table, with an index for each filter and for the order.

use std::io::Write;
use std::path::{Path, PathBuf};

use postgres::Client;
use rusqlite::Connection;

use crate::on_postgres::{connect, execute, size};
use crate::products::{Order, ProductQuery, Wanted, product};
use crate::tasks::PAGE;
use crate::{Outcome, Peer, on_sqlite};

const INDEXES: [&str; 5] = [
    "CREATE INDEX by_name ON products (name)",
    "CREATE INDEX by_price ON products (cents)",
    "CREATE INDEX by_added ON products (added)",
    "CREATE INDEX by_brand ON products (brand, added)",
    "CREATE INDEX unsold ON products (added) WHERE seller IS NULL",
];

/// The query as SQL.
fn sql(query: &ProductQuery) -> String {
    let mut tests = vec![];
    if let Some((least, greatest)) = query.cents {
        tests.push(format!("cents BETWEEN {least} AND {greatest}"));
    }
    tests.extend(query.brand.map(|brand| format!("brand = '{brand}'")));
    tests.extend(query.is_unsold.then(|| "seller IS NULL".to_owned()));
    let tests = tests.join(" AND ");
    match query.result {
        Wanted::Page => format!(
            "SELECT id, name, cents, added, brand, seller FROM products WHERE {tests} \
             ORDER BY {} LIMIT {PAGE}",
            match query.order {
                Order::Newest => "added DESC",
                Order::Name => "name",
            }
        ),
        Wanted::Total => format!("SELECT count(*) FROM products WHERE {tests}"),
        Wanted::Brands => {
            format!("SELECT count(*), brand FROM products WHERE {tests} GROUP BY brand")
        }
    }
}

/// What rows of counts, or of a page, say.
fn found(query: &ProductQuery, rows: &[i64]) -> u64 {
    match query.result {
        Wanted::Page => rows.len() as u64,
        Wanted::Total | Wanted::Brands => rows.iter().sum::<i64>() as u64,
    }
}

pub(crate) struct Postgres(Client);

impl Postgres {
    pub(crate) fn open(url: &str) -> Outcome<Postgres> {
        Ok(Postgres(connect(url)?))
    }
}

impl Peer<ProductQuery> for Postgres {
    fn load(&mut self, count: u32) -> Outcome<()> {
        self.0.batch_execute(
            "CREATE TABLE products (id bigint, name text NOT NULL, cents bigint NOT NULL,
             added bigint NOT NULL, brand text NOT NULL, seller text)",
        )?;
        let mut rows = self.0.copy_in("COPY products FROM STDIN")?;
        for number in 0..count {
            let product = product(number);
            let seller = product.seller.unwrap_or("\\N".to_owned());
            let (name, cents, added) = (product.name, product.cents, product.added);
            writeln!(rows, "{number}\t{name}\t{cents}\t{added}\t{}\t{seller}", product.brand)?;
        }
        rows.finish()?;
        execute(&mut self.0, &["ALTER TABLE products ADD PRIMARY KEY (id)"])?;
        execute(&mut self.0, &INDEXES)?;
        execute(&mut self.0, &["VACUUM ANALYZE products", "CHECKPOINT"])
    }

    fn run(&mut self, query: &ProductQuery) -> Outcome<u64> {
        let rows = self.0.query(&sql(query), &[])?;
        let first: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        Ok(found(query, &first))
    }

    fn bytes(&mut self) -> Outcome<u64> {
        size(&mut self.0)
    }
}

pub(crate) struct Sqlite {
    file: PathBuf,
    connection: Connection,
}

impl Sqlite {
    pub(crate) fn open(folder: &Path) -> Outcome<Sqlite> {
        let file = folder.join("products.sqlite");
        let connection = on_sqlite::connect(&file)?;
        connection.execute_batch(
            "CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL,
             cents INTEGER NOT NULL, added INTEGER NOT NULL, brand TEXT NOT NULL, seller TEXT);",
        )?;
        Ok(Sqlite { file, connection })
    }
}

impl Peer<ProductQuery> for Sqlite {
    fn load(&mut self, count: u32) -> Outcome<()> {
        self.connection.execute_batch(&INDEXES.join(";"))?;
        let transaction = self.connection.transaction()?;
        {
            let mut insert =
                transaction.prepare("INSERT INTO products VALUES (?, ?, ?, ?, ?, ?)")?;
            for number in 0..count {
                let of = product(number);
                let (cents, added) = (of.cents as i64, of.added as i64);
                insert.execute((number, of.name, cents, added, of.brand, of.seller))?;
            }
        }
        transaction.commit()?;
        self.connection.execute_batch("ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)")?;
        Ok(())
    }

    fn run(&mut self, query: &ProductQuery) -> Outcome<u64> {
        let mut statement = self.connection.prepare_cached(&sql(query))?;
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| {
            for column in 1..columns {
                std::hint::black_box(row.get_ref(column)?);
            }
            row.get::<_, i64>(0)
        })?;
        Ok(found(query, &rows.collect::<Result<Vec<_>, _>>()?))
    }

    fn bytes(&mut self) -> Outcome<u64> {
        Ok(std::fs::metadata(&self.file)?.len())
    }
}
