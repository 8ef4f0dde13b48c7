import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Objects of many shapes; prints a line, and waits for the end of its input. */
public final class Layouts {
    static class Base {
        byte a;
        int b;
        Object c;
        long d;
        short e;
    }

    static class Derived extends Base {
        boolean f;
        Object g;
        char h;
        double i;
    }

    static class Small {
        byte x;
    }

    static class Smaller extends Small {
        short y;
        byte z;
    }

    static final Map<Integer, byte[]> BY_NUMBER = new HashMap<>();
    static Object[] kept;

    public static void main(String[] arguments) throws Exception {
        List<Object> all = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            BY_NUMBER.put(i, new byte[i % 50]);
            all.add(new Base());
            all.add(new Derived());
            all.add(new Small());
            all.add(new Smaller());
            all.add("text " + i);
            all.add(new long[i % 7]);
            all.add(new int[i % 6]);
            all.add(new char[i % 9]);
            all.add(new Object[i % 5]);
            all.add(Double.valueOf(i));
        }
        kept = all.toArray();
        System.out.println("ready");
        System.in.read();
    }
}
