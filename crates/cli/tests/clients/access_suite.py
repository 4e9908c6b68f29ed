"""Users with tokens of their own and of PyJWT, as docs/access.md says. Runs in the folder of its files."""

import base64
import json
import sys
import time
import urllib.error
import urllib.request

import jwt
from tokens import token

URL = sys.argv[1]
KEY = json.load(open("keys.json"))["keys"][0]


def ask(method, path, bearer=None, body=None):
    headers = {"Content-Type": "application/json"}
    if bearer is not None:
        headers["Authorization"] = f"Bearer {bearer}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, method=method, headers=headers, data=data)
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, json.loads(response.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def by_pyjwt(**claims):
    secret = base64.urlsafe_b64decode(KEY["k"] + "=")
    claims = {"iss": "my-sign-in", "aud": "notes", "exp": int(time.time()) + 60, **claims}
    return jwt.encode(claims, secret, algorithm="HS256", headers={"kid": KEY["kid"]})


ann, bob = token("ann"), token("bob")
status, note = ask("POST", "/notes", ann, {"text": "Buy milk"})
assert (status, note["author"]) == (201, "ann"), note
status, page = ask("GET", "/notes", ann)
assert [one["id"] for one in page["items"]] == [note["id"]], page
assert ask("GET", "/notes", bob)[1]["items"] == []
assert ask("GET", f"/notes/{note['id']}", bob)[0] == 404
assert ask("PATCH", f"/notes/{note['id']}", bob, {"text": "mine"})[0] == 404
assert ask("POST", "/notes", bob, {"text": "x", "author": "ann"})[0] == 403
moderator = token("mod", ["moderator"])
assert ask("GET", f"/notes/{note['id']}", moderator)[0] == 200
assert ask("PATCH", f"/notes/{note['id']}", moderator, {"text": "x"})[0] == 403
assert ask("GET", "/notes?author=ann", moderator)[1]["items"] != []
assert ask("GET", "/notes")[0] == 401

assert ask("GET", "/notes", by_pyjwt(sub="ann"))[1]["items"] != []
for wrong in ({"exp": int(time.time()) - 120}, {"aud": "other"}, {"iss": "other"}, {"nbf": int(time.time()) + 120}):
    assert ask("GET", "/notes", by_pyjwt(sub="ann", **wrong))[0] == 401, wrong
assert ask("DELETE", f"/notes/{note['id']}", moderator)[0] == 204
