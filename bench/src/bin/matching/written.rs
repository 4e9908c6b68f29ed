//! The cost of tags for writes: the same tasks with and without searchable tags.

use std::time::Instant;

use pollster::block_on;
use serde::Serialize;

use crate::kept::Kept;
use crate::ours::MODEL;

const PLAIN: &str = "
[entity.task]
fields.name = \"text\"
fields.tags = \"map of text = {}\"
list.all = {}
";

const WRITERS: u32 = 16;

#[derive(Serialize)]
struct Task {
    name: String,
    tags: Tags,
}

/// A change of a task.
#[derive(Serialize)]
struct Retagged {
    tags: Tags,
}

#[derive(Serialize)]
struct Tags {
    project: String,
    priority: &'static str,
    severity: &'static str,
}

/// Creates tasks of both kinds with 16 writers, moves each to another project, and prints rates and
/// sizes.
pub(crate) fn report(tasks: u32) {
    println!("| tasks with three | created per second | retagged per second | bytes a task |");
    println!("|---|---:|---:|---:|");
    let [texts, tags] = [PLAIN, MODEL].map(|model| written(model, tasks));
    let row = |name: &str, [created, retagged, bytes]: [f64; 3]| {
        println!("| {name} | {created:.0} | {retagged:.0} | {bytes:.0} |");
    };
    row("texts", texts);
    row("tags", tags);
    let [created, retagged, bytes] = [0, 1, 2].map(|column| tags[column] / texts[column]);
    println!("| tags to texts | {created:.2} | {retagged:.2} | {bytes:.2} |\n");
}

/// Returns creations and changes per second, and bytes per task.
fn written(model: &str, tasks: u32) -> [f64; 3] {
    let kept = Kept::open(model);
    let (created, ids) = per_second(tasks, |number| {
        let task = Task { name: format!("task {number}"), tags: tags(number, number) };
        let record = block_on(kept.db.create("task", &task)).expect("it is created");
        record.id().to_owned()
    });
    let (retagged, _) = per_second(tasks, |number| {
        let (id, task) = (&ids[number as usize], Retagged { tags: tags(number, number + 1) });
        block_on(kept.db.update("task", id, &task)).expect("it is changed");
    });
    [created, retagged, kept.settle() as f64 / f64::from(tasks)]
}

/// Runs `write` `times` times, divided among the writers; returns the rate and the results in order.
fn per_second<T: Send>(times: u32, write: impl Fn(u32) -> T + Sync) -> (f64, Vec<T>) {
    let (began, write) = (Instant::now(), &write);
    let first = |writer: u32| writer * times / WRITERS;
    let done = std::thread::scope(|scope| {
        let run = |writer| move || (first(writer)..first(writer + 1)).map(write).collect();
        let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(run(writer))).collect();
        let done = writers.into_iter().map(|writer| writer.join().expect("no writer panics"));
        done.collect::<Vec<Vec<T>>>()
    });
    let rate = f64::from(times) / began.elapsed().as_secs_f64();
    (rate, done.into_iter().flatten().collect())
}

fn tags(number: u32, project: u32) -> Tags {
    let project = format!("project {}", project % 100);
    let priority = ["low", "normal", "high"][(number % 3) as usize];
    let severity = ["low", "high"][(number / 7 % 2) as usize];
    Tags { project, priority, severity }
}
