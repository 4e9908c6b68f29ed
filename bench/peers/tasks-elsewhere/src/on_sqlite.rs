//! SQLite: a table of tasks, and one of tags that is its own index.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::tasks::{PAGE, ResultKind, TagQuery, name, tags};
use crate::{Outcome, Peer};

pub(crate) struct Sqlite {
    file: PathBuf,
    connection: Connection,
}

/// Opens a file as a server with a gigabyte of memory would.
pub(crate) fn connect(file: &Path) -> Outcome<Connection> {
    let connection = Connection::open(file)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
         PRAGMA cache_size = -1000000; PRAGMA mmap_size = 8000000000;",
    )?;
    Ok(connection)
}

impl Sqlite {
    pub(crate) fn open(folder: &Path) -> Outcome<Sqlite> {
        let file = folder.join("tasks.sqlite");
        let connection = connect(&file)?;
        connection.execute_batch(
            "CREATE TABLE tasks (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tags TEXT NOT NULL);
             CREATE TABLE tags (tag INTEGER, task INTEGER, PRIMARY KEY (tag, task)) WITHOUT ROWID;
             CREATE TABLE names (tag INTEGER PRIMARY KEY, key TEXT, value TEXT, UNIQUE (key, value));",
        )?;
        Ok(Sqlite { file, connection })
    }
}

impl Peer<TagQuery> for Sqlite {
    fn load(&mut self, tasks: u32) -> Outcome<()> {
        let transaction = self.connection.transaction()?;
        {
            let mut task = transaction.prepare("INSERT INTO tasks VALUES (?, ?, ?)")?;
            let mut tag = transaction.prepare("INSERT INTO tags VALUES (?, ?)")?;
            let mut name_of = transaction
                .prepare("INSERT INTO names (key, value) VALUES (?, ?) RETURNING tag")?;
            let mut known = std::collections::HashMap::new();
            for number in 0..tasks {
                let tags = tags(number, tasks);
                let document: serde_json::Map<String, serde_json::Value> =
                    tags.iter().map(|(key, value)| (key.to_string(), (*value).into())).collect();
                task.execute((number, name(number), serde_json::to_string(&document)?))?;
                for pair in tags {
                    let id: i64 = match known.get(&pair) {
                        Some(id) => *id,
                        None => name_of.query_row(pair, |row| row.get(0))?,
                    };
                    known.insert(pair, id);
                    tag.execute((id, number))?;
                }
            }
        }
        transaction.commit()?;
        self.connection.execute_batch("ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)")?;
        Ok(())
    }

    fn run(&mut self, query: &TagQuery) -> Outcome<u64> {
        let parts: Vec<String> = query
            .tags
            .iter()
            .map(|(key, value)| {
                format!("(SELECT tag FROM names WHERE key = '{key}' AND value = '{value}')")
            })
            .collect();
        let letters = ["a", "b", "c"];
        let from: Vec<String> =
            letters.iter().take(parts.len()).map(|letter| format!("tags {letter}")).collect();
        let mut wanted: Vec<String> = letters
            .iter()
            .zip(&parts)
            .map(|(letter, part)| format!("{letter}.tag = {part}"))
            .collect();
        wanted
            .extend(letters[1..parts.len()].iter().map(|letter| format!("{letter}.task = a.task")));
        let (from, wanted) = (from.join(", "), wanted.join(" AND "));
        let page = |order: &str| {
            format!(
                "SELECT t.id, t.name, t.tags FROM {from}, tasks t WHERE {wanted} AND t.id = a.task ORDER BY a.task {order} LIMIT {PAGE}"
            )
        };
        let text = match query.result {
            ResultKind::Oldest => page("ASC"),
            ResultKind::Newest => page("DESC"),
            ResultKind::Total => format!("SELECT count(*) FROM {from} WHERE {wanted}"),
        };
        let mut statement = self.connection.prepare_cached(&text)?;
        if query.result == ResultKind::Total {
            return Ok(statement.query_row([], |row| row.get::<_, i64>(0))? as u64);
        }
        let rows = statement.query_map([], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
        })?;
        Ok(rows.collect::<Result<Vec<_>, _>>()?.len() as u64)
    }

    fn bytes(&mut self) -> Outcome<u64> {
        Ok(std::fs::metadata(&self.file)?.len())
    }
}
