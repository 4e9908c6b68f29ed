//! Kinds of declared queries, and what reading each of them costs at most.

/// A kind of query, by what it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryKind {
    /// One entity, by its id.
    Get,
    /// A page of a list, or the entity with a unique value.
    List,
    /// The children of an entity.
    Children,
    /// A count, with sums.
    Count,
    /// A page of a leaderboard.
    Board,
    /// A place on a leaderboard.
    Rank,
    /// Counts of the values of facets or tags.
    Values,
}

/// The beginnings of names of operations, and what they are.
const PREFIXES: [(&str, QueryKind); 10] = [
    ("read_", QueryKind::Get),
    ("list_", QueryKind::List),
    ("children_", QueryKind::Children),
    ("count_", QueryKind::Count),
    ("board_", QueryKind::Board),
    ("rank_", QueryKind::Rank),
    ("tags_of_key_", QueryKind::Values),
    ("tags_", QueryKind::Values),
    ("facets_", QueryKind::Values),
    ("facet_", QueryKind::Values),
];

impl QueryKind {
    /// The kind of an operation, and its name without what all of its kind have in common.
    pub(crate) fn of(operation: &str) -> (QueryKind, &str) {
        let found = PREFIXES
            .iter()
            .find_map(|(prefix, kind)| operation.strip_prefix(prefix).map(|rest| (*kind, rest)));
        found.unwrap_or((QueryKind::Values, operation))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            QueryKind::Get => "get",
            QueryKind::List => "list",
            QueryKind::Children => "children",
            QueryKind::Count => "count",
            QueryKind::Board => "board",
            QueryKind::Rank => "rank",
            QueryKind::Values => "values",
        }
    }

    /// What reading it costs, however much data there is. `explain` has the numbers of one request.
    pub(crate) fn cost(self) -> &'static str {
        match self {
            QueryKind::Get => "1 row, and those of `with`",
            QueryKind::List => {
                "1 index range and the rows of the page, wherever it is; with filters by tags, facets or \
                 ranges also their posting lists, within the bound that `explain` shows"
            }
            QueryKind::Children => "1 range: the rows of the page",
            QueryKind::Count => "1 row for each counter that is returned",
            QueryKind::Board => "1 index range: the rows of the page",
            QueryKind::Rank => "1 row, and at most 255 for each byte of the score",
            QueryKind::Values => {
                "1 posting list for each value that is returned, and those of filters"
            }
        }
    }
}
