// name: compare-paths
// title: Paths on which objects accumulated since an earlier dump
// group: Comparison
// needs: fingerprints, earlier
// mode: read
// searched: the 2,000 paths of each dump with the most bytes
// more: EXISTS { MATCH (n:TypePath) WHERE n.dump = d.number AND n.tree = $tree AND n.rest_count > 0
// more: }
// param: dump     INTEGER                  number of the dump
// param: earlier  STRING = null            name of the earlier dump; null for the previous one of the program
// param: tree     STRING = "dominators"  which paths: `dominators` or `root_paths`
// param: limit    INTEGER = 20             maximum number of rows
// column: path          LIST<STRING>  short names of the types from the top; of root paths first the kind of root
// column: more_objects  INTEGER       objects more at the end of the path than in the earlier dump
// column: object_count  INTEGER       objects there in this dump
// column: more_bytes    INTEGER       bytes more of those and of all below: in the dominator tree what they retain
// column: total_bytes   INTEGER       those bytes in this dump
// column: fingerprint   STRING        of the path, the same in all dumps
// column: earlier       STRING        name of the earlier dump
//
// Paths are matched by their fingerprints: full type names, without what differs between
// runs and builds. Only the topmost paths with more objects are listed, above which no
// path has more: an array that grew because it refers to more objects is not there, but
// its elements are. Compared are the 2,000 largest paths of each dump; a small one may be
// listed because the earlier dump has it among the rest. Continue with growth, or with
// instances-by-root-path for the type at the end.
MATCH (d:Dump {number: $dump})
MATCH (e:Dump {state: 'ready'})
WHERE CASE WHEN $earlier IS NULL THEN EXISTS { (e)-[:NEXT]->(d) } ELSE e.name = $earlier END
  AND EXISTS {
    MATCH (n:TypePath {key: d.number * 1099511627776}), (o:TypePath {key: e.number * 1099511627776})
    WHERE n.fingerprint = o.fingerprint
  }
WITH d.number AS now, e.number AS then, e.name AS earlier
MATCH (n:TypePath)
WHERE (n.dump = now OR n.dump = then) AND n.tree = $tree
WITH now, earlier, n, CASE WHEN n.dump = now THEN 1 ELSE 0 END AS here,
  CASE WHEN EXISTS { (p:TypePath)-[:CONTAINS]->(n) WHERE p.fingerprint = n.fingerprint }
    THEN [0, 0] ELSE [n.object_count, n.total_bytes] END AS own
WITH now, earlier, n.fingerprint AS fingerprint, here, own[0] AS many, own[1] AS total
WITH now, earlier, fingerprint, sum(here * many) AS object_count,
  sum((2 * here - 1) * many) AS more_objects, sum(here * total) AS total_bytes,
  sum((2 * here - 1) * total) AS more_bytes
WHERE more_objects > 0
WITH now, earlier, collect([fingerprint, object_count, more_objects, total_bytes, more_bytes]) AS found,
  collect(fingerprint) AS growing
UNWIND found AS row
WITH now, earlier, growing, row
MATCH (n:TypePath)
WHERE n.fingerprint = row[0] AND n.dump = now
  AND NOT EXISTS { MATCH (p:TypePath)-[:CONTAINS]->{1,65}(n) WHERE p.fingerprint IN growing }
WITH earlier, row, n
ORDER BY n.key
WITH earlier, row, head(collect(n)) AS n
MATCH q = (top:TypePath WHERE top.depth = 0)-[:CONTAINS]->{1,65}(n)
RETURN
  [step IN nodes(q)[1..] | step.name] AS path,
  row[2] AS more_objects,
  row[1] AS object_count,
  row[4] AS more_bytes,
  row[3] AS total_bytes,
  row[0] AS fingerprint,
  earlier
ORDER BY more_bytes DESC, more_objects DESC, fingerprint
LIMIT $limit
