"""An application through a client that openapi-python-client generated, with default options.

    api_client.py APP URL TOKEN

The package of the client is in the current folder.
"""

import importlib
import sys

# An entity of each application, and the list that has it.
CASES = {
    "tasks": ("task", {"name": "wash up", "tags": {"priority": "high"}}, "list_task_all", []),
    "comments": (
        "comment",
        {"product": "1", "language": "en", "rating": 4, "body": "fine"},
        "list_comment_by_product",
        ["1"],
    ),
    "kitchen": ("category", {"name": "pasta", "shop_order": 2}, "list_category_by_shop_order", []),
    "oncall": ("contact", {"name": "Ann"}, "list_contact_by_name", []),
}


def main():
    app, url, token = sys.argv[1:]
    entity, document, list_name, list_arguments = CASES[app]
    package = importlib.import_module(f"{app}_client")
    models = importlib.import_module(f"{app}_client.models")
    client = package.AuthenticatedClient(base_url=url, token=token)
    client = client.with_headers({"Keyloom-Tenant": "acme"})

    def call(name, *arguments, **named):
        module = importlib.import_module(f"{app}_client.api.{entity}.{name}")
        return module.sync(*arguments, client=client, **named)

    kind = getattr(models, entity.capitalize())
    new = getattr(models, f"{entity.capitalize()}Create").from_dict(document)
    made = call(f"create_{entity}", body=new)
    assert isinstance(made, kind), made
    read = call(f"read_{entity}", made.id)
    assert isinstance(read, kind) and read.to_dict() == made.to_dict(), read
    for name, value in document.items():
        assert read.to_dict()[name] == value, (name, read)
    page = call(list_name, *list_arguments)
    assert [one.id for one in page.items] == [made.id], page
    problem = call(f"read_{entity}", "nobody")
    assert problem.code == "not-found", problem


if __name__ == "__main__":
    main()
