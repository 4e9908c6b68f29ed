"""A check in addition to those of schemathesis: a request that is valid by the schema is refused only for
reasons that a schema cannot express, such as existing data. Statuses alone would be too coarse."""

import schemathesis

# Errors that depend on stored data, on where a cursor is from, or on lengths in bytes.
DEPENDS_ON_DATA = {
    "bad-cursor", "changes-gone", "exists", "in-use", "key-reused", "not-found", "position-unknown", "taken",
    "target-gone", "too-large", "version-conflict", "version-mismatch", "wrong-state",
}
PAGING = {"limit", "cursor", "reverse", "with", "total", "prefix", "fields", "explain", "live"}


@schemathesis.check
def valid_requests_are_accepted(ctx, response, case):
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if response.status_code < 400 or response.status_code in (401, 405):
        return
    problem = response.json()
    if problem["code"] in DEPENDS_ON_DATA or depends_on_other_parts(problem["code"], case):
        return
    raise AssertionError(f"Refused although it is valid: {problem['code']}: {problem['detail']}")


def depends_on_other_parts(code, case):
    """Whether the parts of a request, each valid, may be invalid together."""
    if code == "bad-parameter":
        # `fields` of a leaderboard are those of the entities that `with` adds.
        query = case.query or {}
        # Positions are opaque, as cursors are.
        if case.path in ("/changes/page", "/verify") and "after" in query:
            return True
        # A change of all entities of a list has conditions, or `$all`.
        if case.method in ("PATCH", "DELETE") and str(query.get("$all")).lower() != "true":
            return True
        if case.path.startswith("/boards/") and "fields" in query and not query.get("with"):
            return True
        # Each list of a path has its own fields, and a field has one value or two bounds.
        fields = {name: value for name, value in (case.query or {}).items() if name not in PAGING}
        return len(fields) > 1 or any(isinstance(value, list) for value in fields.values())
    if code == "bad-document":
        # Numbers out of range where the schema has no limits: in `any`, and in a batch.
        return any(map(is_no_number, leaves(case.body)))
    if code == "bad-header":
        # The coverage phase sends an empty `If-Match` as one that matches the pattern.
        return any(value == "" for value in (case.headers or {}).values())
    if code == "invalid":
        # Several changes of one entity in a transaction; a document of another tenant; ids of more
        # than 256 bytes; empty names nested in `any`; a patch of a field without the field that
        # determines its format.
        is_foreign = isinstance(case.body, dict) and case.body.get("domain", "acme") != "acme"
        texts = leaves(case.body) + leaves(case.path_parameters)
        is_long = any(isinstance(text, str) and len(text.encode()) > 256 for text in texts)
        is_half = case.method == "PATCH" and ("kind" in case.body) != ("destination" in case.body)
        return (case.path == "/transaction" or is_foreign or is_long or is_half
                or has_empty_name(case.body))
    return False


def leaves(value):
    if isinstance(value, dict):
        return [leaf for member in value.values() for leaf in leaves(member)]
    if isinstance(value, list):
        return [leaf for element in value for leaf in leaves(element)]
    return [value]


def is_no_number(value):
    if type(value) is int:
        return abs(value) >= 10**38
    return type(value) is float and value != 0 and not 1e-130 <= abs(value) < 1e126


def has_empty_name(value):
    if isinstance(value, dict):
        return "" in value or any(map(has_empty_name, value.values()))
    return isinstance(value, list) and any(map(has_empty_name, value))


@schemathesis.hook
def before_call(ctx, case, kwargs):
    # A stream does not end.
    if str((case.query or {}).get("live")).lower() == "true":
        del case.query["live"]
