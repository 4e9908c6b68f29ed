//! Which format this is.

/// The version of everything below a data directory. It is written into the format file and into
/// every log segment. A change of any byte that the other files here describe is a new version.
///
/// Version 2 has sets, and indexes that keep keys alone have them once. What version 1 wrote means the same in both, so opening a directory of
/// version 1 only makes it one of version 2.
pub(crate) const FORMAT_VERSION: u32 = 2;

/// The oldest version that can be read.
pub(crate) const FORMAT_VERSION_OLDEST: u32 = 1;
