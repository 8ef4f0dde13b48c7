from __future__ import annotations

import pytest

from ingest.errors import NotFound
from ingest.words.type_names import KnownTypes, TypeFound, guess_type, hint

TYPES = {
    "shop.OrderService": 0,
    "shop.OrderService$RequestContext": 4500,
    "shop.Order": 3,
    "shop.Cache": 1,
    "shop.Cache$Entry": 7,
    "web.Cache": 2,
    "Game.Level": 0,
    "Game.Level+Tile": 5,
    "Game.Level+Wall": 5,
    "Game.Empty": 0,
    "System.Collections.Generic.List`1[[Game.Tile]]": 2,
    "dart:core::_Closure": 1,
}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("shop.OrderService$RequestContext", "shop.OrderService$RequestContext"),
        ("RequestContext", "shop.OrderService$RequestContext"),
        ("requestcontext", "shop.OrderService$RequestContext"),
        ("OrderService.RequestContext", "shop.OrderService$RequestContext"),
        ("OrderService$requestContext", "shop.OrderService$RequestContext"),
        ("shop.OrderService.RequestContext", "shop.OrderService$RequestContext"),
        ("order", "shop.Order"),
        ("Level.Tile", "Game.Level+Tile"),
        ("List`1[[Tile]]", "System.Collections.Generic.List`1[[Game.Tile]]"),
        ("_Closure", "dart:core::_Closure"),
        ("shop.Cache", "shop.Cache"),
    ],
)
def test_a_name_that_is_unique_will_do(text: str, name: str) -> None:
    assert KnownTypes(TYPES).find(text) == TypeFound(name)


def test_a_type_without_instances_is_said_to_have_none() -> None:
    said = "Game.Empty has no instances in this dump"
    assert KnownTypes(TYPES).find("Empty") == TypeFound("Game.Empty", said)


def test_what_the_shell_took_away_is_found() -> None:
    found = KnownTypes(TYPES).find("shop.OrderService")

    assert found == TypeFound(
        "shop.OrderService$RequestContext",
        "showing shop.OrderService$RequestContext: shop.OrderService has no instances",
    )
    with pytest.raises(NotFound, match=r"inner types have: .*Tile or .*Wall \(in quo"):
        KnownTypes(TYPES).find("Game.Level")


def test_several_types_are_named_so_that_they_can_be_pasted() -> None:
    with pytest.raises(NotFound, match=r"called 'Cache': shop.Cache or web.Cache"):
        KnownTypes(TYPES).find("Cache")
    assert guess_type("cach", TYPES) is None
    assert hint("RequstCntxt", TYPES) == (
        "; did you mean 'shop.OrderService$RequestContext'"
    )


@pytest.mark.parametrize(
    "text",
    ["RequestC", "shop.OrderService$RequestContxt", "RequestContxt", "requestcontexts"],
)
def test_the_only_type_that_is_like_a_name_is_shown(text: str) -> None:
    name = "shop.OrderService$RequestContext"

    assert KnownTypes(TYPES).find(text) is None
    assert guess_type(text, TYPES) == TypeFound(
        name, f"no type is named {text}; showing {name}"
    )


def test_a_name_that_is_only_a_little_similar_is_not_taken() -> None:
    assert guess_type("Gamma", TYPES) is None
    assert guess_type("shop.Under", TYPES) is None
    assert KnownTypes(TYPES).find("Gamma") is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Session", "System.String"),
        ("Order", "module node:internal/modules/cjs/loader"),
        ("Zoo", "foo.Too$Far"),
    ],
)
def test_no_unlike_name_is_suggested(text: str, name: str) -> None:
    assert hint(text, {name: 5}) == ""
