//! The part of the API reference that is the same for every model: tokens, versions, pages, problems.

use keyloom_model::Model;

use super::super::problem::Kind;
use super::html::Html;

/// A heading, a text, and an example.
type Chapter = (&'static str, &'static str, &'static str);

const TOKENS: Chapter = (
    "Tokens",
    "Without tokens, the server accepts requests from its own machine only, without authentication. \
     Once a token exists, every request needs one. A `reader` can read, a `writer` can also write, \
     an `admin` can also manage tokens and read metrics.",
    "curl -H 'Authorization: Bearer TOKEN' …",
);
const TENANTS: Chapter = (
    "Tenants",
    "A tenant's data is visible to that tenant only. A token that is limited to one tenant \
     determines the tenant; otherwise the header `Keyloom-Tenant` does.",
    "curl -H 'Keyloom-Tenant: acme' …",
);
const VERSIONS: Chapter = (
    "Versions",
    "Every entity has a `version`, which changes on every write and is also its `ETag`. Send it with \
     `If-Match`, and a write that would overwrite someone else's change is refused with 412. With \
     `If-None-Match`, a read is answered with 304 until the entity changes.",
    "curl -X PATCH -H 'If-Match: \"VERSION\"' …",
);
const IDEMPOTENCY: Chapter = (
    "Safe retries",
    "If a response is lost, send the request again with the same `Idempotency-Key`: the change is \
     applied once, and the response is repeated. Use a new key for each change.",
    "curl -H 'Idempotency-Key: 8f14e45f' …",
);
const PAGING: Chapter = (
    "Pages",
    "A list returns `items` and, if there are more, `next`; from the second page on also \
     `previous`. Pass one of them as `cursor` and keep all other parameters. Page 10,000 costs as \
     much as the first, and concurrent writes never make a page repeat or skip an entity. `limit` \
     is 20 by default and at most 1000; `reverse=true` starts at the end.",
    "curl '…?limit=100&cursor=NEXT'",
);
const BOUNDS: Chapter = (
    "Bounds",
    "A field that a list is ordered by takes a value, or a range with `<`, `<=`, `>` or `>=`; twice \
     for both ends. Encode them in a URL: `<` is `%3C`, `>` is `%3E`.",
    "curl -G … -d 'created=>=2026-01-01T00:00:00Z'",
);

const FILTERS: Chapter = (
    "Tags and facets",
    "`tag=key:value` filters by a tag; several must all match. `key:a|b` matches any of the values, \
     `key:*` any value, `!key:value` entities without it. A facet takes values separated by commas. \
     Escape special characters with a backslash. `total=true` adds the number of matches. The paths \
     below each list return the tags and values to choose from.",
    "curl -G … -d 'tag=priority:high' -d 'tag=!severity:low|none' -d total=true",
);

/// The introduction.
pub(super) fn chapters(html: &mut Html, model: &Model) {
    let has_tenants = model.entities().any(|(_, entity)| entity.has_tenant());
    let tenants = has_tenants.then_some(TENANTS);
    let chapters = [TOKENS].into_iter().chain(tenants);
    let is_filtered = model.entities().any(|(_, entity)| entity.has_ordinals());
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

/// The table of problem codes.
pub(super) fn problems(html: &mut Html) {
    let text = "Errors are returned as `application/problem+json`: `detail` says what is wrong and how \
                to fix it, `errors` lists every invalid field, and `code` identifies the problem for \
                programs. The meaning of a code never changes.";
    html.prose("p", &[], text);
    html.within("div", &[("class", "scroll")], |html| {
        html.within("table", &[], |html| {
            html.own("<thead><tr><th>Status<th>Code<th>Meaning<th>What to do</thead>");
            for kind in Kind::ALL {
                html.within("tr", &[("id", &anchor(*kind))], |html| {
                    html.element("td", &[], &kind.status().to_string());
                    html.within("td", &[], |html| html.element("code", &[], kind.code()));
                    html.element("td", &[], kind.title());
                    html.prose("td", &[], kind.remedy());
                });
            }
        });
    });
}

/// The anchor of a code on the page.
pub(super) fn anchor(kind: Kind) -> String {
    format!("problem-{}", kind.code())
}
