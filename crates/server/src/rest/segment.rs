//! Paths of operations, segment by segment.

use keyloom_model::{Entity, FieldId, PathPart};

/// A segment of a path, between slashes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Segment {
    Text(String),
    /// Matches anything; the name is for documentation.
    Parameter(String),
}

impl Segment {
    pub(crate) fn text(text: &str) -> Segment {
        Segment::Text(text.to_owned())
    }

    pub(crate) fn parameter(name: &str) -> Segment {
        Segment::Parameter(name.to_owned())
    }

    /// Parses a path with parameters in braces: `/tasks/{id}`.
    pub(crate) fn path(path: &str) -> Vec<Segment> {
        let segment = |text: &str| {
            let parameter = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
            parameter.map_or_else(|| Segment::text(text), Segment::parameter)
        };
        path.trim_start_matches('/').split('/').map(segment).collect()
    }

    /// The path of an entity.
    pub(crate) fn path_of(entity: &Entity) -> Vec<Segment> {
        entity.path.split('/').filter(|text| !text.is_empty()).map(Segment::text).collect()
    }

    /// The path of a single entity: `/tasks/{id}`.
    pub(crate) fn path_of_one(entity: &Entity) -> Vec<Segment> {
        [Segment::path_of(entity), vec![Segment::parameter("id")]].concat()
    }

    /// A path that the model declares, and the fields whose values it contains, in order.
    pub(crate) fn declared_path(
        entity: &Entity,
        parts: &[PathPart],
    ) -> (Vec<Segment>, Vec<FieldId>) {
        let segment = |part: &PathPart| match part {
            PathPart::Text(text) => Segment::text(text),
            PathPart::Field(field) => Segment::parameter(&entity.field(*field).name),
        };
        let field = |part: &PathPart| match part {
            PathPart::Text(_) => None,
            PathPart::Field(field) => Some(*field),
        };
        (parts.iter().map(segment).collect(), parts.iter().filter_map(field).collect())
    }
}
