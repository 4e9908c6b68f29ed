//! Tenants, optional fields and lists of references, on both stores.

use keyloom::Item;
use keyloom_typed::{Error, Id, Time};
use keyloom_typed_example::oncall::{
    AttemptId, AttemptKind, ContactId, Database, MethodKind, NewAttempt, NewContact, NewMethod,
    NewSearch, SearchPatch, SearchStatus,
};
use pollster::block_on;

use crate::gallery::on_each_store;

#[test]
fn tenants_see_their_own_entities_only() {
    on_each_store("oncall-tenants", |store| {
        block_on(async {
            let all = Database::open(store).await?;
            let (acme, other) = (all.tenant("acme"), all.tenant("other"));
            let ann = acme.contact().create(NewContact::new("Ann")).await?;
            assert_eq!(ann.domain, "acme");
            assert!(other.contact().get(&ann.id).await?.is_none());
            assert!(other.contact().list_by_name().read().await?.items.is_empty());
            // Without a tenant there is nothing to read or to write.
            let refused = all.contact().create(NewContact::new("Ann")).await;
            assert!(matches!(refused, Err(Error::Db(keyloom::Error::Tenant { .. }))));
            Ok(())
        })
    });
}

#[test]
fn a_search_is_created_and_changed() {
    on_each_store("oncall-search", |store| {
        block_on(async {
            let db = Database::open(store).await?.tenant("acme");
            let ann = db.contact().create(NewContact::new("Ann")).await?;
            let bob = db.contact().create(NewContact::new("Bob")).await?;
            let method = NewMethod::new(&ann.id, MethodKind::Email, "ann@example.com", 0);
            let method = db.method().create(method).await?;
            assert!(method.enabled);
            let new = NewSearch { then: Some(vec![(&bob.id).into()]), ..NewSearch::new(&ann.id) };
            let search = db.search().create(new).await?;
            assert_eq!((search.status, search.stage), (SearchStatus::Active, 0));
            assert_eq!(search.then, std::slice::from_ref(&bob.id));
            let (first, second) = (Time::from_ms(1), Time::from_ms(2));
            let patch = SearchPatch::new().append_escalated(vec![first, second]).add_step(2);
            let patch = patch.set_subject(Item::from([("service", "web")])).set_ended(second);
            let search = db.search().patch(&search.id, patch).if_version(&search.version).await?;
            assert_eq!((search.escalated.as_slice(), search.step), (&[first, second][..], 2));
            let cleared = SearchPatch::new().clear_ended().clear_subject();
            let cleared = db.search().patch(&search.id, cleared).await?;
            assert_eq!((cleared.ended, &cleared.subject), (None, &None));
            let outdated = SearchPatch::new().set_status(SearchStatus::Failed);
            let refused = db.search().patch(&search.id, outdated).if_version(&search.version).await;
            assert!(matches!(refused, Err(Error::Db(keyloom::Error::VersionMismatch { .. }))));
            let active = db.search().list_by_status(&ann.id, SearchStatus::Active);
            assert_eq!(active.read().await?.items, [cleared]);
            Ok(())
        })
    });
}

#[test]
fn given_ids_are_created_and_replaced() {
    on_each_store("oncall-given", |store| {
        block_on(async {
            let db = Database::open(store).await?.tenant("acme");
            let ann = db.contact().create(NewContact::new("Ann")).await?;
            let search = db.search().create(NewSearch::new(&ann.id)).await?;
            let attempt = |position| {
                let (id, contact) = (AttemptId::new("1"), ann.id.as_str());
                let (kind, to) = (AttemptKind::Email, "ann@example.com");
                NewAttempt::new(id, &search.id, 0, contact, "Ann", "m", kind, to, position)
            };
            let created = db.attempt().replace(attempt(1)).await?;
            assert_eq!((created.id.as_str(), created.position), ("1", 1));
            assert_eq!(db.attempt().replace(attempt(2)).await?.position, 2);
            let first = db.attempt().create(attempt(3)).await;
            assert!(matches!(first, Err(Error::Db(keyloom::Error::Exists { .. }))));
            db.contact().delete(&ann.id).await?;
            assert!(db.attempt().get(&AttemptId::new("1")).await?.is_none());
            assert!(db.contact().get(&ContactId::new("1")).await?.is_none());
            assert!(db.job().get(&Id::new("1")).await?.is_none());
            Ok(())
        })
    });
}
