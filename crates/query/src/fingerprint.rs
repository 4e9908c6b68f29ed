//! Fingerprints of queries: two queries have the same only if a position in the results of one is a
//! position in the results of the other. Cursors carry them, so what is hashed never changes.

use keyloom_model::{Entity, FieldId, FieldType, Layout, List, Literal};
use keyloom_store::Direction;
use sha2::{Digest, Sha256};

use crate::span::Span;
use crate::{CountRequest, WindowRange};

/// The query that a cursor is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint([u8; Fingerprint::LEN]);

/// Hashes the pieces of a query, each with its length, so that no two sequences hash alike.
struct Pieces(Sha256);

/// What identifies a list and what narrows it.
pub(crate) struct ListIdentity<'l> {
    pub(crate) entity: &'l Entity,
    pub(crate) list: &'l List,
    pub(crate) partition: &'l [u8],
    /// The canonical text of the filter.
    pub(crate) filter: Option<&'l str>,
}

impl Fingerprint {
    pub(crate) const LEN: usize = 16;

    /// The fingerprint of a list. The partition has the names of entity and list, the tenant and the values of
    /// `by`; the span has the range; the filter is in canonical form.
    pub(crate) fn of_list(of: &ListIdentity<'_>, span: &Span, direction: Direction) -> Fingerprint {
        let ListIdentity { entity, list, partition, filter } = of;
        let mut pieces = Pieces::new("pages");
        pieces.add(partition);
        pieces.add_count(list.by.len());
        for field in &list.by {
            pieces.add(&entity.field(*field).name);
        }
        pieces.add_count(list.order.len());
        for order in &list.order {
            let field = entity.field(order.field);
            pieces.add(&field.name);
            pieces.add(match order.direction {
                keyloom_model::Direction::Ascending => "ascending",
                keyloom_model::Direction::Descending => "descending",
            });
            pieces.add_type(&field.of);
        }
        pieces.add_count(list.filter.len());
        for test in &list.filter {
            pieces.add(&entity.field(test.field).name);
            pieces.add_literal(&test.value);
        }
        for end in [&span.from, &span.to] {
            pieces.add_count(usize::from(end.is_some()));
            pieces.add(end.as_deref().unwrap_or_default());
        }
        pieces.add(match direction {
            Direction::Forward => "forward",
            Direction::Backward => "backward",
        });
        // Ordinals are part of positions.
        pieces.add(if entity.has_ordinals() { "numbered" } else { "" });
        pieces.add_count(usize::from(filter.is_some()));
        pieces.add(filter.unwrap_or_default());
        pieces.finish()
    }

    /// The fingerprint of the values that are counted in a part of a list, which is identified by the
    /// name of its posting list.
    pub(crate) fn of_values(list: &[u8], what: &[&str], filter: Option<&str>) -> Fingerprint {
        let mut pieces = Pieces::new("values");
        pieces.add(list);
        what.iter().for_each(|word| pieces.add(word));
        pieces.add_count(usize::from(filter.is_some()));
        pieces.add(filter.unwrap_or_default());
        pieces.finish()
    }

    /// The fingerprint of the numbers of a count. The partition has the names of entity and count, the
    /// tenant and the values of `by`.
    pub(crate) fn of_count(
        entity: &Entity,
        partition: &[u8],
        request: &CountRequest,
    ) -> Fingerprint {
        let mut pieces = Pieces::new("count");
        pieces.add(partition);
        let name = |field: &FieldId| &entity.field(*field).name;
        pieces.add_count(request.only.len());
        for (field, value) in &request.only {
            pieces.add(name(field));
            pieces.add(value.to_string());
        }
        request.split.iter().for_each(|field| pieces.add(name(field)));
        if let Some(WindowRange { from_ms, to_ms, is_filled }) = &request.windows {
            pieces.add(format!("{from_ms:?} {to_ms:?} {is_filled}"));
        }
        pieces.finish()
    }

    /// The fingerprint of a leaderboard. The partition has the names of entity and board, the tenant
    /// and the values of `by`.
    pub(crate) fn of_board(partition: &[u8], ranked: &str) -> Fingerprint {
        let mut pieces = Pieces::new("board");
        pieces.add(partition);
        pieces.add(ranked);
        pieces.finish()
    }

    /// The fingerprint of the children of the parent in a partition, of the given kinds.
    pub(crate) fn of_children(
        layout: &Layout,
        partition: &[u8],
        kinds: &[keyloom_model::EntityId],
    ) -> Fingerprint {
        let mut pieces = Pieces::new("children");
        pieces.add(partition);
        for kind in kinds {
            pieces.add(&layout.model().entity(*kind).name);
        }
        pieces.finish()
    }

    pub(crate) fn as_bytes(&self) -> &[u8; Fingerprint::LEN] {
        &self.0
    }
}

impl Pieces {
    fn new(kind: &str) -> Pieces {
        let mut pieces = Pieces(Sha256::new());
        pieces.add(kind);
        pieces
    }

    fn add(&mut self, piece: impl AsRef<[u8]>) {
        self.add_count(piece.as_ref().len());
        self.0.update(piece.as_ref());
    }

    fn add_count(&mut self, count: usize) {
        self.0.update((count as u64).to_be_bytes());
    }

    /// Adds a type, as far as it determines the order of values.
    fn add_type(&mut self, of: &FieldType) {
        self.add(of.name());
        if let FieldType::Enum(members) = of {
            self.add_count(members.len());
            members.iter().for_each(|member| self.add(member));
        }
    }

    fn add_literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Text(text) => self.add(format!("text {text}")),
            Literal::Int(number) => self.add(format!("int {number}")),
            Literal::Number(number) => self.add(format!("number {number}")),
            Literal::Bool(truth) => self.add(format!("bool {truth}")),
            Literal::Time(ms) => self.add(format!("time {ms}")),
            // `where` allows nothing else.
            _ => self.add("other"),
        }
    }

    fn finish(self) -> Fingerprint {
        let hash: [u8; 32] = self.0.finalize().into();
        let mut bytes = [0; Fingerprint::LEN];
        bytes.copy_from_slice(&hash[..Fingerprint::LEN]);
        Fingerprint(bytes)
    }
}
