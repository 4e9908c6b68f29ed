//! The page at `/` of a service without a page of its own: its entities, and what to try first.

use keyloom_model::{EntityId, Model};

use super::super::openapi::{Described, Group, spoken};
use super::super::segment::Segment;
use super::assets::{STYLE, WELCOME_SCRIPT};
use super::html::Html;
use super::page::first;
use super::request::curl;

/// Renders the welcome page of a service with a name.
pub(crate) fn welcome(name: &str, model: &Model, described: &[Described<'_>]) -> String {
    let mut html = Html::default();
    html.own("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">");
    html.own("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    html.element("title", &[], name);
    html.own("<style>");
    html.own(STYLE);
    html.own("</style></head><body class=\"welcome\"><main><header>");
    html.element("h1", &[], name);
    html.own("<p class=\"lead\">This service is up and running. It speaks JSON over HTTP.</p>");
    html.own(
        "<p class=\"links\"><a class=\"button\" href=\"/docs\">API reference</a> \
         <a class=\"button\" href=\"/console\">Console</a> \
         <a class=\"button\" href=\"/openapi.json\">OpenAPI 3.1</a></p></header>",
    );
    html.own("<section><h2>Entities</h2><div class=\"scroll\"><table><thead><tr>");
    html.own("<th>Entity</th><th>Lists</th></tr></thead><tbody>");
    for (id, entity) in model.entities() {
        html.within("tr", &[], |html| {
            html.within("td", &[], |html| {
                let link = format!("/docs#{}", entity.name);
                html.element("a", &[("href", &link)], &spoken(&entity.name));
            });
            html.within("td", &[], |html| lists(html, id, described));
        });
    }
    html.own("</tbody></table></div></section><section><h2>Try it</h2>");
    for one in first(model, described) {
        html.element("pre", &[("tabindex", "0")], &curl(one));
    }
    html.own(
        "<p class=\"about\">To serve your own page here, start the server with \
         <code>--pages DIR</code>, where <code>DIR</code> has an <code>index.html</code>.</p>",
    );
    html.own("</section></main><script>");
    html.own(WELCOME_SCRIPT);
    html.own("</script></body></html>\n");
    html.finish()
}

/// The paths of an entity's lists. One without parameters is a link.
fn lists(html: &mut Html, entity: EntityId, described: &[Described<'_>]) {
    let of_entity = described.iter().filter(|one| one.group == Group::Entity(entity));
    let lists = of_entity.filter(|one| one.operation.action.lists().is_some());
    for one in lists {
        let path = one.operation.path_text();
        let has_value = |segment: &Segment| matches!(segment, Segment::Parameter(_));
        html.within("div", &[], |html| match one.operation.path.iter().any(has_value) {
            true => html.element("code", &[], &path),
            false => html.within("a", &[("href", &path)], |html| html.element("code", &[], &path)),
        });
    }
}
