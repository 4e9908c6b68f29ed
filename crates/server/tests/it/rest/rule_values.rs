//! What users are shown of more than one entity, by value: numbers, facet values, leaderboards, related entities
//! and pages of children, and what of lists is never for users.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_model::Grantees;
use serde_json::{Value as Json, json};

use super::ask::Ask;
use super::changes::Stream;
use super::live_client::live;
use super::rules::{Expected, Known, Scene, check_answer};

/// A request, and what a user is shown.
pub(super) struct Question {
    /// The name of the operation.
    pub(super) route: &'static str,
    ask: Ask,
    expected: Shown,
    /// What of the response is compared.
    part: fn(&Json) -> Json,
}

enum Shown {
    Part(Json),
    /// Refused.
    Refused(Expected),
    /// A count of what is their own cannot be split by the owner, whom owners do not name: 400.
    NamedTwice,
}

impl Shown {
    /// What is made of the entities that a query returns.
    fn of(found: Expected, made: impl Fn(&BTreeSet<String>) -> Json) -> Shown {
        match found {
            Expected::Done(found) => Shown::Part(made(&found.expect("entities"))),
            Expected::Unseen | Expected::Forbidden => Shown::Refused(found),
        }
    }
}

fn count(body: &Json) -> Json {
    body["count"].clone()
}

fn rank(body: &Json) -> Json {
    body["rank"].clone()
}

fn ids_in(body: &Json) -> Json {
    let items = body["items"].as_array().expect("items").iter();
    let ids: BTreeSet<&str> = items.filter_map(|item| item["id"].as_str()).collect();
    json!(ids)
}

fn ranked(body: &Json) -> Json {
    let items = body["items"].as_array().expect("items").iter();
    items.map(|item| item["of"].clone()).collect()
}

/// The numbers of items, by their only value.
fn by_value(body: &Json) -> Json {
    let number = |item: &Json| {
        let value = match &item["values"] {
            Json::Object(values) => values.values().next().expect("a value"),
            _ => &item["value"],
        };
        (value.as_str().expect("a text").to_owned(), item["count"].clone())
    };
    let items = body["items"].as_array().expect("items").iter();
    items.map(number).collect::<BTreeMap<String, Json>>().into_iter().collect()
}

fn of_lead(body: &Json) -> Json {
    by_value(&body["facets"]["lead"])
}

fn of_assignee(body: &Json) -> Json {
    by_value(&body["facets"]["assignee"])
}

fn project_of(body: &Json) -> Json {
    body["with"]["project"]["id"].clone()
}

fn tasks_of(body: &Json) -> Json {
    ids_in(&body["with"]["tasks"])
}

impl Scene {
    /// All questions, for a user.
    pub(super) fn questions(&self, user: Known) -> Vec<Question> {
        let mut all = self.about_projects(user);
        all.extend(self.about_tasks(user));
        all.extend(self.about_related(user));
        all.extend(self.never_for_users());
        all
    }

    fn about_projects(&self, user: Known) -> Vec<Question> {
        let size = |found: &BTreeSet<String>| json!(found.len());
        let counted = || self.projects_by(user, self.count_readers("project", "all"));
        let listed = || self.projects_by(user, self.list_readers("project", "all"));
        let split = match counted() {
            Expected::Done(_) if !user.is_named(self.count_readers("project", "all")) => {
                Shown::NamedTwice
            }
            found => Shown::of(found, |found| self.values("/projects?limit=100", "lead", found)),
        };
        let leads = |found: &BTreeSet<String>| self.values("/projects?limit=100", "lead", found);
        let own = |readers: &Grantees, shown: Json| match self.is_project_admitted(user, readers) {
            true => Shown::Part(shown),
            false => Shown::Refused(Expected::Forbidden),
        };
        let (mine, best) = (self.count_readers("project", "mine"), self.board_readers());
        vec![
            self.get("count_project_all", "", Shown::of(counted(), size), count),
            self.get("count_project_all", "?split=lead", split, by_value),
            self.get("count_project_mine", "?lead=ann", own(mine, json!(1)), count),
            self.get("facets_project_all", "", Shown::of(listed(), leads), of_lead),
            self.get("facet_project_all", "", Shown::of(listed(), leads), by_value),
            self.get("board_best", "?lead=ann", own(best, json!([self.project])), ranked),
            self.get("rank_best", "?lead=ann", own(best, json!(1)), rank),
        ]
    }

    fn about_tasks(&self, user: Known) -> Vec<Question> {
        let size = |found: &BTreeSet<String>| json!(found.len());
        let of = format!("?project={}", self.project);
        let (by_split, list) = (format!("{of}&split=assignee"), format!("/tasks/lists/of{of}"));
        let counted = || self.tasks_by(user, self.count_readers("task", "of"));
        let listed = || self.tasks_by(user, self.list_readers("task", "of"));
        let assignees = |found: &BTreeSet<String>| self.values(&list, "assignee", found);
        let readers = self.count_readers("task", "of");
        let is_whole = user.is_named(readers) || readers.parent && self.sees(user, "project");
        let split = match counted() {
            Expected::Done(_) if !is_whole => Shown::NamedTwice,
            found => Shown::of(found, assignees),
        };
        vec![
            self.get("count_task_of", &of, Shown::of(counted(), size), count),
            self.get("count_task_of", &by_split, split, by_value),
            self.get("facets_task_of", &of, Shown::of(listed(), assignees), of_assignee),
            self.get("facet_task_of", &of, Shown::of(listed(), assignees), by_value),
        ]
    }

