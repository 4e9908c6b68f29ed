//! Rejects requests that have both expressions and the parameters that expressions replaced.

use crate::endpoint::params::Params;
use crate::wire::Fault;

/// Rejects `legacy` parameters beside the expression parameters that were given. Both lists are in
/// the service's order, and its message names all that are present, even if they are empty.
pub(crate) fn refuse_mixed(
    params: &Params<'_>,
    legacy: &[&str],
    expressions: &[&str],
) -> Result<(), Fault> {
    let present: Vec<&str> = legacy.iter().copied().filter(|name| params.has(name)).collect();
    if present.is_empty() || expressions.is_empty() {
        return Ok(());
    }
    Err(Fault::validation(format!(
        "Can not use both expression and non-expression parameters in the same request: \
         Non-expression parameters: {{{}}} Expression parameters: {{{}}}",
        present.join(", "),
        expressions.join(", ")
    )))
}
