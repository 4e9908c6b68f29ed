//! Tables of a document, and the numbers in them.

/// The cells of a table; the first row is the heading.
#[derive(Debug)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

/// Numbers that are compared with each other.
#[derive(Debug, PartialEq)]
pub(super) struct Group {
    pub(super) heading: String,
    pub(super) bars: Vec<Bar>,
}

/// A number of a group.
#[derive(Debug, PartialEq)]
pub(super) struct Bar {
    pub(super) name: String,
    /// As written.
    pub(super) figure: String,
    pub(super) value: f64,
}

impl Table {
    /// Returns the last table of some lines.
    pub(super) fn above(lines: &[&str]) -> Option<Table> {
        let is_row = |line: &&&str| line.starts_with('|');
        let end = lines.iter().rposition(|line| line.starts_with('|'))? + 1;
        let start = end - lines[..end].iter().rev().take_while(is_row).count();
        let rule = |line: &str| line.chars().all(|c| "|-: ".contains(c));
        let rows = lines[start..end].iter().filter(|line| !rule(line));
        let cells = |line: &&str| {
            line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
        };
        Some(Table { rows: rows.map(cells).collect() })
    }

    /// Returns a group for each row of numbers.
    pub(super) fn by_row(&self) -> Vec<Group> {
        let Some((heading, rows)) = self.rows.split_first() else { return vec![] };
        rows.iter().filter_map(|row| group(row, heading)).collect()
    }

    /// Returns a group for each column of numbers.
    pub(super) fn by_column(&self) -> Vec<Group> {
        let width = self.rows.iter().map(Vec::len).min().unwrap_or(0);
        let column = |place: usize| self.rows.iter().map(|row| row[place].clone()).collect();
        let columns: Vec<Vec<String>> = (0..width).map(column).collect();
        Table { rows: columns }.by_row()
    }
}

/// Pairs the cells of a row with their names; `None` if one is not a number.
fn group(row: &[String], names: &[String]) -> Option<Group> {
    let (heading, cells) = row.split_first()?;
    let mut bars = vec![];
    for (name, cell) in names.iter().skip(1).zip(cells) {
        // Not measured.
        if cell == "–" {
            continue;
        }
        let (name, figure) = (name.clone(), cell.clone());
        bars.push(Bar { name, value: value(cell)?, figure });
    }
    (bars.len() > 1).then_some(Group { heading: heading.clone(), bars })
}

/// Parses a cell; times are in seconds.
fn value(cell: &str) -> Option<f64> {
    let (number, unit) = cell.split_once(' ').unwrap_or((cell, ""));
    let number: f64 = number.replace(',', "").parse().ok()?;
    let scale = match unit {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "µs" => 1e-6,
        _ => return None,
    };
    (number > 0.0).then_some(number * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_parsed_with_their_units() {
        let cases = [("1,204", 1204.0), ("2 s", 2.0), ("1.5 ms", 0.0015), ("20 µs", 0.00002)];
        for (cell, expected) in cases {
            assert!((value(cell).unwrap_or(0.0) - expected).abs() < 1e-12, "{cell}");
        }
        for cell in ["", "yes", "0", "3 rows", "–", "-1"] {
            assert_eq!(value(cell), None, "{cell}");
        }
    }
}
