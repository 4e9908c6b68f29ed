//! Programs over the models of the gallery, on both stores: transactions with entities that refer to each
//! other, idempotency, sums, windows, leaderboards of entities, sequences, and live reads.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt};
use keyloom::{Number, Store, SystemClock};
use keyloom_store::{Engine, MemoryStore, Options};
use keyloom_typed::{Error, Filter, Time};
use keyloom_typed_example::{issue_tracker, shop, social_feed};
use pollster::block_on;

/// Runs a program on the store in memory, and on an engine in a directory.
pub(crate) fn on_each_store(name: &str, program: impl Fn(Arc<dyn Store>) -> Result<(), Error>) {
    program(Arc::new(MemoryStore::new(Arc::new(SystemClock)))).unwrap();
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&directory);
    program(Arc::new(Engine::open(&directory, Options::default()).unwrap())).unwrap();
    fs::remove_dir_all(&directory).unwrap();
}

fn number(text: &str) -> Number {
    text.parse().unwrap()
}

#[test]
fn an_order_and_its_lines_are_created_together() {
    use shop::{Database, Line, NewLine, NewOrder, NewProduct, Order, ProductId};
    on_each_store("typed-shop", |store| {
        block_on(async {
            let db = Database::open(store).await?;
            for (id, price) in [("tea", "2.50"), ("pot", "19.99")] {
                let product = NewProduct::new(ProductId::new(id), id, "acme", number(price), 5);
                db.product().create(product).await?;
            }
            let lines = |order: &keyloom_typed::Reference<Order>| {
                ["tea", "pot"].map(|id| Line::create(NewLine::new(order, ProductId::new(id), 1)))
            };
            let request = || {
                let new = NewOrder::new("ann", number("22.49"));
                let (order, reference) = Order::create(new).named("order");
                db.transact((order, lines(&reference).to_vec())).idempotent("once")
            };
            let (order, lines) = request().await?;
            assert!(lines.iter().all(|line| line.order == order.id));
            // The repetition returns the same, and creates nothing.
            assert_eq!(request().await?, (order.clone(), lines.clone()));
            let found = db.order().children_lines(&order.id).with_parent().await?;
            let found = found.expect("it exists");
            assert_eq!((found.parent, found.children), (order, lines));
            let revenue = db.order().count_revenue().whole().await?;
            assert_eq!((revenue.count, revenue.total_sum), (1, number("22.49")));
            assert_eq!(revenue.total_average, Some(number("22.49")));
            let days: Vec<_> =
                db.order().count_revenue().windows("..").items().try_collect().await?;
            assert_eq!((days.len(), days[0].count, days[0].window.is_some()), (1, 1, true));
            Ok(())
        })
    });
}

#[test]
fn products_are_filtered_by_ranges_presence_and_tags() {
    use shop::{Database, NewProduct, ProductAllList as All, ProductId, ProductPatch};
    on_each_store("typed-filters", |store| {
        block_on(async {
            let db = Database::open(store).await?;
            for stock in 0..10 {
                let (id, price) = (format!("p{stock}"), Number::from(stock));
                let tags = [("parity".to_owned(), ["even", "odd"][stock as usize % 2].to_owned())];
                let product = NewProduct {
                    discount: (stock > 6).then(|| number("0.5")),
                    tags: Some(tags.into()),
                    ..NewProduct::new(ProductId::new(&id), id, "acme", price, stock)
                };
                db.product().create(product).await?;
            }
            let cheap = All::price_in(number("2")..number("9"));
            let odd_or_reduced = Filter::any([All::tag("parity", "odd"), All::discount_present()]);
            let list = db.product().list_all().filter(cheap).filter(odd_or_reduced);
            let stock: Vec<i64> =
                list.clone().items().map_ok(|one| one.stock).try_collect().await?;
            assert_eq!(stock, [3, 5, 7, 8]);
            assert_eq!(list.total().await?.count, 4);
            let none = list.filter(All::discount_present().not()).filter(All::stock_in(..=3));
            assert_eq!(none.read().await?.items[0].stock, 3);
            let patch = ProductPatch::new().add_stock(-1).add_price(number("0.01"));
            let product = db.product().patch(&ProductId::new("p5"), patch).await?;
            assert_eq!((product.stock, product.price), (4, number("5.01")));
            Ok(())
        })
    });
}

