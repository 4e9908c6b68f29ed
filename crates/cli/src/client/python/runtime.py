from __future__ import annotations

import codecs
import http.client
import json
import random
import re
import secrets
import ssl
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Generic, Literal, TypedDict, TypeVar, Union

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Q = TypeVar("Q", bound=str)
P = TypeVar("P")
F = TypeVar("F", bound=str)

# In a transaction, stands for the id of an entity that an earlier change creates `as` this name.
Named = TypedDict("Named", {"$ref": str})


class EntityKeys(TypedDict):
    """What every entity has."""

    id: str
    version: str


@dataclass(frozen=True)
class Bounds(Generic[T_co]):
    """Bounds of a value."""

    lt: T_co | None = None
    lte: T_co | None = None
    gt: T_co | None = None
    gte: T_co | None = None


@dataclass(frozen=True)
class Presence:
    """Whether there is a value at all."""

    present: bool


class Cursor(str, Generic[Q]):
    """Where a page of a query begins. The cursor of one query is no cursor of another."""


@dataclass(frozen=True)
class Page(Generic[Q, T]):
    """A page of a query."""

    items: list[T]
    # None at the end.
    next: Cursor[Q] | None = None
    # None on the first page.
    previous: Cursor[Q] | None = None
    # The number of all matches, if requested.
    total: int | None = None
    # A lower bound of the total, if not everything was counted.
    total_at_least: int | None = None
    # Ranks are about to change, on boards with `shards`.
    settling: bool = False
    # The query plan, if requested.
    explain: dict[str, Any] | None = None


class ApiError(Exception):
    """The server refused a request."""

    def __init__(self, status: int, problem: dict[str, Any], retry_after: float | None) -> None:
        # What is wrong and how to fix it, for people.
        self.detail = str(problem.get("detail", f"The server answered with status {status}."))
        super().__init__(self.detail)
        self.status = status
        # Identifies the problem; `unknown` if the response was none of the server's.
        self.code: ProblemCode | Literal["unknown"] = problem.get("code", "unknown")
        # Every invalid field, with `field` and `detail`.
        self.errors: list[dict[str, str]] = problem.get("errors", [])
        self.request_id: str | None = problem.get("request_id")
        self.retry_after = retry_after


class NetworkError(Exception):
    """No response has arrived. `__cause__` is the error of the last attempt."""


def tag(key: str, *values: str) -> str:
    """A filter by a tag: any of the values, or any value if there is none."""
    return f"{_escaped(key)}:{'|'.join(map(_escaped, values)) if values else '*'}"


def without_tag(key: str, *values: str) -> str:
    """A filter by the absence of a tag."""
    return f"!{tag(key, *values)}"


def _escaped(text: str) -> str:
    return re.sub(r"[\\!:|*,]", r"\\\g<0>", text)


_Wire = Literal["text", "each", "joined", "value", "facet"]
_Given = tuple[str, _Wire, Any]


@dataclass(frozen=True)
class _Call:
    method: str
    path: str
    query: list[_Given] = field(default_factory=list)
    body: Any = None
    media_type: str | None = None
    # The idempotency key of a change; None if it takes none.
    key: str | None = None
    if_match: str | EntityKeys | Any | None = None
    if_none_match: str | None = None


