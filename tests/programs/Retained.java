package peers;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import org.netbeans.lib.profiler.heap.Heap;
import org.netbeans.lib.profiler.heap.HeapFactory;
import org.netbeans.lib.profiler.heap.Instance;
import org.netbeans.lib.profiler.heap.JavaClass;

/** Writes id, size and retained size of each object, as VisualVM's library has them. */
public final class Retained {
    public static void main(String[] arguments) throws Exception {
        Heap heap = HeapFactory.createHeap(new File(arguments[0]));
        long objects = 0;
        try (DataOutputStream out =
                new DataOutputStream(
                        new BufferedOutputStream(new FileOutputStream(arguments[1]), 1 << 20))) {
            for (Object known : heap.getAllClasses()) {
                for (Object found : ((JavaClass) known).getInstances()) {
                    Instance instance = (Instance) found;
                    out.writeLong(instance.getInstanceId());
                    out.writeLong(instance.getSize());
                    out.writeLong(instance.getRetainedSize());
                    objects++;
                }
            }
        }
        System.out.println(objects);
    }
}
