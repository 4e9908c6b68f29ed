//! The API reference.

use keyloom_model::{Entity, EntityId, Field, FieldOrigin, IdSource, Model, Presence};

use super::super::example::is_needed;
use super::super::openapi::{Answer, Described, Group, Parameter, rule, spoken};
use super::super::path_queries::PathQueries;
use super::super::problem::Kind;
use super::assets::{SCRIPT, STYLE};
use super::guide::{anchor, chapters, problems};
use super::html::Html;
use super::request::{TENANT, curl, pretty};

/// Groups other than entities, with heading and description.
const OTHERS: [(Group, &str, &str); 4] = [
    (Group::Application, "Application", "Operations of this application."),
    (Group::Together, "Several at once", "Batches and transactions."),
    (Group::Tokens, "Tokens", "Authentication."),
    (Group::Service, "Service", "About the server itself."),
];

/// Renders the API reference of a service with a name.
pub(crate) fn page(name: &str, model: &Model, described: &[Described<'_>]) -> String {
    let mut html = Html::default();
    html.own("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">");
    html.own("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    html.element("title", &[], &format!("{name} API"));
    html.own("<style>");
    html.own(STYLE);
    html.own("</style></head><body>");
    html.within("nav", &[], |html| contents(html, name, model, described));
    html.within("main", &[], |html| {
        introduction(html, name, model, described);
        for (id, entity) in model.entities() {
            html.within("section", &[("id", &entity.name)], |html| {
                html.element("h2", &[], &spoken(&entity.name));
                about(html, model, (id, entity));
                fields(html, model, entity);
                operations(html, model, described, Group::Entity(id));
            });
        }
        for (group, heading, text) in OTHERS.iter().filter(|it| is_there(described, it.0)) {
            html.within("section", &[("id", group.name(model))], |html| {
                html.element("h2", &[], heading);
                html.element("p", &[], text);
                operations(html, model, described, *group);
            });
        }
        html.within("section", &[("id", "problems")], |html| {
            html.element("h2", &[], "Problems");
            problems(html);
        });
    });
    html.own("<script>");
    html.own(SCRIPT);
    html.own("</script></body></html>\n");
    html.finish()
}

fn is_there(described: &[Described<'_>], group: Group) -> bool {
    described.iter().any(|one| one.group == group)
}

fn contents(html: &mut Html, name: &str, model: &Model, described: &[Described<'_>]) {
    let link = |html: &mut Html, to: &str, text: &str| {
        html.within("li", &[], |html| html.element("a", &[("href", &format!("#{to}"))], text));
    };
    html.within("a", &[("class", "name"), ("href", "#top")], |html| {
        html.element("strong", &[], name);
        html.own("<small>API</small>");
    });
    html.within("ul", &[], |html| {
        link(html, "top", "Start");
        link(html, "guide", "How it works");
    });
    html.own("<h4>Entities</h4>");
    html.within("ul", &[], |html| {
        for (_, entity) in model.entities() {
            link(html, &entity.name, &spoken(&entity.name));
        }
    });
    html.own("<h4>More</h4>");
    html.within("ul", &[], |html| {
        for (group, heading, _) in OTHERS.iter().filter(|it| is_there(described, it.0)) {
            link(html, group.name(model), heading);
        }
        link(html, "problems", "Problems");
    });
}

fn introduction(html: &mut Html, name: &str, model: &Model, described: &[Described<'_>]) {
    html.within("header", &[("id", "top")], |html| {
        html.element("h1", &[], name);
        let names: Vec<String> =
            model.entities().map(|(_, entity)| format!("`{}`", entity.name)).collect();
        let text = format!(
            "Stores {}. Requests and responses are JSON. This page and the OpenAPI document are \
             generated from the model.",
            listed(&names)
        );
        html.prose("p", &[("class", "lead")], &text);
        html.own(
            "<p class=\"links\"><a class=\"button\" href=\"/openapi.json\">OpenAPI 3.1</a> \
             <a class=\"button\" href=\"#guide\">How it works</a> \
             <a class=\"button\" href=\"#problems\">Problem codes</a></p>",
        );
        html.own("<h3>Try it</h3><p>From a shell, or with the forms below.</p>");
        for one in first(model, described) {
            html.element("pre", &[("data-curl", &one.operation.name)], &curl(one));
        }
        settings(html, described);
    });
    html.within("section", &[("id", "guide")], |html| {
        html.element("h2", &[], "How it works");
        chapters(html, model);
    });
}

/// Operations to try first: creating an entity that refers to nothing, and listing it.
pub(super) fn first<'d, 'o>(
    model: &Model,
    described: &'d [Described<'o>],
) -> Vec<&'d Described<'o>> {
    let refers = |entity: &Entity| {
        let is_ref = |field: &Field| matches!(field.of, keyloom_model::FieldType::Ref(..));
        entity.fields.iter().any(|field| is_ref(field) && field.presence == Presence::Required)
    };
    let Some((id, _)) = model.entities().find(|(_, entity)| !refers(entity)) else {
        return vec![];
    };
    let is_first = |one: &&Described<'_>| {
        let is_list = |queries: &PathQueries| queries.entity == id && queries.in_path.is_empty();
        one.creates == Some(id) || one.operation.action.lists().is_some_and(is_list)
    };
    described.iter().filter(is_first).take(2).collect()
}

/// The inputs for token and tenant, which all forms use.
fn settings(html: &mut Html, described: &[Described<'_>]) {
    let is_tenant = |parameter: &Parameter| parameter.name == TENANT;
    let has_tenants = described.iter().any(|one| one.parameters.iter().any(is_tenant));
    html.own("<form class=\"settings\" autocomplete=\"off\">");
    html.own("<label>Token<input id=\"token\" type=\"password\" placeholder=\"none\"></label>");
    if has_tenants {
        html.own("<label>Tenant<input id=\"tenant\" placeholder=\"acme\"></label>");
    }
    html.own("</form>");
}

fn about(html: &mut Html, model: &Model, (id, entity): (EntityId, &Entity)) {
    let mut sentences = vec![];
    if let Some(parent) = entity.parent {
        sentences.push(format!("Belongs to a `{}`.", entity.field(parent).name));
    }
    let children: Vec<String> =
        model.children(id).iter().map(|(relation, _)| format!("`{relation}`")).collect();
    if !children.is_empty() {
        sentences.push(format!("Has {}, which a single read can include.", listed(&children)));
    }
    sentences.push(
        match entity.id_source {
            IdSource::Generated => "Ids are generated, in order of creation.",
            IdSource::Given => "Clients choose the ids.",
        }
        .to_owned(),
    );
    if entity.has_tenant() {
        sentences.push("Each belongs to one tenant and is visible to that tenant only.".to_owned());
    }
    html.prose("p", &[], &sentences.join(" "));
}

fn fields(html: &mut Html, model: &Model, entity: &Entity) {
    html.within("div", &[("class", "scroll")], |html| {
        html.within("table", &[("class", "fields")], |html| {
            html.own("<thead><tr><th>Field<th>Type<th>Rules</thead>");
            for field in &entity.fields {
                html.within("tr", &[], |html| {
                    html.within("td", &[], |html| {
                        html.element("code", &[], &field.name);
                        if is_needed(entity, field) {
                            html.own(" <b title=\"required\">*</b>");
                        }
                    });
                    html.element("td", &[], field.of.name());
                    let text = match field.origin {
                        FieldOrigin::Id => "The id.".to_owned(),
                        FieldOrigin::Parent | FieldOrigin::Declared => rule(model, entity, field),
                    };
                    html.prose("td", &[], &text);
                });
            }
            html.own("<tr><td><code>version</code><td>text<td>Changes on every write.");
        });
    });
}

fn operations(html: &mut Html, model: &Model, described: &[Described<'_>], group: Group) {
    for one in described.iter().filter(|one| one.group == group) {
        let method = one.operation.method.as_str();
        let path = one.operation.path_text();
        let mut attributes = vec![
            ("class", "operation"),
            ("id", one.operation.name.as_str()),
            ("data-method", method),
            ("data-path", &path),
            ("data-group", group.name(model)),
        ];
        if one.parameters.iter().any(|parameter| parameter.name == TENANT) {
            attributes.push(("data-tenant", ""));
        }
        html.within("details", &attributes, |html| {
            html.within("summary", &[], |html| {
                html.element("span", &[("class", &format!("method {method}"))], method);
                html.element("code", &[], &path);
                html.element("span", &[("class", "what")], &one.summary);
            });
            operation(html, one);
        });
    }
}

fn operation(html: &mut Html, one: &Described<'_>) {
    for sentence in &one.details {
        html.prose("p", &[], sentence);
    }
    html.element("pre", &[("class", "curl")], &curl(one));
    html.within("div", &[("class", "examples")], |html| {
        if let Some(example) = one.body.as_ref().and_then(|body| body.example.as_ref()) {
            html.own("<div><h5>Request</h5>");
            html.element("pre", &[], &pretty(example));
            html.own("</div>");
        }
        for answer in one.answers.iter().filter(|answer| answer.example.is_some()).take(1) {
            html.own("<div>");
            html.element("h5", &[], &format!("Response, {}", answer.status));
            html.element("pre", &[], &answer.example.as_ref().map(pretty).unwrap_or_default());
            html.own("</div>");
        }
    });
    outcomes(html, one);
    form(html, one);
}

/// All statuses, and the codes of problems, linked to their meaning.
fn outcomes(html: &mut Html, one: &Described<'_>) {
    html.within("p", &[("class", "outcomes")], |html| {
        for Answer { status, about, media_type, .. } in &one.answers {
            let title = if media_type.is_empty() { "no body" } else { media_type };
            html.within("span", &[("class", "done"), ("title", title)], |html| {
                html.element("b", &[], &status.to_string());
                html.text(&format!(" {about}"));
            });
        }
        for kind in &one.problems {
            let kind: Kind = *kind;
            let to = format!("#{}", anchor(kind));
            let text = format!("{} {}", kind.status(), kind.code());
            html.element("a", &[("href", &to), ("title", kind.title())], &text);
        }
    });
    if let Some(who) = &one.who {
        html.prose("p", &[("class", "role")], who);
    }
}

/// The form: an input for each parameter, and a button.
fn form(html: &mut Html, one: &Described<'_>) {
    html.within("form", &[("class", "try"), ("autocomplete", "off")], |html| {
        let own = |parameter: &&Parameter| parameter.name != TENANT;
        for parameter in one.parameters.iter().filter(own) {
            html.within("label", &[("class", "parameter")], |html| {
                html.within("span", &[], |html| {
                    html.element("code", &[], &parameter.name);
                    html.element("small", &[], parameter.location.name());
                });
                let hint = if parameter.is_required { "required" } else { "" };
                html.open(
                    "input",
                    &[
                        ("data-place", parameter.location.name()),
                        ("name", &parameter.name),
                        ("placeholder", hint),
                    ],
                );
                html.prose("span", &[("class", "about")], &parameter.about);
            });
        }
        if let Some(body) = &one.body {
            let example = body.example.as_ref().map(pretty).unwrap_or_default();
            let rows = example.lines().count().clamp(3, 16).to_string();
            let attributes = [
                ("data-place", "body"),
                ("aria-label", "body"),
                ("spellcheck", "false"),
                ("rows", rows.as_str()),
            ];
            html.element("textarea", &attributes, &example);
        }
        html.own("<button>Send</button><output></output>");
    });
}

/// `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
