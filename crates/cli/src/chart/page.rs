//! The chart as an interactive page: the entity-relation picture, which can be moved and zoomed, and the queries and
//! writes of each entity with keys and costs, which can be searched and sorted. One file without external requests.

use keyloom_server::escape_html;

use super::entities::{Links, anchor, picture, style};
use super::pattern::{Access, KeyAccess, Pattern};
use super::sheet::{EntitySheet, Sheet};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

pub(super) fn draw(sheet: &Sheet) -> String {
    let title = escape_html(&sheet.title);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{title}</title>\
         <style>{}{STYLE}</style></head>\n<body><header><h1>{title}</h1>\
         <p>Costs are for entities of 1 KB and pages of 20: rows read or written, and DynamoDB capacity units. \
         A query <em>keeps</em> so many write units for each entity that is created.</p></header>\n<main>\
         <figure><div class=\"zoom\"><button type=\"button\" data-zoom=\"1.25\" aria-label=\"Zoom in\">+</button>\
         <button type=\"button\" data-zoom=\"0.8\" aria-label=\"Zoom out\">−</button>\
         <button type=\"button\" data-zoom=\"0\">Reset</button></div>\
         <div class=\"view\" id=\"view\">{}</div></figure>\n\
         <label class=\"search\">Search entities and queries <input type=\"search\" id=\"search\"></label>\n\
         <p id=\"found\" role=\"status\"></p>\n",
        style(),
        picture(sheet, Links::Sections),
    );
    sheet.entities.iter().for_each(|entity| page.push_str(&section(entity)));
    page + &format!("</main><script>{SCRIPT}</script></body></html>\n")
}

fn section(entity: &EntitySheet) -> String {
    let (name, path) = (escape_html(&entity.name), escape_html(&entity.path));
    let facts = escape_html(&entity.facts.join("; "));
    let fields: Vec<String> = entity
        .fields
        .iter()
        .map(|field| {
            let of = escape_html(&field.of);
            format!("<tr><td>{}<td><code>{of}</code>", escape_html(&field.name))
        })
        .collect();
    let reads: Vec<String> = entity.patterns.iter().map(read).collect();
    let writes: Vec<String> = entity
        .writes
        .iter()
        .map(|(what, cost)| {
            let (rows, units) = (cost.rows, cost.units);
            format!("<tr><td>{what}<td class=n>{rows}<td class=n>{units}")
        })
        .collect();
    format!(
        "<section id=\"{}\" tabindex=\"-1\"><h2>{name} <code>{path}</code></h2><p>{facts}.</p>\
         <h3>Queries</h3>{}<h3>Writes</h3>{}<h3>Fields</h3>{}</section>\n",
        anchor(&entity.name),
        table(&["query", "request", "key", "#rows", "#units", "#keeps"], &reads),
        table(&["write", "#rows", "#units"], &writes),
        table(&["field", "type"], &fields),
    )
}

/// A table; `#` begins the name of a column of numbers.
fn table(head: &[&str], rows: &[String]) -> String {
    let head: String = head
        .iter()
        .map(|name| match name.strip_prefix('#') {
            Some(name) => format!("<th scope=col class=n><button type=\"button\">{name}</button>"),
            None => format!("<th scope=col>{name}"),
        })
        .collect();
    let rows = rows.concat();
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>{head}</thead><tbody>{rows}</tbody></table></div>"
    )
}

fn read(pattern: &Pattern) -> String {
    let (query, request) = (escape_html(&pattern.query), escape_html(&pattern.request));
    let (key, rows, units) = match &pattern.access {
        Access::Keys(KeyAccess { partition, sort, cost }) => {
            let key = |(name, parts): &(String, String)| escape_html(&format!("{name} {parts}"));
            let keys = format!("<code>{}<br>{}</code>", key(partition), key(sort));
            (keys, cost.rows.to_string(), cost.units.to_string())
        }
        access @ (Access::Sets | Access::Missing) => {
            (escape_html(access.note()), "–".to_owned(), "–".to_owned())
        }
    };
    let keeps = pattern.keeps.map_or_else(|| "–".to_owned(), |units| units.to_string());
    format!(
        "<tr><td>{query}<td><code>{request}</code><td>{key}<td class=n>{rows}<td class=n>{units}<td class=n>{keeps}"
    )
}
