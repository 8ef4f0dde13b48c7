"""Ordinary Java programs that do not leak: caches, a catalogue, pools."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tests.bench.answers.app import Ordinary

if TYPE_CHECKING:
    from tests.bench.answers.app import App


def caffeine(app: App, owner: str, value_of: list[int], kept: int) -> None:
    """A full bounded cache of Caffeine, in a field of a bean that a static holds."""
    java, place = app.java, "com.github.benmanes.caffeine.cache."
    app.declare(
        f"{place}BoundedLocalCache: data evictionLock readBuffer drainStatus:I",
        f"{place}SSMS < {place}BoundedLocalCache: sketch maximum:J weightedSize:J "
        "windowDeque probationDeque protectedDeque",
        f"{place}AccessOrderDeque: first last",
        f"{place}PSMS: key value previousInAccessOrder nextInAccessOrder queueType:I",
        f"{place}FrequencySketch: table size:I sampleSize:I tableMask:I",
        f"{place}BoundedLocalCache$BoundedLocalManualCache: cache policy",
        f"{owner}: cache repository",
    )
    nodes: list[tuple[int, int]] = []
    for value in value_of:
        key = java.long(len(nodes))
        nodes.append((key, java.new(place + "PSMS", key=key, value=value)))
    for (_, one), (_, other) in pairwise(nodes):
        java.set(one, nextInAccessOrder=other)
        java.set(other, previousInAccessOrder=one)
    deque = java.new(place + "AccessOrderDeque", first=nodes[0][1], last=nodes[-1][1])
    sketch = java.new(place + "FrequencySketch", table=java.numbers("long[]", 1024))
    inside = java.new(
        place + "SSMS",
        data=java.concurrent_map("", "", nodes),
        maximum=kept,
        weightedSize=len(nodes),
        sketch=sketch,
        probationDeque=deque,
    )
    cache = java.new(place + "BoundedLocalCache$BoundedLocalManualCache", cache=inside)
    java.static("com.shop.Application", "context", java.new(owner, cache=cache))


def catalogue(
    app: App, count: int, owner: str = "com.shop.catalog.CatalogService"
) -> None:
    """Products that were loaded when the program started."""
    java = app.java
    app.declare(
        "com.shop.catalog.Product: id:J sku name description price category active:Z",
        "com.shop.catalog.Category: name parent",
        f"{owner}: productsById productsBySku loadedAt",
    )
    root = java.new("com.shop.catalog.Category", name=java.text("All"))
    categories = [
        java.new("com.shop.catalog.Category", name=java.string(14), parent=root)
        for _ in range(40)
    ]
    products = []
    for row in range(count):
        price = java.new(
            "java.math.BigDecimal", intCompact=app.random.randint(99, 99999), scale=2
        )
        sku = java.string(12)
        product = java.new(
            "com.shop.catalog.Product",
            id=row,
            sku=sku,
            name=java.string(24),
            description=java.string(app.random.randint(40, 160)),
            price=price,
            category=app.random.choice(categories),
            active=1,
        )
        products.append((sku, product))
    by_id = [(java.long(row), each) for row, (_, each) in enumerate(products)]
    service = java.new(
        owner,
        productsById=java.map("", "", by_id),
        productsBySku=java.map("", "", products),
    )
    java.static("com.shop.Application", "catalog", service)


def lru(app: App, kind: str, values: list[int], owner: str, field: str) -> None:
    """An anonymous ``LinkedHashMap`` whose ``removeEldestEntry`` keeps it bounded."""
    java = app.java
    app.declare(f"{kind} < java.util.LinkedHashMap: val$maxEntries:I")
    pairs = [(java.string(36), value) for value in values]
    java.static(owner, field, java.map_of(kind, pairs))


def thumbnails(app: App) -> None:
    """An LRU cache of pictures, full."""
    app.declare("com.gallery.Thumbnail: pixels width:I height:I source")
    values = [
        app.java.new(
            "com.gallery.Thumbnail",
            pixels=app.java.bytes(app.about(1800)),
            width=64,
            height=64,
            source=app.java.string(48),
        )
        for _ in range(1500)
    ]
    lru(
        app,
        "com.gallery.ThumbnailCache$1",
        values,
        "com.gallery.ThumbnailCache",
        "CACHE",
    )


def issue_cache(app: App) -> None:
    """Caffeine, full, with the issues of a tracker, most of which are closed."""
    app.declare("com.tracker.Issue: id:J title assignee labels closed:Z updated")
    values = [
        app.java.new(
            "com.tracker.Issue",
            id=row,
            title=app.java.string(app.now.randint(20, 50)),
            closed=app.random.random() < 0.8,
            assignee=app.java.string(8),
            updated=app.java.new("java.time.Instant", seconds=1_700_000_000),
        )
        for row in range(2000)
    ]
    caffeine(app, "com.tracker.IssueRepository", values, 2000)


def guava_cache(app: App) -> None:
    """Guava's cache of compiled templates, with a maximum."""
    java, place = app.java, "com.google.common.cache.LocalCache"
    app.declare(
        f"{place}: segments maxWeight:J segmentMask:I keyEquivalence",
        f"{place}$Segment: map count:I table totalWeight:J recencyQueue accessQueue",
        f"{place}$StrongAccessEntry: key hash:I next valueReference accessTime:J "
        "nextAccess previousAccess",
        f"{place}$StrongValueReference: referent",
        f"{place}$LocalManualCache: localCache",
        "com.cms.render.Template: source nodes name",
        "com.cms.render.TextNode: text",
        "com.cms.render.TemplateEngine: templates",
    )
    segments = []
    cache = java.new(place, maxWeight=500)
    for _ in range(4):
        entries: list[int] = []
        for _ in range(125):
            nodes = [
                java.new(
                    "com.cms.render.TextNode", text=java.string(app.now.randint(20, 90))
                )
                for _ in range(8)
            ]
            template = java.new(
                "com.cms.render.Template",
                source=java.string(400),
                name=java.string(20),
                nodes=java.list("", nodes),
            )
            reference = java.new(f"{place}$StrongValueReference", referent=template)
            entry = java.new(
                f"{place}$StrongAccessEntry",
                key=java.string(20),
                valueReference=reference,
            )
            if entries:
                java.set(entries[-1], nextAccess=entry)
                java.set(entry, previousAccess=entries[-1])
            entries.append(entry)
        table = java.array(
            "com.google.common.cache.LocalCache$StrongAccessEntry", entries, 256
        )
        app.declare("java.util.concurrent.atomic.AtomicReferenceArray: array")
        array = java.new(
            "java.util.concurrent.atomic.AtomicReferenceArray", array=table
        )
        segments.append(java.new(f"{place}$Segment", map=cache, table=array, count=125))
    java.set(cache, segments=java.array(f"{place}$Segment", segments))
    manual = java.new(f"{place}$LocalManualCache", localCache=cache)
    engine = java.new("com.cms.render.TemplateEngine", templates=manual)
    java.static("com.cms.Server", "templateEngine", engine)


