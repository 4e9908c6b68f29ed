//! Programs over generated modules: those of the four applications and of the gallery, of hostile names and
//! of random models. The tests run them; [`refusals`] shows what does not compile.

#![deny(warnings, missing_docs)]

mod models;
// A public module, for its documentation: it is what tests run.
pub mod refusals;

pub use models::{
    comments, hostile, issue_tracker, kitchen, multi_tenant_saas, oncall, random_1, random_2,
    random_3, random_4, random_5, random_6, shop, social_feed, tasks,
};
