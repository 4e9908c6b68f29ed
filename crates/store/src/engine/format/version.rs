//! The version of the format.

/// The version of everything in a data directory. It is written into the format file and into every
/// log segment. Changing any byte that the other files here describe makes a new version.
///
/// Version 5 has checksums of the tree's blocks. Older versions cannot be read: none was released.
pub(crate) const FORMAT_VERSION: u32 = 5;