def job_history(app: App) -> None:
    """A catalogue, and the last 500 runs of jobs, all of which have finished."""
    java = app.java
    app.declare("com.shop.jobs.JobRun: name log finished:Z startedAt:J endedAt:J")
    app.declare("com.shop.jobs.JobHistory: runs limit:I")
    runs = [
        java.new(
            "com.shop.jobs.JobRun",
            name=java.string(12),
            log=java.string(app.now.randint(150, 250)),
            finished=1,
            startedAt=1,
            endedAt=2,
        )
        for _ in range(500)
    ]
    array = java.array("java.lang.Object", runs, 501)
    pile = java.new("java.util.ArrayDeque", elements=array, tail=500)
    history = java.new("com.shop.jobs.JobHistory", runs=pile, limit=500)
    java.static("com.shop.jobs.Scheduler", "history", history)
    catalogue(app, 700)


def connection_pool(app: App) -> None:
    """HikariCP with connections that have buffers and prepared statements."""
    java = app.java
    app.declare(
        "com.zaxxer.hikari.HikariDataSource: pool fastPathPool isShutdown",
        "com.zaxxer.hikari.pool.HikariPool: connectionBag poolState:I config",
        "com.zaxxer.hikari.util.ConcurrentBag: sharedList threadList closed:Z",
        "com.zaxxer.hikari.pool.PoolEntry: connection lastAccessed:J openStatements "
        "hikariPool evict:Z state:I",
        "org.postgresql.jdbc.PgConnection: queryExecutor typeCache readOnly:Z "
        "autoCommit:Z",
        "org.postgresql.core.v3.QueryExecutorImpl: pgStream statementCache closed:Z",
        "org.postgresql.core.PGStream: buffer pgInput",
        "org.postgresql.util.LruCache: cache maxSizeEntries:I currentSize:J",
        "org.postgresql.util.LruCache$LimitedMap < java.util.LinkedHashMap: this$0",
        "org.postgresql.jdbc.CachedQuery: key query isFunction:Z executeCount:I",
        "org.postgresql.core.v3.SimpleQuery: nativeSql statementName fields",
    )
    pool = java.new("com.zaxxer.hikari.pool.HikariPool")
    entries = []
    for _ in range(20):
        queries = []
        for _ in range(app.about(70)):
            sql = java.string(app.random.randint(60, 200))
            query = java.new(
                "org.postgresql.core.v3.SimpleQuery",
                nativeSql=sql,
                statementName=java.string(5),
            )
            queries.append(
                (sql, java.new("org.postgresql.jdbc.CachedQuery", key=sql, query=query))
            )
        cache = java.new("org.postgresql.util.LruCache", maxSizeEntries=256)
        java.set(
            cache, cache=java.map_of("org.postgresql.util.LruCache$LimitedMap", queries)
        )
        stream = java.new("org.postgresql.core.PGStream", buffer=java.bytes(8192))
        executor = java.new(
            "org.postgresql.core.v3.QueryExecutorImpl",
            pgStream=stream,
            statementCache=cache,
        )
        connection = java.new(
            "org.postgresql.jdbc.PgConnection", queryExecutor=executor, autoCommit=1
        )
        entries.append(
            java.new(
                "com.zaxxer.hikari.pool.PoolEntry",
                connection=connection,
                hikariPool=pool,
                openStatements=java.list("", []),
            )
        )
    bag = java.new(
        "com.zaxxer.hikari.util.ConcurrentBag", sharedList=java.copied_list(entries)
    )
    java.set(pool, connectionBag=bag)
    source = java.new("com.zaxxer.hikari.HikariDataSource", pool=pool)
    java.static("com.bank.DataSources", "PRIMARY", source)


