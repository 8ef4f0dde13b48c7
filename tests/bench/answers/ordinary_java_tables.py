"""Ordinary Java programs that do not leak: tables, trees, models, indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.answers.app import Ordinary

if TYPE_CHECKING:
    from tests.bench.answers.app import App


def constants(app: App) -> None:
    """Tables of countries, currencies and characters in static finals."""
    java = app.java
    app.declare(
        "com.geo.Country: iso name currency languages",
        "com.geo.City: name lat:D lon:D country",
    )
    countries = [
        java.new(
            "com.geo.Country",
            iso=java.string(2),
            name=java.string(12),
            currency=java.string(3),
            languages=java.list("", [java.string(2)]),
        )
        for _ in range(250)
    ]
    cities = [
        java.new(
            "com.geo.City",
            name=java.string(10),
            lat=1,
            country=app.random.choice(countries),
        )
        for _ in range(2500)
    ]
    java.static("com.geo.Country", "ALL", java.array("com.geo.Country", countries))
    pairs = [(java.string(10), each) for each in cities]
    java.static("com.geo.Cities", "BY_NAME", java.map("", "", pairs))
    java.static("com.geo.Unicode", "CATEGORIES", java.bytes(120_000))
    names = [java.string(18) for _ in range(1500)]
    java.static("com.geo.Unicode", "NAMES", java.array("java.lang.String", names))


def messages(app: App) -> None:
    """Spring's message source: properties of each locale."""
    java, place = app.java, "org.springframework.context.support."
    source = f"{place}ReloadableResourceBundleMessageSource"
    app.declare(
        f"{source}: cachedProperties cachedMergedProperties defaultEncoding",
        f"{source}$PropertiesHolder: properties fileTimestamp:J "
        "cachedMessageFormats this$0",
    )
    bean, pairs = java.new(source), []
    for _ in range(14):
        texts = [
            (java.string(28), java.string(app.random.randint(10, 80)))
            for _ in range(220)
        ]
        holder = java.new(
            f"{source}$PropertiesHolder", properties=java.concurrent_map("", "", texts)
        )
        java.heap.held[holder][-1] = bean
        locale = java.new("java.util.Locale", languageTag=java.string(5))
        pairs.append((locale, holder))
    java.set(bean, cachedMergedProperties=java.concurrent_map("", "", pairs))
    java.static("com.web.Application", "messageSource", bean)


def serializers(app: App) -> None:
    """Jackson: a serializer for each class, with writers of properties."""
    java, place = app.java, "com.fasterxml.jackson.databind."
    app.declare(
        f"{place}ObjectMapper: _serializerProvider _rootDeserializers _typeFactory",
        f"{place}ser.SerializerCache: _sharedMap _readOnlyMap",
        f"{place}ser.DefaultSerializerProvider$Impl: _serializerCache _config",
        f"{place}util.TypeKey: _hashCode:I _class _type _isTyped:Z",
        f"{place}ser.BeanSerializer: _beanType _props _filteredProps",
        f"{place}ser.BeanPropertyWriter: _name _declaredType _accessorMethod "
        "_serializer",
        f"{place}introspect.AnnotatedMethod: _method _annotations",
    )
    pairs = []
    for _ in range(260):
        writers = []
        for _ in range(app.random.randint(4, 14)):
            method = java.new(
                f"{place}introspect.AnnotatedMethod", _annotations=java.map("", "", [])
            )
            writers.append(
                java.new(
                    f"{place}ser.BeanPropertyWriter",
                    _name=java.string(10),
                    _accessorMethod=method,
                )
            )
        props = java.array(f"{place}ser.BeanPropertyWriter", writers)
        bean = java.new(
            f"{place}ser.BeanSerializer", _props=props, _filteredProps=props
        )
        pairs.append((java.new(f"{place}util.TypeKey"), bean))
    cache = java.new(f"{place}ser.SerializerCache", _sharedMap=java.map("", "", pairs))
    provider = java.new(
        f"{place}ser.DefaultSerializerProvider$Impl", _serializerCache=cache
    )
    mapper = java.new(f"{place}ObjectMapper", _serializerProvider=provider)
    java.static("com.web.Json", "MAPPER", mapper)


def syntax_trees(app: App) -> None:
    """A compiler at work: the trees of its compilation units."""
    java, place = app.java, "com.lang.ast."
    kinds = ("MethodDecl", "BlockStmt", "CallExpr", "NameExpr", "BinaryExpr", "Literal")
    app.declare(
        *(f"{place}{kind}: parent children token line:I column:I" for kind in kinds),
        f"{place}CompilationUnit: path types source",
        f"{place}Token: text kind:I",
        "com.lang.Compiler: units symbols options",
    )
    units = []
    for _ in range(60):
        unit = java.new(
            place + "CompilationUnit", path=java.string(40), source=java.string(900)
        )
        made: list[int] = []
        children: dict[int, list[int]] = {}
        for _ in range(70):
            token = java.new(
                place + "Token", text=java.string(app.random.randint(2, 12))
            )
            parent = app.random.choice(made[-12:]) if made else -1
            node = java.new(
                place + app.random.choice(kinds), parent=parent, token=token, line=7
            )
            children.setdefault(parent, []).append(node)
            made.append(node)
        for parent, below in children.items():
            if parent != -1:
                java.set(parent, children=java.list("", below))
        java.set(unit, types=java.list("", made[:1]))
        units.append((java.string(40), unit))
    compiler = java.new(
        "com.lang.Compiler", units=java.map_of("java.util.LinkedHashMap", units)
    )
    java.thread([compiler], "main")


