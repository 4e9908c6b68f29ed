//! `copy` between a directory, DynamoDB and a file, and `import`, `export` and `backup` of a table.

use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use crate::process::{Folder, Served, keyloom, output};

const MODEL: &str = "
jobs = true

[entity.project]
id = 'given'
fields.name = 'text'
unique = ['name']

[entity.task]
id = 'given'
parent = 'project'
fields.title = 'text'
fields.points = 'int'
fields.tags = 'tags = {}'
list.best = { order = '-points' }
count.by_project = { by = 'project' }
";

/// Lines of projects, and of tasks with tags.
fn lines(tasks: usize) -> String {
    let project = |n: usize| {
        format!("{{\"entity\":\"project\",\"id\":\"p{n}\",\"fields\":{{\"name\":\"p{n}\"}}}}\n")
    };
    let task = |n: usize| {
        let (project, color) = (n % 3, ["red", "green", "blue", "black"][n % 4]);
        format!(
            "{{\"entity\":\"task\",\"id\":\"t{n:05}\",\"fields\":{{\"project\":\"p{project}\",\
             \"title\":\"task {n}\",\"points\":{n},\"tags\":{{\"color\":\"{color}\",\"n{n}\":\"x\"}}}}}}\n"
        )
    };
    (0..3).map(project).chain((0..tasks).map(task)).collect()
}

struct Rig {
    folder: Folder,
    endpoint: Served,
    model: String,
    data: String,
}

impl Rig {
    /// A directory with so many tasks and a token, and an empty DynamoDB.
    fn new(name: &str, tasks: usize) -> Rig {
        let folder = Folder::new(name);
        let endpoint = Served::start(&format!("{name}-endpoint"));
        let (model, data) = (folder.write("model.toml", MODEL), folder.path("data"));
        let rig = Rig { folder, endpoint, model, data };
        let file = rig.folder.write("lines", lines(tasks));
        rig.works(&["import", &rig.model, "--data", &rig.data, &file]);
        rig.works(&["token", "create", "--role", "admin", "--data", &rig.data]);
        rig
    }

    fn works(&self, arguments: &[&str]) -> String {
        let (success, out, err) = output(arguments);
        assert!(success, "{arguments:?}: {out}{err}");
        out
    }

    fn fails(&self, arguments: &[&str], message: &str) {
        let (success, out, err) = output(arguments);
        assert!(!success && err.contains(message), "{arguments:?}: {out}{err}");
    }

    fn copy(&self, from: &str, to: &str) -> Vec<String> {
        let url = ["--endpoint-url", &self.endpoint.url];
        [&["copy", "--from", from, "--to", to], &url[..]]
            .concat()
            .into_iter()
            .map(Into::into)
            .collect()
    }

