package shop;

import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.ConcurrentHashMap;

/** A program that leaks sessions, and wastes memory in many ways; it obeys its input. */
public final class Leak {
    /** The leak: nobody removes sessions. */
    static final Map<String, Session> OPEN_SESSIONS = new HashMap<>();

    static final List<Object> WASTE = new ArrayList<>();
    static final List<SoftReference<byte[]>> CACHE = new ArrayList<>();
    static final Map<Long, WeakReference<Session>> RECENT = new ConcurrentHashMap<>();
    static final ThreadLocal<List<byte[]>> BUFFERS = ThreadLocal.withInitial(ArrayList::new);

    static final class Session {
        final String user;
        final String country;
        final byte[] cart = new byte[200];
        final Long opened;
        final List<String> pages = new ArrayList<>();

        Session(int number) {
            user = "user " + number;
            country = new String(new char[] {'I', 'c', 'e', 'l', 'a', 'n', 'd'});
            opened = Long.valueOf(1_000_000L + number % 10);
            pages.add(country);
        }
    }

    /** All of its keys are in one bucket. */
    static final class Key {
        final int number;

        Key(int number) {
            this.number = number;
        }

        @Override
        public int hashCode() {
            return 7;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Key && ((Key) other).number == number;
        }
    }

    static final class Slow {
        @Override
        protected void finalize() throws InterruptedException {
            Thread.sleep(3_600_000);
        }
    }

    static final class Plugin extends URLClassLoader {
        Plugin(URL[] urls) {
            super(urls, null);
        }
    }

    private static void grow(int count) {
        for (int i = 0; i < count; i++) {
            Session session = new Session(OPEN_SESSIONS.size());
            OPEN_SESSIONS.put(session.user, session);
            RECENT.put((long) OPEN_SESSIONS.size(), new WeakReference<>(session));
        }
    }

    private static void waste() throws Exception {
        for (int i = 0; i < 100; i++) {
            WASTE.add(new ArrayList<>(64));
            Map<String, String> one = new LinkedHashMap<>(64);
            one.put("name", "value " + i);
            WASTE.add(one);
            WASTE.add(new HashMap<String, String>());
        }
        Map<Key, Integer> colliding = new HashMap<>();
        for (int i = 0; i < 40; i++) {
            colliding.put(new Key(i), i);
        }
        WASTE.add(colliding);
        WASTE.add(ByteBuffer.allocateDirect(128 << 10));
        CACHE.add(new SoftReference<>(new byte[50_000]));
        WASTE.add(Collections.unmodifiableList(new ArrayList<>(10_000)));
        URL here = Leak.class.getProtectionDomain().getCodeSource().getLocation();
        for (int i = 0; i < 3; i++) {
            Plugin plugin = new Plugin(new URL[] {here});
            Class<?> key = plugin.loadClass("shop.Leak$Key");
            java.lang.reflect.Constructor<?> made = key.getDeclaredConstructor(int.class);
            made.setAccessible(true);
            WASTE.add(made.newInstance(i));
        }
    }

    private static void finalizers() {
        for (int i = 0; i < 20; i++) {
            new Slow();
        }
        System.gc();
    }

    private static void work() {
        byte[] local = new byte[70_000];
        BUFFERS.get().add(new byte[40_000]);
        try {
            Thread.sleep(3_600_000);
        } catch (InterruptedException error) {
            System.out.println(local.length);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Scanner input = new Scanner(System.in);
        System.out.println("ready");
        while (input.hasNext()) {
            String command = input.next();
            if (command.equals("grow")) {
                grow(input.nextInt());
            } else if (command.equals("waste")) {
                waste();
            } else if (command.equals("finalizers")) {
                finalizers();
            } else if (command.equals("threads")) {
                for (int i = 0; i < 3; i++) {
                    Thread worker = new Thread(Leak::work, "worker " + i);
                    worker.setDaemon(true);
                    worker.start();
                }
                Thread.sleep(300);
            } else {
                break;
            }
            System.out.println("sessions " + OPEN_SESSIONS.size());
        }
    }
}
