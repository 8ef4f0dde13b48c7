"""Ordinary Dart programs: ones that do not leak, and ones that leak a little."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.answers.app import Leak, Ordinary

if TYPE_CHECKING:
    from tests.bench.answers.app import App

_SHOP = "package:shop/"


def products(
    app: App, count: int, owner: str = f"{_SHOP}catalog.dart::Catalog"
) -> None:
    """A catalogue that was loaded when the program started."""
    dart, product = app.dart, f"{_SHOP}product.dart::Product"
    app.declare(
        f"{product}: id name description available:Z price", f"{owner}: _products _byId"
    )
    made = [
        app.new(
            product,
            id=dart.string(10),
            name=dart.string(20),
            available=1,
            description=dart.string(app.random.randint(40, 160)),
        )
        for _ in range(count)
    ]
    pairs = [(dart.string(10), each) for each in made]
    inside = dart.map("", "", pairs)
    dart.static(
        owner, "instance", app.new(owner, _products=dart.list("", made), _byId=inside)
    )


def image_cache(app: App) -> None:
    """Flutter's cache of pictures, full."""
    dart, place = app.dart, "package:flutter/src/painting/image_cache.dart::"
    app.declare(
        f"{place}ImageCache: _pendingImages _cache _liveImages",
        f"{place}_CachedImage: completer handle sizeBytes:I",
        "dart:ui::_Image: _handles _disposed:Z",
        "package:flutter/src/painting/image_provider.dart::NetworkImage: url headers",
        "package:flutter/src/painting/image_stream.dart::OneFrameImageStreamCompleter: "
        "_listeners _currentImage _error",
    )
    pairs = []
    for _ in range(1000):
        url = app.new(
            "package:flutter/src/painting/image_provider.dart::NetworkImage",
            url=dart.string(app.now.randint(50, 60)),
        )
        picture = app.new("dart:ui::_Image", _handles=dart.set("", []))
        completer = app.new(
            ""
            "package:flutter/src/painting/image_stream.dart::OneFrameImageStreamCompleter",
            _listeners=dart.list("", []),
            _currentImage=picture,
        )
        pairs.append((url, app.new(f"{place}_CachedImage", completer=completer)))
    cache = app.new(f"{place}ImageCache", _cache=dart.map("", "", pairs))
    dart.static(
        "package:flutter/src/painting/binding.dart::PaintingBinding",
        "_imageCache",
        cache,
    )


def style_sheets(app: App) -> None:
    """A compiler of style sheets at work, with what it has parsed."""
    dart, place = app.dart, "package:sass/src/ast/"
    kinds = [
        f"{place}{name.lower()}.dart::{name}"
        for name in (
            "StyleRule",
            "Declaration",
            "IncludeRule",
            "VariableExpression",
            "MediaRule",
        )
    ]
    app.declare(
        *(f"{kind}: parent children span" for kind in kinds),
        "package:source_span/src/span.dart::FileSpan: file text _start:I _end:I",
        f"{place}stylesheet.dart::Stylesheet: children url",
        "package:sass/src/import_cache.dart::ImportCache: _canonicalizeCache "
        "_importCache",
    )
    sheets = []
    for _ in range(50):
        nodes: list[int] = []
        for _ in range(75):
            span = app.new(
                "package:source_span/src/span.dart::FileSpan", text=dart.string(20)
            )
            parent = app.random.choice(nodes[-9:]) if nodes else dart.null
            nodes.append(app.new(app.random.choice(kinds), parent=parent, span=span))
        sheet = app.new(
            f"{place}stylesheet.dart::Stylesheet",
            children=dart.list("", nodes),
            url=dart.string(40),
        )
        sheets.append((dart.string(40), sheet))
    cache = app.new(
        "package:sass/src/import_cache.dart::ImportCache",
        _importCache=dart.map("", "", sheets),
    )
    dart.thread([cache])


