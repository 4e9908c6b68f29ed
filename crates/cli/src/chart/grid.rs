//! Text tables with box-drawing lines, limited to the width of a page.

/// The maximum width of a table, lines included.
pub(crate) const WIDTH: usize = 100;
/// The width below which a column is not narrowed.
const COLUMN_MIN: usize = 8;

/// The alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Formats a table. Cells can have several lines; text wraps where a column is too narrow.
pub(crate) fn grid(head: &[(&str, Align)], rows: &[Vec<String>]) -> String {
    let widths = widths(head, rows);
    let rule = |left, middle, right| {
        let lines: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
        format!("{left}{}{right}\n", lines.join(middle))
    };
    let names: Vec<String> = head.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut text = rule("┌", "┬", "┐") + &row(head, &widths, &names);
    let drawn: Vec<String> = rows.iter().map(|cells| row(head, &widths, cells)).collect();
    // Rows of one line each need no rules between them.
    let is_dense = drawn.iter().all(|row| row.lines().count() == 1);
    for (index, row) in drawn.iter().enumerate() {
        if index == 0 || !is_dense {
            text += &rule("├", "┼", "┤");
        }
        text += row;
    }
    text + &rule("└", "┴", "┘")
}

fn row(head: &[(&str, Align)], widths: &[usize], cells: &[String]) -> String {
    let wrapped: Vec<Vec<String>> =
        cells.iter().zip(widths).map(|(cell, width)| wrap(cell, *width)).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or_default();
    let mut text = String::new();
    for line in 0..height {
        for (((_, align), width), lines) in head.iter().zip(widths).zip(&wrapped) {
            let part = lines.get(line).map(String::as_str).unwrap_or_default();
            let space = " ".repeat(width.saturating_sub(part.chars().count()));
            text += &match align {
                Align::Left => format!("│ {part}{space} "),
                Align::Right => format!("│ {space}{part} "),
            };
        }
        text.push_str("│\n");
    }
    text
}

/// The width of the longest line of each column; the widest columns shrink until all fit.
fn widths(head: &[(&str, Align)], rows: &[Vec<String>]) -> Vec<usize> {
    let longest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let column = |(index, (name, _)): (usize, &(&str, Align))| {
        let cells = rows.iter().filter_map(|cells| cells.get(index));
        cells.map(|cell| longest(cell)).chain([name.chars().count()]).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = head.iter().enumerate().map(column).collect();
    let room = WIDTH.saturating_sub(3 * head.len() + 1);
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max().filter(|width| **width > COLUMN_MIN) else {
            break;
        };
        *widest -= 1;
    }
    widths
}

/// Wraps text to lines of at most `width` characters, at spaces where possible.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![];
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            let mut word: Vec<char> = word.chars().collect();
            if !line.is_empty() && line.chars().count() + 1 + word.len() > width {
                lines.push(std::mem::take(&mut line));
            }
            while word.len() > width {
                // Paths break best before a segment or parameter.
                let is_break = |c: &char| matches!(c, '/' | '?' | '&');
                let part = word[1..=width].iter().rposition(is_break).map(|index| index + 1);
                let rest = word.split_off(part.unwrap_or(width));
                lines.push(word.into_iter().collect());
                word = rest;
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.extend(word);
        }
        lines.push(line);
    }
    if lines.is_empty() { vec![String::new()] } else { lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_wrap() {
        assert_eq!(wrap("a bc def", 4), ["a bc", "def"]);
        assert_eq!(wrap("abcdefgh i", 3), ["abc", "def", "gh", "i"]);
        assert_eq!(wrap("GET /ab/cd?ef=g", 9), ["GET", "/ab/cd", "?ef=g"]);
        assert_eq!(wrap("", 3), [""]);
        assert_eq!(wrap("äöü ß\nx", 3), ["äöü", "ß", "x"]);
    }

    #[test]
    fn no_table_is_wider_than_a_page() {
        let long = "word ".repeat(60);
        let rows = vec![vec![long.clone(), "1".to_owned()], vec!["x".repeat(300), long]];
        let text = grid(&[("a", Align::Left), ("b", Align::Right)], &rows);
        assert!(text.lines().all(|line| line.chars().count() == WIDTH), "{text}");
    }
}
