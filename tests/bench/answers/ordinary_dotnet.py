"""Ordinary .NET programs: ones that do not leak, and ones that leak a little."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.answers.app import Leak, Ordinary

if TYPE_CHECKING:
    from tests.bench.answers.app import App

_CACHING = "Microsoft.Extensions.Caching.Memory."


def entries_of(app: App, cache: int, values: list[int]) -> int:
    """The dictionary of a ``MemoryCache``: its entries refer to it, keys and values."""
    net = app.net
    app.declare(
        f"{_CACHING}CacheEntry: _cache Key _value _tokens _absoluteExpiration:J "
        "_slidingExpiration:J Size:J _lastAccessed:J"
    )
    pairs = []
    for value in values:
        key = net.string(28)
        entry = app.new(f"{_CACHING}CacheEntry", _cache=cache, Key=key, _value=value)
        pairs.append((key, entry))
    return net.concurrent_map("System.Object", f"{_CACHING}CacheEntry", pairs)


def memory_cache(app: App, values: list[int], owner: str) -> None:
    """A ``MemoryCache`` in a field of a service, which a static holds."""
    net = app.net
    app.declare(
        f"{_CACHING}MemoryCache: _options _entries _logger",
        f"{_CACHING}MemoryCacheOptions: _clock _sizeLimit:J",
        f"{owner}: _cache _log",
    )
    options = app.new(f"{_CACHING}MemoryCacheOptions")
    cache = app.new(f"{_CACHING}MemoryCache", _options=options)
    app.heap.held[cache].append(entries_of(app, cache, values))
    net.static("Shop.Program", "_services", app.new(owner, _cache=cache))


def articles(app: App, count: int, owner: str = "Shop.Catalog.ArticleCatalog") -> None:
    """A catalogue that was loaded when the program started."""
    net = app.net
    app.declare(
        "Shop.Catalog.Article: Number Title Description Group Price:J",
        "Shop.Catalog.Group: Name",
        f"{owner}: _byNumber _groups",
    )
    groups = [app.new("Shop.Catalog.Group", Name=net.string(12)) for _ in range(30)]
    pairs = []
    for _ in range(count):
        number = net.string(10)
        article = app.new(
            "Shop.Catalog.Article",
            Number=number,
            Title=net.string(24),
            Description=net.string(app.random.randint(40, 140)),
            Group=app.random.choice(groups),
        )
        pairs.append((number, article))
    inside = net.map(net.string_type, "Shop.Catalog.Article", pairs)
    net.static("Shop.Program", "_catalog", app.new(owner, _byNumber=inside))


def size_limited_cache(app: App) -> None:
    """A ``MemoryCache`` at its size limit."""
    app.declare("Shop.Reviews.ReviewPage: Html Count:J")
    values = [
        app.new(
            "Shop.Reviews.ReviewPage", Html=app.net.string(app.now.randint(80, 200))
        )
        for _ in range(1500)
    ]
    memory_cache(app, values, "Shop.Reviews.ReviewService")


def entity_model(app: App) -> None:
    """What Entity Framework knows of entities: one model for the program."""
    net, place = app.net, "Microsoft.EntityFrameworkCore.Metadata."
    app.declare(
        f"{place}RuntimeModel: _entityTypes",
        f"{place}RuntimeProperty: _declaringType _name _typeMapping _valueComparer",
        f"{place}RuntimeEntityType: _model _properties _name _keys",
        f"{place}RuntimeKey: _properties _declaringType",
        "Microsoft.EntityFrameworkCore.Storage.RelationalTypeMapping: _storeType",
    )
    entity_model_, types = app.new(f"{place}RuntimeModel"), []
    for _ in range(110):
        entity = app.new(
            f"{place}RuntimeEntityType", _model=entity_model_, _name=net.string(30)
        )
        properties = []
        for _ in range(app.random.randint(6, 24)):
            name = net.string(12)
            mapping = app.new(
                "Microsoft.EntityFrameworkCore.Storage.RelationalTypeMapping",
                _storeType=net.string(13),
            )
            properties.append(
                (
                    name,
                    app.new(
                        f"{place}RuntimeProperty",
                        _declaringType=entity,
                        _name=name,
                        _typeMapping=mapping,
                    ),
                )
            )
        key = app.new(f"{place}RuntimeKey", _declaringType=entity)
        app.heap.held[entity] += [
            net.map(net.string_type, f"{place}RuntimeProperty", properties),
            key,
        ]
        types.append((net.string(30), entity))
    inside = net.map(net.string_type, f"{place}RuntimeEntityType", types)
    app.heap.held[entity_model_].append(inside)
    net.static("Crm.CrmContext", "_model", entity_model_)


def syntax_nodes(app: App) -> None:
    """An analyser with the syntax trees of a solution."""
    net, place = app.net, "Analyzer.Syntax."
    kinds = [
        f"{place}{name}Syntax"
        for name in (
            "Method",
            "Block",
            "Invocation",
            "Identifier",
            "Binary",
            "Literal",
            "If",
        )
    ]
    app.declare(
        *(f"{kind}: Parent Token" for kind in kinds),
        f"{place}Tree: Root Path Text",
        f"{place}Token: Text Trivia Kind:I",
        "Analyzer.Workspace: _trees _options",
    )
    trees = []
    for _ in range(60):
        root = app.new(kinds[0])
        made = [root]
        for _ in range(70):
            parent = app.random.choice(made[-15:])
            token = app.new(f"{place}Token", Text=net.string(app.random.randint(1, 14)))
            node = app.new(app.random.choice(kinds), Parent=parent, Token=token)
            app.heap.held[parent].append(node)
            made.append(node)
        tree = app.new(
            f"{place}Tree", Root=root, Path=net.string(50), Text=net.string(900)
        )
        trees.append((net.string(50), tree))
    inside = net.map(net.string_type, f"{place}Tree", trees)
    net.thread([app.new("Analyzer.Workspace", _trees=inside)])


def game_levels(app: App) -> None:
    """Levels, tiles and an atlas of pictures, loaded at the start of a game."""
    net = app.net
    app.declare(
        "Quest.World.Level: Name Tiles Spawns",
        "Quest.World.Tile: Sprite Kind:I",
        "Quest.Graphics.Sprite: Atlas Name X:I Y:I",
        "Quest.Graphics.Atlas: Texture",
        "Microsoft.Xna.Framework.Graphics.Texture2D: data",
        "Quest.World.Spawn: Enemy",
        "Quest.World.LevelSet: _levels _current",
    )
    atlases = [
        app.new(
            "Quest.Graphics.Atlas",
            Texture=app.new(
                "Microsoft.Xna.Framework.Graphics.Texture2D", data=net.bytes(65536)
            ),
        )
        for _ in range(6)
    ]
    sprites = [
        app.new(
            "Quest.Graphics.Sprite",
            Atlas=app.random.choice(atlases),
            Name=net.string(12),
        )
        for _ in range(400)
    ]
    levels = []
    for _ in range(18):
        tiles = [
            app.new("Quest.World.Tile", Sprite=app.random.choice(sprites))
            for _ in range(480)
        ]
        spawns = [app.new("Quest.World.Spawn", Enemy=net.string(8)) for _ in range(12)]
        levels.append(
            app.new(
                "Quest.World.Level",
                Name=net.string(10),
                Tiles=net.array("Quest.World.Tile", tiles),
                Spawns=net.list("Quest.World.Spawn", spawns),
            )
        )
    net.static(
        "Quest.Game",
        "Levels",
        app.new("Quest.World.LevelSet", _levels=net.list("Quest.World.Level", levels)),
    )


def translations(app: App) -> None:
    """A dictionary of texts for each language."""
    net, languages = app.net, []
    inside = net.generic(
        "System.Collections.Generic.Dictionary", "System.String", "System.String"
    )
    for _ in range(16):
        pairs = [
            (net.string(22), net.string(app.random.randint(10, 70))) for _ in range(230)
        ]
        languages.append(
            (net.string(5), net.map(net.string_type, net.string_type, pairs))
        )
    app.declare("Shop.Localization.Translator: _texts _fallback")
    texts = net.map(net.string_type, inside, languages)
    net.static(
        "Shop.Localization.Translator",
        "_instance",
        app.new("Shop.Localization.Translator", _texts=texts),
    )


def buffer_pools(app: App) -> None:
    """Kestrel's pool of pinned blocks, and a shared pool of arrays."""
    net, place = app.net, "Microsoft.AspNetCore.Server.Kestrel.Core.Internal."
    app.declare(
        "System.Buffers.PinnedBlockMemoryPool: _blocks",
        "System.Buffers.MemoryPoolBlock: Pool Memory",
    )
    pool, blocks = app.new("System.Buffers.PinnedBlockMemoryPool"), []
    for _ in range(500):
        block = app.new(
            "System.Buffers.MemoryPoolBlock", Pool=pool, Memory=net.bytes(4096)
        )
        blocks.append(block)
    app.heap.held[pool].append(net.queue("System.Buffers.MemoryPoolBlock", blocks))
    net.static(f"{place}Infrastructure.PinnedBlocks", "Pool", pool)
    buckets = [
        net.array("System.Byte[]", [net.bytes(16 << row) for _ in range(8)], 8)
        for row in range(12)
    ]
    net.static(
        "System.Buffers.ArrayPool",
        "s_shared",
        net.object("System.Buffers.ConfigurableArrayPool", buckets),
    )
    for _ in range(app.now.randint(30, 40)):
        net.thread([net.object(f"{place}Http.Http1Connection", [net.string(40)], 400)])


