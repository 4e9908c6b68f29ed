//! Users: whom the access rules of a model limit.

use std::collections::BTreeSet;

use keyloom_model::{Entity, Grantees};

/// A user of the service, as an identity provider describes them.
///
/// The roles `reader`, `writer` and `admin` are built in: a reader may read everything, a writer and an
/// admin may also change everything, whatever the rules of the model are. All others, and users without
/// roles, may do what the rules allow.
///
/// ```
/// # use std::sync::Arc;
/// # use keyloom::{Db, User};
/// # use keyloom_store::{MemoryStore, SystemClock};
/// # use serde_json::json;
/// # pollster::block_on(async {
/// # let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// let model = r#"
///     [entity.note]
///     fields.author = "text"
///     access.owner  = "author"
///     access.read   = ["owner", "moderator"]
///     access.create = ["owner"]
///     list.mine     = { by = "author" }
/// "#;
/// let db = Db::open(model, store).await?;
/// let ann = db.user(User::new("ann", ["moderator"]));
/// let note = ann.create("note", &json!({})).await?;          // hers, without saying so
/// let bo = db.user(User::new("bo", Vec::<String>::new()));
/// assert!(bo.get("note", note.id()).await?.is_none());        // does not exist for him
/// assert_eq!(ann.list("note", "mine").by("author", "ann").read().await?.items.len(), 1);
/// # Ok::<(), keyloom::Error>(())
/// # }).expect("the example runs");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    /// Identifies the user: what the owner field of their entities holds.
    pub subject: String,
    /// The roles of the user.
    pub roles: BTreeSet<String>,
}

/// What a rule grants a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    /// All entities.
    pub(super) all: bool,
    /// Those that they own.
    pub(super) own: bool,
    /// Those whose parent they may read or change.
    pub(super) of_parent: bool,
}

impl Grant {
    pub(super) fn is_none(self) -> bool {
        !(self.all || self.own || self.of_parent)
    }
}

impl User {
    /// Creates a user with some roles.
    pub fn new<R: Into<String>>(
        subject: impl Into<String>,
        roles: impl IntoIterator<Item = R>,
    ) -> User {
        User { subject: subject.into(), roles: roles.into_iter().map(Into::into).collect() }
    }

    /// Whether the user may read everything.
    ///
    /// ```
    /// use keyloom::User;
    ///
    /// let ann = User::new("ann", ["reader"]);
    /// assert!(ann.reads_all() && !ann.writes_all());
    /// ```
    pub fn reads_all(&self) -> bool {
        self.roles.contains("reader") || self.writes_all()
    }

    /// Whether the user may change everything.
    pub fn writes_all(&self) -> bool {
        self.roles.contains("writer") || self.roles.contains("admin")
    }

    /// Whether the user may read all of a list, a count or a board, or all of one parent.
    pub fn reads_whole(&self, readers: &Grantees) -> bool {
        let grant = self.reads(readers);
        grant.all || grant.of_parent
    }

    /// Whether the user may read their own part of a list, a count or a board.
    pub fn reads_own(&self, readers: &Grantees) -> bool {
        self.reads(readers).own
    }

    /// Whether the user may change all entities of a kind.
    pub(crate) fn updates_all(&self, entity: &Entity) -> bool {
        self.writes(&entity.access.update).all
    }

    /// What a rule about reading grants.
    pub(super) fn reads(&self, rule: &Grantees) -> Grant {
        self.granted(rule, self.reads_all())
    }

    /// What a rule about changing grants.
    pub(super) fn writes(&self, rule: &Grantees) -> Grant {
        self.granted(rule, self.writes_all())
    }

    fn granted(&self, rule: &Grantees, is_exempt: bool) -> Grant {
        let all = is_exempt || rule.everyone || !rule.roles.is_disjoint(&self.roles);
        Grant { all, own: rule.owner, of_parent: rule.parent }
    }
}
