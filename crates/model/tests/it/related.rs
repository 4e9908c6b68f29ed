//! What can be read together with an entity has a name of its own.

use keyloom_model::{Model, Related, check};

fn names(model: &Model, entity: &str) -> Vec<String> {
    let entity = model.find(entity).expect("an entity");
    model.related(entity).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn lists_and_counts_are_called_by_their_path_below_the_entity() {
    let model = check(
        r#"
        [entity.person]
        path = "/social/people"

        [entity.post]
        fields.author = "ref person cascade"
        fields.editor = "ref person cascade"
        fields.topic  = "text"
        list.of_author  = { path = "/social/people/{author}/posts", by = "author" }
        list.edited     = { path = "/social/people/{editor}/posts-edited", by = "editor" }
        list.unserved   = { by = "editor", order = "topic" }
        list.elsewhere  = { path = "/authors/{author}/posts", by = "author", order = "topic" }
        list.of_topic   = { path = "/social/people/{author}/topics", by = ["author", "topic"] }
        list.all        = { path = "/posts" }
        count.of_author = { path = "/social/people/{author}/posts/count", by = "author" }
        count.all       = { path = "/posts/count" }
        "#,
    )
    .expect("a model");
    assert_eq!(
        names(&model, "person"),
        ["posts", "posts_edited", "posts.count", "post.unserved", "post.elsewhere"]
    );
    assert_eq!(names(&model, "post"), ["author", "editor"]);
    let person = model.find("person").expect("an entity");
    let post = model.find("post").expect("an entity");
    for (_, related) in model.related(person) {
        assert_eq!(related.entity(), post);
        assert!(matches!(related, Related::List(..) | Related::Count(..)), "{related:?}");
    }
}

#[test]
fn names_that_are_taken_give_way() {
    let model = check(
        r#"
        [entity.shelf]
        path = "/shelves"
        fields.best = "ref book clear?"

        [entity.book]
        parent = "shelf"
        fields.writer = "text"
        fields.stars  = "int"
        # As the children are called, and as the reference is.
        list.books  = { path = "/shelves/{shelf}/books", by = "shelf", order = "stars" }
        list.best   = { path = "/shelves/{shelf}/best", by = "shelf", order = "-stars" }
        # The same name, with a dash and without.
        list.a      = { path = "/shelves/{shelf}/by-writer", by = "shelf", order = "writer" }
        list.b      = { path = "/shelves/{shelf}/by_writer", by = "shelf", order = "-writer" }
        # A step after a reference, which comes first.
        count.shelf = { path = "/shelves/{shelf}/best/shelf", by = "shelf" }
        # A step after a list.
        count.books = { path = "/shelves/{shelf}/by-writer/shelf", by = "shelf" }
        "#,
    )
    .expect("a model");
    assert_eq!(
        names(&model, "shelf"),
        [
            "best",
            "books",
            "by_writer",
            "by_writer.shelf",
            "book.books",
            "book.best",
            "book.b",
            "book.shelf",
        ]
    );
}

/// A caller without a tenant can read what is shared, but nothing of a tenant.
#[test]
fn what_tenants_have_is_not_related_to_what_is_shared() {
    let model = check(
        r#"
        [entity.product]

        [entity.customer]
        tenant = "company"
        fields.company = "text"

        [entity.order]
        tenant = "company"
        fields.company  = "text"
        fields.product  = "ref product refuse"
        fields.customer = "ref customer cascade"
        list.of_product   = { path = "/products/{product}/orders", by = "product" }
        count.of_customer = { path = "/customers/{customer}/orders/count", by = "customer" }
        "#,
    )
    .expect("a model");
    assert_eq!(names(&model, "product"), [] as [&str; 0]);
    assert_eq!(names(&model, "customer"), ["orders.count"]);
}
