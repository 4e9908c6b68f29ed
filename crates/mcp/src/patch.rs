//! A declaration to add to a model, as text, and where it goes.

use keyloom_model::{Code, Model, ModelError, check};

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
    /// Where it was added.
    pub(crate) place: String,
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

    /// Adds it to a model: as a table of its own at the end or, because TOML does not extend an entity
    /// that declares its lists inside its own table, as a line of that table.
    ///
    /// # Errors
    ///
    /// The errors of the model with it, in the form in which it has the fewest.
    pub(crate) fn apply(&self, model: &str) -> Result<Patched, Vec<ModelError>> {
        let table = format!("[entity.{}]\n{}", self.path(), self.lines());
        let appended = format!("{}\n\n{table}", model.trim_end());
        let errors = match check(&appended) {
            Ok(model) => {
                let place = "at the end of the model file".to_owned();
                return Ok(Patched { patch: table, place, text: appended, model });
            }
            Err(errors) => errors,
        };
        let Some((line, inserted)) = self.inserted(model) else { return Err(errors) };
        match check(&inserted) {
            Ok(model) => {
                let place = format!("below the line `[entity.{}]`", self.entity);
                Ok(Patched { patch: line, place, text: inserted, model })
            }
            Err(others) if others.len() < errors.len() || is_syntax(&errors) => Err(others),
            Err(_) => Err(errors),
        }
    }

    fn lines(&self) -> String {
        self.keys.iter().map(|(key, fields)| format!("{key:<5} = {}\n", names(fields))).collect()
    }

    /// The model with the declaration as a line of the entity's table, and the line.
    fn inserted(&self, model: &str) -> Option<(String, String)> {
        let keys = self.keys.iter().map(|(key, fields)| format!("{key} = {}", names(fields)));
        let keys = keys.collect::<Vec<_>>().join(", ");
        let line = format!("{}.{} = {{ {keys} }}\n", self.kind.key(), self.name);
        let header = format!("[entity.{}]", self.entity);
        let is_header = |text: &&str| text.trim_start().starts_with(&header);
        let end = model.split_inclusive('\n').position(|text| is_header(&text))? + 1;
        let mut lines: Vec<&str> = model.split_inclusive('\n').collect();
        if lines.len() == end {
            lines.push("\n");
        }
        lines.insert(end, &line);
        Some((line.clone(), lines.concat()))
    }
}

/// One field, or a list of them.
fn names(fields: &[String]) -> String {
    match fields {
        [one] => format!("\"{one}\""),
        several => format!("[\"{}\"]", several.join("\", \"")),
    }
}

/// Whether the text is not even TOML.
fn is_syntax(errors: &[ModelError]) -> bool {
    errors.iter().all(|error| error.code() == Code::Syntax)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_rank(keys: Vec<(&'static str, Vec<String>)>) -> Declaration {
        let (entity, kind) = ("task".to_owned(), DeclarationKind::List);
        Declaration { entity, kind, name: "by_rank".to_owned(), keys }
    }

    #[test]
    fn a_declaration_is_added_in_the_form_that_the_model_allows() {
        let keys = vec![("order", vec!["-rank".to_owned()])];
        let fields = "[entity.task]\nfields.rank = \"int\"";
        let (own, inside) = ("\n[entity.task.list.all]\n", "\nlist.all = {}\n");
        for (rest, place) in [("", "end"), (own, "end"), (inside, "below"), ("\n", "end")] {
            let patched = by_rank(keys.clone()).apply(&format!("{fields}{rest}")).unwrap();
            assert!(patched.place.contains(place), "{rest}: {}", patched.place);
            assert!(patched.text.contains(&patched.patch), "{}", patched.text);
            let task = patched.model.entity(patched.model.find("task").unwrap());
            assert!(task.lists().any(|(_, list)| list.name == "by_rank"), "{}", patched.text);
        }
    }

    #[test]
    fn errors_are_those_of_the_declaration() {
        let keys = vec![("order", vec!["tags".to_owned()])];
        for rest in ["", "list.all = {}\n"] {
            let model = format!("[entity.task]\nfields.tags = \"tags = {{}}\"\n{rest}");
            let errors = by_rank(keys.clone()).apply(&model).unwrap_err();
            assert!(!is_syntax(&errors), "{errors:?}");
        }
    }
}
