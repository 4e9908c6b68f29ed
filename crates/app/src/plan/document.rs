//! Documents of sample entities. Entities that they refer to are created when they are first drawn.

use std::collections::BTreeMap;
use std::pin::Pin;

use keyloom::{Change, Db, Value};
use keyloom_model::{
    EntityId, Field, FieldAccess, FieldId, FieldOrigin, FieldType, Format, IdSource, Presence,
};
use keyloom_value::Item;

use super::draw::{Drawer, Purpose};

/// The entities that a field can refer to, if the workload does not say.
const TARGETS: u64 = 100;

/// An entity of the sample.
#[derive(Clone, Debug)]
pub(super) struct Sampled {
    pub(super) tenant: Option<Value>,
    pub(super) id: String,
    pub(super) fields: Item,
}

/// Makes documents.
pub(super) struct Author<'a> {
    pub(super) db: &'a Db,
    pub(super) drawer: Drawer<'a>,
    /// The ids of targets, by kind, tenant and number.
    targets: BTreeMap<(EntityId, Option<String>, u64), String>,
}

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, String>> + 'a>>;

impl<'a> Author<'a> {
    pub(super) fn new(db: &'a Db, drawer: Drawer<'a>) -> Author<'a> {
        Author { db, drawer, targets: BTreeMap::new() }
    }

    pub(super) fn db_of(&self, tenant: Option<&Value>) -> Db {
        tenant.map_or_else(|| self.db.clone(), |tenant| self.db.tenant(tenant.clone()))
    }

    /// The tenant of the next entity of a kind, if it has one.
    pub(super) async fn tenant(
        &mut self,
        entity: EntityId,
        purpose: Purpose,
    ) -> Result<Option<Value>, String> {
        let model = self.drawer.model;
        let Some(field) = model.tenant_field(entity) else { return Ok(None) };
        let owner = match model.entity(entity).tenancy {
            keyloom_model::Tenancy::Inherited(ancestor) => ancestor,
            keyloom_model::Tenancy::Own(_) | keyloom_model::Tenancy::Shared => entity,
        };
        let Some(field) = model.entity(owner).find_field(&field.name) else { return Ok(None) };
        self.value((owner, field), None, purpose).await.map(Some)
    }

    /// Writes an entity with this document.
    pub(super) async fn insert(
        &self,
        entity: EntityId,
        tenant: Option<Value>,
        document: Item,
    ) -> Result<Sampled, String> {
        let name = &self.drawer.model.entity(entity).name;
        let created = self
            .db_of(tenant.as_ref())
            .transact(vec![Change::create_item(name, document)])
            .await
            .map_err(|error| format!("cannot create a sample `{name}`: {error}"))?;
        let record = created.into_iter().flatten().next();
        let record = record.ok_or_else(|| format!("cannot create a sample `{name}`."))?;
        Ok(Sampled { tenant, id: record.id().to_owned(), fields: record.fields().clone() })
    }

    /// The document of a new entity.
    pub(super) async fn document(
        &mut self,
        id: EntityId,
        tenant: Option<&Value>,
    ) -> Result<Item, String> {
        let entity = self.drawer.model.entity(id);
        let mut document = Item::new();
        if entity.id_source == IdSource::Given {
            document.insert("id", format!("e{:07}", self.drawer.fresh()));
        }
        for (field_id, field) in entity.fields() {
            if !self.is_drawn(id, field_id, field) {
                continue;
            }
            let is_tenant = entity.tenancy == keyloom_model::Tenancy::Own(field_id);
            let value = match tenant.filter(|_| is_tenant) {
                Some(tenant) => tenant.clone(),
                None => self.value((id, field_id), tenant, Purpose::Write).await?,
            };
            let value = self.drawer.member(value, entity.initial(field_id).unwrap_or_default());
            document.insert(field.name.as_str(), value);
        }
        self.apply_formats(id, &mut document);
        Ok(document)
    }

    /// Whether a document has a value of a field: defaults stay, and what only programs set.
    fn is_drawn(&self, entity: EntityId, id: FieldId, field: &Field) -> bool {
        let declared = self.drawer.model.entity(entity);
        if field.origin == FieldOrigin::Id || declared.is_assigned(field) {
            return false;
        }
        let is_expiry = declared.expires == Some(id);
        self.drawer.workload.draw(entity, id).is_some()
            || field.presence == Presence::Required && field.default.is_none()
            || field.presence == Presence::Optional
                && field.default.is_none()
                && !is_expiry
                && field.access == FieldAccess::ReadWrite
    }

    fn apply_formats(&mut self, id: EntityId, document: &mut Item) {
        let entity = self.drawer.model.entity(id);
        for rule in &entity.formats {
            let name = entity.field(rule.field).name.as_str();
            let format = entity.required_format(rule, document);
            let Some(format) = format.filter(|_| document.get(name).is_some()) else { continue };
            let number = self.drawer.fresh();
            document.insert(
                name,
                match format {
                    Format::Email => format!("person{number}@example.com"),
                    Format::Phone => format!("+1555{:07}", number % 10_000_000),
                    Format::Url => format!("https://example.com/{number}"),
                    Format::Uuid => format!("00000000-0000-4000-8000-{number:012x}"),
                    Format::Slug => format!("sample-{number}"),
                },
            );
        }
    }

    /// A value of a field.
    pub(super) fn value<'f>(
        &'f mut self,
        of: (EntityId, FieldId),
        tenant: Option<&'f Value>,
        purpose: Purpose,
    ) -> Answer<'f, Value> {
        Box::pin(async move {
            let field = self.drawer.model.entity(of.0).field(of.1).of.clone();
            match field {
                FieldType::Ref(target, _) => {
                    let number = match self.drawer.number(of, purpose) {
                        Some(number) => number,
                        None => self.drawer.random.below(TARGETS),
                    };
                    self.target(target, tenant, number).await.map(Value::from)
                }
                FieldType::List(element, limits) if matches!(*element, FieldType::Ref(..)) => {
                    let FieldType::Ref(target, _) = *element else { return Ok(Value::L(vec![])) };
                    let count = limits.low.unwrap_or_default().max(1).min(limits.high.unwrap_or(1));
                    let mut values = vec![];
                    for number in 0..count {
                        values.push(self.target(target, tenant, number).await?.into());
                    }
                    Ok(Value::L(values))
                }
                _ => {
                    let now_ms = self.now_ms();
                    Ok(self.drawer.value(of, purpose, now_ms))
                }
            }
        })
    }

    /// The id of a target, which is created if it is new.
    async fn target(
        &mut self,
        entity: EntityId,
        tenant: Option<&Value>,
        number: u64,
    ) -> Result<String, String> {
        let has_tenant = self.drawer.model.entity(entity).has_tenant();
        let tenant = tenant.filter(|_| has_tenant);
        let key = (entity, tenant.map(|tenant| format!("{tenant:?}")), number);
        if let Some(id) = self.targets.get(&key) {
            return Ok(id.clone());
        }
        let mut document = self.document(entity, tenant).await?;
        let is_given = self.drawer.model.entity(entity).id_source == IdSource::Given;
        if is_given {
            let name = if number == 0 { "hot".to_owned() } else { format!("v{number}") };
            document.insert("id", name);
        }
        let created = self.insert(entity, tenant.cloned(), document).await?;
        self.targets.insert(key, created.id.clone());
        Ok(created.id)
    }

    fn now_ms(&self) -> i64 {
        self.drawer.now_ms
    }
}
