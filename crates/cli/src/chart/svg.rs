//! The chart as a picture: the table with some rows in it, grouped by partition, every index, and
//! every question with its keys.

mod canvas;
mod questions;
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
    canvas.heading("The table", "each partition is a block: what stands in one is read together");
    rows::table(&mut canvas, &sample::table(layout));
    for index in &sample::indexes(layout) {
        let says = format!("an index that keeps keys only: {} and {}", index.keys.0, index.keys.1);
        canvas.heading(&index.name, &says);
        rows::index(&mut canvas, index);
    }
    let says = "of entities of 1 KB and pages of 20: rows, and DynamoDB's units for them";
    canvas.heading("Questions and what they cost", says);
    questions::draw(&mut canvas, sheet);
    canvas.finish(&sheet.title)
}

/// The colours of the entities, and whose children they are.
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
    let says = "Two made-up entities of each kind, and every row that they imply.";
    canvas.text(MARGIN, canvas.y, Style::Small, MUTED, says);
    canvas.y += 12.0;
}
