//! Built-in roles.

/// What a caller may do. Each role includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Reads and changes data as far as the access rules of the model allow.
    User,
    /// Reads data.
    Reader,
    /// Changes data.
    Writer,
    /// Manages tokens and jobs, and reads metrics.
    Admin,
}

impl Role {
    /// All roles, the least first.
    pub const ALL: [Role; 4] = [Role::User, Role::Reader, Role::Writer, Role::Admin];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Role::User => "user",
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