def tensors(app: App) -> None:
    """Weights of a model, its vocabulary, and a table of what JSON knows of types."""
    net, heap = app.net, app.heap
    app.declare(
        "ML.Onnx.Tensor: _values _shape Name",
        "ML.Onnx.Model: _weights Vocabulary",
        "ML.Tokens.Token: Text Rank:I",
    )
    weights = []
    for _ in range(220):
        values = heap.add(
            "System.Single[]", 24 + 4 * app.random.choice((256, 1024, 4096))
        )
        shape = heap.add("System.Int32[]", 40)
        name = net.string(20)
        weights.append(
            (name, app.new("ML.Onnx.Tensor", _values=values, _shape=shape, Name=name))
        )
    words = [app.new("ML.Tokens.Token", Text=net.string(6)) for _ in range(3000)]
    network = app.new(
        "ML.Onnx.Model",
        _weights=net.map(net.string_type, "ML.Onnx.Tensor", weights),
        Vocabulary=net.array("ML.Tokens.Token", words),
    )
    net.static("Web.Recommender", "_model", network)
    app.declare(
        "System.Text.Json.Serialization.Metadata.JsonTypeInfo: Options Properties"
    )
    infos = []
    for _ in range(200):
        texts = net.array("System.String", [net.string(12) for _ in range(6)])
        infos.append(
            (
                heap.add("System.RuntimeType", 40),
                app.new(
                    "System.Text.Json.Serialization.Metadata.JsonTypeInfo",
                    Properties=texts,
                ),
            )
        )
    net.static(
        "System.Text.Json.JsonSerializerOptions",
        "s_cache",
        net.concurrent_map(
            "System.Type", "System.Text.Json.Serialization.Metadata.JsonTypeInfo", infos
        ),
    )


