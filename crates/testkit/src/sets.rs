//! Reads all sets of a store in parts, asserting that this makes progress and ends.

use keyloom_store::{
    Direction, Error, ListSets, Members, ReadSet, SetName, SetSize, Sets, TableName,
};
use pollster::block_on;

/// Parts after which reading a set counts as endless.
const PARTS_MAX: usize = 100_000;

/// Returns all sets of a table, each with its members from an ordinal on, and up to it.
pub(crate) fn walk_sets(
    sets: &dyn Sets,
    table: &TableName,
    limit: u32,
    from: u64,
) -> Result<Vec<(SetSize, Members, Members)>, Error> {
    let mut found = vec![];
    for size in find_sets(sets, table, limit)? {
        let asked = block_on(sets.set_sizes(table.clone(), vec![size.set.clone()]))?;
        assert_eq!(asked, [size.members], "sizes agree");
        let [up, down] = [Direction::Forward, Direction::Backward].map(|direction| {
            let (table, set) = (table.clone(), size.set.clone());
            members(sets, ReadSet { table, set, from, direction, chunks: limit })
        });
        found.push((size, up?, down?));
    }
    Ok(found)
}

/// Returns the names and sizes of all sets of a table.
fn find_sets(sets: &dyn Sets, table: &TableName, limit: u32) -> Result<Vec<SetSize>, Error> {
    let mut found: Vec<SetSize> = vec![];
    loop {
        let after: Option<SetName> = found.last().map(|last| last.set.clone());
        let list = ListSets { table: table.clone(), prefix: vec![], after, limit };
        let page = block_on(sets.list_sets(list))?;
        let is_last = page.len() < limit as usize;
        found.extend(page);
        assert!(found.is_sorted_by(|left, right| left.set < right.set), "{found:?}");
        if is_last {
            return Ok(found);
        }
    }
}

/// Returns all members of a set from the start of a read on.
pub(crate) fn members(sets: &dyn Sets, mut read: ReadSet) -> Result<Members, Error> {
    let mut all = Members::default();
    for _ in 0..PARTS_MAX {
        let part = block_on(sets.read_set(read.clone()))?;
        assert!(part.chunks <= read.chunks, "a part respects its limit: {part:?}");
        all.or(&part.members);
        let is_within = |member| match read.direction {
            Direction::Forward => member >= read.from && part.through.is_none_or(|to| member <= to),
            Direction::Backward => {
                member <= read.from && part.through.is_none_or(|to| member >= to)
            }
        };
        assert!(part.members.iter().all(is_within), "{read:?} is {part:?}");
        let next = part.through.and_then(|through| match read.direction {
            Direction::Forward => through.checked_add(1),
            Direction::Backward => through.checked_sub(1),
        });
        assert!(next.is_none() || !part.members.is_empty(), "only the last part can be empty");
        match next {
            Some(next) => read.from = next,
            None => return Ok(all),
        }
    }
    panic!("reading a set in parts ends");
}
