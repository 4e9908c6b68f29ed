//! The generated modules.

use keyloom_typed::include_model;

include_model!(
    /// The application `comments`.
    pub mod comments
);
include_model!(
    /// The application `kitchen`.
    pub mod kitchen
);
include_model!(
    /// The application `oncall`.
    pub mod oncall
);
include_model!(
    /// The application `tasks`.
    pub mod tasks
);
include_model!(
    /// The issue tracker of the gallery.
    pub mod issue_tracker
);
include_model!(
    /// The shop of the gallery.
    pub mod shop
);
include_model!(
    /// The social feed of the gallery.
    pub mod social_feed
);
include_model!(
    /// The multi-tenant service of the gallery.
    pub mod multi_tenant_saas
);
include_model!(
    /// Names that mean something else in Rust.
    pub mod hostile
);
include_model!(
    /// A random model.
    pub mod random_1
);
include_model!(
    /// A random model.
    pub mod random_2
);
include_model!(
    /// A random model.
    pub mod random_3
);
include_model!(
    /// A random model.
    pub mod random_4
);
include_model!(
    /// A random model.
    pub mod random_5
);
include_model!(
    /// A random model.
    pub mod random_6
);
