//! The face of Keyloom. Today: documents, as JSON and as people's own types.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, PartialEq, Debug)]
//! struct Task {
//!     title: String,
//!     due: Option<i64>,
//! }
//!
//! let model = "[entity.task]\nfields.title = \"text\"\nfields.due = \"time?\"\n";
//! let model = keyloom_model::check(model).expect("the model has no errors");
//! let entity = model.entity(model.find("task").expect("there are tasks"));
//!
//! let task = Task { title: "Write".to_owned(), due: Some(0) };
//! let fields = entity.admit(&keyloom::to_item(&task)?, 0).expect("it is a task");
//! assert_eq!(keyloom::from_item::<Task>(&fields, entity)?, task);
//!
//! let shown = keyloom::item_to_json(&entity.show(&fields));
//! assert_eq!(shown, r#"{"due":"1970-01-01T00:00:00Z","title":"Write"}"#);
//! assert_eq!(entity.admit(&keyloom::json_to_item(shown.as_bytes())?, 0), Ok(fields));
//! # Ok::<(), keyloom::DocumentError>(())
//! ```

mod document;

pub use document::{DocumentError, from_item, item_to_json, json_to_item, to_item};
