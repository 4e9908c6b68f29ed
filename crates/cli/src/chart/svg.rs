//! The chart as SVG: the table with sample rows, grouped by partition, every index, and every access
//! pattern with its keys.

pub(crate) mod canvas;
mod queries;
mod rows;

use keyloom_model::Layout;

use canvas::{Canvas, INK, MARGIN, MUTED, Style, color};

use super::sample;
use super::sheet::Sheet;

pub(super) fn draw(sheet: &Sheet, layout: &Layout) -> String {
    let mut canvas = Canvas::new();
    canvas.text(MARGIN, canvas.y + 24.0, Style::Title, INK, &sheet.title);
    canvas.y += 50.0;
    legend(&mut canvas, sheet);
    canvas.heading("The table", "each block is a partition; one query reads rows of one partition");
    rows::table(&mut canvas, &sample::table(layout));
    for index in &sample::indexes(layout) {
        let note = format!("a keys-only index on {} and {}", index.keys.0, index.keys.1);
        canvas.heading(&index.name, &note);
        rows::index(&mut canvas, index);
    }
    let note =
        "for entities of 1 KB and pages of 20: rows read or written, and DynamoDB capacity units";
    canvas.heading("Queries and writes, with costs", note);
    queries::draw(&mut canvas, sheet);
    canvas.finish(&sheet.title)
}

/// The colors of the entities, with their parents.
fn legend(canvas: &mut Canvas, sheet: &Sheet) {
    let mut x = MARGIN;
    for (index, entity) in sheet.entities.iter().enumerate() {
        let parent = entity.references.iter().find(|reference| reference.is_parent);
        let name = match parent {
            Some(parent) => format!("{} (child of {})", entity.name, parent.target),
            None => entity.name.clone(),
        };
        let width = Style::Label.width(&name) + 24.0;
        if x + width > canvas.right() {
            (x, canvas.y) = (MARGIN, canvas.y + 30.0);
        }
        let (fill, ink) = color(index);
        canvas.rect((x, canvas.y), (width, 22.0), fill, Some(ink));
        canvas.text(x + 12.0, canvas.y + 15.0, Style::Label, ink, &name);
        x += width + 8.0;
    }
    canvas.y += 40.0;
    let note = "Two sample entities of each kind, with every row derived from them.";
    canvas.text(MARGIN, canvas.y, Style::Small, MUTED, note);
    canvas.y += 12.0;
}
