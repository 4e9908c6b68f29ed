//! Redis: a set of tasks for each tag, a sorted set beside it, and a hash for each task.

use redis::{Commands, Connection, pipe};

use crate::tasks::{PAGE, ResultKind, TagQuery, name, tags};
use crate::{Outcome, Peer};

pub(crate) struct Redis(Connection);

impl Redis {
    pub(crate) fn open(url: &str) -> Outcome<Redis> {
        Ok(Redis(redis::Client::open(url)?.get_connection()?))
    }

    /// Returns the matches, in the fastest way for Redis: sets if the smallest is not much larger than
    /// the result, which is sorted here; sorted sets otherwise.
    fn found(&mut self, query: &TagQuery) -> Outcome<Vec<u64>> {
        let keys = |prefix: &str| -> Vec<String> {
            query.tags.iter().map(|(key, value)| format!("{prefix}:{key}:{value}")).collect()
        };
        if query.result == ResultKind::Oldest {
            let mut found: Vec<u64> = self.0.sinter(keys("set"))?;
            found.sort_unstable();
            found.truncate(PAGE);
            return Ok(found);
        }
        let sorted = keys("sorted");
        let mut store = redis::cmd("ZINTERSTORE");
        store.arg("found").arg(sorted.len()).arg(&sorted).arg("AGGREGATE").arg("MAX");
        let (found,): (Vec<u64>,) = pipe()
            .add_command(store)
            .ignore()
            .zrevrange("found", 0, PAGE as isize - 1)
            .del("found")
            .ignore()
            .query(&mut self.0)?;
        Ok(found)
    }
}

impl Peer<TagQuery> for Redis {
    fn load(&mut self, tasks: u32) -> Outcome<()> {
        let mut number = 0;
        while number < tasks {
            let mut batch = pipe();
            for number in number..tasks.min(number + 10_000) {
                let tags = tags(number, tasks);
                let mut fields = vec![("name".to_owned(), name(number))];
                for (key, value) in tags {
                    fields.push((key.to_owned(), value.to_owned()));
                    batch.sadd(format!("set:{key}:{value}"), number).ignore();
                    batch.zadd(format!("sorted:{key}:{value}"), number, number).ignore();
                }
                batch.hset_multiple(format!("task:{number}"), &fields).ignore();
            }
            batch.query::<()>(&mut self.0)?;
            number += 10_000;
        }
        Ok(())
    }

    fn run(&mut self, query: &TagQuery) -> Outcome<u64> {
        if query.result == ResultKind::Total {
            let keys: Vec<String> =
                query.tags.iter().map(|(key, value)| format!("set:{key}:{value}")).collect();
            return Ok(redis::cmd("SINTERCARD").arg(keys.len()).arg(keys).query(&mut self.0)?);
        }
        let found = self.found(query)?;
        let mut batch = pipe();
        for number in &found {
            batch.hgetall(format!("task:{number}"));
        }
        let tasks: Vec<Vec<(String, String)>> = batch.query(&mut self.0)?;
        Ok(tasks.len() as u64)
    }

    fn bytes(&mut self) -> Outcome<u64> {
        let info: String = redis::cmd("INFO").arg("memory").query(&mut self.0)?;
        let line = info.lines().find_map(|line| line.strip_prefix("used_memory:"));
        Ok(line.ok_or("Redis does not report its memory use")?.trim().parse()?)
    }
}
