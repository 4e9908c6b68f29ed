//! What a client can do: the types and methods of an API, in no particular language.

/// Everything that a client is generated from.
#[derive(Debug)]
pub(super) struct Api {
    /// The name of the model.
    pub(super) title: String,
    pub(super) types: Vec<Type>,
    /// One for each entity.
    pub(super) groups: Vec<Group>,
    /// Methods of the client itself.
    pub(super) methods: Vec<Method>,
    /// The entities whose changes can be followed.
    pub(super) followed: Vec<Followed>,
    /// The codes of problems.
    pub(super) codes: Vec<String>,
}

/// An entity whose changes can be followed.
#[derive(Debug)]
pub(super) struct Followed {
    /// Its name.
    pub(super) name: String,
    pub(super) shape: Shape,
}

/// The methods of an entity.
#[derive(Debug)]
pub(super) struct Group {
    /// The name of the entity.
    pub(super) name: String,
    pub(super) methods: Vec<Method>,
}

/// An object with known members.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Type {
    /// Its name, in words: `task.create`.
    pub(super) name: String,
    pub(super) members: Vec<Member>,
    /// Whether it can have other members.
    pub(super) is_open: bool,
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) shape: Shape,
    pub(super) is_required: bool,
    pub(super) about: String,
}

/// A type, by its place in [`Api::types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TypeId(pub(super) usize);

/// The values of a member, a parameter or a response.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    Text,
    Whole,
    Number,
    Bool,
    Null,
    /// A time in a response.
    Time,
    /// A time in a parameter.
    Moment,
    /// A time in a document of a request.
    GivenTime,
    Anything,
    Words(Vec<String>),
    List(Box<Shape>),
    Map(Box<Shape>),
    Either(Vec<Shape>),
    Type(TypeId),
    /// The name of an entity that an earlier change of a transaction creates.
    Named,
}

/// An operation.
#[derive(Debug)]
pub(super) struct Method {
    /// Its name, in words: `list_all`.
    pub(super) name: String,
    pub(super) http: String,
    /// With parameters in braces: `/tasks/{id}`.
    pub(super) path: String,
    /// Paragraphs.
    pub(super) about: Vec<String>,
    /// Whether its path has the id of an entity, which is its first parameter.
    pub(super) has_id: bool,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
    pub(super) answer: Answer,
    /// Whether it takes an `Idempotency-Key`.
    pub(super) is_keyed: bool,
    pub(super) takes_if_match: bool,
    pub(super) takes_if_none_match: bool,
}

impl Method {
    pub(super) fn is_query(&self) -> bool {
        self.http == "GET"
    }

    /// Whether a call must name something besides the id.
    pub(super) fn needs_parameters(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.is_required)
    }

    /// The parameters of its query.
    pub(super) fn in_query(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| parameter.location == Location::Query)
    }
}

#[derive(Debug)]
pub(super) struct Body {
    pub(super) shape: Shape,
    pub(super) media_type: &'static str,
}

/// What a method returns.
#[derive(Debug)]
pub(super) enum Answer {
    Nothing,
    Value(Shape),
    /// An entity, of which the parameter `fields` chooses members.
    Entity {
        shape: Shape,
        fields: String,
    },
    /// Pages that the parameter `cursor` continues.
    Pages {
        item: Shape,
        cursor: String,
        /// The parameter that chooses members of items, if they are entities.
        fields: Option<String>,
    },
}

/// A parameter of a path or a query.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    /// What requests call it.
    pub(super) wire_name: String,
    /// What callers call it.
    pub(super) name: String,
    pub(super) location: Location,
    pub(super) wire: Wire,
    pub(super) shape: Shape,
    pub(super) is_required: bool,
    /// Whether a request can also ask if there is a value.
    pub(super) or_presence: bool,
    pub(super) about: String,
}

impl Parameter {
    /// Its name, if it is not a field: `limit`, also where requests call it `$limit`.
    pub(super) fn option(&self) -> Option<&str> {
        let is_option = matches!(self.wire, Wire::Text | Wire::Each | Wire::Joined);
        let is_in_query = self.location == Location::Query;
        (is_option && is_in_query).then(|| self.wire_name.trim_start_matches('$'))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    Path,
    Query,
}

/// How a parameter is written in a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    /// As it is.
    Text,
    /// Once for each value.
    Each,
    /// Values separated by commas.
    Joined,
    /// A value of a field.
    Value,
    /// One of some values of a field.
    Facet,
    /// A value of a field, or bounds.
    Range,
    /// Some values of a field, or bounds.
    RangeOrFacet,
    /// Only whether there is a value.
    Presence,
}

impl Wire {
    /// What runtimes call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Wire::Text => "text",
            Wire::Each => "each",
            Wire::Joined => "joined",
            Wire::Value | Wire::Range | Wire::Presence => "value",
            Wire::Facet | Wire::RangeOrFacet => "facet",
        }
    }
}
