//! Parents and children: no entity is its own ancestor, and nesting is bounded.

use crate::declared::DeclaredEntity;
use crate::error::{Code, Report, Reporter};
use crate::model::{EntityId, Tenancy};

use super::name::Entities;

/// Maximum nesting of entities, from an entity without a parent to the innermost child.
const DEPTH_MAX: usize = 5;

/// The parent of each entity.
pub(crate) struct Lineage<'d> {
    declared: &'d [DeclaredEntity],
    parents: Vec<Option<EntityId>>,
}

impl<'d> Lineage<'d> {
    pub(crate) fn new(
        declared: &'d [DeclaredEntity],
        entities: &Entities<'_>,
        reporter: &mut Reporter<'_>,
    ) -> Lineage<'d> {
        let parent = |entity: &DeclaredEntity| entities.find(entity.parent.as_ref()?, reporter);
        let parents = declared.iter().map(parent).collect();
        let mut lineage = Lineage { declared, parents };
        for index in 0..declared.len() {
            lineage.check_ancestors(index, reporter);
        }
        lineage
    }

    pub(crate) fn declared(&self) -> &'d [DeclaredEntity] {
        self.declared
    }

    pub(crate) fn parents(&self) -> &[Option<EntityId>] {
        &self.parents
    }

    /// The tenancy of an entity that declares none: that of its outermost ancestor.
    pub(crate) fn inherited(&self, index: usize) -> Tenancy {
        match self.ancestors(index).last() {
            Some(first) if self.declared[first.index()].tenant.is_some() => {
                Tenancy::Inherited(*first)
            }
            _ => Tenancy::Shared,
        }
    }

    /// The ancestors from the parent upward; stops before a cycle repeats.
    fn ancestors(&self, index: usize) -> Vec<EntityId> {
        let mut ancestors = vec![];
        let mut next = self.parents[index];
        while let Some(parent) = next.filter(|parent| !ancestors.contains(parent)) {
            ancestors.push(parent);
            next = self.parents[parent.index()];
        }
        ancestors
    }

    /// Reports a cycle once, at its first entity, and then breaks it.
    fn check_ancestors(&mut self, index: usize, reporter: &mut Reporter<'_>) {
        let Some(word) = &self.declared[index].parent else { return };
        let ancestors = self.ancestors(index);
        let name = |id: &EntityId| self.declared[id.index()].name.text.as_str();
        if ancestors.last().is_some_and(|last| last.index() == index) {
            let own = &self.declared[index].name.text;
            let line: Vec<&str> = ancestors.iter().map(name).collect();
            let reason =
                format!("`{own}` would be its own ancestor: {own} -> {}", line.join(" -> "));
            let help = "remove one `parent`, or use a `ref` field instead";
            reporter.push(Report::new(Code::ParentCycle, word.span, reason).help(help));
            self.parents[index] = None;
        } else if ancestors.len() == DEPTH_MAX {
            let reason = format!("children are nested more than {DEPTH_MAX} deep");
            let help = "make it an entity without a parent, with a `ref` field";
            reporter.push(Report::new(Code::ParentsTooDeep, word.span, reason).help(help));
        }
    }
}
