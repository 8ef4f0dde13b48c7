// name: growth
// title: Paths that have more objects in every dump of the program
// group: Comparison
// needs: fingerprints, earlier
// mode: read
// searched: the last 100 dumps
// more: $dumps > 100
// param: dump   INTEGER                  number of the last dump
// param: dumps  INTEGER = 10             how many dumps, the last one included; at least 3 are needed
// param: tree   STRING = "dominators"  which paths: `dominators` or `root_paths`
// param: limit  INTEGER = 20             maximum number of rows
// column: path              LIST<STRING>   short names of the types from the top; of root paths first the kind of root
// column: object_counts     LIST<INTEGER>  objects at the end of the path in each dump, the earliest first
// column: objects_per_dump  FLOAT          slope of the line of least squares through them
// column: more_bytes        INTEGER        bytes more of those objects since the first of the dumps
// column: fingerprint       STRING         of the path, the same in all dumps
//
// A cache that fills and a list that is cleared now and then look like leaks between two
// dumps. What has more objects in every dump of a program that does the same again and
// again is one. Dumps are those that NEXT relates: of one program, in the order in which
// they were loaded, or were taken if they are of one trace. Only the topmost paths are
// listed; paths that continue them grow too. No rows: fewer than three dumps, or nothing
// grew in each. Continue with compare-paths for two of the dumps.
MATCH (d:Dump {number: $dump})
MATCH q = (e:Dump)-[:NEXT]->{0,100}(d)
WHERE length(q) < $dumps
  AND EXISTS {
    MATCH (n:TypePath {key: d.number * 1099511627776}), (o:TypePath {key: e.number * 1099511627776})
    WHERE n.fingerprint = o.fingerprint
  }
WITH e.number AS number
ORDER BY length(q) DESC
WITH collect(number) AS numbers
WHERE size(numbers) >= 3
MATCH (n:TypePath)
WHERE n.dump IN numbers AND n.tree = $tree
WITH numbers, n,
  CASE WHEN EXISTS { (p:TypePath)-[:CONTAINS]->(n) WHERE p.fingerprint = n.fingerprint }
    THEN 0 ELSE n.object_count END AS own
WITH numbers, n.fingerprint AS fingerprint, n.dump AS at, sum(own) AS many,
  sum(n.shallow_bytes) AS size
WITH numbers, fingerprint, collect([at, many, size]) AS found
WITH numbers, fingerprint,
  [x IN numbers | reduce(s = 0, f IN found | s + CASE WHEN f[0] = x THEN f[1] ELSE 0 END)] AS counts,
  reduce(s = 0, f IN found | s + CASE f[0] WHEN numbers[-1] THEN f[2] WHEN numbers[0] THEN -f[2] ELSE 0 END)
    AS more_bytes
WHERE all(i IN range(1, size(counts) - 1) WHERE counts[i - 1] < counts[i])
WITH numbers, collect([fingerprint, counts, more_bytes]) AS found, collect(fingerprint) AS growing
UNWIND found AS row
WITH numbers[-1] AS now, growing, row, row[1] AS counts
MATCH (n:TypePath)
WHERE n.fingerprint = row[0] AND n.dump = now
  AND NOT EXISTS { MATCH (p:TypePath)-[:CONTAINS]->{1,65}(n) WHERE p.fingerprint IN growing }
WITH row, counts, n
ORDER BY n.key
WITH row, counts, head(collect(n)) AS n
MATCH q = (top:TypePath WHERE top.depth = 0)-[:CONTAINS]->{1,65}(n)
WITH q, row, counts, (size(counts) - 1) / 2.0 AS middle
RETURN
  [step IN nodes(q)[1..] | step.name] AS path,
  counts AS object_counts,
  reduce(s = 0.0, i IN range(0, size(counts) - 1) | s + (i - middle) * counts[i])
    / reduce(s = 0.0, i IN range(0, size(counts) - 1) | s + (i - middle) * (i - middle)) AS objects_per_dump,
  row[2] AS more_bytes,
  row[0] AS fingerprint
ORDER BY more_bytes DESC, objects_per_dump DESC, fingerprint
LIMIT $limit
