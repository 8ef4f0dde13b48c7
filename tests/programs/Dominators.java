package peers;

import java.io.File;
import java.util.Collections;
import shark.CloseableHeapGraph;
import shark.HprofHeapGraph;
import shark.HprofIndex;
import shark.internal.ObjectDominators;

/** Builds the dominator tree of LeakCanary's library, and prints what is large in it. */
public final class Dominators {
    public static void main(String[] arguments) throws Exception {
        File dump = new File(arguments[0]);
        try (CloseableHeapGraph graph =
                HprofHeapGraph.Companion.openHeapGraph(
                        dump, null, HprofIndex.Companion.defaultIndexedGcRootTags())) {
            String tree =
                    new ObjectDominators()
                            .renderDominatorTree(
                                    graph, Collections.emptyList(), 1 << 20, null, false);
            System.out.println(tree.length());
        }
    }
}
