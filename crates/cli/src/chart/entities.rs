//! The chart as an entity-relation picture: a box for each entity with its fields and queries, and a line for each
//! reference, in crow's-foot notation. Entities that others refer to are further left.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use keyloom_server::escape_html;

use super::pattern::{Access, Pattern};
use super::sheet::{EntitySheet, Sheet};
use super::svg::canvas::color;

const WIDTH: f64 = 330.0;
const LINE: f64 = 18.0;
const HEAD: f64 = 32.0;
const GAP: (f64, f64) = (110.0, 28.0);
const MARGIN: f64 = 24.0;
/// How many characters of small text fit into a box, and beside the cost of a query.
const TEXT_MAX: usize = 44;
const QUERY_MAX: usize = 38;

const STYLE: &str = include_str!("entities.css");

/// Where things link to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    /// Nowhere.
    None,
    /// Boxes link to the sections of a page: see [`anchor`].
    Sections,
}

/// A box.
struct Placed<'s> {
    entity: &'s EntitySheet,
    index: usize,
    x: f64,
    y: f64,
    height: f64,
}

/// The picture as a file of its own.
pub(super) fn draw(sheet: &Sheet) -> String {
    let picture = picture(sheet, Links::None);
    picture.replacen("<defs>", &format!("<style>{STYLE}</style><defs>"), 1) + "\n"
}

/// The picture as an element. The style is that of its surroundings: [`style`].
pub(super) fn picture(sheet: &Sheet, links: Links) -> String {
    let boxes = layout(sheet);
    let far = |edge: fn(&Placed<'_>) -> f64| boxes.iter().map(edge).fold(0.0, f64::max) + MARGIN;
    let (width, height) = (far(|one| one.x + WIDTH), far(|one| one.y + one.height));
    let title = escape_html(&sheet.title);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"entities\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"group\" aria-label=\"The entities of {title}\">\
         <title>{title}</title>{MARKERS}"
    );
    // Lines first, so that boxes cover them.
    boxes.iter().for_each(|from| from.draw_references(&boxes, &mut svg));
    boxes.iter().for_each(|one| one.draw(links, &mut svg));
    svg + "</svg>"
}

/// The style of the picture.
pub(super) fn style() -> &'static str {
    STYLE
}

/// The id of the section of an entity. Names of entities have no other characters than words.
pub(super) fn anchor(entity: &str) -> String {
    format!("entity-{entity}")
}

const MARKERS: &str = "<defs>\
<marker id=\"many\" viewBox=\"0 0 14 14\" refX=\"14\" refY=\"7\" markerWidth=\"14\" markerHeight=\"14\" \
markerUnits=\"userSpaceOnUse\" orient=\"auto-start-reverse\">\
<path class=\"mark\" d=\"M0 7 14 1M0 7 14 13M0 7H14\"/></marker>\
<marker id=\"one\" viewBox=\"0 0 14 14\" refX=\"14\" refY=\"7\" markerWidth=\"14\" markerHeight=\"14\" \
markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"mark\" d=\"M4 1V13M8 1V13\"/></marker>\
<marker id=\"optional\" viewBox=\"0 0 22 14\" refX=\"22\" refY=\"7\" markerWidth=\"22\" markerHeight=\"14\" \
markerUnits=\"userSpaceOnUse\" orient=\"auto\"><circle class=\"mark hole\" cx=\"5\" cy=\"7\" r=\"4\"/>\
<path class=\"mark\" d=\"M15 1V13\"/></marker></defs>";

/// Places the boxes in columns: each entity to the right of those that it refers to, as far as they do not refer back.
fn layout(sheet: &Sheet) -> Vec<Placed<'_>> {
    let mut depths = BTreeMap::new();
    let mut bottoms: BTreeMap<usize, f64> = BTreeMap::new();
    let placed = sheet.entities.iter().enumerate().map(|(index, entity)| {
        let column = depth(sheet, entity, &mut vec![], &mut depths);
        let lines = entity.fields.len() + entity.patterns.len();
        let height = HEAD + lines as f64 * LINE + 22.0;
        let bottom = bottoms.entry(column).or_insert(MARGIN);
        let y = *bottom;
        *bottom = y + height + GAP.1;
        Placed { entity, index, x: MARGIN + column as f64 * (WIDTH + GAP.0), y, height }
    });
    placed.collect()
}