def closed_windows(app: App) -> Leak:
    """Windows that were closed, but still listen to a static event."""
    net = app.net
    app.declare(
        "Shop.UI.OrderWindow: _title _lines _grid IsDisposed:Z",
        "Shop.UI.Grid: _cells _header",
    )
    with app.leaking():
        windows = []
        for _ in range(app.grown(80)):
            grid = app.new(
                "Shop.UI.Grid", _cells=net.bytes(250), _header=net.string(14)
            )
            windows.append(
                app.new("Shop.UI.OrderWindow", _title=net.string(16), _grid=grid)
            )
        event = net.event(windows)
    net.static("Shop.UI.ThemeManager", "ThemeChanged", event)
    articles(app, 1600)
    return Leak(
        ("Shop.UI.OrderWindow",), ("Shop.UI.ThemeManager",), ("System.EventHandler",)
    )


def device_timers(app: App) -> Leak:
    """Timers of devices that are no longer there, which nobody disposed."""
    net = app.net
    app.declare("Plant.Devices.DevicePoller: _name _readings _timer Disposed:Z")
    with app.leaking():
        pollers = [
            app.new(
                "Plant.Devices.DevicePoller",
                _name=net.string(14),
                _readings=net.bytes(240),
            )
            for _ in range(app.grown(120))
        ]
        net.timers(pollers)
    articles(app, 1400, "Plant.Parts.PartCatalog")
    return Leak(("Plant.Devices.DevicePoller", "System.Threading.TimerQueueTimer"))