def _text_of(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return _time_text(value)
    return str(value)


def _time_text(value: object) -> str:
    if not isinstance(value, datetime):
        raise TypeError(f"{type(value).__name__} cannot be sent as JSON.")
    if value.tzinfo is None:
        raise ValueError(f"{value} has no time zone.")
    return value.isoformat()


def _literal(text: str) -> str:
    """A value that could be read as an operator gets one before it."""
    return f"={text}" if text in ("", "*", "!*") or text[0] in "<>=" else text


def _written(wire: _Wire, value: object) -> list[str]:
    all_values: Sequence[object] = [value]
    if isinstance(value, Sequence) and not isinstance(value, str):
        all_values = value
    if wire == "each":
        return [_text_of(one) for one in all_values]
    if wire == "joined":
        return [",".join(_text_of(one) for one in all_values)] if all_values else []
    if wire == "text":
        return [_text_of(value)]
    if isinstance(value, Presence):
        return ["*" if value.present else "!*"]
    if isinstance(value, Bounds):
        bounds = [("<", value.lt), ("<=", value.lte), (">", value.gt), (">=", value.gte)]
        return [sign + _text_of(bound) for sign, bound in bounds if bound is not None]
    if wire == "value":
        return [_literal(_text_of(value))]
    return [_literal(",".join(re.sub(r"[\\,]", r"\\\g<0>", _text_of(one)) for one in all_values))]


def _query_text(given: list[_Given]) -> str:
    pairs = [
        f"{urllib.parse.quote(name, safe='')}={urllib.parse.quote(text, safe='')}"
        for name, wire, value in given
        if value is not None
        for text in _written(wire, value)
    ]
    return "?" + "&".join(pairs) if pairs else ""


def _segment(value: object) -> str:
    """A value as a segment of a path."""
    text = _text_of(value)
    if text in ("", ".", ".."):
        raise ValueError(f"{text!r} cannot be part of a path.")
    return urllib.parse.quote(text, safe="")


_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 10.0
# A server that wants a longer pause is given up.
_LONGEST_RETRY_AFTER = 60.0


def _pause_before(attempt: int) -> float:
    """Exponential, with full jitter: clients that failed together do not come back together."""
    return random.random() * min(_LONGEST_PAUSE, _FIRST_PAUSE * (1 << min(attempt, 20)))


def _retry_after(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(text)
        return max(0.0, (when - datetime.now(timezone.utc)).total_seconds())
    except (ValueError, TypeError):
        return None


def _new_key() -> str:
    return secrets.token_hex(16)


def _problem_of(response: http.client.HTTPResponse) -> ApiError:
    retry_after = _retry_after(response.headers.get("retry-after"))
    try:
        problem = json.loads(response.read())
    except ValueError:
        # A proxy may have answered.
        problem = None
    known = problem if isinstance(problem, dict) else {}
    return ApiError(response.status, known, retry_after)


@dataclass(frozen=True)
class ClientOptions:
    """How a client reaches a server."""

    base_url: str
    # A bearer token, or a function that returns one for each request.
    token: str | Callable[[], str] | None = None
    # Sent as `Keyloom-Tenant`.
    tenant: str | None = None
    # How long to wait for a connection or for data, in seconds.
    timeout: float = 30.0
    # How often a request is sent again after an overload or a network failure.
    retries: int = 4
    ssl_context: ssl.SSLContext | None = None


_FAILURES = (OSError, http.client.HTTPException)


class _Transport:
    """Sends requests: authentication, time limits, retries. Each thread has a connection."""

    def __init__(self, options: ClientOptions) -> None:
        self.options = options
        self._url = urllib.parse.urlsplit(options.base_url)
        if self._url.scheme not in ("http", "https") or not self._url.hostname:
            raise ValueError(f"{options.base_url!r} is not an address such as https://example.com.")
        self._local = threading.local()

    def send(self, call: _Call) -> Any:
        """Sends a request, and again if that is safe, and returns the body of the response."""
        headers = self.headers(call)
        is_repeatable = call.method in ("GET", "PUT") or call.key is not None
        for attempt in range(self.options.retries + 1):
            is_last = attempt == self.options.retries
            try:
                body = self._attempt(call, headers, is_repeatable)
                return json.loads(body) if body else None
            except ApiError as error:
                if is_last or not _can_repeat(error, is_repeatable):
                    raise
                pause = max(error.retry_after or 0.0, _pause_before(attempt))
            except _FAILURES as error:
                if is_last or not is_repeatable:
                    message = f"{call.method} {call.path} has failed: {error}"
                    raise NetworkError(message) from error
                pause = _pause_before(attempt)
            time.sleep(pause)
        raise AssertionError("The last attempt returns or raises.")

    def _attempt(self, call: _Call, headers: dict[str, str], is_repeatable: bool) -> bytes:
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        # The server may be closing a connection that was used before: a request that cannot be
        # repeated gets a new one.
        if connection is None or not is_repeatable:
            self.close()
            connection = self._local.connection = self.connect(self.options.timeout)
        try:
            response = self.request(connection, call, headers)
            if response.status >= 400:
                raise _problem_of(response)
            return response.read()
        except _FAILURES:
            self.close()
            raise

    def close(self) -> None:
        """Closes the connection of this thread."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def connect(self, timeout: float) -> http.client.HTTPConnection:
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=timeout)
        context = self.options.ssl_context or ssl.create_default_context()
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)

    def request(
        self, connection: http.client.HTTPConnection, call: _Call, headers: dict[str, str]
    ) -> http.client.HTTPResponse:
        target = self._url.path.rstrip("/") + call.path + _query_text(call.query)
        body = None
        if call.body is not None:
            body = json.dumps(call.body, default=_time_text, allow_nan=False).encode()
        connection.request(call.method, target, body=body, headers=headers)
        return connection.getresponse()

    def headers(self, call: _Call) -> dict[str, str]:
        headers = {"accept": "application/json"}
        token = self.options.token
        bearer = token() if callable(token) else token
        if bearer is not None:
            headers["authorization"] = f"Bearer {bearer}"
        if self.options.tenant is not None:
            # Headers are bytes, here written as Latin-1: a name in another script is sent as UTF-8.
            headers["keyloom-tenant"] = self.options.tenant.encode().decode("latin-1")
        if call.body is not None:
            headers["content-type"] = call.media_type or "application/json"
        if call.key is not None:
            headers["idempotency-key"] = call.key
        if call.if_match is not None:
            version = call.if_match if isinstance(call.if_match, str) else call.if_match["version"]
            headers["if-match"] = version if version == "*" else f'"{version}"'
        if call.if_none_match is not None:
            headers["if-none-match"] = call.if_none_match
        return headers


def _can_repeat(error: ApiError, is_repeatable: bool) -> bool:
    is_busy = error.status in (429, 503)
    # The request may have been applied, or be running still.
    is_unclear = error.retry_after is None or error.code in ("overdue", "unknown", "writes-refused")
    is_soon = (error.retry_after or 0.0) <= _LONGEST_RETRY_AFTER
    return is_busy and is_soon and (is_repeatable or not is_unclear)


@dataclass(frozen=True)
class LiveEvent:
    """A change of the result of a live query."""

    # `page`, `enter`, `move`, `change`, `leave`, `set`, `total`, `count` or `rank`.
    event: str
    # The position after it; begins with `~` if others of the same position follow.
    id: str
    data: dict[str, Any]


# The longest event that is received.
_LONGEST_EVENT = 64 * 1024 * 1024
# Servers send something, if only a comment, well within this time.
_SILENCE = 60.0


class _EventReader:
    """Takes server-sent events out of bytes as they arrive."""

    def __init__(self, position: str) -> None:
        # The last position of which everything was received.
        self.position = position
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._event = "message"
        self._data: list[str] = []
        self._id = ""

    def read(self, received: bytes) -> list[LiveEvent]:
        """The events that these bytes complete."""
        # A carriage return at the end may be the first half of a line end.
        lines = re.split(r"\r\n|\n|\r(?!\Z)", self._rest + self._decoder.decode(received))
        self._rest = lines.pop()
        if len(self._rest) > _LONGEST_EVENT:
            raise OSError("A live event is too long.")
        return [event for line in lines for event in self._line(line)]

    def _line(self, line: str) -> list[LiveEvent]:
        if line == "":
            return self._end()
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "event":
            self._event = value
        elif name == "data":
            self._data.append(value)
        elif name == "id":
            self._id = value
        return []

    def _end(self) -> list[LiveEvent]:
        event, data = self._event, self._data
        self._event, self._data = "message", []
        if self._id and not self._id.startswith("~"):
            self.position = self._id
        return [LiveEvent(event, self._id, json.loads("\n".join(data)))] if data else []


def _applied(body: Any, event: LiveEvent) -> Any:
    """The body of a response after an event; None if what was read is gone."""
    data = event.data
    if event.event == "page":
        return data["body"]
    if not isinstance(body, dict):
        return body
    if event.event not in ("enter", "move", "change", "leave"):
        member = data.get("member")
        if member is None:
            return body
        others = {name: value for name, value in body.items() if name != member}
        return {**others, member: data["value"]} if "value" in data else others
    items = body.get("items")
    if not isinstance(items, list):
        return None if event.event == "leave" else data.get("item", body)
    return {**body, "items": _changed_items(items, event.event, data)}


def _changed_items(items: list[Any], event: str, data: dict[str, Any]) -> list[Any]:
    changed, at = list(items), data.get("at", 0)
    if event in ("leave", "move"):
        changed.pop(data["from"] if event == "move" else at)
    if event in ("enter", "move"):
        changed.insert(at, data["item"])
    if event == "change":
        changed[at] = data["item"]
    return changed


def _groups(
    response: http.client.HTTPResponse, events: _EventReader
) -> Iterator[list[LiveEvent]]:
    """The events of a stream in groups of one position, and an empty one if there are none. A group that
    is interrupted is dropped: it is sent again."""
    group = list[LiveEvent]()
    while received := response.read1(65536):
        for event in events.read(received):
            # The response to the next request says why.
            if event.event == "error":
                return
            group.append(event)
            if not event.id.startswith("~"):
                yield group
                group = []
        if not group:
            yield group


def _live_events(
    transport: _Transport, call: _Call, *, begins_with_all: bool = True
) -> Iterator[list[LiveEvent]]:
    """Receives the events of a live query, in groups of one position, and connects again."""
    position, failures, has_begun = "", 0, False
    while True:
        failure: Exception = OSError("The server ended the stream at once.")
        connection = transport.connect(max(_SILENCE, transport.options.timeout))
        try:
            headers = {**transport.headers(call), "accept": "text/event-stream"}
            if position:
                headers["last-event-id"] = position
            response = transport.request(connection, call, headers)
            if response.status >= 400:
                raise _problem_of(response)
            # Nothing may happen for a long time.
            has_begun = has_begun or not begins_with_all
            events = _EventReader(position)
            for group in _groups(response, events):
                if group:
                    position, failures, has_begun = group[-1].id, 0, True
                    yield group
                elif events.position != position:
                    # A server that has nothing new says how far it is: less is read again.
                    position, failures = events.position, 0
        except ApiError as error:
            # A position that is gone: begin again with a page.
            is_reset = error.status == 410 and position != "" and begins_with_all
            if not is_reset and error.status < 500 and error.status not in (408, 429):
                raise
            position = "" if is_reset else position
            failure = error
        except (*_FAILURES, ValueError) as error:
            failure = error
        finally:
            connection.close()
        # A stream that has never begun is given up, one that broke is not.
        if not has_begun and failures >= transport.options.retries:
            if isinstance(failure, ApiError):
                raise failure
            raise NetworkError(f"{call.path} cannot be followed: {failure}") from failure
        time.sleep(_pause_before(failures))
        failures += 1


class ChangeKeys(TypedDict):
    """What every change has."""

    id: str
    # The tenant of the entity; None if it has none.
    tenant: Any
    change: Literal["insert", "update", "delete"]
    # The position in the feed, to go on `after`.
    position: str
    time: str


def _changes(
    transport: _Transport, entity: str | Sequence[str] | None, after: str | None
) -> Iterator[Any]:
    """Follows the change feed."""
    query: list[_Given] = [("entity", "each", entity)]
    if after is None:
        # A connection that breaks before anything was received goes on where it began.
        after = transport.send(_Call("GET", "/changes/page", query))["next"]
    call = _Call("GET", "/changes", [*query, ("after", "text", after)])
    # Changes that are not kept any more are missed, and nothing replaces them.
    for group in _live_events(transport, call, begins_with_all=False):
        for event in group:
            yield event.data


class Query(Generic[T]):
    """A query: send it with `get()`, or follow it with `live()`."""

    def __init__(self, transport: _Transport, call: _Call) -> None:
        self._transport = transport
        self._call = call

    def get(self) -> T:
        """Sends the query."""
        return self._parsed(self._transport.send(self._call))

    def live(self) -> Iterator[T]:
        """The result now, and again after each change of it. Ends if what was read is deleted."""
        body: Any = None
        for group in self.live_events():
            for event in group:
                body = _applied(body, event)
            if body is None:
                return
            yield self._parsed(body)

    def live_events(self) -> Iterator[list[LiveEvent]]:
        """The events of `live()` as the server sends them, in groups of one position."""
        query: list[_Given] = [*self._call.query, ("$live", "text", True)]
        return _live_events(self._transport, replace(self._call, query=query))

    def _parsed(self, body: Any) -> T:
        result: T = body
        return result

    def _with(self, name: str, wire: _Wire, value: object) -> _Call:
        others = [given for given in self._call.query if given[0] != name]
        return replace(self._call, query=[*others, (name, wire, value)])


class EntityQuery(Query[T], Generic[T, P, F]):
    """A query for one entity."""

    def __init__(self, transport: _Transport, call: _Call, fields: str) -> None:
        super().__init__(transport, call)
        self._fields = fields

    def only(self, *fields: F, related: Sequence[str] = ()) -> Query[P]:
        """The same query for these fields only, and such as `author.name` of related entities."""
        return Query(self._transport, self._with(self._fields, "joined", [*fields, *related]))


class PagesQuery(Query[Page[Q, T]], Generic[Q, T]):
    """A query with pages: `get()` the first one, or iterate over all items."""

    def __init__(self, transport: _Transport, call: _Call, cursor: str) -> None:
        super().__init__(transport, call)
        self._cursor = cursor

    def page(self, cursor: Cursor[Q]) -> Query[Page[Q, T]]:
        """The query for the page at a cursor: `next` or `previous` of another page."""
        call = self._with(self._cursor, "text", cursor)
        return PagesQuery[Q, T](self._transport, call, self._cursor)

    def pages(self, start: Cursor[Q] | None = None) -> Iterator[Page[Q, T]]:
        """All pages, from one on."""
        page = self.get() if start is None else self.page(start).get()
        yield page
        while page.next is not None:
            page = self.page(page.next).get()
            yield page

    def items(self, start: Cursor[Q] | None = None) -> Iterator[T]:
        """The items of all pages."""
        for page in self.pages(start):
            yield from page.items

    def __iter__(self) -> Iterator[T]:
        return self.items()

    def _parsed(self, body: Any) -> Page[Q, T]:
        def cursor(name: str) -> Cursor[Q] | None:
            return Cursor(body[name]) if name in body else None

        return Page(
            items=body["items"],
            next=cursor("next"),
            previous=cursor("previous"),
            total=body.get("total"),
            total_at_least=body.get("total_at_least"),
            settling=body.get("settling", False),
            explain=body.get("explain"),
        )


class EntityPagesQuery(PagesQuery[Q, T], Generic[Q, T, P, F]):
    """A query with pages of entities."""

    def __init__(self, transport: _Transport, call: _Call, cursor: str, fields: str) -> None:
        super().__init__(transport, call, cursor)
        self._fields = fields

    def only(self, *fields: F, related: Sequence[str] = ()) -> PagesQuery[Q, P]:
        """The same query for these fields only, and such as `author.name` of related entities."""
        call = self._with(self._fields, "joined", [*fields, *related])
        return PagesQuery(self._transport, call, self._cursor)
