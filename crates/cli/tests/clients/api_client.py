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
    assert isinstance(problem, models.Problem) and problem.code == "not-found", problem
    if app == "kitchen":
        with_category(models, client, made)
    else:
        delete(call, entity, made)


def delete(call, entity, made):
    """Deletes an entity: it cannot be read any more."""
    assert call(f"delete_{entity}", made.id) is None
    problem = call(f"read_{entity}", made.id)
    assert problem.code == "not-found", problem


def with_category(models, client, category):
    """An ingredient is read together with its category, and both are deleted."""

    def call(entity, name, *arguments, **named):
        module = importlib.import_module(f"kitchen_client.api.{entity}.{name}_{entity}")
        return module.sync(*arguments, client=client, **named)

    new = models.IngredientCreate(name="noodles", category=category.id)
    made = call("ingredient", "create", body=new)
    read = call("ingredient", "read", made.id, with_="category")
    related = read.with_.category
    assert isinstance(related, models.Category) and related.name == category.name, read
    problem = call("category", "delete", category.id)
    assert problem.code == "in-use", problem
    for entity, one in [("ingredient", made), ("category", category)]:
        delete(lambda name, *rest: call(entity, name.removesuffix(f"_{entity}"), *rest), entity, one)


if __name__ == "__main__":
    main()