    /// References to what a user cannot see are left out. Children are for those who may read all of them.
    fn about_related(&self, user: Known) -> Vec<Question> {
        let read = |kind: &str| &self.rules(kind).read;
        let of_one = |kind: &str, shown: Json| match self.change(user, kind, (read(kind), true)) {
            Expected::Done(_) => Shown::Part(shown),
            refused => Shown::Refused(refused),
        };
        let children = || match user.is_named(read("task")) || read("task").parent {
            true => of_one("project", json!([self.task])),
            false => Shown::Refused(Expected::Forbidden),
        };
        let project = match self.sees(user, "project") {
            true => json!(self.project),
            false => Json::Null,
        };
        let mut all = vec![
            self.get("read_project", "?with=tasks", children(), tasks_of),
            self.get("children_tasks_of_project", "", children(), ids_in),
        ];
        // Whoever may read no project at all may not ask for one.
        let with_project = match self.can_ever_see(user, "project") {
            true => Some(of_one("task", project)),
            false => self.sees(user, "task").then_some(Shown::Refused(Expected::Forbidden)),
        };
        let with_project =
            with_project.map(|shown| self.get("read_task", "?with=project", shown, project_of));
        all.extend(with_project);
        all
    }

    /// Bulk changes, and entities without rules.
    fn never_for_users(&self) -> Vec<Question> {
        let refused = |(route, ask): (&'static str, Ask)| Question {
            route,
            ask,
            expected: Shown::Refused(Expected::Forbidden),
            part: Json::clone,
        };
        let (points, text) = (json!({ "points": 3 }), json!({ "text": "mine" }));
        let title = json!({ "title": "mine" });
        let all = |path: &str| format!("{path}?$all=true");
        let [vault, vaults] = ["/vaults/x", "/vaults"];
        let (team, mine, of) = ("/projects/lists/team", "/projects/lists/mine", "/tasks/lists/of");
        let asks = [
            ("change_all_project_all", Ask::patch(&all("/projects"), &points)),
            ("delete_all_project_all", Ask::delete(&all("/projects"))),
            ("change_all_project_team", Ask::patch(&all(team), &points)),
            ("delete_all_project_team", Ask::delete(&all(team))),
            ("change_all_project_mine", Ask::patch(&format!("{mine}?lead=ann"), &points)),
            ("delete_all_project_mine", Ask::delete(&format!("{mine}?lead=ann"))),
            ("change_all_task_of", Ask::patch(&format!("{of}?project={}", self.project), &title)),
            ("delete_all_task_of", Ask::delete(&format!("{of}?project={}", self.project))),
            ("change_all_vault_all", Ask::patch(&all(vaults), &text)),
            ("delete_all_vault_all", Ask::delete(&all(vaults))),
            ("change_vault", Ask::patch(vault, &text)),
            ("replace_vault", Ask::put(vault, &text)),
            ("delete_vault", Ask::delete(vault)),
        ];
        asks.map(refused).into()
    }

    fn get(
        &self,
        route: &'static str,
        parameters: &str,
        expected: Shown,
        part: fn(&Json) -> Json,
    ) -> Question {
        let path =
            &self.served.routes.iter().find(|one| one.name == route).expect("it is served").path;
        let id = if route.contains("project") { &self.project } else { &self.task };
        let facet = if route.contains("project") { "lead" } else { "assignee" };
        let path = path.replace("{id}", id).replace("{facet}", facet);
        let path = path.replace("{of}", &self.project);
        Question { route, ask: Ask::get(&format!("{path}{parameters}")), expected, part }
    }

    /// How many of these entities have each value of a field.
    fn values(&self, path: &str, field: &str, found: &BTreeSet<String>) -> Json {
        let all = self.served.ask(&Ask::get(path).bearer(&self.admin)).expect_json(200);
        let mut counts = BTreeMap::<String, usize>::new();
        for item in all["items"].as_array().expect("items") {
            if found.contains(item["id"].as_str().expect("an id")) {
                *counts.entry(item[field].as_str().expect("a text").to_owned()).or_default() += 1;
            }
        }
        json!(counts)
    }

    /// Asks the question, and follows the answer.
    pub(super) fn check(&self, question: &Question, (shown, token): (&str, &str)) {
        let Question { ask, expected, part, .. } = question;
        let answer = self.served.ask(&ask.clone().bearer(token));
        let streamed = (ask.method == "GET").then(|| live(&ask.path, token));
        match expected {
            Shown::Refused(refused) => {
                check_answer(&answer, refused, shown);
                let streamed = streamed.map(|live| self.served.ask(&live));
                streamed.iter().for_each(|answer| check_answer(answer, refused, shown));
            }
            Shown::NamedTwice => {
                assert_eq!(answer.outcome(), "400 bad-parameter", "{shown}");
                let live = streamed.expect("it is a query");
                assert_eq!(self.served.ask(&live).outcome(), "400 bad-parameter", "{shown}");
            }
            Shown::Part(expected) => {
                assert_eq!(answer.status, 200, "{shown}: {}", answer.text());
                assert_eq!(part(&answer.json()), *expected, "{shown}");
                let live = streamed.expect("it is a query");
                let first = Stream::open(&self.served, &live).next_or_end().expect("a page");
                assert_eq!(part(&first.data["body"]), *expected, "{shown}");
            }
        }
    }
}
