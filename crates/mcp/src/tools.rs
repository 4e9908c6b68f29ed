//! The tools, each in a file of its own. To add one, write the file and add it to `TOOLS`.

mod changes_since;
mod check_model;
mod describe_model;
mod diff_model;
mod explain;
mod propose;
mod run_query;
mod verify;

pub(crate) use changes_since::ChangesSince;
pub(crate) use check_model::CheckModel;
pub(crate) use describe_model::DescribeModel;
pub(crate) use diff_model::DiffModel;
pub(crate) use explain::Explain;
pub(crate) use propose::Propose;
pub(crate) use run_query::RunQuery;
pub(crate) use verify::Verify;