def hub_connections(app: App) -> Leak:
    """Connections by id, of clients that have gone, beside a bounded cache."""
    net = app.net
    app.declare(
        "Chat.Hubs.ClientConnection: Id User _groups _buffer Closed:Z",
        "Chat.Hubs.ConnectionManager: _connections",
    )
    with app.leaking():
        pairs = []
        for _ in range(app.grown(110)):
            key = net.string(22)
            pairs.append(
                (
                    key,
                    app.new(
                        "Chat.Hubs.ClientConnection",
                        Id=key,
                        User=net.string(10),
                        _buffer=net.bytes(160),
                    ),
                )
            )
        inside = net.concurrent_map(
            "System.String", "Chat.Hubs.ClientConnection", pairs
        )
    net.static(
        "Chat.Hubs.ConnectionManager",
        "_instance",
        app.new("Chat.Hubs.ConnectionManager", _connections=inside),
    )
    app.declare("Chat.History.MessagePage: Html")
    values = [
        app.new("Chat.History.MessagePage", Html=net.string(app.about(140)))
        for _ in range(1400)
    ]
    memory_cache(app, values, "Chat.History.HistoryService")
    return Leak(("Chat.Hubs.ClientConnection",))


def lost_answers(app: App) -> Leak:
    """Task sources whose tasks never complete, with the methods that await them."""
    net, heap = app.net, app.heap
    app.declare(
        "Rpc.Client.PendingCalls: _pending _next:J", "Rpc.Client.Request: Method Body"
    )
    source = net.generic(
        "System.Threading.Tasks.TaskCompletionSource", "Rpc.Client.Response"
    )
    task = net.generic("System.Threading.Tasks.Task", "Rpc.Client.Response")
    with app.leaking():
        pairs = []
        for _ in range(app.grown(120)):
            request = app.new(
                "Rpc.Client.Request", Method=net.string(12), Body=net.bytes(120)
            )
            machine = net.object("Rpc.Client.RpcClient+<CallAsync>d__7", [request], 32)
            waiting = heap.add(task, 72, [net.delegate(machine, "System.Action")])
            pairs.append((heap.add("System.Guid", 32), heap.add(source, 24, [waiting])))
        inside = net.concurrent_map("System.Guid", source, pairs)
    net.static(
        "Rpc.Client.RpcClient",
        "_calls",
        app.new("Rpc.Client.PendingCalls", _pending=inside),
    )
    articles(app, 1500)
    return Leak(
        (source, task, "Rpc.Client.Request", "Rpc.Client.RpcClient+<CallAsync>d__7")
    )


def cache_without_limit(app: App) -> Leak:
    """A static dictionary of results by query, beside a catalogue."""
    net = app.net
    app.declare("Search.Results.ResultSet: Query _ids Total:J")
    with app.leaking():
        pairs = []
        for _ in range(app.grown(160)):
            query = net.string(24)
            ids = app.heap.add("System.Int32[]", 24 + 4 * 30)
            pairs.append(
                (query, app.new("Search.Results.ResultSet", Query=query, _ids=ids))
            )
        inside = net.map(net.string_type, "Search.Results.ResultSet", pairs)
    net.static("Search.SearchService", "_results", inside)
    articles(app, 1600, "Search.SynonymCatalog")
    return Leak(("Search.Results.ResultSet",))


