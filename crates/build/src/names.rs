//! Unique names of Rust for the names of a model. A name that is taken, or reserved, gets `_` at its end, as
//! often as it takes; who comes first in the model file keeps the plain name.

use std::collections::BTreeSet;

use keyloom_model::{BoardId, CountId, Entity, EntityId, FieldId, FieldType, ListId, Model};

use crate::words::{camel, snake};

/// Words that cannot name a field or a parameter, in any edition.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Types and traits that generated code uses by their bare names, or that everybody expects to mean what
/// they mean.
const PRELUDE: &[&str] = &[
    "AsMut",
    "AsRef",
    "Box",
    "Clone",
    "Copy",
    "Database",
    "Default",
    "DoubleEndedIterator",
    "Drop",
    "Eq",
    "Err",
    "ExactSizeIterator",
    "Extend",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "FromIterator",
    "Future",
    "Into",
    "IntoFuture",
    "IntoIterator",
    "Iterator",
    "None",
    "Ok",
    "Option",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Result",
    "Self",
    "Send",
    "Sized",
    "Some",
    "String",
    "Sync",
    "ToOwned",
    "ToString",
    "TryFrom",
    "TryInto",
    "Unpin",
    "Vec",
];

/// Methods of the database that are no entities, and those that traits of the standard library have.
const METHODS: &[&str] = &[
    "as_ref",
    "at_one_moment",
    "borrow",
    "borrow_mut",
    "clone",
    "clone_from",
    "clone_into",
    "db",
    "deref",
    "eq",
    "fmt",
    "from",
    "into",
    "live",
    "ne",
    "open",
    "open_with",
    "tenant",
    "to_owned",
    "transact",
    "try_from",
    "try_into",
    "type_id",
    "user",
];

/// Whether a text can be the name of a module.
pub(crate) fn is_module_name(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins_well = text.starts_with(|c: char| c.is_ascii_alphabetic());
    begins_well && text.chars().all(is_word) && !KEYWORDS.contains(&text)
}

/// Names that are taken.
pub(crate) struct Names {
    taken: BTreeSet<String>,
}

impl Names {
    pub(crate) fn reserving(reserved: &[&str]) -> Names {
        Names { taken: reserved.iter().map(|name| (*name).to_owned()).collect() }
    }

    /// Names of fields and parameters.
    pub(crate) fn of_variables() -> Names {
        Names::reserving(KEYWORDS)
    }

    /// Names of variants of an enum.
    pub(crate) fn of_variants() -> Names {
        Names::reserving(&["Self"])
    }

    /// The name, or one that begins with it.
    pub(crate) fn take(&mut self, name: impl Into<String>) -> String {
        let mut name = name.into();
        while !self.taken.insert(name.clone()) {
            name.push('_');
        }
        name
    }
}

/// The names of everything in a module.
pub(crate) struct ModuleNames {
    entities: Vec<EntityNames>,
}

/// The names of everything that belongs to an entity.
pub(crate) struct EntityNames {
    /// The type of entities as they are stored.
    pub(crate) entity: String,
    /// The type of their ids.
    pub(crate) id: String,
    /// The type of new ones.
    pub(crate) creation: String,
    /// The type of changes of some fields.
    pub(crate) patch: String,
    /// The type of all of them together, and the method that returns it.
    pub(crate) collection: String,
    pub(crate) accessor: String,
    fields: Vec<FieldNames>,
    lists: Vec<String>,
    counts: Vec<CountNames>,
    boards: Vec<String>,
}

/// The names of a field.
pub(crate) struct FieldNames {
    /// As a variable.
    pub(crate) variable: String,
    /// As a part of the names of functions, where every word is possible. Others may have the same.
    pub(crate) part: String,
    /// The type of its values, if it is an enum or contains some.
    pub(crate) enumeration: Option<String>,
}

