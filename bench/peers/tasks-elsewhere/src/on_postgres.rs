//! PostgreSQL, with the two common representations of tags: a document with a GIN index, and a table
//! of tags joined with itself.

use std::io::Write;

use postgres::{Client, NoTls};
use serde_json::{Map, Value};

use crate::tasks::{PAGE, ResultKind, Tag, TagQuery, name, tags};
use crate::{Outcome, Peer};

/// Tags as `jsonb`.
pub(crate) struct Documents(Client);

/// Tags as rows.
pub(crate) struct Joined(Client);

pub(crate) fn connect(url: &str) -> Outcome<Client> {
    let mut client = Client::connect(url, NoTls)?;
    client.batch_execute("SET work_mem = '256MB'; SET maintenance_work_mem = '1GB';")?;
    Ok(client)
}

fn document(tags: &[Tag]) -> Value {
    Value::Object(
        tags.iter().map(|(key, value)| (key.to_string(), (*value).into())).collect::<Map<_, _>>(),
    )
}

/// Executes statements separately: some cannot share a transaction.
pub(crate) fn execute(client: &mut Client, statements: &[&str]) -> Outcome<()> {
    for statement in statements {
        client.batch_execute(statement)?;
    }
    Ok(())
}

pub(crate) fn size(client: &mut Client) -> Outcome<u64> {
    let query = "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class
                 WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace";
    Ok(client.query_one(query, &[])?.get::<_, i64>(0) as u64)
}

impl Documents {
    pub(crate) fn open(url: &str) -> Outcome<Documents> {
        Ok(Documents(connect(url)?))
    }
}

impl Peer<TagQuery> for Documents {
    fn load(&mut self, tasks: u32) -> Outcome<()> {
        self.0.batch_execute(
            "CREATE TABLE tasks (id bigint, name text NOT NULL, tags jsonb NOT NULL)",
        )?;
        let mut rows = self.0.copy_in("COPY tasks FROM STDIN")?;
        for number in 0..tasks {
            let tags = document(&tags(number, tasks));
            writeln!(rows, "{number}\t{}\t{tags}", name(number))?;
        }
        rows.finish()?;
        execute(
            &mut self.0,
            &[
                "ALTER TABLE tasks ADD PRIMARY KEY (id)",
                "CREATE INDEX ON tasks USING gin (tags jsonb_path_ops)",
                "VACUUM ANALYZE tasks",
                "CHECKPOINT",
            ],
        )
    }

    fn run(&mut self, query: &TagQuery) -> Outcome<u64> {
        let wanted = document(query.tags);
        let text = match query.result {
            ResultKind::Oldest => format!(
                "SELECT id, name, tags::text FROM tasks WHERE tags @> '{wanted}' ORDER BY id LIMIT {PAGE}"
            ),
            ResultKind::Newest => format!(
                "SELECT id, name, tags::text FROM tasks WHERE tags @> '{wanted}' ORDER BY id DESC LIMIT {PAGE}"
            ),
            ResultKind::Total => format!("SELECT count(*) FROM tasks WHERE tags @> '{wanted}'"),
        };
        count_rows(&mut self.0, &text, query)
    }

    fn bytes(&mut self) -> Outcome<u64> {
        size(&mut self.0)
    }
}

fn count_rows(client: &mut Client, text: &str, query: &TagQuery) -> Outcome<u64> {
    let rows = client.query(text, &[])?;
    match query.result {
        ResultKind::Total => Ok(rows[0].get::<_, i64>(0) as u64),
        ResultKind::Oldest | ResultKind::Newest => Ok(rows.len() as u64),
    }
}

impl Joined {
    pub(crate) fn open(url: &str) -> Outcome<Joined> {
        Ok(Joined(connect(url)?))
    }
}

impl Peer<TagQuery> for Joined {
    fn load(&mut self, tasks: u32) -> Outcome<()> {
        self.0.batch_execute(
            "CREATE TABLE tasks (id bigint, name text NOT NULL);
             CREATE TABLE tags (key text NOT NULL, value text NOT NULL, task bigint NOT NULL)",
        )?;
        let mut rows = self.0.copy_in("COPY tasks FROM STDIN")?;
        for number in 0..tasks {
            writeln!(rows, "{number}\t{}", name(number))?;
        }
        rows.finish()?;
        let mut rows = self.0.copy_in("COPY tags FROM STDIN")?;
        for number in 0..tasks {
            for (key, value) in tags(number, tasks) {
                writeln!(rows, "{key}\t{value}\t{number}")?;
            }
        }
        rows.finish()?;
        execute(
            &mut self.0,
            &[
                "ALTER TABLE tasks ADD PRIMARY KEY (id)",
                "ALTER TABLE tags ADD PRIMARY KEY (key, value, task)",
                "CREATE INDEX ON tags (task)",
                "VACUUM ANALYZE tasks",
                "VACUUM ANALYZE tags",
                "CHECKPOINT",
            ],
        )
    }

    fn run(&mut self, query: &TagQuery) -> Outcome<u64> {
        let letters = ["a", "b", "c"];
        let from: Vec<String> =
            letters.iter().take(query.tags.len()).map(|letter| format!("tags {letter}")).collect();
        let mut wanted: Vec<String> = letters
            .iter()
            .zip(query.tags)
            .map(|(letter, (key, value))| {
                format!("{letter}.key = '{key}' AND {letter}.value = '{value}'")
            })
            .collect();
        wanted.extend(
            letters[1..query.tags.len()].iter().map(|letter| format!("{letter}.task = a.task")),
        );
        let (from, wanted) = (from.join(", "), wanted.join(" AND "));
        // Each task with all of its tags, as on a page.
        let page = |order: &str| {
            format!(
                "SELECT t.id, t.name, (SELECT jsonb_object_agg(key, value)::text FROM tags WHERE task = t.id)
                 FROM (SELECT a.task FROM {from} WHERE {wanted} ORDER BY a.task {order} LIMIT {PAGE}) AS found
                 JOIN tasks t ON t.id = found.task ORDER BY t.id {order}"
            )
        };
        let text = match query.result {
            ResultKind::Oldest => page("ASC"),
            ResultKind::Newest => page("DESC"),
            ResultKind::Total => format!("SELECT count(*) FROM {from} WHERE {wanted}"),
        };
        count_rows(&mut self.0, &text, query)
    }

    fn bytes(&mut self) -> Outcome<u64> {
        size(&mut self.0)
    }
}
