import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Fails a test whose work leaves objects behind. Copy it into your tests; change it. */
public final class LeakCheck {
    private static final int DUMPS = 3;
    private static final int FINDINGS = 20;

    private LeakCheck() {}

    /** Do the work before each of three dumps of this JVM, and compare them. */
    public static void assertNothingAccumulates(int times, Runnable work) throws Exception {
        HotSpotDiagnosticMXBean vm =
                ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        Path folder = Files.createTempDirectory("leaks");
        try {
            List<String> command = new ArrayList<>(List.of("ingest", "check"));
            for (int dump = 0; dump < DUMPS; dump++) {
                for (int time = 0; time < times; time++) {
                    work.run();
                }
                Path file = folder.resolve(dump + ".hprof");
                vm.dumpHeap(file.toString(), true);
                command.add(file.toString());
            }
            Process check = new ProcessBuilder(command).redirectErrorStream(true).start();
            String said = new String(check.getInputStream().readAllBytes());
            int code = check.waitFor();
            if (code == FINDINGS) {
                throw new AssertionError(said);
            }
            if (code != 0) {
                throw new IllegalStateException("ingest check: exit " + code + "\n" + said);
            }
        } finally {
            for (int dump = 0; dump < DUMPS; dump++) {
                delete(folder.resolve(dump + ".hprof"));
            }
            delete(folder);
        }
    }

    private static void delete(Path path) throws IOException {
        Files.deleteIfExists(path);
    }
}
