//! Where a copy reads or writes, as it is written on a command line.

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What the name of a table begins with.
const DYNAMODB: &str = "dynamodb:";
/// What the name of a file ends with.
const EXTENSION: &str = "keyloom";

/// Where a copy reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A data directory.
    Directory(PathBuf),
    /// A table in DynamoDB.
    DynamoDb(String),
    /// A file.
    File(PathBuf),
}

impl FromStr for Place {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Place, Infallible> {
        if let Some(table) = text.strip_prefix(DYNAMODB) {
            return Ok(Place::DynamoDb(table.to_owned()));
        }
        let path = PathBuf::from(text);
        let is_file = path.extension().is_some_and(|extension| extension == EXTENSION);
        Ok(if is_file { Place::File(path) } else { Place::Directory(path) })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = |path: &Path, f: &mut fmt::Formatter<'_>| write!(f, "{}", path.display());
        match self {
            Place::Directory(directory) => path(directory, f),
            Place::DynamoDb(table) => write!(f, "{DYNAMODB}{table}"),
            Place::File(file) => path(file, f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written() {
        let place = |text: &str| text.parse::<Place>().unwrap();
        assert_eq!(place("dynamodb:tasks"), Place::DynamoDb("tasks".to_owned()));
        assert_eq!(place("./a/tasks.keyloom"), Place::File("./a/tasks.keyloom".into()));
        for directory in ["data", "data/", "/a/b.c", "keyloom", "C:dynamodb"] {
            assert_eq!(place(directory), Place::Directory(directory.into()));
            assert_eq!(place(directory).to_string(), directory);
        }
        assert_eq!(place("dynamodb:tasks").to_string(), "dynamodb:tasks");
    }
}
