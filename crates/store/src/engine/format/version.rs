//! Which format this is.

/// The version of everything below a data directory. It is written into the format file and into
/// every log segment. A change of any byte that the other files here describe is a new version.
pub(crate) const FORMAT_VERSION: u32 = 1;
