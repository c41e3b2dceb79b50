# SPDX-License-Identifier: MIT
# needs: java javac
cat > Work.java <<'J'
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;

public class Work {
    public static void main(String[] a) throws Exception {
        Map<Integer, String> m = new HashMap<>();
        for (int i = 0; i < 100_000; i++) m.put(i * 31, "v" + i);
        long sum = 0;
        for (var e : m.entrySet()) sum += e.getKey() * 7L + e.getValue().length();
        System.out.println("map " + sum);
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Long>> parts = new ArrayList<>();
        for (int t = 0; t < 4; t++) {
            final int n = t;
            parts.add(pool.submit(() -> IntStream.range(n * 50_000, (n + 1) * 50_000).mapToLong(x -> (long) x * x % 1009).sum()));
        }
        long total = 0;
        for (var f : parts) total += f.get();
        pool.shutdown();
        System.out.println("pool " + total);
        int caught = 0;
        int[] none = a.length > 5 ? new int[1] : null;
        for (int i = 0; i < 20_000; i++) {
            try { none[0] = i; } catch (NullPointerException e) { caught++; }
        }
        System.out.println("faults " + caught);
        StringBuilder s = new StringBuilder();
        for (int i = 0; i < 50_000; i++) s.append((char) ('a' + i * 7 % 26));
        System.out.println("text " + s.toString().hashCode());
        System.gc();
    }
}
J
javac Work.java
$RUN java -Xmx256m Work