def interner(app: App) -> None:
    """Symbols of a market, each text once."""
    java = app.java
    texts = [java.string(app.random.randint(4, 12)) for _ in range(5000)]
    app.declare(
        "com.trading.SymbolTable: symbols", "com.trading.Quote: symbol bid:D ask:D"
    )
    table = java.concurrent_map("", "", [(each, each) for each in texts])
    java.static("com.trading.SymbolTable", "SYMBOLS", table)
    quotes = [
        java.new("com.trading.Quote", symbol=app.now.choice(texts)) for _ in range(300)
    ]
    java.thread([java.list("", quotes)], "feed-reader")


def netty_arena(app: App) -> None:
    """Netty's pooled allocator: chunks of memory, and who has them."""
    java, place = app.java, "io.netty.buffer."
    app.declare(
        f"{place}PooledByteBufAllocator: heapArenas directArenas threadCache "
        "chunkSize:I",
        f"{place}PoolArena$HeapArena: parent smallSubpagePools q050 q025 q000 qInit",
        f"{place}PoolChunkList: arena nextList head",
        f"{place}PoolChunk: arena memory runsAvail subpages next prev freeBytes:I",
        f"{place}PoolSubpage: chunk bitmap prev next elemSize:I numAvail:I",
    )
    allocator, arenas = java.new(place + "PooledByteBufAllocator"), []
    for _ in range(4):
        arena = java.new(place + "PoolArena$HeapArena", parent=allocator)
        chunks = java.new(place + "PoolChunkList", arena=arena)
        before = -1
        for _ in range(6):
            chunk = java.new(
                place + "PoolChunk", arena=arena, memory=java.bytes(131072)
            )
            pages = [
                java.new(
                    place + "PoolSubpage", chunk=chunk, bitmap=java.numbers("long[]", 8)
                )
                for _ in range(32)
            ]
            java.set(
                chunk, subpages=java.array(place + "PoolSubpage", pages), next=before
            )
            before = chunk
        java.set(chunks, head=before)
        java.set(arena, q050=chunks)
        arenas.append(arena)
    java.set(allocator, heapArenas=java.array(place + "PoolArena$HeapArena", arenas))
    java.static(place + "PooledByteBufAllocator", "DEFAULT", allocator)


