//! Lists and counts that an application has closed: `with` does not read them either.

use keyloom_model::{EntityId, Model, Related};

use super::call::{Call, cut};
use super::path_queries::PathQueries;
use super::problem::{Kind, Problem};

/// Checks that no step of `with` is a closed list or count. Steps that do not exist are left to the library.
pub(crate) fn check_steps(call: &Call, entity: &str, with: &str) -> Result<(), Problem> {
    if call.closed.is_empty() {
        return Ok(());
    }
    let model = call.db.model();
    let Some(entity) = model.find(entity) else { return Ok(()) };
    for path in with.split(',') {
        if let Some(step) = closed_step(call, &model, entity, path) {
            let step = cut(&step);
            let detail =
                format!("This application does not serve `{step}`: `/docs` lists its operations.");
            return Err(Problem::new(Kind::Forbidden, detail));
        }
    }
    Ok(())
}

/// As [`check_steps`], for the entities of the entries of a board.
pub(crate) fn check_board_steps(call: &Call, board: &str, with: &str) -> Result<(), Problem> {
    if call.closed.is_empty() {
        return Ok(());
    }
    let model = call.db.model();
    let ranked = model.find_board(board).and_then(|(entity, id)| model.ranked(entity, id));
    ranked.map_or(Ok(()), |ranked| check_steps(call, &model.entity(ranked).name, with))
}

fn closed_step(call: &Call, model: &Model, mut entity: EntityId, path: &str) -> Option<String> {
    let mut rest = Some(path);
    while let Some(path) = rest {
        let begins = |(name, _): &(String, Related)| {
            path.strip_prefix(name.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let steps = model.related(entity).into_iter().filter(begins);
        let (name, related) = steps.max_by_key(|(name, _)| name.len())?;
        if operation(model, related).is_some_and(|operation| is_closed(call, &operation)) {
            return Some(name);
        }
        (entity, rest) = (related.entity(), path[name.len()..].strip_prefix('.'));
    }
    None
}

/// The operation that serves a list or a count, without the number of a name that others have too.
fn operation(model: &Model, related: Related) -> Option<String> {
    match related {
        Related::Reference(_) | Related::Children(_) => None,
        Related::List(id, list) => {
            let entity = model.entity(id);
            let paths = PathQueries::by_path(id, entity).into_iter();
            let lists = paths.map(|(_, queries)| queries.lists).find(|all| all.contains(&list))?;
            Some(format!("list_{}_{}", entity.name, entity.list(*lists.first()?).name))
        }
        Related::Count(id, count) => {
            let entity = model.entity(id);
            Some(format!("count_{}_{}", entity.name, entity.count(count).name))
        }
    }
}

fn is_closed(call: &Call, operation: &str) -> bool {
    let is_same = |closed: &&str| match closed.strip_prefix(operation) {
        Some("") => true,
        Some(rest) => rest.strip_prefix('_').is_some_and(|number| number.parse::<u32>().is_ok()),
        None => false,
    };
    call.closed.iter().any(is_same)
}
