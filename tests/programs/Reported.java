import java.io.*;
import java.lang.management.ManagementFactory;
import java.lang.ref.*;
import java.nio.ByteBuffer;
import java.sql.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.*;
import javax.management.ObjectName;

/** Java programs that leak as public reports tell: {@code java Reported KIND}.
 *  Each prints "ready" and waits. The truth of each kind is in reported.toml. */
public class Reported {
    static class Order implements Serializable {
        final int number;
        final byte[] lines = new byte[900];
        Order(int number) { this.number = number; }
    }

    /** A map of one's own. */
    static class Sessions extends HashMap<String, Order> { }

    static class Session { final Map<Integer, Order> cart = new HashMap<>(); }

    interface Listener { void paid(int number); }

    static class Screen implements Listener {
        final byte[] pixels = new byte[900];
        public void paid(int number) { }
    }

    static class Resource {
        final byte[] buffer = new byte[900];
        @Override protected void finalize() throws Throwable {
            synchronized (GATE) { buffer[0]++; }
        }
    }

    static class Row { Object owner; byte[] data = new byte[500]; }

    static class Bounded extends LinkedHashMap<Integer, Order> {
        Bounded() { super(16, 0.75f, true); }
        @Override protected boolean removeEldestEntry(Map.Entry<Integer, Order> eldest) {
            return size() > 4000;
        }
    }

    /** What its inner objects hold, as they are not static. */
    static class Activity {
        final byte[] views = new byte[900];
        class Click implements Listener { public void paid(int number) { views[0]++; } }
    }

    static class Key {
        final String name;
        Key(String name) { this.name = name; }
    }

    public interface GaugeMBean { int getValue(); }

    public static class Gauge implements GaugeMBean {
        final byte[] window = new byte[900];
        public int getValue() { return window[0]; }
    }

    static class Uploader extends Handler {
        final byte[] pending = new byte[900];
        public void publish(LogRecord record) { }
        public void flush() { }
        public void close() { }
    }

    static class Driver implements java.sql.Driver {
        final byte[] settings = new byte[900];
        public Connection connect(String url, Properties info) { return null; }
        public boolean acceptsURL(String url) { return false; }
        public DriverPropertyInfo[] getPropertyInfo(String url, Properties info) { return null; }
        public int getMajorVersion() { return 1; }
        public int getMinorVersion() { return 0; }
        public boolean jdbcCompliant() { return false; }
        public Logger getParentLogger() { return null; }
    }

    static class Tracked extends WeakReference<Object> {
        final Order order;
        Tracked(Object owner, Order order) { super(owner, ENDED); this.order = order; }
    }

    static class Worker extends Thread {
        final BlockingQueue<Order> inbox = new LinkedBlockingQueue<>();
        @Override public void run() { park(); }
    }

    static class Failure extends RuntimeException {
        final Order order;
        Failure(Order order) { this.order = order; }
    }

    static final java.util.Timer TIMER = new java.util.Timer("retries", true);
    static final List<Listener> CLICKS = new ArrayList<>();
    static final Map<Key, Order> BY_KEY = new ConcurrentHashMap<>();
    static final Logger AUDIT = Logger.getLogger("shop.audit");
    static ObjectOutputStream out;
    static final Cleaner CLEANER = Cleaner.create();
    static final List<Failure> FAILURES = new LinkedList<>();
    static final ReferenceQueue<Object> ENDED = new ReferenceQueue<>();
    static final Set<Tracked> TRACKED = ConcurrentHashMap.newKeySet();
    static final Map<String, List<Order>> BY_DAY = new ConcurrentSkipListMap<>();

    static final Object GATE = new Object();
    static final ThreadLocal<byte[][]> BUFFER = new ThreadLocal<>();
    static final ThreadLocal<List<Order>> BATCH = ThreadLocal.withInitial(ArrayList::new);
    static Sessions sessions;
    static Map<Object, Object> WEAK;
    static final Map<Integer, SoftReference<Order>> SOFT = new HashMap<>();
    static ThreadPoolExecutor pool;
    static final List<Listener> LISTENERS = new CopyOnWriteArrayList<>();
    static final List<Session> OPEN = new ArrayList<>();
    static final Map<Integer, CompletableFuture<Order>> PENDING = new ConcurrentHashMap<>();
    static final List<ByteBuffer> DIRECT = new ArrayList<>();
    static Object[] slots;
    static Map<Integer, Order> recent;
    static final CompletableFuture<Integer> STARTED = new CompletableFuture<>();
    static final AtomicReference<Object> LAST = new AtomicReference<>();
    static final List<Runnable> HOOKS = new ArrayList<>();
    static final ConcurrentLinkedQueue<Order> QUEUE = new ConcurrentLinkedQueue<>();
    static final List<ClassLoader> LOADERS = new ArrayList<>();