/// The names of a count.
pub(crate) struct CountNames {
    /// The count.
    pub(crate) count: String,
    /// The type of its numbers.
    pub(crate) counted: String,
}

impl ModuleNames {
    pub(crate) fn of(model: &Model) -> ModuleNames {
        let mut types = Names::reserving(PRELUDE);
        let mut accessors = Names::of_variables();
        METHODS.iter().for_each(|name| drop(accessors.take(*name)));
        let entities: Vec<&Entity> = model.entities().map(|(_, entity)| entity).collect();
        // Entities first: `task_id` is an entity before `TaskId` is the id of a task.
        let named: Vec<(String, String)> = entities
            .iter()
            .map(|entity| (types.take(camel(&entity.name)), accessors.take(snake(&entity.name))))
            .collect();
        let with_others = entities.iter().zip(named);
        let entities =
            with_others.map(|(entity, named)| EntityNames::of(entity, named, &mut types));
        ModuleNames { entities: entities.collect() }
    }

    pub(crate) fn entity(&self, id: EntityId) -> &EntityNames {
        &self.entities[id.index()]
    }
}

impl EntityNames {
    fn of(declared: &Entity, (entity, accessor): (String, String), types: &mut Names) -> Self {
        let base = camel(&declared.name);
        let mut of = |name: &str, end: &str| types.take(format!("{base}{}{end}", camel(name)));
        let (id, patch) = (of("", "Id"), of("", "Patch"));
        let collection = of("", "Collection");
        let lists = declared.lists.iter().map(|list| of(&list.name, "List")).collect();
        let counts = declared.counts.iter().map(|count| CountNames {
            count: of(&count.name, "Count"),
            counted: of(&count.name, "Counted"),
        });
        let counts = counts.collect();
        let mut variables = Names::of_variables();
        let fields = declared.fields.iter().map(|field| FieldNames {
            variable: variables.take(snake(&field.name)),
            part: snake(&field.name),
            enumeration: members(&field.of).map(|_| of(&field.name, "")),
        });
        let fields = fields.collect();
        let creation = types.take(format!("New{base}"));
        let boards = declared.boards.iter();
        let boards = boards.map(|board| types.take(format!("{}Board", camel(&board.name))));
        let boards = boards.collect();
        EntityNames {
            entity,
            id,
            creation,
            patch,
            collection,
            accessor,
            fields,
            lists,
            counts,
            boards,
        }
    }

    pub(crate) fn field(&self, id: FieldId) -> &FieldNames {
        &self.fields[id.index()]
    }

    pub(crate) fn list(&self, id: ListId) -> &str {
        &self.lists[id.index()]
    }

    pub(crate) fn count(&self, id: CountId) -> &CountNames {
        &self.counts[id.index()]
    }

    pub(crate) fn board(&self, id: BoardId) -> &str {
        &self.boards[id.index()]
    }
}

/// The members of the enum that a type is or contains.
pub(crate) fn members(of: &FieldType) -> Option<&[String]> {
    match of {
        FieldType::Enum(members) => Some(members),
        FieldType::List(of, _) | FieldType::Map(of, _) => members(of),
        FieldType::Text(_)
        | FieldType::Int(_)
        | FieldType::Number(_)
        | FieldType::Bool
        | FieldType::Time
        | FieldType::Bytes(_)
        | FieldType::Any
        | FieldType::Tags
        | FieldType::Ref(..) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_name_gets_an_underscore() {
        let mut names = Names::of_variables();
        let taken = ["type", "type_", "a", "a", "self"].map(|name| names.take(name));
        assert_eq!(taken, ["type_", "type__", "a", "a_", "self_"]);
    }

    #[test]
    fn names_of_modules_are_words_that_are_free() {
        for (name, is_one) in [
            ("tasks", true),
            ("a_1", true),
            ("1a", false),
            ("mod", false),
            ("a-b", false),
            ("", false),
        ] {
            assert_eq!(is_module_name(name), is_one, "{name}");
        }
    }
}
