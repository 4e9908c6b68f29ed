"""Uses generated clients as programs do: every kind of method against real servers, and what needs a
server that misbehaves or sends live events against one in this file.

python generated_suite.py TASKS_URL COMMENTS_URL KITCHEN_URL
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import comments.client as comments
import kitchen.client as kitchen
import tasks.client as tasks

ApiError = tasks.ApiError | comments.ApiError | kitchen.ApiError


def refused(run: Callable[[], object]) -> ApiError:
    """The error of a call, which must be one of the API."""
    try:
        run()
    except (tasks.ApiError, comments.ApiError, kitchen.ApiError) as error:
        return error
    raise AssertionError("The request was accepted.")


def changes_of_one(client: tasks.Client) -> None:
    created = client.task.create({"name": "wash up", "tags": {"room": "kitchen"}})
    assert client.task.read(created["id"]).get() == created
    updated = client.task.update(created["id"], {"done": True}, if_match=created)
    assert updated["done"] and updated["version"] != created["version"]
    conflict = refused(lambda: client.task.update(created["id"], {"done": False}, if_match=created))
    assert (conflict.status, conflict.code) == (412, "version-mismatch")
    replaced = client.task.replace(created["id"], {"name": "dry"}, if_match=updated["version"])
    assert (replaced["name"], replaced["done"], replaced["tags"]) == ("dry", False, {})
    part = client.task.read(created["id"]).only("name").get()
    assert set(part) == {"id", "name", "version"}
    client.task.delete(created["id"])
    missing = refused(client.task.read(created["id"]).get)
    assert (missing.status, missing.code) == (404, "not-found")
    invalid = refused(lambda: client.task.create({"description": "x"}))  # type: ignore[typeddict-item]
    assert invalid.code == "invalid" and invalid.errors[0]["field"] == "name"


def idempotency(client: tasks.Client) -> None:
    first = client.task.create({"name": "once"}, idempotency_key="the-same")
    second = client.task.create({"name": "once"}, idempotency_key="the-same")
    assert first["id"] == second["id"]
    client.task.delete(first["id"])


def pages(client: tasks.Client) -> None:
    for n in range(7):
        tags = {"n": str(n), "all": "a:b"}
        client.task.create({"name": f"task {n}", "done": n % 2 == 0, "tags": tags})
    query = client.task.list_all(limit=3, total=True)
    assert [task["name"] for task in query] == [f"task {n}" for n in range(7)]
    first = query.get()
    assert first.total == 7
    following = first.next
    assert following is not None and first.previous is None
    second = query.page(following).get()
    assert second.items[0]["name"] == "task 3"
    assert second.previous is not None
    assert query.page(second.previous).get().items == first.items
    assert len(list(query.items(following))) == 4
    others = client.task.list_open(limit=3)
    mixed = refused(others.page(following).get)  # type: ignore[arg-type]
    assert mixed.code == "bad-cursor"
    assert len(list(client.task.list_all(limit=2).pages())) == 4
    reversed_page = client.task.list_all(reverse=True, limit=1).only("name").get()
    assert reversed_page.items[0].get("name") == "task 6"


def tags_of(client: tasks.Client) -> None:
    found = client.task.list_all(tag=[tasks.tag("n", "1", "2"), tasks.tag("all", "a:b")]).get()
    assert [task["name"] for task in found.items] == ["task 1", "task 2"]
    others = client.task.list_open(tag=tasks.without_tag("n", "1")).get()
    assert [task["name"] for task in others.items] == ["task 3", "task 5"]
    assert client.task.tags_all().get().items == [{"key": "all", "count": 7}, {"key": "n", "count": 7}]
    values = client.task.tags_of_key_all(key="n", prefix="3").get()
    assert values.items == [{"value": "3", "count": 1}]


def together(client: tasks.Client) -> None:
    other = client.task.create({"name": "other"})
    results = client.transaction(
        {
            "changes": [
                {"create": "task", "document": {"name": "both"}},
                {"update": "task", "id": other["id"], "document": {"done": True}},
            ]
        }
    )["results"]
    assert [result and result["done"] for result in results] == [False, True]
    batch = client.batch({"requests": [{"get": "task", "id": other["id"]}, {"get": "task", "id": "no"}]})
    assert [result["status"] for result in batch["results"]] == [200, 404]
    assert batch["results"][1].get("problem", {}).get("code") == "not-found"


def bulk(client: tasks.Client) -> None:
    assert refused(lambda: client.task.update_all_all({"done": True})).status == 400
    operation = client.task.update_all_open({"description": "late"}, all=True)
    while operation["state"] in ("collecting", "running"):
        operation = client.read_operation(operation["id"]).get()
    assert (operation["state"], operation["failed"]) == ("done", 0)
    open_tasks = client.task.list_open().get().items
    assert open_tasks and all(task["description"] == "late" for task in open_tasks)
    assert any(other["id"] == operation["id"] for other in client.list_operations(limit=1))
    operation = client.task.delete_all_all(tag=tasks.tag("n", "6"))
    while operation["state"] in ("collecting", "running"):
        operation = client.read_operation(operation["id"]).get()
    assert operation["changed"] == 1


def counts_and_boards(client: comments.Client) -> None:
    times = [datetime(2024, month, 1, tzinfo=timezone.utc) for month in (1, 2, 3)]
    languages = ["en", "fr", "<e,n>"]
    product = "a/b"
    for language, created in zip(languages, times):
        comment: comments.CommentCreate = {
            "product": product, "language": language, "rating": 5, "body": {}, "created": created,
        }
        client.comment.create(comment)
    client.comment.create({"product": "c", "language": "en", "rating": 5, "body": 1})
    by_product = client.comment.list_by_product
    assert len(by_product(product=product, language="<e,n>").get().items) == 1
    assert len(by_product(product=product, language=["<e,n>", "fr"]).get().items) == 2
    late = comments.Bounds(gte=times[1])
    assert len(by_product(product=product, rating=[1, 5], created=late).get().items) == 2
    between = comments.Bounds(gt="2024-01-01T00:00:00Z", lt="2024-03-01T00:00:00Z")
    assert len(by_product(product=product, created=between).get().items) == 1
    wrong = by_product(product=product, rating="five")  # type: ignore[arg-type]
    assert refused(wrong.get).code == "bad-parameter"
    assert client.comment.count_by_product(product=product).get()["count"] == 3
    assert client.comment.count_by_product(product=product, language="<e,n>").get()["count"] == 1
    each = client.comment.counts_by_product(product=product, split=["language"], limit=2)
    assert sorted(one["values"].get("language", "") for one in each) == sorted(languages)
    facets = client.comment.facets_by_product(product=product).get()["facets"]
    assert facets.get("rating", {}).get("items") == [{"value": 5, "count": 3}]
    assert len(client.comment.facet_by_product(product=product, facet="language").get().items) == 3
    board = client.comment.board_leaders(limit=5).get()
    ranked = [(one["of"], one["rank"], one["score"]) for one in board.items]
    assert ranked == [("a/b", 1, 3), ("c", 2, 1)]
    assert client.comment.rank_leaders(of="c").get()["rank"] == 2
    around = client.comment.board_leaders(around="c", limit=1).get()
    assert [one["of"] for one in around.items] == ["a/b", "c"]


def relations(client: kitchen.Client) -> None:
    category = client.category.create({"name": "pasta", "shop_order": 1})
    ingredient = client.ingredient.create({"category": category["id"], "name": "spaghetti"})
    assert client.category.list_by_shop_order(name="pasta").get().items[0]["id"] == category["id"]
    children = client.category.children_ingredients(category["id"]).get()
    assert [one["name"] for one in children.items] == ["spaghetti"]
    listed = client.ingredient.list_by_category(category=category["id"], with_=["category"]).get()
    shelf: str = listed.items[0]["with"]["category"]["name"]
    assert listed.items[0]["with"]["category"] == category and shelf == category["name"]
    query = client.category.read(category["id"], with_=["ingredients"], explain=True)
    whole = query.get()
    first: str = whole["with"]["ingredients"]["items"][0]["name"]
    assert first == listed.items[0]["name"] and whole["explain"]["dynamodb"]["read_units"] > 0
    few = client.category.read(category["id"], with_=["ingredients"], limit=1).get()
    assert len(few["with"]["ingredients"]["items"]) == 1
    part = query.only("name", related=["ingredients.name"]).get()
    assert part["with"]["ingredients"]["items"][0]["name"] == first
    taken = refused(lambda: client.category.create({"name": "pasta", "shop_order": 2}))
    assert taken.code == "taken"
    assert refused(lambda: client.category.delete(category["id"])).code == "in-use"
    recipe = client.recipe.create({"name": "carbonara"})
    assert client.recipe.update(recipe["id"], {"servings": {"$add": 2}})["servings"] == 6
    client.recipe_ingredient.create(
        {"recipe": recipe["id"], "ingredient": ingredient["id"], "amount": 0.5}
    )
    results = client.transaction(
        {
            "changes": [
                {"create": "category", "as": "fruit", "document": {"name": "fruit", "shop_order": 2}},
                {"create": "ingredient", "document": {"name": "lemon", "category": {"$ref": "fruit"}}},
            ]
        }
    )["results"]
    assert results[0] is not None
    lemons = client.ingredient.list_by_category(category=results[0]["id"])
    assert [one["name"] for one in lemons] == ["lemon"]


# Texts that mean something in paths, queries or filters.
TEXTS = [
    "==", "!*", "<a", ">=1", "*a", "\\,", "a\\b", "a,b", "a|b:c", "!a", "ü😀", "a&b=c", "+%2F%", "a/../b",
    "a b",
]


def escaping(client: comments.Client, others: tasks.Client, cook: kitchen.Client) -> None:
    for n, text in enumerate(TEXTS):
        created = client.comment.create(
            {"product": text, "language": text, "rating": 1, "body": n}
        )
        by_product = client.comment.list_by_product
        assert by_product(product=text, language=text).get().items == [created], text
        assert by_product(product=text, language=[text, "en"]).get().items == [created], text
        count = client.comment.count_by_product(product=text, language=text).get()
        assert count["count"] == 1, text
        task = others.task.create({"name": text, "tags": {text: text}})
        assert others.task.list_all(tag=tasks.tag(text, text, "x")).get().items == [task], text
        values = others.task.tags_of_key_all(key=text).get().items
        assert values == [{"value": text, "count": 1}], text
        category = cook.category.create({"name": text, "shop_order": 9})
        assert cook.category.list_by_shop_order(name=text).get().items == [category], text
    try:
        others.task.read("..")
        raise AssertionError("The id was accepted.")
    except ValueError:
        pass


# Answers the nth request.
Handler = Callable[[BaseHTTPRequestHandler, int], None]


@contextmanager
def server(handler: Handler) -> Iterator[str]:
    """A server that answers requests by a handler."""
    count = 0

    class Requests(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            nonlocal count
            self.rfile.read(int(self.headers.get("content-length", 0)))
            count += 1
            handler(self, count)

        do_GET = do_POST = answer

        def log_message(self, format: str, *args: Any) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Requests)
    running.daemon_threads = True
    threading.Thread(target=running.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{running.server_address[1]}"
    finally:
        running.shutdown()
        running.server_close()


def reply(request: BaseHTTPRequestHandler, status: int, body: object, **headers: str) -> None:
    content = json.dumps(body).encode()
    request.send_response(status)
    request.send_header("content-length", str(len(content)))
    for name, value in headers.items():
        request.send_header(name.replace("_", "-"), value)
    request.end_headers()
    request.wfile.write(content)


def drop(request: BaseHTTPRequestHandler) -> None:
    request.close_connection = True


BUSY = {"code": "busy", "status": 503, "detail": "Busy."}


def task(id: str, name: str) -> dict[str, Any]:
    return {"id": id, "name": name, "version": "1", "done": False, "description": "", "tags": {}}


def retries() -> None:
    keys: list[str | None] = []

    def twice(request: BaseHTTPRequestHandler, count: int) -> None:
        keys.append(request.headers.get("idempotency-key"))
        # Headers are read as Latin-1.
        tenant = request.headers.get("keyloom-tenant", "").encode("latin-1").decode()
        assert tenant == "東京"
        assert request.headers.get("authorization") == "Bearer secret"
        if count == 1:
            reply(request, 429, BUSY, retry_after="1")
        elif count == 2:
            drop(request)
        else:
            reply(request, 201, task("a", "x"))

    with server(twice) as url:
        client = tasks.Client(url, tenant="東京", token=lambda: "secret")
        start = time.monotonic()
        assert client.task.create({"name": "x"})["id"] == "a"
        assert time.monotonic() - start > 0.95
    assert len(keys) == 3 and keys[0] is not None and len(set(keys)) == 1, keys
    counts: list[int] = []

    def busy(request: BaseHTTPRequestHandler, count: int) -> None:
        counts.append(count)
        reply(request, 503, BUSY)

    with server(busy) as url:
        assert refused(tasks.Client(url, retries=2).task.list_all().get).code == "busy"
        assert len(counts) == 3
        # Without a time to wait, it may have been applied.
        assert refused(lambda: tasks.Client(url).batch({"requests": []})).code == "busy"
        assert len(counts) == 4
    # A batch without an answer may have been applied: it is not sent again.
    counts.clear()

    def dropped(request: BaseHTTPRequestHandler, count: int) -> None:
        counts.append(count)
        drop(request)

    with server(dropped) as url:
        try:
            tasks.Client(url).batch({"requests": []})
            raise AssertionError("There was no answer.")
        except tasks.NetworkError:
            assert len(counts) == 1
    silence = threading.Event()

    def silent(request: BaseHTTPRequestHandler, count: int) -> None:
        silence.wait(10)
        drop(request)

    with server(silent) as url:
        try:
            tasks.Client(url, timeout=0.1, retries=1).task.read("a").get()
            raise AssertionError("There was no answer.")
        except tasks.NetworkError as error:
            assert isinstance(error.__cause__, TimeoutError)
        finally:
            silence.set()


def event(position: int | str, name: str, **data: object) -> bytes:
    text = json.dumps({"commit": str(position), **data}, ensure_ascii=False)
    return f"id: {position}\r\nevent: {name}\r\ndata: {text}\r\n\r\n".encode()


def stream(request: BaseHTTPRequestHandler, content: bytes, size: int) -> None:
    request.send_response(200)
    request.send_header("content-type", "text/event-stream")
    request.send_header("connection", "close")
    request.end_headers()
    # In pieces: characters, lines and events do not arrive whole.
    try:
        for start in range(0, len(content), size):
            request.wfile.write(content[start : start + size])
            request.wfile.flush()
    except OSError:
        # The client has seen enough.
        pass


def live() -> None:
    first = event(1, "page", body={"items": [task("a", "1"), task("b", "1")], "total": 2})
    second = (
        event(2, "enter", at=0, item=task("c", "ü"))
        + event("~3", "move", **{"from": 1}, at=2, item=task("a", "2"))
        + event(3, "change", at=1, item=task("b", "2"))
        + event(5, "leave", at=0, id="c")
        + event(6, "total", member="total", value=3)
        + event(7, "set", member="next")
    )
    positions: list[str | None] = []

    def sends(request: BaseHTTPRequestHandler, count: int) -> None:
        assert request.path == "/tasks?limit=2&%24live=true", request.path
        positions.append(request.headers.get("last-event-id"))
        if count == 2:
            reply(request, 503, BUSY)
        else:
            stream(request, first + b": keep-alive\n\n" if count == 1 else second, 1)

    with server(sends) as url:
        states = []
        for page in tasks.Client(url).task.list_all(limit=2).live():
            states.append(" ".join(one["id"] + one["name"] for one in page.items))
            if page.total == 3:
                break
    assert (states[0], states[-1]) == ("a1 b1", "b2 a2"), states
    assert set(states) <= {"a1 b1", "cü a1 b1", "cü b2 a2", "b2 a2"}, states
    assert positions == [None, "1", "1"], positions

    def gone(request: BaseHTTPRequestHandler, count: int) -> None:
        if count == 2:
            assert request.headers.get("last-event-id") == "9"
            return reply(request, 410, {})
        assert request.headers.get("last-event-id") is None
        name = "1" if count == 1 else "2"
        body = event(9 if count == 1 else 20, "page", body=task("a", name))
        stream(request, body if count == 1 else body + event(21, "leave", at=0, id="a"), 65536)

    with server(gone) as url:
        names = [state["name"] for state in tasks.Client(url).task.read("a").live()]
        assert names == ["1", "2"], names
    with server(lambda request, count: stream(request, b"", 1)) as url:
        try:
            list(tasks.Client(url, retries=1).task.list_all().live())
            raise AssertionError("There were no events.")
        except tasks.NetworkError:
            pass
    with server(lambda request, count: reply(request, 403, {})) as url:
        assert refused(lambda: list(tasks.Client(url).task.list_all().live())).status == 403


def followed(client: tasks.Client) -> None:
    """Follows a list of a real server."""
    query = client.task.list_all(tag=tasks.tag("followed", "yes"), total=True, limit=2)
    states: list[str] = []
    made: list[str] = []

    def add(name: str) -> None:
        made.append(client.task.create({"name": name, "tags": {"followed": "yes"}})["id"])

    for page in query.live():
        states.append(" ".join(one["name"] for one in page.items) + f" {page.total}")
        assert page.items == query.get().items
        if len(states) == 1:
            add("first")
        elif len(states) == 2:
            add("second")
        elif len(states) == 3:
            client.task.update(made[0], {"name": "changed"})
        elif len(states) == 4:
            client.task.delete(made[1])
        else:
            break
    assert states[0] == " 0" and states[1] == "first 1" and states[4] == "changed 1", states
    one = client.task.read(made[0]).live()
    assert next(one)["name"] == "changed"
    client.task.delete(made[0])
    assert next(one, None) is None


def followed_page(client: tasks.Client) -> None:
    """Follows a page that is not the first."""

    def add(name: str) -> None:
        client.task.create({"name": name, "tags": {"paged": "yes"}})

    for name in ("first", "second", "third"):
        add(name)
    query = client.task.list_all(tag=tasks.tag("paged", "yes"), limit=2)
    following = query.get().next
    assert following is not None
    states: list[str] = []
    for page in query.page(following).live():
        states.append(" ".join(one["name"] for one in page.items))
        assert page == query.page(following).get()
        if len(states) == 2:
            break
        add("fourth")
    assert states == ["third", "third fourth"], states
    for one in list(query):
        client.task.delete(one["id"])


def changes(client: tasks.Client) -> None:
    """Follows the changes of a real server."""
    position = client.send("GET", "/changes/page", query={"entity": ["task"]})["next"]
    made = client.task.create({"name": "made"})["id"]
    client.task.update(made, {"name": "renamed"})
    client.task.delete(made)
    seen: list[tuple[str, str | None, str | None]] = []
    positions: list[str] = []
    for change in client.changes(entity="task", after=position):
        assert (change["entity"], change["id"]) == ("task", made)
        old, new = change["old"], change["new"]
        seen.append((change["change"], old and old["name"], new and new["name"]))
        positions.append(change["position"])
        if change["change"] == "delete":
            break
    insert, update = ("insert", None, "made"), ("update", "made", "renamed")
    assert seen == [insert, update, ("delete", "renamed", None)], seen
    assert next(client.changes(entity=["task"], after=positions[1]))["change"] == "delete"
    unknown = client.changes(entity="job")  # type: ignore[arg-type]
    assert refused(lambda: next(unknown)).code == "bad-parameter"


def interrupted_changes() -> None:
    """Connections that break before something has happened, and changes that are not kept any more."""
    requests: list[tuple[str, str | None]] = []
    one = {"entity": "task", "id": "a", "change": "insert", "old": None, "new": task("a", "1")}
    streams = {
        2: b"retry: 1000\n\n",
        3: b"id: 7\n: nothing new\n\nid: 9\nevent: task.insert\n",
        4: f"id: 8\nevent: task.insert\ndata: {json.dumps(one)}\n\n".encode(),
    }

    def sends(request: BaseHTTPRequestHandler, count: int) -> None:
        requests.append((request.path, request.headers.get("last-event-id")))
        if count == 1:
            reply(request, 200, {"items": [], "next": "5", "more": False})
        elif count in streams:
            stream(request, streams[count], 65536)
        else:
            reply(request, 410, {"code": "changes-gone", "status": 410, "detail": "Gone."})

    with server(sends) as url:
        feed = tasks.Client(url, retries=0).changes(entity="task")
        new = next(feed)["new"]
        assert new is not None and new["name"] == "1"
        assert refused(lambda: next(feed)).code == "changes-gone"
    path = "/changes?entity=task&after=5"
    expected = [("/changes/page?entity=task", None), (path, None), (path, None), (path, "7"), (path, "8")]
    assert requests == expected, requests


def others(client: tasks.Client) -> None:
    """Requests that no method covers."""
    assert client.send("GET", "/openapi.json")["openapi"] == "3.1.0"
    assert refused(lambda: client.send("POST", "/none", body={})).code == "not-found"
    seen: list[tuple[str | None, ...]] = []

    def echoes(request: BaseHTTPRequestHandler, count: int) -> None:
        names = ("authorization", "content-type", "idempotency-key")
        headers = [request.headers.get(name) for name in names]
        seen.append((request.command, request.path, *headers))
        if count < 3:
            drop(request)
        else:
            reply(request, 200, {"done": True})

    with server(echoes) as url:
        own = tasks.Client(url, token="secret")
        query = {"a": [1, "b c"], "left": None}
        try:
            own.send("POST", "/own/task", query=query, body={"n": 1})
            raise AssertionError("There was no answer.")
        except tasks.NetworkError:
            pass
        done = own.send("POST", "/own/task", query=query, body={"n": 1}, idempotency_key="k")
        assert done == {"done": True}
    request = ("POST", "/own/task?a=1&a=b%20c", "Bearer secret", "application/json")
    # Without a key it may have been applied.
    assert seen == [(*request, None), (*request, "k"), (*request, "k")], seen


def main() -> None:
    tasks_url, comments_url, kitchen_url = sys.argv[1:]
    client = tasks.Client(tasks_url)
    changes_of_one(client)
    idempotency(client)
    pages(client)
    tags_of(client)
    together(client)
    bulk(client)
    counts_and_boards(comments.Client(comments_url))
    cook = kitchen.Client(f"{kitchen_url}/")
    relations(cook)
    escaping(comments.Client(comments_url), client, cook)
    retries()
    live()
    followed(client)
    followed_page(client)
    changes(client)
    interrupted_changes()
    others(client)


if __name__ == "__main__":
    main()