def dictionary(app: App) -> None:
    """A trie of words for a spelling checker."""
    java = app.java
    app.declare(
        "com.text.TrieNode: children letter:C isWord:Z",
        "com.text.Speller: root language",
    )
    root = java.new("com.text.TrieNode")
    made = [root]
    below: dict[int, list[int]] = {root: []}
    for _ in range(5500):
        parent = made[app.random.randrange(max(0, len(made) - 900), len(made))]
        node = java.new("com.text.TrieNode", letter=97, isWord=app.random.randrange(2))
        below[parent].append(node)
        below[node] = []
        made.append(node)
    for parent, held in below.items():
        if held:
            java.set(parent, children=java.array("com.text.TrieNode", held, 26))
    java.static("com.text.Speller", "ENGLISH", java.new("com.text.Speller", root=root))


def weights(app: App) -> None:
    """A network with its weights."""
    java = app.java
    app.declare(
        "org.ml.nn.DenseLayer: weights biases activation name",
        "org.ml.nn.Network: layers optimizer trained:Z",
        "org.ml.Tokenizer: vocabulary merges",
        "org.ml.Predictor: network tokenizer closed:Z",
    )
    layers = []
    for _ in range(12):
        rows = [java.numbers("float[]", 128) for _ in range(256)]
        layers.append(
            java.new(
                "org.ml.nn.DenseLayer",
                weights=java.array("float[]", rows),
                biases=java.numbers("float[]", 256),
                name=java.string(12),
            )
        )
    network = java.new("org.ml.nn.Network", layers=java.list("", layers), trained=1)
    words = [
        (java.string(7), java.new("java.lang.Integer", value=row))
        for row in range(2000)
    ]
    tokenizer = java.new("org.ml.Tokenizer", vocabulary=java.map("", "", words))
    predictor = java.new("org.ml.Predictor", network=network, tokenizer=tokenizer)
    java.static("com.web.Recommendations", "predictor", predictor)


def routes(app: App) -> None:
    """Spring's beans and its table of request mappings."""
    java, place = app.java, "org.springframework."
    handler = f"{place}web.servlet.handler.AbstractHandlerMethodMapping"
    info = f"{place}web.servlet.mvc.method.RequestMappingInfo"
    app.declare(
        f"{handler}$MappingRegistry: registry pathLookup nameLookup this$0",
        f"{handler}$MappingRegistration: mapping handlerMethod directPaths mappingName",
        f"{info}: name patternsCondition methodsCondition paramsCondition",
        f"{place}web.servlet.mvc.condition.PatternsRequestCondition: patterns "
        "pathMatcher",
        f"{place}web.method.HandlerMethod: bean method parameters description",
        f"{place}core.MethodParameter: executable parameterIndex:I parameterName",
        f"{place}beans.factory.support.DefaultListableBeanFactory: singletonObjects "
        "beanDefinitionMap mergedBeanDefinitions",
        f"{place}beans.factory.support.RootBeanDefinition: beanClass propertyValues "
        "scope abstractFlag:Z lazyInit beanName",
    )
    beans, definitions, registry = [], [], []
    for row in range(420):
        kind = f"com.web.area{row % 5}.Bean{row}Service"
        app.declare(f"{kind}: repository clock enabled:Z")
        name = java.string(22)
        beans.append((name, java.new(kind)))
        definition = java.new(
            f"{place}beans.factory.support.RootBeanDefinition",
            beanName=name,
            propertyValues=java.list("", []),
        )
        definitions.append((name, definition))
    for _ in range(380):
        parameters = [
            java.new(f"{place}core.MethodParameter", parameterName=java.string(8))
            for _ in range(3)
        ]
        method = java.new(
            f"{place}web.method.HandlerMethod",
            bean=app.random.choice(beans)[1],
            parameters=java.array(f"{place}core.MethodParameter", parameters),
            description=java.string(60),
        )
        condition = java.new(
            f"{place}web.servlet.mvc.condition.PatternsRequestCondition",
            patterns=java.set_of([java.string(25)]),
        )
        mapping = java.new(info, patternsCondition=condition)
        registration = java.new(
            f"{handler}$MappingRegistration",
            mapping=mapping,
            handlerMethod=method,
            directPaths=java.set_of([java.string(25)]),
            mappingName=java.string(20),
        )
        registry.append((mapping, registration))
    table = java.new(f"{handler}$MappingRegistry", registry=java.map("", "", registry))
    factory = java.new(
        f"{place}beans.factory.support.DefaultListableBeanFactory",
        singletonObjects=java.concurrent_map(
            "", "", [*beans, (java.string(20), table)]
        ),
        beanDefinitionMap=java.concurrent_map("", "", definitions),
    )
    java.static("com.web.Application", "beanFactory", factory)


