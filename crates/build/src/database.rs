//! The database, with a method for each entity.

use keyloom_model::Model;

use crate::names::ModuleNames;
use crate::source::{Function, Source};

/// The methods that all databases have.
const METHODS: &str = r#"    /// Opens the model on a store, as [`Db::open`](::keyloom::Db::open) does.
    ///
    /// # Errors
    ///
    /// If the data was written under an incompatible model, or the store fails.
    pub async fn open(
        store: ::std::sync::Arc<dyn ::keyloom::Store>,
    ) -> Result<Database, ::keyloom::Error> {
        Ok(Database(::keyloom::Db::open(MODEL, store).await?))
    }

    /// Opens the model on a store, with options.
    ///
    /// # Errors
    ///
    /// As [`Database::open`].
    pub async fn open_with(
        store: ::std::sync::Arc<dyn ::keyloom::Store>,
        options: ::keyloom::Options,
    ) -> Result<Database, ::keyloom::Error> {
        Ok(Database(::keyloom::Db::open_with(MODEL, store, options).await?))
    }

    /// The database without types.
    pub fn db(&self) -> &::keyloom::Db {
        &self.0
    }

    /// The same database for one tenant.
    #[must_use]
    pub fn tenant(&self, tenant: impl Into<::keyloom::Value>) -> Database {
        Database(self.0.tenant(tenant))
    }

    /// The same database for one user, by the access rules of the model.
    #[must_use]
    pub fn user(&self, user: ::keyloom::User) -> Database {
        Database(self.0.user(user))
    }

    /// The same database as of this moment, so that several reads are consistent with each other.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn at_one_moment(&self) -> Result<Database, ::keyloom::Error> {
        Ok(Database(self.0.at_one_moment().await?))
    }

    /// Makes several changes, all or none: a tuple or a vector of them. Await it.
    pub fn transact<C: typed::Changes>(&self, changes: C) -> typed::Request<C> {
        typed::Request::new(&self.0, changes)
    }

    /// Returns what `read` returns of the database now, and again as soon as something that it has
    /// read has changed.
    pub fn live<T, F, R>(
        &self,
        mut read: R,
    ) -> impl typed::Stream<Item = Result<T, typed::Error>> + Send + use<T, F, R>
    where
        T: Send,
        F: ::std::future::Future<Output = Result<T, typed::Error>> + Send,
        R: FnMut(Database) -> F + Send,
    {
        typed::live(&self.0, move |db| read(Database(db)))
    }
"#;

pub(crate) fn write(source: &mut Source, (model, names): (&Model, &ModuleNames), text: &str) {
    source.separate();
    source.doc("The model that this module was generated from.");
    source.verbatim(&format!("pub const MODEL: &str = {};\n", raw(text)));
    source.separate();
    source.doc("A database with this model. Clones share it.");
    source.line("#[derive(Clone, Debug)]");
    source.line("pub struct Database(::keyloom::Db);");
    source.separate();
    source.block("impl Database", |source| {
        source.verbatim(METHODS);
        for (id, entity) in model.entities() {
            let (doc, names) = (format!("The entities `{}`.", entity.name), names.entity(id));
            let (head, output) =
                (format!("pub fn {}", names.accessor), format!("{}<'_>", names.collection));
            let body = vec![format!("{} {{ db: &self.0 }}", names.collection)];
            let parameters = vec!["&self".to_owned()];
            source.function(&doc, &Function { head: &head, parameters, output: &output, body });
        }
    });
    source.separate();
    source.doc("A database that was opened with this model.");
    source.block("impl From<::keyloom::Db> for Database", |source| {
        let (parameters, body) =
            (vec!["db: ::keyloom::Db".to_owned()], vec!["Database(db)".to_owned()]);
        source.function("", &Function { head: "fn from", parameters, output: "Database", body });
    });
}

/// A text as a literal that shows it as it is.
fn raw(text: &str) -> String {
    if text.contains('\r') {
        // A raw literal cannot contain one.
        return format!("{text:?}");
    }
    let mut hashes = String::from("#");
    while text.contains(&format!("\"{hashes}")) {
        hashes.push('#');
    }
    format!("r{hashes}\"{text}\"{hashes}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_literals_whatever_they_contain() {
        assert_eq!(raw("a"), "r#\"a\"#");
        assert_eq!(raw("\"#"), "r##\"\"#\"##");
        assert_eq!(raw("a\r\n"), "\"a\\r\\n\"");
    }
}
