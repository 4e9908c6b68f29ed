//! Comments on PostgreSQL: a hand-written service with the same checks, versions and keyset pages as
//! the model. Usage: `comments-on-postgres PORT POSTGRES_URL`.

use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use sqlx::postgres::{PgPool, PgPoolOptions};
use uuid::Uuid;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// As many connections as clients.
const CONNECTIONS: u32 = 16;
const LIMIT: i64 = 20;

const TABLE: &str = "
CREATE TABLE IF NOT EXISTS comments (
    id uuid PRIMARY KEY,
    version bigint NOT NULL DEFAULT 1,
    product text NOT NULL CHECK (length(product) BETWEEN 1 AND 100),
    rating bigint NOT NULL CHECK (rating BETWEEN 1 AND 5),
    created bigint NOT NULL,
    body text NOT NULL
)";
const INDEX: &str = "CREATE INDEX IF NOT EXISTS comments_by_product
    ON comments (product, created DESC, id DESC)";

#[derive(Deserialize)]
struct NewComment {
    product: String,
    rating: i64,
    body: String,
}

#[derive(Serialize, sqlx::FromRow)]
struct Comment {
    id: Uuid,
    version: i64,
    product: String,
    rating: i64,
    created: i64,
    body: String,
}

#[derive(Serialize)]
struct Page {
    items: Vec<Comment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Deserialize)]
struct After {
    cursor: Option<String>,
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let port: u16 = arguments.next().expect("a port").parse().expect("a number");
    let url = arguments.next().expect("the address of a database");
    let pool = PgPoolOptions::new().max_connections(CONNECTIONS).min_connections(CONNECTIONS);
    let pool = pool.connect(&url).await.expect("a database");
    sqlx::query(TABLE).execute(&pool).await.expect("a table");
    sqlx::query(INDEX).execute(&pool).await.expect("an index");
    let app = Router::new()
        .route("/comments", post(create))
        .route("/comments/{id}", get(read))
        .route("/products/{product}/comments", get(list))
        .with_state(pool);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.expect("a free port");
    axum::serve(listener, app).await.expect("it serves");
}

async fn create(State(pool): State<PgPool>, Json(new): Json<NewComment>) -> Response {
    let id = Uuid::now_v7();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let created = now.map(|now| now.as_millis() as i64).unwrap_or_default();
    let made = sqlx::query_as::<_, Comment>(
        "INSERT INTO comments (id, product, rating, created, body) VALUES ($1, $2, $3, $4, $5)
         RETURNING id, version, product, rating, created, body",
    )
    .bind(id)
    .bind(new.product)
    .bind(new.rating)
    .bind(created)
    .bind(new.body);
    match made.fetch_one(&pool).await {
        Ok(comment) => {
            let headers = [
                (header::LOCATION, format!("/comments/{id}")),
                (header::ETAG, format!("\"{}\"", comment.version)),
            ];
            (StatusCode::CREATED, headers, Json(comment)).into_response()
        }
        Err(error) => refuse(&error),
    }
}

async fn read(State(pool): State<PgPool>, Path(id): Path<Uuid>) -> Response {
    let found = sqlx::query_as::<_, Comment>(
        "SELECT id, version, product, rating, created, body FROM comments WHERE id = $1",
    )
    .bind(id);
    match found.fetch_optional(&pool).await {
        Ok(Some(comment)) => {
            let tag = [(header::ETAG, format!("\"{}\"", comment.version))];
            (tag, Json(comment)).into_response()
        }
        Ok(None) => StatusCode::NOT_FOUND.into_response(),
        Err(error) => refuse(&error),
    }
}

async fn list(
    State(pool): State<PgPool>,
    Path(product): Path<String>,
    Query(after): Query<After>,
) -> Response {
    let after = after.cursor.as_deref().and_then(|cursor| cursor.split_once('.'));
    let position = after.and_then(|(created, id)| Some((created.parse().ok()?, id.parse().ok()?)));
    let (created, id): (i64, Uuid) = position.unwrap_or((i64::MAX, Uuid::max()));
    let page = sqlx::query_as::<_, Comment>(
        "SELECT id, version, product, rating, created, body FROM comments
         WHERE product = $1 AND (created, id) < ($2, $3)
         ORDER BY created DESC, id DESC LIMIT $4",
    )
    .bind(product)
    .bind(created)
    .bind(id)
    .bind(LIMIT + 1);
    match page.fetch_all(&pool).await {
        Ok(mut items) => {
            let has_more = items.len() > LIMIT as usize;
            items.truncate(LIMIT as usize);
            let last = items.last().filter(|_| has_more);
            let next = last.map(|last| format!("{}.{}", last.created, last.id));
            Json(Page { items, next }).into_response()
        }
        Err(error) => refuse(&error),
    }
}

fn refuse(error: &sqlx::Error) -> Response {
    let status = match error.as_database_error() {
        Some(error) if error.is_check_violation() => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, error.to_string()).into_response()
}
