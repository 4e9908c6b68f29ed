//! What is the same for every model: how to get in, versions, pages, problems.

use keyloom_model::Model;

use super::super::problem::Kind;
use super::html::Html;

/// A heading, sentences, and a line to try.
type Chapter = (&'static str, &'static str, &'static str);

const TOKENS: Chapter = (
    "Tokens",
    "A server without tokens serves its own machine, and lets anybody in. As soon as there is one, \
     every request shows one. A `reader` reads, a `writer` also changes, an `admin` also makes \
     tokens and sees measurements.",
    "curl -H 'Authorization: Bearer TOKEN' …",
);
const TENANTS: Chapter = (
    "Tenants",
    "What belongs to tenants is seen by its own tenant alone; to all others it does not exist. A \
     token of one tenant decides whose data it is. Otherwise the header `Keyloom-Tenant` does.",
    "curl -H 'Keyloom-Tenant: acme' …",
);
const VERSIONS: Chapter = (
    "Versions",
    "Every entity has a `version`, which is also its `ETag`; every change gives it another. Send \
     it with `If-Match`, and a change that would overwrite somebody else's is refused with 412. \
     With `If-None-Match` a read is answered with 304 as long as nothing has changed.",
    "curl -X PATCH -H 'If-Match: \"VERSION\"' …",
);
const IDEMPOTENCY: Chapter = (
    "Once, for certain",
    "If an answer is lost, nobody knows whether the change happened. Give each change an \
     `Idempotency-Key` of its own and send it again: it happens once, and is answered again.",
    "curl -H 'Idempotency-Key: 8f14e45f' …",
);
const PAGING: Chapter = (
    "Pages",
    "A list is answered as `items` and, if more follow, `next`; from the second page on also \
     `previous`. Give one of them back as `cursor`, with everything else the same. Page 10,000 costs what the first one costs, and what is written \
     meanwhile makes no page repeat or skip. `limit` is 20 unless said, and at most 1000; \
     `reverse=true` begins at the end.",
    "curl '…?limit=100&cursor=NEXT'",
);
const BOUNDS: Chapter = (
    "Bounds",
    "A field that orders a list takes a value, or bounds after `<`, `<=`, `>`, `>=`; twice for \
     both ends. Encode them in a URL: `<` is `%3C`, `>` is `%3E`.",
    "curl -G … -d 'created=>=2026-01-01T00:00:00Z'",
);

const FILTERS: Chapter = (
    "Tags and facets",
    "`tag=key:value` finds what has a tag; several are all of them. `key:a|b` is any of the values, \
     `key:*` any value at all, `!key:value` is without it. A facet takes values with commas between \
     them. A backslash stands before a sign that is meant. `total=true` adds how many there are, and \
     what there is to choose from is told below the path of each list.",
    "curl -G … -d 'tag=priority:high' -d 'tag=!severity:low|none' -d total=true",
);

/// Everything that is to be known before the first request.
pub(super) fn chapters(html: &mut Html, model: &Model) {
    let has_tenants = model.entities().any(|(_, entity)| entity.has_tenant());
    let tenants = has_tenants.then_some(TENANTS);
    let chapters = [TOKENS].into_iter().chain(tenants);
    let is_filtered = model.entities().any(|(_, entity)| entity.is_numbered());
    let chapters = chapters.chain([VERSIONS, IDEMPOTENCY, PAGING, BOUNDS]);
    let chapters = chapters.chain(is_filtered.then_some(FILTERS));
    html.within("div", &[("class", "chapters")], |html| {
        for (heading, text, line) in chapters {
            html.within("article", &[], |html| {
                html.element("h3", &[], heading);
                html.prose("p", &[], text);
                html.element("pre", &[], line);
            });
        }
    });
}

/// Every code that a problem can have.
pub(super) fn problems(html: &mut Html) {
    let text = "What goes wrong is told as `application/problem+json`: `detail` says what to do, \
                `errors` names every field at fault, and `code` is what a program goes by. A code \
                never changes its meaning.";
    html.prose("p", &[], text);
    html.within("div", &[("class", "scroll")], |html| {
        html.within("table", &[], |html| {
            html.own("<thead><tr><th>Status<th>Code<th>Meaning</thead>");
            for kind in Kind::ALL {
                html.within("tr", &[("id", &anchor(*kind))], |html| {
                    html.element("td", &[], &kind.status().to_string());
                    html.within("td", &[], |html| html.element("code", &[], kind.code()));
                    html.element("td", &[], kind.title());
                });
            }
        });
    });
}

/// Where a code is explained on the page.
pub(super) fn anchor(kind: Kind) -> String {
    format!("problem-{}", kind.code())
}