    static void thread(String name, Runnable work) throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        Thread thread = new Thread(() -> { work.run(); begun.countDown(); park(); }, name);
        thread.setDaemon(true);
        thread.start();
        begun.await();
    }

    static void park() {
        try { Thread.sleep(3_600_000); } catch (InterruptedException ended) { }
    }

    static void export(int number, CountDownLatch begun) {
        Order[] rows = new Order[400];
        for (int i = 0; i < rows.length; i++) rows[i] = new Order(number + i);
        begun.countDown();
        park();
        if (rows[0].number < 0) throw new IllegalStateException();
    }

    static void run(String kind) throws Exception {
        switch (kind) {
            case "thread-local-buffers":
                for (int i = 0; i < 60; i++) thread("worker-" + i, () -> BUFFER.set(new byte[64][1024]));
                break;
            case "thread-local-batches":
                for (int i = 0; i < 40; i++) {
                    thread("pool-1-thread-" + i, () -> { for (int j = 0; j < 100; j++) BATCH.get().add(new Order(j)); });
                }
                break;
            case "map-subclass":
                sessions = new Sessions();
                for (int i = 0; i < 4000; i++) sessions.put("session " + i, new Order(i));
                break;
            case "weak-map":
                WEAK = new WeakHashMap<>();
                for (int i = 0; i < 4000; i++) {
                    Object key = new Object();
                    Row row = new Row();
                    row.owner = key;
                    WEAK.put(key, row);
                }
                break;
            case "soft-cache":
                for (int i = 0; i < 4000; i++) SOFT.put(i, new SoftReference<>(new Order(i)));
                break;
            case "executor-queue":
                pool = (ThreadPoolExecutor) Executors.newFixedThreadPool(2);
                for (int i = 0; i < 4000; i++) {
                    Order order = new Order(i);
                    pool.submit(() -> { park(); return order.number; });
                }
                break;
            case "listeners":
                for (int i = 0; i < 4000; i++) LISTENERS.add(new Screen());
                break;
            case "lambda-listeners":
                for (int i = 0; i < 4000; i++) {
                    Order order = new Order(i);
                    LISTENERS.add(number -> order.lines[0]++);
                }
                break;
            case "carts-of-sessions":
                for (int i = 0; i < 300; i++) {
                    Session session = new Session();
                    for (int j = 0; j < 15; j++) session.cart.put(j, new Order(j));
                    OPEN.add(session);
                }
                break;
            case "pending-futures":
                for (int i = 0; i < 4000; i++) {
                    Order order = new Order(i);
                    CompletableFuture<Order> reply = new CompletableFuture<>();
                    reply.thenAccept(got -> order.lines[0]++);
                    PENDING.put(i, reply);
                }
                break;
            case "dependents":
                for (int i = 0; i < 4000; i++) {
                    Order order = new Order(i);
                    STARTED.thenAccept(got -> order.lines[0]++);
                }
                break;
            case "direct-buffers":
                for (int i = 0; i < 40; i++) DIRECT.add(ByteBuffer.allocateDirect(1 << 20));
                break;
            case "sparse-array":
                slots = new Object[2_000_000];
                slots[7] = new Order(7);
                break;
            case "bounded-map":
                recent = new Bounded();
                for (int i = 0; i < 5000; i++) recent.put(i, new Order(i));
                break;
            case "finalizer-blocked":
                new Thread(() -> { synchronized (GATE) { park(); } }, "holder").start();
                Thread.sleep(200);
                for (int i = 0; i < 4000; i++) new Resource();
                System.gc();
                Thread.sleep(500);
                System.gc();
                Thread.sleep(500);
                break;
            case "request-threads":
                CountDownLatch begun = new CountDownLatch(8);
                for (int i = 0; i < 8; i++) {
                    int number = i;
                    Thread thread = new Thread(() -> export(number, begun), "http-nio-8080-exec-" + i);
                    thread.setDaemon(true);
                    thread.start();
                }
                begun.await();
                break;
            case "shutdown-hooks":
                for (int i = 0; i < 4000; i++) {
                    Order order = new Order(i);
                    Runtime.getRuntime().addShutdownHook(new Thread(() -> order.lines[0]++));
                }
                break;
            case "queue":
                for (int i = 0; i < 4000; i++) QUEUE.add(new Order(i));
                break;
            case "linked-rows":
                for (int i = 0; i < 6000; i++) {
                    Row row = new Row();
                    row.owner = LAST.get();
                    LAST.set(row);
                }
                break;
            case "local-of-main":
                Map<Integer, Order> orders = new TreeMap<>();
                for (int i = 0; i < 4000; i++) orders.put(i, new Order(i));
                wait(kind);
                if (orders.isEmpty()) throw new IllegalStateException();
                break;
            case "timer-tasks":
                for (int i = 0; i < 4000; i++) {
                    Screen screen = new Screen();
                    TIMER.schedule(new TimerTask() { public void run() { screen.paid(1); } }, 3_600_000);
                }
                break;
            case "mbeans":
                for (int i = 0; i < 3000; i++) {
                    ManagementFactory.getPlatformMBeanServer()
                        .registerMBean(new Gauge(), new ObjectName("shop:type=Gauge,number=" + i));
                }
                break;
            case "keys-without-equals":
                for (int i = 0; i < 4000; i++) BY_KEY.put(new Key("today"), new Order(i));
                break;
            case "log-handlers":
                for (int i = 0; i < 3000; i++) AUDIT.addHandler(new Uploader());
                break;
            case "inner-objects":
                for (int i = 0; i < 4000; i++) CLICKS.add(new Activity().new Click());
                break;
            case "lost-thread-locals":
                List<ThreadLocal<Order>> locals = new ArrayList<>();
                for (int i = 0; i < 4000; i++) {
                    locals.add(new ThreadLocal<>());
                    locals.get(i).set(new Order(i));
                }
                break;
            case "drivers":
                for (int i = 0; i < 3000; i++) DriverManager.registerDriver(new Driver());
                break;
            case "object-stream":
                out = new ObjectOutputStream(OutputStream.nullOutputStream());
                for (int i = 0; i < 4000; i++) out.writeObject(new Order(i));
                break;
            case "delayed-futures":
                for (int i = 0; i < 4000; i++) {
                    Order order = new Order(i);
                    CompletableFuture.delayedExecutor(1, TimeUnit.HOURS).execute(() -> order.lines[0]++);
                }
                break;
            case "cleaners":
                for (int i = 0; i < 4000; i++) {
                    Order order = new Order(i);
                    CLEANER.register(order, () -> order.lines[0]++);
                }
                break;
            case "failures":
                for (int i = 0; i < 4000; i++) FAILURES.add(new Failure(new Order(i)));
                break;
            case "tracked-references":
                for (int i = 0; i < 4000; i++) TRACKED.add(new Tracked(new Object(), new Order(i)));
                break;
            case "inbox-of-thread":
                Worker worker = new Worker();
                worker.setDaemon(true);
                worker.start();
                for (int i = 0; i < 4000; i++) worker.inbox.add(new Order(i));
                break;
            case "lists-by-day":
                for (int i = 0; i < 9000; i++) {
                    BY_DAY.computeIfAbsent("day " + i % 90, day -> new ArrayList<>()).add(new Order(i));
                }
                break;
            case "common-pool":
                for (int i = 0; i < 4000; i++) {
                    Order order = new Order(i);
                    ForkJoinPool.commonPool().submit(() -> { park(); order.lines[0]++; });
                }
                break;
            case "caches":
                Caches.fill();
                break;
            default:
                throw new IllegalArgumentException(kind);
        }
    }

    static void wait(String kind) throws Exception {
        System.out.println("ready");
        System.in.read();
    }

    public static void main(String[] arguments) throws Exception {
        run(arguments[0]);
        wait(arguments[0]);
    }

    /** Reflection, so that it compiles without the library. */
    static class Caches {
        static Object CACHE;
        static void fill() throws Exception {
            Class<?> builder = Class.forName("com.google.common.cache.CacheBuilder");
            Object made = builder.getMethod("newBuilder").invoke(null);
            CACHE = builder.getMethod("build").invoke(made);
            java.lang.reflect.Method put = Class.forName("com.google.common.cache.Cache")
                .getMethod("put", Object.class, Object.class);
            for (int i = 0; i < 4000; i++) put.invoke(CACHE, "order " + i, new Order(i));
        }
    }
}
