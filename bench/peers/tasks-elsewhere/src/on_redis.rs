//! Redis: a set of tasks for each tag, a sorted set beside it, and a hash for each task.

use redis::{Commands, Connection, pipe};

use crate::tasks::{Answer, PAGE, Question, name, tags};
use crate::{Outcome, Peer};

pub(crate) struct Redis(Connection);

impl Redis {
    pub(crate) fn open(url: &str) -> Outcome<Redis> {
        Ok(Redis(redis::Client::open(url)?.get_connection()?))
    }

    /// All that match, by whichever way of Redis is the quickest: sets if the smallest is not much
    /// larger than the answer, which is sorted here; sorted sets otherwise.
    fn found(&mut self, question: &Question) -> Outcome<Vec<u64>> {
        let keys = |prefix: &str| -> Vec<String> {
            question.tags.iter().map(|(key, value)| format!("{prefix}:{key}:{value}")).collect()
        };
        if question.answer == Answer::Oldest {
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

impl Peer for Redis {
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

    fn ask(&mut self, question: &Question) -> Outcome<u64> {
        if question.answer == Answer::Total {
            let keys: Vec<String> =
                question.tags.iter().map(|(key, value)| format!("set:{key}:{value}")).collect();
            return Ok(redis::cmd("SINTERCARD").arg(keys.len()).arg(keys).query(&mut self.0)?);
        }
        let found = self.found(question)?;
        let mut batch = pipe();
        for number in &found {
            batch.hgetall(format!("task:{number}"));
        }
        let tasks: Vec<Vec<(String, String)>> = batch.query(&mut self.0)?;
        Ok(tasks.len() as u64)
    }

    fn bytes(&mut self) -> Outcome<u64> {
        let told: String = redis::cmd("INFO").arg("memory").query(&mut self.0)?;
        let line = told.lines().find_map(|line| line.strip_prefix("used_memory:"));
        Ok(line.ok_or("Redis does not say how much memory it uses")?.trim().parse()?)
    }
}
