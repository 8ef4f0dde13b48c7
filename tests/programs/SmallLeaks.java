package zoo;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Scanner;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;

/** Small leaks in a large heap; and a program that works as hard, and leaks nothing. */
public final class SmallLeaks {
    static final class Item {
        final String name;
        final int[] parts = new int[4];

        Item(int number) {
            name = "item " + number;
        }
    }

    /** What the program needs: 100,000 objects, in entries of a map. */
    static final Map<Integer, Item> STOCK = new HashMap<>();

    // Static list: nobody removes orders.
    static final class Order {}

    static final List<Order> HISTORY = new ArrayList<>();

    // Event: nobody unsubscribes.
    interface PriceListener {
        void changed();
    }

    static final class Market {
        final List<PriceListener> listeners = new CopyOnWriteArrayList<>();
    }

    static final class Chart implements PriceListener {
        final byte[] pixels = new byte[100];

        @Override
        public void changed() {
            pixels[0]++;
        }
    }

    static final Market MARKET = new Market();

    // Cache without a bound.
    static final class Report {}

    static final Map<String, Report> REPORTS = new HashMap<>();

    // Closure: what waits for an answer that never comes.
    static final class Basket {}

    static final Deque<Runnable> WAITING = new ArrayDeque<>();

    // Thread-local of a thread that lives as long as the program.
    static final class Request {}

    static final ThreadLocal<List<Request>> SERVED = ThreadLocal.withInitial(ArrayList::new);
    static final BlockingQueue<Runnable> WORK = new ArrayBlockingQueue<>(1);

    // Timer: tasks of an hour from now.
    static final class Reminder extends TimerTask {
        @Override
        public void run() {}
    }

    static final Timer TIMER = new Timer("reminders", true);

    // Linked list.
    static final class LogLine {
        LogLine earlier;
    }

    static LogLine latest;

    // Map whose keys change after they were put, so that they cannot be removed.
    static final class Seat {
        int row;

        Seat(int row) {
            this.row = row;
        }

        @Override
        public int hashCode() {
            return row;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Seat && ((Seat) other).row == row;
        }
    }

    static final class Guest {}

    static final Map<Seat, Guest> GUESTS = new HashMap<>();

    // Finalizer that makes objects reachable again.
    static final class Handle {
        @Override
        protected void finalize() {
            synchronized (HANDLES) {
                HANDLES.add(this);
            }
        }
    }

    static final List<Handle> HANDLES = new ArrayList<>();

    private static void leak(int count) throws Exception {
        for (int i = 0; i < count; i++) {
            HISTORY.add(new Order());
            MARKET.listeners.add(new Chart());
            REPORTS.put("report " + REPORTS.size(), new Report());
            Basket basket = new Basket();
            WAITING.add(() -> basket.hashCode());
            WORK.put(() -> SERVED.get().add(new Request()));
            TIMER.schedule(new Reminder(), 3_600_000);
            LogLine line = new LogLine();
            line.earlier = latest;
            latest = line;
            Seat seat = new Seat(i);
            GUESTS.put(seat, new Guest());
            seat.row += 1_000_000 + GUESTS.size();
            GUESTS.remove(seat);
        }
        int handles = HANDLES.size() + count;
        resurrect(count);
        while (HANDLES.size() < handles) {
            System.gc();
            System.runFinalization();
        }
    }

    private static void resurrect(int count) {
        for (int i = 0; i < count; i++) {
            new Handle();
        }
    }

    private static final Random RANDOM = new Random(7);
    static final Map<String, Item> WARM = new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Item> eldest) {
            return size() > 500;
        }
    };
    static final Map<Integer, Item> SESSIONS = new HashMap<>();
    static Map<Integer, Item> resized = new HashMap<>();
    static int moment;

    /** What a program makes when it is needed first. */
    static final class Late {
        static final List<Item> TABLE = new ArrayList<>();

        static {
            for (int i = 0; i < 1_000; i++) {
                TABLE.add(new Item(i));
            }
        }
    }

    private static void work() throws Exception {
        moment++;
        for (int i = 0; i < 3_000; i++) {
            WARM.put("key " + RANDOM.nextInt(100_000), new Item(i));
        }
        for (int i = 0; i < 5_000; i++) {
            int old = RANDOM.nextInt(STOCK.size());
            STOCK.put(old, new Item(old));
        }
        SESSIONS.clear();
        for (int i = 0; i < 180 + RANDOM.nextInt(40); i++) {
            SESSIONS.put(RANDOM.nextInt(), new Item(i));
        }
        resized = new HashMap<>();
        for (int i = 0; i < (moment % 2 == 0 ? 40 : 4_000); i++) {
            resized.put(i, null);
        }
        for (int i = 0; i < 50; i++) {
            Chart chart = new Chart();
            MARKET.listeners.add(chart);
            MARKET.listeners.remove(chart);
            Basket basket = new Basket();
            WAITING.add(() -> basket.hashCode());
            WAITING.remove().run();
            WORK.put(() -> {
                SERVED.get().add(new Request());
                SERVED.remove();
            });
            Reminder reminder = new Reminder();
            TIMER.schedule(reminder, 3_600_000);
            reminder.cancel();
        }
        TIMER.purge();
        if (moment == 2 && Late.TABLE.isEmpty()) {
            throw new AssertionError();
        }
    }

    private static void serve() {
        try {
            while (true) {
                WORK.take().run();
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private static void settle() throws Exception {
        for (int i = 0; i < 3; i++) { // until the thread has taken and done the last one
            WORK.put(() -> {});
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 20_000; i++) {
            STOCK.put(i, new Item(i));
        }
        Thread server = new Thread(SmallLeaks::serve, "server 1");
        server.setDaemon(true);
        server.start();
        Scanner input = new Scanner(System.in);
        System.out.println("ready");
        while (input.hasNext()) {
            String command = input.next();
            if (command.equals("leak")) {
                leak(input.nextInt());
            } else if (command.equals("work")) {
                work();
            } else {
                break;
            }
            settle();
            System.out.println("done");
        }
    }
}