def language_tables(app: App) -> None:
    """Texts of each language, and a table of emoji."""
    dart, place = app.dart, "package:intl/src/"
    app.declare(
        f"{place}messages.dart::MessageLookup: messages localeName",
        f"{place}lookup.dart::CompositeMessageLookup: availableMessages",
        "package:emoji/src/data.dart::Emoji: name code keywords",
    )
    languages = []
    for _ in range(14):
        texts = [
            (dart.string(20), dart.string(app.random.randint(10, 90)))
            for _ in range(220)
        ]
        lookup = app.new(
            f"{place}messages.dart::MessageLookup",
            messages=dart.map("", "", texts),
            localeName=dart.string(5),
        )
        languages.append((dart.string(5), lookup))
    composite = app.new(
        f"{place}lookup.dart::CompositeMessageLookup",
        availableMessages=dart.map("", "", languages),
    )
    dart.static(
        f"{place}lookup.dart::CompositeMessageLookup", "messageLookup", composite
    )
    emoji = [
        app.new(
            "package:emoji/src/data.dart::Emoji",
            name=dart.string(14),
            code=dart.string(4),
            keywords=dart.list("", [dart.string(8)]),
        )
        for _ in range(1200)
    ]
    dart.static("package:emoji/src/data.dart::Emojis", "all", dart.list("", emoji))


def tile_maps(app: App) -> None:
    """A game's maps with their tiles and sprites."""
    dart, place = app.dart, "package:flame_tiled/src/"
    app.declare(
        f"{place}layer.dart::TileLayer: name tiles visible:Z",
        f"{place}tile.dart::Tile: sprite flips x:I y:I",
        f"{place}map.dart::TiledMap: layers properties",
        "package:flame/src/sprite.dart::Sprite: image src paint",
        "dart:ui::_Image: _handles _disposed:Z",
        "package:quest/levels.dart::LevelStore: maps",
    )
    pictures = [
        app.new("dart:ui::_Image", _handles=dart.bytes(60_000)) for _ in range(6)
    ]
    sprites = [
        app.new(
            "package:flame/src/sprite.dart::Sprite", image=app.random.choice(pictures)
        )
        for _ in range(300)
    ]
    maps = []
    for _ in range(10):
        layers = []
        for _ in range(4):
            tiles = [
                app.new(f"{place}tile.dart::Tile", sprite=app.random.choice(sprites))
                for _ in range(200)
            ]
            layers.append(
                app.new(
                    f"{place}layer.dart::TileLayer",
                    name=dart.string(9),
                    tiles=dart.list("", tiles),
                    visible=1,
                )
            )
        maps.append(app.new(f"{place}map.dart::TiledMap", layers=dart.list("", layers)))
    dart.static(
        "package:quest/levels.dart::LevelStore",
        "instance",
        app.new("package:quest/levels.dart::LevelStore", maps=dart.list("", maps)),
    )


def route_server(app: App) -> None:
    """A server with its routes, and a pool of connections to a database."""
    dart = app.dart
    app.declare(
        "package:shelf_router/src/router_entry.dart::RouterEntry: verb route "
        "_routePattern "
        "_params _handler",
        "package:shelf_router/src/router.dart::Router: _routes _notFoundHandler",
        "package:postgres/src/connection.dart::PgConnection: _statements _socket "
        "_closed:Z",
        "package:postgres/src/query.dart::PreparedStatement: sql parameters",
        "package:postgres/src/pool.dart::Pool: _idle _open _closing:Z",
    )
    routes = [
        app.new(
            "package:shelf_router/src/router_entry.dart::RouterEntry",
            verb=dart.string(4),
            route=dart.string(30),
            _params=dart.list("", [dart.string(6)]),
            _handler=dart.closure("", [dart.string(10)]),
        )
        for _ in range(400)
    ]
    router = app.new(
        "package:shelf_router/src/router.dart::Router", _routes=dart.list("", routes)
    )
    dart.static("package:api/server.dart::Server", "_router", router)
    connections = []
    for _ in range(12):
        statements = [
            (
                dart.string(60),
                app.new(
                    "package:postgres/src/query.dart::PreparedStatement",
                    sql=dart.string(120),
                    parameters=dart.list("", [dart.string(7)]),
                ),
            )
            for _ in range(app.about(60))
        ]
        connections.append(
            app.new(
                "package:postgres/src/connection.dart::PgConnection",
                _socket=dart.bytes(8192),
                _statements=dart.map("", "", statements),
            )
        )
    pool = app.new(
        "package:postgres/src/pool.dart::Pool", _idle=dart.queue("", connections)
    )
    dart.static("package:api/server.dart::Server", "_pool", pool)


