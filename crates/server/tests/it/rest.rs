//! A model over HTTP.

mod ask;
mod bulk;
mod changes;
mod counts;
mod entities;
mod explain;
mod fair;
mod formats;
mod garbage;
mod lists;
mod malformed;
mod matching;
mod matrix;
mod once;
mod own;
mod pages;
mod possible_queries;
mod read_only;
mod served;
mod serving;
mod stages;
mod telling;
mod tokens;
mod uniques;
mod unmatched;
mod with;
