//! The contents of a chart, independent of the output format.

use keyloom_model::{
    Entity, EntityId, IdSource, Layout, Link, OnDelete, Target, Tenancy, TriggeringChange,
};

use super::cost::{self, Cost};
use super::notation;
use super::pattern::{Pattern, patterns};

/// The contents of a chart.
pub(super) struct Sheet {
    pub(super) title: String,
    pub(super) entities: Vec<EntitySheet>,
    /// The number of secondary indexes that the table needs.
    pub(super) indexes: usize,
}

/// The part of one entity.
pub(super) struct EntitySheet {
    pub(super) name: String,
    /// The HTTP path.
    pub(super) path: String,
    /// Relations, tenancy, expiry and event handlers, as short phrases.
    pub(super) facts: Vec<String>,
    pub(super) fields: Vec<FieldSheet>,
    /// References to other entities, the parent first.
    pub(super) references: Vec<Reference>,
    pub(super) patterns: Vec<Pattern>,
    pub(super) writes: Vec<(&'static str, Cost)>,
}

pub(super) struct FieldSheet {
    pub(super) name: String,
    /// The type, as in the model file.
    pub(super) of: String,
}

pub(super) struct Reference {
    pub(super) field: String,
    pub(super) target: String,
    pub(super) is_parent: bool,
    pub(super) is_required: bool,
}

impl Sheet {
    pub(super) fn new(layout: &Layout, title: &str) -> Sheet {
        let entities = layout.model().entities();
        Sheet {
            title: title.to_owned(),
            entities: entities.map(|(id, entity)| EntitySheet::new(layout, id, entity)).collect(),
            indexes: layout.slot_count(),
        }
    }
}

impl EntitySheet {
    fn new(layout: &Layout, id: EntityId, entity: &Entity) -> EntitySheet {
        let model = layout.model();
        let field = |field: &keyloom_model::Field| FieldSheet {
            name: field.name.clone(),
            of: notation::field_type(field, (entity, model)),
        };
        let reference = |link: &Link| {
            let field = entity.field(link.field);
            Reference {
                field: field.name.clone(),
                target: model.entity(link.target).name.clone(),
                is_parent: entity.parent == Some(link.field),
                is_required: field.presence == keyloom_model::Presence::Required,
            }
        };
        EntitySheet {
            name: entity.name.clone(),
            path: entity.path.clone(),
            facts: facts(layout, id, entity),
            fields: entity.fields.iter().map(field).collect(),
            references: layout.references().of(id).iter().map(reference).collect(),
            patterns: patterns(layout, id),
            writes: cost::writes(layout, id),
        }
    }
}

fn facts(layout: &Layout, id: EntityId, entity: &Entity) -> Vec<String> {
    let model = layout.model();
    let mut facts = vec![];
    for link in layout.references().of(id) {
        let target = &model.entity(link.target).name;
        facts.push(match entity.parent == Some(link.field) {
            true => format!("child of a {target}, {}", rule(link.on_delete)),
            false => {
                format!(
                    "{} refers to a {target}, {}",
                    entity.field(link.field).name,
                    rule(link.on_delete)
                )
            }
        });
    }
    for link in layout.references().to(id) {
        let owner = model.entity(link.owner);
        facts.push(match owner.parent == Some(link.field) {
            true => format!("parent of {}", owner.name),
            false => format!("referred to by {}.{}", owner.name, owner.field(link.field).name),
        });
    }
    facts.push(match entity.tenancy {
        Tenancy::Shared => "shared by all tenants".to_owned(),
        Tenancy::Own(field) => format!("tenant: {}", entity.field(field).name),
        Tenancy::Inherited(ancestor) => {
            format!("tenant: that of its {}", model.entity(ancestor).name)
        }
    });
    if entity.id_source == IdSource::Given {
        facts.push("ids assigned by the client".to_owned());
    }
    if let Some(field) = entity.expires {
        facts.push(format!("expires at {}", entity.field(field).name));
    }
    if let Some(field) = entity.updated {
        facts.push(format!("time of the last change: {}", entity.field(field).name));
    }
    let handlers = model.handlers().iter().filter(|handler| handler.entity == id);
    facts.extend(handlers.map(|handler| {
        let change = match handler.change {
            TriggeringChange::Insert => "insertion",
            TriggeringChange::Update => "update",
            TriggeringChange::Delete => "deletion",
        };
        match &handler.target {
            Target::Handler(name) => format!("{change} calls {name}"),
            Target::Webhook(address) => format!("{change} is posted to {address}"),
            Target::Job(kind) => format!("{change} schedules a job {kind}"),
        }
    }));
    facts
}

fn rule(on_delete: OnDelete) -> &'static str {
    match on_delete {
        OnDelete::Refuse => "which cannot be deleted while referenced",
        OnDelete::Cascade => "deleted with it",
        OnDelete::Clear => "cleared when it is deleted",
        OnDelete::Keep => "kept when it is deleted",
    }
}