def hibernate_metamodel(app: App) -> None:
    """Hibernate: what it knows of entities, and its bounded cache of query plans."""
    java, place = app.java, "org.hibernate."
    bounded = f"{place}internal.util.collections.BoundedConcurrentHashMap"
    app.declare(
        f"{place}internal.SessionFactoryImpl: metamodel queryPlanCache isClosed:Z "
        "settings",
        f"{place}metamodel.internal.MetamodelImpl: entityPersisterMap "
        "collectionPersisterMap",
        f"{place}persister.entity.SingleTableEntityPersister: propertyNames sqlInsert "
        "sqlUpdate columns factory mutable:Z",
        f"{place}engine.query.spi.QueryPlanCache: queryPlanCache",
        f"{bounded}: segments",
        f"{bounded}$Segment: table count:I evictionListener eviction loadFactor:F",
        f"{bounded}$HashEntry: key hash:I value next",
        f"{place}engine.query.spi.HQLQueryPlan: sourceQuery translators shallow:Z",
        f"{place}hql.internal.ast.QueryTranslatorImpl: hql sql compiled:Z "
        "tokenReplacements",
    )
    factory = java.new(f"{place}internal.SessionFactoryImpl")
    persisters = []
    for _ in range(90):
        columns = [java.string(14) for _ in range(18)]
        persisters.append(
            (
                java.string(36),
                java.new(
                    f"{place}persister.entity.SingleTableEntityPersister",
                    factory=factory,
                    propertyNames=java.array("java.lang.String", columns),
                    columns=java.array(
                        "java.lang.String", [java.string(16) for _ in columns]
                    ),
                    sqlInsert=java.array("java.lang.String", [java.string(300)]),
                    sqlUpdate=java.array("java.lang.String", [java.string(340)]),
                    mutable=1,
                ),
            )
        )
    segments = []
    for _ in range(8):
        entries = []
        for _ in range(64):
            translator = java.new(
                f"{place}hql.internal.ast.QueryTranslatorImpl",
                hql=java.string(90),
                sql=java.string(app.now.randint(250, 350)),
                compiled=1,
            )
            plan = java.new(
                f"{place}engine.query.spi.HQLQueryPlan",
                sourceQuery=java.string(90),
                translators=java.array(
                    f"{place}hql.internal.ast.QueryTranslatorImpl", [translator]
                ),
            )
            entries.append(
                java.new(f"{bounded}$HashEntry", key=java.string(90), value=plan)
            )
        table = java.array(f"{bounded}$HashEntry", entries, 128)
        segments.append(java.new(f"{bounded}$Segment", table=table, count=64))
    cache = java.new(bounded, segments=java.array(f"{bounded}$Segment", segments))
    plans = java.new(f"{place}engine.query.spi.QueryPlanCache", queryPlanCache=cache)
    model = java.new(
        f"{place}metamodel.internal.MetamodelImpl",
        entityPersisterMap=java.concurrent_map("", "", persisters),
    )
    java.set(factory, metamodel=model, queryPlanCache=plans)
    java.static("com.crm.Persistence", "SESSION_FACTORY", factory)


def search_index(app: App) -> None:
    """Lucene: open segments with their terms in memory."""
    java, place = app.java, "org.apache.lucene."
    app.declare(
        f"{place}index.StandardDirectoryReader: subReaders directory closed:Z refCount",
        f"{place}index.SegmentReader: core si liveDocs closed:Z",
        f"{place}index.SegmentCoreReaders: fields norms",
        f"{place}codecs.blocktree.FieldReader: fieldInfo index numTerms:J rootCode",
        f"{place}util.fst.FST: bytes start:J outputs",
        f"{place}index.FieldInfo: name number:I attributes",
        f"{place}search.SearcherManager: current closed:Z",
    )
    readers = []
    for _ in range(24):
        fields = []
        for _ in range(30):
            fst = java.new(
                f"{place}util.fst.FST", bytes=java.bytes(app.random.randint(400, 2500))
            )
            about = java.new(
                f"{place}index.FieldInfo",
                name=java.string(14),
                attributes=java.map("", "", []),
            )
            field = java.new(
                f"{place}codecs.blocktree.FieldReader",
                fieldInfo=about,
                index=fst,
                numTerms=99,
            )
            fields.append((java.string(14), field))
        core = java.new(
            f"{place}index.SegmentCoreReaders", fields=java.map("", "", fields)
        )
        readers.append(java.new(f"{place}index.SegmentReader", core=core))
    reader = java.new(
        f"{place}index.StandardDirectoryReader",
        subReaders=java.array(f"{place}index.SegmentReader", readers),
    )
    manager = java.new(f"{place}search.SearcherManager", current=reader)
    java.static("com.shop.Search", "searcher", manager)


HEALTHY = tuple(
    Ordinary(make, "hprof")
    for make in (
        constants, messages, serializers, syntax_trees, dictionary, weights, routes,
        hibernate_metamodel, search_index,
    )
)  # fmt: skip
