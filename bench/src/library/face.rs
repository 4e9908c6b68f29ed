//! The library's side: the calls of a user.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use keyloom::{Db, Record};
use pollster::block_on;
use serde::Serialize;

use super::work::{PAGE, Side, Work, body};
use crate::{Outcome, Random};

/// The number of loading threads.
const LOADERS: u64 = 16;

/// A database with comments.
pub(crate) struct Face {
    db: Db,
    ids: Vec<String>,
    /// The cursor of the page reached last, with its number.
    cursor: Mutex<Option<(u64, String)>>,
}

#[derive(Serialize)]
struct Comment {
    product: &'static str,
    slug: String,
    rating: u64,
    body: String,
}

#[derive(Serialize)]
struct Patch {
    body: String,
}

impl Comment {
    fn new(random: &mut Random) -> Comment {
        let slug = format!("{:016x}{:016x}", random.next(), random.next());
        Comment { product: "42", slug, rating: random.below(5) + 1, body: body(random) }
    }
}

impl Face {
    pub(crate) fn load(db: Db, count: u64) -> Outcome<Face> {
        let load = |number: u64| -> Outcome<Vec<String>> {
            let mut random = Random::new(number << 32);
            let create = |_| {
                let comment = Comment::new(&mut random);
                Ok(block_on(db.create("comment", &comment))?.id().to_owned())
            };
            (0..count.div_ceil(LOADERS)).map(create).collect()
        };
        let load = &load;
        let ids = thread::scope(|scope| -> Outcome<Vec<Vec<String>>> {
            let loaders: Vec<_> =
                (0..LOADERS).map(|number| scope.spawn(move || load(number))).collect();
            let ids = loaders.into_iter().map(|loader| loader.join());
            ids.map(|ids| ids.map_err(|_| "A loader panicked.")?).collect()
        })?;
        Ok(Face { db, ids: ids.concat(), cursor: Mutex::new(None) })
    }

    fn id(&self, random: &mut Random) -> &str {
        &self.ids[random.below(self.ids.len() as u64) as usize]
    }

    fn page(&self, after: Option<&str>) -> Outcome<(Vec<Record>, Option<String>)> {
        let mut list = self.db.list("comment", "by_product").by("product", "42");
        list = list.limit(PAGE as u32);
        if let Some(after) = after {
            list = list.after(after);
        }
        let page = block_on(list.read())?;
        Ok((page.items, page.next))
    }

    /// Returns the cursor of a page; reads the pages before it only once.
    fn cursor(&self, after: u64) -> Outcome<Option<String>> {
        let mut kept = self.cursor.lock().map_err(|_| "A worker panicked.")?;
        match &*kept {
            Some((page, cursor)) if *page == after => return Ok(Some(cursor.clone())),
            Some(_) | None => {}
        }
        let mut cursor = None;
        for _ in 0..after {
            cursor = self.page(cursor.as_deref())?.1;
        }
        *kept = cursor.clone().map(|cursor| (after, cursor));
        Ok(cursor)
    }
}

impl Side for Face {
    fn call(&self, work: Work, random: &mut Random) -> Outcome<Duration> {
        match work {
            Work::Create { .. } => {
                let comment = Comment::new(random);
                let start = Instant::now();
                block_on(self.db.create("comment", &comment))?;
                Ok(start.elapsed())
            }
            Work::Get => {
                let id = self.id(random);
                let start = Instant::now();
                let found = block_on(self.db.get("comment", id))?;
                let elapsed = start.elapsed();
                found.ok_or("A comment is gone.")?;
                Ok(elapsed)
            }
            Work::Update => {
                let id = self.id(random);
                let patch = Patch { body: body(random) };
                let start = Instant::now();
                block_on(self.db.update("comment", id, &patch))?;
                Ok(start.elapsed())
            }
            Work::Page { after } => {
                let cursor = self.cursor(after)?;
                let start = Instant::now();
                let (items, _) = self.page(cursor.as_deref())?;
                let elapsed = start.elapsed();
                if items.len() as u64 != PAGE {
                    return Err("A page is short.".into());
                }
                Ok(elapsed)
            }
        }
    }
}
