"""Ordinary Java programs that leak less than a tenth of their heap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.answers.app import Leak, Ordinary
from tests.bench.answers.ordinary_java import caffeine, catalogue, lru

if TYPE_CHECKING:
    from tests.bench.answers.app import App


def _pages(app: App, count: int, size: int = 300) -> None:
    """A bounded cache of pages beside the leak, full."""
    app.declare("com.web.cache.CachedPage: body etag")
    values = [
        app.java.new(
            "com.web.cache.CachedPage",
            body=app.java.bytes(app.about(size)),
            etag=app.java.string(16),
        )
        for _ in range(count)
    ]
    lru(
        app,
        "com.web.cache.PageCache$LruMap",
        values,
        "com.web.cache.PageCache",
        "pages",
    )


def _quotes(app: App, count: int) -> None:
    """Caffeine beside the leak, full."""
    app.declare("com.trading.Instrument: symbol name lastPrice:D tick:D")
    values = [
        app.java.new(
            "com.trading.Instrument",
            symbol=app.java.string(5),
            name=app.java.string(24),
        )
        for _ in range(count)
    ]
    caffeine(app, "com.trading.InstrumentCache", values, count)


def chart_listeners(app: App) -> Leak:
    """Closed charts that still listen to the feed of prices."""
    java = app.java
    app.declare(
        "com.trading.ui.ChartPanel: title points disposed:Z model",
        "com.trading.ui.ChartPanel$1: this$0",
        "com.trading.PriceFeed: listeners running:Z",
    )
    with app.leaking():
        listeners = []
        count = app.grown(60)
        for row in range(count):
            panel = java.new(
                "com.trading.ui.ChartPanel",
                title=java.string(16),
                disposed=row < count - 3,
                points=java.numbers("double[]", 60),
            )
            listeners.append(_inner(app, "com.trading.ui.ChartPanel$1", panel))
    feed = java.new(
        "com.trading.PriceFeed", listeners=java.copied_list(listeners), running=1
    )
    java.static("com.trading.Terminal", "feed", feed)
    _quotes(app, 2100)
    return Leak(("com.trading.ui.ChartPanel", "com.trading.ui.ChartPanel$1"))


def _inner(app: App, kind: str, outer: int, **values: int) -> int:
    """An object of an inner class."""
    made = app.java.new(kind, **values)
    app.java.set(made, **{"this$0": outer})
    return made


def closed_sessions(app: App) -> Leak:
    """Sessions that were closed, but not removed from the registry."""
    java = app.java
    app.declare(
        "com.chat.ClientSession: id user attributes closed:Z lastSeen:J",
        "com.chat.SessionRegistry: sessions maxIdle:J",
    )
    count, pairs = app.grown(180), []
    with app.leaking():
        for row in range(count):
            key = java.string(32)
            session = java.new(
                "com.chat.ClientSession",
                id=key,
                user=java.string(12),
                closed=row < count - 12,
                attributes=java.map("", "", [(java.string(8), java.string(14))]),
            )
            pairs.append((key, session))
    registry = java.new(
        "com.chat.SessionRegistry", sessions=java.concurrent_map("", "", pairs)
    )
    java.static("com.chat.Server", "registry", registry)
    catalogue(app, 1500, "com.chat.EmojiCatalog")
    return Leak(("com.chat.ClientSession",))


def editor_windows(app: App) -> Leak:
    """Disposed windows in a static list of those that were opened."""
    java = app.java
    app.declare(
        "com.cad.EditorWindow: title document canvas disposed:Z visible:Z",
        "com.cad.Canvas: buffer shapes",
        "com.cad.Shape: points label",
        "com.cad.SymbolLibrary: symbols",
        "com.cad.Symbol: name outline category",
    )
    with app.leaking():
        windows = []
        for _ in range(app.grown(14)):
            shapes = [
                java.new(
                    "com.cad.Shape",
                    points=java.numbers("float[]", 12),
                    label=java.string(8),
                )
                for _ in range(18)
            ]
            canvas = java.new(
                "com.cad.Canvas", buffer=java.bytes(2000), shapes=java.list("", shapes)
            )
            windows.append(
                java.new(
                    "com.cad.EditorWindow",
                    title=java.string(20),
                    canvas=canvas,
                    disposed=1,
                )
            )
    java.static("com.cad.WindowManager", "windows", java.list("", windows))
    symbols = [
        (
            java.string(14),
            java.new(
                "com.cad.Symbol",
                name=java.string(14),
                outline=java.numbers("float[]", 40),
            ),
        )
        for _ in range(2400)
    ]
    library = java.new(
        "com.cad.SymbolLibrary", symbols=java.map_of("java.util.LinkedHashMap", symbols)
    )
    java.static("com.cad.SymbolLibrary", "INSTANCE", library)
    return Leak(("com.cad.EditorWindow",))


def rate_limits(app: App) -> Leak:
    """A bucket for each address that ever asked, beside a bounded cache."""
    java = app.java
    app.declare(
        "com.api.RateLimiter: buckets limit:I",
        "com.api.TokenBucket: tokens:D refilledAt:J",
    )
    with app.leaking():
        pairs = [
            (java.string(15), java.new("com.api.TokenBucket", tokens=1, refilledAt=2))
            for _ in range(app.grown(350))
        ]
        buckets = java.concurrent_map("", "", pairs)
    java.static(
        "com.api.Gateway", "limiter", java.new("com.api.RateLimiter", buckets=buckets)
    )
    _pages(app, 1100)
    return Leak(("com.api.TokenBucket",))


def thread_local_audit(app: App) -> Leak:
    """Each pooled thread has a list in a thread local, which nobody clears."""
    java = app.java
    app.declare(
        "com.bank.audit.AuditContext: events user",
        "com.bank.audit.AuditEvent: action time:J account",
    )
    local = java.new("java.lang.ThreadLocal", threadLocalHashCode=1)
    java.static("com.bank.audit.AuditContext", "CURRENT", local)
    for row in range(12):
        with app.leaking():
            events = [
                java.new("com.bank.audit.AuditEvent", action=java.string(10), time=3)
                for _ in range(app.grown(35))
            ]
            context = java.new(
                "com.bank.audit.AuditContext", events=java.list("", events)
            )
        java.thread(
            [], f"worker-{row}", threadLocals=java.thread_locals([(local, context)])
        )
    catalogue(app, 1500, "com.bank.TariffCatalog")
    return Leak(("com.bank.audit.AuditEvent", "com.bank.audit.AuditContext"))


def cancelled_timers(app: App) -> Leak:
    """``java.util.Timer`` keeps cancelled tasks until their time comes, in a week."""
    java = app.java
    app.declare(
        "com.mq.Delivery: message destination acknowledged:Z",
        "com.mq.Delivery$RedeliveryTask < java.util.TimerTask: this$0",
    )
    with app.leaking():
        tasks = []
        for _ in range(app.grown(220)):
            delivery = java.new(
                "com.mq.Delivery",
                message=java.bytes(90),
                destination=java.string(14),
                acknowledged=1,
            )
            tasks.append(
                _inner(
                    app,
                    "com.mq.Delivery$RedeliveryTask",
                    delivery,
                    state=3,
                    lock=java.new("java.lang.Object"),
                )
            )
        array = java.array("java.util.TimerTask", [-1, *tasks], 512)
    queue = java.new("java.util.TaskQueue", queue=array, size=len(tasks))
    thread = java.new("java.util.TimerThread", name=java.text("Timer-0"), queue=queue)
    java.heap.root(thread, "runtime")
    java.static(
        "com.mq.Broker",
        "TIMER",
        java.new("java.util.Timer", queue=queue, thread=thread),
    )
    _pages(app, 1300)
    return Leak(("com.mq.Delivery", "com.mq.Delivery$RedeliveryTask"))


def cancelled_schedules(app: App) -> Leak:
    """A scheduler without ``removeOnCancelPolicy``: timeouts of finished calls."""
    java, place = app.java, "java.util.concurrent."
    app.declare(
        "com.rpc.Call: request response finished:Z",
        "com.rpc.Call$TimeoutTask: call",
    )
    pool = java.new(f"{place}ScheduledThreadPoolExecutor", corePoolSize=2)
    with app.leaking():
        futures = []
        for _ in range(app.grown(160)):
            call = java.new(
                "com.rpc.Call",
                request=java.bytes(80),
                response=java.bytes(60),
                finished=1,
            )
            task = java.new("com.rpc.Call$TimeoutTask", call=call)
            adapter = java.new(f"{place}Executors$RunnableAdapter", task=task)
            kind = f"{place}ScheduledThreadPoolExecutor$ScheduledFutureTask"
            futures.append(_inner(app, kind, pool, state=4, callable=adapter, time=9))
        items = java.array(f"{place}RunnableScheduledFuture", futures, 512)
    queue = java.new(
        f"{place}ScheduledThreadPoolExecutor$DelayedWorkQueue",
        queue=items,
        size=len(futures),
        lock=java.lock(),
    )
    java.set(pool, workQueue=queue)
    java.static("com.rpc.Client", "TIMEOUTS", pool)
    _quotes(app, 2400)
    return Leak(
        (
            "com.rpc.Call",
            "com.rpc.Call$TimeoutTask",
            f"{place}ScheduledThreadPoolExecutor$ScheduledFutureTask",
        )
    )


def undrained_queue(app: App) -> Leak:
    """Events of a metrics client whose sender has died."""
    java = app.java
    app.declare(
        "com.metrics.MetricEvent: name value:D tags time:J",
        "com.metrics.StatsdClient: queue closed:Z prefix",
    )
    with app.leaking():
        events = [
            java.new("com.metrics.MetricEvent", name=java.string(16), value=1, time=1)
            for _ in range(app.grown(320))
        ]
        queue = java.queue("", events)
    client = java.new("com.metrics.StatsdClient", queue=queue, prefix=java.string(6))
    java.static("com.metrics.Metrics", "client", client)
    catalogue(app, 1600)
    return Leak(
        ("com.metrics.MetricEvent",),
        ("com.metrics.StatsdClient",),
        ("java.util.concurrent.LinkedBlockingQueue$Node",),
    )


def pending_futures(app: App) -> Leak:
    """Requests whose answers never came, in a map by number."""
    java, place = app.java, "java.util.concurrent.CompletableFuture"
    app.declare(
        "com.rpc.PendingRequests: pending nextId",
        "com.rpc.Envelope: id:J payload method",
        "com.rpc.Deferred: future request",
    )
    with app.leaking():
        pairs = []
        for row in range(app.grown(160)):
            envelope = java.new(
                "com.rpc.Envelope",
                id=row,
                payload=java.bytes(90),
                method=java.string(12),
            )
            then = java.new(
                f"{place}$UniApply",
                dep=java.new(place),
                fn=java.closure("com.rpc.StubFactory", [envelope]),
            )
            future = java.new(place, stack=then)
            java.set(then, src=future)
            pairs.append((java.long(row), future))
        pending = java.concurrent_map("", "", pairs)
    java.static(
        "com.rpc.Channel",
        "requests",
        java.new("com.rpc.PendingRequests", pending=pending),
    )
    _pages(app, 1300)
    return Leak(
        ("com.rpc.Envelope",),
        ("com.rpc.PendingRequests",),
        (place, f"{place}$UniApply"),
    )


def error_log(app: App) -> Leak:
    """Every error, with its stack, in a static list."""
    java = app.java
    app.declare(
        "com.erp.ErrorReport: message error time:J reported:Z",
        "com.erp.ValidationException < java.lang.RuntimeException: field",
    )
    with app.leaking():
        reports = []
        for _ in range(app.grown(50)):
            stack = [
                java.new(
                    "java.lang.StackTraceElement",
                    methodName=java.string(12),
                    lineNumber=9,
                )
                for _ in range(9)
            ]
            error = java.new(
                "com.erp.ValidationException",
                detailMessage=java.string(40),
                depth=9,
                stackTrace=java.array("java.lang.StackTraceElement", stack),
            )
            reports.append(
                java.new(
                    "com.erp.ErrorReport",
                    error=error,
                    message=java.string(20),
                    reported=1,
                )
            )
    java.static("com.erp.ErrorLog", "reports", java.list("", reports))
    catalogue(app, 1800)
    return Leak(("com.erp.ErrorReport", "com.erp.ValidationException"))


def shutdown_hooks(app: App) -> Leak:
    """A hook for each temporary client, which no client removes."""
    java = app.java
    app.declare(
        "com.files.TransferClient: host buffer closed:Z",
        "com.files.TransferClient$ShutdownHook < java.lang.Thread: client",
    )
    with app.leaking():
        hooks = []
        for _ in range(app.grown(50)):
            client = java.new(
                "com.files.TransferClient",
                host=java.string(18),
                buffer=java.bytes(512),
                closed=1,
            )
            hooks.append(
                java.new(
                    "com.files.TransferClient$ShutdownHook",
                    name=java.text("Thread-7"),
                    client=client,
                )
            )
        table = java.array(
            "java.lang.Object", [each for hook in hooks for each in (hook, hook)], 256
        )
    hooks_map = java.new("java.util.IdentityHashMap", table=table, size=len(hooks))
    java.static("java.lang.ApplicationShutdownHooks", "hooks", hooks_map)
    _pages(app, 1300)
    return Leak(("com.files.TransferClient", "com.files.TransferClient$ShutdownHook"))


def interned_ids(app: App) -> Leak:
    """A home-made interner that is given texts that never come again."""
    java = app.java
    app.declare("com.log.Interner: pool")
    with app.leaking():
        texts = [java.string(36) for _ in range(app.grown(350))]
        pool = java.concurrent_map("", "", [(each, each) for each in texts])
    java.static("com.log.Interner", "POOL", pool)
    _quotes(app, 2400)
    return Leak((), ("com.log.Interner",), ("java.lang.String",))


def open_statements(app: App) -> Leak:
    """Statements that nobody closed, in the list of their connection."""
    java, place = app.java, "com.mysql.cj.jdbc."
    app.declare(
        f"{place}ConnectionImpl: openStatements session autoCommit:Z isClosed:Z",
        f"{place}StatementImpl: connection results query isClosed:Z maxRows:I",
        f"{place}result.ResultSetImpl: rowData columns isClosed:Z",
    )
    connection = java.new(f"{place}ConnectionImpl", autoCommit=1)
    with app.leaking():
        statements = []
        for _ in range(app.grown(120)):
            result = java.new(f"{place}result.ResultSetImpl", rowData=java.bytes(160))
            statements.append(
                java.new(
                    f"{place}StatementImpl",
                    connection=connection,
                    results=result,
                    query=java.string(70),
                )
            )
        opened = java.copied_list(statements)
    java.set(connection, openStatements=opened)
    app.declare("com.erp.BatchImport: connection rows:I")
    java.thread([java.new("com.erp.BatchImport", connection=connection)], "import-1")
    catalogue(app, 1700)
    return Leak((f"{place}StatementImpl",))


def trace_spans(app: App) -> Leak:
    """Finished spans below a root span that never ends."""
    java = app.java
    app.declare(
        "com.tracing.Span: parent children operation tags finished:Z start:J",
        "com.tracing.Tracer: active sampler",
    )
    root = java.new("com.tracing.Span", operation=java.text("poll"))
    with app.leaking():
        spans = [
            java.new(
                "com.tracing.Span",
                parent=root,
                operation=java.string(14),
                finished=1,
                tags=java.map("", "", [(java.string(6), java.string(10))]),
            )
            for _ in range(app.grown(160))
        ]
        java.set(root, children=java.list("", spans))
    java.static(
        "com.tracing.GlobalTracer",
        "INSTANCE",
        java.new("com.tracing.Tracer", active=root),
    )
    catalogue(app, 1700)
    return Leak(("com.tracing.Span",))


def persistence_context(app: App) -> Leak:
    """A batch job that never clears its Hibernate session."""
    java, place = app.java, "org.hibernate.engine."
    app.declare(
        "org.hibernate.internal.SessionImpl: persistenceContext actionQueue closed:Z",
        f"{place}internal.StatefulPersistenceContext: entitiesByKey entityEntries "
        "session",
        f"{place}spi.EntityKey: identifier persister hashCode:I",
        f"{place}internal.MutableEntityEntry: id loadedState status persister",
        "com.erp.InvoiceLine: id article quantity:I amount",
    )
    with app.leaking():
        pairs, entries = [], []
        for row in range(app.grown(120)):
            number = java.long(row)
            text = java.string(20)
            line = java.new("com.erp.InvoiceLine", id=number, article=text, quantity=2)
            key = java.new(f"{place}spi.EntityKey", identifier=number)
            state = java.array("java.lang.Object", [text, number])
            entry = java.new(
                f"{place}internal.MutableEntityEntry", id=number, loadedState=state
            )
            pairs.append((key, line))
            entries.append((line, entry))
        context = java.new(
            f"{place}internal.StatefulPersistenceContext",
            entitiesByKey=java.map("", "", pairs),
            entityEntries=java.map("", "", entries),
        )
    session = java.new("org.hibernate.internal.SessionImpl", persistenceContext=context)
    java.thread([session], "nightly-batch")
    catalogue(app, 1800)
    return Leak(
        (
            "com.erp.InvoiceLine",
            f"{place}internal.MutableEntityEntry",
            f"{place}spi.EntityKey",
        )
    )


def undo_history(app: App) -> Leak:
    """An undo manager without a limit."""
    java = app.java
    app.declare(
        "javax.swing.undo.UndoManager: edits indexOfNextAdd:I limit:I inProgress:Z",
        "com.draw.MoveEdit: before after shape hasBeenDone:Z",
        "com.draw.Drawing: shapes undo",
        "com.draw.Path: points fill stroke name",
    )
    paths = [
        java.new(
            "com.draw.Path", points=java.numbers("float[]", 30), name=java.string(9)
        )
        for _ in range(2500)
    ]
    with app.leaking():
        edits = [
            java.new(
                "com.draw.MoveEdit",
                before=java.numbers("float[]", 10),
                after=java.numbers("float[]", 10),
                shape=app.random.choice(paths),
                hasBeenDone=1,
            )
            for _ in range(app.grown(240))
        ]
        pile = java.vector(edits)
    undo = java.new("javax.swing.undo.UndoManager", edits=pile, limit=-1)
    java.static(
        "com.draw.Editor",
        "drawing",
        java.new("com.draw.Drawing", undo=undo, shapes=java.list("", paths)),
    )
    return Leak(("com.draw.MoveEdit",))


def chat_rooms(app: App) -> Leak:
    """Rooms that each keep the closed connections of those who have left."""
    java = app.java
    app.declare(
        "com.chat.ChatRoom: name members topic",
        "com.chat.WebSocketSession: id uri open:Z closeStatus",
        "com.chat.CloseStatus: code:I reason",
    )
    rooms = []
    for _ in range(45):
        with app.leaking():
            members = []
            for _ in range(app.grown(9)):
                status = java.new(
                    "com.chat.CloseStatus", code=1001, reason=java.string(4)
                )
                members.append(
                    java.new(
                        "com.chat.WebSocketSession",
                        id=java.string(12),
                        closeStatus=status,
                    )
                )
            held = java.set_of(members)
        rooms.append(
            (
                java.string(8),
                java.new("com.chat.ChatRoom", members=held, name=java.string(8)),
            )
        )
    java.static("com.chat.Rooms", "ROOMS", java.concurrent_map("", "", rooms))
    _pages(app, 1400, 400)
    return Leak(("com.chat.WebSocketSession",))


def rx_observers(app: App) -> Leak:
    """Observers of a subject, of views that are gone."""
    java, place = app.java, "io.reactivex.rxjava3."
    app.declare(
        f"{place}subjects.PublishSubject: subscribers error",
        f"{place}subjects.PublishSubject$PublishDisposable: value:Z downstream parent",
        f"{place}internal.observers.LambdaObserver: onNext onError onComplete",
        "com.shop.ui.CartView: items total destroyed:Z",
        "com.shop.ui.EventBus: cart",
    )
    subject = java.new(f"{place}subjects.PublishSubject")
    with app.leaking():
        subscribers = []
        for _ in range(app.grown(120)):
            view = java.new(
                "com.shop.ui.CartView",
                items=java.list("", [java.string(12)]),
                total=java.string(7),
                destroyed=1,
            )
            observer = java.new(
                f"{place}internal.observers.LambdaObserver",
                onNext=java.closure("com.shop.ui.CartView", [view]),
            )
            subscribers.append(
                java.new(
                    f"{place}subjects.PublishSubject$PublishDisposable",
                    downstream=observer,
                    parent=subject,
                )
            )
        array = java.array(
            f"{place}subjects.PublishSubject$PublishDisposable", subscribers
        )
    inside = java.new("java.util.concurrent.atomic.AtomicReference", value=array)
    java.set(subject, subscribers=inside)
    java.static("com.shop.ui.EventBus", "cartChanges", subject)
    catalogue(app, 1600)
    return Leak(
        (
            "com.shop.ui.CartView",
            f"{place}internal.observers.LambdaObserver",
            f"{place}subjects.PublishSubject$PublishDisposable",
        )
    )


def weak_map(app: App) -> Leak:
    """A ``WeakHashMap`` whose values refer to their keys."""
    java = app.java
    app.declare(
        "com.report.LayoutInfo: document widths pages:I",
        "com.report.Document: title body released:Z",
    )
    with app.leaking():
        entries = []
        for _ in range(app.grown(130)):
            document = java.new(
                "com.report.Document",
                title=java.string(12),
                body=java.bytes(120),
                released=1,
            )
            layout = java.new(
                "com.report.LayoutInfo",
                document=document,
                widths=java.numbers("int[]", 10),
            )
            entries.append(
                java.new("java.util.WeakHashMap$Entry", referent=document, value=layout)
            )
        table = java.array("java.util.WeakHashMap$Entry", entries, 512)
    inside = java.new("java.util.WeakHashMap", table=table, size=len(entries))
    java.static("com.report.Layouts", "CACHE", inside)
    _quotes(app, 2500)
    return Leak(("com.report.LayoutInfo", "com.report.Document"))


LEAKS = tuple(
    Ordinary(make, "hprof")
    for make in (
        chart_listeners,
        closed_sessions,
        editor_windows,
        rate_limits,
        thread_local_audit,
        cancelled_timers,
        cancelled_schedules,
        undrained_queue,
        pending_futures,
        error_log,
        shutdown_hooks,
        interned_ids,
        open_statements,
        trace_spans,
        persistence_context,
        undo_history,
        chat_rooms,
        rx_observers,
        weak_map,
    )
)