#[test]
fn issues_are_numbered_and_liked_posts_are_ranked() {
    use issue_tracker::{Database, IssueStatus, NewIssue, NewProject, ProjectId};
    on_each_store("typed-issues", |store| {
        block_on(async {
            let db = Database::open(store).await?;
            let project = NewProject::new(ProjectId::new("web"), "Web");
            let project = db.project().create(project).await?;
            for title in ["a", "b"] {
                db.issue().create(NewIssue::new(&project.id, title)).await?;
            }
            let second = db.issue().find_by_project_and_number(&project.id, 2).await?;
            let second = second.expect("it was created second");
            assert_eq!((second.title.as_str(), second.status), ("b", IssueStatus::Open));
            // What Keyloom sets stays when everything else is replaced.
            let replaced = db.issue().replace(&second.id, NewIssue::new(&project.id, "c")).await?;
            assert_eq!((replaced.title.as_str(), replaced.number), ("c", 2));
            let progress = db.issue().count_progress(&project.id);
            let progress = progress.split(issue_tracker::IssueProgressCount::by_status());
            let progress = progress.read().await?.items;
            assert_eq!((progress[0].status, progress[0].count), (Some(IssueStatus::Open), 2));
            Ok(())
        })
    });
}

#[test]
fn the_entities_of_a_leaderboard_are_read() {
    use social_feed::{Database, NewLike, NewPerson, NewPost, PersonId, PostNewestList};
    on_each_store("typed-feed", |store| {
        block_on(async {
            let db = Database::open(store).await?;
            let (ann, bob) = (PersonId::new("ann"), PersonId::new("bob"));
            for id in [&ann, &bob] {
                db.person().create(NewPerson::new(id.clone(), id.as_str())).await?;
            }
            let first = NewPost { posted: Some(Time::from_ms(1)), ..NewPost::new(&ann, "first") };
            let first = db.post().create(first).await?;
            let second = db.post().create(NewPost::new(&bob, "second")).await?;
            for (person, post) in [(&ann, &second), (&bob, &second), (&bob, &first)] {
                db.like().create(NewLike::new(person, &post.id)).await?;
            }
            let liked = db.like().board_liked();
            let top = liked.read().await?.items;
            assert_eq!((top[0].rank, &top[0].of), (1, &second.id));
            let posts = liked.entities(&top).await?;
            assert_eq!(posts, [Some(second.clone()), Some(first.clone())]);
            assert_eq!(liked.rank(&first.id).await?.map(|ranked| ranked.rank), Some(2));
            let early = PostNewestList::posted_range(..=Time::from_ms(1));
            assert_eq!(db.post().list_newest().range(early).read().await?.items, [first]);
            Ok(())
        })
    });
}

#[test]
fn live_reads_return_what_changes() {
    use social_feed::{Database, NewPerson, NewPost, PersonId};
    on_each_store("typed-live", |store| {
        block_on(async {
            let db = Database::open(store).await?;
            let ann = PersonId::new("ann");
            db.person().create(NewPerson::new(ann.clone(), "Ann")).await?;
            let posts = db.live(|db| async move {
                let page = db.post().list_newest().read().await?;
                Ok(page.items.into_iter().map(|post| post.text).collect::<Vec<String>>())
            });
            let mut posts = Box::pin(posts);
            assert_eq!(posts.next().await.expect("it does not end")?, [""; 0]);
            db.post().create(NewPost::new(&ann, "first")).await?;
            assert_eq!(posts.next().await.expect("it does not end")?, ["first"]);
            Ok(())
        })
    });
}
