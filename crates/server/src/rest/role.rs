//! Roles of tokens.

/// What a token allows. Each role includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Reads data.
    Reader,
    /// Changes data.
    Writer,
    /// Manages tokens and jobs, and reads metrics.
    Admin,
}

impl Role {
    /// All roles, the least first.
    pub const ALL: [Role; 3] = [Role::Reader, Role::Writer, Role::Admin];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Role::Reader => "reader",
            Role::Writer => "writer",
            Role::Admin => "admin",
        }
    }

    /// The role with a name.
    pub fn of_name(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == name)
    }
}