def state_subscriptions(app: App) -> Leak:
    """States of screens that are gone, which did not cancel their subscriptions."""
    dart, state = app.dart, f"{_SHOP}chart_page.dart::_ChartPageState"
    app.declare(
        f"{state}: _widget _element _points _disposed:Z",
        f"{_SHOP}prices.dart::PriceService: _controller",
    )
    with app.leaking():
        states = [
            app.new(state, _points=dart.bytes(150), _disposed=1)
            for _ in range(app.grown(100))
        ]
        stream = dart.event(states)
    service = app.new(f"{_SHOP}prices.dart::PriceService", _controller=stream)
    dart.static(f"{_SHOP}prices.dart::PriceService", "instance", service)
    products(app, 1800)
    return Leak((state, "dart:async::_BroadcastSubscription"))


def polling_timers(app: App) -> Leak:
    """Periodic timers of controllers that were disposed."""
    dart, kind = app.dart, f"{_SHOP}tracking.dart::DeliveryController"
    app.declare(f"{kind}: _orderId _last _timer _isDisposed:Z")
    with app.leaking():
        made = [
            app.new(
                kind, _orderId=dart.string(12), _last=dart.bytes(120), _isDisposed=1
            )
            for _ in range(app.grown(100))
        ]
        dart.timers(made)
    products(app, 1700)
    return Leak((kind, "dart:async::_Timer"))


def response_map(app: App) -> Leak:
    """A static map of responses by address, without a bound."""
    dart, kind = app.dart, "package:news/api.dart::CachedResponse"
    app.declare(f"{kind}: url body headers stale:Z")
    with app.leaking():
        pairs = []
        for _ in range(app.grown(100)):
            url = dart.string(48)
            body = dart.string(110)
            pairs.append((url, app.new(kind, url=url, body=body)))
        responses = dart.map("", "", pairs)
    dart.static("package:news/api.dart::ApiClient", "_responses", responses)
    products(app, 1800, "package:news/topics.dart::TopicCatalog")
    return Leak((kind,))


def notifier_listeners(app: App) -> Leak:
    """Closures in a notifier's list, of pages that were popped."""
    dart, kind = app.dart, f"{_SHOP}product_page.dart::_ProductPageState"
    app.declare(
        f"{kind}: _widget _element _controller _text mounted:Z",
        f"{_SHOP}cart.dart::CartModel: _listeners _items",
    )
    with app.leaking():
        closures = []
        for _ in range(app.grown(130)):
            state = app.new(kind, _text=dart.string(70))
            closures.append(dart.closure("", [state]))
        listeners = dart.list("", closures)
    cart = app.new(
        f"{_SHOP}cart.dart::CartModel", _listeners=listeners, _items=dart.list("", [])
    )
    dart.static(f"{_SHOP}cart.dart::CartModel", "shared", cart)
    products(app, 1800)
    return Leak((kind,), (f"{_SHOP}cart.dart::CartModel",), ("dart:core::_Closure",))


HEALTHY = tuple(
    Ordinary(make, "dartheap")
    for make in (image_cache, style_sheets, language_tables, tile_maps, route_server)
)
LEAKS = tuple(
    Ordinary(make, "dartheap")
    for make in (state_subscriptions, polling_timers, response_map, notifier_listeners)
)
