//! `keyloom explain`: its text, its JSON and its errors.

use serde_json::Value;

use crate::process::{Folder, app, output};

/// Lists of 50, 80 and 20 tasks, of which three are in all.
fn tasks(folder: &Folder) -> String {
    let tag = |is_there: bool, tag: &'static str| if is_there { tag } else { "" };
    let line = |number: i32| {
        let tags = [
            tag(number < 50, "\"project\":\"self improvement\""),
            tag((47..127).contains(&number), "\"priority\":\"high\""),
            tag((47..50).contains(&number) || number >= 124, "\"severity\":\"low\""),
        ];
        let tags: Vec<&str> = tags.into_iter().filter(|tag| !tag.is_empty()).collect();
        let fields = format!("{{\"name\":\"task\",\"tags\":{{{}}}}}", tags.join(","));
        format!("{{\"entity\":\"task\",\"id\":\"t{number:03}\",\"fields\":{fields}}}\n")
    };
    let lines: String = (0..141).map(line).collect();
    let (data, file) = (folder.path("data"), folder.write("lines", lines));
    let (success, out, err) = output(&["import", &app("tasks"), "--data", &data, &file]);
    assert!(success, "{out}{err}");
    data
}

const REQUEST: &str = "/tasks?tag=project:self+improvement&tag=priority:high&tag=severity:low";

#[test]
fn a_plan_shows_list_sizes_and_the_reads_of_an_intersection() {
    let folder = Folder::new("explain");
    let data = tasks(&folder);
    let (success, out, err) = output(&["explain", &app("tasks"), "--data", &data, REQUEST]);
    assert!(success, "{out}{err}");
    let drawn = "go through what matches in order of creation until 20 are found\n\
                 └─ the declared combination `priority:high` + `project:self improvement` + \
                 `severity:low` (3)\n\
                 \n\
                 Limit: 5000 rows or 16777216 bytes.\n\
                 One id at a time: 60 to 150 rows of all tags' lists, or 3 to 3 of the lists above, \
                 + 3 entities.\n\
                 Not chosen, if matches are spread evenly:\n        \
                 161 rows  walk along the list, and fetch what the posting lists have\n        \
                 282 rows  walk along the list, fetch each entity, and test it\n\
                 Actual: 3 rows of lists and 3 of sets + 3 entities, ";
    assert!(out.starts_with(drawn), "{out}");
    assert!(out.contains("On DynamoDB: "), "{out}");
    let (success, out, err) =
        output(&["explain", &app("tasks"), "--data", &data, REQUEST, "--json"]);
    assert!(success, "{out}{err}");
    let explained: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(explained["lists"][0]["one_by_one"]["entities"], 3);
    for (request, words) in [
        ("/tasks?tag=project", "as in `key:value`"),
        ("/docs", "nothing to explain"),
        ("/nowhere", "Nothing is served"),
    ] {
        let (success, _, err) = output(&["explain", &app("tasks"), "--data", &data, request]);
        assert!(!success && err.contains(words), "{request}: {err}");
    }
}
