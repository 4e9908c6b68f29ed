//! Which format this is.

/// The version of everything below a data directory. It is written into the format file and into
/// every log segment. A change of any byte that the other files here describe is a new version.
///
/// Version 5 has checksums of the tree's blocks. What older versions wrote is not read: nothing was
/// released before.
pub(crate) const FORMAT_VERSION: u32 = 5;
