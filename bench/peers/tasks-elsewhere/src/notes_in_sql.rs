//! Notes in PostgreSQL, as documents of its text search, and in SQLite, in an FTS5 table.

use std::io::Write;
use std::path::{Path, PathBuf};

use postgres::Client;
use rusqlite::Connection;

use crate::notes::{WordQuery, added, text};
use crate::on_postgres::{connect, execute, size};
use crate::tasks::PAGE;
use crate::{Outcome, Peer, on_sqlite};

pub(crate) struct Postgres(Client);

impl Postgres {
    pub(crate) fn open(url: &str) -> Outcome<Postgres> {
        Ok(Postgres(connect(url)?))
    }
}

impl Peer<WordQuery> for Postgres {
    fn load(&mut self, count: u32) -> Outcome<()> {
        self.0.batch_execute(
            "CREATE TABLE notes (id bigint, text text NOT NULL, added bigint NOT NULL,
             words tsvector GENERATED ALWAYS AS (to_tsvector('simple', text)) STORED)",
        )?;
        let mut rows = self.0.copy_in("COPY notes (id, text, added) FROM STDIN")?;
        for number in 0..count {
            writeln!(rows, "{number}\t{}\t{}", text(number), added(number))?;
        }
        rows.finish()?;
        execute(
            &mut self.0,
            &[
                "ALTER TABLE notes ADD PRIMARY KEY (id)",
                "CREATE INDEX by_added ON notes (added)",
                "CREATE INDEX by_words ON notes USING gin (words)",
                "VACUUM ANALYZE notes",
                "CHECKPOINT",
            ],
        )
    }

    fn run(&mut self, query: &WordQuery) -> Outcome<u64> {
        let words = query.words.iter().map(|word| (*word).to_owned());
        let prefix = query.prefix.map(|prefix| format!("{prefix}:*"));
        let wanted = words.chain(prefix).collect::<Vec<_>>().join(" & ");
        let test = format!("words @@ to_tsquery('simple', '{wanted}')");
        match query.is_total {
            true => {
                let sql = format!("SELECT count(*) FROM notes WHERE {test}");
                Ok(self.0.query_one(&sql, &[])?.get::<_, i64>(0) as u64)
            }
            false => {
                let sql = format!(
                    "SELECT id, text, added FROM notes WHERE {test} ORDER BY added DESC LIMIT {PAGE}"
                );
                Ok(self.0.query(&sql, &[])?.len() as u64)
            }
        }
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
    /// The number of a row is that of its note, so the newest are the last rows.
    pub(crate) fn open(folder: &Path) -> Outcome<Sqlite> {
        let file = folder.join("notes.sqlite");
        let connection = on_sqlite::connect(&file)?;
        connection.execute_batch(
            "CREATE VIRTUAL TABLE notes USING fts5(text, added UNINDEXED, prefix = '1 2 3 4');",
        )?;
        Ok(Sqlite { file, connection })
    }
}

impl Peer<WordQuery> for Sqlite {
    fn load(&mut self, count: u32) -> Outcome<()> {
        let transaction = self.connection.transaction()?;
        {
            let mut insert =
                transaction.prepare("INSERT INTO notes (rowid, text, added) VALUES (?, ?, ?)")?;
            for number in 0..count {
                insert.execute((number, text(number), added(number) as i64))?;
            }
        }
        transaction.commit()?;
        self.connection.execute_batch(
            "INSERT INTO notes(notes) VALUES ('optimize'); PRAGMA wal_checkpoint(TRUNCATE)",
        )?;
        Ok(())
    }

    fn run(&mut self, query: &WordQuery) -> Outcome<u64> {
        let words = query.words.iter().map(|word| format!("\"{word}\""));
        let prefix = query.prefix.map(|prefix| format!("{prefix}*"));
        let wanted = words.chain(prefix).collect::<Vec<_>>().join(" ");
        if query.is_total {
            let sql = "SELECT count(*) FROM notes WHERE notes MATCH ?";
            let count = self.connection.prepare_cached(sql)?.query_row([wanted], |row| row.get(0));
            return Ok(count.map(|count: i64| count as u64)?);
        }
        let sql = format!(
            "SELECT rowid, text, added FROM notes WHERE notes MATCH ? ORDER BY rowid DESC LIMIT {PAGE}"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map([wanted], |row| {
            std::hint::black_box((row.get_ref(1)?, row.get_ref(2)?));
            row.get::<_, i64>(0)
        })?;
        Ok(rows.count() as u64)
    }

    fn bytes(&mut self) -> Outcome<u64> {
        Ok(std::fs::metadata(&self.file)?.len())
    }
}
