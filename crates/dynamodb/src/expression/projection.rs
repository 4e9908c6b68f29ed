//! Resolves the paths of a projection to a [`Projection`].

use keyloom_value::Projection;

use super::substitutions::check_reserved;
use super::syntax::RawPath;
use super::{ExpressionError, Substitutions};

/// Resolves the paths of a projection.
pub(super) fn resolve(
    paths: &[RawPath<'_>],
    substitutions: &mut Substitutions,
) -> Result<Projection, ExpressionError> {
    paths.iter().try_for_each(check_reserved)?;
    let paths = paths.iter().map(|path| substitutions.path(path)).collect::<Result<_, _>>()?;
    Projection::new(paths).map_err(|clash| ExpressionError::clash(&clash))
}
