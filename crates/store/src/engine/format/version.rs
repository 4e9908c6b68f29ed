//! Which format this is.

/// The version of everything below a data directory. It is written into the format file and into
/// every log segment. A change of any byte that the other files here describe is a new version.
///
/// Version 2 has sets, and indexes that keep keys alone have them once; version 3 logs the changes of a
/// set together; version 4 has columns. What an older version wrote means the same in all, so opening its directory only
/// makes it one of this version.
pub(crate) const FORMAT_VERSION: u32 = 4;

/// The oldest version that can be read.
pub(crate) const FORMAT_VERSION_OLDEST: u32 = 1;
