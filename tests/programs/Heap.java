package shop;

import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/** Makes a heap of about so many objects, prints a line, and waits for its input to end. */
public final class Heap {
    static final List<Order> ORDERS = new ArrayList<>();
    static final Map<String, Customer> CUSTOMERS = new HashMap<>();
    static final Map<Long, SoftReference<Order>> CACHE = new TreeMap<>();

    static final class Customer {
        final String name;
        final Map<String, String> properties = new LinkedHashMap<>();
        final List<WeakReference<Order>> recent = new ArrayList<>(4);
        Customer friend;

        Customer(String name) {
            this.name = name;
        }
    }

    static final class Order {
        final Customer customer;
        final Line[] lines;
        Order previous;

        Order(Customer customer, Line[] lines) {
            this.customer = customer;
            this.lines = lines;
        }
    }

    static final class Line {
        final String article;
        final Double price;
        final int[] places;

        Line(String article, double price, int places) {
            this.article = article;
            this.price = price;
            this.places = new int[places];
        }
    }

    public static void main(String[] arguments) throws Exception {
        int wanted = Integer.parseInt(arguments[0]);
        Random random = new Random(1);
        List<Customer> all = new ArrayList<>();
        int made = 0;
        while (made < wanted) {
            if (random.nextInt(10) == 0 || all.isEmpty()) {
                Customer customer = new Customer("customer " + all.size());
                customer.properties.put("city", "city " + random.nextInt(100));
                customer.friend = all.isEmpty() ? null : all.get(random.nextInt(all.size()));
                all.add(customer);
                CUSTOMERS.put(customer.name, customer);
                made += 14;
            }
            Customer customer = all.get(random.nextInt(all.size()));
            Line[] lines = new Line[1 + random.nextInt(5)];
            for (int i = 0; i < lines.length; i++) {
                lines[i] = new Line("article " + random.nextInt(1000), 0.5 * i, i);
            }
            Order order = new Order(customer, lines);
            order.previous = ORDERS.isEmpty() ? null : ORDERS.get(random.nextInt(ORDERS.size()));
            made += 2 + 5 * lines.length;
            if (random.nextInt(3) > 0) {
                ORDERS.add(order);
            } else {
                CACHE.put((long) CACHE.size(), new SoftReference<>(order));
                made += 3;
            }
            customer.recent.add(new WeakReference<>(order));
            made += 1;
        }
        System.out.println("ready");
        while (System.in.read() >= 0) {
            continue;
        }
    }
}