def thread_pool(app: App) -> None:
    """Workers with buffers in thread locals, and a bounded queue, half full."""
    java = app.java
    app.declare(
        "com.render.TileJob: x:I y:I zoom:I layer done:Z",
        "com.render.TileBuffers: rgba depth",
    )
    local = java.new(
        "java.lang.ThreadLocal$SuppliedThreadLocal", threadLocalHashCode=77
    )
    java.static("com.render.Tiles", "BUFFERS", local)
    workers = []
    pool = java.new(
        "java.util.concurrent.ThreadPoolExecutor", corePoolSize=32, maximumPoolSize=32
    )
    for row in range(32):
        buffers = java.new(
            "com.render.TileBuffers",
            rgba=java.bytes(40_000),
            depth=java.numbers("float[]", 4096),
        )
        worker = java.new("java.util.concurrent.ThreadPoolExecutor$Worker")
        java.set(worker, **{"this$0": pool})
        thread = java.thread(
            [],
            f"pool-1-thread-{row}",
            target=worker,
            threadLocals=java.thread_locals([(local, buffers)]),
        )
        java.set(worker, thread=thread)
        workers.append(worker)
    jobs = [
        java.new("com.render.TileJob", x=row, zoom=12, layer=java.string(12))
        for row in range(app.now.randint(700, 900))
    ]
    queue = java.new(
        "java.util.concurrent.ArrayBlockingQueue",
        count=len(jobs),
        lock=java.lock(),
        items=java.array("java.lang.Object", jobs, 1000),
    )
    java.set(pool, workers=java.set_of(workers), workQueue=queue)
    java.static("com.render.Tiles", "POOL", pool)


def ring_buffer(app: App) -> None:
    """A disruptor whose events were all made at the start, and meters with windows."""
    java = app.java
    app.declare(
        "com.lmax.disruptor.RingBuffer: entries bufferSize:I indexMask:J sequencer",
        "com.exchange.OrderEvent: orderId:J price:D quantity:J side:I symbol",
        "com.exchange.OrderBook: bids asks symbol",
        "io.micrometer.core.instrument.simple.SimpleMeterRegistry: meterMap closed",
        "io.micrometer.core.instrument.Meter$Id: name tags description",
        "io.micrometer.core.instrument.cumulative.CumulativeTimer: id histogram "
        "count total",
        "io.micrometer.core.instrument.distribution.TimeWindowPercentileHistogram: "
        "ringBuffer",
    )
    events = [
        java.new("com.exchange.OrderEvent", orderId=row, price=2, symbol=java.string(8))
        for row in range(2048)
    ]
    ring = java.new(
        "com.lmax.disruptor.RingBuffer",
        bufferSize=2048,
        entries=java.array("java.lang.Object", events),
    )
    java.static("com.exchange.Engine", "ring", ring)
    meters, place = [], "io.micrometer.core.instrument."
    for _ in range(220):
        name = java.new(
            f"{place}Meter$Id",
            name=java.string(24),
            tags=java.list("", [java.string(12)] * 3),
        )
        windows = [java.numbers("long[]", 66) for _ in range(3)]
        histogram = java.new(
            f"{place}distribution.TimeWindowPercentileHistogram",
            ringBuffer=java.array("java.lang.Object", windows),
        )
        meters.append(
            (
                name,
                java.new(
                    f"{place}cumulative.CumulativeTimer", id=name, histogram=histogram
                ),
            )
        )
    registry = java.new(
        f"{place}simple.SimpleMeterRegistry",
        meterMap=java.concurrent_map("", "", meters),
    )
    java.static("com.exchange.Metrics", "REGISTRY", registry)


HEALTHY = tuple(
    Ordinary(make, "hprof")
    for make in (
        thumbnails, issue_cache, guava_cache, job_history, connection_pool,
        interner, netty_arena, thread_pool, ring_buffer,
    )
)  # fmt: skip
