"""What is known of the JVM, and of Android's runtime."""

from __future__ import annotations

from ingest.runtimes.base import Platform, Runtime

_LAMBDA = r"([\w.$]+?)\$\$(?:External|Internal)?(?:Synthetic)?Lambda[\w$/+]*"

JVM = Runtime(
    name="jvm",
    program="a Java program",
    supertypes=("<super>",),
    enums=("java.lang.Enum",),
    weak="soft, weak or phantom references",
    has_finalizer_queue=True,
    ended_words=("destroyed", "cleared"),
    queued_tasks={
        "java.util.concurrent.ScheduledThreadPoolExecutor$ScheduledFutureTask": (
            "callable",
            "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue",
        ),
    },
    metadata=(
        # Of class loaders only those that each program has.
        "java.lang.Class", "java.lang.Class$*", "java.lang.ClassLoader",
        "java.lang.BootClassLoader", "jdk.*ClassLoader*", "sun.*ClassLoader*",
        "java.lang.Module", "java.lang.module.*", "java.lang.Module$*",
        "java.lang.reflect.*",
        "java.lang.invoke.*", "java.lang.ClassValue*",
        "java.security.ProtectionDomain*", "jdk.internal.reflect.*", "sun.reflect.*",
        "dalvik.system.*", "java.lang.DexCache", "java.lang.ref.Finalizer$*",
        "jdk.internal.jimage.*",
        # What Groovy knows of each class.
        "org.codehaus.groovy.reflection.*", "org.codehaus.groovy.runtime.metaclass.*",
        "org.codehaus.groovy.runtime.callsite.*", "groovy.lang.MetaClassImpl*",
    ),
    loaders=r"ClassLoader$",
    # The directories of open archives: most programs open none but their class path.
    of_loaders={
        "java.util.zip.ZipFile$Source": "jdk.internal.loader.URLClassPath$JarLoader",
    },
    constants="<resolved_references>",
    # Of Java, and of Kotlin, of whose coroutines also what they have at hand.
    lambdas=r"(.+?)\$\$",
    captured=r"(?:this|val|arg)\$|[A-Z]?\$\w",
    # Certificates, time zones, currencies, languages, names of characters, what beans
    # know of each class, the tables of Groovy's parser, and the classes that it knows.
    read_once={
        "sun.security.ssl.X509TrustManagerImpl": ("trustedCerts", 1000),
        "java.time.zone.TzdbZoneRulesProvider": ("regionToRules", 1000),
        "sun.util.calendar.ZoneInfoFile": ("zones", 1000),
        "java.util.Currency": ("instances", 1000),
        "java.util.Locale$Cache": ("LOCALECACHE", 2000),
        "java.util.Locale$LocaleCache": ("LOCALE_CACHE", 2000),
        "sun.util.locale.BaseLocale": ("CACHE", 2000),
        "sun.util.locale.BaseLocale$Cache": ("CACHE", 2000),
        "sun.util.resources.Bundles": ("cacheList", 10_000),
        "java.lang.CharacterName": ("refCharName", 1),
        "java.beans.ThreadGroupContext": ("beanInfoCache", 20_000),
        "org.apache.groovy.parser.antlr4.GroovyParser": ("_ATN", 10_000),
        "org.apache.groovy.parser.antlr4.GroovyLexer": ("_ATN", 10_000),
        "org.codehaus.groovy.ast.ClassHelper": ("", 10_000),
    },
    fixed=("java.util.ImmutableCollections$*", "com.google.common.collect.Immutable*",
        "com.google.common.collect.Regular*",
        "java.util.concurrent.ArrayBlockingQueue",
        "java.util.concurrent.atomic.Atomic*Array"),
    # Arrays of numbers are values, so that a large buffer has a name; weak references
    # hold nothing but themselves.
    values=(
        *(f"{name}[[]]" for name in (
            "boolean", "char", "float", "double", "byte", "short", "int", "long",
        )),
        "java.lang.ref.WeakReference",
    ),
    containers=(
        "*[[]]", "java.util.*Map", "java.util.*Map$*", "java.util.*List",
        "java.util.*List$*", "java.util.*Set", "java.util.*Set$*", "java.util.*Queue",
        "java.util.*Queue$*", "java.util.*Deque", "java.util.*Deque$*",
        "java.util.Hashtable*", "java.util.Vector*", "java.util.Stack",
        "java.util.Properties", "java.util.Collections$*", "java.util.Arrays$*",
        "java.util.ImmutableCollections$*", "java.util.Optional*",
        "java.util.concurrent.*", "akka.dispatch.forkjoin.*",
        "scala.concurrent.forkjoin.*", "jsr166*", "java.util.stream.*",
        "java.util.function.*", "java.util.Timer*", "java.util.TaskQueue",
        "java.lang.Object", "java.lang.ThreadLocal*",
        "java.lang.InheritableThreadLocal*",
        "java.lang.ref.*", "java.beans.PropertyChange*", "*$$Lambda*",
        "java.lang.VirtualThread$*",
        "*$$ExternalSyntheticLambda*", "*$$InternalSyntheticLambda*",
        "jdk.internal.ref.*", "jdk.internal.util.*",
        "kotlin.collections.*", "kotlin.Pair", "kotlin.Triple", "kotlin.Lazy*",
        "kotlin.*Lazy*", "kotlin.jvm.internal.Ref$*", "kotlinx.coroutines.*",
        "cats.effect.*", "zio.*", "scala.collection.*", "scala.Some", "scala.Tuple*",
        "android.util.*Array*", "android.util.*Map*", "androidx.collection.*",
        "android*.arch.core.internal.*", "android.os.Message*",
        "com.google.common.collect.*", "it.unimi.dsi.fastutil.*",
        "org.eclipse.collections.*", "org.jctools.queues.*", "org.pcollections.*",
        "gnu.trove.*", "com.carrotsearch.hppc.*", "io.vavr.collection.*",
        "net.openhft.koloboke.*", "com.koloboke.*", "org.cliffc.high_scale_lib.*",
        "com.googlecode.concurrentlinkedhashmap.*",
        "org.agrona.collections.*", "org.apache.commons.collections*",
        "io.netty.util.collection.*", "clojure.lang.Persistent*",
        "clojure.lang.*Node*", "clojure.lang.*Seq*", "clojure.lang.*Cons*",
        "clojure.lang.Array*", "clojure.lang.Atom*", "clojure.lang.Agent*",
        "clojure.lang.Ref*", "clojure.lang.Var*", "clojure.lang.Delay",
        "clojure.lang.Volatile", "clojure.lang.MapEntry", "clojure.lang.Transient*",
        "com.google.common.cache.LocalCache*", "com.github.benmanes.caffeine.cache.*",
    ),
    library=(
        "java.*", "javax.*", "jdk.*", "sun.*", "com.sun.*", "kotlin.*", "kotlinx.*",
        "scala.*", "groovy.*", "groovyjarjar*", "org.codehaus.groovy.*",
        "org.apache.groovy.*", "clojure.*", "android.*", "androidx.*", "com.android.*",
        "libcore.*", "dalvik.*", "org.apache.harmony.*", "<class 0x*>",
    ),
    missing="such as archived classes of HotSpot that the program has not used",
    bounded=(
        # Generated classes of Caffeine are named by their features, such as a maximum
        # of size or weight.
        "com.github.benmanes.caffeine.cache.[SW][SI]*M[SW]*", "org.ehcache.*",
    ),
    extended_map="java.util.LinkedHashMap",
    collection_types=tuple(
        f"java.util.Abstract{name}"
        for name in ("Collection", "List", "Map", "Queue", "SequentialList", "Set")
    ),
    collection_parts=r"\$\w*(?:Bin|Bucket|Cell|Entry|Node|Segment|Table)(?:\[\])*$",
    patterns={
        "cache": r"^clojure\.core\$memoize\$",
        "event handlers": r"\.SubmissionPublisher\$BufferedSubscription$",
        "timer": r"DelegatedScheduled|ScheduledThreadPool",
        "lock": r"^kotlinx\.coroutines\.sync\.(?:Mutex|Semaphore)Impl$",
        "lazy list": r"^scala\.collection\.immutable\.(?:LazyList|Stream)\b"
            r"|^clojure\.lang\.LazySeq$|^io\.vavr\.collection\.Stream\b",
        "queue": r"^android\.os\.Message$|\bcoroutines\.channels\.\w*Channel\b",
        # Operators of flows are called FlatMap, and have nested classes.
        "map": r"(?<!Flat)Map(N|\d|\$|$)|ImmutableCollections\$Set"
            r"|^scala\.collection\.\w+\.TreeSet$",
    },
    limited_keys=("java.lang.Class", "java.util.Locale", "java.lang.reflect.Method",
        "java.util.TimeZone", "sun.util.calendar.ZoneInfo"),
    holders={
        "java.lang.ThreadLocal$ThreadLocalMap$Entry": {"": "ThreadLocal {name}"},
        "clojure.lang.Var": {"": "var {name}"},
    },
    named_by={"clojure.lang.Var": (("ns", "name", "name"), ("sym", "name"))},
    has_private_fields=True,
    command=("props", "sun.java.command"),
    freed_by=(
        # The names that the runtime gives them.
        (r"^threads? pool-[\d#]+-thread-[\d#]+$",
            "shut down the executors that have them (ExecutorService.shutdown)"),
        (r"^threads? Timer-[\d#]+$", "cancel the timers that have them (Timer.cancel)"),
        (r"ApplicationShutdownHooks\.hooks ->",
            "remove the shutdown hooks (Runtime.removeShutdownHook)"),
        (r"\bDeleteOnExitHook\.files ->",
            "delete the files, without deleteOnExit(), which keeps their names"),
        (r"\.mQueue -> MessageQueue$",
            "remove the callbacks and messages (Handler.removeCallbacksAndMessages)"),
        (r"\w*hreadLocals -> ThreadLocal\$ThreadLocalMap$",
            "remove the values of the thread-locals (ThreadLocal.remove)"),
        (r"\.arch\.core\.internal\.\w*SafeIterableMap$", "remove the observers"),
        (r" -> LoadedApk$|\bLoadedApk\.m(?:Receivers|Services)\b",
            "unregister the receivers, and unbind the services"),
        (r" -> AnimationHandler$|^AnimationHandler\.", "cancel the animators"),
        # What a coroutine of Kotlin returns to, once it goes on.
        (r"\$\w+\$\d+\.completion ->|\.CancellableContinuationImpl$",
            "cancel the coroutines that wait, or their scope"),
    ),
    keyed_by={"java.lang.ThreadLocal$ThreadLocalMap$Entry": "referent"},
    entries_fields={"elementData": "java.lang.Object[]"},
    weak_entry="java.util.WeakHashMap$Entry",
    weak_type="java.lang.ref.WeakReference",
    mapped_prefix="jdk.internal.jimage.",
    worker="java.util.concurrent.ThreadPoolExecutor$Worker",
    timers=("java.util.concurrent.ScheduledThreadPoolExecutor$ScheduledFutureTask",),
    stacks_in_heap="java.lang.VirtualThread",
    runs=("target", "holder", "task"),
    listeners=r"(?:Listener|Observer)(?:s|List|Map|Set|\[\])?$",
    waiting={
        "java.util.concurrent.CompletableFuture": ("stack", ""),
        "scala.concurrent.impl.Promise$DefaultPromise":
            ("value", "scala.concurrent.impl.Promise$ManyCallbacks"),
    },
    # A collection may have it, which alone can signal it.
    wakes={"java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject": ""},
    filler=("jdk.internal.vm.FillerElement[]", "int[]"),
    root_words={"not_recorded": "a value of a class (ClassValue)"},
    finalizer_threads=("Finalizer", "FinalizerDaemon"),
    of_finalizer=("java.lang.ref.Finalizer", "java.lang.ref.FinalizerReference"),
    finalizer_rests="java.lang.ref.ReferenceQueue.",
    platforms=(
        Platform("android", "an Android program", "android.", "Android Runtime",
            "adb shell am dumpheap"),
    ),
    spoken=(
        # What a lambda has captured is in a field that no source names.
        (rf"\bThreadLocal {_LAMBDA}\.\w+\$\d+", r"a ThreadLocal of a lambda of \1"),
        (rf"{_LAMBDA}\.\w+\$\d+", r"a lambda of \1"),
        (_LAMBDA, r"lambda of \1"),
    ),
    numbers=(
        # Lambdas, hidden classes, proxies, generated classes.
        (r"\$\$(Lambda|ExternalSyntheticLambda|InternalSyntheticLambda)[\w$/+]*",
            r"$$\1"),
        (r"[/+]0x[0-9a-fA-F]+", ""),
        (r"\$Proxy\d+", "$Proxy"),
        (r"\bjdk\.proxy\d+\.", "jdk.proxy."),
        (r"(Generated\w+Accessor)\d+", r"\1"),
        (r"(\$\$(?:EnhancerBy|FastClassBy)\w*?\$\$)[0-9a-f]+", r"\1"),
        (r"(\$(?:ByteBuddy|HibernateProxy|MockitoMock|anonfun))\$\w+", r"\1"),
    ),
    inside=(
        r"java\.util\.[\w.]*(?:Map|[Tt]able|Set)\$\w*(?:Node|Entry|Bin)(?:\[\])*",
        r"java\.lang\.ThreadLocal\$ThreadLocalMap\$Entry(?:\[\])*",
        r"clojure\.lang\.Persistent\w+\$\w*Node(?:\[\])*",
        r"scala\.collection\.(?:immutable|concurrent)\.\w*Node(?:\[\])*",
    ),
)  # fmt: skip
