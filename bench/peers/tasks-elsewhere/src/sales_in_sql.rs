//! Sales in PostgreSQL and SQLite: one table, with indexes that cover the queries.

use std::io::Write;
use std::path::{Path, PathBuf};

use postgres::Client;
use rusqlite::Connection;

use crate::on_postgres::{connect, execute, size};
use crate::sales::{Asked, SHOP, SaleQuery, sale};
use crate::{Outcome, Peer, on_sqlite};

/// March 2023, in milliseconds.
const MARCH_MS: (u64, u64) = (1_677_628_800_000, 1_680_307_200_000);

const INDEXES: [&str; 3] = [
    "CREATE INDEX by_paid ON sales (shop, paid, cents)",
    "CREATE INDEX by_channel ON sales (shop, channel, cents)",
    "CREATE INDEX by_cents ON sales (shop, cents)",
];

/// The query as SQL. `day` and `month` round the time of a sale down.
fn sql(query: &SaleQuery, day: &str, month: &str) -> String {
    let shop = format!("FROM sales WHERE shop = '{SHOP}'");
    let (begin, end) = MARCH_MS;
    match query.asked {
        Asked::Shop => format!("SELECT CAST(sum(cents) AS bigint), count(*) {shop}"),
        Asked::Channels => {
            format!("SELECT CAST(sum(cents) AS bigint), count(*) {shop} GROUP BY channel")
        }
        // Alone, each is found at an end of the index.
        Asked::Extremes => {
            format!("SELECT (SELECT min(cents) {shop}) + (SELECT max(cents) {shop})")
        }
        Asked::Days => format!(
            "SELECT CAST(sum(cents) AS bigint), {day} {shop} AND paid >= {begin} AND paid < {end} \
             GROUP BY 2"
        ),
        Asked::Months => {
            format!("SELECT CAST(sum(cents) AS bigint), {month} FROM sales GROUP BY 2")
        }
    }
}

pub(crate) struct Postgres(Client);

impl Postgres {
    pub(crate) fn open(url: &str) -> Outcome<Postgres> {
        Ok(Postgres(connect(url)?))
    }
}

impl Peer<SaleQuery> for Postgres {
    fn load(&mut self, count: u32) -> Outcome<()> {
        self.0.batch_execute(
            "CREATE TABLE sales (id bigint, shop text NOT NULL, channel text NOT NULL,
             cents bigint NOT NULL, paid bigint NOT NULL)",
        )?;
        let mut rows = self.0.copy_in("COPY sales FROM STDIN")?;
        for number in 0..count {
            let sale = sale(number);
            let (channel, cents, paid) = (sale.channel, sale.cents, sale.paid);
            writeln!(rows, "{number}\t{}\t{channel}\t{cents}\t{paid}", sale.shop)?;
        }
        rows.finish()?;
        execute(&mut self.0, &["ALTER TABLE sales ADD PRIMARY KEY (id)"])?;
        execute(&mut self.0, &INDEXES)?;
        execute(&mut self.0, &["VACUUM ANALYZE sales", "CHECKPOINT"])
    }

    fn run(&mut self, query: &SaleQuery) -> Outcome<u64> {
        let day = "paid / 86400000";
        let month = "date_trunc('month', to_timestamp(paid / 1000.0) AT TIME ZONE 'UTC')::text";
        let rows = self.0.query(&sql(query, day, month), &[])?;
        Ok(rows.iter().map(|row| row.get::<_, i64>(0) as u64).sum())
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
        let file = folder.join("sales.sqlite");
        let connection = on_sqlite::connect(&file)?;
        connection.execute_batch(
            "CREATE TABLE sales (id INTEGER PRIMARY KEY, shop TEXT NOT NULL, channel TEXT NOT NULL,
             cents INTEGER NOT NULL, paid INTEGER NOT NULL);",
        )?;
        Ok(Sqlite { file, connection })
    }
}

impl Peer<SaleQuery> for Sqlite {
    fn load(&mut self, count: u32) -> Outcome<()> {
        self.connection.execute_batch(&INDEXES.join(";"))?;
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare("INSERT INTO sales VALUES (?, ?, ?, ?, ?)")?;
            for number in 0..count {
                let of = sale(number);
                let (cents, paid) = (of.cents as i64, of.paid as i64);
                insert.execute((number, of.shop, of.channel, cents, paid))?;
            }
        }
        transaction.commit()?;
        self.connection.execute_batch("ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)")?;
        Ok(())
    }

    fn run(&mut self, query: &SaleQuery) -> Outcome<u64> {
        let month = "strftime('%Y-%m', paid / 1000, 'unixepoch')";
        let mut statement =
            self.connection.prepare_cached(&sql(query, "paid / 86400000", month))?;
        let rows = statement.query_map([], |row| row.get::<_, i64>(0))?;
        Ok(rows.collect::<Result<Vec<_>, _>>()?.into_iter().map(|sum| sum as u64).sum())
    }

    fn bytes(&mut self) -> Outcome<u64> {
        Ok(std::fs::metadata(&self.file)?.len())
    }
}