    fn copies(&self, from: &str, to: &str) -> String {
        let arguments = self.copy(from, to);
        self.works(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Copies for so long, and kills the copy then. Returns what it printed if it has ended by itself.
    fn copy_for(&self, from: &str, to: &str, time: Duration) -> Option<Output> {
        let mut child = keyloom()
            .args(self.copy(from, to))
            .envs([("AWS_ACCESS_KEY_ID", "made"), ("AWS_SECRET_ACCESS_KEY", "up")])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let end = Instant::now() + time;
        while Instant::now() < end && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let has_ended = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        has_ended.then_some(output)
    }

    fn refuses(&self, from: &str, to: &str, message: &str) {
        let arguments = self.copy(from, to);
        self.fails(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), message);
    }

    /// Runs a command on a directory, and on a table.
    fn of_data(&self, command: &[&str], data: &str) -> String {
        self.works(&[command, &["--data", data]].concat())
    }

    fn of_table(&self, command: &[&str], table: &str) -> String {
        let place = ["--dynamodb", table, "--endpoint-url", &self.endpoint.url];
        self.works(&[command, &place].concat())
    }

    fn export(&self) -> [&str; 2] {
        ["export", &self.model]
    }
}

/// Lines in an order that does not depend on the store.
fn sorted(lines: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn a_database_goes_to_dynamodb_into_a_file_and_back() {
    let rig = Rig::new("copying", 400);
    let expected = rig.of_data(&rig.export(), &rig.data);
    let tokens = rig.of_data(&["token", "list"], &rig.data);
    let out = rig.copies(&rig.data, "dynamodb:tasks");
    assert!(out.starts_with("403 entities and 1 tokens copied"), "{out}");
    assert_eq!(sorted(&rig.of_table(&rig.export(), "tasks")), sorted(&expected));
    assert_eq!(rig.of_table(&["token", "list"], "tasks"), tokens);
    rig.of_table(&["verify", &rig.model], "tasks");

    let (file, back) = (rig.folder.path("tasks.keyloom"), rig.folder.path("back"));
    rig.copies("dynamodb:tasks", &file);
    rig.copies(&file, &back);
    assert_eq!(rig.of_data(&rig.export(), &back), expected);
    assert_eq!(rig.of_data(&["token", "list"], &back), tokens);
    rig.of_data(&["verify", &rig.model], &back);
    // A copy of the copy is the same file: versions and ordinals are kept.
    let again = rig.folder.path("again.keyloom");
    rig.copies(&back, &again);
    let rows = |path: &str| {
        let text = std::fs::read_to_string(path).unwrap();
        let is_row = |line: &&str| line.contains("\"PK\"") && !line.contains("\"ended\"");
        let mut rows: Vec<String> = text.lines().filter(is_row).map(str::to_owned).collect();
        rows.sort_unstable();
        rows
    };
    assert_eq!(rows(&again), rows(&file));

    rig.refuses(&rig.data, "dynamodb:tasks", "already contains data");
    rig.refuses(&rig.data, &back, "already contains data");
    rig.refuses(&rig.data, &file, "exists: choose another name");
    rig.refuses(&rig.data, &rig.data, "are the same");
    rig.refuses("dynamodb:nothing", &rig.folder.path("new"), "no database in the table `nothing`");
}

#[test]
fn a_killed_copy_continues_and_ends_equal() {
    let rig = Rig::new("killed-copying", 2_000);
    let expected = rig.of_data(&rig.export(), &rig.data);
    let back = rig.folder.path("back");
    for (from, to) in [(rig.data.as_str(), "dynamodb:tasks"), ("dynamodb:tasks", back.as_str())] {
        let mut kills = 0;
        for wait_ms in (0..).map(|kill| 100 * 3_u64.pow(kill) / 2_u64.pow(kill)) {
            let Some(ended) = rig.copy_for(from, to, Duration::from_millis(wait_ms)) else {
                kills += 1;
                continue;
            };
            // Killed after its end, but before its process had ended, a copy is complete.
            let err = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success() || err.contains("that copy was complete"), "{err}");
            break;
        }
        assert!(kills > 1, "it was killed {kills} times");
    }
    assert_eq!(sorted(&rig.of_table(&rig.export(), "tasks")), sorted(&expected));
    assert_eq!(rig.of_data(&rig.export(), &back), expected);
    rig.of_data(&["verify", &rig.model], &back);
}

#[test]
fn incomplete_and_damaged_files_are_refused() {
    let rig = Rig::new("damaged-copying", 50);
    let file = rig.folder.path("tasks.keyloom");
    rig.copies(&rig.data, &file);
    let other = rig.folder.path("other");
    let half = rig.folder.path("half.keyloom");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&half, &text[..text.len() / 2]).unwrap();
    rig.refuses(&half, &other, "is incomplete");
    let damaged = text.replacen("task 17", "task 71", 1);
    std::fs::write(&half, damaged).unwrap();
    rig.refuses(&half, &other, "is damaged");
    let partial = format!("{}.partial", rig.folder.path("new.keyloom"));
    std::fs::write(&partial, text.lines().next().unwrap().replace("\"edit\"", "\"edut\"") + "\n")
        .unwrap();
    rig.refuses(&rig.data, &rig.folder.path("new.keyloom"), "another source");
}

#[test]
fn a_partial_file_is_continued_where_it_ends() {
    let rig = Rig::new("partial-copying", 2_500);
    let [first, second] = ["first.keyloom", "second.keyloom"].map(|name| rig.folder.path(name));
    rig.copies(&rig.data, &first);
    let whole = std::fs::read(&first).unwrap();
    for cut in [10, whole.len() / 3, whole.len() / 2, whole.len() - 1, whole.len()] {
        let _ = std::fs::remove_file(&second);
        std::fs::write(format!("{second}.partial"), &whole[..cut]).unwrap();
        rig.copies(&rig.data, &second);
        assert!(std::fs::read(&second).unwrap() == whole, "cut at {cut}");
    }
}

#[test]
fn a_directory_that_is_served_is_not_copied_but_its_backup_is() {
    let rig = Rig::new("served-copying", 20);
    let served = crate::process::Serving::start(&rig.model, &["--data", &rig.data]);
    rig.refuses(&rig.data, "dynamodb:tasks", "keyloom backup --data");
    let frozen = rig.folder.path("frozen");
    rig.works(&["backup", "--data", &rig.data, "--to", &frozen]);
    rig.copies(&frozen, "dynamodb:tasks");
    drop(served);
    let expected = rig.of_data(&rig.export(), &rig.data);
    assert_eq!(sorted(&rig.of_table(&rig.export(), "tasks")), sorted(&expected));
}

#[test]
fn a_table_is_imported_exported_and_backed_up() {
    let rig = Rig::new("table-copying", 10);
    let file = rig.folder.path("lines");
    let imported = rig.of_table(&["import", &rig.model, &file], "tasks");
    assert!(imported.starts_with("13 created"), "{imported}");
    rig.of_table(&["verify", &rig.model], "tasks");
    let expected = rig.of_data(&rig.export(), &rig.data);
    assert_eq!(sorted(&rig.of_table(&rig.export(), "tasks")), sorted(&expected));
    for to in [rig.folder.path("backup"), rig.folder.path("backup.keyloom")] {
        rig.of_table(&["backup", "--to", &to], "tasks");
        let back = format!("{to}-restored");
        rig.copies(&to, &back);
        assert_eq!(rig.of_data(&rig.export(), &back), expected);
    }
    let made = rig.of_table(&["backup", "--service", "monday"], "tasks");
    assert!(made.contains(":table/tasks/backup/"), "{made}");
}