/// The longest way of references from an entity, without going in circles.
fn depth<'s>(
    sheet: &'s Sheet,
    entity: &'s EntitySheet,
    path: &mut Vec<&'s str>,
    depths: &mut BTreeMap<&'s str, usize>,
) -> usize {
    if let Some(known) = depths.get(&*entity.name) {
        return *known;
    }
    path.push(&entity.name);
    let mut deepest = 0;
    for reference in &entity.references {
        let target = sheet.entities.iter().find(|other| other.name == reference.target);
        if let Some(target) = target.filter(|target| !path.contains(&&*target.name)) {
            deepest = deepest.max(depth(sheet, target, path, depths) + 1);
        }
    }
    path.pop();
    depths.insert(&entity.name, deepest);
    deepest
}

impl Placed<'_> {
    fn draw(&self, links: Links, svg: &mut String) {
        let Placed { entity, x, y, height, .. } = self;
        let (_, ink) = color(self.index);
        let name = escape_html(&entity.name);
        let (open, close) = match links {
            Links::None => ("<g class=\"box\">".to_owned(), "</g>"),
            Links::Sections => {
                (format!("<a class=\"box\" href=\"#{}\">", anchor(&entity.name)), "</a>")
            }
        };
        // Writing to a string does not fail.
        let _ = write!(
            svg,
            "{open}<rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{height}\" rx=\"8\"/>\
             <path fill=\"{ink}\" d=\"M{x} {}v-16a8 8 0 0 1 8-8h{}a8 8 0 0 1 8 8v16z\"/>\
             <text class=\"name\" x=\"{}\" y=\"{}\">{name}</text>",
            y + 24.0,
            WIDTH - 16.0,
            x + 12.0,
            y + 17.0,
        );
        let mut line = y + HEAD + 10.0;
        for field in &entity.fields {
            let is_key = field.name == "id"
                || entity.references.iter().any(|reference| reference.field == field.name);
            let class = if is_key { "key" } else { "field" };
            let text = cut(&format!("{}: {}", field.name, field.of), TEXT_MAX);
            text_at(svg, (x + 12.0, line), class, &text);
            line += LINE;
        }
        let rule = line - LINE / 2.0 + 2.0;
        let _ = write!(svg, "<path class=\"rule\" d=\"M{x} {rule}h{WIDTH}\"/>");
        line += 8.0;
        for pattern in &entity.patterns {
            text_at(svg, (x + 12.0, line), "query", &cut(&pattern.query, QUERY_MAX));
            text_at(svg, (x + WIDTH - 10.0, line), "cost", &cost(pattern));
            line += LINE;
        }
        svg.push_str(close);
    }

    /// A line from each field that refers to an entity to the head of that one.
    fn draw_references(&self, boxes: &[Placed<'_>], svg: &mut String) {
        for reference in &self.entity.references {
            let to = boxes.iter().find(|other| other.entity.name == reference.target);
            let field = self.entity.fields.iter().position(|field| field.name == reference.field);
            let (Some(to), Some(field)) = (to, field) else { continue };
            let start = (self.x, self.y + HEAD + 6.0 + field as f64 * LINE);
            let end = (to.x + WIDTH, to.y + 12.0);
            // Within a column, or back, around the left side.
            let (way, tip) = match start.0 > end.0 {
                true => {
                    let middle = f64::midpoint(start.0, end.0);
                    (format!("C{middle} {} {middle} {}", start.1, end.1), end)
                }
                false => {
                    let out = start.0.min(to.x) - 46.0;
                    (format!("C{out} {} {out} {}", start.1, end.1), (to.x, end.1))
                }
            };
            let mark = if reference.is_required { "one" } else { "optional" };
            let class = if reference.is_parent { "line parent" } else { "line" };
            let _ = write!(
                svg,
                "<path class=\"{class}\" d=\"M{} {}{way} {} {}\" marker-start=\"url(#many)\" \
                 marker-end=\"url(#{mark})\"><title>{}</title></path>",
                start.0,
                start.1,
                tip.0,
                tip.1,
                escape_html(&format!(
                    "{}.{} refers to {}",
                    self.entity.name, reference.field, reference.target
                )),
            );
        }
    }
}

fn text_at(svg: &mut String, (x, y): (f64, f64), class: &str, text: &str) {
    let text = escape_html(text);
    let _ = write!(svg, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>");
}

/// The cost of a query in a few characters.
fn cost(pattern: &Pattern) -> String {
    match &pattern.access {
        Access::Keys(keys) => format!("{} rows", keys.cost.rows),
        Access::Sets => "sets".to_owned(),
        Access::Missing => "not stored".to_owned(),
    }
}

fn cut(text: &str, length_max: usize) -> String {
    if text.chars().count() <= length_max {
        return text.to_owned();
    }
    text.chars().take(length_max - 1).chain(['…']).collect()
}
