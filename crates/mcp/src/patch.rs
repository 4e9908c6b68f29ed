//! A declaration to add to a model, as text.

use keyloom_model::{Model, ModelError, check};

/// A list or a count to declare.
#[derive(Clone, Debug)]
pub(crate) struct Declaration {
    pub(crate) entity: String,
    pub(crate) kind: DeclarationKind,
    pub(crate) name: String,
    /// Its keys with the names of fields, in order.
    pub(crate) keys: Vec<(&'static str, Vec<String>)>,
}

/// What is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeclarationKind {
    List,
    Count,
}

/// A model with a declaration added.
#[derive(Debug)]
pub(crate) struct Patched {
    /// The added text.
    pub(crate) patch: String,
    /// The whole text.
    pub(crate) text: String,
    pub(crate) model: Model,
}

impl DeclarationKind {
    pub(crate) fn key(self) -> &'static str {
        match self {
            DeclarationKind::List => "list",
            DeclarationKind::Count => "count",
        }
    }
}

impl Declaration {
    /// Its name in workloads and messages: `task.list.by_rank`.
    pub(crate) fn path(&self) -> String {
        format!("{}.{}.{}", self.entity, self.kind.key(), self.name)
    }

    /// Adds it to a model, as a table at the end. TOML lets a table of a declaration follow anything but an
    /// entity or lists that are written in braces.
    ///
    /// # Errors
    ///
    /// The errors of the model with it.
    pub(crate) fn apply(&self, model: &str) -> Result<Patched, Vec<ModelError>> {
        let patch = format!("[entity.{}]\n{}", self.path(), self.lines());
        let text = format!("{}\n\n{patch}", model.trim_end());
        let model = check(&text)?;
        Ok(Patched { patch, text, model })
    }

    fn lines(&self) -> String {
        self.keys.iter().map(|(key, fields)| format!("{key:<5} = {}\n", names(fields))).collect()
    }
}

/// One field, or a list of them.
fn names(fields: &[String]) -> String {
    match fields {
        [one] => format!("\"{one}\""),
        several => format!("[\"{}\"]", several.join("\", \"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_rank(keys: Vec<(&'static str, Vec<String>)>) -> Declaration {
        let (entity, kind) = ("task".to_owned(), DeclarationKind::List);
        Declaration { entity, kind, name: "by_rank".to_owned(), keys }
    }

    #[test]
    fn a_declaration_can_follow_any_form_of_others() {
        let keys = vec![("order", vec!["-rank".to_owned()])];
        let fields = "[entity.task]\nfields.rank = \"int\"";
        for rest in ["", "\n", "\n[entity.task.list.all]\n", "\nlist.all = {}\n"] {
            let patched = by_rank(keys.clone()).apply(&format!("{fields}{rest}")).unwrap();
            assert!(patched.text.ends_with(&patched.patch), "{}", patched.text);
            let task = patched.model.entity(patched.model.find("task").unwrap());
            assert!(task.lists().any(|(_, list)| list.name == "by_rank"), "{}", patched.text);
        }
    }

    #[test]
    fn a_field_that_cannot_order_a_list_is_refused() {
        let keys = vec![("order", vec!["tags".to_owned()])];
        let model = "[entity.task]\nfields.tags = \"tags = {}\"\n";
        assert!(by_rank(keys).apply(model).is_err());
    }
}
