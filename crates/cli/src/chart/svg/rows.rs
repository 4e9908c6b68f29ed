//! Rows of the table and of indexes, one block per partition: keys on the left, attributes on the right.
//! Each value has the name of its field above it.

use super::canvas::{Canvas, HEAD, INK, MARGIN, MUTED, Style, color};
use crate::chart::sample::{SampleIndex, SampleKey, SampleRow};

const ROW: f64 = 42.0;
const HEAD_HEIGHT: f64 = 26.0;
const PAD: f64 = 10.0;
/// Minimum and maximum widths of the columns: partition key, sort key, reason of the row.
const WIDTHS_MIN: [f64; 3] = [240.0, 200.0, 110.0];
const WIDTHS_MAX: [f64; 3] = [460.0, 400.0, 260.0];

pub(super) fn table(canvas: &mut Canvas, rows: &[SampleRow]) {
    draw(canvas, ["PK · partition key", "SK · sort key", "row of", "attributes"], rows);
}

pub(super) fn index(canvas: &mut Canvas, index: &SampleIndex) {
    let (partition, sort) = &index.keys;
    let head = [
        &format!("{partition} · partition key"),
        &format!("{sort} · sort key"),
        "list",
        "points to",
    ];
    draw(canvas, head, &index.rows);
}

fn draw(canvas: &mut Canvas, head: [&str; 4], rows: &[SampleRow]) {
    let columns = columns(rows);
    let width = canvas.right() - MARGIN;
    let top = canvas.y;
    canvas.rect((MARGIN, top), (width, HEAD_HEIGHT), HEAD, None);
    for (name, x) in head.into_iter().zip(columns) {
        canvas.text(x + PAD, top + 17.0, Style::Label, MUTED, name);
    }
    canvas.frame((MARGIN, top), (width, HEAD_HEIGHT));
    canvas.y += HEAD_HEIGHT;
    let blocks = rows.chunk_by(|left, right| left.partition.values == right.partition.values);
    for rows in blocks {
        block(canvas, columns, rows);
    }
    for x in columns.into_iter().skip(1) {
        canvas.line((x, top), (x, canvas.y));
    }
}

/// Draws the rows of one partition, with its key once.
fn block(canvas: &mut Canvas, columns: [f64; 4], rows: &[SampleRow]) {
    let (top, right) = (canvas.y, canvas.right());
    let [partition, sort, why, attributes] = columns;
    for (number, row) in rows.iter().enumerate() {
        let (fill, ink) = color(row.entity);
        let y = canvas.y;
        canvas.rect((sort, y), (right - sort, ROW), fill, None);
        if number > 0 {
            canvas.line((sort, y), (right, y));
        }
        key(canvas, (sort, y), why - sort, &row.sort);
        canvas.fit(
            (why + PAD, y + 26.0),
            attributes - why - 2.0 * PAD,
            Style::Label,
            ink,
            &row.why,
        );
        self::attributes(canvas, (attributes, y), &row.attributes);
        canvas.y += ROW;
    }
    if let Some(first) = rows.first() {
        key(canvas, (partition, top), sort - partition, &first.partition);
    }
    canvas.frame((MARGIN, top), (right - MARGIN, canvas.y - top));
}

fn key(canvas: &mut Canvas, (x, y): (f64, f64), width: f64, key: &SampleKey) {
    let room = width - 2.0 * PAD;
    if key.names.is_empty() {
        return canvas.fit((x + PAD, y + 26.0), room, Style::Code, INK, &key.values);
    }
    canvas.fit((x + PAD, y + 16.0), room, Style::Label, MUTED, &key.names);
    canvas.fit((x + PAD, y + 33.0), room, Style::Code, INK, &key.values);
}

/// Draws as many attributes as fit, then the number of the rest.
fn attributes(canvas: &mut Canvas, (x, y): (f64, f64), attributes: &[(String, String)]) {
    const MORE: f64 = 44.0;
    let right = canvas.right();
    let mut x = x + PAD;
    for (index, (name, value)) in attributes.iter().enumerate() {
        let width = Style::Code.width(value).max(Style::Label.width(name));
        let left = attributes.len() - index;
        let room = right - PAD - x - if left > 1 { MORE } else { 0.0 };
        if width > room && index > 0 {
            return canvas.text(x, y + 26.0, Style::Small, MUTED, &format!("+ {left}"));
        }
        canvas.fit((x, y + 16.0), room, Style::Label, MUTED, name);
        canvas.fit((x, y + 33.0), room, Style::Code, INK, value);
        x += width + 18.0;
    }
}

/// The left edges of the columns, by the widths of their longest texts.
fn columns(rows: &[SampleRow]) -> [f64; 4] {
    let key = |key: &SampleKey| Style::Code.width(&key.values).max(Style::Label.width(&key.names));
    let widths =
        |row: &SampleRow| [key(&row.partition), key(&row.sort), Style::Label.width(&row.why)];
    let mut starts = [MARGIN; 4];
    for (index, (min, max)) in WIDTHS_MIN.into_iter().zip(WIDTHS_MAX).enumerate() {
        let longest = rows.iter().map(|row| widths(row)[index]).fold(0.0, f64::max);
        let width = (longest + 2.0 * PAD).clamp(min, max).ceil();
        starts[index + 1] = starts[index] + width;
    }
    starts
}
