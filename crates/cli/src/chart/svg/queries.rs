//! Access patterns with their keys and costs, and the costs of writes.

use super::canvas::{Canvas, HEAD, INK, MARGIN, MUTED, Style, color};
use crate::chart::cost::Cost;
use crate::chart::pattern::{Access, Pattern};
use crate::chart::sheet::{EntitySheet, Sheet};

const ROW: f64 = 42.0;
const HEAD_HEIGHT: f64 = 26.0;
const PAD: f64 = 10.0;
const KEY: f64 = 620.0;
const ROWS: f64 = 1210.0;
const UNITS: f64 = 1290.0;

pub(super) fn draw(canvas: &mut Canvas, sheet: &Sheet) {
    for (index, entity) in sheet.entities.iter().enumerate() {
        canvas.y += 6.0;
        block(canvas, (index, entity));
        canvas.y += 10.0;
    }
}

fn block(canvas: &mut Canvas, (index, entity): (usize, &EntitySheet)) {
    let (fill, ink) = color(index);
    let (top, width) = (canvas.y, canvas.right() - MARGIN);
    canvas.rect((MARGIN, top), (width, HEAD_HEIGHT), fill, None);
    for (x, name) in
        [(MARGIN, entity.name.as_str()), (KEY, "key"), (ROWS, "rows"), (UNITS, "units")]
    {
        canvas.text(x + PAD, top + 17.0, Style::Label, ink, name);
    }
    canvas.y += HEAD_HEIGHT;
    for pattern in &entity.patterns {
        query(canvas, pattern);
    }
    for (what, cost) in &entity.writes {
        let y = canvas.y;
        canvas.rect((MARGIN, y), (width, HEAD_HEIGHT), HEAD, None);
        canvas.text(MARGIN + PAD, y + 17.0, Style::Small, INK, what);
        costs(canvas, y + 17.0, *cost);
        canvas.y += HEAD_HEIGHT;
    }
    canvas.frame((MARGIN, top), (width, canvas.y - top));
}

fn query(canvas: &mut Canvas, pattern: &Pattern) {
    let y = canvas.y;
    let room = KEY - MARGIN - 2.0 * PAD;
    canvas.fit((MARGIN + PAD, y + 16.0), room, Style::Label, INK, &pattern.query);
    canvas.fit((MARGIN + PAD, y + 33.0), room, Style::Code, MUTED, &pattern.request);
    match &pattern.access {
        access @ (Access::Sets | Access::Missing) => {
            canvas.text(KEY + PAD, y + 26.0, Style::Small, MUTED, access.note());
        }
        Access::Keys(keys) => {
            let room = ROWS - KEY - 2.0 * PAD;
            for ((name, parts), y) in [(&keys.partition, y + 16.0), (&keys.sort, y + 33.0)] {
                canvas.fit((KEY + PAD, y), room, Style::Code, INK, &format!("{name:<4}{parts}"));
            }
            costs(canvas, y + 26.0, keys.cost);
        }
    }
    canvas.y += ROW;
    canvas.line((MARGIN, canvas.y), (canvas.right(), canvas.y));
}

fn costs(canvas: &mut Canvas, y: f64, cost: Cost) {
    canvas.text(ROWS + PAD, y, Style::Code, INK, &cost.rows.to_string());
    canvas.text(UNITS + PAD, y, Style::Code, INK, &cost.units.to_string());
}