def tracked_entities(app: App) -> Leak:
    """A worker whose context tracks all that it ever read."""
    net, place = app.net, "Microsoft.EntityFrameworkCore.ChangeTracking.Internal."
    app.declare(
        "Billing.Data.Invoice: Number Customer Total:J",
        f"{place}StateManager: _map _context",
        f"{place}InternalEntityEntry: _stateManager _entity _originals",
        "Billing.Data.BillingContext: _stateManager _model Disposed:Z",
        "Billing.InvoiceWorker: _context _log",
    )
    manager = app.new(f"{place}StateManager")
    with app.leaking():
        pairs = []
        for _ in range(app.grown(130)):
            invoice = app.new(
                "Billing.Data.Invoice", Number=net.string(10), Customer=net.string(16)
            )
            pairs.append(
                (
                    invoice,
                    app.new(
                        f"{place}InternalEntityEntry",
                        _stateManager=manager,
                        _entity=invoice,
                        _originals=net.array("System.Object", [net.string(8)], 4),
                    ),
                )
            )
        inside = net.map("System.Object", f"{place}InternalEntityEntry", pairs)
    app.heap.held[manager].append(inside)
    context = app.new("Billing.Data.BillingContext", _stateManager=manager)
    net.thread([app.new("Billing.InvoiceWorker", _context=context)])
    articles(app, 1500, "Billing.TaxTable")
    return Leak(("Billing.Data.Invoice", f"{place}InternalEntityEntry"))


def token_registrations(app: App) -> Leak:
    """Callbacks of requests at a token that lives as long as the program."""
    net, heap = app.net, app.heap
    place = "System.Threading.CancellationTokenSource"
    app.declare("Jobs.Export.ExportJob: Name _rows _token Finished:Z")
    source = heap.add(place, 48)
    registrations = heap.add(f"{place}+Registrations", 56, [source])
    with app.leaking():
        before: list[int] = []
        for _ in range(app.grown(130)):
            job = app.new(
                "Jobs.Export.ExportJob", Name=net.string(14), _rows=net.bytes(150)
            )
            call = net.delegate(job, "System.Action")
            node = heap.add(f"{place}+CallbackNode", 80, [registrations, call, *before])
            if before:
                heap.held[before[0]].append(node)
            before = [node]
        heap.held[registrations] += before
    heap.held[source].append(registrations)
    lifetime = "Microsoft.Extensions.Hosting.Internal.ApplicationLifetime"
    net.static("Jobs.Program", "_lifetime", heap.add(lifetime, 64, [source]))
    app.declare("Jobs.Templates.TemplatePage: Html")
    values = [
        app.new("Jobs.Templates.TemplatePage", Html=net.string(app.about(150)))
        for _ in range(1400)
    ]
    memory_cache(app, values, "Jobs.Templates.TemplateService")
    return Leak(("Jobs.Export.ExportJob", f"{place}+CallbackNode"))


HEALTHY = (
    Ordinary(size_limited_cache, "gcdump"),
    Ordinary(entity_model, "gclog"),
    Ordinary(syntax_nodes, "gcdump"),
    Ordinary(game_levels, "gclog"),
    Ordinary(translations, "gcdump"),
    Ordinary(buffer_pools, "gclog"),
    Ordinary(tensors, "gcdump"),
)
LEAKS = (
    Ordinary(closed_windows, "gclog"),
    Ordinary(device_timers, "gcdump"),
    Ordinary(hub_connections, "gclog"),
    Ordinary(lost_answers, "gcdump"),
    Ordinary(cache_without_limit, "gclog"),
    Ordinary(tracked_entities, "gclog"),
    Ordinary(token_registrations, "gcdump"),
)
